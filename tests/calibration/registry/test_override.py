"""Against the policy: two people, less time, and never without knowing anything."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from calibration.evidence import Examination
from calibration.policy import far_only
from calibration.registry import Override, Signature, require_admission
from calibration.store.database import Store
from calibration.store.decisions import iter_decisions, verify_decisions
from calibration.store.schema import open_store
from rubrics.errors import AdmissionExpired, DeclarationError, DifferentRecord
from tests.calibration.filling import RUBRIC, Counts
from tests.calibration.registry.deciding import (
    CLEAN,
    REJECTED,
    SECOND,
    SIGNED,
    again,
    examined,
    later,
    scope_of,
    signed,
)


def test_two_people_admit_against_the_policy_for_less_time(store: Store) -> None:
    """The record says what the policy said, who signed second and why; it lapses sooner."""
    with store.write() as session:
        decision = signed(session, examined(session, REJECTED), override=Override(SECOND, 7))
        scope = scope_of(session)
        asked = {"session": session, "scope": scope, "judge": "gpt", "rubric": RUBRIC.ref}
        assert require_admission(**asked, at=later(6.9)).hash == decision.hash  # type: ignore[arg-type]
        with pytest.raises(AdmissionExpired):
            require_admission(**asked, at=later(7))  # type: ignore[arg-type]
        assert verify_decisions(session=session) == ()
    assert decision.outcome == "admit"
    assert decision.valid_until == later(7)
    assert decision.content["decision"]["outcome"] == "reject"
    override = decision.content["override"]
    assert (override["policy_outcome"], override["second_signer"]) == ("reject", "A. Blum")
    assert override["second_reason"] == SECOND.reason


@pytest.fixture(scope="module")
def rejected(
    migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Store, Examination]]:
    """A judge that the policy rejects, in a store into which nothing more is written."""
    with open_store(
        shutil.copy(migrated_sqlite, tmp_path_factory.mktemp("rejected") / "voirdire.db")
    ) as store:
        with store.write() as session:
            found = examined(session, REJECTED)
        yield store, found


@pytest.mark.parametrize(
    ("override", "words"),
    [
        (Override(SIGNED, 7), "takes a second, different signer"),
        (Override(Signature("r.  ITO ", "the same person in another spelling"), 7), "signs twice"),
        (Override(SECOND, 30), "holds for 1 to 29 days"),
        (Override(SECOND, 0), "holds for 1 to 29 days"),
        (Override(Signature("A. Blum", "ok"), 7), "under 10 characters"),
        (Override(Signature(" ", "a good enough reason"), 7), "signer is blank"),
    ],
)
def test_an_override_that_nobody_may_sign(
    rejected: tuple[Store, Examination], override: Override, words: str
) -> None:
    """One person twice, as long as the policy itself, or without a reason; nothing is recorded."""
    store, found = rejected
    with store.write() as session:
        with pytest.raises(DeclarationError, match=words):
            signed(session, found, override=override)
        assert list(iter_decisions(session=session)) == []


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (CLEAN, "nothing is to be overridden"),
        ({"pass": {"accept": 90}}, "no reference failure is known"),
        (
            {"fail": {"accept": 40, "reject": 10}, "pass": {"accept": 80, "reject": 20}},
            "no better than chance",
        ),
        ({"fail": {"reject": 20}, "pass": {"reject": 20}}, "no better than chance"),
    ],
)
def test_no_signature_opens_a_gate_on_nothing(sqlite_store: Store, counts: Counts, words: str) -> None:
    """A judge that is admitted anyhow, has no known failure, or tells nothing."""
    with sqlite_store.write() as session:
        found = examined(session, counts)
        with pytest.raises(DeclarationError, match=words):
            signed(session, found, override=Override(SECOND, 7))


def test_a_signer_names_what_is_replaced(store: Store) -> None:
    """Who read another decision than the one that stands signs nothing."""
    with store.write() as session:
        found = examined(session, CLEAN)
        with pytest.raises(DifferentRecord, match="no decision stands for this scope"):
            signed(session, found, signature=Signature("R. Ito", "read it with care", replaces="abc"))
        first = signed(session, found)
        second = signed(
            session,
            found,
            days=1,
            signature=Signature("R. Ito", "read it with care", replaces=first.hash[:8]),
        )
        with pytest.raises(DifferentRecord, match="read what stands"):
            signed(
                session,
                found,
                days=2,
                signature=Signature("B. Cho", "read the first one", replaces=first.hash),
            )
    assert second.supersedes == first.hash


def test_limits_of_another_policy_do_not_help(sqlite_store: Store) -> None:
    """An override of a stricter policy is shorter than that policy."""
    strict = far_only(0.01)
    with sqlite_store.write() as session:
        examined(session, CLEAN)
        decision = signed(session, again(session, strict), policy=strict, override=Override(SECOND, 1))
    assert decision.content["override"]["policy_outcome"] == "insufficient_evidence"
