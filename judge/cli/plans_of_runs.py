"""`plan pairs`, `half-width` and `repeats`: sizes of comparisons, rates and runs, in words and as JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calibration.rendering.numbers import fixed
from calibration.rendering.text import counted
from calibration.statistics.comparison_plans import half_widths, smallest_gain
from calibration.statistics.normal import z_value
from calibration.statistics.paired import PairedTable, newcombe_paired, noninferiority
from calibration.statistics.repeats import (
    DesignError,
    RepeatPlan,
    design_error,
    optimal_repeats,
    within_variance,
)
from calibration.statistics.sample_size import (
    n_for_half_width,
    n_pairs_noninferiority,
    n_pairs_scaled,
    n_two_arm,
)
from calibration.values import Undefined
from judge.cli.answers import Answer, money, percent

SCHEMA = {"schema": "voirdire.plan/1"}


def paired_table(text: str) -> PairedTable:
    """The table that four counts with commas between them stand for.

    Raises:
        ValueError: for anything else.
    """
    if not re.fullmatch(r"\d{1,9}(,\d{1,9}){3}", text):
        raise ValueError(f"--first-run {text!r} is not four counts, such as 70,12,18,50")
    return PairedTable(*(int(count) for count in text.split(",")))


def task_design(text: str) -> tuple[int, int]:
    """Tasks and runs of a design that is written as 200x3.

    Raises:
        ValueError: for anything else.
    """
    found = re.fullmatch(r"([1-9]\d{0,8})x([1-9]\d{0,8})", text)
    if not found:
        raise ValueError(f"--design {text!r} is not TASKSxRUNS, such as 200x3")
    return int(found[1]), int(found[2])


def points(difference: float) -> str:
    """A difference of rates in percentage points, as precise as a tenth."""
    return f"{fixed(100 * difference, 1).removesuffix('.0')} points"


@dataclass(frozen=True, slots=True)
class PairsQuestion:
    """What `plan pairs` is asked."""

    gain: float
    discordant: float
    tolerance: float
    power: float
    confidence: float
    have: int | None
    first_run: PairedTable | None
    rate: float | None
    """Success of both, where the price of two separate sets is wanted."""
    cost_per_pair: float | None

    @property
    def z(self) -> float:
        """Quantile of the interval."""
        return z_value(self.confidence)

    @property
    def told(self) -> dict[str, Any]:
        """The question as JSON."""
        return SCHEMA | {
            "plan": "pairs",
            "gain": self.gain,
            "discordant": self.discordant,
            "tolerance": self.tolerance,
            "power": self.power,
            "confidence": self.confidence,
        }


def pairs_answer(question: PairsQuestion) -> Answer:
    """How many items both must do; or, with `have`, the gain that those at hand can show.

    Raises:
        ValueError: for numbers that no comparison has, such as a gain larger than the share that differs.
    """
    if question.have is not None:
        return _gain_of(question, question.have)
    n = n_pairs_noninferiority(
        gain=question.gain,
        discordant=question.discordant,
        tolerance=question.tolerance,
        power=question.power,
        z=question.z,
    )
    cost = None if question.cost_per_pair is None else n * question.cost_per_pair
    price = "" if cost is None else f", for {money(cost)}"
    rows = [("both on the same items", f"{n:,} items")]
    data = question.told | {"pairs": n, "cost": cost}
    if question.rate is not None:
        arm = n_two_arm(question.rate, question.gain + question.tolerance, power=question.power, z=question.z)
        rows.append(("each on items of its own", f"{math.ceil(arm):,} items each"))
        data |= {"per_arm": arm}
    scaled = _scaled(question)
    if scaled:
        rows.append(("lower end just at the tolerance, even odds", f"{scaled['pairs_ceil']:,} items"))
    return Answer(
        words=(
            f"Run {n:,} items under both{price}.",
            f"A true gain of {points(question.gain)} is then shown to be no loss beyond "
            f"{points(question.tolerance)} in {percent(question.power)} of comparisons, if "
            f"{percent(question.discordant)} of the pairs differ.",
        ),
        head=("", ""),
        rows=tuple(rows),
        following="voirdire compare A B",
        data=data | ({"first_run": scaled} if scaled else {}),
        notes=_first_run_notes(scaled),
    )


def _scaled(question: PairsQuestion) -> dict[str, Any] | None:
    """The first run's interval, and the pairs at which it would just reach the tolerance."""
    table = question.first_run
    if table is None:
        return None
    found = n_pairs_scaled(table, true_gain=question.gain, tolerance=question.tolerance, z=question.z)
    interval = newcombe_paired(table, z=question.z)
    bounds = interval if isinstance(interval, Undefined) else interval.interval
    if isinstance(found, Undefined) or isinstance(interval, Undefined) or isinstance(bounds, Undefined):
        raise ValueError("the first run holds no pair; give its four counts, such as 70,12,18,50")
    return {
        "n": table.n,
        "difference": interval.value,
        "lower": bounds.lower,
        "upper": bounds.upper,
        "noninferior": noninferiority(bounds.lower, tolerance=question.tolerance).noninferior,
        "pairs": found.n_pairs,
        "pairs_ceil": found.n_pairs_ceil,
    }


def _first_run_notes(scaled: dict[str, Any] | None) -> tuple[str, ...]:
    notes = ["Planned with the normal interval; one look, pairs independent, every verdict in."]
    if scaled:
        notes.insert(
            0,
            f"The first run of {scaled['n']} pairs: {fixed(100 * scaled['difference'], 1)} points "
            f"[{fixed(100 * scaled['lower'], 2)}, {fixed(100 * scaled['upper'], 2)}], which "
            f"{'shows' if scaled['noninferior'] else 'does not show'} that the candidate is no worse by more "
            "than the tolerance.",
        )
    return tuple(notes)


def _gain_of(question: PairsQuestion, have: int) -> Answer:
    found = smallest_gain(
        have,
        discordant=question.discordant,
        tolerance=question.tolerance,
        power=question.power,
        z=question.z,
    )
    told = question.told | {"have": have}
    del told["gain"]
    following = f"voirdire plan pairs --gain GAIN --discordant {question.discordant:g}"
    if isinstance(found, Undefined):
        return Answer((f"{found.reason}.",), (), (), following, told | {"smallest_gain": None})
    return Answer(
        words=(
            f"Your {counted(have, 'pair')} can show only candidates whose true gain is at least "
            f"{points(found)} to be no loss beyond {points(question.tolerance)}, in "
            f"{percent(question.power)} of comparisons, if {percent(question.discordant)} of the pairs "
            "differ.",
        ),
        head=(),
        rows=(),
        following=following,
        data=told | {"smallest_gain": found},
    )


def half_width_answer(rate: float, half: float, *, confidence: float, have: int | None) -> Answer:
    """Cases for an interval this short; or, with `have`, how short the interval of those at hand is.

    Raises:
        ValueError: for a rate or half-width outside its range, or no case.
    """
    z = z_value(confidence)
    n = n_for_half_width(rate, half, z=z) if have is None else have
    widths = half_widths(rate, n, z=z)
    if isinstance(widths, Undefined):
        raise ValueError("have is 0; give at least one case")
    data = SCHEMA | {
        "plan": "half-width",
        "rate": rate,
        "confidence": confidence,
        "half_width": half if have is None else None,
        "have": have,
        "n": n,
        "normal": widths.normal,
        "wilson": widths.wilson,
    }
    level = percent(confidence)
    words = (
        f"{n:,} cases give a rate near {percent(rate)} a {level} interval of {points(half)} to each side."
        if have is None
        else f"Your {counted(n, 'case')} give a rate near {percent(rate)} a {level} interval of "
        f"{points(widths.wilson)} to each side."
    )
    return Answer(
        words=(words,),
        head=("", ""),
        rows=(
            ("normal interval (plans)", f"{fixed(100 * widths.normal, 2)} points"),
            ("Wilson interval (reports), half its length", f"{fixed(100 * widths.wilson, 2)} points"),
        ),
        following="voirdire plan failures --limit LIMIT  (a gate asks for one end only)",
        data=data,
        notes=("Half the width takes four times the cases.",),
    )


@dataclass(frozen=True, slots=True)
class RepeatsQuestion:
    """What `plan repeats` is asked."""

    mean: float
    between: float
    budget: int
    fixture_cost: int
    designs: tuple[tuple[int, int], ...]
    """Further (tasks, runs) to compare."""


def repeats_answer(question: RepeatsQuestion) -> Answer:
    """How a budget of runs is best split between tasks and runs of each.

    Raises:
        ValueError: for variances that no success rate has, or a budget below one task with one run.
    """
    within = within_variance(mean=question.mean, between=question.between)
    plan = optimal_repeats(
        between=question.between, within=within, budget=question.budget, fixture_cost=question.fixture_cost
    )
    designs = dict.fromkeys([(plan.tasks, plan.runs), *question.designs])
    errors = {
        (tasks, runs): design_error(between=question.between, within=within, tasks=tasks, runs=runs)
        for tasks, runs in designs
    }
    return Answer(
        words=_repeats_words(question, plan),
        head=("tasks x runs", "standard error", "costs in runs"),
        rows=tuple(
            (
                f"{tasks:,} x {runs:,}",
                fixed(error.standard_error, 4),
                f"{tasks * (runs + question.fixture_cost):,}",
            )
            for (tasks, runs), error in errors.items()
        ),
        following="voirdire plan half-width --rate RATE --half-width POINTS",
        data=_repeats_object(question, plan, errors) | {"within": within},
        notes=("Repeats describe these tasks better; only new tasks describe tasks to come.",),
    )


def _repeats_words(question: RepeatsQuestion, plan: RepeatPlan) -> tuple[str, ...]:
    ratio = plan.variance_ratio
    beyond = (
        "Tasks do not differ: only the number of runs counts."
        if isinstance(ratio, Undefined)
        else f"Runs vary {ratio:.3g} times as much as tasks do: beyond {ratio:.3g} runs a task, new tasks "
        "are what shortens the interval."
    )
    return (
        f"Take {counted(plan.tasks, 'task')} and run each {_times(plan.runs)}: of all designs that "
        f"{question.budget:,} runs pay for, the mean success then has the smallest standard error.",
        beyond,
    )


def _repeats_object(
    question: RepeatsQuestion, plan: RepeatPlan, errors: Mapping[tuple[int, int], DesignError]
) -> dict[str, Any]:
    return SCHEMA | {
        "plan": "repeats",
        "mean": question.mean,
        "between": question.between,
        "ratio": None if isinstance(plan.variance_ratio, Undefined) else plan.variance_ratio,
        "budget": question.budget,
        "fixture_cost": question.fixture_cost,
        "tasks": plan.tasks,
        "runs": plan.runs,
        "variance": plan.variance,
        "designs": [
            {"tasks": t, "runs": r, "variance": e.variance, "standard_error": e.standard_error}
            for (t, r), e in errors.items()
        ],
    }


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")
