"""The table of two coded raters, and which interval kappa gets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from calibration.statistics.agreement import cohens_kappa
from calibration.statistics.kappa_interval import agreement_table, kappa_estimate
from calibration.values import Estimate, Interval, Undefined


@given(
    st.integers(2, 17).flatmap(
        lambda q: st.tuples(
            st.just(q),
            st.lists(st.tuples(st.integers(0, q - 1), st.integers(0, q - 1)), min_size=1, max_size=60),
        )
    ),
    st.sampled_from([np.int8, np.uint8, np.int32, np.int64, np.uint64]),
)
@settings(max_examples=80, derandomize=True, deadline=None)
def test_table_is_the_confusion_matrix(
    coded: tuple[int, list[tuple[int, int]]], kind: type[np.signedinteger[Any] | np.unsignedinteger[Any]]
) -> None:
    """For any number of categories and any width of codes it equals scikit-learn's confusion matrix."""
    q, pairs = coded
    first, second = (np.array([pair[side] for pair in pairs], dtype=kind) for side in (0, 1))
    found = agreement_table(first, second, categories=q)
    assert found.tolist() == confusion_matrix(first, second, labels=list(range(q))).tolist()
    assert found.dtype == np.int64


def test_codes_are_checked() -> None:
    """Unequal lengths, codes outside the range, fractions and one category are refused; no case is empty."""
    assert agreement_table([], [], categories=2).tolist() == [[0, 0], [0, 0]]
    for first, second, q, message in (
        ([0, 1], [0], 2, "give one code a case"),
        ([[0, 1]], [[0, 1]], 2, "give one code a case"),
        ([0, 2], [0, 1], 2, r"a code lies outside 0\.\.1"),
        ([0, 1], [-1, 1], 2, r"a code lies outside 0\.\.1"),
        ([0.5, 1], [0, 1], 2, "the codes are of type float64"),
        ([0, 1], [0, 1], 1, "categories is 1; agreement needs at least 2"),
    ):
        with pytest.raises(ValueError, match=message):
            agreement_table(first, second, categories=q)


def estimate(table: list[list[int]], **options: object) -> Estimate:
    """Kappa of a table that has one."""
    found = kappa_estimate(table, rng=np.random.default_rng(3), **options)  # type: ignore[arg-type]
    assert not isinstance(found, Undefined)
    return found


def method(found: Estimate) -> str:
    """The method of an interval that exists."""
    assert isinstance(found.interval, Interval)
    return found.interval.method


def test_independent_cases_with_large_margins_get_the_normal_interval() -> None:
    """The exercise's table: Fleiss, Cohen, Everitt."""
    table = [[110, 10], [20, 60]]
    found, exact = estimate(table), cohens_kappa(table)
    assert method(found) == "fleiss-cohen-everitt"
    assert not isinstance(exact, Undefined)
    assert found == Estimate(exact.kappa, exact.interval)


def test_a_margin_below_10_percent_gets_resamples() -> None:
    """9 % of one label: bootstrap; exactly 10 %: normal."""
    small = estimate([[85, 6], [3, 6]])
    assert method(small) == "bootstrap-bca"
    assert isinstance(small.interval, Interval)
    assert small.interval.lower < small.value < small.interval.upper
    assert method(estimate([[85, 5], [5, 5]])) == "fleiss-cohen-everitt"


def test_clustered_cases_get_resamples_of_clusters() -> None:
    """Forty copies of each case in a cluster: the interval is as wide as the clusters are few."""
    table = [[800, 200], [200, 800]]
    clusters = [[[40, 0], [0, 0]]] * 20 + [[[0, 40], [0, 0]]] * 5
    clusters += [[[0, 0], [40, 0]]] * 5 + [[[0, 0], [0, 40]]] * 20
    clustered, independent = estimate(table, clusters=clusters), estimate(table)
    assert method(clustered) == "bootstrap-percentile"
    assert isinstance(clustered.interval, Interval)
    assert isinstance(independent.interval, Interval)
    width = clustered.interval.upper - clustered.interval.lower
    assert width > 5 * (independent.interval.upper - independent.interval.lower)


def test_undefined_cases_stay_undefined() -> None:
    """No kappa, a constant rater, and resamples that never vary have no interval."""
    assert isinstance(kappa_estimate([[9, 0], [0, 0]], rng=np.random.default_rng(1)), Undefined)
    assert isinstance(estimate([[9, 0], [3, 0]]).interval, Undefined)
    assert isinstance(estimate([[95, 0], [0, 5]]).interval, Undefined)
    clusters = [[[1, 0], [0, 1]]] * 50
    assert isinstance(estimate([[50, 0], [0, 50]], clusters=clusters).interval, Undefined)


def test_cluster_tables_must_be_the_table() -> None:
    """Clusters that do not sum to the table, or have another size, are refused."""
    table = [[50, 5], [5, 50]]
    with pytest.raises(ValueError, match="do not sum to the table of all cases"):
        estimate(table, clusters=[[[50, 5], [5, 49]]])
    with pytest.raises(ValueError, match="a cluster's table and the whole table have 3 and 2"):
        estimate(table, clusters=[[[50, 5, 0], [5, 50, 0], [0, 0, 0]]])
