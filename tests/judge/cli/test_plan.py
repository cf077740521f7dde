"""`voirdire plan`: the acceptance numbers, in words and as JSON, forwards and in reverse; what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from judge.cli.answers import chance, money, percent, table_lines
from tests.command_line import run, spawn


def found(*args: str) -> dict[str, Any]:
    """The JSON of a plan."""
    result = run("plan", *args, "--json")
    assert result.exit_code == 0, result.stderr
    answer: dict[str, Any] = json.loads(result.stdout)
    assert answer["schema"] == "voirdire.plan/1"
    assert answer["plan"] == args[0]
    return answer


def told(*args: str) -> str:
    """The words of a plan, blanks run together; the last line says what is next."""
    result = run("plan", *args)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.rstrip().splitlines()[-1].startswith("Next: ")
    return " ".join(result.stdout.split())


# -- failures


def test_failures_at_two_percent() -> None:
    """99 failures at FAR 2 % and power .9: stable, with 84 as the first; 4 accepted still pass."""
    asked = ("failures", "--limit", "0.10", "--true-far", "0.02", "--power", "0.9")
    plan = found(*asked)
    assert (plan["failures"], plan["stable"], plan["first"], plan["clean"]) == (99, 99, 84, 35)
    assert plan["most_accepted"] == 4
    assert plan["p_admit"]["method"] == "exact"
    assert plan["p_admit"]["probability"] >= 0.9
    assert plan["p_admit_at_limit"]["probability"] < 0.0265
    words = told(*asked)
    assert "Label 99 failing answers, one from each prompt." in words
    assert "no larger number falls below 90 %" in words
    assert "84 reach 90 % too, but some numbers between 84 and 99 miss it: plan with 99." in words


def test_failures_at_five_percent() -> None:
    """254 failures at FAR 5 % and power .8."""
    plan = found("failures", "--true-far", "0.05", "--power", "0.8")
    assert (plan["failures"], plan["first"], plan["limit"]) == (254, 217, 0.1)


def test_failures_in_reverse() -> None:
    """60 failures admit judges up to 1.4 %; 20 admit nobody, and 15 more are needed."""
    plan = found("failures", "--have", "60")
    assert round(100 * plan["largest_true_far"], 1) == 1.4
    words = told("failures", "--have", "60")
    assert "Your 60 failures can admit only judges with a true FAR of at most 1.4 %" in words
    assert "in 80 % of calibrations" in words
    few = found("failures", "--have", "20")
    assert (few["largest_true_far"], few["clean"]) == (None, 35)
    assert "Label 15 more at least" in told("failures", "--have", "20")


def test_failures_become_labels_and_money() -> None:
    """99 failures at 20 % prevalence and 10 % unresolved: 545 answers, 1,090 labels, $1,635."""
    asked = ("failures", "--true-far", "0.02", "--power", "0.9", "--prevalence", "0.2")
    plan = found(*asked, "--cost-per-label", "1.5")
    assert (plan["cases"], plan["labels"], plan["cost"]) == (545, 1090, 1635)
    words = told(*asked, "--cost-per-label", "1.5")
    assert "draw 545 at random" in words
    assert "1,090 labels by 2 raters for $1,635, at $1.50 a label" in words
    assert "Next: voirdire set draw NAME --dataset DATASET --n 545 --one-per-cluster" in words
    single = found(*asked, "--raters", "1", "--unresolved", "0")
    assert (single["cases"], single["labels"], single["cost"]) == (495, 495, None)
    assert "495 labels by 1 rater." in told(*asked, "--raters", "1", "--unresolved", "0")


def test_failures_in_clusters() -> None:
    """Five answers a prompt: whole prompts, simulated with its error and seed, repeatable."""
    asked = ("failures", "--per-cluster", "5", "--power", "0.5", "--seed", "3")
    plan = found(*asked)
    assert plan["clean"] == 77
    assert plan["failures"] == 5 * plan["clusters"]
    assert plan["most_accepted"] is None
    assert plan["p_admit"]["method"] == "simulated"
    assert plan["p_admit"]["lower"] < plan["p_admit"]["probability"] < plan["p_admit"]["upper"]
    assert plan == found(*asked)
    words = told(*asked)
    assert f"5 from each of {plan['clusters']} prompts" in words
    assert "±" in words
    assert "seed 3" in words


def test_few_prompts_are_said_to_be_few() -> None:
    """A plan with fewer prompts than the acceptance policy wants says so."""
    words = told("failures", "--per-cluster", "10", "--true-far", "0", "--power", "0.5")
    assert "The policy acceptance wants 20 prompts with a failing answer at least." in words


def test_clusters_in_reverse() -> None:
    """150 failures in fives: simulated; 60 in fives admit nobody."""
    words = told("failures", "--have", "150", "--per-cluster", "5")
    assert "Simulated with seed 0" in words
    assert "needs 77" in told("failures", "--have", "60", "--per-cluster", "5")


def test_looks_are_planned_for() -> None:
    """Three looks of a policy: 52 clean failures, each look at 98.33 %."""
    plan = found("failures", "--looks", "3")
    assert plan["clean"] == 52
    assert plan["z"] == pytest.approx(2.393980, abs=1e-6)
    assert "Each of 3 looks is at 98.33 %" in told("failures", "--looks", "3")


def test_no_plan_is_said_with_its_reason() -> None:
    """A judge at the limit is never admitted often enough."""
    assert found("failures", "--true-far", "0.1")["failures"] is None
    assert "No plan: the true FAR is not below the limit" in told("failures", "--true-far", "0.1")


# -- looks


def test_looks() -> None:
    """150 failures: one look .014, three that share .007, three that do not .033."""
    plan = found("looks", "--looks", "3", "--failures", "150")
    assert [round(way["p_admit_at_limit"], 3) for way in plan["ways"]] == [0.014, 0.007, 0.033]
    assert [way["clean"] for way in plan["ways"]] == [35, 52, 35]
    words = told("looks", "--looks", "3", "--failures", "150")
    assert "needs 52 failing answers where one look needs 35" in words
    assert "without sharing admits a judge at the limit in 3.3 % of calibrations, one look in 1.4 %" in words


def test_one_look_and_no_plan_of_looks() -> None:
    """One look is one row; a judge at the limit has no number."""
    assert "One look at 84 failing answers" in told("looks", "--looks", "1")
    assert found("looks", "--true-far", "0.1")["ways"] is None
    assert "No plan" in told("looks", "--true-far", "0.1")
    assert found("looks", "--true-far", "0.1", "--failures", "99")["ways"][0]["stable"] is None


# -- pairs, half-width, repeats


def test_pairs() -> None:
    """433 for a gain of 4 points, 580 at power .9; the first run's interval and its 217 beside it."""
    plan = found("pairs", "--gain", "0.04", "--first-run", "70,12,18,50", "--rate", "0.5")
    assert plan["pairs"] == 433
    assert plan["discordant"] == 0.2
    assert plan["first_run"]["pairs_ceil"] == 217
    assert [round(100 * plan["first_run"][end], 2) for end in ("lower", "upper")] == [-3.21, 11.12]
    assert plan["first_run"]["noninferior"] is False
    assert plan["per_arm"] == pytest.approx(2 * 2.801585**2 * 0.25 / 0.06**2, abs=0.01)
    assert found("pairs", "--gain", "0.04", "--power", "0.9")["pairs"] == 580
    words = told("pairs", "--gain", "0.04", "--cost-per-pair", "0.5")
    assert "Run 433 items under both, for $216.50." in words


def test_pairs_in_reverse() -> None:
    """433 pairs show a gain of 4 points; 10 show nothing."""
    assert found("pairs", "--have", "433")["smallest_gain"] == pytest.approx(0.04, abs=1e-4)
    assert "at least 4 points" in told("pairs", "--have", "433")
    assert found("pairs", "--have", "10")["smallest_gain"] is None
    assert "10 pairs are too few" in told("pairs", "--have", "10")


def test_half_width() -> None:
    """2,401 cases for 2 points at 50 %; 100 cases reach 9.8 points, Wilson 9.6."""
    assert found("half-width", "--rate", "0.5", "--half-width", "0.02")["n"] == 2401
    have = found("half-width", "--have", "100")
    assert (round(100 * have["normal"], 1), round(100 * have["wilson"], 1)) == (9.8, 9.6)
    assert "Your 100 cases give a rate near 50 % a 95 % interval of 9.6 points" in told(
        "half-width", "--have", "100"
    )


def test_repeats() -> None:
    """The design of exercise 1, compared with others; one run, two runs; tasks that do not differ."""
    plan = found("repeats", "--mean", "0.6", "--between", "0.08", "--budget", "600", "--fixture-cost", "10")
    assert (plan["tasks"], plan["runs"], plan["ratio"]) == (40, 5, pytest.approx(2))
    assert "run each once" in told("repeats", "--mean", "0.6", "--between", "0.08", "--budget", "600")
    twice = ("repeats", "--mean", "0.6", "--between", "0.08", "--budget", "600", "--fixture-cost", "2")
    assert "run each twice" in told(*twice)
    same = ("repeats", "--mean", "0.6", "--between", "0", "--budget", "60", "--design", "60x1")
    assert "Tasks do not differ" in told(*same)
    assert found(*same)["ratio"] is None


# -- limit


def test_limit() -> None:
    """Five sessions at 90 %, 85 % right, $4 a handoff: FAR at most .139, $.687 a session."""
    asked = ("limit", "--sessions", "5", "--hold", "0.90", "--pass-rate", "0.85", "--handoff-cost", "4")
    plan = found(*asked)
    assert round(plan["max_far"], 3) == plan["limit"] == 0.139
    assert round(plan["handoff_cost_at_max_far"], 3) == 0.687
    assert "wrong_delivered" not in plan
    words = told(*asked)
    assert "a limit on FAR of 0.139" in words
    assert "$0.687" in words
    assert "Next: voirdire plan failures --limit 0.139" in words


def test_limit_of_a_judge_at_hand() -> None:
    """FAR .20 is not enough (.859), FAR .10 is."""
    asked = ("limit", "--sessions", "5", "--pass-rate", "0.85", "--handoff-cost", "4")
    bad = found(*asked, "--far", "0.2")
    assert bad["no_wrong_in_sessions"] == pytest.approx(0.97**5)
    assert (bad["handoff_rate"], bad["handoff_cost_per_session"]) == pytest.approx((0.1625, 0.65))
    assert "FAR 20 % is not enough" in told(*asked, "--far", "0.2")
    assert "FAR 10 % is enough" in told(*asked, "--far", "0.1")


def test_limits_at_the_ends() -> None:
    """Where answers are right often enough no limit follows; a small limit keeps three digits."""
    easy = ("limit", "--sessions", "1", "--pass-rate", "0.95")
    assert "No limit follows" in told(*easy)
    assert found(*easy)["max_far"] == 1
    assert found("limit", "--sessions", "1", "--pass-rate", "1")["max_far"] == 1
    assert "any judge keeps to it" in told("limit", "--sessions", "1", "--pass-rate", "1")
    strict = found("limit", "--sessions", "1000", "--hold", "0.9", "--pass-rate", "0.5")
    assert strict["limit"] == 0.00021
    assert strict["limit"] <= strict["max_far"] < 0.00022


def test_limit_from_a_loss() -> None:
    """60 clean cases leave $722 open against $20; 2,302 would do; with those the approval no longer pays."""
    asked = ("limit", "--loss", "12000", "--approval", "20")
    plan = found(*asked, "--clean", "60")
    assert (plan["n_needed"], round(plan["expected_loss"])) == (2302, 722)
    assert "keep the approval" in told(*asked, "--clean", "60")
    assert "below the price of the approval" in told(*asked, "--clean", "2302")


# -- what it refuses

TASKS = ("repeats", "--mean", "0.5")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("failures", "--limit", "10"), "10 does not lie strictly between 0 and 1; 0.10 means 10 %"),
        (("failures", "--limit", "nan"), "does not lie strictly between 0 and 1"),
        (("failures", "--true-far", "-0.1"), "-0.1 is not a share between 0 and 1"),
        (("failures", "--power", "1"), "1 does not lie strictly"),
        (("failures", "--prevalence", "0"), "no draw holds a failure"),
        (("failures", "--have", "61", "--per-cluster", "5"), "61 is no multiple of --per-cluster 5"),
        (("failures", "--have", "60", "--prevalence", "0.2"), "--have says what is at hand"),
        (("failures", "--have", "60", "--cost-per-label", "2"), "leave one of them out"),
        (("failures", "--cost-per-label", "-1"), "-1 is not an amount of money"),
        (("failures", "--looks", "0"), "--looks"),
        (("looks", "--looks", "3", "--failures", "2"), "looks is 3, more than there are failures"),
        (("pairs", "--gain", "0.3"), "pairs that differ make the gain 0.3"),
        (("pairs", "--gain", "-0.05"), "gain + tolerance is"),
        (("pairs", "--first-run", "70,12,18"), "'70,12,18' is not four counts"),
        (("pairs", "--first-run", "0,0,0,0"), "the first run holds no pair"),
        (("half-width", "--half-width", "0"), "0 does not lie strictly"),
        ((*TASKS, "--between", "0.3", "--budget", "60"), "tasks with mean 0.5 vary by at most"),
        ((*TASKS, "--between", "0.1", "--budget", "5", "--fixture-cost", "9"), "budget is 5"),
        ((*TASKS, "--between", "0.1", "--budget", "60", "--design", "x"), "'x' is not TASKSxRUNS"),
        (("limit",), "give --sessions and --pass-rate, or --loss and --approval"),
        (("limit", "--sessions", "5"), "give --sessions and --pass-rate"),
        (("limit", "--sessions", "5", "--pass-rate", "0.9", "--loss", "5"), "or --loss and --approval"),
        (("limit", "--loss", "0", "--approval", "5"), "loss is 0"),
    ],
)  # fmt: skip
def test_what_it_refuses(args: tuple[str, ...], said: str) -> None:
    """A number that no plan has is a usage error in one sentence: what was given and what is allowed."""
    result = run("plan", *args)
    assert result.exit_code == 64
    assert said in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_usage_errors_are_json_where_json_was_asked_for() -> None:
    """--json with a wrong number prints one object with the exit code."""
    result = run("plan", "pairs", "--gain", "0.3", "--json")
    assert json.loads(result.stdout)["exit"] == 64


def test_words_for_a_terminal_that_knows_ascii_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of its own with an ASCII terminal: no question mark, no crash."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = spawn("plan", "pairs", "--gain", "0.04", "--first-run", "70,12,18,50")
    assert done.returncode == 0
    assert b"[-3.21, 11.12]" in done.stdout


# -- the numbers in words


def test_numbers_in_words() -> None:
    """Chances keep a digit and never claim certainty; money keeps cents; shares are as they were written."""
    shown = [chance(p) for p in (0, 1, 0.5, 0.0139, 0.0004, 0.00001, 0.99999)]
    assert shown == ["0 %", "100 %", "50.0 %", "1.4 %", "0.04 %", "<0.01 %", ">99.9 %"]
    assert [money(a) for a in (0.687, 0.65, 20, 722.0618, 12_000)] == [
        "$0.687",
        "$0.65",
        "$20.00",
        "$722.06",
        "$12,000",
    ]
    assert [percent(s) for s in (0.1, 0.139, 0.005, 1)] == ["10 %", "13.9 %", "0.5 %", "100 %"]


def test_tables_in_words() -> None:
    """The first column to the left, the rest to the right; a heading may be longer than its column."""
    lines = list(table_lines(("", "n"), (("a long heading", ""), ("one", "10"), ("three", "7"))))
    assert lines == ["        n", "a long heading", "one    10", "three   7"]
    assert list(table_lines(("", ""), (("one", "10"),))) == ["one  10"]
