"""Ranks as ranges: the exact test by enumeration, clusters, ties."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.multiplicity import holm
from calibration.statistics.paired import PairedTable, mcnemar_exact, newcombe_paired
from calibration.statistics.ranking import RankRange, clustered_difference, rank_judges, sign_flip_p
from calibration.values import Interval, Undefined


@given(st.lists(st.integers(-4, 4), max_size=9))
@settings(max_examples=80, derandomize=True, deadline=None)
def test_sign_flips_by_enumeration(sums: list[int]) -> None:
    """The share of all 2^k swaps whose sum is at least as far from 0."""
    seen = abs(sum(sums))
    swaps = [
        abs(sum(s * d for s, d in zip(signs, sums, strict=True)))
        for signs in product((1, -1), repeat=len(sums))
    ]
    assert sign_flip_p(sums) == pytest.approx(sum(swap >= seen for swap in swaps) / len(swaps))


@given(st.integers(0, 40), st.integers(0, 40))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_sign_flips_of_single_cases_are_mcnemar(b: int, c: int) -> None:
    """With one case a cluster it is McNemar's exact p."""
    assert sign_flip_p([1] * b + [-1] * c + [0] * 5) == pytest.approx(mcnemar_exact(b, c))


def test_clustered_difference_is_the_robust_regression() -> None:
    """The t interval equals that of a regression on a constant with cluster-robust errors."""
    source = np.random.default_rng(3)
    sizes = source.integers(1, 6, size=30)
    values = [source.choice([-1, 0, 1], p=[0.1, 0.6, 0.3], size=size) for size in sizes]
    flat, owner = np.concatenate(values), np.repeat(np.arange(30), sizes)
    fit = sm.OLS(flat, np.ones(flat.size)).fit(
        cov_type="cluster", cov_kwds={"groups": owner, "use_correction": False}, use_t=True
    )
    scale = (30 / 29) ** 0.5
    found = clustered_difference([int(v.sum()) for v in values], sizes.tolist(), confidence=0.9)
    assert not isinstance(found, Undefined)
    assert isinstance(found.interval, Interval)
    low, high = fit.conf_int(alpha=0.1)[0]
    assert found.value == pytest.approx(flat.mean())
    assert found.interval.upper - found.value == pytest.approx(scale * (high - low) / 2)
    assert found.value - found.interval.lower == pytest.approx(scale * (high - low) / 2)
    assert (found.interval.method, found.interval.confidence, found.interval.sided) == ("cluster-t", 0.9, 2)


def test_clustered_difference_edges() -> None:
    """No case, one cluster, no spread; the ends stay within [-1, 1]."""
    assert clustered_difference([], []) == Undefined("no case")
    one = clustered_difference([2], [5])
    assert not isinstance(one, Undefined)
    assert one.value == pytest.approx(0.4)
    assert one.interval == Undefined("fewer than two clusters: their spread is unknown")
    flat = clustered_difference([1, 2, 3], [2, 4, 6])
    assert not isinstance(flat, Undefined)
    assert flat.value == 0.5
    assert flat.interval == Undefined("no cluster departs from the mean: their spread is unknown")
    wide = clustered_difference([3, -3], [3, 3])
    assert not isinstance(wide, Undefined)
    assert isinstance(wide.interval, Interval)
    assert (wide.interval.lower, wide.interval.upper) == (-1, 1)
    with pytest.raises(ValueError, match="sums and sizes have 1 and 2"):
        clustered_difference([1], [1, 2])
    with pytest.raises(ValueError, match="confidence is 95"):
        clustered_difference([1, 0], [1, 2], confidence=95)


def marks(accepted: int, total: int = 100, start: int = 0) -> list[bool]:
    """So many accepted failures from a position on."""
    return [start <= i < start + accepted for i in range(total)]


def test_ranks_are_ranges_and_ties_are_named() -> None:
    """20, 24 and 70 accepted of 100: the first two tie for places 1-2, the third is third."""
    found = rank_judges({"b": marks(20), "a": marks(24), "c": marks(70)})
    assert found.ranks == (RankRange("a", 1, 2), RankRange("b", 1, 2), RankRange("c", 3, 3))
    assert found.ties == (("a", "b"),)
    pairs = {(pair.first, pair.second): pair for pair in found.pairs}
    ab, ac, bc = pairs["a", "b"], pairs["a", "c"], pairs["b", "c"]
    assert (ab.only_first, ab.only_second, ab.failures) == (4, 0, 100)
    assert (ac.only_first, ac.only_second) == (0, 46)
    assert ab.p_value == pytest.approx(mcnemar_exact(4, 0))
    assert [p.p_adjusted for p in (ab, ac, bc)] == pytest.approx(holm([ab.p_value, ac.p_value, bc.p_value]))
    assert ab.difference == newcombe_paired(PairedTable(20, 0, 4, 76))
    assert ac.difference == newcombe_paired(PairedTable(24, 46, 0, 30))


def test_three_judges_that_separate_have_one_place_each() -> None:
    """0, 30 and 60 of 100, named against their order: places 1, 2, 3 and no tie."""
    found = rank_judges({"c": marks(0), "b": marks(30), "a": marks(60)})
    assert found.ranks == (RankRange("c", 1, 1), RankRange("b", 2, 2), RankRange("a", 3, 3))
    assert found.ties == ()


def test_a_chain_of_ties_has_overlapping_ranges() -> None:
    """0, 5 and 10 of 100: neighbours tie, the ends do not: 1-2, 1-3, 2-3."""
    found = rank_judges({"low": marks(0), "mid": marks(5), "top": marks(10)})
    assert found.ranks == (RankRange("low", 1, 2), RankRange("mid", 1, 3), RankRange("top", 2, 3))
    assert found.ties == (("low", "mid"), ("mid", "top"))


def test_alpha_decides_what_separates() -> None:
    """P exactly at alpha separates; a smaller alpha does not."""
    accepted = {"x": marks(0), "y": marks(6)}
    p = mcnemar_exact(6, 0)
    assert rank_judges(accepted, alpha=p).ties == ()
    assert rank_judges(accepted, alpha=p).ranks == (RankRange("x", 1, 1), RankRange("y", 2, 2))
    assert rank_judges(accepted, alpha=p / 2).ties == (("x", "y"),)
    with pytest.raises(ValueError, match="alpha is 1"):
        rank_judges(accepted, alpha=1)


def test_clusters_weaken_the_evidence() -> None:
    """Ten differing failures of one prompt are one difference; of ten prompts they are ten."""
    accepted = {"x": marks(0), "y": marks(10)}
    together = rank_judges(accepted, ["p0"] * 10 + [f"p{i}" for i in range(10, 100)])
    apart = rank_judges(accepted, [f"p{i}" for i in range(100)])
    assert together.pairs[0].p_value == 1
    assert apart.pairs[0].p_value == pytest.approx(mcnemar_exact(10, 0))
    assert apart == rank_judges(accepted)
    clustered = together.pairs[0].difference
    assert not isinstance(clustered, Undefined)
    assert isinstance(clustered.interval, Interval)
    assert clustered.interval.method == "cluster-t"
    assert clustered == clustered_difference([-10] + [0] * 90, [10] + [1] * 90)


def test_confidence_reaches_the_differences() -> None:
    """A 90 % interval is asked for and given, clustered or not."""
    accepted = {"x": marks(2), "y": marks(10)}
    for clusters in (None, [f"p{i // 2}" for i in range(100)]):
        difference = rank_judges(accepted, clusters, confidence=0.9).pairs[0].difference
        assert not isinstance(difference, Undefined)
        assert isinstance(difference.interval, Interval)
        assert difference.interval.confidence == 0.9


def test_nothing_to_rank() -> None:
    """No judge, one judge and no shared failure give what can be said; uneven judges are refused."""
    assert rank_judges({}).ranks == ()
    assert rank_judges({"x": marks(3)}).ranks == (RankRange("x", 1, 1),)
    none = rank_judges({"x": [], "y": []})
    assert none.ranks == (RankRange("x", 1, 2), RankRange("y", 1, 2))
    assert none.pairs[0].difference == Undefined("no shared failure")
    assert none.pairs[0].p_value == 1
    assert (none.pairs[0].only_first, none.pairs[0].only_second, none.pairs[0].failures) == (0, 0, 0)
    with pytest.raises(ValueError, match="compare them on the failures that all of them judged"):
        rank_judges({"x": [True], "y": []})
    with pytest.raises(ValueError, match="the judges' failures and clusters have 100 and 1"):
        rank_judges({"x": marks(3)}, ["p"])
