"""Figures beyond the set: strata, groups of failures, the deployment, another prevalence, raters who err."""

from __future__ import annotations

from dataclasses import replace

import pytest

from calibration.admission import decide
from calibration.evidence import AdmissionOutcome, Case
from calibration.policy import far_only, shipped_policy
from calibration.report import build_report
from calibration.report.supplement import Deployment, Supplement
from calibration.statistics.gates import effective_counts, gate_p_value, gate_result
from calibration.statistics.proportions import GateResult, wilson_interval
from calibration.statistics.rater_error import RaterErrors
from tests.calibration.examples import SCOPE, make_cases

TEN = far_only(0.10)
EXERCISE_3 = {"fail": {"accept": 16, "reject": 64}, "pass": {"accept": 114, "reject": 6}}


def stratified() -> list[Case]:
    """Screened failures drawn at 1/2 (FAR 1/60) and screened passes at 1/10 (FAR 4/20)."""
    screened = make_cases({"fail": {"accept": 1, "reject": 59}, "pass": {"accept": 20}})
    rest = make_cases({"fail": {"accept": 4, "reject": 16}, "pass": {"accept": 60}}, start=1000)
    return [replace(c, stratum="fail", inclusion_probability=0.5) for c in screened] + [
        replace(c, stratum="pass", inclusion_probability=0.1) for c in rest
    ]


def test_a_stratified_set_is_re_weighted_by_its_failures() -> None:
    """120 and 200 failures in the population: weights 3/8 and 5/8; ends by MOVER, by hand."""
    gate = build_report(stratified(), scope=SCOPE, policy=TEN).far_gate
    shares, counts = (3 / 8, 5 / 8), ((1, 60), (4, 20))
    point = sum(w * x / n for w, (x, n) in zip(shares, counts, strict=True))
    reach = sum(
        (w * (wilson_interval(x, n).upper - x / n)) ** 2 for w, (x, n) in zip(shares, counts, strict=True)
    )
    assert gate.estimate == pytest.approx(point)
    assert gate.upper == pytest.approx(point + reach**0.5)
    assert gate.method == "mover of wilson"
    assert (gate.x, gate.n) == (5, 80)


def test_re_weighting_may_turn_the_outcome() -> None:
    """1 of 80 would admit alone; where it stands for most failures of the deployment it does not."""
    cases = [
        replace(c, stratum="a" if i < 70 else "b", inclusion_probability=1.0 if i < 70 else 0.02)
        for i, c in enumerate(make_cases({"fail": {"reject": 79, "accept": 1}, "pass": {"accept": 90}}))
    ]
    plain = [replace(c, stratum="", inclusion_probability=None) for c in cases]
    assert decide(build_report(plain, scope=SCOPE, policy=TEN), TEN).outcome is AdmissionOutcome.ADMIT
    weighted = decide(build_report(cases, scope=SCOPE, policy=TEN), TEN)
    assert weighted.outcome is AdmissionOutcome.INSUFFICIENT
    assert weighted.binding == "far"


def test_re_weighted_ends_decide_and_have_a_normal_p() -> None:
    """A re-weighted gate has no count for the score test: its ends decide, its p is the normal tail."""
    gate = build_report(stratified(), scope=SCOPE, policy=TEN).far_gate
    assert gate_result(gate, 0.5, z=TEN.z) is GateResult.PASS
    assert gate_result(gate, 0.001, z=TEN.z) is GateResult.FAIL
    assert gate_result(gate, 0.10, z=TEN.z) is GateResult.INSUFFICIENT
    p = gate_p_value(gate, 0.2)
    assert p is not None
    assert 0 < p < 0.5
    x, n = effective_counts(gate)
    assert 0 < x <= n <= gate.n


def test_a_stratum_without_failures_does_not_break_the_weights() -> None:
    """Strata in which nobody failed carry no weight of failures."""
    cases = [
        replace(c, stratum=c.reference.verdict.value, inclusion_probability=0.5)
        for c in make_cases(EXERCISE_3)
    ]
    gate = build_report(cases, scope=SCOPE, policy=TEN).far_gate
    assert gate.upper == pytest.approx(wilson_interval(16, 80).upper)


def test_slices_have_a_standing_of_their_own() -> None:
    """Below twenty failures a slice is not assessed; else within, above or undecided; null without policy."""
    parts = {
        "few": {"fail": {"reject": 5}},
        "fine": {"fail": {"reject": 60}},
        "bad": {"fail": {"accept": 20, "reject": 10}},
        "open": {"fail": {"accept": 3, "reject": 30}},
    }
    cases = [
        case
        for place, (name, counts) in enumerate(parts.items())
        for case in make_cases(counts, slices=(("kind", name),), start=1000 * place)
    ]
    standing = {s.value: s.status for s in build_report(cases, scope=SCOPE, policy=TEN).slices}
    assert standing == {
        "few": "not_assessed",
        "fine": "within_limit",
        "bad": "above_limit",
        "open": "undecided",
    }
    assert {s.status for s in build_report(cases, scope=SCOPE).slices} == {None}
    wide = shipped_policy("acceptance")
    assert build_report(cases, scope=SCOPE, policy=wide).slices[0].status == "above_limit"


def test_failure_modes_and_severities_have_their_own_far() -> None:
    """3 of 10 severe failures accepted stand beside 0 of 90 harmless ones; modes may overlap."""
    harmless = make_cases({"fail": {"reject": 90}})
    severe = make_cases({"fail": {"accept": 3, "reject": 7}}, start=500)
    cases = [replace(c, severity="harmless", failure_modes=("typo",)) for c in harmless] + [
        replace(c, severity="severe", failure_modes=("wrong_number", "typo")) for c in severe
    ]
    report = build_report(cases, scope=SCOPE, policy=TEN)
    assert [(g.group, g.far.x, g.far.n, g.status) for g in report.severities] == [
        ("harmless", 0, 90, "within_limit"),
        ("severe", 3, 10, "not_assessed"),
    ]
    assert [(g.group, g.far.n) for g in report.failure_modes] == [("typo", 100), ("wrong_number", 10)]
    unlimited = build_report(cases, scope=SCOPE)
    assert [(g.group, g.far.x, g.limit, g.status) for g in unlimited.severities] == [
        ("harmless", 0, None, None),
        ("severe", 3, None, None),
    ]


def test_the_pass_rate_of_a_deployment_is_corrected() -> None:
    """700 of 1,000 accepted with FAR .2 and FRR .05: 2/3 pass [.599, .733] (Lang-Reiczigel)."""
    supplement = Supplement(deployment=Deployment(700, 1000))
    found = build_report(make_cases(EXERCISE_3), scope=SCOPE, supplement=supplement).corrected
    assert found is not None
    assert found.estimate == pytest.approx(2 / 3)
    assert found.lower == pytest.approx(0.599409, abs=1e-6)
    assert found.upper == pytest.approx(0.732949, abs=1e-6)
    assert found.method == "rogan_gladen"


def test_a_judge_that_tells_nothing_apart_corrects_nothing() -> None:
    """A constant accepter has no corrected rate, with the reason; without a deployment there is no figure."""
    cases = make_cases({"fail": {"accept": 80}, "pass": {"accept": 120}})
    found = build_report(cases, scope=SCOPE, supplement=Supplement(deployment=Deployment(7, 10))).corrected
    assert found is not None
    assert (found.method, found.estimate) == ("none", None)
    assert found.undefined is not None
    assert build_report(cases, scope=SCOPE).corrected is None


def test_failure_among_accepted_is_restated_for_a_prevalence() -> None:
    """At 5 % failures: .05 x .2 / (.05 x .2 + .95 x .95)."""
    report = build_report(make_cases(EXERCISE_3), scope=SCOPE, supplement=Supplement(prevalence=0.05))
    assert report.restated is not None
    assert report.restated.estimate == pytest.approx(0.01 / (0.01 + 0.9025))
    assert report.restated.lower < (report.restated.estimate or 0.0) < report.restated.upper
    nothing = build_report([], scope=SCOPE, supplement=Supplement(prevalence=0.05)).restated
    assert nothing is not None
    assert nothing.estimate is None


def test_raters_who_err_explain_part_of_a_far() -> None:
    """With 5 % truly failing and raters who wrongly fail 1 % of good outputs, a perfect judge shows 16 %."""
    cases = make_cases({"fail": {"accept": 10, "reject": 50}, "pass": {"accept": 940}})
    errors = RaterErrors(detects_fail=1.0, passes_pass=0.99)
    found = build_report(cases, scope=SCOPE, supplement=Supplement(rater_errors=errors)).rater_error
    assert found is not None
    # 60 of 1,000 labelled fail: prevalence (.06 - .01) / .99; a perfect judge accepts the 9.49 wrongly failed
    prevalence = 0.05 / 0.99
    assert found.perfect_judge_shows == pytest.approx((1 - prevalence) * 0.01 / 0.06)
    assert found.far is not None
    assert found.far < 10 / 60


@pytest.mark.parametrize(
    ("counts", "errors"),
    [
        ({"fail": {"reject": 5}}, RaterErrors(1.0, 0.99)),
        ({"fail": {"reject": 5}, "pass": {"accept": 5}}, RaterErrors(0.5, 0.5)),
    ],
)
def test_rater_errors_that_cannot_be_carried_say_why(
    counts: dict[str, dict[str, int]], errors: RaterErrors
) -> None:
    """One label only, or raters who tell nothing apart: null with a reason."""
    found = build_report(
        make_cases(counts), scope=SCOPE, supplement=Supplement(rater_errors=errors)
    ).rater_error
    assert found is not None
    assert found.far is None
    assert found.undefined is not None


def test_an_audit_of_acceptances_gives_no_far() -> None:
    """Items sampled from what the judge accepted: failure among accepted of the deployment, and no FAR."""
    cases = make_cases({"fail": {"accept": 5}, "pass": {"accept": 95}})
    report = build_report(cases, scope=SCOPE, policy=TEN, supplement=Supplement(accepts_only=True))
    assert report.far is not None
    assert report.headline.estimate is None
    assert (report.failure_among_accepted.x, report.failure_among_accepted.n) == (5, 100)
    assert report.failure_among_accepted.describes == "deployment"
    assert report.target == "what the judge accepts in use"
    assert "no FAR follows" in next(g.reason for g in report.not_assessed if g.name == "far")
    decision = decide(report, TEN)
    assert (decision.outcome, decision.binding) == (AdmissionOutcome.INSUFFICIENT, "far")


@pytest.mark.parametrize(
    ("design", "words"),
    [(None, "no sampling design"), ("convenience", "no sampling design"), ("stratified", "was drawn from")],
)
def test_intervals_name_their_target(design: str | None, words: str) -> None:
    """A drawn set speaks of its population, any other of items like these."""
    report = build_report(make_cases(EXERCISE_3), scope=SCOPE, supplement=Supplement(design=design))
    assert words in report.target


def test_the_accepted_failures_are_named() -> None:
    """The ids of the failures that it accepted, in item order, so that a person can read them."""
    report = build_report(make_cases(EXERCISE_3), scope=SCOPE)
    assert report.accepted_failures == tuple(f"i{number:05d}" for number in range(16))
    many = build_report(make_cases({"fail": {"accept": 300}}), scope=SCOPE)
    assert len(many.accepted_failures) == 200
