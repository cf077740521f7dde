"""Rates, ends, limits and coefficients as people read them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calibration.rendering.numbers import (
    NNBSP,
    coefficient_text,
    end_text,
    fixed,
    interval_decimals,
    limit_text,
    p_text,
    rate_text,
)
from calibration.statistics.proportions import wilson_interval


def shown(x: int, n: int, limit: float | None = None) -> str:
    """The rate with its Wilson interval as it is printed, with plain spaces."""
    found = wilson_interval(x, n)
    return rate_text(x, n, lower=found.lower, upper=found.upper, limit=limit).text.replace(NNBSP, " ")


@pytest.mark.parametrize(
    ("x", "n", "limit", "words"),
    [
        (16, 80, 0.1, "16/80 20 % [13, 30]"),  # half-width 8.7 points: whole percent
        (0, 50, 0.1, "0/50 0 % [0, 7]"),
        (0, 204, None, "0/204 0 % [0, 1.8]"),  # half-width 0.9: one decimal, and 0 prints 0
        (1, 204, None, "1/204 <1 % [0, 3]"),  # 0.49 % would round to 0
        (199, 200, None, "199/200 >99 % [97, 100]"),  # 99.5 % would round to 100
        (200, 200, None, "200/200 100 % [98.1, 100]"),
        (3, 81, 0.1, "3/81 4 % [1, 10.3]"),  # 10.32 % would round onto the limit
        (4, 99, 0.1, "4/99 4 % [2, 9.9]"),  # 9.93 % would round onto the limit
        (4, 100, 0.1, "4/100 4 % [2, 9.8]"),
        (1, 40, None, "1/40 3 % [0, 13]"),  # 2.5 rounds away from zero
        (71, 1093, 0.1, "71/1,093 6 % [5, 8]"),  # half-width 1.5
        (4, 1093, 0.1, "4/1,093 0.4 % [0.1, 0.9]"),
        (0, 0, 0.1, "0/0"),
    ],
)
def test_rate_reads_as_the_rules_say(x: int, n: int, limit: float | None, words: str) -> None:
    """A rate prints its count, its rate and its interval with the decimals that the interval carries."""
    assert shown(x, n, limit) == words


counts = st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def number(text: str) -> Decimal:
    """The number in a printed percentage, whatever stands before it."""
    return Decimal(text.replace(NNBSP, "").strip("<>%[] "))


@settings(max_examples=150, derandomize=True)
@given(counts)
def test_printed_rate_is_within_half_a_last_digit(count: tuple[int, int]) -> None:
    """What is printed is the exact rate rounded to the printed decimals, unless marked < or >."""
    x, n = count
    found = wilson_interval(x, n)
    text = rate_text(x, n, lower=found.lower, upper=found.upper).estimate
    decimals = interval_decimals(found.lower * 100, found.upper * 100)
    exact, printed = Fraction(100 * x, n), Fraction(number(text))
    if text.startswith("<"):
        assert 0 < exact < printed
    elif text.startswith(">"):
        assert printed < exact < 100
    else:
        assert abs(exact - printed) <= Fraction(1, 2 * 10**decimals)


@settings(max_examples=150, derandomize=True)
@given(counts)
def test_only_nothing_prints_as_nothing(count: tuple[int, int]) -> None:
    """0 % is printed exactly for x = 0, and 100 % exactly for x = n."""
    x, n = count
    found = wilson_interval(x, n)
    text = rate_text(x, n, lower=found.lower, upper=found.upper).estimate
    assert (text == f"0{NNBSP}%") == (x == 0)
    assert (text == f"100{NNBSP}%") == (x == n)


@settings(max_examples=150, derandomize=True)
@given(counts, st.sampled_from([0.01, 0.02, 0.05, 0.1, 0.139, 0.2]))
def test_printed_ends_stand_on_their_own_side_of_the_limit(count: tuple[int, int], limit: float) -> None:
    """An end that is not the limit never prints as the limit, nor on its other side."""
    x, n = count
    found = wilson_interval(x, n)
    exact_limit = Decimal(repr(limit)) * 100
    for end in (found.lower, found.upper):
        assume(abs(end - limit) > 1e-9)
        printed = number(end_text(end, lower=found.lower, upper=found.upper, limit=limit))
        assert (printed > exact_limit) == (end > limit)
        assert printed != exact_limit


def test_end_that_is_the_limit_prints_as_the_limit() -> None:
    """An end exactly on the limit needs no further decimal."""
    assert end_text(0.1, lower=0.02, upper=0.1, limit=0.1) == f"10{NNBSP}%"


@pytest.mark.parametrize(
    ("value", "decimals", "words"),
    [
        (0.5, 0, "1"),
        (-0.5, 0, "−1"),
        (2.5, 0, "3"),
        (0.125, 2, "0.13"),
        (-0.004, 2, "0.00"),
        (1.005, 2, "1.01"),
    ],
)
def test_halves_round_away_from_zero(value: float, decimals: int, words: str) -> None:
    """A half rounds away from zero, as written and not as its binary neighbour; a zero has no sign."""
    assert fixed(value, decimals) == words


@pytest.mark.parametrize(
    ("limit", "words"), [(0.1, "10"), (0.07, "7"), (0.139, "13.9"), (0.5, "50"), (0.0025, "0.25")]
)
def test_limit_prints_as_written(limit: float, words: str) -> None:
    """A limit is a decision, not an estimate: it keeps its digits and gains none."""
    assert limit_text(limit) == f"{words}{NNBSP}%"


@pytest.mark.parametrize(
    ("estimate", "lower", "upper", "words"),
    [
        (0.7664, 0.6740, 0.8588, ("0.77", "[0.67, 0.86]")),  # half-width .09
        (0.41, 0.29, 0.53, ("0.4", "[0.3, 0.5]")),  # half-width .12
        (-0.05, -0.12, 0.02, ("−0.05", "[−0.12, 0.02]")),
        (0.0, None, None, ("0.0", "(no interval: too uniform)")),
        (1.0, 1.0, 1.0, ("1.0", "(no interval: too uniform)")),
        (0.876, None, None, ("0.88", "(no interval: too uniform)")),
    ],
)
def test_coefficient_carries_the_decimals_of_its_interval(
    estimate: float, lower: float | None, upper: float | None, words: tuple[str, str]
) -> None:
    """Kappa prints at least one decimal and no more than half its interval's width justifies."""
    assert coefficient_text(estimate, lower, upper) == words


@pytest.mark.parametrize(
    ("p", "words"),
    [(0.25, "p = .25"), (1.0, "p = 1"), (0.0004, "p < .001"), (0.0021, "p = .002"), (0.0525, "p = .053")],
)
def test_p_is_short(p: float, words: str) -> None:
    """A p-value has no leading zero and never claims more than three decimals."""
    assert p_text(p) == words


def test_interval_without_width_carries_one_decimal() -> None:
    """No width says nothing of the decimals: one is shown, or the least asked for."""
    assert interval_decimals(10.0, 10.0) == 1
    assert interval_decimals(0.1, 0.1, least=2) == 2
