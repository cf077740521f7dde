"""The metrics chapter's sections 2, 3, 9.3 and 10; where its print is wrong, the values of its own code."""

from __future__ import annotations

import math

import pytest

from calibration.rendering.numbers import NNBSP, rate_text
from calibration.statistics.clusters import cluster_wilson
from calibration.statistics.costs import TokenPrices, cost_per_accepted, run_cost
from calibration.statistics.error_rates import resolution_bounds
from calibration.statistics.multiplicity import bonferroni
from calibration.statistics.paired import PairedTable, mcnemar_chi_square, mcnemar_exact
from calibration.statistics.paired_bootstrap import paired_bootstrap_exact
from calibration.statistics.proportions import wald_interval, wilson_interval
from calibration.statistics.repeats import pass_at_k, pass_hat_k, repeat_power
from calibration.statistics.sample_size import n_two_arm
from calibration.statistics.summaries import TaskSummary, percentile, task_summary, weighted_score
from calibration.values import Undefined

PRICES = TokenPrices(per_million_in=3, per_million_out=15)
Z = 1.96


# -- section 2: metrics


def test_section_2_1_success_is_a_rate_with_an_interval() -> None:
    """34 of 50 is 68 %, Wilson [54, 79]."""
    assert resolution_bounds(34, 16, 0).low == pytest.approx(0.68)
    found = wilson_interval(34, 50)
    assert rate_text(34, 50, lower=found.lower, upper=found.upper).text == f"34/50 68{NNBSP}% [54, 79]"


def test_section_2_2_partial_credit() -> None:
    """.5 + .3 of the three checks hold: .8, where a required e-mail makes it a failure."""
    assert weighted_score([0.5, 0.3, 0.2], [True, True, False]) == pytest.approx(0.8)


def test_section_2_5_cost() -> None:
    """.04 · $3 + .006 · $15 = $.21 a run; at 68 % success $.31 a solved task."""
    spent = run_cost(PRICES, tokens_in=40_000, tokens_out=6_000)
    assert spent == pytest.approx(0.21)
    solved = cost_per_accepted(spent, 0.68)
    assert not isinstance(solved, Undefined)
    assert round(solved, 2) == 0.31


def test_section_2_7_two_conventions_of_repetition() -> None:
    """4 of 8 runs: pass@1 .5, pass@4 1 - 1/70 = .986, pass^4 1/70 = .014; .9^5 = .59; .95^10 = .60."""
    assert pass_at_k(8, 4, 1) == 0.5
    assert pass_at_k(8, 4, 4) == pytest.approx(69 / 70)
    assert pass_hat_k(8, 4, 4) == pytest.approx(1 / 70)
    assert round(repeat_power(0.9, 5).all_pass, 2) == 0.59
    assert round(repeat_power(0.95, 10).all_pass, 2) == 0.60


def test_section_2_8_variance() -> None:
    """70 of 100: ±.090, [.61, .79]; 74 of 100 lies inside."""
    found = wald_interval(70, 100, z=Z)
    assert not isinstance(found, Undefined)
    assert round(found.half_width, 2) == 0.09
    assert (round(found.lower, 2), round(found.upper, 2)) == (0.61, 0.79)
    assert found.lower < 0.74 < found.upper


def test_section_2_12_macro_and_micro() -> None:
    """Nine easy runs of one task and one hard run of another: micro .9, macro .5."""
    found = task_summary([[True] * 9, [False]], ks=[1])
    assert isinstance(found, TaskSummary)
    assert (found.micro_success, found.macro_success) == (0.9, 0.5)


# -- section 3: statistics


def test_section_3_1_wald_leaves_the_unit_interval() -> None:
    """38 of 40: Wald ends above 1, Wilson does not; 72 of 100 is written 72 % [63, 80]."""
    wald, wilson = wald_interval(38, 40, z=Z), wilson_interval(38, 40, z=Z)
    assert not isinstance(wald, Undefined)
    assert wald.upper > 1 > wilson.upper
    found = wilson_interval(72, 100)
    words = rate_text(72, 100, lower=found.lower, upper=found.upper)
    assert words.text == f"72/100 72{NNBSP}% [63, 80]"


def test_section_3_1_trials_of_a_task_are_not_independent() -> None:
    """20 tasks run 5 times, each all or nothing: as 100 independent runs the interval is half as long."""
    honest = cluster_wilson([5] * 12 + [0] * 8, [5] * 20)
    pooled = wilson_interval(60, 100)
    assert honest.n_effective == pytest.approx(20)
    assert pooled.upper - pooled.lower < 0.5 * (honest.interval.upper - honest.interval.lower)


def test_section_3_2_mcnemar() -> None:
    """22 fixes against 8 regressions of 200: (14 - 1)²/30 = 5.63, p .018 (exact .016), +7 points."""
    found = mcnemar_chi_square(8, 22)
    assert not isinstance(found, Undefined)
    assert found.statistic == pytest.approx(13**2 / 30)
    assert round(found.p_value, 3) == 0.018
    assert round(mcnemar_exact(8, 22), 3) == 0.016
    assert PairedTable(100, 8, 22, 70).difference == pytest.approx(0.07)


def test_section_3_4_small_benchmarks_resolve_little() -> None:
    """50 tasks at 50 %: ±13 points; telling 3 points apart takes thousands, not 165."""
    found = wilson_interval(25, 50, z=Z)
    assert round(50 * (found.upper - found.lower)) == 13
    assert n_two_arm(0.5, 0.03, power=0.8, z=Z) > 4_000


def test_section_3_5_twenty_prompts_are_twenty_tests() -> None:
    """The best of 20 has p .03; corrected for the 20 it shows nothing."""
    assert bonferroni([0.03] + [0.5] * 19)[0] == pytest.approx(0.6)


# -- section 9.3: two agents, five tasks, four runs each; the print is right

A = ([1, 1, 0, 1], [0, 0, 1, 0], [1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 1, 0])
B = ([1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1])
SLICES = {"exchange": (1, 3), "faq": (2,), "refund": (0, 4)}


def summary(tasks: tuple[list[int], ...], ks: tuple[int, ...] = (1, 2, 4)) -> TaskSummary:
    """The summary of tasks given as zeros and ones."""
    found = task_summary([[bool(run) for run in task] for task in tasks], ks=ks, z=Z)
    assert isinstance(found, TaskSummary)
    return found


def spend(base: int, tasks: int) -> list[float]:
    """The cost of each run: input grows by 2,000 tokens and output by 500 from run to run."""
    return [
        run_cost(PRICES, tokens_in=base + 2_000 * run, tokens_out=3_000 + 500 * run)
        for _ in range(tasks)
        for run in range(4)
    ]


def latencies(tasks: tuple[list[int], ...]) -> list[float]:
    """Seconds of each run: a failure takes 25 more, each later run 3 more."""
    return [10 + (0 if ok else 25) + 3 * run for task in tasks for run, ok in enumerate(task)]


@pytest.mark.parametrize(
    ("tasks", "macro", "at_2", "hat_2", "at_4", "hat_4"),
    [(A, 0.6, 0.8, 0.4, 1.0, 0.2), (B, 0.9, 1.0, 0.8, 1.0, 0.6)],
)
def test_section_9_success(
    tasks: tuple[list[int], ...], macro: float, at_2: float, hat_2: float, at_4: float, hat_4: float
) -> None:
    """Success .600 and .900; pass@k and pass^k as printed; any-pass 5 of 5 [.566, 1], another estimand."""
    found = summary(tasks)
    assert found.macro_success == pytest.approx(macro)
    assert [found.pass_at[k] for k in (1, 2, 4)] == pytest.approx([macro, at_2, at_4])
    assert [found.pass_hat[k] for k in (1, 2, 4)] == pytest.approx([macro, hat_2, hat_4])
    assert (found.any_pass.x, found.any_pass.n) == (5, 5)
    assert round(found.any_pass.interval.lower, 3) == 0.566


@pytest.mark.parametrize(
    ("tasks", "base", "cost", "p95"), [(A, 20_000, 0.20875, 44.0), (B, 34_000, 3.345 / 18, 38.15)]
)
def test_section_9_cost_and_latency(tasks: tuple[list[int], ...], base: int, cost: float, p95: float) -> None:
    """$.2088 and $.1858 a solved run, though B spends more a run; p95 44.0 s and 38.2 s."""
    solved = cost_per_accepted(math.fsum(spend(base, 5)), sum(map(sum, tasks)))
    assert not isinstance(solved, Undefined)
    assert solved == pytest.approx(cost)
    assert percentile(latencies(tasks), 0.95) == pytest.approx(p95)


def test_section_9_a_run_of_b_costs_more() -> None:
    """14,000 input tokens at $3 a million: $.042 in every run, so the interval has no width."""
    gaps = {round(b - a, 10) for a, b in zip(spend(20_000, 5), spend(34_000, 5), strict=True)}
    assert gaps == {0.042}


def test_section_9_mcnemar_and_the_bootstrap_ask_different_things() -> None:
    """Two tasks flip: p .5; over graded rates +30 points [15, 45], exact bootstrap p 2/3125 = .00064."""
    solved = [[sum(task) >= 2 for task in tasks] for tasks in (A, B)]
    only_a = sum(a and not b for a, b in zip(*solved, strict=True))
    only_b = sum(b and not a for a, b in zip(*solved, strict=True))
    assert (only_a, only_b) == (0, 2)
    assert mcnemar_exact(only_a, only_b) == 0.5
    chi = mcnemar_chi_square(only_a, only_b)
    assert not isinstance(chi, Undefined)
    assert chi.statistic == 0.5
    found = paired_bootstrap_exact([(sum(b) - sum(a)) / 4 for a, b in zip(A, B, strict=True)])
    assert not isinstance(found, Undefined)
    assert found.difference == pytest.approx(0.30)
    assert found.p_value == pytest.approx(2 / 3125)
    assert (found.lower, found.upper) == pytest.approx((0.15, 0.45))


def test_section_9_slices_say_where_the_gain_lives() -> None:
    """Exchange .25 to .75, refund .75 to 1, faq unchanged at 1."""
    found = {
        name: tuple(summary(tuple(tasks[i] for i in places), ks=(1,)).macro_success for tasks in (A, B))
        for name, places in SLICES.items()
    }
    assert found == {"exchange": (0.25, 0.75), "faq": (1.0, 1.0), "refund": (0.75, 1.0)}


# -- section 10: the print does not come from the code above it; these are the code's values

# success, input tokens, output tokens, steps, seconds
LOGS = {
    "t1": [
        (1, 40_000, 6_000, 5, 18.2),
        (1, 41_000, 5_800, 5, 19.0),
        (0, 52_000, 9_000, 12, 41.7),
        (1, 39_000, 6_100, 6, 17.9),
    ],
    "t2": [
        (0, 30_000, 4_000, 8, 22.1),
        (0, 33_000, 4_200, 9, 24.5),
        (1, 28_000, 3_800, 4, 12.3),
        (0, 35_000, 5_000, 11, 30.0),
    ],
    "t3": [
        (1, 20_000, 3_000, 3, 9.8),
        (1, 21_000, 3_100, 3, 10.1),
        (1, 20_500, 2_900, 3, 9.6),
        (1, 22_000, 3_200, 4, 11.0),
    ],
}
RUNS = [run for task in LOGS.values() for run in task]
GOOD = [run for run in RUNS if run[0]]


def test_section_10_success() -> None:
    """8 of 12, so .667 and not .750; pass@2 .833 and not .875; pass^2 .5, pass^4 .333 and not .583, .250."""
    found = summary(tuple([run[0] for run in task] for task in LOGS.values()))
    assert found.macro_success == pytest.approx(2 / 3)
    assert found.pass_at[2] == pytest.approx((1 + 0.5 + 1) / 3)
    assert found.pass_hat[2] == pytest.approx((0.5 + 0 + 1) / 3)
    assert (found.pass_at[4], found.pass_hat[4]) == pytest.approx((1, 1 / 3))
    assert round(found.any_pass.interval.lower, 3) == 0.438  # printed .439


def test_section_10_steps_tokens_and_cost_of_solved_runs() -> None:
    """33 steps and 265,400 tokens in 8 solved runs: 4.125 and 33,175; $1.986 in all, $.2482 a solved run."""
    assert sum(steps for *_, steps, _ in GOOD) / len(GOOD) == pytest.approx(4.125)
    assert sum(tokens_in + tokens_out for _, tokens_in, tokens_out, *_ in GOOD) / len(GOOD) == 33_175
    total = math.fsum(run_cost(PRICES, tokens_in=i, tokens_out=o) for _, i, o, *_ in RUNS)
    assert total == pytest.approx(1.986)
    solved = cost_per_accepted(total, len(GOOD))
    assert solved == pytest.approx(0.24825)


def test_section_10_latency() -> None:
    """Its p95 is the largest of twelve, 41.7 s; with interpolation 30 + .45 · 11.7 = 35.3 s."""
    seconds = [run[-1] for run in RUNS]
    assert max(seconds) == 41.7
    assert percentile(seconds, 0.95) == pytest.approx(30 + 0.45 * 11.7)
