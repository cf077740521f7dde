"""Cohen's kappa: against the packages, by hand, and where it does not exist."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa as their_kappa

from calibration.statistics.agreement import Kappa, KappaWeights, cohens_kappa
from calibration.statistics.agreement_context import binary_agreement, gwet_ac1
from calibration.values import Interval, Undefined

EXERCISE = [[110, 10], [20, 60]]


def kappa(table: Any, **options: Any) -> Kappa:
    """Kappa of a table that has one."""
    found = cohens_kappa(table, **options)
    assert not isinstance(found, Undefined)
    return found


tables = st.integers(2, 4).flatmap(
    lambda q: st.lists(st.lists(st.integers(1, 40), min_size=q, max_size=q), min_size=q, max_size=q)
)


@given(tables, st.sampled_from(list(KappaWeights)))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_kappa_agrees_with_statsmodels(table: list[list[int]], weights: KappaWeights) -> None:
    """Kappa, both standard errors and the interval equal statsmodels', with every kind of weight."""
    ours = kappa(table, weights=weights)
    theirs = their_kappa(np.array(table), wt=None if weights is KappaWeights.NONE else weights.value)
    assert ours.kappa == pytest.approx(theirs.kappa, abs=1e-10)
    assert ours.se == pytest.approx(theirs.std_kappa, abs=1e-8)
    assert ours.se0 == pytest.approx(theirs.std_kappa0, abs=1e-8)
    assert isinstance(ours.interval, Interval)
    assert (ours.interval.lower, ours.interval.upper) == pytest.approx(
        (theirs.kappa_low, theirs.kappa_upp), abs=1e-7
    )


def test_kappa_agrees_with_scikit_learn() -> None:
    """Kappa from the expanded labels of the exercise equals scikit-learn's."""
    first = [0] * 120 + [1] * 80
    second = [0] * 110 + [1] * 10 + [0] * 20 + [1] * 60
    assert kappa(EXERCISE).kappa == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)


def test_exercise_by_hand() -> None:
    """(110 + 60)/200 = .85; .6 · .65 + .4 · .35 = .53; (.85 - .53)/.47; largest (.6 + .35 - .53)/.47."""
    found = kappa(EXERCISE)
    assert (found.po, found.pe, found.n) == (0.85, 0.53, 200)
    assert found.kappa == pytest.approx(0.32 / 0.47)
    assert found.kappa_max == pytest.approx(0.42 / 0.47)
    assert found.row_margin == (0.6, 0.4)
    assert found.col_margin == (0.65, 0.35)
    assert found.min_margin == 0.35
    assert isinstance(found.interval, Interval)
    assert (found.interval.confidence, found.interval.sided) == (0.95, 2)
    assert found.interval.method == "fleiss-cohen-everitt"


def test_an_explicit_z_and_another_level() -> None:
    """The half-width is z times the standard error."""
    by_z, by_level = kappa(EXERCISE, z=1.0).interval, kappa(EXERCISE, confidence=0.8).interval
    assert isinstance(by_z, Interval)
    assert isinstance(by_level, Interval)
    assert by_z.upper - by_z.lower == pytest.approx(2 * kappa(EXERCISE).se)
    assert by_level.confidence == 0.8


@pytest.mark.parametrize("table", [[[0, 0], [0, 0]], [[0.0] * 3] * 3])
def test_without_a_case_there_is_no_kappa(table: list[list[float]]) -> None:
    """An empty table is undefined, not 0."""
    assert cohens_kappa(table) == Undefined("no case that both rated")


@pytest.mark.parametrize("table", [[[100, 0], [0, 0]], [[0, 0], [0, 7]], [[0, 0, 0], [0, 5, 0], [0, 0, 0]]])
@pytest.mark.parametrize("weights", list(KappaWeights))
def test_chance_agreement_of_1_is_undefined(table: list[list[int]], weights: KappaWeights) -> None:
    """Both raters said one and the same thing: 0/0."""
    found = cohens_kappa(table, weights=weights)
    assert isinstance(found, Undefined)
    assert "chance agreement is 1" in found.reason


def test_one_constant_rater_has_kappa_0_and_no_interval() -> None:
    """A judge that accepts everything: kappa 0 by construction, degenerate, whichever of the two it is."""
    for table in ([[95, 0], [5, 0]], [[95, 5], [0, 0]]):
        found = kappa(table)
        assert (found.kappa, found.se) == (0, 0)
        assert isinstance(found.interval, Undefined)
        assert found.interval.reason.startswith("degenerate: one rater")


def test_perfect_and_opposite_agreement() -> None:
    """Kappa 1 and -1 have a standard error of exactly 0."""
    assert (kappa([[50, 0], [0, 50]]).kappa, kappa([[50, 0], [0, 50]]).se) == (1, 0)
    assert (kappa([[0, 50], [50, 0]]).kappa, kappa([[0, 50], [50, 0]]).se) == (-1, 0)


def test_effective_counts_are_allowed() -> None:
    """A re-weighted table with the same shares has the same kappa and the error of its own size."""
    halves = [[55.5, 5.0], [10.25, 30.125]]
    doubled = [[4 * cell for cell in row] for row in halves]
    assert kappa(halves).kappa == pytest.approx(kappa(doubled).kappa, abs=1e-14)
    assert kappa(halves).se == pytest.approx(2 * kappa(doubled).se)
    assert kappa(halves).se0 == pytest.approx(2 * kappa(doubled).se0)


def test_weighted_kappa_has_no_largest_value() -> None:
    """The largest kappa of given margins is for unweighted kappa; two categories need no weights."""
    weighted = kappa(EXERCISE, weights=KappaWeights.LINEAR)
    assert isinstance(weighted.kappa_max, Undefined)
    assert "unweighted" in weighted.kappa_max.reason
    assert weighted.kappa == pytest.approx(kappa(EXERCISE).kappa)


@pytest.mark.parametrize(
    "table", [[[1]], [], [[1, 2]], [[1, 2], [3]], [[1, 2, 3], [4, 5, 6]], [[1, 2], [3, 4], [5, 6]]]
)
def test_a_table_is_square(table: list[list[int]]) -> None:
    """Anything but a square table of two or more categories is refused."""
    with pytest.raises(ValueError, match="give a square one of 2 or more categories"):
        cohens_kappa(table)


def test_cells_are_counts() -> None:
    """A negative or NaN cell is refused."""
    with pytest.raises(ValueError, match="a cell of the agreement table is -1"):
        cohens_kappa([[1, -1], [2, 3]])
    with pytest.raises(ValueError, match="a cell of the agreement table is nan"):
        cohens_kappa([[1, float("nan")], [2, 3]])


def test_high_agreement_may_hide_that_failures_are_missed() -> None:
    """[[980, 10], [9, 1]]: p_o .981 and AC1 .981 beside kappa .086 and negative agreement .095."""
    table = [[980, 10], [9, 1]]
    context, ac1 = binary_agreement(table), gwet_ac1(table)
    assert not isinstance(context, Undefined)
    assert not isinstance(ac1, Undefined)
    assert context.po == 0.981
    assert round(ac1.ac1, 3) == 0.981
    assert round(kappa(table).kappa, 3) == 0.086
    assert context.negative_agreement == pytest.approx(2 / 21)
    assert context.positive_agreement == pytest.approx(1960 / 1979)
    assert context.pabak == pytest.approx(0.962)
    assert context.bias_index == pytest.approx(0.001)
    assert context.prevalence_index == pytest.approx(0.979)


def test_specific_agreement_needs_the_label() -> None:
    """A label that nobody used has no agreement; no case has no figures; three categories are refused."""
    first, second = binary_agreement([[5, 0], [0, 0]]), binary_agreement([[0, 0], [0, 5]])
    assert not isinstance(first, Undefined)
    assert not isinstance(second, Undefined)
    assert first.negative_agreement == Undefined("neither rater ever used this label")
    assert first.positive_agreement == 1
    assert isinstance(second.positive_agreement, Undefined)
    assert second.negative_agreement == 1
    assert binary_agreement([[0, 0], [0, 0]]) == Undefined("no case that both rated")
    with pytest.raises(ValueError, match="the table has 3 categories; these figures exist for two"):
        binary_agreement([[1, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_agreement_on_one_label_may_rest_on_disagreements_alone() -> None:
    """With b + c > 0 and a = d = 0: both specific agreements are 0, not undefined."""
    for table in ([[0, 3], [0, 0]], [[0, 0], [3, 0]], [[0, 3], [3, 0]]):
        found = binary_agreement(table)
        assert not isinstance(found, Undefined)
        assert (found.positive_agreement, found.negative_agreement) == (0, 0)
    # a = c, or d = c, is no empty label
    equal = binary_agreement([[3, 0], [3, 3]])
    assert not isinstance(equal, Undefined)
    assert (equal.positive_agreement, equal.negative_agreement) == pytest.approx((6 / 9, 6 / 9))


def test_gwet_ac1_is_undefined_only_without_a_case() -> None:
    """Everything in one cell has AC1 1 with error 0; no case has none."""
    found = gwet_ac1([[9, 0], [0, 0]])
    assert not isinstance(found, Undefined)
    assert (found.ac1, found.pe, found.standard_error) == (1, 0, 0)
    assert gwet_ac1([[0, 0], [0, 0]]) == Undefined("no case that both rated")


@given(tables)
@settings(max_examples=25, derandomize=True, deadline=None)
def test_gwet_error_is_the_delta_method(table: list[list[int]]) -> None:
    """The standard error equals the one from numerical derivatives of AC1 over the cell shares."""
    cells = np.array(table, dtype=float)
    n, q = cells.sum(), len(table)

    def ac1(p: np.ndarray[Any, Any]) -> float:
        p = p / p.sum()
        mean = (p.sum(axis=0) + p.sum(axis=1)) / 2
        pe = float((mean * (1 - mean)).sum() / (q - 1))
        return (float(np.trace(p)) - pe) / (1 - pe)

    p, step = cells / n, 1e-6
    slopes = np.empty_like(p)
    for i in range(q):
        for j in range(q):
            up, down = p.copy(), p.copy()
            up[i, j] += step
            down[i, j] -= step
            slopes[i, j] = (ac1(up) - ac1(down)) / (2 * step)
    variance = ((p * slopes**2).sum() - (p * slopes).sum() ** 2) / n
    found = gwet_ac1(table)
    assert not isinstance(found, Undefined)
    assert found.ac1 == pytest.approx(ac1(p))
    assert found.standard_error == pytest.approx(variance**0.5, rel=1e-4, abs=1e-7)
