"""Repeated runs: how consistent they are, and how many of them a design needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from calibration.statistics.checks import (
    require_count,
    require_open_share,
    require_positive,
    require_share,
    require_whole,
)
from calibration.values import Undefined


def _require_draw(n: int, c: int, k: int) -> None:
    whole_n, whole_c, whole_k = (require_whole(v, name=name) for v, name in ((n, "n"), (c, "c"), (k, "k")))
    if whole_c > whole_n:
        raise ValueError(f"c is {c!r} of n {n!r} runs; c counts successes among them: give c <= n")
    if not 1 <= whole_k <= whole_n:
        raise ValueError(
            f"k is {k!r} of n {n!r} runs; k draws are taken from them: give 1 <= k <= n, or run more"
        )


def pass_at_k(n: int, c: int, k: int) -> float:
    """P(at least one of k runs succeeds), from c successes in n runs: 1 - C(n - c, k) / C(n, k), in [0, 1].

    Raises:
        ValueError: for a negative count, c > n, or k outside 1..n.

    Source: Chen et al. 2021, equation 1.
    """
    _require_draw(n, c, k)
    return float(1 - Fraction(math.comb(n - c, k), math.comb(n, k)))


def pass_hat_k(n: int, c: int, k: int) -> float:
    """P(all of k runs succeed), from c successes in n runs: C(c, k) / C(n, k), in [0, 1].

    Raises:
        ValueError: for a negative count, c > n, or k outside 1..n.

    Source: Yao et al. 2024 (tau-bench).
    """
    _require_draw(n, c, k)
    return float(Fraction(math.comb(c, k), math.comb(n, k)))


@dataclass(frozen=True, slots=True)
class RepeatPower:
    """What k independent runs of a task with success p amount to."""

    all_pass: float
    any_pass: float
    required_p: float
    """Success of one run with which all k succeed with the target probability."""
    failure_cut: float
    """Factor by which 1 - p must shrink to reach `required_p`."""


def repeat_power(p: float, k: int, *, target: float = 0.9) -> RepeatPower:
    """P(all), P(any) of k independent runs, and the success of one run that the target needs.

    Raises:
        ValueError: for a p outside [0, 1], fewer than one run, or a target outside (0, 1).
    """
    require_share(p, name="p")
    require_open_share(target, name="target")
    if require_whole(k, name="k") < 1:
        raise ValueError(f"k is {k!r}; give at least one run")
    required = target ** (1 / k)
    return RepeatPower(
        p**k, -math.expm1(k * math.log1p(-p)) if p < 1 else 1.0, required, (1 - p) / (1 - required)
    )


@dataclass(frozen=True, slots=True)
class MixtureConsistency:
    """P(all k runs succeed): k runs of one task drawn at random, against k different tasks."""

    same_task: float
    new_tasks: float


def mixture_consistency(p: Sequence[float], k: int) -> MixtureConsistency | Undefined:
    """The mean of p^k against the k-th power of the mean p; undefined without a task.

    Raises:
        ValueError: for a p outside [0, 1] or fewer than one run.
    """
    for value in p:
        require_share(value, name="a task's success")
    if require_whole(k, name="k") < 1:
        raise ValueError(f"k is {k!r}; give at least one run")
    if not p:
        return Undefined("no task")
    return MixtureConsistency(math.fsum(value**k for value in p) / len(p), (math.fsum(p) / len(p)) ** k)


@dataclass(frozen=True, slots=True)
class RepeatConsistency:
    """How alike the repeats of one judge are; repeats never add to the number of failures."""

    pairwise: float
    """P(two random repeats of a case agree), averaged over cases."""
    modal: float
    """Share of the most frequent verdict, averaged over cases."""
    unanimous: float
    """Share of cases on which all repeats agree."""
    cases: int
    """Cases with at least two repeats; the others say nothing and are left out."""


def repeat_consistency(counts: Sequence[Sequence[int]]) -> RepeatConsistency | Undefined:
    """Pairwise agreement, modal share and unanimous share over the repeats of each case.

    Args:
        counts: for each case, how often each verdict came out.

    Undefined when no case has two repeats.

    Raises:
        ValueError: for a negative count.
    """
    rows = [[require_whole(count, name="a verdict count") for count in row] for row in counts]
    repeated = [row for row in rows if sum(row) >= 2]
    if not repeated:
        return Undefined("no case was judged twice")
    pairwise = [Fraction(sum(x * (x - 1) for x in row), sum(row) * (sum(row) - 1)) for row in repeated]
    modal = [Fraction(max(row), sum(row)) for row in repeated]
    cases = len(repeated)
    return RepeatConsistency(
        pairwise=float(sum(pairwise) / cases),
        modal=float(sum(modal) / cases),
        unanimous=sum(share == 1 for share in modal) / cases,
        cases=cases,
    )


def within_variance(*, mean: float, between: float) -> float:
    """The variance of a run's success within a task: mean (1 - mean) - between.

    Args:
        mean: success over all tasks, in [0, 1].
        between: variance of the tasks' success probabilities.

    Raises:
        ValueError: for a mean outside [0, 1], or a between-task variance that this mean cannot have.
    """
    require_share(mean, name="mean")
    require_count(between, name="between")
    within = float(
        Fraction(repr(float(mean))) * (1 - Fraction(repr(float(mean)))) - Fraction(repr(float(between)))
    )
    if within < 0:
        raise ValueError(
            f"between is {between!r}; tasks with mean {mean!r} vary by at most {mean * (1 - mean)!r}"
        )
    return within


@dataclass(frozen=True, slots=True)
class DesignError:
    """The precision of a mean over tasks and runs."""

    variance: float
    standard_error: float


def design_error(*, between: float, within: float, tasks: int, runs: int) -> DesignError:
    """The variance between/tasks + within/(tasks runs) of a mean success, and its square root.

    Raises:
        ValueError: for a negative variance or fewer than one task or run.
    """
    require_count(between, name="between")
    require_count(within, name="within")
    if min(require_whole(tasks, name="tasks"), require_whole(runs, name="runs")) < 1:
        raise ValueError(f"tasks is {tasks!r} and runs is {runs!r}; give at least one of each")
    variance = between / tasks + within / (tasks * runs)
    return DesignError(variance, math.sqrt(variance))


@dataclass(frozen=True, slots=True)
class RepeatPlan:
    """The split of a budget between tasks and runs a task that gives the smallest variance."""

    runs: int
    tasks: int
    variance: float
    variance_ratio: float | Undefined
    """Within over between; undefined when tasks do not differ."""
    continuous_optimum: float | Undefined
    """sqrt(fixture cost x ratio): runs a task before rounding."""


def optimal_repeats(*, between: float, within: float, budget: int, fixture_cost: int) -> RepeatPlan:
    """The best number of runs a task, when setting a task up costs `fixture_cost` runs; budget in runs.

    Raises:
        ValueError: for a negative variance or cost, variances that are both 0, or a budget that does not pay
            for one task with one run.
    """
    require_count(between, name="between")
    require_count(within, name="within")
    require_positive(between + within, name="between + within")
    affordable = require_whole(budget, name="budget") - require_whole(fixture_cost, name="fixture_cost")
    if affordable < 1:
        raise ValueError(
            f"budget is {budget!r}; one task with one run costs {fixture_cost + 1!r}: give at least that"
        )
    plans = [(budget // (fixture_cost + runs), runs) for runs in range(1, affordable + 1)]
    variance, runs, tasks = min(
        (between / tasks + within / (tasks * runs), runs, tasks) for tasks, runs in plans
    )
    ratio = within / between if between else Undefined("tasks do not differ")
    optimum = ratio if isinstance(ratio, Undefined) else math.sqrt(fixture_cost * ratio)
    return RepeatPlan(runs, tasks, variance, ratio, optimum)
