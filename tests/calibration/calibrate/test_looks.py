"""Which looks count together, what opens the count anew, and who may."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import Session

from calibration.calibrate import calibrate
from calibration.calibrate.evidence_set import EvidenceSet, open_set
from calibration.calibrate.looks import reopen
from calibration.evidence import AdmissionDecision
from calibration.policy import AdmissionPolicy, LookRule, far_only, shipped_policy
from calibration.registry import Override
from calibration.store.assessments import LabelEntry, add_labels
from calibration.store.database import Store
from calibration.store.judges import get_judge
from calibration.store.sets import MemberEntry, add_set, freeze_set, get_set_by_digest
from rubrics.errors import DeclarationError
from tests.calibration.filling import CLEAN, CRITERION, DATASET, EXERCISE_3, NOW, RUBRIC, asked, fill
from tests.calibration.registry.deciding import SECOND, again, signed

TWO = far_only(0.10).model_copy(update={"name": "two", "looks": LookRule(max=2)})


def relabelled(session: Session, number: int) -> None:
    """One label more, so that the next look has other inputs."""
    labels = [LabelEntry("i0000", CRITERION, f"r{number}", "fail")]
    add_labels(session=session, dataset=DATASET, rubric_digest=RUBRIC.digest, labels=labels, at=NOW)


def look(
    session: Session, number: int, policy: AdmissionPolicy = TWO, evidence: EvidenceSet | None = None
) -> AdmissionDecision:
    """The number-th look, an hour after the one before."""
    relabelled(session, number)
    at = NOW + timedelta(hours=number)
    question = asked(session, policy, evidence=evidence)
    found = calibrate(session=session, asked=question, at=at).comparison.examinations[0].decision
    assert found is not None
    return found


def item_of(decision: AdmissionDecision, name: str = "looks") -> Any:
    """The item on looks."""
    return next(item for item in decision.items if item.name == name)


def test_exhausted_looks_ask_for_a_fresh_set_with_its_size(sqlite_store: Store) -> None:
    """The third of two looks is insufficient, however clean, and says how many failures a fresh set needs."""
    with sqlite_store.write() as session:
        fill(session, CLEAN)
        used = [look(session, number).looks.used for number in (1, 2)]
        third = look(session, 3)
    assert used == [1, 2]
    assert (third.outcome, third.looks.used) == ("insufficient_evidence", 3)
    assert "draw a fresh set with 46 reference failures" in item_of(third).detail


@pytest.mark.parametrize("how", ["rejection", "override", "diagnostic", "review_trigger"])
def test_what_does_not_open_the_count_anew(sqlite_store: Store, how: str) -> None:
    """A rejection, an override by two people, and an admission in another role leave it as it is."""
    with sqlite_store.write() as session:
        fill(session, EXERCISE_3 if how in {"rejection", "override"} else CLEAN)
        look(session, 1)
        if how == "rejection":
            signed(session, again(session, TWO), policy=TWO, days=0.05)
        elif how == "override":
            signed(session, again(session, TWO), policy=TWO, days=0.05, override=Override(SECOND, 7))
        else:
            policy = shipped_policy(how)
            signed(session, again(session, policy), policy=policy, days=0.05, role=how)
        spent = look(session, 2).looks.used
    # the gate of a review trigger is a gate, and its look counts; a diagnostic one evaluates nothing
    assert spent == (3 if how == "review_trigger" else 2)


def fresh(session: Session, items: range, name: str = "fresh") -> EvidenceSet:
    """A frozen set of these items."""
    found = add_set(
        session=session,
        set_name=name,
        version=1,
        dataset=DATASET,
        content={"design": {"kind": "convenience"}},
        members=[MemberEntry(f"i{n:04d}") for n in items],
        actor="lead",
        at=NOW,
    )
    freeze_set(session=session, set_digest=found, actor="lead", at=NOW)
    return open_set(session=session, ref=get_set_by_digest(session=session, digest=found).ref)


def reopened(session: Session, evidence: EvidenceSet, **fields: Any) -> Any:
    """A new count for gpt on the set."""
    given = {
        "judge_digest": get_judge(session=session, judge="gpt").digest,
        "rubric_digest": RUBRIC.digest,
        "criterion": CRITERION,
        "evidence": evidence,
        "signer": "A. Blum",
        "reason": "a second set was labelled for it",
        "at": NOW + timedelta(hours=5),
        "session": session,
    }
    return reopen(**{**given, **fields})


def test_a_second_person_opens_a_new_count_on_a_fresh_set(store: Store) -> None:
    """Neither who looked nor a set that was looked at; the old number stands on the new decision."""
    with store.write() as session:
        fill(session, CLEAN)
        seen = fresh(session, range(100), "seen")
        unseen = fresh(session, range(100, 150), "unseen")
        for number in (1, 2, 3):
            look(session, number, evidence=seen)
        with pytest.raises(DeclarationError, match="was looked at with this judge"):
            reopened(session, seen)
        with pytest.raises(DeclarationError, match="shares items with a set that was"):
            reopened(session, fresh(session, range(99, 120), "overlapping"))
        with pytest.raises(DeclarationError, match="a second, different person signs"):
            reopened(session, unseen, signer=" TEST ")
        with pytest.raises(DeclarationError, match="under 10 characters"):
            reopened(session, unseen, reason="why not")
        assert reopened(session, unseen).spent == 3
        found = look(session, 6, evidence=unseen)
    assert (found.looks.used, found.looks.before) == (1, 3)
    assert "3 looks before a second signer opened this count" in item_of(found).detail
