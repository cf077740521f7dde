"""Kappa of a judge with the reference, with the interval that its data call for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibration.evidence import KappaFigure, UndefinedFigure
from calibration.report.coding import ACCEPTED, FAIL, PASS, REJECTED, CodedCases
from calibration.statistics.agreement import Kappa, cohens_kappa
from calibration.statistics.kappa_interval import kappa_estimate
from calibration.statistics.proportions import wilson_interval
from calibration.values import Interval, Undefined

_METHODS = {
    "fleiss-cohen-everitt": "Fleiss-Cohen-Everitt 1969",
    "bootstrap-percentile": "percentile bootstrap",
    "bootstrap-bca": "BCa bootstrap",
    "wilson-raw-agreement": "Wilson on raw agreement, all agree",
}

PERFECT = "wilson-raw-agreement"

Tables = Sequence[Sequence[Sequence[int]]]


def kappa_figure(
    table: Sequence[Sequence[int]], *, rng: np.random.Generator, clusters: Tables | None = None
) -> KappaFigure | UndefinedFigure:
    """Cohen's kappa of a square table, or why there is none.

    The interval is Fleiss-Cohen-Everitt's; a bootstrap where a margin is under 10 % or cases are clustered.
    """
    kappa = cohens_kappa(table)
    found = kappa_estimate(table, rng=rng, clusters=clusters)
    if isinstance(kappa, Undefined) or isinstance(found, Undefined):
        return UndefinedFigure(undefined=(kappa if isinstance(kappa, Undefined) else found).reason)  # type: ignore[union-attr]
    interval = None if isinstance(found.interval, Undefined) else found.interval
    if kappa.po == 1:
        interval = _of_perfect_agreement(kappa, kappa.n if clusters is None else len(clusters))
    return KappaFigure(
        estimate=kappa.kappa,
        lower=interval.lower if interval else None,
        upper=interval.upper if interval else None,
        po=kappa.po,
        pe=kappa.pe,
        kappa_max=None if isinstance(kappa.kappa_max, Undefined) else kappa.kappa_max,
        n=int(kappa.n),
        degenerate=isinstance(kappa.interval, Undefined),
        method=_METHODS[interval.method] if interval else "none",
    )


def _of_perfect_agreement(kappa: Kappa, worth: float) -> Interval:
    """An interval where every case agrees, since the standard error and every resample are then useless.

    Raw agreement at the lower end of its Wilson interval, chance agreement as it is: 1 down to
    (lower - pe) / (1 - pe). Clustered cases are `worth` no more than their clusters.
    """
    lower = wilson_interval(worth, worth).lower
    return Interval((lower - kappa.pe) / (1 - kappa.pe), 1.0, 0.95, 2, PERFECT)


def operational_kappa(coded: CodedCases, *, rng: np.random.Generator) -> KappaFigure | UndefinedFigure:
    """Kappa of accept or not accept with pass or fail, over every resolved reference."""
    return _by_cluster(coded.where(np.isin(coded.reference, (FAIL, PASS))), rng)


def decided_kappa(coded: CodedCases, *, rng: np.random.Generator) -> KappaFigure | UndefinedFigure:
    """Kappa of accept or reject with pass or fail, over the resolved references that were decided."""
    decided = np.isin(coded.reference, (FAIL, PASS)) & np.isin(coded.outcome, (ACCEPTED, REJECTED))
    return _by_cluster(coded.where(decided), rng)


def _by_cluster(coded: CodedCases, rng: np.random.Generator) -> KappaFigure | UndefinedFigure:
    """Kappa of the cases, clusters resampled whole where one holds two cases."""
    owners, index = np.unique(coded.cluster, return_inverse=True)
    cell = np.where(coded.reference == FAIL, 0, 2) + (coded.outcome == ACCEPTED)
    tables = np.bincount(index * 4 + cell, minlength=4 * owners.size).reshape(owners.size, 2, 2)
    clustered = coded.cluster.size > owners.size
    return kappa_figure(tables.sum(axis=0).tolist(), rng=rng, clusters=tables.tolist() if clustered else None)
