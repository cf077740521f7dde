"""Paired differences of clustered cases: what one pair a cluster gives, brute force, and planted clusters."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.paired import PairedTable, mcnemar_exact, newcombe_paired
from calibration.statistics.paired_clusters import (
    METHOD,
    difference_icc,
    paired_by_cluster,
    paired_table,
    sign_flip_exact,
)
from calibration.values import Estimate, Interval, Undefined

Pairs = list[tuple[bool, bool]]
pairs_of = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


def width(estimate: Estimate | Undefined) -> float:
    """Of the interval."""
    assert isinstance(estimate, Estimate)
    assert isinstance(estimate.interval, Interval)
    return estimate.interval.upper - estimate.interval.lower


@settings(max_examples=80, derandomize=True, deadline=None)
@given(pairs_of)
def test_one_pair_a_cluster_changes_nothing(pairs: Pairs) -> None:
    """Newcombe's interval and McNemar's p to the last digit."""
    table = paired_table(pairs)
    found = paired_by_cluster(pairs, range(len(pairs)))
    assert found.estimate == newcombe_paired(table)
    assert found.p_value == mcnemar_exact(table.only_baseline, table.only_candidate)
    assert (found.n_effective, found.icc, found.clusters) == (len(pairs), 0.0, len(pairs))


@settings(max_examples=80, derandomize=True, deadline=None)
@given(pairs_of, st.integers(2, 6))
def test_shared_clusters_widen_the_interval(pairs: Pairs, size: int) -> None:
    """The difference stays; fewer independent pairs, a wider interval, whatever the pairs say."""
    clusters = [place // size for place in range(len(pairs))]
    found, plain = paired_by_cluster(pairs, clusters), newcombe_paired(paired_table(pairs))
    if len(set(clusters)) == len(pairs):
        return
    assert isinstance(found.estimate, Estimate)
    assert isinstance(plain, Estimate)
    assert found.estimate.value == pytest.approx(plain.value)
    assert found.n_effective < len(pairs)
    assert found.icc >= 0.3
    assert width(found.estimate) > width(plain)
    assert isinstance(found.estimate.interval, Interval)
    assert found.estimate.interval.method == METHOD


def test_by_hand() -> None:
    """Ten clusters of four: two change as a whole, eight not at all; ICC 1, so ten pairs' worth."""
    pairs = [(False, True)] * 8 + [(False, False)] * 32
    found = paired_by_cluster(pairs, [place // 4 for place in range(40)])
    assert [found.icc, found.n_effective] == pytest.approx([1.0, 10.0])
    # the table (0, 0, 2, 8) of ten pairs
    assert isinstance(found.estimate, Estimate)
    assert width(found.estimate) == pytest.approx(width(newcombe_paired(PairedTable(0, 0, 2, 8))))
    # two sums of 4: both up or both down, 2 of 4 patterns; McNemar would say 2 / 2^8
    assert found.p_value == 0.5
    assert mcnemar_exact(0, 8) == 2 / 2**8


def test_nothing_that_differs_is_still_not_independent() -> None:
    """Without a difference the correlation is 0/0: the planning value holds, 20 pairs are worth 10.5."""
    found = paired_by_cluster([(False, False)] * 20, [place // 4 for place in range(20)])
    assert found.n_effective == pytest.approx(20 / 1.9)
    assert found.p_value == 1.0
    assert paired_by_cluster([], []).estimate == Undefined("no pair")


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.integers(-4, 4), max_size=9))
def test_the_test_is_the_count_of_all_sign_patterns(sums: list[int]) -> None:
    """Every pattern of signs, counted one by one."""
    patterns = itertools.product((-1, 1), repeat=len(sums))
    totals = [abs(sum(sign * abs(s) for sign, s in zip(signs, sums, strict=True))) for signs in patterns]
    share = sum(total >= abs(sum(sums)) for total in totals) / len(totals)
    assert sign_flip_exact(sums) == pytest.approx(share)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.lists(st.sampled_from([-1, 0, 1]), min_size=1, max_size=5), min_size=2, max_size=12))
def test_icc_is_the_one_of_the_mean_squares(clusters: list[list[int]]) -> None:
    """By the mean squares of the single differences, at least 0."""
    values = np.array([d for each in clusters for d in each], dtype=float)
    if len(values) == len(clusters) or not values.any():
        return
    between = sum(len(c) * (np.mean(c) - values.mean()) ** 2 for c in clusters) / (len(clusters) - 1)
    within = sum(((np.array(c) - np.mean(c)) ** 2).sum() for c in clusters) / (len(values) - len(clusters))
    typical = (len(values) - sum(len(c) ** 2 for c in clusters) / len(values)) / (len(clusters) - 1)
    spread = between + (typical - 1) * within
    expected = max(0.0, (between - within) / spread) if spread > 1e-12 else 0.0
    found = difference_icc(
        [sum(c) for c in clusters], [len(c) for c in clusters], discordant=int(np.abs(values).sum())
    )
    assert found == pytest.approx(expected, abs=1e-9)


def test_icc_where_nothing_can_be_estimated() -> None:
    """One cluster, no pair that differs, and pairs that all differ alike."""
    assert difference_icc([2], [4], discordant=2) == 0.0
    assert difference_icc([0, 0], [4, 4], discordant=0) == 0.0
    assert difference_icc([4, 4], [4, 4], discordant=8) == 0.0


def test_planted_clusters_are_found_different_too_often_only_by_the_plain_test() -> None:
    """No true difference, 30 clusters of five that change together: McNemar errs in over 20 %."""
    rng = np.random.default_rng(7)
    plain = grouped = 0
    for _ in range(400):
        moves = rng.choice([-1, 0, 1], size=30, p=[0.2, 0.6, 0.2])
        plain += mcnemar_exact(5 * int((moves < 0).sum()), 5 * int((moves > 0).sum())) <= 0.05
        grouped += sign_flip_exact([int(5 * move) for move in moves]) <= 0.05
    assert plain / 400 > 0.2
    assert grouped / 400 <= 0.05


def test_bad_input_is_refused() -> None:
    """Lengths that differ, a correlation that is none."""
    with pytest.raises(ValueError, match="pairs and clusters"):
        paired_by_cluster([(True, True)], [])
    with pytest.raises(ValueError, match="planning_icc"):
        paired_by_cluster([(True, True)], [1], planning_icc=1.5)
