"""Orders, repeats, own answers, designs and exploratory reports as they are shown."""

from __future__ import annotations

import re

from calibration.admission import decide
from calibration.evidence import Examination, ReportScope
from calibration.policy import far_only
from calibration.rendering.html import render_html
from calibration.rendering.next_step import next_step
from calibration.rendering.numbers import NNBSP
from calibration.report import build_report
from calibration.report.supplement import AnswerTable, Supplement
from tests.calibration.rendering.examples import Evidence, cases_of


def examined(supplement: Supplement) -> Examination:
    """0 of 50 with the supplement, under far_only."""
    policy = far_only(0.10)
    report = build_report(
        cases_of(Evidence(fail=50, accepted_good=114)),
        scope=ReportScope(judge="judge-a", criterion="better"),
        policy=policy,
        supplement=supplement,
    )
    return Examination(report=report, decision=decide(report, policy))


def text_of(supplement: Supplement) -> str:
    """The page's text with plain spaces and without tags."""
    html = render_html(examined(supplement), made_at=None)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html).replace(NNBSP, " "))


def test_orders_are_shown_with_their_denominators() -> None:
    """123 of 150 the same in both orders, 25 of 150 the same place, 20 of those 25 the first."""
    cells = {"AA": 60, "BB": 55, "TT": 8, "FF": 20, "SS": 5, "X": 2}
    text = text_of(Supplement(position=cells))
    assert "Order of presentation: judge-a" in text
    assert "123/150 82 %" in text
    assert "25/150 17 %" in text
    # exact two-sided p of 20 against 5: .00408
    assert re.search(r"20/25\s+80 %\s+\[61, 91\]\s+, p = \.004", text)
    assert "10.0 points" in text


def test_repeats_are_shown_and_add_nothing() -> None:
    """Two of three items alike in all runs; pairs agree 7 of 9."""
    text = text_of(Supplement(repeats=((3, 0), (2, 1), (0, 3))))
    assert re.search(r"All runs alike\s+2/3", text)
    assert "77.8 %, no interval" in text
    assert "repeats never add to the failing answers" in text


def test_own_answers_are_shown_pair_by_pair() -> None:
    """Levels keep their own agreement beside pass and fail."""
    table = AnswerTable(answers=("1", "2"), counts=((10, 2, 1), (3, 20, 0)), ordered=True)
    text = text_of(Supplement(answers=table))
    assert re.search(r"Same answer, judge's unknowns differ\s+30/36", text.replace("&#39;", "'"))
    assert "1: 10, 2: 2, unknown: 1" in text
    assert "quadratic weights" in text


def test_design_says_what_a_figure_may_describe() -> None:
    """How the items were drawn stands with the reference."""
    text = text_of(Supplement(design="simple_random", claim="describes the population it was drawn from"))
    assert "simple random" in text
    assert "describes the population it was drawn from" in text


def test_exploratory_report_says_why_it_cannot_admit() -> None:
    """The stamp, the reason and the next step say that no number on the page decides."""
    supplement = Supplement(exploratory="the policy was recorded after the set was frozen")
    text = text_of(supplement)
    assert "exploratory: cannot admit" in text
    assert "Exploratory, cannot admit: the policy was recorded after the set was frozen" in text
    assert next_step(examined(supplement)) == (
        "Next: fix the policy first, then draw a fresh set that did not shape the judge."
    )
