"""Figures: the form in which a number is stored and sent.

A rate without a denominator keeps its x, n and interval [0, 1]; its estimate is null in JSON and the reason
stands in the report's `not_assessed`.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from calibration.evidence.cases import Frozen
from calibration.values import Rate


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
    cluster_counts: tuple[tuple[int, int, int], ...] = ()
    """(x, n, clusters with these counts) of the worst case; empty where no cluster holds two cases."""
    confidence: float
    sided: int
    estimate: float | None = None
    """Point of the worst case, re-weighted to the population where the set was drawn by strata."""
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
    status: str | None = None
    """within_limit, above_limit, undecided or not_assessed; null without a policy."""


class GroupFigure(Frozen):
    """FAR among the failures of one failure mode or severity level."""

    group: str
    far: RateFigure
    limit: float | None
    status: str | None
    """As of a slice; null without a limit."""
    far_gate: GateFigure | None = None
    """What a limit of its own reads; null in a report that was made before there were any."""


class OperationFigure(Frozen):
    """What the judge's verdicts cost and how long they took, as far as it was recorded."""

    verdicts: int
    costed: int
    """Verdicts whose cost is known."""
    cost_micros: int
    """Of those, together, in millionths of a US dollar."""
    items: int
    """Distinct items that the verdicts are on."""
    timed: int
    """Verdicts whose duration is known."""
    latency_p95_ms: int | None
    """The smallest duration that 95 % of the timed verdicts do not exceed; null where none is timed."""
    declared_free: int | None = None
    """Verdicts, of a panel its members' ones, whose call cost 0 by prices that somebody declared; null in a
    report that was made before this was told."""
    uncalled: int | None = None
    """Verdicts that were settled without a call, so that there is no duration; null as above."""

    @property
    def as_before(self) -> OperationFigure:
        """The figure as a report of before says it."""
        return self.model_copy(update={"declared_free": None, "uncalled": None})

    @model_serializer(mode="wrap")
    def _without_nothing(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without what older reports do not say, so that they keep their digests."""
        found: dict[str, Any] = written(self)
        for name in ("declared_free", "uncalled"):
            if getattr(self, name) is None:
                found.pop(name, None)
        return found


class CorrectedFigure(Frozen):
    """The pass rate of a deployment that this judge judged, corrected for its errors."""

    accepted: int
    n: int
    method: str
    """rogan_gladen, or none with the reason in `undefined`."""
    estimate: float | None
    lower: float | None
    upper: float | None
    undefined: str | None = None


class RestatedFigure(Frozen):
    """Failure among accepted at a declared failure prevalence."""

    prevalence: float
    estimate: float | None
    lower: float
    upper: float


class RaterErrorFigure(Frozen):
    """FAR against the truth, if raters err at these rates, independently of the judge."""

    detects_fail: float
    passes_pass: float
    far: float | None
    perfect_judge_shows: float | None
    """The FAR that a perfect judge would show with such raters on this mix."""
    undefined: str | None = None


class AdjudicationCellFigure(Frozen):
    """One cell of judge x raters, and what adjudicating a known share of it showed."""

    judge_accepted: bool
    raters: str
    """pass or fail where all raters say so; disagree, or undecided where nobody decides."""
    cases: int
    drawn: int
    probability: float
    """With which each case of the cell was drawn."""
    adjudicated: int
    failures: int
    """Adjudicated as fail."""


class AdjudicationFigure(Frozen):
    """FAR against the adjudicated truth, re-weighted from a recorded draw out of all four cells."""

    cells: tuple[AdjudicationCellFigure, ...]
    cases: int
    drawn: int
    adjudicated: int
    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    """For the population that the set was sampled from."""
    set_lower: float | None = None
    set_upper: float | None = None
    """For this fixed set: no width where every case was adjudicated."""
    confidence: float | None = None
    method: str | None = None
    accepted_failures: float | None = None
    """Estimated failures that the judge accepted."""
    failures: float | None = None
    """Estimated failures."""
    undefined: str | None = None
    """Why there is no rate yet."""


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


class ProbeFigure(Frozen):
    """What one kind of change did to a judge, over reference failures judged unchanged and changed."""

    family: str
    """The kind of change."""
    probe: str
    """The dataset of the changed copies: which items, and which wording of the changes."""
    word: str
    """biased, bounded or underpowered, by the bound that the probe was asked for."""
    n: int
    flipped: int
    """Accepted with the change and not in the unchanged repeat; without a verdict as not flipped."""
    flipped_at_most: int
    """The same with every copy without a verdict resolved toward a flip."""
    back: int
    """Accepted unchanged and not with the change."""
    rise_lower: float
    rise_upper: float
    """Ends of the rise in acceptance, in [-1, 1], what has no verdict resolved against either end."""
    p_value: float
    shared: int
    """Kinds of change among which the probe shared its levels."""
    judge: str = ""
    """The judge in which the rise was found, where it is another one that asks the same calls."""

    @model_serializer(mode="wrap")
    def _without_nothing(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without another judge where there is none, so that older reports keep their digests."""
        found: dict[str, Any] = written(self)
        if not self.judge:
            found.pop("judge", None)
        return found


class OddsFigure(Frozen):
    """An odds ratio with its interval; null with the reason where it cannot be estimated."""

    estimate: float | None = None
    lower: float | None = None
    upper: float | None = None
    undefined: str | None = None


class LengthThirdFigure(Frozen):
    """Both error rates among a third of the items by length."""

    shortest: float
    """In characters, or as a ratio; see the measure of the figure that this is part of."""
    longest: float
    far: RateFigure
    non_acceptance_among_pass: RateFigure


class VerbosityFigure(Frozen):
    """Whether longer outputs are accepted more often, at equal reference."""

    measure: str
    """characters of the output, or of the candidate for each character of the other output of a pair."""
    items: int
    """With a resolved reference and a known text."""
    odds_per_doubling: OddsFigure
    """Of acceptance when the length doubles; 1 is no lean."""
    thirds: tuple[LengthThirdFigure, ...]


class SelfPreferenceFigure(Frozen):
    """Whether outputs of the judge's own family of models are accepted more often than others."""

    items: int
    """With a resolved reference, a known text and a named family."""
    own_family: RateFigure | None = None
    """FAR on the outputs of the judge's own family."""
    others: RateFigure | None = None
    difference: float | None = None
    """Own less others."""
    lower: float | None = None
    upper: float | None = None
    odds: OddsFigure = OddsFigure()
    """Of acceptance for the own family at equal reference and length."""
    undefined: str | None = None
    """Why there is no difference: not assessable, or too few failures."""
