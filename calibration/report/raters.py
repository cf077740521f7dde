"""How the reference came to be: raters, their agreement, blindness and the grade of the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from calibration.evidence import (
    AlphaFigure,
    Case,
    EvidenceGrade,
    KappaFigure,
    RateFigure,
    RaterFigure,
    UndefinedFigure,
)
from calibration.labels import Assessment, LabelSource
from calibration.report.agreement import kappa_figure
from calibration.report.figures import rate_figure
from calibration.statistics.alpha_interval import nominal_alpha
from calibration.values import Undefined
from rubrics.verdict import Verdict

CATEGORIES = (Verdict.FAIL, Verdict.PASS, Verdict.UNKNOWN)
"""What a rater can say of an item; cannot-decide is a category of its own."""

Labels = Mapping[str, Mapping[str, Verdict]]
"""item -> rater -> label."""


def rater_figure(
    cases: Sequence[Case], assessments: Sequence[Assessment], *, rng: np.random.Generator
) -> RaterFigure | None:
    """Raters, agreement and blindness behind the references; None where no assessment is known."""
    if not assessments:
        return None
    labels: dict[str, dict[str, Verdict]] = {}
    for a in assessments:
        labels.setdefault(a.item_id, {})[a.rater] = a.verdict
    per_case = [case.reference.raters for case in cases]
    return RaterFigure(
        raters=len({a.rater for a in assessments}),
        raters_per_case_min=min(per_case, default=0),
        raters_per_case_max=max(per_case, default=0),
        agreement=raw_agreement(labels),
        kappa=rater_kappa(labels, rng=rng),
        alpha=rater_alpha(labels, rng=rng),
        adjudicated=sum(case.reference.adjudicated and case.reference.resolved for case in cases),
        blind=dict(sorted(Counter(a.blind.value for a in assessments).items())),
        sources=dict(sorted(Counter(a.source.value for a in assessments).items())),
    )


def raw_agreement(labels: Labels) -> RateFigure | UndefinedFigure:
    """Items on which all raters said the same, among items with at least two raters."""
    shared = [set(said.values()) for said in labels.values() if len(said) > 1]
    if not shared:
        return UndefinedFigure(undefined="no item has two raters")
    return rate_figure(sum(len(words) == 1 for words in shared), len(shared))


def rater_kappa(labels: Labels, *, rng: np.random.Generator) -> KappaFigure | UndefinedFigure:
    """Cohen's kappa of two raters over three categories; undefined with another number of raters."""
    raters = sorted({rater for said in labels.values() for rater in said})
    if len(raters) < 2:
        return UndefinedFigure(undefined="one rater: reliability not assessed")
    if len(raters) > 2:
        return UndefinedFigure(undefined=f"{len(raters)} raters: Cohen's kappa is for two, see alpha")
    index = {verdict: i for i, verdict in enumerate(CATEGORIES)}
    table = [[0] * len(CATEGORIES) for _ in CATEGORIES]
    for said in labels.values():
        if len(said) == 2:
            table[index[said[raters[0]]]][index[said[raters[1]]]] += 1
    return kappa_figure(table, rng=rng)


def rater_alpha(labels: Labels, *, rng: np.random.Generator) -> AlphaFigure | UndefinedFigure:
    """Krippendorff's alpha over three categories, of however many raters each item has."""
    units = [Counter(verdict.value for verdict in said.values()) for said in labels.values()]
    found = nominal_alpha(units, categories=[v.value for v in CATEGORIES], rng=rng)
    if isinstance(found, Undefined):
        return UndefinedFigure(undefined=found.reason)
    interval = None if isinstance(found.interval, Undefined) else found.interval
    return AlphaFigure(
        estimate=found.value,
        lower=interval.lower if interval else None,
        upper=interval.upper if interval else None,
        method="Krippendorff 2011, nominal; units resampled",
    )


def evidence_grade(raters: RaterFigure | None, *, constructed: bool) -> EvidenceGrade:
    """How the labels came to be, as far as the records say."""
    if constructed:
        return EvidenceGrade.CONSTRUCTED
    if raters is None:
        return EvidenceGrade.UNKNOWN
    if set(raters.sources) != {LabelSource.HUMAN.value}:
        return EvidenceGrade.MODEL
    if raters.raters_per_case_min < 2:
        return EvidenceGrade.ONE_RATER
    return EvidenceGrade.ADJUDICATED if raters.adjudicated else EvidenceGrade.SEVERAL
