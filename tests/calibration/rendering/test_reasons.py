"""Sentences of rarer outcomes: compared judges, other binding items, many judges, nothing decided."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from calibration.admission import decide
from calibration.evidence import Comparison, Examination
from calibration.labels import Blindness
from calibration.policy import AdmissionPolicy, Guard, Minimum, far_only, shipped_policy
from calibration.rendering.html import render_html
from calibration.rendering.next_step import next_step
from calibration.rendering.numbers import NBSP, NNBSP
from calibration.rendering.reading import Readings
from calibration.rendering.reasons import Reasons, reasons
from calibration.rendering.sentences import decision_sentence, headline, more_failures
from tests.calibration.rendering import examples
from tests.calibration.rendering.examples import Evidence, examine, report_of


def plain(text: str) -> str:
    """The text with plain spaces."""
    return text.replace(NNBSP, " ").replace(NBSP, " ")


def reasons_of(shown: Examination | Comparison) -> Reasons:
    """The three columns with plain spaces."""
    found = reasons(Readings.of(shown))
    return Reasons(*(tuple(plain(t) for t in part) for part in (found.bound, found.change, found.silent)))


def step(shown: Examination | Comparison) -> str:
    """The last line with plain spaces."""
    return plain(next_step(shown))


GOOD = Evidence(fail=120, good=130, accepted_good=125, raters=2, blind=Blindness.YES)


def guarded(**guards: Guard) -> AdmissionPolicy:
    """far_only with further guards."""
    return far_only(0.10).model_copy(update={"guards": guards})


def test_holm_may_hold_back_a_judge_that_passes_alone() -> None:
    """Among several judges the error is divided: what passes alone may be insufficient, and this is said."""
    policy = shipped_policy("acceptance")
    # 3 of 121 passes alone (one-sided p .002); with four rivals as good Holm asks for a fifth of .0083
    evidence = replace(GOOD, fail=110, accepted_fail=3)
    report = report_of(evidence, policy=policy, judge="judge-1")
    rivals = [report_of(evidence, policy=policy, judge=f"judge-{i}") for i in range(2, 6)]
    shown = Examination(report=report, decision=decide(report, policy, rivals=rivals))
    assert shown.decision is not None
    assert (shown.decision.outcome.value, shown.decision.binding) == ("insufficient_evidence", "far")
    assert (
        "holds the limit alone, but not among all judges compared (Holm-adjusted p"
        in reasons_of(shown).bound[0]
    )
    assert "alone it holds the limit, among the judges compared it does not" in step(shown)
    assert more_failures(Readings.of(shown).all[0]) == ""


def test_judges_that_only_holm_holds_back_are_named() -> None:
    """Many judges that each hold the limit alone: what would change the outcome is not left blank."""
    policy = shipped_policy("acceptance")
    evidence = replace(GOOD, fail=110, accepted_fail=3)
    reports = [report_of(evidence, policy=policy, judge=f"judge-{i}") for i in range(1, 6)]
    made = tuple(
        Examination(report=one, decision=decide(one, policy, rivals=[r for r in reports if r is not one]))
        for one in reports
    )
    assert reasons_of(Comparison(examinations=made)).change == (
        "Within the limit alone, but not among all judges compared: judge-1, judge-2, judge-3, judge-4 and "
        "judge-5.",
    )


def test_rejection_on_few_answers_names_no_allowance() -> None:
    """Of ten failing answers not even none accepted would pass: no number is said to be allowed."""
    change = reasons_of(examine(Evidence(fail=10, accepted_fail=5))).change
    assert change[0].startswith("More evidence on the same judge: 103 more failing answers, all rejected")
    assert not [text for text in change if "this limit allows" in text]


def test_clusters_that_change_nothing_are_only_counted() -> None:
    """Where independent answers would be rejected as well, no pass by mistake is claimed."""
    shown = examine(Evidence(fail=100, accepted_fail=60, per_prompt=5))
    assert reasons_of(shown).bound == (
        "It accepted 60/100 failing answers: at least 39 %. The limit is 10 %. 100 answers from 20 prompts "
        "are worth about 20 independent ones.",
    )


def test_slice_that_breaks_its_limit_is_named() -> None:
    """A judge rejected for one slice: the slice and its count are what to read."""
    evidence = replace(GOOD, fail=120, accepted_fail=0, slices=True)
    policy = guarded(slice_far=Guard(lower_not_above=0.10, min_n=20))
    found = examine(evidence, policy=policy)
    worse = found.report.slices[0].model_copy(
        update={"far": found.report.headline.model_copy(update={"x": 9, "n": 40, "estimate": 9 / 40})}
    )
    gate = worse.far_gate.model_copy(
        update={"x": 9, "n": 40, "x_best": 9, "n_best": 40, "n_effective": 40.0, "n_effective_best": 40.0,
                "lower": 0.123, "upper": 0.375}
    )  # fmt: skip
    report = found.report.model_copy(update={"slices": (worse.model_copy(update={"far_gate": gate}),)})
    shown = Examination(report=report, decision=decide(report, policy))
    assert step(shown) == (
        "Next: read the 9 failing answers it accepted in kind adversarial, change the judge, use a fresh set."
    )
    assert reasons_of(shown).bound == (
        "No slice wholly over the limit: 9/40 23 % [12, 38]; the policy asks for lower end ≤ 10 % "
        "(kind adversarial).",
    )


def test_other_broken_guards_are_named() -> None:
    """An item without words of its own for the next step is named."""
    shown = examine(replace(GOOD, abstained_fail=80), policy=guarded(abstention=Guard(point_at_most=0.10)))
    assert step(shown) == "Next: look into abstained, change the judge, use a fresh set."
    assert reasons_of(shown).change == (
        "Another judge or prompt is a new examination, on answers that did not shape it.",
    )


def test_many_missing_grounds_are_listed_after_three() -> None:
    """Beyond three items the rest is named in one sentence."""
    evidence = Evidence(fail=20, good=30, raters=1)
    bound = reasons_of(examine(evidence, policy=shipped_policy("acceptance"))).bound
    assert len(bound) == 4
    assert bound[3].startswith("Further: ")
    assert "raters per answer" in bound[3]


def test_item_that_binds_without_the_gate_says_what_it_asks() -> None:
    """What would change an outcome bound by a minimum is the minimum."""
    policy = far_only(0.10).model_copy(update={"minimum": Minimum(fail=200)})
    assert reasons_of(examine(GOOD, policy=policy)).change[0] == "Failing answers: at least 200."


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (Evidence(fail=50, good=0), "collect answers that people pass: without them nothing shows"),
        (Evidence(fail=50, good=30, accepted_good=1), "use a judge that accepts good answers more often"),
    ],
)
def test_judge_that_may_tell_nothing_apart(evidence: Evidence, words: str) -> None:
    """The gate passes and the judge is still not informative: what is missing depends on the good answers."""
    assert words in step(examine(evidence))


def test_admission_without_known_blindness_asks_for_it() -> None:
    """Two raters whose blindness nobody recorded: that is what is missing before relying on the judge."""
    evidence = replace(GOOD, blind=Blindness.UNKNOWN)
    assert step(examine(evidence)) == (
        "Next: before relying on it, record that the raters could not see the judge."
    )


def test_three_raters_are_shown_with_their_own_coefficient() -> None:
    """With three raters Cohen's kappa is undefined and alpha stands in its place."""
    policy = guarded(rater_kappa=Guard(point_at_least=0.6))
    html = plain(render_html(examine(replace(GOOD, raters=3), policy=policy), made_at=None))
    assert "3 raters: Cohen&#39;s kappa is for two, see alpha" in html
    assert re.search(
        r"Agreement between raters \(kappa, alpha\).*?≥ 0\.60.*?1\.0 \(no interval: too uniform\)",
        html,
        re.DOTALL,
    )


def test_unknown_raters_are_asked_for_when_their_agreement_binds() -> None:
    """One rater under a policy that asks for rater agreement: two raters are the step."""
    policy = guarded(rater_kappa=Guard(point_at_least=0.6))
    assert "have two raters, blind to the judge" in step(examine(replace(GOOD, raters=1), policy=policy))


def test_nothing_decided_for_several_judges() -> None:
    """Several judges without a limit: measured, and none decided."""
    shown = Comparison(examinations=(examples.undecided(), examine(examples.FLAT, limit=None, judge="other")))
    assert plain(decision_sentence(Readings.of(shown))) == "Two judges measured, none decided."
    assert plain(headline(shown)) == (
        "Of 80 answers that people failed, two judges accepted 16, 20 %; you named no limit."
    )
    assert step(shown).startswith("Next: name the largest share of failing answers")


def test_no_failing_answer_for_several_judges() -> None:
    """Several judges and no failing answer at all."""
    none = Evidence(fail=0, good=60)
    shown = Comparison(examinations=(examine(none, judge="a"), examine(none, judge="b")))
    assert plain(headline(shown)) == (
        "No answer was failed, so nothing shows how often a failure is accepted; your limit is 10 %: "
        "2 insufficient evidence."
    )


def test_judges_with_different_failures_name_the_range() -> None:
    """Judges examined on different numbers of failures are not said to share one."""
    shown = Comparison(
        examinations=(
            examine(Evidence(fail=50, accepted_fail=1), judge="a"),
            examine(Evidence(fail=80, accepted_fail=16), judge="b"),
        )
    )
    assert plain(headline(shown)).startswith("Of 50 to 80 answers that people failed, two judges accepted")


def test_several_judges_under_several_criteria_are_named_by_both() -> None:
    """Names that would be ambiguous carry the criterion."""
    made = tuple(
        examine(Evidence(fail=80, accepted_fail=accepted), judge=judge, criterion=criterion)
        for judge, criterion, accepted in (("a", "x", 0), ("a", "y", 30), ("b", "x", 4), ("b", "y", 0))
    )
    readings = Readings.of(Comparison(examinations=made))
    assert plain(decision_sentence(readings)) == (
        "Admit a on x and b on y. Reject a on y. Collect more evidence on b on x."
    )
    assert [readings.name(r) for r in readings.all] == ["a on x", "b on x", "b on y", "a on y"]


def test_many_judges_are_summed_up_by_outcome() -> None:
    """Eleven judges: one sentence for each outcome, the weakest admission named with what ends it."""
    found = reasons_of(examples.eleven_judges())
    assert [text.split(":")[0] for text in found.bound] == ["Admit", "Insufficient evidence", "Reject"]
    assert found.bound[2].endswith("and 3 more.")
    assert found.change[0].startswith("Admitted: the first to fall is Contains. About ")
    assert found.change[1].startswith("Failing answers still needed: JudgeLM (")
    assert found.silent[0] == "That JudgeLM and Llama-13B differ: 30 against 42 of 1,093 shared failures."


def test_many_judges_bound_by_other_items_name_them() -> None:
    """Where a guard bound a judge, its number stands for it."""
    policy = shipped_policy("acceptance")
    poor = Evidence(fail=120, good=130, accepted_good=60, raters=2, blind=Blindness.YES)
    small = replace(GOOD, good=30, accepted_good=30)
    made = [examine(poor, policy=policy, judge=f"poor-{i}") for i in range(3)]
    made += [examine(small, policy=policy, judge=f"small-{i}") for i in range(2)]
    found = reasons_of(Comparison(examinations=tuple(made)))
    assert "poor-0 (good answers not accepted 70/130 54 % [43, 64])" in found.bound[1]
    assert found.change[0] == "Still to settle: small-0 (good answers) and small-1 (good answers)."


def test_policies_that_ask_for_different_items_leave_cells_not_applicable() -> None:
    """Side by side, an item that one policy does not have is not applicable there."""
    shown = Comparison(
        examinations=(
            examine(GOOD, policy=shipped_policy("acceptance"), judge="a"),
            examine(GOOD, judge="b"),
        )
    )
    html = render_html(shown, made_at=None)
    assert "not applicable" in html
    assert "limits are" not in html


def test_different_limits_are_all_named() -> None:
    """Criteria with limits of their own: the first line names each."""
    shown = Comparison(
        examinations=(
            examine(GOOD, limit=0.10, criterion="x"),
            examine(GOOD, limit=0.05, criterion="y"),
        )
    )
    assert "your limits are 10 % and 5 %" in plain(headline(shown))
    assert "at most its limit of the answers that should fail" in plain(render_html(shown, made_at=None))


def test_needed_failures_at_the_same_number_are_said_once() -> None:
    """Without an accepted failure the clean number is also the number at the observed rate."""
    assert more_failures(Readings.of(examine(Evidence(fail=20))).all[0]) == (
        "15 more failing answers, all rejected (at one look)"
    )


def test_needed_failures_are_not_made_up() -> None:
    """Nothing is needed where nothing was decided; where no number would do, that is said."""
    assert more_failures(Readings.of(examples.undecided()).all[0]) == ""
    found = examples.insufficient()
    assert found.decision is not None
    none = found.decision.more_failures_needed.model_copy(update={"clean": None, "at_observed_rate": None})
    decision = found.decision.model_copy(update={"more_failures_needed": none})
    shown = Examination(report=found.report, decision=decision)
    assert reasons_of(shown).change[0] == "No number of further failing answers would do."
