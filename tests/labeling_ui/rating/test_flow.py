"""The way from a key to an answer."""

from __future__ import annotations

import pytest

from calibration.labeling.choices import REASONS, answers, modes
from calibration.labeling.records import UNKNOWN
from labeling_ui.rating.flow import START, Half, Said, Step, after, choices_at
from tests.calibration.labeling.test_choices import criterion, levels


def press(half: Half, key: str, modes: int = 0) -> Half | Said | None:
    """What the key does where a binary criterion with so many ways to fail is answered."""
    asked = criterion(modes=modes)
    (choice,) = (each for each in choices_at(half, asked) if each.key == key)
    return after(half, choice, asked)


def test_pass_and_fail_take_one_key() -> None:
    """Nothing further is asked of a pass, nor of a fail whose criterion names no ways to fail."""
    assert press(START, "1") == Said("pass")
    assert press(START, "2") == Said("fail")


def test_cannot_decide_asks_for_a_reason() -> None:
    """Cannot decide is stored with the second key, and never without a reason."""
    half = press(START, "3")
    assert half == Half(Step.REASON, UNKNOWN)
    assert press(half, "1") == Said(UNKNOWN, reason="evidence_missing")


def test_fail_takes_one_way_to_fail_by_one_more_key() -> None:
    """A fail asks for the way, which may be none in particular; a pass does not."""
    half = press(START, "2", modes=3)
    assert half == Half(Step.MODE, "fail")
    assert press(half, "2", modes=3) == Said("fail", mode="mode_1")
    assert press(half, "0", modes=3) == Said("fail")
    assert press(START, "1", modes=3) == Said("pass")


def test_low_level_is_a_failure_too() -> None:
    """A level that fails asks for the way as a fail does."""
    graded = criterion(levels("poor", "fair"), modes=1)
    poor, fair, _ = answers(graded)
    assert after(START, poor, graded) == Half(Step.MODE, "poor")
    assert after(START, fair, graded) == Said("fair")


@pytest.mark.parametrize("half", [Half(Step.REASON, UNKNOWN), Half(Step.MODE, "fail")])
def test_answer_pressed_on_a_later_bar_says_nothing(half: Half) -> None:
    """A pass button of the bar before is no answer any more: a fast `3` `1` is not a pass."""
    asked = criterion(modes=2)
    assert after(half, answers(asked)[0], asked) is None


def test_reason_and_way_say_nothing_before_they_are_asked_for() -> None:
    """A reason without cannot-decide, or a way without a fail, is no answer."""
    asked = criterion(modes=2)
    assert after(START, REASONS[0], asked) is None
    assert after(START, modes(asked)[0], asked) is None
    assert after(Half(Step.MODE, "fail"), REASONS[0], asked) is None
    assert after(Half(Step.REASON, UNKNOWN), modes(asked)[0], asked) is None
