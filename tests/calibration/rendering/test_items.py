"""Policy items in words, where nothing or little was found."""

from __future__ import annotations

import pytest

from calibration.evidence import Examination, PolicyItem
from calibration.policy import shipped_policy
from calibration.rendering.items import found_text, informative_words, limit_words
from calibration.rendering.numbers import NNBSP
from tests.calibration.rendering.examples import Evidence, examine, preferences


@pytest.fixture(scope="module")
def no_good_answer() -> Examination:
    """0 of 50 failing answers accepted and no good answer, under the acceptance policy."""
    return examine(Evidence(fail=50, good=0), policy=shipped_policy("acceptance"))


def item_of(shown: Examination, name: str) -> PolicyItem:
    """The item of this name."""
    assert shown.decision is not None
    return next(item for item in shown.decision.items if item.name == name)


def words(text: str) -> str:
    """The text with plain spaces."""
    return text.replace(NNBSP, " ")


def test_rate_without_a_denominator_shows_its_counts_alone(no_good_answer: Examination) -> None:
    """0/0 is no 0 %: where no good answer is, the share of them not accepted has no percentage."""
    item = item_of(no_good_answer, "non_acceptance_among_pass")
    assert found_text(item, no_good_answer.report) == "0/0"
    assert words(limit_words(item)) == "upper end ≤ 20 %"


def test_rate_without_an_interval_shows_the_count_that_was_compared(no_good_answer: Examination) -> None:
    """A record that kept only the point still shows count and share, without brackets."""
    item = item_of(no_good_answer, "coverage")
    assert words(found_text(item, no_good_answer.report)) == "50/50 100 % [89.7, 100]"
    kept = item.model_copy(update={"value": 0.9, "lower": None, "upper": None})
    assert words(found_text(kept, no_good_answer.report)) == "45/50 90 %"


def test_open_verdicts_are_not_said_to_be_abstentions() -> None:
    """30 missing verdicts are no abstentions and no invalid replies: what is known stands first."""
    shown = examine(Evidence(fail=90, good=90, open_fail=30), policy=shipped_policy("acceptance"))
    for name in ("abstention", "invalid"):
        said = words(found_text(item_of(shown, name), shown.report))
        assert said == "0/180, up to 30/180 if every open verdict were one [0, 24]"
    covered = words(found_text(item_of(shown, "coverage"), shown.report))
    assert covered == "150/180, up to 180/180 if every open verdict were decided [76, 100]"


def test_disputed_answers_are_not_said_to_be_turned_away() -> None:
    """Good answers not accepted: answers without an agreed label count only in the worst case."""
    evidence = Evidence(fail=50, good=90, accepted_good=80, unresolved=10)
    shown = examine(evidence, policy=shipped_policy("acceptance"))
    said = words(found_text(item_of(shown, "non_acceptance_among_pass"), shown.report))
    assert said.startswith("10/90, up to 20/100 counting what is open or disputed [")


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (
            Evidence(fail=50, good=30, accepted_good=1),
            "not shown to tell good from bad: it accepts good answers −4 to 17 points more often than failing"
            " ones; asked: more than 0",
        ),
        (
            Evidence(fail=50, good=30),
            "tells good from bad: it accepts good answers 87 to 100 points more often than failing ones; "
            "asked: more than 0",
        ),
        (
            Evidence(fail=50, good=0),
            "not shown to tell good from bad: no good answer with an agreed label to tell apart",
        ),
        (
            Evidence(fail=0, good=0, unresolved=9),
            "not shown to tell good from bad: no failing answer and no good answer with an agreed label to "
            "tell apart",
        ),
    ],
)
def test_telling_good_from_bad_states_what_is_shown(evidence: Evidence, said: str) -> None:
    """The item never reads as a claim that the evidence does not carry."""
    shown = examine(evidence)
    assert informative_words(item_of(shown, "informative"), shown.report) == said


def test_picking_the_right_side_is_stated_as_a_share() -> None:
    """Pairs: how often the sides that the judge picked are right, against a coin's half."""
    shown = preferences(Evidence(fail=100, accepted_fail=48, good=0))
    item = item_of(shown, "informative")
    assert words(informative_words(item, shown.report)) == (
        "not shown to pick the right side more often than the wrong one: 52/100 52 % [42, 62] of the sides "
        "that it picked are right; asked: more than 50 %"
    )
    none = item.model_copy(update={"n": 0, "x": 0})
    assert "the wrong one: it picked none; asked" in informative_words(none, shown.report)


def test_share_of_an_item_without_words_of_its_own_is_a_percentage(no_good_answer: Examination) -> None:
    """A share that only a later version knows reads as a percentage, with the limit on it."""
    update = {"name": "later_share", "value": 0.125, "limit": 0.2}
    item = item_of(no_good_answer, "unresolved_reference").model_copy(update=update)
    assert words(found_text(item, no_good_answer.report)) == "12.5 %"
    assert words(limit_words(item)) == "≤ 20 %"


def test_item_without_a_limit_is_only_stated(no_good_answer: Examination) -> None:
    """Where a policy names no number nothing is asked, and no number is made up."""
    item = item_of(no_good_answer, "coverage").model_copy(update={"limit": None})
    assert limit_words(item) == "stated"
