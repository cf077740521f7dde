"""The whole loop on the bundled sample: record, judge, examine, sign, grade; each step done for real.

Running it again into the same store finds everything done: the same reports, no further look, no further
decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from calibration.calibrate import Asked, calibrate
from calibration.calibrate.evidence_set import open_set
from calibration.evidence import Comparison, Examination
from calibration.policy import AdmissionPolicy, shipped_policy
from calibration.registry import ANY_POPULATION, Signature, sign
from calibration.store.database import Store
from calibration.store.decisions import DecisionScope, StoredDecision, current_decision
from calibration.store.judges import get_judge
from calibration.store.reports import get_report
from judge.appointing import GradeRequest, appoint
from judge.demo.asking import ModelStep, ask, ask_model
from judge.demo.records import ACTOR, Sample, demo_judges, record_sample, require_own_store
from judge.demo.sample import CRITERIA
from judge.service import Grade, grade_items
from judge.spec import JudgeSpec, RuleJudge
from rubrics.errors import AdmissionError

POLICY = "demo"
CHECKABLE, JUDGMENT = CRITERIA
STAND_IN = "word_overlap"
"""The baseline that is examined under the criterion of judgment where no model is there to be examined."""
REASON = "The constructed demo: its report was made by this very run and read by nobody."


@dataclass(frozen=True, slots=True)
class Grading:
    """What became of one request to grade the kept items."""

    criterion: str
    grades: tuple[Grade, ...]
    refused: AdmissionError | None
    """Why nothing was graded; `voirdire grade` ends with 4."""


@dataclass(frozen=True, slots=True)
class DemoResult:
    """Everything that the demo did and found."""

    sample: Sample
    comparison: Comparison
    new_looks: int
    made_at: datetime
    """When the newest of the reports was first made."""
    decisions: tuple[StoredDecision, ...]
    """What is signed, in the order of the criteria."""
    gradings: tuple[Grading, ...]
    model_absent: str
    """Why no model was examined and what to run; empty where one was."""


def run_demo(store: Store, model: ModelStep, *, clock: Callable[[], datetime]) -> DemoResult:
    """What the demo found, from a store of its own in which its policies are already recorded.

    Args:
        store: empty, or of an earlier run of the demo.
        model: the model judge to examine, or why there is none.
        clock: the moment of each step.

    Raises:
        RecordError: the store holds other evidence, or the demo of another version.
    """
    require_own_store(store)
    judges, policy = demo_judges(), shipped_policy(POLICY)
    declared = [*judges, model.judge] if model.judge else judges
    sample = record_sample(store, declared, at=clock())
    for judge in judges:
        ask(store, sample, judge, policy)
    asked = ask_model(store, sample, model, policy, criterion=JUDGMENT)
    rule = next(judge.digest for judge in judges if isinstance(judge, RuleJudge))
    judging = asked.judge.digest if asked.judge else _stand_in(judges)
    with store.write() as session:
        comparison, new_looks = _examine(
            session, sample, {CHECKABLE: rule, JUDGMENT: judging}, policy, clock()
        )
    with store.write() as session:
        decisions = tuple(_signed(session, each, sample, policy, clock()) for each in _to_sign(comparison))
    return DemoResult(
        sample=sample,
        comparison=comparison,
        new_looks=new_looks,
        made_at=_made_at(store, comparison),
        decisions=decisions,
        gradings=tuple(_grade(store, sample, criterion, clock()) for criterion in CRITERIA),
        model_absent=asked.absent,
    )


def _stand_in(judges: Sequence[JudgeSpec]) -> str:
    return next(judge.digest for judge in judges if judge.name == STAND_IN)


def _examine(
    session: Session, sample: Sample, candidates: dict[str, str], policy: AdmissionPolicy, at: datetime
) -> tuple[Comparison, int]:
    """The examinations of all criteria side by side, and how many looks were new."""
    examinations: list[Examination] = []
    new_looks = 0
    for criterion, digest in candidates.items():
        asked = Asked(
            evidence=open_set(session=session, ref=sample.sets[criterion].ref),
            rubric=sample.rubric,
            criterion=criterion,
            judges=(get_judge(session=session, judge=digest),),
            policy=policy,
            actor=ACTOR,
        )
        found = calibrate(session=session, asked=asked, at=at)
        examinations += found.comparison.examinations
        new_looks += found.new_looks
    return Comparison(examinations=tuple(examinations)), new_looks


def _to_sign(comparison: Comparison) -> list[Examination]:
    """The examinations of candidates; a baseline that stands in is none."""
    return [each for each in comparison.examinations if each.report.judge != STAND_IN]


def _scope(session: Session, examination: Examination, sample: Sample, role: str) -> DecisionScope:
    judge = get_judge(session=session, judge=examination.report.judge)
    return DecisionScope(
        judge.digest, sample.rubric.digest, examination.report.criterion, ANY_POPULATION, role
    )


def _signed(
    session: Session, examination: Examination, sample: Sample, policy: AdmissionPolicy, at: datetime
) -> StoredDecision:
    """The outcome, signed; what already stands on the same report is left standing, lapsed or not."""
    scope = _scope(session, examination, sample, policy.role)
    standing = current_decision(session=session, scope=scope)
    if standing is not None and standing.report_digest == examination.report.report:
        return standing
    if examination.decision is None:
        raise TypeError("an examination under a policy has a decision")
    return sign(
        session=session,
        scope=scope,
        report=examination.report,
        decision=examination.decision,
        policy=policy,
        signature=Signature(ACTOR, REASON),
        at=at,
    )


def _grade(store: Store, sample: Sample, criterion: str, at: datetime) -> Grading:
    """The kept items graded by the criterion's admitted judge, if there is one."""
    request = GradeRequest(sample.rubric, (criterion,))
    try:
        with store.read() as session:
            graders = appoint(session=session, request=request, at=at)
        return Grading(criterion, tuple(grade_items(request, graders, sample.kept)), None)
    except AdmissionError as refused:
        return Grading(criterion, (), refused)


def _made_at(store: Store, comparison: Comparison) -> datetime:
    with store.read() as session:
        return max(
            get_report(session=session, digest_prefix=each.report.report).recorded_at
            for each in comparison.examinations
        )
