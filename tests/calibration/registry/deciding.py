"""A judge that is examined, signed for and asked about, in a few words."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from calibration.calibrate import calibrate
from calibration.evidence import Examination
from calibration.policy import AdmissionPolicy, far_only
from calibration.registry import ANY_POPULATION, Override, Signature, sign
from calibration.store.assessments import LabelEntry, add_labels
from calibration.store.decisions import DecisionScope, StoredDecision
from calibration.store.judges import get_judge
from tests.calibration.filling import CRITERION, DATASET, NOW, RUBRIC, Counts, asked, fill

TEN = far_only(0.10)
CLEAN: Counts = {"fail": {"reject": 40}, "pass": {"accept": 12}}
"""What TEN admits, at a third of the work of the usual counts."""
REJECTED: Counts = {"fail": {"accept": 12, "reject": 28}, "pass": {"accept": 19, "reject": 1}}
"""What TEN rejects; better than chance, so that two people may admit it."""
SIGNED = Signature("R. Ito", "read both slices and the accepted failure")
SECOND = Signature("A. Blum", "agrees: a person reads every output as well")


def later(days: float) -> datetime:
    """So many days after NOW."""
    return NOW + timedelta(days=days)


def scope_of(session: Session, judge: str = "gpt", **fields: Any) -> DecisionScope:
    """The scope of a judge by name, with other fields where they are given."""
    given = {
        "judge_digest": get_judge(session=session, judge=judge).digest,
        "rubric_digest": RUBRIC.digest,
        "criterion": CRITERION,
        "population": ANY_POPULATION,
        "role": "acceptance",
    }
    return DecisionScope(**(given | fields))


def examined(
    session: Session, counts: Counts, policy: AdmissionPolicy = TEN, judge: str = "gpt"
) -> Examination:
    """The judge on these counts."""
    fill(session, counts, judge=judge)
    return again(session, policy, judge)


def again(
    session: Session, policy: AdmissionPolicy = TEN, judge: str = "gpt", *, days: float = 0
) -> Examination:
    """The judge on what is recorded, looked at so many days after NOW."""
    question = asked(session, policy, judges=(judge,))
    return calibrate(session=session, asked=question, at=later(days)).comparison.examinations[0]


def label_anew(session: Session, days: float) -> None:
    """A third rater labels one item."""
    more = [LabelEntry("i0000", CRITERION, "c", "fail")]
    add_labels(session=session, dataset=DATASET, rubric_digest=RUBRIC.digest, labels=more, at=later(days))


def signed(
    session: Session,
    found: Examination,
    *,
    policy: AdmissionPolicy = TEN,
    days: float = 0,
    signature: Signature = SIGNED,
    override: Override | None = None,
    judge: str = "gpt",
    **scope: Any,
) -> StoredDecision:
    """The signed outcome of the examination."""
    assert found.decision is not None
    return sign(
        session=session,
        scope=scope_of(session, judge, **scope),
        report=found.report,
        decision=found.decision,
        policy=policy,
        signature=signature,
        at=later(days),
        override=override,
    )
