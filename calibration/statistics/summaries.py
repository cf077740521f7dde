"""Summaries of runs: success over tasks, percentiles, weighted checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibration.statistics.checks import require_number, require_same_length, require_share
from calibration.statistics.proportions import rate
from calibration.statistics.repeats import pass_at_k, pass_hat_k
from calibration.values import Rate, Undefined


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """Success over tasks that were each run several times."""

    macro_success: float
    """Mean over tasks of the task's success rate."""
    micro_success: float
    """Successes over all runs."""
    any_pass: Rate
    """Tasks with at least one success: another estimand than `macro_success`, with its own interval."""
    pass_at: dict[int, float]
    """k -> P(at least one of k runs succeeds), averaged over tasks."""
    pass_hat: dict[int, float]
    """k -> P(all of k runs succeed), averaged over tasks."""


def task_summary(
    tasks: Sequence[Sequence[bool]], ks: Sequence[int], *, confidence: float = 0.95, z: float | None = None
) -> TaskSummary | Undefined:
    """Macro and micro success, pass@k and pass^k over tasks of equal weight; undefined without a task.

    Args:
        tasks: for each task the success of each run.
        ks: numbers of draws, each at most the runs of every task.
        confidence: level of the interval of `any_pass`.
        z: explicit quantile instead of the level.

    Raises:
        ValueError: for a task without a run, or a k that exceeds the runs of a task.
    """
    if not tasks:
        return Undefined("no task")
    sizes, passed = [len(task) for task in tasks], [sum(bool(run) for run in task) for task in tasks]
    if min(sizes) == 0:
        raise ValueError(f"task {sizes.index(0)} has no run; leave it out and say so, or run it")
    pairs = list(zip(sizes, passed, strict=True))
    return TaskSummary(
        macro_success=math.fsum(c / n for n, c in pairs) / len(tasks),
        micro_success=sum(passed) / sum(sizes),
        any_pass=rate(sum(c > 0 for c in passed), len(tasks), confidence=confidence, z=z),
        pass_at={k: math.fsum(pass_at_k(n, c, k) for n, c in pairs) / len(tasks) for k in ks},
        pass_hat={k: math.fsum(pass_hat_k(n, c, k) for n, c in pairs) / len(tasks) for k in ks},
    )


def percentile(values: Sequence[float], q: float) -> float | Undefined:
    """The q-quantile with linear interpolation between order statistics; undefined without a value.

    Raises:
        ValueError: for a q outside [0, 1] or a value that is not finite.

    Source: Hyndman, Fan 1996, definition 7.
    """
    require_share(q, name="q")
    for value in values:
        require_number(value, name="a value")
    return float(np.quantile(np.asarray(values, dtype=float), q)) if len(values) else Undefined("no value")


def weighted_score(weights: Sequence[float], checks: Sequence[bool]) -> float:
    """The sum of the weights of the checks that hold.

    A score of this kind lets many small checks outvote the one that matters: it decides nothing here.

    Raises:
        ValueError: for unequal lengths or a weight that is not finite.
    """
    require_same_length(weights, checks, names="weights and checks")
    for weight in weights:
        require_number(weight, name="a weight")
    return math.fsum(weight for weight, holds in zip(weights, checks, strict=True) if holds)
