"""What a report is told beside its cases: orders, repeats, answers on the scale, unclaimed pairs."""

from __future__ import annotations

import pytest

from calibration.admission import decide
from calibration.evidence import AdmissionOutcome, ItemStatus
from calibration.policy import far_only, shipped_policy
from calibration.report import build_report
from calibration.report.supplement import (
    AnswerTable,
    Supplement,
    answer_agreement,
    log2_length,
    own_family,
    position_figure,
    repeats_figure,
    supplement_gates,
)
from tests.calibration.examples import SCOPE, make_cases

TEN = far_only(0.10)
SIDES = ("A", "B", "tie")
CELLS = {"AA": 60, "BB": 55, "TT": 8, "FF": 20, "SS": 5, "X": 2}


def pairs(right: int, wrong: int, ties: int) -> AnswerTable:
    """A judge that picks so many right and wrong sides; every reference is A."""
    return AnswerTable(SIDES, ((right, wrong, ties, 0), (0, 0, 0, 0), (0, 0, 0, 0)), ordered=False)


@pytest.mark.parametrize(("text", "bits"), [("x" * 8, 3.0), ("x", 0.0), ("", 0.0), (None, 0.0)])
def test_a_length_is_in_doublings_of_a_character(text: str | None, bits: float) -> None:
    """Eight characters are three doublings; nothing counts as one character."""
    assert log2_length(text) == bits


def test_an_output_is_of_the_judges_own_family_where_its_name_stands_in_the_models() -> None:
    """Whatever the case; items that name no family are absent, not of another."""
    families = {"own": " GPT ", "other": "claude", "blank": "  "}
    assert own_family(families, "openai/gpt-5-mini") == {"own": True, "other": False}


def test_cells_that_nobody_counted_are_zero() -> None:
    """Only items that kept a place: the same content in both orders is 0 of 10, not unknown."""
    figure = position_figure({"FF": 6, "SS": 4})
    assert figure is not None
    assert (figure.consistency.x, figure.consistency.n) == (0, 10)
    assert (figure.conflict.x, figure.conflict.n) == (10, 10)


def test_position_figures_keep_every_item_in_the_denominator() -> None:
    """123 of 150 the same content, 25 the same place, 20 of those the first; effect (20 - 5) / 150."""
    figure = position_figure(CELLS)
    assert figure is not None
    assert (figure.consistency.x, figure.consistency.n) == (123, 150)
    assert (figure.conflict.x, figure.first_preference.x, figure.first_preference.n) == (25, 20, 25)
    assert figure.effect == pytest.approx(0.1)
    assert position_figure(None) is None


def test_position_guards_read_the_same_numbers() -> None:
    """Consistency .82 fails a floor of .90, an effect of .10 a ceiling of .05."""
    cases = make_cases({"fail": {"reject": 60}, "pass": {"accept": 90}})
    policy = shipped_policy("acceptance")
    report = build_report(cases, scope=SCOPE, policy=policy, supplement=Supplement(position=CELLS))
    items = {item.name: item for item in decide(report, policy).items}
    assert items["position_consistency"].status is ItemStatus.FAIL
    assert (items["position_consistency"].x, items["position_consistency"].n) == (123, 150)
    assert items["position_effect_abs"].status is ItemStatus.FAIL
    assert "position" not in {gap.name for gap in report.not_assessed}


def test_few_pairs_leave_a_position_guard_insufficient() -> None:
    """Under the fifty pairs that the policy wants, even perfect consistency is insufficient."""
    cases = make_cases({"fail": {"reject": 60}, "pass": {"accept": 90}})
    policy = shipped_policy("acceptance")
    supplement = Supplement(position={"AA": 10, "BB": 10})
    report = build_report(cases, scope=SCOPE, policy=policy, supplement=supplement)
    items = {item.name: item for item in decide(report, policy).items}
    assert items["position_consistency"].status is ItemStatus.INSUFFICIENT


def test_no_pair_has_no_position_guard() -> None:
    """Cells without an item give figures without numbers and no guard."""
    figure = position_figure({"AA": 0})
    assert figure is not None
    assert figure.effect is None
    assert supplement_gates(Supplement(position={"AA": 0})) == {}


def test_repeats_count_pairs_of_verdicts() -> None:
    """Three repeats each: all alike (3 of 3 pairs), two of three (1 of 3): 4 of 6 pairs agree."""
    counts = ((3, 0, 0), (2, 1, 0))
    figure = repeats_figure(counts)
    assert figure is not None
    assert figure.pairwise == pytest.approx((1 + 1 / 3) / 2)
    assert (figure.items, figure.unanimous) == (2, 0.5)
    gate = supplement_gates(Supplement(repeats=counts))["repeat_pairwise"]
    assert (gate.x, gate.n) == (4, 6)
    assert repeats_figure(None) is None
    assert repeats_figure(((1, 0),)) is None


def test_levels_are_compared_with_near_misses_weighed() -> None:
    """Agreement counts the judge's unknown as different; kappa on levels is quadratic."""
    table = AnswerTable(("1", "2", "3"), ((5, 1, 0, 0), (0, 5, 1, 0), (0, 0, 5, 3)), ordered=True)
    figure = answer_agreement(table)
    assert figure is not None
    assert (figure.agreement.x, figure.agreement.n) == (15, 20)
    assert (figure.agreement_decided.x, figure.agreement_decided.n) == (15, 17)
    assert figure.kappa_weights == "quadratic"
    assert figure.kappa_decided is not None
    assert figure.kappa_decided > 0.8
    assert answer_agreement(None) is None
    empty = answer_agreement(AnswerTable(("1", "2"), ((0, 0, 0), (0, 0, 0)), ordered=True))
    assert empty is not None
    assert empty.kappa_decided is None


@pytest.mark.parametrize(
    ("right", "wrong", "outcome", "informative"),
    [
        (90, 3, AdmissionOutcome.ADMIT, ItemStatus.PASS),
        (60, 40, AdmissionOutcome.REJECT, ItemStatus.PASS),
        (0, 0, AdmissionOutcome.INSUFFICIENT, ItemStatus.INSUFFICIENT),
    ],
)
def test_without_a_candidate_the_wrong_side_rate_decides(
    right: int, wrong: int, outcome: AdmissionOutcome, informative: ItemStatus
) -> None:
    """FAR is null with its reason; the gate reads wrong sides among preferred ones; ties say nothing."""
    ties = 100 if not right else 0
    cases = make_cases({"fail": {"accept": wrong, "reject": right + ties}})
    supplement = Supplement(answers=pairs(right, wrong, ties), wrong_side=True)
    report = build_report(cases, scope=SCOPE, policy=TEN, supplement=supplement)
    assert report.far is None
    assert report.wrong_side is not None
    assert (report.headline.x, report.headline.n) == (wrong, right + wrong + ties)
    assert report.failure_among_accepted.estimate is None
    assert report.baselines == ()
    assert "no candidate declared" in next(g.reason for g in report.not_assessed if g.name == "far")
    decision = decide(report, TEN)
    assert decision.outcome is outcome
    assert next(i for i in decision.items if i.name == "informative").status is informative


def test_wrong_side_without_answers_is_not_informative() -> None:
    """Where the sides picked are not known, nothing shows that the judge picks the right one."""
    cases = make_cases({"fail": {"reject": 60}})
    report = build_report(cases, scope=SCOPE, policy=TEN, supplement=Supplement(wrong_side=True))
    assert decide(report, TEN).binding == "informative"


def test_a_report_without_either_rate_has_no_headline() -> None:
    """A record that lost both rates says so instead of showing nothing."""
    report = build_report(make_cases({"fail": {"reject": 1}}), scope=SCOPE)
    broken = report.model_copy(update={"far": None})
    with pytest.raises(ValueError, match="neither a FAR nor a wrong-side rate"):
        _ = broken.headline


def test_exploratory_evidence_is_an_item_of_the_decision() -> None:
    """The reason why nothing may be decided stands in the report and binds the outcome."""
    cases = make_cases({"fail": {"reject": 60}, "pass": {"accept": 90}})
    report = build_report(cases, scope=SCOPE, policy=TEN, supplement=Supplement(exploratory="came later"))
    decision = decide(report, TEN)
    assert (decision.outcome, decision.binding) == (AdmissionOutcome.INSUFFICIENT, "exploratory")
