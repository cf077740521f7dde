"""An alarm, a suspension or a lapse is undone by newer evidence or two people, never by one signature."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlmodel import Session

from calibration.registry import Override, live_admission, suspend
from calibration.registry.verifying import Recomputed, recompute
from calibration.store.database import Store
from calibration.store.decisions import StoredDecision, add_decision, iter_decisions
from calibration.store.watching import raise_alarm
from rubrics.errors import JudgeNotAdmitted
from tests.calibration.filling import RUBRIC
from tests.calibration.registry.deciding import (
    CLEAN,
    SECOND,
    SIGNED,
    TEN,
    again,
    examined,
    label_anew,
    later,
    scope_of,
    signed,
)

POLICY = TEN.model_copy(update={"name": "watched", "recalibrate_on": ("sampling",)})
LOOSER = POLICY.model_copy(update={"name": "looser", "version": 2})
End = Callable[[Session, StoredDecision], None]


def suspended(session: Session, decision: StoredDecision) -> None:
    """Somebody ends it."""
    suspend(session=session, standing=decision, signature=SIGNED, at=later(1))


def alarmed(session: Session, decision: StoredDecision) -> None:
    """An alarm ends it."""
    raise_alarm(
        session=session,
        decision=decision.hash,
        trigger="sampling",
        sentence="another temperature",
        actor="watch",
        at=later(1),
    )


def left_alone(session: Session, decision: StoredDecision) -> None:
    """Time ends it."""


ENDS = [(suspended, 2, "suspended the admission"), (alarmed, 2, "an alarm"), (left_alone, 31, "lapsed on")]


def how(session: Session, decision: StoredDecision) -> Recomputed:
    """What verification says of the decision."""
    return recompute(session=session, decision=decision)[0]


@pytest.mark.parametrize(("end", "days", "words"), ENDS)
def test_the_same_evidence_revives_nothing(sqlite_store: Store, end: End, days: float, words: str) -> None:
    """Once and again, under another policy and for another population, it is insufficient with the reason."""
    with sqlite_store.write() as session:
        end(session, signed(session, examined(session, CLEAN, POLICY), policy=POLICY, days=0.5))
        found = again(session, POLICY)
        other = signed(session, found, policy=POLICY, days=days, population="chats")
        refused = [signed(session, found, policy=POLICY, days=days + n) for n in (0, 1)]
        refused.append(signed(session, again(session, LOOSER), policy=LOOSER, days=days + 2))
        for each in (other, *refused):
            assert each.outcome == "insufficient_evidence"
            assert words in each.content["withheld"]
            assert each.valid_until is None
        with pytest.raises(JudgeNotAdmitted) as caught:
            live_admission(
                session=session, scope=scope_of(session), judge="gpt", rubric=RUBRIC.ref, at=later(days + 3)
            )
        assert "label or judge further items" in caught.value.missing[0]
        assert {how(session, each) for each in iter_decisions(session=session)} == {Recomputed.SAME}


@pytest.mark.parametrize(("end", "days", "words"), ENDS)
def test_newer_evidence_or_two_signers_admit(sqlite_store: Store, end: End, days: float, words: str) -> None:
    """Two people may on the old evidence, for less time; one may once there is a label from after the end."""
    with sqlite_store.write() as session:
        end(session, signed(session, examined(session, CLEAN, POLICY), policy=POLICY, days=0.5))
        both = signed(session, again(session, POLICY), policy=POLICY, days=days, override=Override(SECOND, 3))
        assert (both.outcome, both.content["override"]["policy_outcome"]) == (
            "admit",
            "insufficient_evidence",
        )
        assert words in both.content["withheld"]
        label_anew(session, days + 1)
        alone = signed(session, again(session, POLICY, days=days + 2), policy=POLICY, days=days + 2)
        assert (alone.outcome, alone.content.get("withheld")) == ("admit", None)
        assert {how(session, each) for each in (both, alone)} == {Recomputed.FROM_REPORT, Recomputed.SAME}


def test_verification_finds_an_admission_on_old_evidence(sqlite_store: Store) -> None:
    """A row that was appended past the signing is told apart from one that was signed."""
    with sqlite_store.write() as session:
        first = signed(session, examined(session, CLEAN))
        ended = suspend(session=session, standing=first, signature=SIGNED, at=later(1))
        forged = add_decision(
            session=session,
            scope=first.scope,
            report_digest=first.report_digest,
            policy_digest=first.policy_digest,
            outcome="admit",
            content=first.content,
            signer="R. Ito",
            valid_until=later(90),
            supersedes=ended.hash,
            at=later(2),
        )
        outcome, why = recompute(session=session, decision=forged)
    assert outcome is Recomputed.DIFFERENT
    assert "one person admits on old evidence" in why
