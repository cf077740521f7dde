"""Pairs without a declared candidate: sides are preferred, nothing is accepted."""

from __future__ import annotations

import pytest

from calibration.admission import decide
from calibration.evidence import Comparison, Examination, UndefinedFigure
from calibration.policy import far_only
from calibration.rendering.items import kappa_words
from calibration.rendering.next_step import next_step
from calibration.rendering.numbers import NBSP, NNBSP
from calibration.rendering.reading import Readings
from calibration.rendering.reasons import reasons
from calibration.rendering.sentences import decision_sentence, headline
from tests.calibration.rendering.examples import Evidence, examine, preferences

NO_SIDE = Evidence(fail=0, good=0, unresolved=40)


def plain(text: str) -> str:
    """The text with plain spaces."""
    return text.replace(NNBSP, " ").replace(NBSP, " ")


def bound_of(shown: Examination | Comparison) -> list[str]:
    """What bound the outcome, with plain spaces."""
    return [plain(text) for text in reasons(Readings.of(shown)).bound]


def judges(*evidence: Evidence) -> Comparison:
    """One judge, a, b and so on, for each evidence."""
    made = (preferences(one, judge=name) for one, name in zip(evidence, "abc", strict=False))
    return Comparison(examinations=tuple(made))


def test_first_line_counts_preferred_sides() -> None:
    """The first line says how often the judge preferred the side that people did not, 2 of 100."""
    assert plain(headline(preferences(Evidence(fail=100, accepted_fail=2, good=0)))) == (
        "Of 100 pairs of which people preferred one side, the judge preferred the other side of 2, 2 %; "
        "up to 7 % fits this sample; your limit is 10 %."
    )


def test_first_line_counts_missing_verdicts_against_the_judge() -> None:
    """12 missing verdicts may all be wrong sides: 14 of 100 reach up to 22 %."""
    evidence = Evidence(fail=100, accepted_fail=2, good=0, open_fail=12)
    assert plain(headline(preferences(evidence))) == (
        "Of 100 pairs of which people preferred one side, the judge preferred the other side of 2, 2 %, "
        "and 12 have no verdict yet; counting that against it, up to 22 % fits this sample; "
        "your limit is 10 %."
    )


def test_pairs_without_a_preferred_side_measure_nothing() -> None:
    """Where every pair is a tie or disputed, the first line and the reason say that nothing is measured."""
    shown = preferences(NO_SIDE)
    assert plain(headline(shown)).startswith("No pair has an agreed preferred side: 40 of 40 pairs")
    assert bound_of(shown)[0] == (
        "No pair has a preferred side, so there is nothing to measure the wrong side on."
    )


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (
            Evidence(fail=100, accepted_fail=30, good=0),
            "Of 100 pairs with a preferred side, two judges preferred the other side of between 2 (2 %) "
            "and 30 (30 %); your limit is 10 %: 1 admit, 1 reject.",
        ),
        (
            Evidence(fail=100, accepted_fail=2, good=0),
            "Of 100 pairs with a preferred side, two judges preferred the other side of 2, 2 %; "
            "your limit is 10 %: 2 admit.",
        ),
    ],
)
def test_several_judges_share_one_line(evidence: Evidence, words: str) -> None:
    """Several judges of the same pairs stand in one line, by the fewest and the most wrong sides."""
    shown = judges(Evidence(fail=100, accepted_fail=2, good=0), evidence)
    assert plain(headline(shown)) == words
    assert bound_of(shown)[0] == (
        "a preferred the wrong side of 2/100 pairs: at most 7 %. The limit is 10 %."
    )


def test_several_judges_without_a_preferred_side() -> None:
    """Several judges and no preferred side: no span of counts is made up."""
    assert plain(headline(judges(NO_SIDE, NO_SIDE))) == (
        "Of 0 pairs with a preferred side, two judges have nothing to be measured on; your limit is 10 %: "
        "2 insufficient evidence."
    )


def test_rejected_judge_is_sent_to_its_pairs() -> None:
    """What to read are pairs on which it took the wrong side, not answers that it accepted."""
    assert next_step(preferences(Evidence(fail=100, accepted_fail=30, good=0))) == (
        "Next: read the 30 pairs on which it took the wrong side (their ids: --explain or the HTML report), "
        "change the judge, use a fresh set."
    )


def test_pairs_still_needed_are_pairs() -> None:
    """What is to be collected are pairs with a preferred side, not failing answers."""
    few = preferences(Evidence(fail=20, good=0))
    assert next_step(few).startswith(
        "Next: collect 15 more pairs with a preferred side, all on the right side (at one look). "
    )
    some = preferences(Evidence(fail=30, accepted_fail=2, good=0))
    assert "39 more pairs with a preferred side if the judge takes the right side of them all" in (
        next_step(some)
    )
    many = reasons(Readings.of(judges(*[Evidence(fail=20, good=0)] * 3)))
    assert "failing" not in " ".join((*many.bound, *many.change))


def test_many_judges_of_pairs_need_pairs() -> None:
    """Four judges summed up by outcome: pairs are still needed."""
    made = tuple(preferences(Evidence(fail=20, good=0), judge=name) for name in "abcd")
    assert (
        reasons(Readings.of(Comparison(examinations=made)))
        .change[0]
        .startswith("Pairs with a preferred side still needed: a (15 clean")
    )


def test_what_would_change_an_outcome_speaks_of_sides() -> None:
    """An admission ends by wrong sides, a rejection says how many the limit allows."""
    admitted = reasons(Readings.of(preferences(Evidence(fail=50, good=0)))).change[0]
    assert "One more wrong side (1/51, up to" in admitted
    rejected = reasons(Readings.of(preferences(Evidence(fail=100, accepted_fail=30, good=0)))).change[0]
    assert rejected == "Among 100 pairs this limit allows at most 4 on the wrong side."


def test_nothing_decided_speaks_of_sides() -> None:
    """Without a limit the heading, the step and what would change it speak of sides."""
    shown = Examination(report=preferences(Evidence(fail=100, accepted_fail=2, good=0)).report, decision=None)
    assert decision_sentence(Readings.of(shown)) == (
        "judge-p took the wrong side of 2 of 100 pairs; nothing was decided."
    )
    assert next_step(shown).startswith("Next: name the largest share of wrong sides that you can bear")
    assert reasons(Readings.of(shown)).change == (
        "A limit: the largest share of wrong sides that you can bear.",
    )


def test_disputed_pairs_are_adjudicated() -> None:
    """Disputed pairs alone stand between the judge and the limit."""
    evidence = Evidence(fail=50, good=0, unresolved=3, accepted_unresolved=3)
    assert next_step(preferences(evidence)).startswith("Next: have the 3 disputed pairs adjudicated, ")


def test_judge_that_picks_like_a_coin_is_told_so() -> None:
    """Under a loose limit a coin passes the gate and is held back by what it picks."""
    report = preferences(Evidence(fail=400, accepted_fail=200, good=0)).report
    shown = Examination(report=report, decision=decide(report, far_only(0.60)))
    assert next_step(shown).startswith(
        "Next: use a judge that picks the right side more often than the wrong"
    )


@pytest.mark.parametrize("name", ["judge-0", "gPT", "éclair"])
def test_case_of_a_name_is_never_changed(name: str) -> None:
    """A sentence that begins with a judge's name begins as the name is written."""
    shown = Comparison(examinations=(preferences(NO_SIDE, judge=name), preferences(NO_SIDE, judge="other")))
    found = reasons(Readings.of(shown))
    assert f"{name}: no pair has a preferred side, so there is nothing to measure the wrong side on." in (
        found.bound
    )


def test_headings_speak_of_sides() -> None:
    """Pairs alone, pairs beside criteria that accept, and those alone each name what their rates count."""
    sides, accepting = preferences(Evidence(fail=30, good=0)), examine(Evidence(fail=30, good=30))
    both = Readings.of(Comparison(examinations=(sides, accepting)))
    assert Readings.of(sides).rate_title == "Wrong side preferred"
    assert Readings.of(sides).beside_title == "Same answer as people"
    assert both.rate_title == "Failing answers accepted, or wrong side preferred"
    assert Readings.of(accepting).beside_title == "Good answers not accepted"


def test_kappa_of_pairs_is_that_of_the_answers() -> None:
    """Without a candidate nothing is accepted: the verdicts have no kappa, the answers have one."""
    report = preferences(Evidence(fail=100, accepted_fail=20, good=0)).report
    assert isinstance(report.kappa, UndefinedFigure)
    assert "no candidate declared" in report.kappa.undefined
    assert kappa_words(report).endswith(" of answers, decided")
    assert [gap.reason for gap in report.not_assessed if gap.name == "kappa"] == [report.kappa.undefined]
