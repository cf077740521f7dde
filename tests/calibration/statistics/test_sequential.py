"""Several looks: spending, e-values, confidence sequences, exact admission probabilities, drift."""

from __future__ import annotations

import math
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import betaln
from scipy.stats import beta as beta_distribution
from scipy.stats import binom

from calibration.statistics.normal import look_adjusted_z, z_value
from calibration.statistics.proportions import GateResult, score_gate
from calibration.statistics.sequential import (
    Direction,
    FailureCount,
    admission_probability,
    binomial_pmf,
    confidence_sequence,
    cusum,
    failure_counts,
    log_e_value,
    spent_alpha,
)
from rubrics.verdict import Verdict

Z = z_value(0.95)
Z3 = look_adjusted_z(0.05, 3)
ADMIT = math.log(40)


def test_spending() -> None:
    """All is spent at the end; a third in, O'Brien-Fleming spent .0007 and Pocock .0226."""
    end = spent_alpha(0.05, 1)
    assert (end.obrien_fleming, end.pocock) == pytest.approx((0.05, 0.05))
    third = spent_alpha(0.05, 1 / 3)
    assert (third.obrien_fleming, third.pocock) == pytest.approx((0.00068689, 0.02264162), abs=1e-8)
    for alpha, fraction, message in (
        (0.05, 0, "fraction is 0"),
        (0.05, 1.1, "fraction is"),
        (5, 0.5, "alpha is 5"),
    ):
        with pytest.raises(ValueError, match=message):
            spent_alpha(alpha, fraction)


@pytest.mark.parametrize(("x", "n"), [(0, 0), (0, 50), (2, 80), (7, 20), (16, 80), (30, 100), (100, 100)])
@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize(("a", "b"), [(1, 1), (0.5, 4.5), (2, 2)])
def test_e_value_by_integration(x: int, n: int, direction: Direction, a: float, b: float) -> None:
    """The mixture over the claimed side, integrated numerically, divided by the likelihood at the limit."""
    limit = 0.1
    low, high = (0, limit) if direction is Direction.BELOW else (limit, 1)
    prior = quad(lambda p: p ** (a - 1) * (1 - p) ** (b - 1), low, high)[0]
    mixture = quad(
        lambda p: math.exp(
            (x + a - 1) * math.log(p)
            + (n - x + b - 1) * math.log1p(-p)
            - x * math.log(limit)
            - (n - x) * math.log1p(-limit)
        ),
        low,
        high,
        limit=400,
        points=[min(max(x / max(n, 1), low + 1e-6), high - 1e-6)],
    )[0]
    found = log_e_value(x, n, limit=limit, direction=direction, a=a, b=b)
    assert found == pytest.approx(math.log(mixture / prior), abs=1e-6)


def test_e_value_survives_the_far_tail() -> None:
    """9,000 of 10,000 accepted: the evidence for a FAR below .1 is e^-19,000, not log 0."""
    found = log_e_value(9_000, 10_000, limit=0.1, direction=Direction.BELOW)
    at_limit = 9_000 * math.log(0.1) + 1_000 * math.log(0.9)
    inside = 9_000 * math.log(0.0999) + 1_000 * math.log(1 - 0.0999)
    # the mixture is at most the likelihood at the limit, and at least what lies just inside contributes
    assert inside - at_limit + math.log(0.0001 / 0.1) - 5 < found < 0
    big = log_e_value(10_000, 1_000_000, limit=0.1, direction=Direction.BELOW)
    expected = betaln(10_001, 990_001) - math.log(0.1) - 10_000 * math.log(0.1) - 990_000 * math.log(0.9)
    assert big == pytest.approx(expected, rel=1e-9)


@given(st.floats(0.02, 0.9), st.floats(0.3, 400), st.floats(0.3, 400), st.integers(0, 5))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_e_value_agrees_with_beta_tails(limit: float, a: float, b: float, x: int) -> None:
    """Both directions equal the ratio of beta probabilities, wherever scipy has digits."""
    n = 9
    for direction, tail in (
        (Direction.BELOW, beta_distribution.logcdf),
        (Direction.ABOVE, beta_distribution.logsf),
    ):
        posterior, prior = tail(limit, a + x, b + n - x), tail(limit, a, b)
        if min(posterior, prior) < -600:
            continue
        mixture = betaln(a + x, b + n - x) - betaln(a, b) + posterior - prior
        expected = mixture - x * math.log(limit) - (n - x) * math.log1p(-limit)
        found = log_e_value(x, n, limit=limit, direction=direction, a=a, b=b)
        assert found == pytest.approx(expected, abs=1e-8)


def test_e_value_admits_from_55_clean_failures_on() -> None:
    """0 accepted: 50 failures give 37.9, 55 give 58.5; admission at 40."""
    assert math.exp(log_e_value(0, 50, limit=0.1, direction=Direction.BELOW)) == pytest.approx(37.9, abs=0.05)
    assert math.exp(log_e_value(0, 55, limit=0.1, direction=Direction.BELOW)) == pytest.approx(58.5, abs=0.05)
    assert log_e_value(0, 0, limit=0.1, direction=Direction.ABOVE) == 0


def test_e_value_arguments() -> None:
    """Bad counts, limits and mixture parameters are refused."""
    good = {"limit": 0.1, "direction": Direction.BELOW, "a": 1.0, "b": 1.0}
    for x, n, changed, message in (
        (3, 2, {}, "x is 3 of n 2"),
        (-1, 2, {}, "x is -1"),
        (1, 2, {"limit": 1}, "limit is 1"),
        (1, 2, {"limit": 0}, "limit is 0"),
        (1, 2, {"a": 0}, "a is 0"),
        (1, 2, {"b": -1}, "b is -1"),
        (1, 2, {"direction": "sideways"}, "sideways"),
    ):
        with pytest.raises(ValueError, match=message):
            log_e_value(x, n, **{**good, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("x", "n", "a", "b"), [(0, 50, 1, 1), (16, 80, 1, 1), (10, 10, 1, 1), (3, 40, 0.5, 4.5)]
)
def test_confidence_sequence_inverts_its_mixture(x: int, n: int, a: float, b: float) -> None:
    """At each end the likelihood is alpha times the mixture; 0 and n keep the end of the range."""
    found = confidence_sequence(x, n, alpha=0.05, a=a, b=b)
    mixture = betaln(a + x, b + n - x) - betaln(a, b)
    for end in (found.lower, found.upper):
        if 0 < end < 1:
            likelihood = x * math.log(end) + (n - x) * math.log1p(-end)
            assert likelihood - mixture == pytest.approx(math.log(0.05), abs=1e-6)
    assert (found.lower == 0) is (x == 0)
    assert (found.upper == 1) is (x == n)
    assert (found.confidence, found.sided, found.method) == (0.95, 2, "beta-mixture-sequence")


def test_confidence_sequence_as_printed_and_at_its_edges() -> None:
    """0 of 50: 12.9 %, 0 of 80: 8.8 %; no case: [0, 1]; bad arguments are refused."""
    assert confidence_sequence(0, 50).upper == pytest.approx(0.129, abs=5e-4)
    assert confidence_sequence(0, 80).upper == pytest.approx(0.088, abs=5e-4)
    empty = confidence_sequence(0, 0)
    assert (empty.lower, empty.upper) == (0, 1)
    assert confidence_sequence(5, 300, alpha=0.01).upper > confidence_sequence(5, 300).upper
    for x, n, changed, message in (
        (3, 2, {}, "x is 3 of n 2"),
        (-1, 2, {}, "^x is -1; a count"),
        (0, -1, {}, "^n is -1; a count"),
        (1, 2, {"alpha": 1}, "alpha is 1"),
        (1, 2, {"a": 0}, "a is 0"),
        (1, 2, {"b": 0}, "b is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            confidence_sequence(x, n, **changed)


rows = st.lists(st.tuples(st.sampled_from([Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN]), st.booleans()))


@given(rows)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_only_reference_failures_count(given_rows: list[tuple[Verdict, bool]]) -> None:
    """After each row x and n are those of the failures so far."""
    for i, found in enumerate(failure_counts(given_rows), start=1):
        fails = [accepted for reference, accepted in given_rows[:i] if reference is Verdict.FAIL]
        assert found == FailureCount(sum(fails), len(fails))


@given(st.randoms(use_true_random=False))
@settings(max_examples=8, derandomize=True, deadline=None)
def test_a_judge_that_accepts_everything_is_admitted_by_no_prefix(rng: Random) -> None:
    """150 passes and 50 failures, all accepted, row by row in any order: no look and no e-value admits."""
    references = [Verdict.PASS] * 150 + [Verdict.FAIL] * 50
    rng.shuffle(references)
    never_admitted(references)


@pytest.mark.parametrize("passes_first", [True, False])
def test_the_two_ends_of_all_orders_admit_nothing(passes_first: bool) -> None:
    """All passes before all failures, which would look clean if passes counted, and the other way round."""
    passes, failures = [Verdict.PASS] * 150, [Verdict.FAIL] * 50
    never_admitted(passes + failures if passes_first else failures + passes)


def never_admitted(references: list[Verdict]) -> None:
    """No prefix of rows that the judge all accepts passes the gate or gathers an e-value to admit by."""
    for count in failure_counts((reference, True) for reference in references):
        assert score_gate(count.x, count.n, limit=0.1, z=Z) is not GateResult.PASS
        assert log_e_value(count.x, count.n, limit=0.1, direction=Direction.BELOW) < ADMIT


def test_passes_first_would_have_admitted_if_they_counted() -> None:
    """Counted whole, the first 150 rows would look like a clean record."""
    assert score_gate(0, 150, limit=0.1, z=Z) is GateResult.PASS


@given(st.integers(0, 60), st.floats(1e-6, 1 - 1e-6))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_binomial_masses_agree_with_scipy(n: int, p: float) -> None:
    """Every mass equals scipy's."""
    assert binomial_pmf(n, p) == pytest.approx(binom.pmf(np.arange(n + 1), n, p), abs=1e-12)


@pytest.mark.parametrize("p", [0, 1])
def test_certain_rates(p: int) -> None:
    """At 0 all mass lies at 0, at 1 at n."""
    assert binomial_pmf(3, p).tolist() == ([0, 0, 0, 1] if p else [1, 0, 0, 0])


@pytest.mark.parametrize("true_far", [0.0, 0.05, 0.1, 0.3])
def test_admission_over_looks_by_enumeration(true_far: float) -> None:
    """Looks at 4, 7 and 10 failures at limit .6: the sum over all 2^10 sequences."""
    total = 0.0
    for sequence in product((0, 1), repeat=10):
        if any(score_gate(sum(sequence[:n]), n, limit=0.6, z=1.0) is GateResult.PASS for n in (4, 7, 10)):
            x = sum(sequence)
            total += true_far**x * (1 - true_far) ** (10 - x)
    assert admission_probability([4, 7, 10], limit=0.6, z=1.0, true_far=true_far) == pytest.approx(total)


@pytest.mark.parametrize(
    ("n", "naive", "bonferroni"),
    [(20, 0, 0), (50, 0.005, 0), (80, 0.027, 0.004), (150, 0.032, 0.007), (300, 0.044, 0.010)],
)
def test_peeking_three_times(n: int, naive: float, bonferroni: float) -> None:
    """Table 2 (simulated there, exact here): P(admit) at FAR 10 % with looks at n/3, 2n/3, n."""
    sizes = [math.ceil(n / 3), math.ceil(2 * n / 3), n]
    assert admission_probability(sizes, limit=0.1, z=1.96, true_far=0.1) == pytest.approx(naive, abs=1.6e-3)
    corrected = admission_probability(sizes, limit=0.1, z=Z3, true_far=0.1)
    assert corrected == pytest.approx(bonferroni, abs=1.6e-3)
    assert corrected <= 0.0101


def test_three_bonferroni_looks_never_exceed_their_promise() -> None:
    """Exact by dynamic programming: at most 1.0 % at 50, 80, 150, 300 and 1.7 % for every n in 52..600."""

    def at_limit(n: int) -> float:
        return admission_probability([n // 3, 2 * n // 3, n], limit=0.1, z=Z3, true_far=0.1)

    sizes = {n: at_limit(n) for n in range(52, 601)}
    assert max(sizes.values()) <= 0.017
    assert max(at_limit(n) for n in (50, 80, 150, 300)) <= 0.0101


def test_unlimited_retesting() -> None:
    """Every 20 failures up to 600 at FAR 10 %: Wilson admits 10.9 % of such judges."""
    found = admission_probability(range(20, 601, 20), limit=0.1, z=1.96, true_far=0.1)
    assert found == pytest.approx(0.109, abs=1e-3)


def test_looks_must_grow() -> None:
    """Looks that do not grow are refused; one look is the plain probability; no look admits nobody."""
    for sizes in ([0], [5, 5], [9, 3], [-1]):
        with pytest.raises(ValueError, match="give the failures at each look, increasing from at least 1"):
            admission_probability(sizes, limit=0.1, z=Z, true_far=0.1)
    with pytest.raises(ValueError, match="true_far is 2"):
        admission_probability([50], limit=0.1, z=Z, true_far=2)
    assert admission_probability([50], limit=0.1, z=Z, true_far=0.1) == pytest.approx(0.9**50)
    assert admission_probability([], limit=0.1, z=Z, true_far=0.1) == 0
    assert admission_probability([35, 60], limit=0.1, z=Z, true_far=0) == pytest.approx(1)


def test_cusum_by_hand() -> None:
    """Log 3 up for an accepted failure, log(.85/.95) down for another, never below 0."""
    up, down = math.log(3), math.log(0.85 / 0.95)
    found = cusum([False, True, False, True, True, False], good=0.05, bad=0.15, threshold=2.5)
    path = [0.0, up, up + down, 2 * up + down, 3 * up + down, 3 * up + 2 * down]
    assert found.path == pytest.approx(path)
    assert found.alarm_at == 5
    assert cusum([False] * 9, good=0.05, bad=0.15, threshold=5).alarm_at is None
    assert cusum([], good=0.05, bad=0.15, threshold=5).path == ()
    exactly = cusum([True], good=0.05, bad=0.15, threshold=math.log(0.15 / 0.05))
    assert exactly.alarm_at == 1


def test_cusum_arguments() -> None:
    """The bad rate lies above the good one; both strictly between 0 and 1."""
    for good, bad, threshold, message in (
        (0.15, 0.05, 5, "must be upward: give good < bad"),
        (0.05, 0.05, 5, "must be upward"),
        (0, 0.1, 5, "good is 0"),
        (0.1, 1, 5, "bad is 1"),
        (0.1, 0.2, 0, "threshold is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            cusum([], good=good, bad=bad, threshold=threshold)


def test_drift_is_noticed_as_fast_as_promised() -> None:
    """Medians at 15 and 20 %: CUSUM 53 and 32 audited failures; at 20 % the e-value 105."""
    rng = np.random.default_rng(20261130)

    def median_alarm(rate: float) -> float:
        runs = [
            cusum(rng.random(600) < rate, good=0.05, bad=0.15, threshold=5).alarm_at or 600
            for _ in range(150)
        ]
        return float(np.median(runs))

    assert median_alarm(0.15) == pytest.approx(53, abs=14)
    assert median_alarm(0.20) == pytest.approx(32, abs=9)

    def suspended() -> int:
        for n, x in enumerate(np.cumsum(rng.random(900) < 0.20), start=1):
            if log_e_value(int(x), n, limit=0.1, direction=Direction.ABOVE) >= ADMIT:
                return n
        return 900

    assert float(np.median([suspended() for _ in range(80)])) == pytest.approx(105, abs=25)
