"""The calibration report: all that is known about one judge under one criterion on one set of cases."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from calibration.evidence.cases import Frozen, VerdictTable
from calibration.evidence.figures import (
    AdjudicationFigure,
    AnswerAgreementFigure,
    BaselineFigure,
    Bounds,
    CorrectedFigure,
    Counts,
    FailureShareFigure,
    GateFigure,
    GroupFigure,
    KappaFigure,
    Margins,
    NotAssessed,
    OperationFigure,
    PositionFigure,
    ProbeFigure,
    RateFigure,
    RaterErrorFigure,
    RaterFigure,
    RepeatsFigure,
    RestatedFigure,
    SelfPreferenceFigure,
    SliceFigure,
    UndefinedFigure,
    VerbosityFigure,
)

REPORT_SCHEMA = "voirdire.report/1"


class EvidenceGrade(StrEnum):
    """How the labels came to be, from the weakest ground to the strongest."""

    UNKNOWN = "unknown"
    CONSTRUCTED = "constructed"
    MODEL = "model"
    ONE_RATER = "one_rater"
    SEVERAL = "several"
    ADJUDICATED = "adjudicated"
    PRODUCTION_OUTCOME = "production_outcome"


class ReportScope(Frozen):
    """What was examined on what."""

    judge: str
    rubric: str | None = None
    criterion: str
    dataset: str | None = None
    set: str | None = None
    run: str | None = None


class CalibrationReport(Frozen):
    """Everything known about one judge under one criterion on one set of cases (ARCHITECTURE §7)."""

    schema_: str = Field(default=REPORT_SCHEMA, alias="schema")
    report: str
    """Digest of the inputs, the gate's settings and the numbers."""
    inputs: str
    """Digest of the cases alone, whatever their order."""
    judge: str
    rubric: str | None
    criterion: str
    dataset: str | None
    set: str | None
    run: str | None
    policy: str | None
    """name@version and digest of the policy whose gate settings were used."""
    evidence_grade: EvidenceGrade
    constructed: bool
    """True where the items or labels were written for demonstration; stamped on every page."""
    warnings: tuple[str, ...]
    not_assessed: tuple[NotAssessed, ...]
    not_established: tuple[str, ...]
    """Claims that a reader might take from the figures and that they do not carry."""
    counts: Counts
    table: VerdictTable
    far: RateFigure | None
    """Null for a pairwise criterion without a declared candidate; see `wrong_side`."""
    far_gate: GateFigure
    far_decided: RateFigure
    far_bounds: Bounds
    far_bounds_all_unknown: Bounds
    frr: RateFigure
    non_acceptance_among_pass: RateFigure
    failure_among_accepted: FailureShareFigure
    kappa: KappaFigure | UndefinedFigure
    kappa_decided: KappaFigure | UndefinedFigure
    disagreement: RateFigure
    wrong_side: RateFigure | None
    """Judge prefers the side that the reference rejects, over items with a reference preference."""
    margins: Margins
    coverage: RateFigure
    abstention: RateFigure
    invalid: RateFigure
    open: RateFigure
    guard_gates: dict[str, GateFigure]
    """The gate's interval for the guards that are rates."""
    position: PositionFigure | None
    repeats: RepeatsFigure | None
    answer_agreement: AnswerAgreementFigure | None = None
    design: str | None = None
    """How the items were drawn; null for a table that does not say."""
    claim: str | None = None
    """What a figure on this set may be said to describe."""
    exploratory: str | None = None
    """Why the report cannot admit, whatever its numbers; null where it may."""
    raters: RaterFigure | None
    slices: tuple[SliceFigure, ...]
    accepted_failures: tuple[str, ...] = ()
    """Ids of the reference failures that the judge accepted, at most 200, to be read."""
    failure_modes: tuple[GroupFigure, ...] = ()
    severities: tuple[GroupFigure, ...] = ()
    corrected: CorrectedFigure | None = None
    restated: RestatedFigure | None = None
    rater_error: RaterErrorFigure | None = None
    adjudication: AdjudicationFigure | None = None
    """FAR re-weighted by adjudication; null where no cases were drawn for this judge."""
    operation: OperationFigure | None = None
    """Null where neither cost nor duration of any verdict was recorded."""
    target: str = ""
    """What the intervals speak about."""
    baselines: tuple[BaselineFigure, ...]
    probes: tuple[ProbeFigure, ...] = ()
    """What recorded probes of this judge under this rubric and criterion showed, by kind of change."""
    verbosity: VerbosityFigure | None = None
    """Null where the texts are not known, as in a table of labels."""
    self_preference: SelfPreferenceFigure | None = None
    """Null as `verbosity`; where it is not assessable it says why."""

    @model_serializer(mode="wrap")
    def _without_nothing(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without later figures that are not there, so that older reports keep their digests."""
        found: dict[str, Any] = written(self)
        for name in ("probes", "verbosity", "self_preference"):
            if not getattr(self, name):
                found.pop(name, None)
        return found

    @property
    def headline(self) -> RateFigure:
        """The rate that the gate decides on: FAR, or the wrong-side rate where no candidate is declared."""
        figure = self.far if self.far is not None else self.wrong_side
        if figure is None:
            raise ValueError(f"report {self.report[:12]} has neither a FAR nor a wrong-side rate")
        return figure
