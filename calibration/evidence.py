"""Frozen records of what a judge's examination found: cases, verdict table, figures, report, decision.

A figure is the form in which a number is stored and sent. A rate without a denominator keeps its
x, n and interval [0, 1]; its estimate is null in JSON and the reason stands in `not_assessed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from calibration.labels import ReferenceLabel
from calibration.values import Rate
from rubrics.verdict import Outcome, UnknownReason, Verdict

REPORT_SCHEMA = "voirdire.report/1"


class Frozen(BaseModel):
    """A stored or sent record: immutable, and nothing that was not declared gets in."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


@dataclass(frozen=True, slots=True)
class Case:
    """One item under one criterion: its reference, the judge's deployed verdict, where it belongs."""

    item_id: str
    cluster: str
    """Items that share it are not independent (one prompt, several outputs)."""
    reference: ReferenceLabel
    outcome: Outcome
    slices: tuple[tuple[str, str], ...] = ()
    """(slice name, value) pairs."""
    stratum: str = ""
    """Of the sampling design."""
    inclusion_probability: float | None = None
    """With which the design drew it; None where the design gives none."""


class VerdictRow(Frozen):
    """Counts of a judge's outcomes among the items of one reference label."""

    accepted: int = Field(default=0, ge=0)
    rejected: int = Field(default=0, ge=0)
    abstained: int = Field(default=0, ge=0)
    invalid: int = Field(default=0, ge=0)
    inconsistent: int = Field(default=0, ge=0)
    pending: int = Field(default=0, ge=0)
    missing: int = Field(default=0, ge=0)
    error: int = Field(default=0, ge=0)

    @property
    def decided(self) -> int:
        """Accepted or rejected."""
        return self.accepted + self.rejected

    @property
    def final_unknown(self) -> int:
        """Abstained, invalid or inconsistent: non-acceptances that stay in every denominator."""
        return self.abstained + self.invalid + self.inconsistent

    @property
    def open(self) -> int:
        """Pending, missing or error: could still become anything."""
        return self.pending + self.missing + self.error

    @property
    def total(self) -> int:
        """Every item of the row."""
        return self.decided + self.final_unknown + self.open

    def __add__(self, other: VerdictRow) -> VerdictRow:
        """The row of both groups together."""
        mine, theirs = self.model_dump(), other.model_dump()
        return VerdictRow(**{name: mine[name] + theirs[name] for name in mine})


def outcome_column(outcome: Outcome) -> str:
    """The VerdictRow field that counts the outcome."""
    if outcome.verdict is Verdict.PASS:
        return "accepted"
    if outcome.verdict is Verdict.FAIL:
        return "rejected"
    return (outcome.reason or UnknownReason.MISSING).value


class VerdictTable(Frozen):
    """Judge outcome by reference label; `unresolved` holds the items whose reference is unknown."""

    fail: VerdictRow = VerdictRow()
    passing: VerdictRow = Field(default=VerdictRow(), alias="pass")
    unresolved: VerdictRow = VerdictRow()

    @property
    def all(self) -> VerdictRow:
        """Every item, whatever its reference."""
        return self.fail + self.passing + self.unresolved


class RateFigure(Frozen):
    """x of n with its Wilson interval."""

    x: int
    n: int
    estimate: float | None
    """x / n; null when n is 0."""
    lower: float
    upper: float
    confidence: float
    sided: int
    method: str

    @classmethod
    def of(cls, rate: Rate) -> RateFigure:
        """The record of a rate."""
        interval = rate.interval
        return cls(
            x=rate.x,
            n=rate.n,
            estimate=rate.x / rate.n if rate.n else None,
            lower=interval.lower,
            upper=interval.upper,
            confidence=interval.confidence,
            sided=interval.sided,
            method=interval.method,
        )


class FailureShareFigure(RateFigure):
    """Failure among accepted, with the population that it describes."""

    describes: Literal["calibration mix", "deployment"] = "calibration mix"


class GateFigure(Frozen):
    """The interval that a policy decides on: worst case above, best case below, clusters allowed for.

    `x` of `n` is the worst case (open verdicts and unresolved references against the judge),
    `x_best` of `n_best` the best case; `upper` belongs to the worst, `lower` to the best.
    """

    x: int
    n: int
    lower: float
    upper: float
    method: str
    n_effective: float
    """n of the worst case divided by the variance inflation of its clusters."""
    icc: float | None
    """Intracluster correlation used, the larger of the estimate and the planning value; null where no
    cluster holds two cases, since nothing is then allowed for."""
    clusters: int
    """Distinct clusters that hold an item of the worst case's denominator."""
    cases_per_cluster_max: int
    confidence: float
    sided: int
    x_best: int
    n_best: int
    n_effective_best: float


class Bounds(Frozen):
    """A rate with every unknown resolved each way; null without a denominator."""

    low: float | None
    high: float | None


class KappaFigure(Frozen):
    """Cohen's kappa with what it must be read with."""

    estimate: float
    lower: float | None
    """Null where one side is constant: kappa is 0 and no interval exists (see `degenerate`)."""
    upper: float | None
    po: float
    pe: float
    kappa_max: float | None
    n: int
    degenerate: bool
    method: str


class AlphaFigure(Frozen):
    """Krippendorff's alpha of nominal labels, for any number of raters."""

    estimate: float
    lower: float | None
    """Null where every resample gives the same value."""
    upper: float | None
    method: str


class UndefinedFigure(Frozen):
    """A figure that does not exist for this evidence."""

    undefined: str


class JudgeMargin(Frozen):
    """How often the judge accepts, over the resolved references."""

    accepted: int
    not_accepted: int
    n: int


class ReferenceMargin(Frozen):
    """How often the reference passes."""

    passing: int = Field(alias="pass")
    fail: int
    n: int


class Margins(Frozen):
    """Both margins of the agreement table."""

    judge: JudgeMargin
    reference: ReferenceMargin


class Counts(Frozen):
    """The counts that scripts read first."""

    reference_fail: int
    reference_pass: int
    reference_unresolved: int
    accepted_among_fail: int
    accepted_among_pass: int
    rejected_among_fail: int
    rejected_among_pass: int
    abstained: int
    invalid: int
    inconsistent: int
    pending: int
    missing: int
    error: int
    clusters: int
    clusters_fail: int


class NotAssessed(Frozen):
    """A figure that nobody could compute from this evidence, and why."""

    name: str
    reason: str


class SliceFigure(Frozen):
    """FAR and cost of one slice; `far_gate` is what the slice guard reads."""

    slice: str
    value: str
    far: RateFigure
    far_gate: GateFigure
    non_acceptance_among_pass: RateFigure


class BaselineFigure(Frozen):
    """A trivial judge on the same items, for comparison; never a candidate."""

    name: str
    description: str
    far: RateFigure
    non_acceptance_among_pass: RateFigure
    kappa: KappaFigure | UndefinedFigure


class RaterFigure(Frozen):
    """How the reference came to be."""

    raters: int
    """Distinct raters."""
    raters_per_case_min: int
    raters_per_case_max: int
    agreement: RateFigure | UndefinedFigure
    """Items on which all raters said the same, over items with at least two raters."""
    kappa: KappaFigure | UndefinedFigure
    """Of exactly two raters, over pass, fail and cannot-decide."""
    alpha: AlphaFigure | UndefinedFigure
    """Of any number of raters, over the same three."""
    adjudicated: int
    """Resolved references that rest on an adjudication."""
    blind: dict[str, int]
    """Assessments by blindness as recorded."""
    sources: dict[str, int]
    """Assessments by who made them: human, model, code."""


class PositionFigure(Frozen):
    """What asking in both orders shows, over every item asked in both; unknowns stay in the denominator."""

    cells: dict[str, int]
    """AA, BB, TT: the same content in both orders; FF, SS: the first or second place twice; X: the rest."""
    consistency: RateFigure
    """Same content in both orders."""
    conflict: RateFigure
    """The same place in both orders, whatever stands there."""
    first_preference: RateFigure
    """First place among the conflicts."""
    effect: float | None
    """(FF - SS) / items, in [-1, 1]."""
    p_value: float
    """Exact, of first against second among the conflicts."""


class RepeatsFigure(Frozen):
    """How alike the verdicts of repeated items are; each in [0, 1]. Repeats never add to n."""

    items: int
    pairwise: float
    """Two repeats of an item agree."""
    modal: float
    """Share of an item's most frequent verdict."""
    unanimous: float
    """Items on which all repeats agree."""


class AnswerAgreementFigure(Frozen):
    """Agreement on the criterion's own answers (levels, preferences), before they become pass or fail."""

    answers: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    """Reference answers by judge answers, the judge's unknowns last."""
    agreement: RateFigure
    """Same answer over every item with a reference answer; an unknown of the judge differs."""
    agreement_decided: RateFigure
    """Same answer over the items that the judge answered."""
    kappa_decided: float | None
    kappa_weights: str
    """none, or quadratic for levels."""


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
    far: RateFigure
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
    baselines: tuple[BaselineFigure, ...]


class AdmissionOutcome(StrEnum):
    """What an examination leads to."""

    ADMIT = "admit"
    REJECT = "reject"
    INSUFFICIENT = "insufficient_evidence"


class ItemKind(StrEnum):
    """What a policy item may do (STATISTICS §0.4)."""

    FAR = "far"
    """The gate: pass, fail or insufficient."""
    RATE = "rate"
    """A rate guard: pass, fail or insufficient."""
    AGREEMENT = "agreement"
    """Pass, insufficient or warning; never fail."""
    DATA_QUALITY = "data_quality"
    """Pass or insufficient; never fail."""


class ItemStatus(StrEnum):
    """How one policy item stands."""

    PASS = "pass"
    FAIL = "fail"
    INSUFFICIENT = "insufficient"
    WARNING = "warning"


class PolicyItem(Frozen):
    """One item of the policy, with what was found and what was asked."""

    name: str
    kind: ItemKind
    status: ItemStatus
    value: float | int | str | None
    """The number that was compared with the limit; null where nothing could be compared."""
    limit: float | int | str | None
    comparison: str
    """Which end or point is compared how: upper_at_most, point_at_least, count_at_least, ..."""
    x: int | None = None
    n: int | None = None
    lower: float | None = None
    upper: float | None = None
    detail: str = ""
    """What decided, in words."""


class MoreFailures(Frozen):
    """Further reference failures that would let the judge pass the FAR gate."""

    clean: int | None
    """If the judge rejects all of them; null where no number would do."""
    at_observed_rate: int | None
    """If it goes on accepting failures at the observed rate; null where it would never pass."""
    looks: int
    """Looks among which the policy divides its error: the numbers hold at this level."""


class Looks(Frozen):
    """Evaluations of the gate spent and allowed."""

    used: int
    allowed: int


class AdmissionDecision(Frozen):
    """The outcome of a policy on a report. Unsigned: signing it is the registry's work."""

    outcome: AdmissionOutcome
    binding: str
    """The item that made the outcome."""
    items: tuple[PolicyItem, ...]
    more_failures_needed: MoreFailures
    looks: Looks
    policy: str
    policy_digest: str
    role: str
    p_value: float | None
    """One-sided p of the gate against FAR = limit; what Holm adjusts."""


class Examination(Frozen):
    """A report and the outcome that a policy gives it; no outcome where no policy or limit was named."""

    report: CalibrationReport
    decision: AdmissionDecision | None

    def to_json(self) -> dict[str, Any]:
        """The report JSON of ARCHITECTURE §7: the report's keys and `decision`."""
        decision = self.decision.model_dump(mode="json", by_alias=True) if self.decision else None
        return {**self.report.model_dump(mode="json", by_alias=True), "decision": decision}


class RankRange(Frozen):
    """The places that a judge may hold among those compared under one criterion, 1 the lowest FAR."""

    criterion: str
    judge: str
    low: int
    high: int


class Tie(Frozen):
    """Two judges that the shared reference failures do not separate."""

    criterion: str
    judges: tuple[str, str]
    only_first: int
    """Failures that only the first accepted."""
    only_second: int
    shared_failures: int
    p_value: float
    """Adjusted by Holm over the pairs compared."""


class Comparison(Frozen):
    """Several judges or criteria examined on the same items."""

    schema_: str = Field(default="voirdire.comparison/1", alias="schema")
    examinations: tuple[Examination, ...]
    rank: tuple[RankRange, ...] = ()
    ties: tuple[Tie, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The JSON of ARCHITECTURE §7 for several reports."""
        return {
            "schema": self.schema_,
            "reports": [examination.to_json() for examination in self.examinations],
            "rank": [r.model_dump(mode="json") for r in self.rank],
            "ties": [t.model_dump(mode="json") for t in self.ties],
        }

    @property
    def outcomes(self) -> tuple[AdmissionOutcome, ...]:
        """The outcomes of those that were decided."""
        return tuple(e.decision.outcome for e in self.examinations if e.decision)
