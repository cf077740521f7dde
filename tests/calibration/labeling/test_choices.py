"""What each key says, on every scale."""

from __future__ import annotations

import pytest

from calibration.labeling.choices import NO_MODE, REASONS, TAKEN, Choice, Kind, answers, fails, modes, words
from calibration.labeling.records import UNKNOWN, CannotDecide
from rubrics.criterion import Criterion, FailureMode, Guidance
from rubrics.scale import BINARY, AnyScale, BinaryScale, Level, OrdinalScale, PreferenceScale

WHEN = Guidance(pass_when="it holds", fail_when="it does not", cannot_decide_when="it is cut off")
PREFER = Guidance(prefer_when="it says more", cannot_decide_when="both are cut off")
GRADED = Guidance(cannot_decide_when="it is cut off")


def criterion(scale: AnyScale = BINARY, modes: int = 0) -> Criterion:
    """A criterion on the scale with so many ways to fail."""
    guidance = WHEN if isinstance(scale, BinaryScale) else GRADED
    return Criterion(
        key="supported",
        title="Supported",
        question="Is it supported?",
        scale=scale,
        guidance=PREFER if isinstance(scale, PreferenceScale) else guidance,
        failure_modes=tuple(FailureMode(key=f"mode_{each}", when="seen") for each in range(modes)),
    )


def levels(*names: str) -> OrdinalScale:
    """An ordinal scale of which the second level and above pass."""
    steps = tuple(Level(level=name, anchor=f"looks like {name}") for name in names)
    return OrdinalScale(kind="ordinal", levels=steps, accept_at=names[1])


def said(choices: tuple[Choice, ...]) -> dict[str | None, str]:
    """What each key says."""
    return {choice.key: choice.value for choice in choices}


def test_pass_fail_and_cannot_decide_are_one_two_three() -> None:
    """A binary criterion has the three keys of the mock."""
    assert said(answers(criterion())) == {"1": "pass", "2": "fail", "3": UNKNOWN}


def test_pair_has_left_right_cannot_decide_and_tie() -> None:
    """A pair is answered by side, never by source position: 1 left, 2 right, 3 cannot decide, 4 tie."""
    found = said(answers(criterion(PreferenceScale(kind="preference"))))
    assert found == {"1": "left", "2": "right", "3": UNKNOWN, "4": "tie"}


def test_level_of_one_digit_is_its_own_key() -> None:
    """Levels 0 to 3 are pressed as 0 to 3; cannot decide moves to x."""
    found = said(answers(criterion(levels("0", "1", "2", "3"))))
    assert found == {"0": "0", "1": "1", "2": "2", "3": "3", "x": UNKNOWN}


def test_named_levels_are_counted_from_one() -> None:
    """Levels with names have the digits in order."""
    assert said(answers(criterion(levels("poor", "fair", "10")))) == {
        "1": "poor",
        "2": "fair",
        "3": "10",
        "x": UNKNOWN,
    }


@pytest.mark.parametrize("count", [1, 9, 12, 40])
def test_ways_to_fail_have_one_free_key_each(count: int) -> None:
    """No key is given twice or taken from undo, note, help; what has no key left is still a button."""
    found = modes(criterion(modes=count))
    keys = [choice.key for choice in found if choice.key]
    assert [choice.value for choice in found] == [*(f"mode_{each}" for each in range(count)), NO_MODE]
    assert found[-1].key == "0"
    assert len(set(keys)) == len(keys)
    assert not set(keys) & TAKEN
    assert len({choice.name for choice in found}) == len(found)


@pytest.mark.parametrize("count", [2, 9, 15, 40])
def test_levels_have_one_free_key_each(count: int) -> None:
    """As the ways to fail: no level is dropped, however many there are."""
    found = answers(criterion(levels(*(f"level {each}" for each in range(count)))))
    keys = [choice.key for choice in found if choice.key]
    assert len(found) == count + 1
    assert len(set(keys)) == len(keys)
    assert not set(keys) & TAKEN
    assert {choice.kind for choice in found} == {Kind.ANSWER}


def test_every_reason_has_a_key() -> None:
    """The five reasons of cannot-decide are 1 to 5."""
    assert said(REASONS) == {str(place): reason for place, reason in enumerate(CannotDecide, start=1)}


def test_no_ways_to_fail_where_none_are_declared() -> None:
    """A criterion without failure modes asks for none."""
    assert modes(criterion()) == ()


def test_failure_is_what_the_scale_reads_as_fail() -> None:
    """Fail and low levels are failures; unknown, a side and a passing level are none."""
    assert fails(criterion(), "fail")
    assert not fails(criterion(), "pass")
    assert not fails(criterion(), UNKNOWN)
    assert fails(criterion(levels("poor", "fair")), "poor")
    assert not fails(criterion(levels("poor", "fair")), "fair")
    assert not fails(criterion(PreferenceScale(kind="preference")), "left")


def test_key_reads_as_words() -> None:
    """An identifier is shown as words."""
    assert words("wrong_number") == "Wrong number"
    assert words("off-question") == "Off question"
