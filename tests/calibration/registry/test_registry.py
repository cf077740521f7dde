"""The registry: what is signed, what stands, and when a judge may grade."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import Session

from calibration.calibrate import calibrate
from calibration.evidence import Examination
from calibration.policy import AdmissionPolicy, far_only, shipped_policy
from calibration.registry import (
    ANY_POPULATION,
    Signature,
    expiring,
    missing_of,
    require_admission,
    sign,
    suspend,
)
from calibration.store.database import Store
from calibration.store.decisions import DecisionScope, StoredDecision, iter_decisions, verify_decisions
from calibration.store.judges import get_judge
from calibration.store.schema import open_store
from rubrics.errors import AdmissionExpired, DeclarationError, JudgeNotAdmitted, RecordError
from tests.calibration.filling import CRITERION, NOW, RUBRIC, Counts, asked, fill
from tests.calibration.registry.deciding import CLEAN, REJECTED
from tests.databases import BOTH

TEN = far_only(0.10)
SIGNED = Signature("R. Ito", "read both slices and the accepted failure")


def scope_of(session: Session) -> DecisionScope:
    """The scope of the judge gpt."""
    judge = get_judge(session=session, judge="gpt")
    return DecisionScope(judge.digest, RUBRIC.digest, CRITERION, ANY_POPULATION, "acceptance")


def examined(session: Session, counts: Counts, policy: AdmissionPolicy = TEN) -> Examination:
    """The judge gpt on these counts."""
    fill(session, counts)
    return calibrate(session=session, asked=asked(session, policy), at=NOW).comparison.examinations[0]


def signed(
    session: Session, found: Examination, *, policy: AdmissionPolicy = TEN, hours: float = 0
) -> StoredDecision:
    """The signed outcome of the examination."""
    assert found.decision is not None
    return sign(
        session=session,
        scope=scope_of(session),
        report=found.report,
        decision=found.decision,
        policy=policy,
        signature=SIGNED,
        at=NOW + timedelta(hours=hours),
    )


def may_grade(session: Session, scope: DecisionScope, *, days: float = 0) -> StoredDecision:
    """What the registry answers after so many days."""
    return require_admission(
        session=session, scope=scope, judge="gpt", rubric=RUBRIC.ref, at=NOW + timedelta(days=days)
    )


def test_an_admitted_judge_may_grade_until_its_decision_lapses(store: Store) -> None:
    """far_only holds 30 days, half-open: the last moment before is allowed, the first after refused."""
    with store.write() as session:
        decision = signed(session, examined(session, CLEAN))
        scope = scope_of(session)
        assert may_grade(session, scope, days=29.99).hash == decision.hash
        with pytest.raises(AdmissionExpired, match="lapsed on 2026-12-30 12:00 UTC"):
            may_grade(session, scope, days=30)
    assert decision.valid_until == NOW + timedelta(days=30)
    assert decision.content["reason"] == SIGNED.reason
    assert decision.content["signer_established"] == "local, unverified"


@pytest.fixture(scope="module")
def admitted(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with one admission, into which nothing more is written."""
    with open_store(
        shutil.copy(migrated_sqlite, tmp_path_factory.mktemp("admitted") / "voirdire.db")
    ) as store:
        with store.write() as session:
            signed(session, examined(session, CLEAN))
        yield store


@pytest.mark.parametrize("field", ["judge_digest", "rubric_digest", "criterion", "population", "role"])
def test_a_decision_covers_its_own_scope_only(admitted: Store, field: str) -> None:
    """Any other judge, rubric, criterion, population or role has no decision."""
    with admitted.read() as session:
        may_grade(session, scope_of(session))
        other = replace(scope_of(session), **{field: "review_trigger" if field == "role" else "x" * 64})
        with pytest.raises(JudgeNotAdmitted, match="no decision covers it") as caught:
            may_grade(session, other)
    assert caught.value.missing


def test_a_rejection_is_recorded_and_names_what_is_missing(store: Store) -> None:
    """A rejected judge has a decision without validity; grading is refused with its broken item."""
    with store.write() as session:
        decision = signed(session, examined(session, REJECTED))
        with pytest.raises(JudgeNotAdmitted, match="is reject") as caught:
            may_grade(session, scope_of(session))
    assert (decision.outcome, decision.valid_until) == ("reject", None)
    assert any(line.startswith("far is fail") for line in caught.value.missing)


def test_insufficient_evidence_names_the_failures_still_needed(store: Store) -> None:
    """Twenty clean failures miss fifteen."""
    counts = {"fail": {"reject": 20}, "pass": {"accept": 50}}
    with store.write() as session:
        decision = signed(session, examined(session, counts))
    assert decision.outcome == "insufficient_evidence"
    assert "15 more reference failures, all rejected" in missing_of(decision)


def test_a_new_decision_replaces_the_old_one(store: Store) -> None:
    """Both stay in the chain; the later one stands."""
    with store.write() as session:
        found = examined(session, CLEAN)
        first = signed(session, found)
        second = signed(session, found, hours=1)
        standing = list(iter_decisions(session=session, standing=True))
        assert verify_decisions(session=session) == ()
    assert second.supersedes == first.hash
    assert [d.hash for d in standing] == [second.hash]


@BOTH
def test_suspension_ends_an_admission(store: Store) -> None:
    """A suspended judge may not grade; a suspended or rejected decision cannot be suspended again."""
    with store.write() as session:
        decision = signed(session, examined(session, CLEAN))
        ended = suspend(session=session, standing=decision, signature=SIGNED, at=NOW + timedelta(hours=1))
        with pytest.raises(JudgeNotAdmitted, match="is suspended") as caught:
            may_grade(session, scope_of(session), days=1)
        with pytest.raises(RecordError, match="only an admission is suspended"):
            suspend(session=session, standing=ended, signature=SIGNED, at=NOW + timedelta(hours=2))
        with pytest.raises(RecordError, match="suspend the one that stands"):
            suspend(session=session, standing=decision, signature=SIGNED, at=NOW + timedelta(hours=2))
    assert "suspended by R. Ito" in caught.value.missing[0]


def test_another_role_needs_its_own_policy(store: Store) -> None:
    """far_only serves acceptance; a review trigger is not signed under it."""
    with store.write() as session:
        found = examined(session, CLEAN)
        assert found.decision is not None
        with pytest.raises(DeclarationError, match="serves the role 'acceptance'"):
            sign(
                session=session,
                scope=replace(scope_of(session), role="review_trigger"),
                report=found.report,
                decision=found.decision,
                policy=TEN,
                signature=SIGNED,
                at=NOW,
            )


@pytest.mark.parametrize(("signer", "reason"), [(" ", "a good enough reason"), ("R. Ito", "ok")])
def test_a_signature_says_who_and_why(signer: str, reason: str) -> None:
    """A blank signer and an empty reason are refused."""
    with pytest.raises(DeclarationError):
        Signature(signer, reason).checked()


def test_decisions_that_lapse_soon_are_found(store: Store) -> None:
    """Within 31 days the admission of 30 days is listed, within 10 it is not."""
    with store.write() as session:
        decision = signed(session, examined(session, CLEAN))
    assert expiring([decision], within=timedelta(days=31), at=NOW) == (decision,)
    assert expiring([decision], within=timedelta(days=10), at=NOW) == ()


def test_after_a_signed_admission_looks_count_anew(store: Store) -> None:
    """The third look of a judge is its first after an admission was signed."""
    from calibration.store.assessments import LabelEntry, add_labels
    from tests.calibration.filling import DATASET

    policy = shipped_policy("acceptance")
    with store.write() as session:
        found = examined(session, {"fail": {"reject": 60}, "pass": {"accept": 90}}, policy)
        assert found.decision is not None
        assert found.decision.outcome == "admit"
        signed(session, found, policy=policy, hours=1)
        more = [LabelEntry("i0000", CRITERION, "c", "fail")]
        add_labels(session=session, dataset=DATASET, rubric_digest=RUBRIC.digest, labels=more, at=NOW)
        again = calibrate(session=session, asked=asked(session, policy), at=NOW + timedelta(hours=2))
    decision = again.comparison.examinations[0].decision
    assert decision is not None
    assert decision.looks.used == 1
