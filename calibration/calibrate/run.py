"""The use case: evidence is read in one state of the store; reports and looks are written in one transaction.

No number is returned whose look is not recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlmodel import Session

from calibration.admission import decide
from calibration.calibrate.adjudication_draw import adjudication_figure
from calibration.calibrate.baselines import Beside, baselines_beside, no_better
from calibration.calibrate.cases import answer_table, has_claim, make_cases
from calibration.calibrate.evidence_set import EvidenceSet
from calibration.calibrate.looks import looks_spent
from calibration.calibrate.probed import probe_figures
from calibration.calibrate.references import References, read_references, record_references
from calibration.calibrate.remarks import cost_warnings, labeling_warnings, warnings_of
from calibration.calibrate.rivals import rivals_of
from calibration.calibrate.steering import steering_reason
from calibration.calibrate.verdicts import Judged, read_verdicts
from calibration.calibrate.written import lengths_of, written_of
from calibration.evidence import (
    AdjudicationFigure,
    CalibrationReport,
    Case,
    Comparison,
    Examination,
    ProbeFigure,
    ReportScope,
)
from calibration.labels import LabelSource, ReferenceRule
from calibration.policy import AdmissionPolicy
from calibration.report import build_report, rank
from calibration.report.supplement import Supplement
from calibration.store.assessments import iter_labels
from calibration.store.judges import StoredJudge
from calibration.store.operation import operation_of
from calibration.store.reports import Look, LookKind, Steered, add_look, add_report
from calibration.store.sessions import closures_in
from rubrics.criterion import Criterion
from rubrics.digest import digest
from rubrics.errors import DeclarationError, RecordError
from rubrics.rubric import Rubric

HUMAN_ONLY = frozenset({LabelSource.HUMAN})


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asked to be examined."""

    evidence: EvidenceSet
    rubric: Rubric
    criterion: str
    judges: tuple[StoredJudge, ...]
    policy: AdmissionPolicy | None
    actor: str
    rule: ReferenceRule | None = None
    """None takes the policy's rule, or majority without a policy."""
    min_raters: int = 1
    sources: frozenset[LabelSource] = HUMAN_ONLY
    ranked: bool = False
    exploratory: str | None = None
    """Why no decision may rest on it; None where one may."""
    probes: tuple[ProbeFigure, ...] | None = None
    """Probes to go by in place of those that are recorded now; for verification only."""
    as_before: bool = False
    """Whether cost and time are told as before it was told what they rest on; for verification only."""

    @property
    def reference_rule(self) -> ReferenceRule:
        """How labels become references."""
        if self.rule is not None:
            return self.rule
        return self.policy.reference.label_rule if self.policy else ReferenceRule.MAJORITY


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What was found, and which looks it cost."""

    comparison: Comparison
    new_looks: int


@dataclass(frozen=True, slots=True)
class _Common:
    """What is the same for every judge that is asked for; read once."""

    criterion: Criterion
    references: References
    beside: Sequence[Beside]
    lengths: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class _Examined:
    judge: StoredJudge
    judged: Judged
    cases: list[Case]
    report: CalibrationReport
    inputs: str


def calibrate(*, session: Session, asked: Asked, at: datetime) -> Calibrated:
    """Reports of the judges asked for, recorded with one look for each distinct input, and outcomes.

    Args:
        session: a writing session; the caller's transaction holds everything that is written.
        asked: what is examined.
        at: now.

    Raises:
        RecordError: no label under the criterion, or a judge has no verdict on the set.
    """
    criterion = asked.rubric.criterion(asked.criterion)
    _refuse_screening_judge(asked)
    references = _references(session, asked, criterion, at)
    beside = baselines_beside(
        session=session,
        evidence=asked.evidence,
        rubric=asked.rubric,
        criterion=criterion,
        references=references,
    )
    common = _common(session, asked, references, beside)
    examined = [_examine(session, asked, common, judge) for judge in asked.judges]
    new = sum(_record(session, asked, each, at) for each in examined)
    examinations = tuple(_decided(session, asked, each) for each in examined)
    compared = {each.judge.name: each.cases for each in examined} if asked.ranked else {}
    ranks, ties = rank(asked.criterion, compared)
    return Calibrated(Comparison(examinations=examinations, rank=ranks, ties=ties), new)


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A report made anew from the recorded rows, without writing anything."""

    report: CalibrationReport
    inputs: str
    """Identity of the labels and verdicts that it was made of."""


def rebuild(*, session: Session, asked: Asked) -> Rebuilt:
    """The report of the one judge asked for as the recorded rows give it now; no look, nothing is written.

    For verification only: its numbers are compared with recorded ones and are shown to nobody.

    Raises:
        RecordError: no label under the criterion, or the judge has no verdict on the set.
    """
    criterion = asked.rubric.criterion(asked.criterion)
    (judge,) = asked.judges
    examined = _examine(session, asked, _common(session, asked, _read(session, asked, criterion), ()), judge)
    return Rebuilt(examined.report, examined.inputs)


def _refuse_screening_judge(asked: Asked) -> None:
    for judge in asked.judges:
        if asked.evidence.screened_by in {judge.name, judge.digest}:
            raise DeclarationError(
                f"{asked.evidence.called} was drawn by the verdicts of {judge.name!r}: its strata are that "
                "judge's own verdicts, so it is not examined on it; draw a set without it"
            )


def _read(session: Session, asked: Asked, criterion: Criterion) -> References:
    """The references that the recorded labels give by the rule asked for."""
    return read_references(
        session=session,
        scope=asked.evidence.scope,
        rubric_digest=asked.rubric.digest,
        criterion=criterion,
        rule=asked.reference_rule,
        min_raters=asked.min_raters,
        sources=asked.sources,
    )


def _references(session: Session, asked: Asked, criterion: Criterion, at: datetime) -> References:
    """The references, recorded; refused where nobody whose word counts has labelled anything."""
    found = _read(session, asked, criterion)
    if not found.by_item:
        raise RecordError(_unlabelled(session, asked, criterion))
    record_references(
        session=session,
        dataset=asked.evidence.dataset,
        rubric_digest=asked.rubric.digest,
        criterion=criterion.key,
        rule=asked.reference_rule,
        min_raters=asked.min_raters,
        references=found,
        at=at,
    )
    return found


def _unlabelled(session: Session, asked: Asked, criterion: Criterion) -> str:
    """Why there is no reference: no label at all, or none of a person."""
    what = f"no label of {asked.evidence.called} under {asked.rubric.ref} {criterion.key!r} is"
    others = _others(session, asked, criterion)
    if not others:
        return f"{what} recorded; run `voirdire labels import` or open a labeling session"
    return (
        f"{what} a person's, and only people's labels are a reference: models or code labelled {others:,} "
        "items; have people label them, or ask for what is there with --reference-source, which never admits"
    )


def _others(session: Session, asked: Asked, criterion: Criterion) -> int:
    """Items that only models or code labelled, whose labels were not asked for."""
    labels = iter_labels(
        session=session,
        scope=asked.evidence.scope,
        rubric_digest=asked.rubric.digest,
        criterion=criterion.key,
    )
    return len({label.item_id for label in labels if label.source not in asked.sources})


def _common(session: Session, asked: Asked, references: References, beside: Sequence[Beside]) -> _Common:
    criterion = asked.rubric.criterion(asked.criterion)
    lengths = lengths_of(session=session, evidence=asked.evidence, criterion=criterion)
    return _Common(criterion, references, beside, lengths)


def _examine(session: Session, asked: Asked, common: _Common, judge: StoredJudge) -> _Examined:
    evidence, rubric = asked.evidence, asked.rubric
    criterion, references = common.criterion, common.references
    judged = read_verdicts(
        session=session,
        scope=evidence.scope,
        judge_digest=judge.digest,
        rubric_digest=rubric.digest,
        dataset=evidence.dataset,
        criterion=criterion,
    )
    if judged is None:
        raise RecordError(
            f"judge {judge.name!r} has no verdict on {evidence.called} under {rubric.ref}; "
            "run `voirdire judge run` or `voirdire verdicts import`"
        )
    cases = make_cases(evidence.placed, references, judged, criterion)
    closed, adjudication = _labeling(session, asked, judge, references)
    others = [each for each in common.beside if each.digest != judge.digest]
    supplement = replace(
        _supplement(session, asked, criterion, references, judged, adjudication),
        **_of_judge(session, asked, common, judge),
    )
    report = build_report(
        cases,
        scope=ReportScope(
            judge=judge.name,
            rubric=rubric.ref,
            criterion=criterion.key,
            dataset=evidence.dataset,
            set=evidence.ref,
            run=judged.run,
        ),
        policy=asked.policy,
        assessments=references.assessments,
        baselines=[each.figure for each in others],
        supplement=_unsteered(session, asked, judge, references, supplement),
        constructed=evidence.constructed,
        warnings=[
            *warnings_of(judge, judged, references, evidence.placed),
            *labeling_warnings(closed, references, adjudication),
            *no_better(judge, cases, others),
            *cost_warnings(supplement.operation, asked.policy),
        ],
    )
    inputs = _input_digest(asked, judge, judged, references, _beside_labels(closed, adjudication))
    return _Examined(judge, judged, cases, report, inputs)


def _labeling(
    session: Session, asked: Asked, judge: StoredJudge, references: References
) -> tuple[dict[str, int], AdjudicationFigure | None]:
    """What labeling sessions left open by item, and what a draw for adjudication showed."""
    evidence, rubric, criterion = asked.evidence, asked.rubric, asked.criterion
    closed = closures_in(
        session=session, scope=evidence.scope, rubric_digest=rubric.digest, criterion=criterion
    )
    adjudication = adjudication_figure(
        session=session,
        evidence=evidence,
        judge=judge,
        rubric=rubric,
        criterion=criterion,
        references=references,
    )
    return closed, adjudication


def _beside_labels(closed: Mapping[str, int], adjudication: AdjudicationFigure | None) -> dict[str, Any]:
    """What else of a labeling session a report says; empty where there was none, so that nothing moves."""
    found: dict[str, Any] = {"window_closed": sorted(closed.items())} if closed else {}
    if adjudication is not None:
        found["drawn"] = adjudication.model_dump(mode="json", include={"cells"})
    return found


def _supplement(
    session: Session,
    asked: Asked,
    criterion: Criterion,
    references: References,
    judged: Judged,
    adjudication: AdjudicationFigure | None,
) -> Supplement:
    items = [each.item.item_id for each in asked.evidence.placed]
    plain = criterion.scale.kind == "binary"
    operation = operation_of(
        session=session, scope=asked.evidence.scope, run_key=judged.run, criterion=criterion.key
    )
    return Supplement(
        position=judged.position,
        repeats=judged.repeats,
        answers=None if plain else answer_table(references, judged, criterion, items),
        wrong_side=not has_claim(criterion),
        design=asked.evidence.design,
        claim=asked.evidence.claim,
        exploratory=asked.exploratory,
        adjudication=adjudication,
        operation=operation.as_before if operation and asked.as_before else operation,
    )


def _of_judge(session: Session, asked: Asked, common: _Common, judge: StoredJudge) -> dict[str, Any]:
    """What the judge is known by beside its verdicts: recorded probes, and which texts are its family's."""
    return {
        "probes": _probes(session, asked, judge),
        "written": written_of(
            lengths=common.lengths, evidence=asked.evidence, criterion=common.criterion, judge=judge
        ),
    }


def _probes(session: Session, asked: Asked, judge: StoredJudge) -> tuple[ProbeFigure, ...]:
    """What recorded probes of the judge showed; no part of a look, since they say nothing of its FAR."""
    if asked.probes is not None:
        return asked.probes
    return probe_figures(
        session=session, judge=judge, rubric_digest=asked.rubric.digest, criterion=asked.criterion
    )


def _unsteered(
    session: Session, asked: Asked, judge: StoredJudge, references: References, supplement: Supplement
) -> Supplement:
    """The supplement, marked where the set shaped the judge or rubric that it would have to decide on."""
    if supplement.exploratory is not None:
        return supplement
    reason = steering_reason(
        session=session,
        evidence=asked.evidence,
        judge=judge,
        rubric=asked.rubric,
        policy=asked.policy,
        references=references,
        criterion=asked.rubric.criterion(asked.criterion),
    )
    return replace(supplement, exploratory=reason)


def _input_digest(
    asked: Asked,
    judge: StoredJudge,
    judged: Judged,
    references: References,
    beside_labels: Mapping[str, Any],
) -> str:
    """Identity of a look: the labels, verdicts, rubric, policy and set that it is at."""
    return digest(
        {
            "set": asked.evidence.digest,
            "judge": judge.digest,
            "rubric": asked.rubric.digest,
            "criterion": asked.criterion,
            "policy": asked.policy.digest if asked.policy else None,
            "rule": [asked.reference_rule.value, asked.min_raters, sorted(asked.sources)],
            "references": sorted((item, found.inputs) for item, found in references.by_item.items()),
            "verdicts": sorted(judged.digests),
            **beside_labels,
        }
    )


def _record(session: Session, asked: Asked, examined: _Examined, at: datetime) -> int:
    """Record the report and its look; 1 for a new look."""
    common: dict[str, Any] = {
        "judge_digest": examined.judge.digest,
        "rubric_digest": asked.rubric.digest,
        "criterion": asked.criterion,
        "set_digest": asked.evidence.digest,
        "policy_digest": asked.policy.digest if asked.policy else None,
        "actor": asked.actor,
        "at": at,
    }
    report = examined.report
    add_report(
        session=session,
        digest=report.report,
        input_digest=examined.inputs,
        dataset=asked.evidence.dataset,
        content=report.model_dump(mode="json", by_alias=True),
        **common,
    )
    look = Look(
        input_digest=examined.inputs,
        kind=LookKind.REPORT,
        report_digest=report.report,
        steered=Steered.NO,
        **common,
    )
    _, new = add_look(session=session, look=look)
    return int(new)


def _decided(session: Session, asked: Asked, examined: _Examined) -> Examination:
    """What the policy says among all judges that were examined there, those not asked for now included."""
    if asked.policy is None:
        return Examination(report=examined.report, decision=None)
    spent = looks_spent(
        session=session,
        judge_digest=examined.judge.digest,
        rubric_digest=asked.rubric.digest,
        criterion=asked.criterion,
        input_digest=examined.inputs,
    )
    rivals = rivals_of(session=session, report_digest=examined.report.report, policy=asked.policy)
    decision = decide(
        examined.report, asked.policy, looks_used=spent.used, looks_before=spent.before, rivals=rivals
    )
    return Examination(report=examined.report, decision=decision)
