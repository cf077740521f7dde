"""What the pages about judges show: recorded reports with their outcomes, and what stands in the registry.

Only reports that `voirdire calibrate` has recorded are read, so no page shows a number whose look is not in
the ledger, and looking at one again costs none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from calibration.admission import decide
from calibration.calibrate.evidence_set import open_set_by_digest
from calibration.calibrate.looks import looks_spent
from calibration.calibrate.rivals import rivals_of
from calibration.calibrate.run import Asked, rebuild
from calibration.evidence import CalibrationReport, Comparison, Examination
from calibration.policy import AdmissionPolicy
from calibration.registry import ANY_POPULATION
from calibration.rendering.reading import Readings
from calibration.store.assessments import iter_labels
from calibration.store.decisions import DecisionScope, StoredDecision, current_decision
from calibration.store.items import Scope
from calibration.store.judges import get_judge, list_runs
from calibration.store.reports import StoredReport, get_policy, list_reports
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sets import get_set_by_digest


@dataclass(frozen=True, slots=True)
class Question:
    """One frozen set under one criterion and one policy: what judges are compared on."""

    set_digest: str
    set_ref: str
    rubric_digest: str
    rubric_ref: str
    criterion: str
    policy_digest: str | None
    policy_label: str
    """Empty where no policy was named."""
    newest: datetime

    @property
    def words(self) -> str:
        """The question on one line."""
        policy = self.policy_label or "no policy"
        return f"{self.criterion} · {self.set_ref} · {self.rubric_ref} · {policy}"


@dataclass(frozen=True, slots=True)
class Examined:
    """A judge's newest report on a question, with what the policy makes of it now."""

    stored: StoredReport
    examination: Examination
    """Decided among the other judges: where the policy says so, Holm divides its error among them."""

    @property
    def judge(self) -> str:
        """The judge's name."""
        return self.examination.report.judge


@dataclass(frozen=True, slots=True)
class Answered:
    """Every judge that was examined on a question."""

    question: Question
    policy: AdmissionPolicy | None
    judges: tuple[Examined, ...]
    """In the order in which they are listed: by outcome."""

    @property
    def comparison(self) -> Comparison:
        """The same for the renderings."""
        return Comparison(examinations=tuple(each.examination for each in self.judges))


def questions(*, session: Session) -> tuple[Question, ...]:
    """Every question that a recorded report answers, the one with the newest report first."""
    found: dict[tuple[str, str, str, str | None], Question] = {}
    for report in list_reports(session=session):
        key = (report.set_digest or "", report.rubric_digest, report.criterion, report.policy_digest)
        if report.set_digest is None or key in found:
            continue
        found[key] = _question(session, report, report.set_digest)
    return tuple(found.values())


def _question(session: Session, report: StoredReport, set_digest: str) -> Question:
    policy = get_policy(session=session, policy=report.policy_digest) if report.policy_digest else None
    return Question(
        set_digest=set_digest,
        set_ref=get_set_by_digest(session=session, digest=set_digest).ref,
        rubric_digest=report.rubric_digest,
        rubric_ref=get_rubric_by_digest(session=session, digest=report.rubric_digest).ref,
        criterion=report.criterion,
        policy_digest=report.policy_digest,
        policy_label=f"{policy.name}@{policy.version}" if policy else "",
        newest=report.recorded_at,
    )


def answered(*, session: Session, question: Question) -> Answered:
    """The newest report of every judge on the question, decided by the policy with the others as rivals."""
    newest: dict[str, StoredReport] = {}
    for report in list_reports(session=session, criterion=question.criterion, set_digest=question.set_digest):
        same = (report.rubric_digest, report.policy_digest) == (
            question.rubric_digest,
            question.policy_digest,
        )
        if same:
            newest.setdefault(report.judge_digest, report)
    policy = _policy(session, question)
    reports = [(stored, CalibrationReport.model_validate(stored.content)) for stored in newest.values()]
    judges = [_examined(session, policy, stored, report) for stored, report in reports]
    return Answered(question, policy, _ordered(judges))


def _policy(session: Session, question: Question) -> AdmissionPolicy | None:
    if question.policy_digest is None:
        return None
    return AdmissionPolicy.model_validate(get_policy(session=session, policy=question.policy_digest).content)


def _examined(
    session: Session,
    policy: AdmissionPolicy | None,
    stored: StoredReport,
    report: CalibrationReport,
) -> Examined:
    if policy is None:
        return Examined(stored, Examination(report=report, decision=None))
    spent = looks_spent(
        session=session,
        judge_digest=stored.judge_digest,
        rubric_digest=stored.rubric_digest,
        criterion=stored.criterion,
        input_digest=stored.input_digest,
    )
    decision = decide(
        report,
        policy,
        looks_used=spent.used,
        looks_before=spent.before,
        rivals=rivals_of(session=session, report_digest=stored.digest, policy=policy),
    )
    return Examined(stored, Examination(report=report, decision=decision))


def _ordered(judges: Sequence[Examined]) -> tuple[Examined, ...]:
    if not judges:
        return ()
    shown = Readings.of(Comparison(examinations=tuple(each.examination for each in judges)))
    by_report = {each.examination.report.report: each for each in judges}
    return tuple(by_report[reading.report.report] for reading in shown.all)


def stale(*, session: Session, answered: Answered, examined: Examined) -> str:
    """Why the report no longer is what the recorded labels and verdicts give; empty where it is."""
    stored = examined.stored
    evidence = open_set_by_digest(session=session, digest=answered.question.set_digest)
    asked = Asked(
        evidence=evidence,
        rubric=get_rubric_by_digest(session=session, digest=stored.rubric_digest),
        criterion=stored.criterion,
        judges=(get_judge(session=session, judge=stored.judge_digest),),
        policy=answered.policy,
        actor="review",
        exploratory=examined.examination.report.exploratory,
    )
    anew = rebuild(session=session, asked=asked)
    if anew.inputs != stored.input_digest:
        return "labels or verdicts were added since this report was made: run voirdire calibrate again"
    if anew.report.exploratory != examined.examination.report.exploratory:
        return str(anew.report.exploratory)
    return ""


def scope_of(answered: Answered, examined: Examined, *, population: str = ANY_POPULATION) -> DecisionScope:
    """What a decision on the report is about."""
    return DecisionScope(
        examined.stored.judge_digest,
        examined.stored.rubric_digest,
        examined.stored.criterion,
        population,
        answered.policy.role if answered.policy else "acceptance",
    )


def standing(*, session: Session, scope: DecisionScope) -> StoredDecision | None:
    """The decision that stands for the scope."""
    return current_decision(session=session, scope=scope)


def labelled_by(*, session: Session, question: Question, person: str) -> int:
    """How many items of the set the person has labelled under the rubric."""
    labels = iter_labels(
        session=session,
        scope=Scope(set_digest=question.set_digest),
        rubric_digest=question.rubric_digest,
    )
    return len({label.item_id for label in labels if label.rater == person})


def unmeasured(*, session: Session, answered: Answered) -> tuple[str, ...]:
    """The judges that ran on the dataset under the rubric and have no report on the question, by name."""
    question = answered.question
    dataset = get_set_by_digest(session=session, digest=question.set_digest).dataset
    known = {each.stored.judge_digest for each in answered.judges}
    runs = list_runs(session=session, dataset=dataset, rubric_digest=question.rubric_digest)
    # asked about what a cascade sent on is not asked about the set
    asked = {run.judge_digest for run in runs if not run.escalated}
    found = [get_judge(session=session, judge=digest) for digest in asked - known]
    return tuple(sorted(judge.name for judge in found if judge.kind != "baseline"))
