"""Every figure that a policy item carries: what was found, of how many, between which ends, against what."""

from __future__ import annotations

import re
from typing import Any

import pytest

from calibration.admission import decide
from calibration.evidence import AdmissionDecision, ItemStatus, PolicyItem
from calibration.policy import AdmissionPolicy, SeverityLimit, far_only, shipped_policy
from calibration.report import build_report
from calibration.report.supplement import AnswerTable, Supplement
from calibration.statistics.multiplicity import holm
from calibration.statistics.proportions import wilson_interval
from tests.calibration.admission.test_decide import CLEAN, under
from tests.calibration.examples import SCOPE, make_cases, make_report

TEN = far_only(0.10)
ACCEPTANCE = shipped_policy("acceptance")
PASSES = {"accept": 114, "reject": 6}


def item(decision: AdmissionDecision, name: str) -> PolicyItem:
    """The policy item of a name."""
    return next(i for i in decision.items if i.name == name)


def figures(found: PolicyItem) -> dict[str, Any]:
    """What an item says, its words left out."""
    said = found.model_dump(mode="json")
    return {key: said[key] for key in ("status", "value", "limit", "comparison", "x", "n", "lower", "upper")}


@pytest.mark.parametrize(
    ("fail", "status", "x", "n"),
    [
        ({"accept": 16, "reject": 64}, "fail", 16, 80),
        ({"reject": 50}, "pass", 0, 50),
        # the worst case towards passing, the best towards failing: an open verdict is on either side of it
        ({"accept": 2, "reject": 28, "missing": 10}, "insufficient", 12, 40),
        ({"accept": 30, "reject": 30, "missing": 10}, "fail", 30, 70),
    ],
)
def test_the_gate_carries_the_end_that_decides(fail: dict[str, int], status: str, x: int, n: int) -> None:
    """A failing gate shows its best case and lower end, any other its worst case and upper end."""
    report = make_report({"fail": fail, "pass": PASSES}, TEN)
    gate = report.far_gate
    assert figures(item(decide(report, TEN), "far")) == {
        "status": status,
        "value": gate.lower if status == "fail" else gate.upper,
        "limit": 0.10,
        "comparison": "upper_at_most",
        "x": x,
        "n": n,
        "lower": gate.lower,
        "upper": gate.upper,
    }


def test_holm_adjusts_the_judges_own_p() -> None:
    """Beside a rival far better than itself the p that is told is that of the judge that is examined."""
    policy = ACCEPTANCE.model_copy(update={"looks": TEN.looks})
    own = make_report({"fail": {"accept": 2, "reject": 78}, "pass": PASSES}, policy)
    better = make_report({"fail": {"reject": 300}, "pass": PASSES}, policy)
    alone, rival = decide(own, policy).p_value, decide(better, policy).p_value
    assert alone is not None
    assert rival is not None
    expected = holm([alone, rival])[0]
    assert expected > 100 * holm([alone, rival])[1]
    detail = item(decide(own, policy, rivals=[better]), "far").detail
    told = re.fullmatch(r"Holm-adjusted p (\S+) among 2 judges, needed 0.025", detail)
    assert told is not None
    assert float(told[1]) == pytest.approx(expected, rel=5e-3)


def test_clusters_need_as_many_more_as_pass_the_gate() -> None:
    """4 of 100 in prompts of five, all four in one: so many clean prompts more pass, one fewer does not."""
    cases = make_cases({"fail": {"accept": 4, "reject": 96}, "pass": PASSES}, per_cluster=5)
    report = build_report(cases, scope=SCOPE, policy=TEN)
    assert report.far_gate.icc == pytest.approx(0.75)
    assert report.far_gate.n_effective == pytest.approx(100 / (1 + 4 * 0.75))
    needed = decide(report, TEN).more_failures_needed
    assert needed.clean is not None
    for more, status in ((needed.clean, ItemStatus.PASS), (needed.clean - 1, ItemStatus.INSUFFICIENT)):
        further = make_cases({"fail": {"reject": more}}, start=5000)
        widened = build_report([*cases, *further], scope=SCOPE, policy=TEN)
        assert item(decide(widened, TEN), "far").status is status


@pytest.mark.parametrize(
    ("accepted", "rejected", "expected"),
    [
        (0, 0, ("insufficient", None, 0, 0)),
        (0, 80, ("pass", wilson_interval(0, 80).upper, 0, 80)),
        (20, 60, ("fail", wilson_interval(20, 80).lower, 20, 80)),
    ],
)
def test_a_severity_level_carries_its_own_gate(
    accepted: int, rejected: int, expected: tuple[str, float | None, int, int]
) -> None:
    """A level has limit, counts and both ends of its own, also where no failure of it is there."""
    from dataclasses import replace

    policy = TEN.model_copy(update={"severities": {"severe": SeverityLimit(upper_at_most=0.05)}})
    severe = make_cases({"fail": {"accept": accepted, "reject": rejected}}, start=1000)
    cases = [
        *make_cases({"fail": {"reject": 90}, "pass": PASSES}),
        *(replace(c, severity="severe") for c in severe),
    ]
    found = figures(item(decide(build_report(cases, scope=SCOPE, policy=policy), policy), "severity:severe"))
    whole = wilson_interval(accepted, accepted + rejected)
    assert found == {
        "status": expected[0],
        "value": expected[1],
        "limit": 0.05,
        "comparison": "upper_at_most",
        "x": expected[2],
        "n": expected[3],
        "lower": pytest.approx(whole.lower),
        "upper": pytest.approx(whole.upper),
    }


def test_right_sides_are_counted_among_the_sides_that_were_picked() -> None:
    """Of pairs: 30 and 20 right sides, 6 and 4 wrong ones, ties of either left out."""
    answers = AnswerTable(("A", "B", "tie"), ((30, 6, 3, 0), (4, 20, 2, 0), (1, 1, 5, 0)), ordered=False)
    cases = make_cases({"fail": {"accept": 10, "reject": 55}})
    report = build_report(
        cases, scope=SCOPE, policy=TEN, supplement=Supplement(answers=answers, wrong_side=True)
    )
    expected = wilson_interval(50, 60)
    assert figures(item(decide(report, TEN), "informative")) == {
        "status": "pass",
        "value": expected.lower,
        "limit": 0.5,
        "comparison": "lower_above",
        "x": 50,
        "n": 60,
        "lower": expected.lower,
        "upper": expected.upper,
    }


def guarded(counts: dict[str, dict[str, int]], policy: AdmissionPolicy = ACCEPTANCE) -> AdmissionDecision:
    """The decision of the acceptance policy where two blind raters agree."""
    return under(policy, counts)


def test_agreement_of_raters_carries_both_ends() -> None:
    """The kappa between raters, or its interval on raw agreement where they agree throughout."""
    found = item(guarded(CLEAN), "rater_kappa")
    assert found.lower is not None
    assert found.upper == 1.0
    assert found.lower < 1.0


def test_the_highest_far_is_not_asked_without_a_failure() -> None:
    """No reference failure: the item says so instead of comparing nothing."""
    found = item(guarded({"pass": {"accept": 70}}), "far_high_bound")
    assert (found.status, found.value) == (ItemStatus.INSUFFICIENT, None)
    assert found.detail == "no item has a reference failure"


def test_looks_are_counted_against_what_is_allowed() -> None:
    """The third of three looks holds, the fourth does not."""
    for used, status in ((3, ItemStatus.PASS), (4, ItemStatus.INSUFFICIENT)):
        found = item(under(ACCEPTANCE, CLEAN, looks_used=used), "looks")
        assert (found.status, found.value, found.limit, found.comparison) == (
            status,
            used,
            3,
            "count_at_most",
        )
