"""What a report is told beside its cases: orders, repeats, the scale's own answers, how items were drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from calibration.evidence import (
    AdjudicationFigure,
    AnswerAgreementFigure,
    GateFigure,
    OperationFigure,
    PositionFigure,
    ProbeFigure,
    RateFigure,
    RepeatsFigure,
)
from calibration.report.figures import rate_figure
from calibration.statistics.agreement import KappaWeights, cohens_kappa
from calibration.statistics.bias import SwappedPairs, position_bias
from calibration.statistics.rater_error import RaterErrors
from calibration.statistics.repeats import repeat_consistency
from calibration.values import Undefined


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """Reference answers (rows) by judge answers (columns, the judge's unknowns last)."""

    answers: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    ordered: bool
    """True for levels, whose near misses weigh less."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Outputs that the judge judged in use, without reference labels."""

    accepted: int
    n: int
    """All that it judged; unknown verdicts are in n, as not accepted."""


@dataclass(frozen=True, slots=True)
class Written:
    """What is known of the texts under judgment and of who wrote them."""

    log2_length: Mapping[str, float]
    """By item id; of a pair the candidate's length over the other's. Items without a text are absent."""
    measure: str
    own_family: Mapping[str, bool]
    """By item id, whether the judge's own family of models wrote it; items that name no family are absent."""
    not_assessable: str | None = None
    """Why nothing can be said of the judge's own family."""


LENGTH = "characters"
NO_FAMILY = "no output names the family of models that wrote it (`model_family`)"


def log2_length(text: str | None) -> float:
    """log2 of the characters of a text; 0 for an empty one."""
    return math.log2(max(len(text or ""), 1))


def own_family(families: Mapping[str, str], model: str) -> dict[str, bool]:
    """By item id whether the judge's own family wrote the output: its name stands in the name of the model.

    Items whose family is blank are absent.
    """
    named = {item: family.strip().lower() for item, family in families.items()}
    return {item: family in model.lower() for item, family in named.items() if family}


@dataclass(frozen=True, slots=True)
class Supplement:
    """Evidence that cases do not hold; every part may be absent."""

    position: Mapping[str, int] | None = None
    """Items asked in both orders by cell: AA, BB, TT, FF, SS, X."""
    repeats: tuple[tuple[int, ...], ...] | None = None
    """For each repeated item the counts of each answer."""
    answers: AnswerTable | None = None
    wrong_side: bool = False
    """The cases are coded for the wrong-side rate: no candidate is declared."""
    design: str | None = None
    """The kind of sampling design."""
    claim: str | None = None
    """What a figure on this set may be said to describe."""
    deployment: Deployment | None = None
    """What the judge said in use, for the corrected pass rate."""
    prevalence: float | None = None
    """Declared failure prevalence, to restate failure among accepted for."""
    rater_errors: RaterErrors | None = None
    """Known error rates of the raters."""
    accepts_only: bool = False
    """The items were sampled from what the judge accepted: no FAR follows from them."""
    exploratory: str | None = None
    """Why the report cannot admit, in a sentence."""
    adjudication: AdjudicationFigure | None = None
    """What a draw from all cells of judge x raters showed."""
    operation: OperationFigure | None = None
    """What the verdicts cost and how long they took."""
    probes: tuple[ProbeFigure, ...] = ()
    """What recorded probes of the judge showed."""
    written: Written | None = None
    """Lengths and families of the outputs."""


def position_figure(cells: Mapping[str, int] | None) -> PositionFigure | None:
    """Position figures over every item asked in both orders; None where there is none."""
    if cells is None:
        return None
    found = position_bias(
        SwappedPairs(
            same_a=cells.get("AA", 0),
            same_b=cells.get("BB", 0),
            both_tie=cells.get("TT", 0),
            both_first=cells.get("FF", 0),
            both_second=cells.get("SS", 0),
            other=cells.get("X", 0),
        )
    )
    return PositionFigure(
        cells=dict(cells),
        consistency=RateFigure.of(found.consistency),
        conflict=RateFigure.of(found.conflict),
        first_preference=RateFigure.of(found.first_preference),
        effect=None if isinstance(found.effect, Undefined) else found.effect,
        p_value=found.p_value,
    )


def repeats_figure(counts: tuple[tuple[int, ...], ...] | None) -> RepeatsFigure | None:
    """How alike repeated verdicts are; None where nothing was repeated."""
    found = repeat_consistency(counts) if counts else None
    if found is None or isinstance(found, Undefined):
        return None
    return RepeatsFigure(
        items=found.cases, pairwise=found.pairwise, modal=found.modal, unanimous=found.unanimous
    )


def answer_agreement(table: AnswerTable | None) -> AnswerAgreementFigure | None:
    """Agreement on the scale's own answers, over every reference answer and over those the judge decided."""
    if table is None:
        return None
    size = len(table.answers)
    decided = [row[:size] for row in table.counts]
    same = sum(decided[i][i] for i in range(size))
    n_decided, n = sum(map(sum, decided)), sum(map(sum, table.counts))
    weights = KappaWeights.QUADRATIC if table.ordered else KappaWeights.NONE
    kappa = cohens_kappa(decided, weights=weights)
    return AnswerAgreementFigure(
        answers=table.answers,
        counts=table.counts,
        agreement=rate_figure(same, n),
        agreement_decided=rate_figure(same, n_decided),
        kappa_decided=None if isinstance(kappa, Undefined) else kappa.kappa,
        kappa_weights=weights.value,
    )


def supplement_gates(supplement: Supplement) -> dict[str, GateFigure]:
    """The guards' view of orders and repeats: points, so both cases are the same."""
    gates = {}
    position = position_figure(supplement.position)
    if position is not None and position.effect is not None:
        n = position.consistency.n
        gates["position_consistency"] = _point(position.consistency.x, n)
        gates["position_effect_abs"] = _point(round(abs(position.effect) * n), n)
    if supplement.repeats:
        pairs = [(sum(c * (c - 1) for c in row), sum(row) * (sum(row) - 1)) for row in supplement.repeats]
        gates["repeat_pairwise"] = _point(sum(x for x, _ in pairs) // 2, sum(n for _, n in pairs) // 2)
    return gates


def _point(x: int, n: int) -> GateFigure:
    """A gate of a rate that no open verdict can move."""
    interval = rate_figure(x, n)
    return GateFigure(
        x=x,
        n=n,
        lower=interval.lower,
        upper=interval.upper,
        method=interval.method,
        n_effective=float(n),
        icc=None,
        clusters=n,
        cases_per_cluster_max=1,
        confidence=interval.confidence,
        sided=interval.sided,
        estimate=x / n if n else None,
        x_best=x,
        n_best=n,
        n_effective_best=float(n),
    )
