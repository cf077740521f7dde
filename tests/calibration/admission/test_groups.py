"""Severity levels, required modes and slices, cost and time: each a policy item of its own."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.admission import decide
from calibration.evidence import AdmissionOutcome, Case, ItemStatus, OperationFigure, PolicyItem
from calibration.policy import (
    AdmissionPolicy,
    OperationLimits,
    RequiredEvidence,
    SeverityLimit,
    far_only,
    parse_policy,
    shipped_policy,
)
from calibration.policy_lint import lint_policy
from calibration.report import build_report
from calibration.report.supplement import Supplement
from rubrics.errors import TableError
from tests.calibration.examples import SCOPE, make_cases

PASSES = make_cases({"pass": {"accept": 114, "reject": 6}})


def failures(level: str, accepted: int, rejected: int, *, start: int, mode: str = "") -> list[Case]:
    """Reference failures of one severity level."""
    made = make_cases({"fail": {"accept": accepted, "reject": rejected}}, start=start)
    return [replace(case, severity=level, failure_modes=(mode,) if mode else ()) for case in made]


def items_of(
    cases: list[Case], policy: AdmissionPolicy, supplement: Supplement | None = None
) -> tuple[AdmissionOutcome, dict[str, PolicyItem]]:
    """The outcome and the items by name."""
    report = build_report(cases, scope=SCOPE, policy=policy, supplement=supplement or Supplement())
    decision = decide(report, policy)
    return decision.outcome, {item.name: item for item in decision.items}


def changed(**fields: Any) -> AdmissionPolicy:
    """far_only 10 % with other fields."""
    return far_only(0.10).model_copy(update=fields)


SEVERE = changed(severities={"severe": SeverityLimit(upper_at_most=0.05)})


def test_a_harmless_record_does_not_cover_severe_failures() -> None:
    """0 of 90 harmless and 3 of 10 severe: 3 of 100 passes the gate and is not admitted."""
    cases = [
        *PASSES,
        *failures("harmless", 0, 90, start=1000),
        *failures("severe", 3, 7, start=2000),
    ]
    assert items_of(cases, far_only(0.10))[0] is AdmissionOutcome.ADMIT
    outcome, items = items_of(cases, SEVERE)
    assert outcome is AdmissionOutcome.REJECT
    severe = items["severity:severe"]
    assert (severe.status, severe.x, severe.n) == (ItemStatus.FAIL, 3, 10)


@pytest.mark.parametrize(
    ("accepted", "rejected", "status"),
    [
        (0, 73, "pass"),
        (0, 72, "insufficient"),
        (1, 72, "insufficient"),
        (20, 60, "fail"),
        (0, 0, "insufficient"),
    ],
)
def test_a_level_is_a_gate_of_its_own(accepted: int, rejected: int, status: str) -> None:
    """Under 5 % a level needs 73 clean failures; without a failure of the level nothing is known."""
    cases = [
        *PASSES,
        *failures("harmless", 0, 90, start=1000),
        *failures("severe", accepted, rejected, start=2000),
    ]
    assert items_of(cases, SEVERE)[1]["severity:severe"].status == status


def test_open_verdicts_of_a_level_count_against_the_judge() -> None:
    """Ten unanswered severe failures are accepted in the worst case, and prove no acceptance."""
    open_ = [replace(c, severity="severe") for c in make_cases({"fail": {"missing": 10}}, start=3000)]
    cases = [*PASSES, *failures("severe", 0, 80, start=1000), *open_]
    item = items_of(cases, SEVERE)[1]["severity:severe"]
    assert (item.status, item.x, item.n) == (ItemStatus.INSUFFICIENT, 10, 90)


def test_a_level_may_ask_for_more_failures_than_its_limit_needs() -> None:
    """100 clean failures pass 5 %, and are too few where 200 are asked for; what is broken stays broken."""
    asked = changed(severities={"severe": SeverityLimit(upper_at_most=0.05, min_n=200)})
    clean = [*PASSES, *failures("severe", 0, 100, start=1000)]
    assert items_of(clean, asked)[1]["severity:severe"].status is ItemStatus.INSUFFICIENT
    broken = [*PASSES, *failures("severe", 50, 50, start=1000)]
    assert items_of(broken, asked)[1]["severity:severe"].status is ItemStatus.FAIL


def test_required_modes_and_slices_must_be_among_the_failures() -> None:
    """An adversarial slice and a failure mode, counted over reference failures only."""
    policy = changed(required=RequiredEvidence(failure_modes={"invented": 20}, slices={"attack=inject": 10}))
    plain = [*PASSES, *failures("", 0, 60, start=1000)]
    outcome, items = items_of(plain, policy)
    assert outcome is AdmissionOutcome.INSUFFICIENT
    assert [items[n].value for n in ("required_failure_mode:invented", "required_slice:attack=inject")] == [
        0,
        0,
    ]
    attacked = [
        replace(case, slices=(("attack", "inject"),))
        for case in failures("", 0, 10, start=3000, mode="invented")
    ]
    passing = [replace(case, slices=(("attack", "inject"),)) for case in PASSES]
    more = [
        *passing,
        *attacked,
        *failures("", 0, 10, start=4000, mode="invented"),
        *failures("", 0, 40, start=5000),
    ]
    outcome, items = items_of(more, policy)
    assert items["required_slice:attack=inject"].value == 10
    assert outcome is AdmissionOutcome.ADMIT


OPERATION = OperationFigure(
    verdicts=200, costed=200, cost_micros=400_001, items=100, timed=200, latency_p95_ms=900
)


@pytest.mark.parametrize(
    ("limits", "found", "statuses"),
    [
        ({"cost_per_item_micros": 4001}, OPERATION, {"cost_per_item_micros": "pass"}),
        ({"cost_per_item_micros": 4000}, OPERATION, {"cost_per_item_micros": "fail"}),
        ({"latency_p95_ms": 900}, OPERATION, {"latency_p95_ms": "pass"}),
        ({"latency_p95_ms": 899}, OPERATION, {"latency_p95_ms": "fail"}),
        ({"latency_p95_ms": 899}, None, {"latency_p95_ms": "insufficient"}),
        (
            {"cost_per_item_micros": 9999, "latency_p95_ms": 9999},
            OPERATION.model_copy(update={"costed": 199, "timed": 0, "latency_p95_ms": None}),
            {"cost_per_item_micros": "insufficient", "latency_p95_ms": "insufficient"},
        ),
    ],
)
def test_cost_and_time_are_held_where_they_are_known(
    limits: dict[str, int], found: OperationFigure | None, statuses: dict[str, str]
) -> None:
    """The mean is rounded up; a verdict whose cost or time is not recorded proves nothing."""
    cases = [*PASSES, *failures("", 0, 60, start=1000)]
    policy = changed(operation=OperationLimits(**limits))
    _, items = items_of(cases, policy, Supplement(operation=found))
    assert {name: items[name].status for name in statuses} == statuses


def test_a_time_is_of_the_verdicts_that_took_a_call() -> None:
    """What was settled without one has none and is counted in words; the rest holds the limit."""
    found = OPERATION.model_copy(update={"timed": 199, "uncalled": 1})
    for limit, status in ((900, ItemStatus.PASS), (899, ItemStatus.FAIL)):
        policy = changed(operation=OperationLimits(latency_p95_ms=limit))
        _, items = items_of([*PASSES, *failures("", 0, 60, start=1000)], policy, Supplement(operation=found))
        item = items["latency_p95_ms"]
        assert (item.status, item.value) == (status, 900)
        assert item.detail == "of the 199 with a call; 1 was settled without one"


@pytest.mark.parametrize(
    ("free", "said"), [(200, "200 verdicts cost"), (1, "1 verdict costs"), (0, ""), (None, "")]
)
def test_a_cost_by_prices_declared_as_0_says_so(free: int | None, said: str) -> None:
    """It holds the limit by somebody's word, which stands on the item; older reports do not know."""
    found = OPERATION.model_copy(update={"cost_micros": 0, "declared_free": free})
    policy = changed(operation=OperationLimits(cost_per_item_micros=9))
    _, items = items_of([*PASSES, *failures("", 0, 60, start=1000)], policy, Supplement(operation=found))
    item = items["cost_per_item_micros"]
    wanted = (
        f"the cost rests on prices declared as 0: {said} nothing by them (source: declared)" if said else ""
    )
    assert (item.status, item.detail) == (ItemStatus.PASS, wanted)
    assert ("declared_free" in found.model_dump(mode="json")) == (free is not None)
    assert found.as_before.declared_free is None


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"timed": 0}, "not assessable: no verdict has a recorded time; a panel, a cascade or a rule"),
        ({"timed": 199}, "not assessable: no time is recorded of 1 of 200 verdicts"),
        ({"timed": 1}, "not assessable: no time is recorded of 199 of 200 verdicts"),
        ({"timed": 198, "uncalled": 1}, "not assessable: no time is recorded of 1 of 200 verdicts"),
        ({"timed": 0, "uncalled": 200}, "not assessable: no verdict has a recorded time; a panel"),
    ],
)
def test_a_time_that_is_not_known_of_every_verdict_says_why_and_admits_nobody(
    found: dict[str, int], said: str
) -> None:
    """However fast the timed ones were: the limit is insufficient, and so is the decision."""
    cases = [*PASSES, *failures("", 0, 60, start=1000)]
    policy = changed(operation=OperationLimits(latency_p95_ms=100_000))
    supplement = Supplement(operation=OPERATION.model_copy(update=found))
    outcome, items = items_of(cases, policy, supplement)
    item = items["latency_p95_ms"]
    assert (outcome, item.status, item.value) == ("insufficient_evidence", "insufficient", None)
    assert item.detail.startswith(said)
    assert items_of(cases, policy, Supplement(operation=OPERATION))[0] is AdmissionOutcome.ADMIT


@pytest.mark.parametrize(
    ("cases", "outcome"),
    [
        ({"fail": {"accept": 20}, "pass": {"accept": 10}}, "admit"),
        ({"pass": {"accept": 30}}, "admit"),
        ({"fail": {"accept": 19}, "pass": {"accept": 10}}, "insufficient_evidence"),
        ({}, "insufficient_evidence"),
    ],
)
def test_a_diagnostic_policy_asks_for_cases_only(cases: dict[str, dict[str, int]], outcome: str) -> None:
    """Thirty cases are shown with both rates; no gate, no look, whatever the rates are."""
    policy = shipped_policy("diagnostic")
    found, items = items_of(make_cases(cases), policy)
    assert found == outcome
    assert set(items) == {"minimum_cases"}
    report = build_report(make_cases(cases), scope=SCOPE, policy=policy)
    assert report.far is not None
    assert report.far.confidence == 0.95
    decision = decide(report, policy)
    assert (decision.binding, decision.p_value, decision.more_failures_needed.clean) == (
        "minimum_cases",
        None,
        0,
    )


@pytest.mark.parametrize(
    ("accepted", "rejected", "outcome"),
    [(0, 35, "admit"), (0, 34, "insufficient_evidence"), (2, 33, "admit"), (4, 31, "insufficient_evidence"),
     (16, 24, "reject")],
)  # fmt: skip
def test_a_review_trigger_is_held_to_what_it_misses(accepted: int, rejected: int, outcome: str) -> None:
    """Limit 20 % at one look and 35 failures; flagging many good answers is shown and does not decide."""
    counts = {"fail": {"accept": accepted, "reject": rejected}, "pass": {"accept": 60, "reject": 20}}
    found, items = items_of(make_cases(counts), shipped_policy("review_trigger"))
    assert found == outcome
    assert set(items) == {"far", "informative", "minimum_fail", "looks"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gate: false\n", "a policy of role 'acceptance' decides, so it has a gate"),
        ("role: diagnostic\ngate: false\n", "give minimum.cases"),
        ("required: {slices: {inject: 3}}\n", "a slice is written name=value"),
        ("required: {slices: {attack=: 3}}\n", "a slice is written name=value"),
        ("required: {failure_modes: {invented: 0}}\n", "is not between 1 and 100,000"),
        ("severities: {severe: {upper_at_most: 1}}\n", "must be less than 1.0"),
    ],
)
def test_what_cannot_be_asked_is_refused(text: str, words: str) -> None:
    """A field that makes no sense is named with its line."""
    with pytest.raises(TableError, match=r"m:\d+:.*") as caught:
        parse_policy(f"name: mine\nversion: 1\nprimary: {{upper_at_most: 0.05}}\n{text}", source="m")
    assert words in str(caught.value)


def test_a_policy_that_asks_for_parts_is_linted_with_them() -> None:
    """A perfect judge has every level, mode and slice, costs nothing and takes no time."""
    policy = changed(
        severities={"severe": SeverityLimit(upper_at_most=0.05), "mild": SeverityLimit(upper_at_most=0.2)},
        required=RequiredEvidence(
            failure_modes={"invented": 90}, slices={"attack=inject": 30, "attack=none": 20, "lang=de": 10}
        ),
        operation=OperationLimits(cost_per_item_micros=0, latency_p95_ms=1),
    )
    assert lint_policy(policy) == ()


def test_a_trigger_that_nothing_raises_is_found_by_lint() -> None:
    """A mistyped trigger would never suspend anything."""
    (problem,) = lint_policy(changed(recalibrate_on=("rubric", "promt")))
    assert "'promt', which nothing raises" in problem


def test_what_a_trigger_does() -> None:
    """It suspends where the policy lists it and does not say that it only warns."""
    policy = changed(recalibrate_on=("population", "cusum"), warn_on=("cusum",))
    assert [policy.suspends(word) for word in ("population", "cusum", "rubric")] == [True, False, False]


def test_a_field_that_older_policies_do_not_have_leaves_their_identity() -> None:
    """Digests that were recorded before the field existed still name the same policy."""
    assert shipped_policy("far_only").digest == FAR_ONLY_DIGEST
    assert changed(operation=OperationLimits(latency_p95_ms=5)).digest != FAR_ONLY_DIGEST


FAR_ONLY_DIGEST = "73f00ba4034c418d52517edba68a941dac146a48fecea42fa752284a6a705c8f"


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    severe=st.tuples(st.integers(0, 6), st.integers(0, 120)),
    mild=st.tuples(st.integers(0, 6), st.integers(0, 120)),
)
def test_a_level_that_is_not_asked_about_never_moves_another(
    severe: tuple[int, int], mild: tuple[int, int]
) -> None:
    """The item of a level depends on the failures of that level alone."""
    alone = [*PASSES, *failures("severe", *severe, start=1000)]
    both = [*alone, *failures("mild", *mild, start=2000)]
    assert items_of(alone, SEVERE)[1]["severity:severe"] == items_of(both, SEVERE)[1]["severity:severe"]


def drawn(cases: list[Case], stratum: str, probability: float) -> list[Case]:
    """The cases as drawn from a stratum with that probability."""
    return [replace(case, stratum=stratum, inclusion_probability=probability) for case in cases]


@pytest.mark.parametrize(
    ("probability", "upper", "status"),
    [
        # Wilson 0/60 is 3.8415 / 63.8415; the other stratum's items stand for no more: no room is needed
        (1 / 5, 0.06017, "pass"),
        # of 200 items that stand for 45 each, 3.689 may be severe: (0.06017 * 300 + 166) / (300 + 166)
        (1 / 45, 0.39496, "insufficient"),
    ],
)
def test_a_level_is_held_to_what_no_stratum_showed(probability: float, upper: float, status: str) -> None:
    """All severe failures lie in one stratum: another, drawn thinly, may hold some that nobody saw."""
    mild = failures("mild", 0, 40, start=3000)
    cases = [
        *drawn(failures("severe", 0, 60, start=1000), "flagged", 1 / 5),
        *drawn([*mild, *make_cases({"pass": {"accept": 160}}, start=4000)], "rest", probability),
    ]
    policy = changed(severities={"severe": SeverityLimit(upper_at_most=0.10)})
    _, items = items_of(cases, policy)
    severe = items["severity:severe"]
    assert (severe.status.value, severe.n) == (status, 60)
    assert severe.upper == pytest.approx(upper, abs=2e-5)
    assert items["far"].upper is not None
    assert items["far"].upper < 0.10  # both strata show failures


def test_a_judge_is_held_to_a_stratum_without_a_failure() -> None:
    """The gate of all failures leaves the same room, and rejects nobody for it."""
    thin = drawn(make_cases({"pass": {"accept": 200}}, start=4000), "rest", 1 / 45)
    clean = [*drawn(failures("", 0, 60, start=1000), "flagged", 1 / 5), *thin]
    bad = [*drawn(failures("", 30, 30, start=1000), "flagged", 1 / 5), *thin]
    assert items_of(clean, far_only(0.10))[1]["far"].status is ItemStatus.INSUFFICIENT
    far = items_of(bad, far_only(0.10))[1]["far"]
    # Wilson 30/60 from .3774; at most 166 unseen failures, all rejected: .3774 * 300 / 466 = .243
    assert (far.status, round(far.lower or 0, 3)) == (ItemStatus.FAIL, 0.243)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("thick", "thin"),
    [((1000, 200, 0.30, 0.02), (9000, 200, 0.010)), ((1000, 300, 0.30, 0.05), (9000, 300, 0.005))],
)
def test_a_rare_stratum_does_not_open_the_gate(
    thick: tuple[int, int, float, float], thin: tuple[int, int, float]
) -> None:
    """At a true FAR of the limit at most the nominal error passes; without that room 8 % did."""
    rng = random.Random(1)
    (many, a, share, far), (rest, b, rare) = thick, thin
    other = ((many * share + rest * rare) * 0.10 - many * share * far) / (rest * rare)
    admitted, tries = 0, 300
    for _ in range(tries):
        cases: list[Case] = []
        for stratum, n, of, p, accepts in (("a", a, many, share, far), ("b", b, rest, rare, other)):
            bad = sum(rng.random() < p for _ in range(n))
            x = sum(rng.random() < accepts for _ in range(bad))
            start = 1000 * (stratum == "b")
            counts = {"fail": {"accept": x, "reject": bad - x}, "pass": {"accept": n - bad}}
            cases += drawn(make_cases(counts, start=start), stratum, n / of)
        admitted += items_of(cases, far_only(0.10))[1]["far"].status is ItemStatus.PASS
    assert admitted / tries <= 0.025
