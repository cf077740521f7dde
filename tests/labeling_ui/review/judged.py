"""A store in which three judges answered the exercise's 200 items: 1, 4 and 16 of 80 failures accepted."""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import Session

from calibration.calibrate import calibrate
from calibration.evidence import Examination
from calibration.policy import AdmissionPolicy, far_only
from tests.calibration.filling import NOW, asked, fill_items, fill_labels, fill_verdicts

TEN = far_only(0.10)
JUDGES = {
    "judge-b": {"fail": {"accept": 16, "reject": 60, "abstained": 4}, "pass": {"accept": 114, "reject": 6}},
    "judge-a": {"fail": {"accept": 1, "reject": 79}, "pass": {"accept": 112, "reject": 8}},
    "judge-c": {"fail": {"accept": 4, "reject": 76}, "pass": {"accept": 108, "reject": 10, "abstained": 2}},
}
REFERENCE = {"fail": {"reject": 80}, "pass": {"accept": 120}}


def judged(
    session: Session, policy: AdmissionPolicy = TEN, *, judges: Sequence[str] = tuple(JUDGES)
) -> tuple[Examination, ...]:
    """The judges, measured under the policy on the same 80 failing and 120 good items."""
    fill_items(session, REFERENCE)
    fill_labels(session, REFERENCE)
    for judge in judges:
        fill_verdicts(session, JUDGES[judge], judge=judge)
    return measured(session, policy, judges=judges)


def measured(
    session: Session, policy: AdmissionPolicy = TEN, *, judges: Sequence[str] = tuple(JUDGES)
) -> tuple[Examination, ...]:
    """The judges measured on what is recorded."""
    question = asked(session, policy, judges=judges)
    return calibrate(session=session, asked=question, at=NOW).comparison.examinations
