"""Decisions: the worked lines of the design, and judges that other tools let pass."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.admission import decide, outcome_of
from calibration.evidence import (
    AdmissionDecision,
    AdmissionOutcome,
    Comparison,
    Examination,
    ItemKind,
    ItemStatus,
    PolicyItem,
)
from calibration.labels import Assessment, Blindness, LabelSource, ReferenceLabel
from calibration.policy import AdmissionPolicy, far_only, shipped_policy
from calibration.report import build_report
from rubrics.verdict import Verdict
from tests.calibration.examples import SCOPE, make_cases, make_report

ADMIT, REJECT, INSUFFICIENT = AdmissionOutcome.ADMIT, AdmissionOutcome.REJECT, AdmissionOutcome.INSUFFICIENT
TEN = far_only(0.10)
GOOD_PASSES = {"accept": 114, "reject": 6}


def decided(counts: dict[str, dict[str, int]], *, per_cluster: int = 1) -> AdmissionDecision:
    """The decision of far_only 10 % on such counts."""
    return decide(make_report(counts, TEN, per_cluster=per_cluster), TEN)


def item(decision: AdmissionDecision, name: str) -> PolicyItem:
    """The policy item of a name."""
    return next(i for i in decision.items if i.name == name)


@pytest.mark.parametrize(
    ("fail", "passing", "outcome", "binding"),
    [
        ({"accept": 16, "reject": 64}, GOOD_PASSES, REJECT, "far"),
        ({"reject": 50}, GOOD_PASSES, ADMIT, "far"),
        ({"accept": 1, "reject": 49}, GOOD_PASSES, INSUFFICIENT, "far"),
        ({"accept": 2, "reject": 28}, {"accept": 110, "reject": 10}, INSUFFICIENT, "far"),
        ({"accept": 2, "reject": 28, "missing": 30}, {"accept": 110, "reject": 10}, INSUFFICIENT, "far"),
        ({"accept": 16, "reject": 64, "missing": 30}, GOOD_PASSES, INSUFFICIENT, "far"),
        ({"accept": 20, "reject": 60, "missing": 30}, GOOD_PASSES, REJECT, "far"),
        ({}, {"accept": 200}, INSUFFICIENT, "far"),
        ({"reject": 5}, {}, INSUFFICIENT, "far"),
        ({"reject": 34}, GOOD_PASSES, INSUFFICIENT, "far"),
        ({"reject": 35}, GOOD_PASSES, ADMIT, "far"),
    ],
)
def test_worked_lines(
    fail: dict[str, int], passing: dict[str, int], outcome: AdmissionOutcome, binding: str
) -> None:
    """The outcome and the binding item of the design's worked lines under far_only 10 %."""
    decision = decided({"fail": fail, "pass": passing})
    assert (decision.outcome, decision.binding) == (outcome, binding)


def test_more_failures_are_named_at_one_look() -> None:
    """2 of 30 accepted needs 39 clean failures, or 282 at the observed rate."""
    needed = decided({"fail": {"accept": 2, "reject": 28}, "pass": {"accept": 110}}).more_failures_needed
    assert (needed.clean, needed.at_observed_rate, needed.looks) == (39, 282, 1)


def test_clusters_decide_where_the_plain_interval_would_admit() -> None:
    """20 prompts of five outputs, 4 of 100 accepted: plain Wilson 9.84 % admits, clusters do not."""
    counts = {"fail": {"accept": 4, "reject": 96}, "pass": GOOD_PASSES}
    assert decided(counts).outcome is ADMIT
    assert decided(counts, per_cluster=5).outcome is INSUFFICIENT


@pytest.mark.parametrize(
    "word", ["accept", "reject", "abstained", "invalid", "inconsistent", "missing", "error"]
)
def test_a_constant_judge_is_never_admitted(word: str) -> None:
    """A judge that always says one thing is rejected or insufficient, whatever the thing."""
    decision = decided({"fail": {word: 500}, "pass": {word: 500}})
    assert decision.outcome is (REJECT if word == "accept" else INSUFFICIENT)


@pytest.mark.parametrize("reference", ["fail", "pass", "unresolved"])
@pytest.mark.parametrize("word", ["accept", "reject", "abstained", "missing"])
def test_one_reference_class_alone_never_admits(reference: str, word: str) -> None:
    """Without both failures and passes nothing shows that the judge tells them apart."""
    assert decided({reference: {word: 400}}).outcome is not ADMIT


def test_constant_rejecter_is_bound_by_informative() -> None:
    """A judge that rejects everything has FAR 0 and is insufficient because it says nothing."""
    decision = decided({"fail": {"reject": 200}, "pass": {"reject": 200}})
    assert item(decision, "far").status is ItemStatus.PASS
    assert decision.binding == "informative"


@settings(max_examples=16, deadline=None, derandomize=True)
@given(
    accepted=st.integers(0, 4),
    rejected=st.integers(30, 60),
    open_=st.integers(0, 3),
    unresolved=st.integers(0, 2),
)
def test_the_gate_holds_for_every_resolution(
    accepted: int, rejected: int, open_: int, unresolved: int
) -> None:
    """A gate that passes with open verdicts and unresolved references passes however they turn out."""
    counts = {
        "fail": {"accept": accepted, "reject": rejected, "missing": open_},
        "pass": {"accept": 100},
        "unresolved": {"accept": unresolved},
    }
    status = item(decided(counts), "far").status
    completions = []
    for opened, failing in product(range(open_ + 1), range(unresolved + 1)):
        fail = {"accept": accepted + opened + failing, "reject": rejected + open_ - opened}
        completed = decided({"fail": fail, "pass": {"accept": 100 + unresolved - failing}})
        completions.append(item(completed, "far").status)
    assert (status is ItemStatus.PASS) == (set(completions) == {ItemStatus.PASS})


@settings(max_examples=25, deadline=None, derandomize=True)
@given(accepted=st.integers(0, 30), rejected=st.integers(0, 90), seed=st.integers(0, 5))
def test_row_order_never_moves_the_outcome(accepted: int, rejected: int, seed: int) -> None:
    """Shuffled cases are decided alike."""
    cases = make_cases({"fail": {"accept": accepted, "reject": rejected}, "pass": GOOD_PASSES})
    first = decide(build_report(cases, scope=SCOPE, policy=TEN), TEN)
    random.Random(seed).shuffle(cases)
    assert decide(build_report(cases, scope=SCOPE, policy=TEN), TEN) == first


@settings(max_examples=3, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False))
def test_no_prefix_of_an_accepters_record_admits(rng: random.Random) -> None:
    """150 passes and 50 failures, all accepted, rows in any order: no decision on the way is an admission."""
    cases = make_cases({"pass": {"accept": 150}, "fail": {"accept": 50}})
    rng.shuffle(cases)
    for seen in range(25, 201, 25):
        report = build_report(cases[:seen], scope=SCOPE, policy=TEN)
        assert decide(report, TEN).outcome is not ADMIT


def test_four_verdict_rule_over_items() -> None:
    """Fail beats insufficient, insufficient beats pass, warnings do not count, nothing is insufficient."""
    p, f, i, w = ItemStatus.PASS, ItemStatus.FAIL, ItemStatus.INSUFFICIENT, ItemStatus.WARNING
    assert outcome_of([p, i, f]) is REJECT
    assert outcome_of([p, i, w]) is INSUFFICIENT
    assert outcome_of([p, w]) is ADMIT
    assert outcome_of([]) is INSUFFICIENT


# ---- the acceptance policy ----------------------------------------------------------------------------

ACCEPTANCE = shipped_policy("acceptance")


def two_raters(n: int, *, agree: int | None = None, **fields: object) -> list[Assessment]:
    """Labels of two raters on n items, half pass and half fail, agreeing on all or on the first `agree`."""
    labels = []
    for i in range(n):
        said = Verdict.PASS if i % 2 else Verdict.FAIL
        other = said if agree is None or i < agree else (Verdict.FAIL if i % 2 else Verdict.PASS)
        for rater, verdict in (("a", said), ("b", other)):
            labels.append(Assessment(f"i{i}", "supported", rater, verdict, **fields))  # type: ignore[arg-type]
    return labels


def under(
    policy: AdmissionPolicy,
    counts: dict[str, dict[str, int]],
    *,
    raters: int = 2,
    labels: list[Assessment] | None = None,
    looks_used: int = 1,
    constructed: bool = False,
    per_cluster: int = 1,
    slices: tuple[tuple[str, str], ...] = (),
) -> AdmissionDecision:
    """The decision of a policy on counts whose references rest on so many blind raters."""
    from dataclasses import replace

    cases = [
        replace(c, reference=ReferenceLabel(c.reference.verdict, raters, unresolved=c.reference.unresolved))
        for c in make_cases(counts, per_cluster=per_cluster, slices=slices)
    ]
    shown = two_raters(100, blind=Blindness.DECLARED) if labels is None else labels
    report = build_report(cases, scope=SCOPE, policy=policy, assessments=shown, constructed=constructed)
    return decide(report, policy, looks_used=looks_used)


CLEAN = {"fail": {"reject": 52}, "pass": {"accept": 70, "reject": 2}}


def test_acceptance_admits_52_clean_failures_with_blind_agreeing_raters() -> None:
    """0/52 at three looks, 70 of 72 passes, two blind raters: admit."""
    decision = under(ACCEPTANCE, CLEAN)
    assert decision.outcome is ADMIT
    assert decision.binding == "far"
    assert decision.looks.allowed == 3


def test_acceptance_finds_50_clean_failures_insufficient() -> None:
    """0/50 reaches 10.28 % at three looks; two more clean failures are needed."""
    decision = under(ACCEPTANCE, {**CLEAN, "fail": {"reject": 50}})
    assert decision.outcome is INSUFFICIENT
    assert decision.binding == "far"
    assert decision.more_failures_needed.clean == 2


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"raters": 1}, "raters_per_case"),
        ({"labels": two_raters(100)}, "blind"),
        ({"labels": []}, "raters_per_case"),
        ({"labels": two_raters(100, agree=70, blind=Blindness.YES)}, "rater_kappa"),
        ({"looks_used": 4}, "looks"),
        ({"constructed": True}, "constructed_evidence"),
        ({"labels": two_raters(100, blind=Blindness.YES, source=LabelSource.MODEL)}, "reference_source"),
    ],
)
def test_weak_ground_is_insufficient_and_never_rejects(change: dict[str, object], name: str) -> None:
    """Each data-quality shortfall alone makes clean counts insufficient, and is named."""
    decision = under(ACCEPTANCE, CLEAN, **change)  # type: ignore[arg-type]
    assert decision.outcome is INSUFFICIENT
    assert item(decision, name).status is ItemStatus.INSUFFICIENT
    assert item(decision, name).kind is ItemKind.DATA_QUALITY


@pytest.mark.parametrize(
    ("counts", "name", "status"),
    [
        ({"pass": {"accept": 60, "reject": 60}}, "non_acceptance_among_pass", ItemStatus.FAIL),
        ({"pass": {"accept": 100, "reject": 20}}, "non_acceptance_among_pass", ItemStatus.INSUFFICIENT),
        ({"pass": {"accept": 100, "abstained": 20}}, "abstention", ItemStatus.FAIL),
        ({"pass": {"accept": 100, "missing": 20}}, "abstention", ItemStatus.INSUFFICIENT),
        ({"pass": {"accept": 100, "invalid": 6}}, "invalid", ItemStatus.FAIL),
        ({"pass": {"accept": 100, "inconsistent": 20}}, "coverage", ItemStatus.FAIL),
        ({"pass": {"accept": 100, "error": 20}}, "coverage", ItemStatus.INSUFFICIENT),
        ({"unresolved": {"reject": 30}}, "unresolved_reference", ItemStatus.INSUFFICIENT),
        ({"pass": {"accept": 40}}, "minimum_pass", ItemStatus.INSUFFICIENT),
        (
            {"fail": {"accept": 3, "reject": 80}, "unresolved": {"accept": 9}},
            "far_high_bound",
            ItemStatus.INSUFFICIENT,
        ),
    ],
)
def test_each_guard_by_its_kind(counts: dict[str, dict[str, int]], name: str, status: ItemStatus) -> None:
    """A broken rate guard fails only in its best case; open verdicts make it insufficient."""
    assert item(under(ACCEPTANCE, {**CLEAN, **counts}), name).status is status


def test_point_limits_hold_exactly_at_the_limit() -> None:
    """Abstention of exactly 10 % holds; one more case breaks it."""
    at = {"fail": {"reject": 60}, "pass": {"accept": 120, "abstained": 20}}
    over = {"fail": {"reject": 60}, "pass": {"accept": 119, "abstained": 21}}
    assert item(under(ACCEPTANCE, at), "abstention").status is ItemStatus.PASS
    assert item(under(ACCEPTANCE, over), "abstention").status is ItemStatus.FAIL


def test_low_kappa_warns_and_does_not_decide() -> None:
    """Kappa with its lower end under .40 is a warning: the gate and the guards decide."""
    counts = {"fail": {"reject": 60}, "pass": {"accept": 90, "inconsistent": 60}}
    decision = under(ACCEPTANCE, counts)
    kappa = item(decision, "kappa_vs_reference")
    assert kappa.status is ItemStatus.WARNING
    assert kappa.kind is ItemKind.AGREEMENT


def test_kappa_under_a_rare_label_is_left_out() -> None:
    """With a margin under 10 % the kappa guard is not assessed and not among the items."""
    counts = {"fail": {"accept": 9, "reject": 1}, "pass": {"accept": 980, "reject": 10}}
    decision = under(ACCEPTANCE, counts)
    assert "kappa_vs_reference" not in {i.name for i in decision.items}
    assert decision.binding == "far"
    assert decision.outcome is REJECT


def test_a_slice_wholly_above_the_limit_rejects() -> None:
    """12 of 30 accepted in one slice rejects although the whole set is under the limit."""
    from dataclasses import replace

    easy = make_cases({"fail": {"reject": 600}, "pass": {"accept": 200}}, slices=(("kind", "easy"),))
    hard = make_cases({"fail": {"accept": 12, "reject": 18}}, slices=(("kind", "hard"),), start=5000)
    cases = [replace(c, reference=ReferenceLabel(c.reference.verdict, 2)) for c in easy + hard]
    report = build_report(
        cases, scope=SCOPE, policy=ACCEPTANCE, assessments=two_raters(100, blind=Blindness.YES)
    )
    decision = decide(report, ACCEPTANCE)
    assert item(decision, "far").status is ItemStatus.PASS
    broken = item(decision, "slice_far")
    assert (broken.status, broken.x, broken.n, broken.detail) == (ItemStatus.FAIL, 12, 30, "kind hard")
    assert decision.binding == "slice_far"


def test_a_slice_with_few_failures_is_not_assessed() -> None:
    """Five failures in a slice, all accepted, neither reject nor pass the slice guard."""
    decision = under(ACCEPTANCE, {**CLEAN, "fail": {"reject": 5}}, slices=(("kind", "hard"),))
    assert "slice_far" not in {i.name for i in decision.items}


def test_failures_in_few_clusters_are_insufficient() -> None:
    """15 prompts of five failures fall short of the twenty clusters that the policy wants."""
    decision = under(ACCEPTANCE, {**CLEAN, "fail": {"reject": 75}}, per_cluster=5)
    assert item(decision, "min_clusters").status is ItemStatus.INSUFFICIENT
    assert item(decision, "min_clusters").value == 15


def test_holm_makes_a_marginal_gate_insufficient_among_many() -> None:
    """2 of 80 passes alone under one look; among twelve equal judges Holm asks for more."""
    policy = ACCEPTANCE.model_copy(update={"looks": TEN.looks})
    counts = {"fail": {"accept": 2, "reject": 78}, "pass": GOOD_PASSES}
    report = make_report(counts, policy)
    alone = decide(report, policy)
    among = decide(report, policy, rivals=[report] * 11)
    assert item(alone, "far").status is ItemStatus.PASS
    assert item(among, "far").status is ItemStatus.INSUFFICIENT
    assert "among 12 judges" in item(among, "far").detail
    unadjusted = decide(make_report(counts, TEN), TEN, rivals=[make_report(counts, TEN)] * 11)
    assert item(unadjusted, "far").status is ItemStatus.PASS


def test_holm_p_is_exact_for_single_outputs_and_normal_for_clusters() -> None:
    """One output per cluster: P(X <= 2 | 80, .1) by the binomial sum; clusters: the score's tail."""
    from math import comb, sqrt
    from statistics import NormalDist

    exact = sum(comb(80, k) * 0.1**k * 0.9 ** (80 - k) for k in range(3))
    plain = decided({"fail": {"accept": 2, "reject": 78}, "pass": GOOD_PASSES})
    assert plain.p_value == pytest.approx(exact)
    clustered = decided({"fail": {"accept": 2, "reject": 78}, "pass": GOOD_PASSES}, per_cluster=4)
    gate = make_report({"fail": {"accept": 2, "reject": 78}}, TEN, per_cluster=4).far_gate
    score = (2 / 80 - 0.1) / sqrt(0.09 / gate.n_effective)
    assert clustered.p_value == pytest.approx(NormalDist().cdf(score))
    assert decided({"pass": {"accept": 5}}).p_value is None


def test_a_report_of_another_level_is_refused() -> None:
    """A policy does not decide on an interval of another policy's level."""
    with pytest.raises(ValueError, match="build the report with this policy"):
        decide(make_report(CLEAN, TEN), ACCEPTANCE)


def test_deciding_is_itself_a_look() -> None:
    """No decision without a look."""
    with pytest.raises(ValueError, match="itself one look"):
        decide(make_report(CLEAN, TEN), TEN, looks_used=0)


def test_a_point_guard_without_any_item_is_insufficient() -> None:
    """No item at all leaves abstention, coverage and the high bound without a number to compare."""
    decision = under(ACCEPTANCE, {})
    for name in ("abstention", "coverage", "far_high_bound"):
        assert item(decision, name).status is ItemStatus.INSUFFICIENT
        assert item(decision, name).value is None


def test_examinations_and_comparisons_have_the_json_of_the_contract() -> None:
    """One report carries its decision; several carry rank and ties, in the words that scripts rely on."""
    report = make_report(CLEAN, TEN)
    examination = Examination(report=report, decision=decide(report, TEN))
    assert examination.to_json()["decision"]["outcome"] == "admit"
    assert Examination(report=report, decision=None).to_json()["decision"] is None
    comparison = Comparison(examinations=(examination,))
    assert set(comparison.to_json()) == {"schema", "reports", "whole_rubric", "rank", "ties"}
    assert comparison.outcomes == (ADMIT,)
