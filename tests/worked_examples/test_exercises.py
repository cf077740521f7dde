"""Exercises 1 to 6 of the agent evaluation chapter, worked by the statistics that ship."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from calibration.statistics.agreement import cohens_kappa
from calibration.statistics.costs import (
    candidate_costs,
    clean_record_price,
    crossover_check_cost,
    judge_in_loop,
    smallest_cap,
)
from calibration.statistics.paired import (
    PairedTable,
    mcnemar_exact,
    newcombe_paired,
    noninferiority,
    paired_normal,
    pairing_gain,
)
from calibration.statistics.proportions import wald_interval, wilson_interval
from calibration.statistics.repeats import design_error, optimal_repeats, repeat_power, within_variance
from calibration.values import Interval, Undefined
from tests.command_line import run
from tests.tables import sixteen_of_eighty, write_csv

Z = 1.96
"""The chapter's quantile."""


# -- 1. new tasks or repeats


def test_exercise_1_runs_vary_twice_as_much_as_tasks() -> None:
    """(a) .6 · .4 - .08 = .16 within a task; beyond .16/.08 = 2 runs the task term is the larger."""
    within = within_variance(mean=0.6, between=0.08)
    assert within == pytest.approx(0.16)
    plan = optimal_repeats(between=0.08, within=within, budget=600, fixture_cost=0)
    assert plan.variance_ratio == pytest.approx(2)


def test_exercise_1_new_tasks_are_best_where_they_cost_nothing() -> None:
    """(b) Standard errors .0200, .0258 and .0327 for 600 x 1, 200 x 3 and 100 x 6: choose 600 x 1."""
    errors = [
        design_error(between=0.08, within=0.16, tasks=tasks, runs=runs).standard_error
        for tasks, runs in ((600, 1), (200, 3), (100, 6))
    ]
    # sqrt(.24/600), sqrt((.08 + .16/3)/200), sqrt((.08 + .16/6)/100)
    assert errors == pytest.approx([0.02, math.sqrt(0.4 / 600), math.sqrt(0.32 / 300)])
    assert [round(error, 4) for error in errors] == [0.02, 0.0258, 0.0327]
    free = optimal_repeats(between=0.08, within=0.16, budget=600, fixture_cost=0)
    assert (free.tasks, free.runs) == (600, 1)


def test_exercise_1_a_fixture_that_costs_ten_runs_makes_five_repeats_best() -> None:
    """(c) 40 tasks of 5 runs: .08/40 + .16/200 = .0028; neighbours and every other design are worse."""
    plan = optimal_repeats(between=0.08, within=0.16, budget=600, fixture_cost=10)
    assert (plan.tasks, plan.runs) == (40, 5)
    assert plan.variance == pytest.approx(0.0028)
    assert plan.continuous_optimum == pytest.approx(math.sqrt(20))
    tried = {
        runs: design_error(between=0.08, within=0.16, tasks=600 // (10 + runs), runs=runs).variance
        for runs in range(1, 591)
    }
    assert min(tried, key=lambda runs: tried[runs]) == 5


def test_exercise_1_from_the_command_line() -> None:
    """`plan repeats` chooses 40 x 5 and compares the three designs of (b)."""
    designs = [word for design in ("600x1", "200x3", "100x6") for word in ("--design", design)]
    asked = ("--mean", "0.6", "--between", "0.08", "--budget", "600", "--fixture-cost", "10")
    found = json.loads(run("plan", "repeats", *asked, *designs, "--json").stdout)
    assert (found["tasks"], found["runs"]) == (40, 5)
    assert [round(each["standard_error"], 4) for each in found["designs"]] == [0.0529, 0.02, 0.0258, 0.0327]


# -- 2. a clean record on the replica


def test_exercise_2_a_clean_record_is_no_proof() -> None:
    """(a) 0 of 60: Wald [0, 0], which no release may use; Wilson [0, 6.02 %]."""
    wald = wald_interval(0, 60, z=Z)
    assert not isinstance(wald, Undefined)
    assert (wald.lower, wald.upper) == (0, 0)
    wilson = wilson_interval(0, 60, z=Z)
    assert wilson.lower == 0
    assert wilson.upper == pytest.approx(Z * Z / (60 + Z * Z))
    assert round(100 * wilson.upper, 2) == 6.02


def test_exercise_2_the_approval_is_worth_its_price() -> None:
    """(b, c) $722 a task is not ruled out, against $20; 2,302 clean tasks would bring it below."""
    found = clean_record_price(60, z=Z, loss=12_000, approval=20)
    assert round(found.expected_loss) == 722
    assert found.n_needed == 2302
    assert wilson_interval(0, 2302, z=Z).upper * 12_000 < 20 <= wilson_interval(0, 2301, z=Z).upper * 12_000


def test_exercise_2_from_the_command_line() -> None:
    """`plan limit --loss` keeps the approval and names the clean cases that would change it."""
    result = run("plan", "limit", "--loss", "12000", "--approval", "20", "--clean", "60")
    assert "keep the approval" in result.stdout
    assert "2,302" in result.stdout


# -- 3. agreement is not accuracy


def test_exercise_3_the_judges_agree() -> None:
    """(a) 170 of 200; by chance (120·130 + 80·70)/200² = .53; kappa .32/.47 = .681."""
    found = cohens_kappa([[110, 10], [20, 60]])
    assert not isinstance(found, Undefined)
    assert (found.po, found.pe) == pytest.approx((0.85, 0.53))
    assert found.kappa == pytest.approx(0.32 / 0.47)


def test_exercise_3_judge_b_is_rejected(tmp_path: Path) -> None:
    """(b, c) FAR 16/80, [12.7, 30.0]; 16/130 of its acceptances fail; above 10 %: reject."""
    table = write_csv(tmp_path / "labels.csv", sixteen_of_eighty())
    result = run("check", str(table), "--far-limit", "0.10", "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    far, among = report["far"], report["failure_among_accepted"]
    assert (far["x"], far["n"]) == (16, 80)
    assert [round(100 * far[end], 1) for end in ("lower", "upper")] == [12.7, 30.0]
    assert (among["x"], among["n"], among["describes"]) == (16, 130, "calibration mix")
    assert [round(100 * among[end], 1) for end in ("lower", "upper")] == [7.7, 19.1]
    assert [round(100 * report["frr"][end], 1) for end in ("estimate", "lower", "upper")] == [5.0, 2.3, 10.5]
    assert report["decision"]["outcome"] == "reject"
    assert round(report["kappa"]["estimate"], 3) == 0.766


# -- 4. paired evidence for the offline gate

FOUR = PairedTable(both=120, only_baseline=6, only_candidate=16, neither=58)


def test_exercise_4_the_paired_interval_shows_a_gain() -> None:
    """(a) +5 points, 11 % differ; ±1.96 sqrt((.11 - .0025)/200): [.46, 9.54]; noninferior and superior."""
    found = paired_normal(6, 16, 200, z=Z)
    assert not isinstance(found, Undefined)
    assert (found.difference, found.discordant) == pytest.approx((0.05, 0.11))
    half = Z * math.sqrt((0.11 - 0.0025) / 200)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((0.05 - half, 0.05 + half))
    assert [round(100 * end, 2) for end in (found.interval.lower, found.interval.upper)] == [0.46, 9.54]
    shown = noninferiority(found.interval.lower, tolerance=0.02)
    assert shown.noninferior
    assert shown.superior


def test_exercise_4_method_10_says_the_same() -> None:
    """The score interval of the pairs: [.35, 9.63]."""
    found = newcombe_paired(FOUR, z=Z)
    assert not isinstance(found, Undefined)
    assert isinstance(found.interval, Interval)
    ends = (found.interval.lower, found.interval.upper)
    assert [round(100 * end, 2) for end in ends] == [0.35, 9.63]


def test_exercise_4_overlapping_intervals_would_have_held_it() -> None:
    """(b) [56.1, 69.4] and [61.2, 74.1] overlap, and the decision would have been lost."""
    baseline, candidate = wilson_interval(126, 200, z=Z), wilson_interval(136, 200, z=Z)
    ends = [baseline.lower, baseline.upper, candidate.lower, candidate.upper]
    assert [round(100 * end, 1) for end in ends] == [56.1, 69.4, 61.2, 74.1]
    assert candidate.lower < baseline.upper


def test_exercise_4_pairing_is_worth_four_times_the_tasks() -> None:
    """(c) (.63·.37 + .68·.32)/(.11 - .0025) = 4.19; 839 tasks an arm for the same precision."""
    found = pairing_gain(FOUR)
    assert not isinstance(found, Undefined)
    assert found.independent_over_paired == pytest.approx((0.63 * 0.37 + 0.68 * 0.32) / 0.1075)
    assert math.ceil(found.equivalent_n_per_arm) == 839


def test_exercise_4_the_exact_test_asks_another_question() -> None:
    """(d) Twice P(X <= 6 of 22 at 1/2) = .0525: just above .05, while the interval excludes 0."""
    by_hand = 2 * sum(math.comb(22, j) for j in range(7)) / 2**22
    assert mcnemar_exact(6, 16) == pytest.approx(by_hand)
    assert round(by_hand, 4) == 0.0525


# -- 5. choose the generator, not the cap


def test_exercise_5_cost_and_availability() -> None:
    """(a, b) A $.09/.3 = $.30, B $.16/.5 = $.32; at a cap of 4 .760 and .9375; A needs 7."""
    a = candidate_costs(p=0.3, generate=0.05, check=0.04, k=4)
    b = candidate_costs(p=0.5, generate=0.12, check=0.04, k=4)
    assert (a.sequential_per_accepted, b.sequential_per_accepted) == pytest.approx((0.30, 0.32))
    assert (a.availability, b.availability) == pytest.approx((1 - 0.7**4, 1 - 0.5**4))
    assert a.availability < 0.90 <= b.availability
    cap = smallest_cap(p=0.3, availability=0.90)
    assert cap.k == 7
    assert 1 - 0.7**6 < 0.90 <= cap.reached


def test_exercise_5_a_batch_of_seven_costs_twice_as_much() -> None:
    """(c) 7 · $.09/(1 - .7^7) = $.687, 2.1 times B."""
    batch = candidate_costs(p=0.3, generate=0.05, check=0.04, k=7).batch_per_accepted
    assert batch == pytest.approx(0.63 / (1 - 0.7**7))
    assert round(batch, 3) == 0.687
    assert round(batch / 0.32, 1) == 2.1


def test_exercise_5_a_dear_check_favours_the_better_generator() -> None:
    """(d) With a $.20 check A costs $.833 and B $.64; they tie at $.055 a check."""
    a = candidate_costs(p=0.3, generate=0.05, check=0.20, k=4).sequential_per_accepted
    b = candidate_costs(p=0.5, generate=0.12, check=0.20, k=4).sequential_per_accepted
    assert (a, b) == pytest.approx((0.25 / 0.3, 0.64))
    tie = crossover_check_cost(p_a=0.3, generate_a=0.05, p_b=0.5, generate_b=0.12)
    assert tie == pytest.approx(0.055)
    cost_a, cost_b = (0.05 + 0.055) / 0.3, (0.12 + 0.055) / 0.5
    assert cost_a == pytest.approx(cost_b)


# -- 6. the support agent's consistency


def test_exercise_6_five_sessions_in_a_row() -> None:
    """(a) .85^5 = .444; .9^(1/5) = .979 is needed, 7.19 times fewer failures; pass@3 .9966."""
    found = repeat_power(0.85, 5, target=0.9)
    assert found.all_pass == pytest.approx(0.85**5)
    assert round(found.all_pass, 3) == 0.444
    assert round(found.required_p, 3) == 0.979
    assert round(found.failure_cut, 2) == 7.19
    assert repeat_power(0.85, 3).any_pass == pytest.approx(1 - 0.15**3)


def test_exercise_6_the_judge_is_not_good_enough() -> None:
    """(b) .15 · .20 = .03 wrong; .85 · .05 + .15 · .80 = .1625 handed off, $.65; .97^5 = .859 < .90."""
    found = judge_in_loop(p_correct=0.85, far=0.20, frr=0.05, handoff_cost=4, sessions=5, target=0.9)
    assert found.wrong_delivered == pytest.approx(0.03)
    assert found.handoff_rate == pytest.approx(0.1625)
    assert found.handoff_cost == pytest.approx(0.65)
    assert found.no_wrong_in_sessions == pytest.approx(0.97**5)
    assert round(found.no_wrong_in_sessions, 3) == 0.859


def test_exercise_6_the_limit_that_the_consequence_implies() -> None:
    """(c) (1 - .9^(1/5))/.15 = .139; at that FAR a handoff costs $.687 a session."""
    found = judge_in_loop(p_correct=0.85, far=0.20, frr=0.05, handoff_cost=4, sessions=5, target=0.9)
    assert found.max_far == pytest.approx((1 - 0.9**0.2) / 0.15)
    assert round(found.max_far, 3) == 0.139
    assert round(found.handoff_cost_at_max_far, 3) == 0.687
    assert (1 - 0.15 * found.max_far) ** 5 == pytest.approx(0.9)


def test_exercise_6_from_the_command_line() -> None:
    """`plan limit` gives .139 and $.687, and finds FAR .20 not enough."""
    asked = ("--sessions", "5", "--hold", "0.90", "--pass-rate", "0.85", "--handoff-cost", "4")
    result = run("plan", "limit", *asked, "--far", "0.20")
    assert "0.139" in result.stdout
    assert "$0.687" in result.stdout
    assert "is not enough" in result.stdout
