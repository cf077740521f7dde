"""Costs of candidates, handoffs and runs; the worked exercises."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.costs import (
    TokenPrices,
    candidate_costs,
    clean_record_price,
    cost_per_accepted,
    crossover_check_cost,
    judge_in_loop,
    run_cost,
    smallest_cap,
)
from calibration.statistics.proportions import wilson_interval
from calibration.values import Undefined


@given(st.floats(0.01, 1), st.floats(0, 2), st.floats(0.01, 2), st.integers(1, 12))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_candidate_costs_by_walking_the_stopping_points(
    p: float, generate: float, check: float, k: int
) -> None:
    """Availability, candidates tried and all costs equal those summed over where one stops."""
    stops = [(1 - p) ** (i - 1) * p for i in range(1, k + 1)]
    available = sum(stops)
    tried = sum(i * chance for i, chance in enumerate(stops, start=1)) + k * (1 - p) ** k
    found = candidate_costs(p=p, generate=generate, check=check, k=k)
    assert found.availability == pytest.approx(available)
    assert found.expected_candidates == pytest.approx(tried)
    assert found.batch_per_trial == pytest.approx(k * (generate + check))
    assert found.batch_per_accepted == pytest.approx(k * (generate + check) / available)
    assert found.sequential_per_trial == pytest.approx(tried * (generate + check))
    assert found.sequential_per_accepted == pytest.approx(tried * (generate + check) / available)
    assert found.generate_all_per_trial == pytest.approx(k * generate + tried * check)
    assert found.generate_all_per_accepted == pytest.approx((k * generate + tried * check) / available)
    assert found.batch_premium == pytest.approx(k / tried - 1, abs=1e-9)


def test_candidate_arguments() -> None:
    """A certain candidate is available; p 0, negative costs and no candidate are refused."""
    assert candidate_costs(p=1, generate=1, check=0, k=3).availability == 1
    for changed, message in (
        ({"p": 0}, "p is 0"),
        ({"p": 2}, "p is 2"),
        ({"generate": -1}, "generate is -1"),
        ({"check": math.nan}, "check is nan"),
        ({"k": 0}, "k is 0"),
        ({"k": -1}, "^k is -1"),
    ):
        with pytest.raises(ValueError, match=message):
            candidate_costs(**{"p": 0.5, "generate": 1, "check": 1, "k": 2, **changed})  # type: ignore[arg-type]


@given(st.integers(1, 999).map(lambda v: v / 1000), st.integers(1, 999).map(lambda v: v / 1000))
@settings(max_examples=80, derandomize=True, deadline=None)
def test_smallest_cap_is_the_smallest(p: float, availability: float) -> None:
    """K reaches the availability and k - 1 does not."""
    found = smallest_cap(p=p, availability=availability)
    assert found.reached == pytest.approx(1 - (1 - p) ** found.k)
    assert found.reached >= availability
    assert found.k == 1 or 1 - (1 - p) ** (found.k - 1) < availability


def test_smallest_cap_at_exact_equality() -> None:
    """.5 reaches .75 with exactly 2; a certain candidate with 1; bad shares are refused."""
    assert smallest_cap(p=0.5, availability=0.75).k == 2
    assert smallest_cap(p=0.1, availability=0.271).k == 3
    assert (smallest_cap(p=1, availability=0.9).k, smallest_cap(p=1, availability=0.9).reached) == (1, 1)
    for p, availability, message in ((0, 0.9, "p is 0"), (2, 0.9, "p is 2"), (0.5, 1, "availability is 1")):
        with pytest.raises(ValueError, match=message):
            smallest_cap(p=p, availability=availability)


def test_crossover() -> None:
    """Exercise 5: a check of $.055 makes both cost the same an accepted candidate."""
    found = crossover_check_cost(p_a=0.3, generate_a=0.05, p_b=0.5, generate_b=0.12)
    assert found == pytest.approx(0.055)
    first = candidate_costs(p=0.3, generate=0.05, check=0.055, k=4).sequential_per_accepted
    second = candidate_costs(p=0.5, generate=0.12, check=0.055, k=4).sequential_per_accepted
    assert first == pytest.approx(second)
    same = crossover_check_cost(p_a=0.3, generate_a=0.05, p_b=0.3, generate_b=0.12)
    assert same == Undefined("both succeed equally often: no check cost changes which is cheaper")
    for changed, message in (
        ({"p_a": 0}, "p_a is 0"),
        ({"p_b": 2}, "p_b is 2"),
        ({"generate_a": -1}, "generate_a is -1"),
        ({"generate_b": -1}, "generate_b is -1"),
    ):
        with pytest.raises(ValueError, match=message):
            crossover_check_cost(**{"p_a": 0.3, "generate_a": 1, "p_b": 0.5, "generate_b": 1, **changed})


def test_judge_in_loop() -> None:
    """Exercise 6: wrong .03, handoff .1625, $.65, five clean .859; the limit is .139 at $.687."""
    found = judge_in_loop(p_correct=0.85, far=0.2, frr=0.05, handoff_cost=4, sessions=5, target=0.9)
    assert found.wrong_delivered == pytest.approx(0.03)
    assert found.handoff_rate == pytest.approx(0.1625)
    assert found.handoff_cost == pytest.approx(0.65)
    assert found.no_wrong_in_sessions == pytest.approx(0.97**5)
    assert found.max_far == pytest.approx(0.139010917593488)
    assert found.handoff_cost_at_max_far == pytest.approx(0.686593449443907)
    at_limit = judge_in_loop(
        p_correct=0.85, far=found.max_far, frr=0.05, handoff_cost=4, sessions=5, target=0.9
    )
    assert at_limit.no_wrong_in_sessions == pytest.approx(0.9)


def test_judge_in_loop_edges() -> None:
    """Outputs that are always right, or rarely enough wrong, allow any FAR; bad arguments are refused."""
    assert judge_in_loop(p_correct=1, far=1, frr=0, handoff_cost=0, sessions=1).max_far == 1
    assert judge_in_loop(p_correct=0.995, far=1, frr=0, handoff_cost=4, sessions=5).max_far == 1
    good = {"p_correct": 0.9, "far": 0.1, "frr": 0.1, "handoff_cost": 1, "sessions": 2, "target": 0.9}
    for name, value in (
        ("p_correct", 2),
        ("far", -1),
        ("frr", 2),
        ("handoff_cost", -1),
        ("sessions", 0),
        ("sessions", -1),
        ("target", 1),
    ):
        with pytest.raises(ValueError, match=f"^{name} is {value}"):
            judge_in_loop(**{**good, name: value})  # type: ignore[arg-type]


def test_clean_record() -> None:
    """Exercise 2: 60 clean runs leave 6.02 %, $722 against $20; 2,302 runs bring it below."""
    found = clean_record_price(60, z=1.96, loss=12000, approval=20)
    assert found.upper == pytest.approx(0.0601739304779329)
    assert found.expected_loss == pytest.approx(722.087, abs=1e-3)
    assert found.n_needed == 2302
    for n, below in ((2302, True), (2301, False)):
        assert (wilson_interval(0, n, z=1.96).upper * 12000 < 20) is below
    assert clean_record_price(0, z=1.96, loss=10, approval=20).n_needed == 1
    assert clean_record_price(5, z=2.0, loss=30, approval=10).n_needed == 9  # 4 · (3 - 1) = 8, strictly more
    for n, loss, approval, message in (
        (-1, 1, 1, "n is -1"),
        (1, 0, 1, "loss is 0"),
        (1, 1, 0, "approval is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            clean_record_price(n, z=1.96, loss=loss, approval=approval)


def test_run_cost() -> None:
    """40,000 in at $3 and 6,000 out at $15 a million: $.21; cached tokens and fees add up."""
    prices = TokenPrices(3, 15, 0.3)
    assert run_cost(prices, tokens_in=40_000, tokens_out=6_000) == pytest.approx(0.21)
    assert run_cost(
        prices, tokens_in=10_000, tokens_out=3_000, tokens_cached=30_000, fees=0.002
    ) == pytest.approx(0.086)
    assert run_cost(TokenPrices(3, 15), tokens_in=0, tokens_out=0, tokens_cached=10**6) == 0
    for tokens, price, fees, message in (
        (-1, 1, 0, "a token count is -1"),
        (1, -1, 0, "a price is -1"),
        (1, 1, -1, "fees is -1"),
    ):
        with pytest.raises(ValueError, match=message):
            run_cost(TokenPrices(price, 1), tokens_in=tokens, tokens_out=1, fees=fees)


def test_cost_per_accepted() -> None:
    """All spend over what was accepted; nothing accepted has no price, not infinity."""
    assert cost_per_accepted(1.986, 8) == pytest.approx(0.24825)
    assert cost_per_accepted(1.0, 0) == Undefined("nothing was accepted")
    with pytest.raises(ValueError, match="spend is -1"):
        cost_per_accepted(-1, 1)
    with pytest.raises(ValueError, match="accepted is nan"):
        cost_per_accepted(1, math.nan)
