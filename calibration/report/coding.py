"""Cases as integer codes, and the gate's two-sided question to them: worst case above, best case below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.evidence import Case, GateFigure, VerdictRow, VerdictTable, outcome_column
from calibration.policy import AdmissionPolicy
from calibration.statistics.clusters import PLANNING_ICC, cluster_wilson
from calibration.statistics.gates import MOVER
from calibration.statistics.normal import z_value
from calibration.statistics.strata import Stratum, mover_rate, normalise
from calibration.values import Interval, Undefined
from rubrics.verdict import Verdict

COLUMNS = tuple(VerdictRow.model_fields)

ACCEPTED, REJECTED = 0, 1
_FINAL = (2, 3, 4)
_OPEN = (5, 6, 7)
FAIL, PASS, UNRESOLVED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class GateSettings:
    """What of a policy enters the gate's intervals."""

    confidence: float = 0.95
    sided: int = 2
    planning_icc: float = PLANNING_ICC
    label: str | None = None
    """The policy as name@version, None without one."""
    digest: str | None = None

    @classmethod
    def of(cls, policy: AdmissionPolicy | None) -> GateSettings:
        """The settings of a policy; one look at 95 % with the planning ICC without one."""
        if policy is None:
            return cls()
        cluster = policy.primary.cluster
        return cls(policy.confidence, policy.primary.sided, cluster.planning_icc, policy.label, policy.digest)


@dataclass(frozen=True, slots=True)
class CodedCases:
    """The cases as integer codes, so that every count is one array operation."""

    reference: NDArray[np.int64]
    outcome: NDArray[np.int64]
    cluster: NDArray[np.int64]
    stratum: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    """1 / inclusion probability, where the set was drawn by strata; None where every case weighs alike."""

    @classmethod
    def of(cls, cases: Sequence[Case]) -> CodedCases:
        """The codes of the cases, in their order."""
        columns = {name: code for code, name in enumerate(COLUMNS)}
        references = {Verdict.FAIL: FAIL, Verdict.PASS: PASS}
        clusters: dict[str, int] = {}
        return cls(
            np.array([references.get(c.reference.verdict, UNRESOLVED) for c in cases], dtype=np.int64),
            np.array([columns[outcome_column(c.outcome)] for c in cases], dtype=np.int64),
            np.array([clusters.setdefault(c.cluster, len(clusters)) for c in cases], dtype=np.int64),
            *_strata(cases),
        )

    def where(self, mask: NDArray[np.bool_]) -> CodedCases:
        """The cases that the mask keeps."""
        weight = None if self.weight is None else self.weight[mask]
        return CodedCases(
            self.reference[mask], self.outcome[mask], self.cluster[mask], self.stratum[mask], weight
        )

    def table(self) -> VerdictTable:
        """Counts of outcome by reference."""
        counts = np.bincount(self.reference * len(COLUMNS) + self.outcome, minlength=len(COLUMNS) * 3)
        rows = counts.reshape(3, len(COLUMNS)).tolist()
        fail, passing, unresolved = (VerdictRow(**dict(zip(COLUMNS, row, strict=True))) for row in rows)
        return VerdictTable(fail=fail, passing=passing, unresolved=unresolved)

    def judged_as(self, outcome: int) -> CodedCases:
        """The same cases, judged alike by a constant judge."""
        return replace(self, outcome=np.full_like(self.outcome, outcome))

    def clusters_of(self, *references: int) -> int:
        """Distinct clusters among the cases with these references."""
        return int(np.unique(self.cluster[np.isin(self.reference, references)]).size)


def _strata(cases: Sequence[Case]) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Strata as codes, and the weights of the cases; none with one stratum or an unknown probability."""
    names = {name: code for code, name in enumerate(sorted({case.stratum for case in cases}))}
    codes = np.array([names[case.stratum] for case in cases], dtype=np.int64)
    known = [case.inclusion_probability for case in cases if case.inclusion_probability]
    if len(names) < 2 or len(known) < len(cases):
        return codes, None
    return codes, 1 / np.array(known, dtype=float)


Cells = frozenset[tuple[int, int]]
"""(reference, outcome) cells of the verdict table."""


def _cells(reference: int, outcomes: Iterable[int]) -> Cells:
    return frozenset((reference, outcome) for outcome in outcomes)


_EVERY = range(len(COLUMNS))
_ALL_CELLS: Cells = frozenset((r, o) for r in range(3) for o in _EVERY)


def _column(*outcomes: int) -> Cells:
    return frozenset((r, o) for r in range(3) for o in outcomes)


@dataclass(frozen=True, slots=True)
class GateRule:
    """Which cells count and which stand in the denominator, in the case that each end is taken from."""

    upper_of: Cells
    upper_among: Cells
    lower_of: Cells
    lower_among: Cells


_NOT_ACCEPTED = tuple(o for o in _EVERY if o != ACCEPTED)
FAR_RULE = GateRule(
    _cells(FAIL, (ACCEPTED, *_OPEN)) | _cells(UNRESOLVED, (ACCEPTED, *_OPEN)),
    _cells(FAIL, _EVERY) | _cells(UNRESOLVED, (ACCEPTED, *_OPEN)),
    _cells(FAIL, (ACCEPTED,)),
    _cells(FAIL, _EVERY),
)
GUARD_RULES = {
    "non_acceptance_among_pass": GateRule(
        _cells(PASS, _NOT_ACCEPTED) | _cells(UNRESOLVED, _NOT_ACCEPTED),
        _cells(PASS, _EVERY) | _cells(UNRESOLVED, _NOT_ACCEPTED),
        _cells(PASS, (REJECTED, *_FINAL)),
        _cells(PASS, _EVERY),
    ),
    "frr": GateRule(
        _cells(PASS, (REJECTED, *_OPEN)) | _cells(UNRESOLVED, (REJECTED, *_OPEN)),
        _cells(PASS, _EVERY) | _cells(UNRESOLVED, (REJECTED, *_OPEN)),
        _cells(PASS, (REJECTED,)),
        _cells(PASS, _EVERY),
    ),
    "abstention": GateRule(_column(_FINAL[0], *_OPEN), _ALL_CELLS, _column(_FINAL[0]), _ALL_CELLS),
    "invalid": GateRule(_column(_FINAL[1], *_OPEN), _ALL_CELLS, _column(_FINAL[1]), _ALL_CELLS),
    # Coverage should be high: its worst case is the lower end, so open verdicts count only above.
    "coverage": GateRule(
        _column(ACCEPTED, REJECTED, *_OPEN), _ALL_CELLS, _column(ACCEPTED, REJECTED), _ALL_CELLS
    ),
}


def _per_cluster(coded: CodedCases, of: Cells, among: Cells) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Counted cases and denominator of every cluster."""
    width = len(COLUMNS)
    counted, kept = np.zeros(3 * width, dtype=bool), np.zeros(3 * width, dtype=bool)
    counted[[r * width + o for r, o in of]] = True
    kept[[r * width + o for r, o in among]] = True
    code = coded.reference * width + coded.outcome
    clusters = int(coded.cluster.max()) + 1 if coded.cluster.size else 0
    x = np.bincount(coded.cluster[counted[code]], minlength=clusters)
    n = np.bincount(coded.cluster[kept[code]], minlength=clusters)
    return x, n


@dataclass(frozen=True, slots=True)
class _Side:
    """One end's question: counts, effective size, and the interval that the end is taken from."""

    x: int
    n: int
    n_effective: float
    estimate: float | None
    """x / n, re-weighted where the set is stratified; null without a case."""
    icc: float
    clusters: int
    largest: int
    interval: Interval


def gate_figure(coded: CodedCases, rule: GateRule, settings: GateSettings) -> GateFigure:
    """Both cases of a rate with their ends: cluster Wilson, by MOVER over the strata of a drawn set."""
    worst = _side(coded, rule.upper_of, rule.upper_among, settings)
    best = _side(coded, rule.lower_of, rule.lower_among, settings)
    clustered = worst.largest > 1
    method = "cluster wilson" if clustered else "wilson"
    return GateFigure(
        x=worst.x,
        n=worst.n,
        lower=best.interval.lower,
        upper=worst.interval.upper,
        method=f"{MOVER} of {method}" if coded.weight is not None else method,
        n_effective=worst.n_effective,
        icc=worst.icc if clustered else None,
        clusters=worst.clusters,
        cases_per_cluster_max=worst.largest,
        cluster_counts=_cluster_counts(coded, rule) if clustered else (),
        confidence=settings.confidence,
        sided=settings.sided,
        estimate=worst.estimate,
        x_best=best.x,
        n_best=best.n,
        n_effective_best=best.n_effective,
    )


def _cluster_counts(coded: CodedCases, rule: GateRule) -> tuple[tuple[int, int, int], ...]:
    """The worst case's counts by cluster, equal ones together."""
    x, n = _per_cluster(coded, rule.upper_of, rule.upper_among)
    pairs, times = np.unique(np.stack([x[n > 0], n[n > 0]], axis=1), axis=0, return_counts=True)
    return tuple((int(a), int(b), int(c)) for (a, b), c in zip(pairs, times, strict=True))


def _side(coded: CodedCases, of: Cells, among: Cells, settings: GateSettings) -> _Side:
    plain = _cluster_side(coded, of, among, settings)
    if coded.weight is None or not plain.n:
        return plain
    width = len(COLUMNS)
    kept = np.zeros(3 * width, dtype=bool)
    kept[[r * width + o for r, o in among]] = True
    counted = np.where(kept[coded.reference * width + coded.outcome], coded.weight, 0.0)
    strata_here = [coded.stratum == stratum for stratum in np.unique(coded.stratum)]
    weights = [float(counted[mask].sum()) for mask in strata_here]
    parts = [_cluster_side(coded.where(mask), of, among, settings) for mask in strata_here]
    strata = [
        Stratum(share, part.x * (part.n_effective / part.n) if part.n else 0.0, part.n_effective)
        for share, part in zip(normalise(weights), parts, strict=True)
    ]
    rate = mover_rate(strata, z=z_value(settings.confidence, sided=settings.sided))
    effective = plain.n_effective if isinstance(rate.n_effective, Undefined) else rate.n_effective
    estimate = plain.estimate if isinstance(rate.estimate, Undefined) else rate.estimate
    interval = _allow_unseen(rate.interval, coded, coded.weight, counted, settings=settings)
    return replace(plain, n_effective=effective, estimate=estimate, interval=interval)


def _allow_unseen(
    interval: Interval,
    coded: CodedCases,
    weight: NDArray[np.float64],
    counted: NDArray[np.float64],
    *,
    settings: GateSettings,
) -> Interval:
    """The interval with room for strata in which nothing counted was drawn though much may lie there.

    A stratum of which few items were drawn may hold failures of which none was among them: by the rule of
    the zero numerator (Hanley & Lippman-Hand 1983), at the error of one side, -ln(error) drawn items' worth.
    They are taken to count fully for the upper end and not at all for the lower. A stratum whose items stand
    for no more than those counted do on average is as likely seen as they, and needs no room.
    """
    seen = counted > 0
    there, each = float(counted.sum()), float(counted[seen].mean())
    empty = ~np.isin(coded.stratum, coded.stratum[seen]) & (weight > each)
    if not empty.any():
        return interval
    error = (1 - settings.confidence) / settings.sided
    heaviest, all_of_it = float(weight[empty].max()), float(weight[empty].sum())
    room = min(all_of_it, -np.log(error) * heaviest)
    return replace(
        interval,
        lower=interval.lower * there / (there + room),
        upper=(interval.upper * there + room) / (there + room),
    )


def _cluster_side(coded: CodedCases, of: Cells, among: Cells, settings: GateSettings) -> _Side:
    x, n = _per_cluster(coded, of, among)
    found = cluster_wilson(
        x.tolist(),
        n.tolist(),
        confidence=settings.confidence,
        sided=settings.sided,
        planning_icc=settings.planning_icc,
    )
    return _Side(
        x=found.x,
        n=found.n,
        n_effective=found.n_effective,
        estimate=found.x / found.n if found.n else None,
        icc=found.icc,
        clusters=found.clusters,
        largest=int(n.max()) if n.size else 0,
        interval=found.interval,
    )
