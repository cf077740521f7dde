"""Repeats: draws without replacement by enumeration, consistency, and designs."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.repeats import (
    design_error,
    mixture_consistency,
    optimal_repeats,
    pass_at_k,
    pass_hat_k,
    repeat_consistency,
    repeat_power,
    within_variance,
)
from calibration.statistics.summaries import percentile, task_summary, weighted_score
from calibration.values import Undefined


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_pass_at_and_hat_k_by_enumeration(case: tuple[int, int, int]) -> None:
    """The shares of all k-subsets of the runs with any, and with only, successes."""
    n, c, k = case
    subsets = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))
    assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, subsets)) / len(subsets))


@pytest.mark.parametrize(
    ("n", "c", "k", "message"),
    [
        (3, 1, 4, "k is 4 of n 3 runs; k draws are taken from them: give 1 <= k <= n, or run more"),
        (3, 1, 0, "k is 0 of n 3 runs"),
        (3, 4, 1, "c is 4 of n 3 runs"),
        (3, -1, 1, "c is -1"),
        (0, 0, 1, "k is 1 of n 0 runs"),
    ],
)
def test_draws_are_checked(n: int, c: int, k: int, message: str) -> None:
    """K > n is an error and never 0 or 1."""
    for function in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match=message):
            function(n, c, k)


def test_repeat_power() -> None:
    """.85^5 = .4437; all five at 90 % need .979, a cut of 7.19; certain success needs no cut."""
    found = repeat_power(0.85, 5)
    assert found.all_pass == pytest.approx(0.4437053125)
    assert found.any_pass == pytest.approx(1 - 0.15**5)
    assert found.required_p == pytest.approx(0.979148362)
    assert found.failure_cut == pytest.approx(7.19368, abs=1e-5)
    sure = repeat_power(1, 3, target=0.5)
    assert (sure.all_pass, sure.any_pass, sure.failure_cut) == (1, 1, 0)
    never = repeat_power(0, 3)
    assert (never.all_pass, never.any_pass) == (0, 0)
    once = repeat_power(0.3, 1)
    assert (once.all_pass, once.any_pass, once.required_p) == pytest.approx((0.3, 0.3, 0.9))
    tiny = repeat_power(1e-12, 1000)
    assert tiny.any_pass == pytest.approx(1e-9, rel=1e-6)
    for p, k, target, message in (
        (2, 1, 0.9, "p is 2"),
        (0.5, 0, 0.9, "k is 0"),
        (0.5, -1, 0.9, "^k is -1"),
        (0.5, 1, 1, "target is 1"),
    ):
        with pytest.raises(ValueError, match=message):
            repeat_power(p, k, target=target)


def test_mixture() -> None:
    """Half at .5 and half at .9: .53 for the same task twice, .49 for two tasks."""
    found = mixture_consistency([0.5, 0.9], 2)
    assert not isinstance(found, Undefined)
    assert (found.same_task, found.new_tasks) == pytest.approx((0.53, 0.49))
    assert mixture_consistency([], 2) == Undefined("no task")
    once = mixture_consistency([0.5, 0.9], 1)
    assert not isinstance(once, Undefined)
    assert (once.same_task, once.new_tasks) == pytest.approx((0.7, 0.7))
    with pytest.raises(ValueError, match=r"^k is -1"):
        mixture_consistency([0.5], -1)
    with pytest.raises(ValueError, match="a task's success is 2"):
        mixture_consistency([2], 1)
    with pytest.raises(ValueError, match="k is 0"):
        mixture_consistency([0.5], 0)


@given(
    st.lists(
        st.lists(st.integers(0, 3), min_size=2, max_size=3).filter(lambda r: sum(r) > 1),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=40, derandomize=True, deadline=None)
def test_consistency_by_enumeration(counts: list[list[int]]) -> None:
    """Agreeing pairs, modal and unanimous shares over the listed verdicts of each case."""
    verdicts = [[kind for kind, count in enumerate(row) for _ in range(count)] for row in counts]
    pairs = [[a == b for a, b in combinations(row, 2)] for row in verdicts]
    found = repeat_consistency(counts)
    assert not isinstance(found, Undefined)
    assert found.pairwise == pytest.approx(sum(sum(p) / len(p) for p in pairs) / len(pairs))
    assert found.modal == pytest.approx(sum(max(r) / sum(r) for r in counts) / len(counts))
    assert found.unanimous == pytest.approx(sum(len(set(v)) == 1 for v in verdicts) / len(verdicts))
    assert found.cases == len(counts)


def test_consistency_leaves_single_verdicts_out() -> None:
    """Cases judged once say nothing and are not counted; none judged twice is undefined."""
    found = repeat_consistency([[3, 0], [1, 0], [0, 0], [1, 1]])
    assert not isinstance(found, Undefined)
    assert (found.cases, found.pairwise, found.modal, found.unanimous) == (2, 0.5, 0.75, 0.5)
    assert repeat_consistency([[1, 0], [0, 1]]) == Undefined("no case was judged twice")
    assert isinstance(repeat_consistency([]), Undefined)
    with pytest.raises(ValueError, match="a verdict count is -1"):
        repeat_consistency([[2, -1]])


def test_within_variance() -> None:
    """.6 · .4 - .08 = .16 exactly; more variance between than the mean allows is refused."""
    assert within_variance(mean=0.6, between=0.08) == 0.16
    assert within_variance(mean=0.9, between=0.09) == 0
    with pytest.raises(ValueError, match=r"between is 0\.1; tasks with mean 0\.9 vary by at most 0\.0"):
        within_variance(mean=0.9, between=0.1)
    with pytest.raises(ValueError, match="mean is 60"):
        within_variance(mean=60, between=0.1)
    with pytest.raises(ValueError, match="between is -1"):
        within_variance(mean=0.6, between=-1)


def test_design_error() -> None:
    """Exercise 1: 600 x 1, 200 x 3, 100 x 6."""
    errors = [
        design_error(between=0.08, within=0.16, tasks=t, runs=r).standard_error
        for t, r in ((600, 1), (200, 3), (100, 6))
    ]
    assert errors == pytest.approx([0.02, 0.025819889, 0.032659863])
    assert design_error(between=0.08, within=0.16, tasks=2, runs=2).variance == pytest.approx(0.08)
    for arguments, message in (
        ({"tasks": 0, "runs": 1}, "tasks is 0 and runs is 1"),
        ({"tasks": 1, "runs": 0}, "tasks is 1 and runs is 0"),
        ({"tasks": -1, "runs": 1}, "^tasks is -1"),
        ({"tasks": 1, "runs": -1}, "^runs is -1"),
    ):
        with pytest.raises(ValueError, match=message):
            design_error(between=0.1, within=0.1, **arguments)
    with pytest.raises(ValueError, match="between is -1"):
        design_error(between=-1, within=0.1, tasks=1, runs=1)
    with pytest.raises(ValueError, match="within is nan"):
        design_error(between=0.1, within=math.nan, tasks=1, runs=1)


def test_optimal_repeats() -> None:
    """Exercise 1: fixture cost 10 and 600 runs: 5 runs of 40 tasks, variance .0028; free tasks: 1 run."""
    found = optimal_repeats(between=0.08, within=0.16, budget=600, fixture_cost=10)
    assert (found.runs, found.tasks) == (5, 40)
    assert found.variance == pytest.approx(0.0028)
    assert found.variance_ratio == pytest.approx(2)
    assert found.continuous_optimum == pytest.approx(math.sqrt(20))
    free = optimal_repeats(between=0.08, within=0.16, budget=600, fixture_cost=0)
    assert (free.runs, free.tasks, free.continuous_optimum) == (1, 600, 0)
    uneven = optimal_repeats(between=0.05, within=0.3, budget=100, fixture_cost=4)
    plans = [(0.05 / (100 // (4 + r)) + 0.3 / ((100 // (4 + r)) * r), r) for r in range(1, 97)]
    assert (uneven.variance, uneven.runs) == pytest.approx(min(plans))
    assert uneven.tasks == 100 // (4 + uneven.runs)
    alike = optimal_repeats(between=0, within=0.16, budget=11, fixture_cost=10)
    assert (alike.runs, alike.tasks) == (1, 1)
    assert alike.variance_ratio == Undefined("tasks do not differ")
    assert isinstance(alike.continuous_optimum, Undefined)


def test_optimal_repeats_arguments() -> None:
    """A budget below one task, no variance at all and negative numbers are refused."""
    for changed, message in (
        ({"budget": 10}, "budget is 10; one task with one run costs 11: give at least that"),
        ({"between": 0, "within": 0}, r"between \+ within is 0"),
        ({"between": -1}, "between is -1"),
        ({"within": -1}, "within is -1"),
        ({"fixture_cost": -1}, "fixture_cost is -1"),
    ):
        with pytest.raises(ValueError, match=message):
            optimal_repeats(**{"between": 0.1, "within": 0.1, "budget": 600, "fixture_cost": 10, **changed})  # type: ignore[arg-type]


def test_task_summary() -> None:
    """Agent A of the source: macro .6, pass@2 .8, pass^4 .2, any-pass 5 of 5 with its own interval."""
    tasks = [[1, 1, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 0]]
    found = task_summary([[bool(run) for run in task] for task in tasks], [1, 2, 4], z=1.96)
    assert not isinstance(found, Undefined)
    assert found.macro_success == pytest.approx(0.6)
    assert found.micro_success == pytest.approx(0.6)
    assert found.pass_at == pytest.approx({1: 0.6, 2: 0.8, 4: 1.0})
    assert found.pass_hat == pytest.approx({1: 0.6, 2: 0.4, 4: 0.2})
    assert (found.any_pass.x, found.any_pass.n) == (5, 5)
    assert found.any_pass.interval.lower == pytest.approx(0.566, abs=5e-4)
    uneven = task_summary([[True], [False, False, False]], [1], confidence=0.9)
    assert not isinstance(uneven, Undefined)
    assert (uneven.macro_success, uneven.micro_success) == (0.5, 0.25)
    assert uneven.any_pass.interval.confidence == 0.9


def test_task_summary_arguments() -> None:
    """No task is undefined; a task without a run, and k beyond the runs, are refused."""
    assert task_summary([], [1]) == Undefined("no task")
    with pytest.raises(ValueError, match="task 1 has no run"):
        task_summary([[True], []], [1])
    with pytest.raises(ValueError, match="k is 2 of n 1 runs"):
        task_summary([[True]], [2])


def test_percentile() -> None:
    """The 95th percentile of the source's twelve durations is 35.265; none has no percentile."""
    xs = [18.2, 19.0, 41.7, 17.9, 22.1, 24.5, 12.3, 30.0, 9.8, 10.1, 9.6, 11.0]
    assert percentile(xs, 0.95) == pytest.approx(35.265)
    assert percentile([7.5], 0.99) == 7.5
    assert percentile([], 0.5) == Undefined("no value")
    with pytest.raises(ValueError, match="q is 95"):
        percentile(xs, 95)
    with pytest.raises(ValueError, match="a value is nan"):
        percentile([math.nan], 0.5)


def test_weighted_score() -> None:
    """.5 + .3 of .5, .3, .2; unequal lengths and NaN weights are refused."""
    assert weighted_score([0.5, 0.3, 0.2], [True, True, False]) == pytest.approx(0.8)
    assert weighted_score([], []) == 0
    with pytest.raises(ValueError, match="weights and checks have 1 and 0"):
        weighted_score([1], [])
    with pytest.raises(ValueError, match="a weight is nan"):
        weighted_score([math.nan], [True])
