"""Sentences beyond the set: one for each figure that was asked for, none otherwise."""

from __future__ import annotations

from dataclasses import replace

from calibration.admission import decide
from calibration.evidence import AdjudicationFigure, Comparison, Examination
from calibration.policy import far_only
from calibration.rendering.beyond import beyond_sentences
from calibration.rendering.html import render_html
from calibration.rendering.reading import Readings
from calibration.report import build_report
from calibration.report.supplement import Deployment, Supplement
from calibration.report.whole import WHOLE, whole_rubric_cases
from calibration.statistics.rater_error import RaterErrors
from tests.calibration.examples import SCOPE, make_cases

TEN = far_only(0.10)
EXERCISE_3 = {"fail": {"accept": 16, "reject": 64}, "pass": {"accept": 114, "reject": 6}}
EVERYTHING = Supplement(
    deployment=Deployment(700, 1000), prevalence=0.05, rater_errors=RaterErrors(0.98, 0.995)
)


def examined(supplement: Supplement, counts: dict[str, dict[str, int]] = EXERCISE_3) -> Examination:
    """The examination of such counts with a supplement."""
    report = build_report(make_cases(counts), scope=SCOPE, policy=TEN, supplement=supplement)
    return Examination(report=report, decision=decide(report, TEN))


def said(examination: Examination | Comparison) -> tuple[str, ...]:
    """The sentences with plain spaces."""
    return tuple(text.replace("\u202f", " ") for text in beyond_sentences(Readings.of(examination)))


def test_nothing_is_said_where_nothing_was_asked() -> None:
    """A plain examination has no sentence beyond its set, and the page no such section."""
    assert said(examined(Supplement())) == ()
    assert "Beyond this set" not in render_html(examined(Supplement()), made_at=None)


def test_each_figure_has_its_sentence() -> None:
    """Deployment, prevalence and rater error, each with its numbers; the page shows them too."""
    corrected, restated, raters = said(examined(EVERYTHING))
    assert corrected == (
        "Of 1,000 answers in use it accepted 700; corrected for its errors 67 % [60, 73] pass (Rogan-Gladen)."
    )
    assert restated.startswith("Where 5 % of all answers fail, 1.1 % [0.7, 1.7] of what it accepts")
    assert raters.startswith("If raters fail 98 % of the failures and pass 99.5 % of the good answers")
    assert "a perfect judge would show" in raters
    assert "Beyond this set" in render_html(examined(EVERYTHING), made_at=None)


def test_an_adjudicated_draw_has_its_sentence() -> None:
    """The re-weighted rate once every drawn case is ruled; before that the count and what is waited for."""
    figure = AdjudicationFigure(
        cells=(), cases=200, drawn=60, adjudicated=60, estimate=0.21, lower=0.15, upper=0.28
    )
    waiting = AdjudicationFigure(
        cells=(), cases=200, drawn=60, adjudicated=40, undefined="20 of 60 drawn cases wait"
    )
    plain = examined(Supplement())
    texts = [
        said(plain.model_copy(update={"report": plain.report.model_copy(update={"adjudication": found})}))[0]
        for found in (figure, waiting)
    ]
    assert texts[0].startswith(
        "60 of 60 drawn cases adjudicated, drawn from accepted and not accepted answers"
    )
    assert "re-weighted to all 200, its FAR against the adjudicated truth is 21 % [15, 28]" in texts[0]
    assert texts[1] == (
        "40 of 60 drawn cases adjudicated; no FAR against the adjudicated truth: 20 of 60 drawn cases wait."
    )


def test_what_cannot_be_computed_is_said_with_its_reason() -> None:
    """A constant accepter corrects nothing; one label class carries no rater error."""
    constant = said(examined(EVERYTHING, {"fail": {"accept": 80}, "pass": {"accept": 120}}))
    assert "cannot be corrected" in constant[0]
    alone = said(examined(Supplement(rater_errors=RaterErrors(0.98, 0.995)), {"fail": {"reject": 9}}))
    assert "is not known" in alone[0]
    nothing = said(examined(Supplement(prevalence=0.05), {}))
    assert nothing == ()


def test_groups_of_failures_have_their_standing() -> None:
    """A severe level with ten failures is not assessed; without a policy nothing is said of a limit."""
    cases = [replace(c, severity="severe") for c in make_cases({"fail": {"accept": 3, "reject": 7}})]
    report = build_report(cases, scope=SCOPE, policy=TEN)
    (sentence,) = said(Examination(report=report, decision=decide(report, TEN)))
    assert sentence.startswith("Severity severe: 3/10 failing answers accepted, 30 %")
    assert sentence.endswith("not assessed: too few.")
    bare = build_report(cases, scope=SCOPE)
    assert "not assessed" not in said(Examination(report=bare, decision=None))[0]


def test_the_whole_rubric_has_a_sentence_for_each_judge() -> None:
    """What all criteria together amount to stands first, named by judge; without failures it says so."""
    cases = make_cases(EXERCISE_3)
    for counts, words in (
        (cases, "of 80 answers that fail any of them it accepted 16"),
        (cases[80:], "no answer fails"),
    ):
        report = build_report(
            whole_rubric_cases({"a": counts, "b": counts}),
            scope=SCOPE.model_copy(update={"criterion": WHOLE}),
            policy=TEN,
        )
        whole = Examination(report=report, decision=decide(report, TEN))
        both = Comparison(examinations=(examined(Supplement()), examined(EVERYTHING)), whole_rubric=(whole,))
        found = said(both)
        assert words in found[0]
        assert found[0].startswith("All criteria together, judge-a")
        assert found[1].startswith("judge-a: of 1,000") or found[1].startswith("Judge-a: of 1,000")
