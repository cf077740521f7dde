"""Reports: every figure with its denominator, and nothing that depends on the order of rows."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.evidence import (
    AdjudicationFigure,
    AlphaFigure,
    CalibrationReport,
    EvidenceGrade,
    KappaFigure,
    UndefinedFigure,
)
from calibration.labels import Assessment, Blindness, LabelSource
from calibration.policy import far_only, shipped_policy
from calibration.report import baseline, build_report
from calibration.report.supplement import Supplement
from rubrics.verdict import FAIL, PASS, Verdict
from tests.calibration.examples import SCOPE, make_cases, make_report

EXERCISE_3 = {"fail": {"accept": 16, "reject": 64}, "pass": {"accept": 114, "reject": 6}}
MIXED = {
    "fail": {
        "accept": 2,
        "reject": 20,
        "abstained": 3,
        "invalid": 1,
        "inconsistent": 1,
        "error": 2,
        "missing": 1,
    },
    "pass": {"accept": 30, "reject": 4, "abstained": 2, "pending": 3},
    "unresolved": {"accept": 2, "reject": 3, "abstained": 1, "error": 1},
}


def gap(report: CalibrationReport, name: str) -> str | None:
    """The reason under not_assessed for a name."""
    return next((g.reason for g in report.not_assessed if g.name == name), None)


def test_exercise_3_gives_the_source_documents_figures() -> None:
    """Judge B of exercise 3: FAR 16/80, failure among accepted 16/130, kappa .766 [.674, .858]."""
    report = make_report(EXERCISE_3, far_only(0.10))
    assert (report.headline.x, report.headline.n) == (16, 80)
    assert report.headline.lower == pytest.approx(0.1270, abs=5e-5)
    assert report.headline.upper == pytest.approx(0.3005, abs=5e-5)
    accepted = report.failure_among_accepted
    assert (accepted.x, accepted.n) == (16, 130)
    assert (round(accepted.lower, 4), round(accepted.upper, 4)) == (0.0772, 0.1906)
    assert accepted.describes == "calibration mix"
    assert isinstance(report.kappa, KappaFigure)
    assert report.kappa.lower is not None
    assert report.kappa.upper is not None
    assert round(report.kappa.estimate, 3) == 0.766
    assert (round(report.kappa.lower, 3), round(report.kappa.upper, 3)) == (0.674, 0.858)


def test_final_unknowns_stay_in_every_denominator() -> None:
    """Abstained, invalid and inconsistent are non-acceptances: FAR and cost keep them in n."""
    report = make_report(MIXED)
    assert (report.headline.x, report.headline.n) == (2, 30)
    assert (report.far_decided.x, report.far_decided.n) == (2, 22)
    assert (report.frr.x, report.frr.n) == (4, 39)
    assert (report.non_acceptance_among_pass.x, report.non_acceptance_among_pass.n) == (9, 39)
    assert (report.coverage.x, report.coverage.n) == (61, 76)
    assert (report.abstention.x, report.abstention.n) == (6, 76)
    assert (report.invalid.x, report.invalid.n) == (1, 76)
    assert (report.open.x, report.open.n) == (7, 76)
    assert (report.disagreement.x, report.disagreement.n) == (11, 69)


def test_gate_takes_worst_case_above_and_best_case_below() -> None:
    """Worst: open failures and accepted or open unresolved count as accepted; best: none of them."""
    gate = make_report(MIXED).far_gate
    assert (gate.x, gate.n) == (2 + 3 + 2 + 1, 30 + 2 + 1)
    assert (gate.x_best, gate.n_best) == (2, 30)


def test_guard_gates_take_their_worst_case_too() -> None:
    """Open passes count as not accepted above and as accepted below; coverage counts open only above."""
    gates = make_report(MIXED).guard_gates
    cost = gates["non_acceptance_among_pass"]
    assert (cost.x, cost.n, cost.x_best, cost.n_best) == (9 + 5, 39 + 5, 6, 39)
    frr = gates["frr"]
    assert (frr.x, frr.n, frr.x_best, frr.n_best) == (7 + 4, 39 + 4, 4, 39)
    abstention = gates["abstention"]
    assert (abstention.x, abstention.n, abstention.x_best) == (6 + 7, 76, 6)
    invalid = gates["invalid"]
    assert (invalid.x, invalid.x_best) == (1 + 7, 1)
    coverage = gates["coverage"]
    assert (coverage.x, coverage.x_best, coverage.n) == (61 + 7, 61, 76)


def brute_far(counts: dict[str, dict[str, int]], *, every: bool) -> tuple[float, float]:
    """Least and greatest FAR over every resolution of what is unknown, by enumeration."""
    open_words = {"pending", "missing", "error"} | (
        {"abstained", "invalid", "inconsistent"} if every else set()
    )
    cells = [
        (reference, word)
        for reference in ("fail", "unresolved")
        for word, n in counts.get(reference, {}).items()
        for _ in range(n)
    ]
    choices = []
    for reference, word in cells:
        verdicts = (True, False) if word in open_words else (word == "accept",)
        references = (True, False) if reference == "unresolved" else (True,)
        choices.append(list(product(references, verdicts)))
    rates = []
    for resolved in product(*choices):
        failures = [accepted for is_fail, accepted in resolved if is_fail]
        if failures:
            rates.append(sum(failures) / len(failures))
    return min(rates), max(rates)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    fail=st.dictionaries(st.sampled_from(["accept", "reject", "abstained", "error"]), st.integers(0, 2)),
    unresolved=st.dictionaries(
        st.sampled_from(["accept", "reject", "invalid", "missing"]), st.integers(0, 1)
    ),
    every=st.booleans(),
)
def test_bounds_are_the_extremes_over_every_resolution(
    fail: dict[str, int], unresolved: dict[str, int], every: bool
) -> None:
    """Both pairs of FAR bounds equal the extremes found by enumerating every resolution."""
    counts = {"fail": {"reject": 1, **fail}, "unresolved": unresolved}
    counts["fail"]["reject"] = max(counts["fail"]["reject"], 1)
    report = make_report(counts)
    bounds = report.far_bounds_all_unknown if every else report.far_bounds
    low, high = brute_far(counts, every=every)
    assert bounds.low == pytest.approx(low)
    assert bounds.high == pytest.approx(high)


def test_row_order_changes_nothing() -> None:
    """Shuffled cases give the same report, digest included."""
    cases = make_cases(MIXED, per_cluster=3)
    shuffled = cases.copy()
    random.Random(7).shuffle(shuffled)
    assert build_report(cases, scope=SCOPE) == build_report(shuffled, scope=SCOPE)


def test_names_of_items_and_prompts_change_no_number() -> None:
    """Other ids, in another order, resample the same counts: kappa's ends and the raters' are the same."""
    cases = make_cases(
        {"fail": {"accept": 7, "reject": 33}, "pass": {"accept": 40, "reject": 5}}, per_cluster=2
    )
    said = {case.item_id: case.reference.verdict for case in cases}
    flips = {case.item_id for case in cases[::9]}
    assessments = [
        Assessment(
            item, SCOPE.criterion, rater, PASS.verdict if rater == "ben" and item in flips else verdict
        )
        for item, verdict in said.items()
        for rater in ("ann", "ben")
    ]
    names = {item: f"z{1000 - place}" for place, item in enumerate(said)}
    renamed = [replace(case, item_id=names[case.item_id], cluster=case.cluster[::-1]) for case in cases]
    first = build_report(cases, scope=SCOPE, assessments=assessments)
    second = build_report(
        renamed, scope=SCOPE, assessments=[replace(each, item_id=names[each.item_id]) for each in assessments]
    )
    own = {"report", "inputs", "accepted_failures"}
    assert first.model_dump(exclude=own) == second.model_dump(exclude=own)


def test_digest_moves_with_any_case() -> None:
    """One changed outcome, cluster or reference is another report."""
    cases = make_cases(EXERCISE_3)
    changed = [replace(cases[0], outcome=FAIL), *cases[1:]]
    digests = {build_report(c, scope=SCOPE).inputs for c in (cases, changed, cases[1:])}
    assert len(digests) == 3


def test_one_item_twice_is_refused() -> None:
    """Two cases of one item are no two items."""
    cases = make_cases(EXERCISE_3)
    with pytest.raises(ValueError, match="'i00000' stands twice"):
        build_report([*cases, cases[0]], scope=SCOPE)


def test_no_reference_failure_leaves_far_undefined_with_the_whole_interval() -> None:
    """200 passes: FAR has no estimate, the interval is [0, 1], and the reason is listed."""
    report = make_report({"pass": {"accept": 200}})
    assert report.headline.estimate is None
    assert (report.headline.lower, report.headline.upper) == (0.0, 1.0)
    assert gap(report, "far") == "no item has a reference failure"
    assert report.far_bounds.low is None
    assert isinstance(report.kappa, UndefinedFigure)
    assert gap(report, "kappa") is not None


def test_no_case_at_all_is_a_report_without_numbers() -> None:
    """An empty set gives every gap its reason and no number."""
    report = build_report([], scope=SCOPE)
    assert report.counts.reference_fail == 0
    assert {"far", "coverage", "kappa", "frr"} <= {g.name for g in report.not_assessed}


def test_kappa_under_a_rare_label_is_not_assessed() -> None:
    """980/10/9/1: agreement .98 hides that nine of ten failures are accepted; kappa is not assessed."""
    report = make_report({"fail": {"accept": 9, "reject": 1}, "pass": {"accept": 980, "reject": 10}})
    reason = gap(report, "kappa")
    assert reason is not None
    assert "under 10 %" in reason
    assert report.headline.x == 9


def test_constant_judge_has_kappa_zero_without_interval() -> None:
    """A judge that accepts everything: kappa 0, degenerate, no interval."""
    report = make_report({"fail": {"accept": 80}, "pass": {"accept": 120}})
    assert isinstance(report.kappa, KappaFigure)
    assert report.kappa.degenerate
    assert report.kappa.lower is None
    assert report.kappa.estimate == 0


def test_perfect_agreement_has_an_interval_of_its_size() -> None:
    """Three failures and three passes, all right: kappa 1 down to .22, never [1, 1]."""
    kappa = make_report({"fail": {"reject": 3}, "pass": {"accept": 3}}).kappa
    assert isinstance(kappa, KappaFigure)
    assert kappa.lower is not None
    # Wilson 6/6: lower 6 / (6 + 1.96²) = .6097; chance agreement .5
    assert round(kappa.lower, 2) == 0.22
    assert kappa.upper == 1
    assert "all agree" in kappa.method


def test_clustered_cases_give_kappa_a_wider_bootstrap_interval() -> None:
    """Five cases a cluster that agree or disagree together: the interval is wider than for single cases."""
    counts = {"fail": {"accept": 20, "reject": 60}, "pass": {"accept": 100, "reject": 20}}
    alone, together = make_report(counts).kappa, make_report(counts, per_cluster=5).kappa
    assert isinstance(alone, KappaFigure)
    assert isinstance(together, KappaFigure)
    assert together.method == "percentile bootstrap"
    assert alone.lower is not None
    assert alone.upper is not None
    assert together.lower is not None
    assert together.upper is not None
    assert together.upper - together.lower > 1.5 * (alone.upper - alone.lower)


def test_clusters_widen_the_gate_and_leave_far_plain() -> None:
    """20 prompts of five failures, 4 accepted: plain upper 9.8 %, by clusters over 10 %."""
    report = make_report({"fail": {"accept": 4, "reject": 96}}, per_cluster=5)
    assert report.headline.upper == pytest.approx(0.0984, abs=5e-5)
    assert report.far_gate.method == "cluster wilson"
    assert report.far_gate.clusters == 20
    assert report.far_gate.upper > 0.10
    assert report.counts.clusters_fail == 20


def test_policy_level_reaches_the_gate_but_not_far() -> None:
    """Three looks widen the gate's interval; the shown FAR stays at 95 %."""
    report = make_report(EXERCISE_3, shipped_policy("acceptance"))
    assert report.headline.confidence == 0.95
    assert report.far_gate.confidence == pytest.approx(1 - 0.05 / 3)
    assert report.far_gate.upper > report.headline.upper


def test_slices_have_their_own_failures() -> None:
    """Each slice counts its own failures, in the order of names."""
    cases = make_cases(EXERCISE_3, slices=(("kind", "easy"),)) + make_cases(
        {"fail": {"accept": 3, "reject": 7}}, slices=(("kind", "adversarial"),), start=1000
    )
    report = build_report(cases, scope=SCOPE)
    assert [(s.value, s.far.x, s.far.n) for s in report.slices] == [("adversarial", 3, 10), ("easy", 16, 80)]


def test_constant_baselines_stand_beside_every_judge() -> None:
    """Always-accept has FAR n/n, always-reject 0/n, whatever the judge does; others are added."""
    extra = baseline("length", "short answers pass", make_cases(EXERCISE_3))
    report = build_report(make_cases(EXERCISE_3), scope=SCOPE, baselines=[extra])
    found = {b.name: (b.far.x, b.far.n, b.non_acceptance_among_pass.x) for b in report.baselines}
    assert found == {"always-accept": (80, 80, 0), "always-reject": (0, 80, 120), "length": (16, 80, 6)}


def assessments(*rows: tuple[str, str, Verdict], **fields: Any) -> list[Assessment]:
    """Labels as (item, rater, verdict)."""
    return [Assessment(item, "supported", rater, verdict, **fields) for item, rater, verdict in rows]


def test_two_raters_give_agreement_and_kappa() -> None:
    """Three of four shared items agree; kappa by hand: po .75, pe .5, kappa .5."""
    p, f = Verdict.PASS, Verdict.FAIL
    rows = [("1", "a", p), ("1", "b", p), ("2", "a", p), ("2", "b", f), ("3", "a", f), ("3", "b", f)]
    rows += [("4", "a", f), ("4", "b", f), ("5", "a", p)]
    report = build_report(make_cases(EXERCISE_3), scope=SCOPE, assessments=assessments(*rows))
    raters = report.raters
    assert raters is not None
    assert (raters.agreement.x, raters.agreement.n) == (3, 4)  # type: ignore[union-attr]
    assert isinstance(raters.kappa, KappaFigure)
    # margins a: 2 pass 2 fail; b: 1 pass 3 fail; pe = (2*1 + 2*3)/16 = .5
    assert raters.kappa.estimate == pytest.approx(0.5)


def test_one_rater_is_said_to_be_one() -> None:
    """A single rater leaves reliability unassessed, in these words."""
    report = build_report(
        make_cases(EXERCISE_3), scope=SCOPE, assessments=assessments(("1", "a", Verdict.PASS))
    )
    assert gap(report, "raters") == "one rater: reliability not assessed"
    assert report.evidence_grade is EvidenceGrade.ONE_RATER
    assert "second independent person" in " ".join(report.not_established)


def test_three_raters_have_an_alpha() -> None:
    """With more than two raters agreement beyond chance is Krippendorff's alpha."""
    p, f = Verdict.PASS, Verdict.FAIL
    rows = [(str(i), rater, p if i % 2 else f) for i in range(10) for rater in "abc"]
    rows[0] = ("0", "a", p)
    report = build_report(make_cases(EXERCISE_3), scope=SCOPE, assessments=assessments(*rows))
    assert report.raters is not None
    assert isinstance(report.raters.kappa, UndefinedFigure)
    assert isinstance(report.raters.alpha, AlphaFigure)
    assert report.raters.alpha.lower is not None
    assert report.raters.alpha.lower < report.raters.alpha.estimate < 1
    assert gap(report, "raters") is None


def test_grade_follows_from_the_records() -> None:
    """Model labels, constructed items and no rater at all are each named."""
    model = assessments(("1", "gpt", Verdict.PASS), source=LabelSource.MODEL)
    cases = make_cases(EXERCISE_3)
    assert build_report(cases, scope=SCOPE).evidence_grade is EvidenceGrade.UNKNOWN
    assert build_report(cases, scope=SCOPE, assessments=model).evidence_grade is EvidenceGrade.MODEL
    made = build_report(cases, scope=SCOPE, constructed=True)
    assert made.evidence_grade is EvidenceGrade.CONSTRUCTED
    assert "written for demonstration" in " ".join(made.not_established)


def test_an_adjudicated_rate_that_waits_is_a_gap() -> None:
    """Until the drawn cases are adjudicated there is no re-weighted rate: the report says what waits."""
    waits = AdjudicationFigure(
        cells=(), cases=80, drawn=12, adjudicated=4, undefined="8 of 12 drawn cases wait"
    )
    cases = make_cases(EXERCISE_3)
    report = build_report(cases, scope=SCOPE, supplement=Supplement(adjudication=waits))
    assert gap(report, "adjudication") == "8 of 12 drawn cases wait"
    assert gap(build_report(cases, scope=SCOPE), "adjudication") is None


def test_blindness_is_counted() -> None:
    """Labels whose blindness is unknown are listed as a gap; declared ones are not."""
    seen = assessments(("1", "a", Verdict.PASS), ("2", "a", Verdict.FAIL))
    blind = assessments(("1", "a", Verdict.PASS), blind=Blindness.DECLARED)
    cases = make_cases(EXERCISE_3)
    reason = gap(build_report(cases, scope=SCOPE, assessments=seen), "blindness")
    assert reason == "2 of 2 labels do not say that the rater was blind to the judge"
    assert gap(build_report(cases, scope=SCOPE, assessments=blind), "blindness") is None


def test_far_only_lists_what_it_does_not_judge() -> None:
    """Coverage and abstention are shown and not judged under far_only; acceptance judges them."""
    loose = {g.name for g in make_report(EXERCISE_3, far_only(0.1)).not_assessed}
    strict = {g.name for g in make_report(EXERCISE_3, shipped_policy("acceptance")).not_assessed}
    assert {"coverage", "abstention"} <= loose
    assert not {"coverage", "abstention"} & strict


def test_json_has_every_key_of_the_contract() -> None:
    """The report JSON holds the keys that scripts rely on."""
    text = make_report(EXERCISE_3).model_dump(mode="json", by_alias=True)
    wanted = {
        "schema", "report", "judge", "rubric", "criterion", "dataset", "set", "run", "policy", "not_assessed",
        "counts", "far", "far_gate", "far_decided", "far_bounds", "far_bounds_all_unknown", "frr",
        "non_acceptance_among_pass", "failure_among_accepted", "kappa", "kappa_decided", "disagreement",
        "wrong_side", "margins", "coverage", "abstention", "position", "repeats", "raters", "slices",
    }  # fmt: skip
    assert wanted <= set(text)
    assert set(text["margins"]["reference"]) == {"pass", "fail", "n"}
    assert set(text["far_bounds"]) == {"low", "high"}


def test_blind_raters_leave_no_gap() -> None:
    """With position, repeats and slices known and blind raters, none of them is listed as a gap."""
    cases = make_cases(EXERCISE_3, slices=(("kind", "easy"),))
    supplement = Supplement(position={"AA": 100, "BB": 100}, repeats=((2, 0),) * 10)
    labels = assessments(
        *[(str(i), rater, Verdict.PASS if i % 2 else Verdict.FAIL) for i in range(40) for rater in "ab"],
        blind=Blindness.YES,
    )
    report = build_report(cases, scope=SCOPE, assessments=labels, supplement=supplement)
    gaps = {gap.name for gap in report.not_assessed}
    assert not gaps & {"position", "repeats", "slices", "blindness", "raters"}
