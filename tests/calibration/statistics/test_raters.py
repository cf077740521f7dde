"""Several raters: against the packages, by hand, and where nothing can be said."""

from __future__ import annotations

import math

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa as their_fleiss

from calibration.statistics.panels import error_correlation, majority_exchangeable, majority_independent
from calibration.statistics.proportions import rate
from calibration.statistics.raters import (
    Level,
    dawid_skene,
    fleiss_kappa,
    krippendorff_alpha,
    rater_error_rates,
)
from calibration.values import Undefined

rated = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.integers(0, 2), min_size=raters, max_size=raters), min_size=1, max_size=12
    )
)


@given(rated)
@settings(max_examples=40, derandomize=True, deadline=None)
def test_fleiss_agrees_with_statsmodels(labels: list[list[int]]) -> None:
    """Kappa from the counts equals statsmodels', where more than one category was used."""
    counts = [[row.count(category) for category in range(3)] for row in labels]
    found = fleiss_kappa(counts)
    if len({label for row in labels for label in row}) < 2:
        assert isinstance(found, Undefined)
        return
    assert not isinstance(found, Undefined)
    assert found.kappa == pytest.approx(their_fleiss(np.array(counts)), abs=1e-10)
    assert found.kappa == pytest.approx((found.po - found.pe) / (1 - found.pe))


def test_fleiss_edges() -> None:
    """No case, one rater and one category are undefined; uneven cases are refused."""
    assert fleiss_kappa([]) == Undefined("no case")
    one = fleiss_kappa([[1, 0], [0, 1]])
    assert isinstance(one, Undefined)
    assert "one rater" in one.reason
    assert isinstance(fleiss_kappa([[3, 0], [3, 0]]), Undefined)
    for counts in ([[2, 0], [2, 1]], [[2, 0], [1, 0, 1]]):
        with pytest.raises(ValueError, match="unequal numbers of labels; use Krippendorff's alpha"):
            fleiss_kappa(counts)
    with pytest.raises(ValueError, match="a label count is -1"):
        fleiss_kappa([[3, -1]])


Label = float | None


@given(
    st.integers(2, 4).flatmap(
        lambda raters: st.integers(1, 9).flatmap(
            lambda units: st.lists(
                st.lists(
                    st.one_of(st.none(), st.sampled_from([0.0, 1.0, 2.0, 2.5, -3.0, 300.0])),
                    min_size=units,
                    max_size=units,
                ),
                min_size=raters,
                max_size=raters,
            )
        )
    ),
    st.sampled_from(list(Level)),
)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_alpha_agrees_with_the_package(labels: list[list[Label]], level: Level) -> None:
    """Whole, fractional and far-apart labels, missing ones too, at each level of measurement."""
    array = np.array([[np.nan if v is None else v for v in row] for row in labels])
    given_counts = (~np.isnan(array)).sum(axis=0)
    pairable = {
        v for column, n in zip(array.T, given_counts, strict=True) if n > 1 for v in column[~np.isnan(column)]
    }
    found = krippendorff_alpha(labels, level=level)
    if len(pairable) < 2:
        assert isinstance(found, Undefined)
        return
    with np.errstate(all="ignore"):
        theirs = krippendorff.alpha(reliability_data=array, level_of_measurement=level.value)
    assert found == pytest.approx(theirs, abs=1e-9)
    assert krippendorff_alpha(array, level=level) == found


def test_alpha_with_many_categories() -> None:
    """More categories than are counted one by one, whole or not, give the package's value."""
    source = np.random.default_rng(2)
    for labels in (
        source.integers(0, 40, size=(3, 200)).astype(float),
        source.integers(0, 60, size=(3, 200)) / 7,
    ):
        labels[source.random(labels.shape) < 0.2] = np.nan
        for level in Level:
            theirs = krippendorff.alpha(reliability_data=labels, level_of_measurement=level.value)
            assert krippendorff_alpha(labels, level=level) == pytest.approx(theirs, abs=1e-9)


def test_alpha_edges() -> None:
    """No label, no pairable unit, one value, infinity, wrong shapes: a reason or one clear error."""
    assert krippendorff_alpha([[None, None], [None, None]]) == Undefined("no unit has two labels")
    assert krippendorff_alpha([[1, None], [None, 0]]) == Undefined("no unit has two labels")
    same = krippendorff_alpha([[1, 1, 1], [1, 1, None]])
    assert isinstance(same, Undefined)
    assert "alpha is 0/0" in same.reason
    # the only other label stands alone in its unit, so all pairable ones are the same
    assert isinstance(krippendorff_alpha([[1, 1, 0], [1, 1, None]]), Undefined)
    with pytest.raises(ValueError, match="a label is infinite"):
        krippendorff_alpha([[1, math.inf], [1, 2]])
    with pytest.raises(ValueError, match="labels has 1 dimensions"):
        krippendorff_alpha(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="inhomogeneous"):
        krippendorff_alpha([[1, 2], [1]])
    assert krippendorff_alpha([[0, 1], [0, 1]]) == 1
    assert krippendorff_alpha([[255.0, 0.0, 1.0], [255.0, 0.0, 256.0]]) == pytest.approx(
        krippendorff.alpha(np.array([[255.0, 0.0, 1.0], [255.0, 0.0, 256.0]]), level_of_measurement="nominal")
    )


def test_rater_errors_against_adjudication() -> None:
    """Four failures of which two passed, six passes of which three failed; cannot-decide is no error."""
    rater = [True, True, False, None, True, True, False, False, False, None, True]
    truth = [False, False, False, False, True, True, True, True, True, True, None]
    found = rater_error_rates(rater, truth)
    assert found.passed_among_fail == rate(2, 4)
    assert found.failed_among_pass == rate(3, 6)
    assert found.undecided == 2
    other = rater_error_rates(rater, truth, confidence=0.9)
    assert other.passed_among_fail == rate(2, 4, confidence=0.9)
    assert other.failed_among_pass == rate(3, 6, confidence=0.9)
    assert isinstance(rater_error_rates([], []).passed_among_fail.estimate, Undefined)
    with pytest.raises(ValueError, match="rater and adjudicated have 1 and 2"):
        rater_error_rates([True], [True, False])


def plain_dawid_skene(
    labels: list[list[int | None]], steps: int
) -> tuple[list[float], list[float], list[float]]:
    """Expectation maximisation written out with loops."""
    cases = range(len(labels[0]))
    posterior = []
    for j in cases:
        votes = [row[j] for row in labels if row[j] is not None]
        posterior.append(sum(v == 1 for v in votes) / len(votes))

    def errors(row: list[int | None], said: int, truth_is_one: bool) -> float:
        weight = [p if truth_is_one else 1 - p for p in posterior]
        seen = sum(weight[j] for j in cases if row[j] is not None)
        return sum(weight[j] for j in cases if row[j] == said) / seen if seen else 0.0

    for _ in range(steps):
        share = sum(posterior) / len(posterior)
        wrong0, wrong1 = ([errors(r, s, t) for r in labels] for s, t in ((1, False), (0, True)))
        updated = []
        for j in cases:
            one, zero = share, 1 - share
            for r, row in enumerate(labels):
                if row[j] is not None:
                    one *= 1 - wrong1[r] if row[j] else wrong1[r]
                    zero *= wrong0[r] if row[j] else 1 - wrong0[r]
            updated.append(one / (one + zero))
        posterior = updated
    return posterior, [errors(r, 1, False) for r in labels], [errors(r, 0, True) for r in labels]


@given(
    st.lists(
        st.lists(st.sampled_from([0, 1, 1, 0, None]), min_size=8, max_size=8), min_size=3, max_size=5
    ).filter(lambda rows: all(any(row[j] is not None for row in rows) for j in range(8))),
    st.integers(1, 12),
)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_dawid_skene_is_the_written_out_maximisation(labels: list[list[int | None]], steps: int) -> None:
    """After any number of steps posteriors and rater errors equal those of plain loops."""
    found = dawid_skene(labels, max_iterations=steps, tolerance=-1)
    assert not isinstance(found, Undefined)
    posterior, wrong0, wrong1 = plain_dawid_skene(labels, steps)
    assert found.iterations == steps
    assert found.posterior == pytest.approx(posterior, abs=1e-9)
    assert found.prevalence == pytest.approx(sum(posterior) / 8)
    for ours, plain in ((found.error_when_0, wrong0), (found.error_when_1, wrong1)):
        for error, expected in zip(ours, plain, strict=True):
            assert (
                expected == 0 if isinstance(error, Undefined) else error == pytest.approx(expected, abs=1e-9)
            )


def test_dawid_skene_stops_when_nothing_moves() -> None:
    """Raters who agree are done at once; a rater who met no case of one truth has no error there."""
    found = dawid_skene([[1, 1, 0], [1, 1, 0], [1, 1, None]])
    assert not isinstance(found, Undefined)
    assert found.iterations == 1
    assert found.posterior == pytest.approx((1, 1, 0))
    assert list(found.error_when_1) == pytest.approx([0, 0, 0])
    assert [float(e) for e in found.error_when_0 if not isinstance(e, Undefined)] == pytest.approx([0, 0])
    assert found.error_when_0[2] == Undefined("the rater met no case of this truth")
    ones = dawid_skene([[1, 1], [1, 1], [1, 1]])
    assert not isinstance(ones, Undefined)
    assert (ones.prevalence, ones.posterior) == (1, (1, 1))
    zeros = dawid_skene([[0, 0], [0, 0], [0, 0]])
    assert not isinstance(zeros, Undefined)
    assert zeros.prevalence == 0


def test_dawid_skene_of_many_raters_does_not_underflow() -> None:
    """Two thousand raters of a case: the posterior is 1 or 0, not 0/0."""
    source = np.random.default_rng(4)
    truth = np.array([1, 0, 1, 1, 0, 0])
    labels = np.where(source.random((2000, 6)) < 0.8, truth, 1 - truth)
    found = dawid_skene(labels.tolist(), max_iterations=20)
    assert not isinstance(found, Undefined)
    assert found.posterior == pytest.approx(truth.tolist())


def test_dawid_skene_edges() -> None:
    """Two raters, an unlabelled case and no case are undefined; other labels are refused."""
    two = dawid_skene([[1, 0], [1, 0]])
    assert isinstance(two, Undefined)
    assert "fewer than three raters" in two.reason
    assert isinstance(dawid_skene([]), Undefined)
    assert isinstance(dawid_skene([[], [], []]), Undefined)
    unlabelled = dawid_skene([[1, None], [1, None], [0, None]])
    assert isinstance(unlabelled, Undefined)
    assert "a case has no label" in unlabelled.reason
    with pytest.raises(ValueError, match="label is 2; Dawid-Skene here reads 0, 1 or None"):
        dawid_skene([[2], [1], [1]])
    with pytest.raises(ValueError, match="two raters' rows have 1 and 2"):
        dawid_skene([[1, 1], [1], [1, 1]])
    with pytest.raises(ValueError, match="max_iterations is 0"):
        dawid_skene([[1], [1], [1]], max_iterations=0)


def test_majorities() -> None:
    """Three members at .1: .028 independent, .073 at correlation .3; five at .3: .064; by hand for three."""
    assert majority_independent([0.1] * 3) == pytest.approx(3 * 0.01 * 0.9 + 0.001)
    assert majority_independent([0.2, 0.1, 0.05]) == pytest.approx(0.033)
    assert majority_independent([0.2] * 3, votes_needed=3) == pytest.approx(0.008)
    assert majority_independent([0.2] * 3, votes_needed=0) == 1
    assert [round(majority_exchangeable(3, p=0.1, correlation=c), 3) for c in (0.3, 0.5)] == [0.073, 0.088]
    assert round(majority_exchangeable(5, p=0.1, correlation=0.3), 3) == 0.064


@given(st.sampled_from([1, 2, 3, 5]), st.floats(0, 1), st.floats(0, 1))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_exchangeable_votes_lie_between_independence_and_one_vote(
    votes: int, p: float, correlation: float
) -> None:
    """Correlation 0 is independence, 1 is a single vote; one vote ignores it; always a probability."""
    found = majority_exchangeable(votes, p=p, correlation=correlation)
    assert -1e-12 <= found <= 1
    assert majority_exchangeable(votes, p=p, correlation=0) == pytest.approx(
        majority_independent([p] * votes)
    )
    assert majority_exchangeable(votes, p=p, correlation=1) == p
    assert majority_exchangeable(1, p=p, correlation=correlation) == pytest.approx(p)


def test_panels_are_checked() -> None:
    """An empty panel, too many votes and bad shares are refused."""
    with pytest.raises(ValueError, match="a panel needs at least one member"):
        majority_independent([])
    with pytest.raises(ValueError, match="votes_needed is 3 of 2 members"):
        majority_independent([0.1, 0.2], votes_needed=3)
    with pytest.raises(ValueError, match="a member's probability is 2"):
        majority_independent([2])
    with pytest.raises(ValueError, match="votes is 0"):
        majority_exchangeable(0, p=0.1, correlation=0.1)
    with pytest.raises(ValueError, match="p is 2"):
        majority_exchangeable(3, p=2, correlation=0.1)
    with pytest.raises(ValueError, match="correlation is -1"):
        majority_exchangeable(3, p=0.1, correlation=-1)


def test_error_correlation() -> None:
    """(8 · 52 - 12 · 8) over the root of the margins; equal errors 1; a judge without variation has none."""
    found = error_correlation(both=8, only_a=12, only_b=8, neither=52)
    assert found == pytest.approx((8 * 52 - 12 * 8) / math.sqrt(20 * 60 * 16 * 64))
    assert error_correlation(both=10, only_a=0, only_b=0, neither=70) == pytest.approx(1)
    for cells in ((0, 0, 5, 5), (5, 5, 0, 0), (0, 5, 0, 5), (5, 0, 5, 0)):
        both, only_a, only_b, neither = cells
        found = error_correlation(both=both, only_a=only_a, only_b=only_b, neither=neither)
        assert found == Undefined("one of the two accepted none, or all, of the failures: no correlation")
    for name in ("both", "only_a", "only_b", "neither"):
        with pytest.raises(ValueError, match=f"{name} is -1"):
            error_correlation(**{"both": 1, "only_a": 1, "only_b": 1, "neither": 1, name: -1})
