"""Two rates on the same cases where cases come in groups: the difference, its interval and a test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.statistics.checks import require_same_length, require_share
from calibration.statistics.clusters import PLANNING_ICC
from calibration.statistics.paired import PairedTable, mcnemar_exact, newcombe_cells, newcombe_paired
from calibration.values import Estimate, Undefined

METHOD = "newcombe-paired-effective"


@dataclass(frozen=True, slots=True)
class ClusteredDifference:
    """Candidate minus baseline over the pairs of all clusters."""

    table: PairedTable
    estimate: Estimate | Undefined
    """With Newcombe's paired interval of the effective size; undefined without a pair."""
    p_value: float
    """Two-sided, exact: the two names of each whole cluster exchanged or not."""
    clusters: int
    n_effective: float
    """How many independent pairs the pairs are worth."""
    icc: float
    """Correlation within clusters that was used, in [0, 1]; 0 where every cluster has one pair."""


def paired_table(pairs: Sequence[tuple[bool, bool]]) -> PairedTable:
    """The table of (baseline, candidate) outcomes."""
    cells = ((True, True), (True, False), (False, True), (False, False))
    return PairedTable(*(pairs.count(cell) for cell in cells))


def paired_by_cluster(
    pairs: Sequence[tuple[bool, bool]],
    clusters: Sequence[Hashable],
    *,
    planning_icc: float = PLANNING_ICC,
    confidence: float = 0.95,
) -> ClusteredDifference:
    """The difference of two rates on pairs that share clusters.

    The variance of the mean difference is inflated by 1 + icc (sum m² / n - 1) for clusters of m pairs, where
    icc is the largest of the ANOVA estimate from the pairs' own differences (-1, 0 or 1), the planning value
    and 0, so that pairs that never differ are still not read as independent. The interval is Newcombe's of
    as many pairs as that leaves. One pair a cluster gives newcombe_paired and mcnemar_exact as they are.

    Args:
        pairs: (baseline, candidate) of each case.
        clusters: the cluster of each case, in the same order.
        planning_icc: correlation in [0, 1] assumed until the estimate is larger.
        confidence: level in (0, 1).

    Raises:
        ValueError: for unequal lengths, or a planning_icc outside [0, 1].

    Source: Newcombe 1998, method 10; Saha, Miller, Wang 2016 for the effective size; Fisher 1935, section 21,
    for the test, with the cluster as the unit.
    """
    require_same_length(pairs, clusters, names="pairs and clusters")
    require_share(planning_icc, name="planning_icc")
    table = paired_table(list(pairs))
    sums: defaultdict[Hashable, int] = defaultdict(int)
    sizes: defaultdict[Hashable, int] = defaultdict(int)
    for (baseline, candidate), cluster in zip(pairs, clusters, strict=True):
        sums[cluster] += candidate - baseline
        sizes[cluster] += 1
    p_value = sign_flip_exact([*sums.values()])
    if len(sizes) == table.n:
        plain = newcombe_paired(table, confidence=confidence)
        return ClusteredDifference(table, plain, p_value, len(sizes), float(table.n), 0.0)
    discordant = table.only_baseline + table.only_candidate
    icc = max(planning_icc, difference_icc([*sums.values()], [*sizes.values()], discordant=discordant))
    vif = 1 + icc * (sum(m * m for m in sizes.values()) / table.n - 1)
    cells = (table.both / vif, table.only_baseline / vif, table.only_candidate / vif, table.neither / vif)
    estimate = newcombe_cells(*cells, confidence=confidence, method=METHOD)
    return ClusteredDifference(table, estimate, p_value, len(sizes), table.n / vif, icc)


def difference_icc(sums: Sequence[int], sizes: Sequence[int], *, discordant: int) -> float:
    """The ANOVA correlation of the differences -1, 0, 1 within clusters, at least 0.

    0 also where nothing can be estimated: fewer than two clusters, or no pair that differs.

    Args:
        sums: of the differences of each cluster.
        sizes: pairs of each cluster, at least 1.
        discordant: pairs that differ, which is the sum of the squared differences.
    """
    clusters, total = len(sizes), sum(sizes)
    if clusters < 2 or not discordant:
        return 0.0
    squared = sum(s * s / m for s, m in zip(sums, sizes, strict=True))
    between = (squared - sum(sums) ** 2 / total) / (clusters - 1)
    within = (discordant - squared) / (total - clusters)
    typical = (total - sum(m * m for m in sizes) / total) / (clusters - 1)
    spread = between + (typical - 1) * within
    return max(0.0, (between - within) / spread) if spread > 0 else 0.0


def sign_flip_exact(sums: Sequence[int]) -> float:
    """The two-sided exact p of clusters' sums of differences, in (0, 1]; 1 where no sum differs from 0.

    The share of the sign patterns of the sums, each as likely as the other, whose total is as far from 0 as
    the one found. With one pair a cluster it is McNemar's exact test.

    Source: Fisher 1935, section 21 (the cluster's pairs change names together).
    """
    moved = [abs(each) for each in sums if each]
    if all(each == 1 for each in moved):
        return mcnemar_exact(sum(each < 0 for each in sums), sum(each > 0 for each in sums))
    likely = np.ones(1)
    for each in moved:
        wider = np.zeros(likely.size + 2 * each)
        wider[: likely.size] += likely / 2
        wider[2 * each :] += likely / 2
        likely = wider
    totals = np.arange(likely.size) - sum(moved)
    return min(1.0, float(likely[np.abs(totals) >= abs(sum(sums))].sum()))
