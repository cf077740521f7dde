"""Scales and how an answer reads as a verdict."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from rubrics.errors import DeclarationError
from rubrics.scale import BINARY, AnyScale, NoClaim, OrdinalScale, PreferenceScale, Scale, read
from rubrics.verdict import Verdict

READ: TypeAdapter[AnyScale] = TypeAdapter(Scale)


def ordinal(*levels: Any, accept_at: Any) -> OrdinalScale:
    """An ordinal scale of levels with some anchor."""
    named = [{"level": level, "anchor": "as described"} for level in levels]
    scale = READ.validate_python({"kind": "ordinal", "levels": named, "accept_at": accept_at})
    assert isinstance(scale, OrdinalScale)
    return scale


def why(data: Any) -> str:
    """Why the scale is refused."""
    with pytest.raises(ValidationError) as caught:
        READ.validate_python(data)
    return str(caught.value.errors()[0]["msg"]).removeprefix("Value error, ")


@pytest.mark.parametrize(("answer", "verdict"), [("pass", "pass"), ("fail", "fail"), ("unknown", "unknown")])
def test_binary_answer_is_its_verdict(answer: str, verdict: str) -> None:
    """Nothing to translate."""
    assert read(BINARY, answer) == Verdict(verdict)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [(1, "fail"), (2, "fail"), (3, "pass"), (4, "pass"), ("3", "pass"), ("unknown", "unknown")],
)
def test_level_passes_from_accept_at_on(answer: str | int, verdict: str) -> None:
    """On levels 1 to 4 with accept_at 3, levels 3 and 4 pass, as number or as word."""
    assert read(ordinal(1, 2, 3, 4, accept_at=3), answer) == Verdict(verdict)


def test_levels_are_ordered_as_declared_and_not_as_words() -> None:
    """`bad` comes after `fair` in the alphabet and below it on the scale."""
    scale = ordinal("bad", "fair", "excellent", accept_at="fair")
    assert [scale.rank(level) for level in ("bad", "fair", "excellent")] == [0, 1, 2]
    assert [read(scale, level) for level in scale.answers] == [Verdict.FAIL, Verdict.PASS, Verdict.PASS]


def test_ten_is_above_nine() -> None:
    """Numbered levels are compared as numbers."""
    assert ordinal(*range(1, 11), accept_at=10).answers[-2:] == ("9", "10")


@pytest.mark.parametrize("word", ["no", "off", "n"])
def test_level_may_be_called_no(word: str) -> None:
    """Words that other YAML readers take for a truth value are words."""
    assert read(ordinal(word, "good", accept_at="good"), word) is Verdict.FAIL


@pytest.mark.parametrize(
    ("candidate", "ties", "verdicts"),
    [
        ("B", False, ["fail", "pass", "fail"]),
        ("B", True, ["fail", "pass", "pass"]),
        ("A", False, ["pass", "fail", "fail"]),
        ("A", True, ["pass", "fail", "pass"]),
    ],
)
def test_preference_passes_by_the_claim(candidate: str, ties: bool, verdicts: list[str]) -> None:
    """A, B and tie, by candidate and by whether ties are accepted."""
    scale = READ.validate_python({"kind": "preference", "candidate": candidate, "tie_accepts": ties})
    assert [read(scale, answer) for answer in ("A", "B", "tie")] == [Verdict(v) for v in verdicts]


def test_default_candidate_is_b_and_ties_do_not_accept() -> None:
    """The claim that stands where a file says only `preference`."""
    assert READ.validate_python("preference") == PreferenceScale(
        kind="preference", candidate="B", tie_accepts=False
    )


@pytest.mark.parametrize("answer", ["A", "B", "tie"])
def test_preference_without_candidate_is_no_verdict(answer: str) -> None:
    """Where neither side is the candidate a preference neither passes nor fails, and says why."""
    scale = PreferenceScale(kind="preference", candidate=None)
    assert read(scale, answer) == NoClaim("no candidate declared")
    assert read(scale, "unknown") is Verdict.UNKNOWN
    assert not scale.has_claim
    assert PreferenceScale(kind="preference").has_claim


@pytest.mark.parametrize(
    ("scale", "answer", "said"),
    [
        (BINARY, "maybe", "'maybe' is no answer on this binary scale; allowed: pass, fail, unknown"),
        (BINARY, "Pass", "allowed: pass, fail, unknown"),
        (BINARY, "pending", "allowed: pass, fail, unknown"),
        (BINARY, True, "True is no answer"),
        (ordinal(1, 2, accept_at=2), 3, "3 is no answer on this ordinal scale; allowed: 1, 2, unknown"),
        (ordinal(1, 2, accept_at=2), True, "True is no answer"),
        (ordinal(1, 2, accept_at=2), 1.0, "1.0 is no answer"),
        (PreferenceScale(kind="preference"), "b", "allowed: A, B, tie, unknown"),
        (PreferenceScale(kind="preference", candidate=None), "C", "allowed: A, B, tie, unknown"),
    ],
)
def test_what_is_no_answer_is_refused(scale: AnyScale, answer: Any, said: str) -> None:
    """A value off the scale is never coerced: the message names the answers that there are."""
    with pytest.raises(DeclarationError, match=said):
        read(scale, answer)


LEVEL = {"level": 1, "anchor": "a"}, {"level": 2, "anchor": "b"}, {"level": 3, "anchor": "c"}


@pytest.mark.parametrize(
    ("levels", "accept_at", "said"),
    [
        ((), 1, "holds 0 of at least two levels"),
        (LEVEL[:1], 1, "holds 1 of at least two levels"),
        ((LEVEL[0], LEVEL[0]), 1, "names level '1' twice; name each level once"),
        (LEVEL[::-1], 3, "are given as 3, 2, 1; list them from worst to best, lowest number first"),
        (LEVEL, "good", "'good' is not one of the levels; allowed: 2, 3"),
        (LEVEL, 1, "'1' is the lowest level, so every output would pass; allowed: 2, 3"),
        (({"level": "Pass", "anchor": "a"}, LEVEL[1]), 2, "a level cannot be called 'Pass'"),
        (({"level": "cannot_decide", "anchor": "a"}, LEVEL[1]), 2, "that word means something else"),
        (({"level": " bad", "anchor": "a"}, LEVEL[1]), 2, "' bad' cannot name a level"),
        (({"level": "", "anchor": "a"}, LEVEL[1]), 2, "'' cannot name a level"),
        (({"level": "a\nb", "anchor": "a"}, LEVEL[1]), 2, "cannot name a level"),
        (({"level": "x" * 65, "anchor": "a"}, LEVEL[1]), 2, "cannot name a level"),
        (({"level": True, "anchor": "a"}, LEVEL[1]), 2, "valid string"),
        (({"level": 1.5, "anchor": "a"}, LEVEL[1]), 2, "valid string"),
    ],
)
def test_impossible_levels_are_refused(levels: Any, accept_at: Any, said: str) -> None:
    """Too few, repeated, out of order, reserved or unusable names, and an accept_at that decides nothing."""
    assert said in why({"kind": "ordinal", "levels": levels, "accept_at": accept_at})


def test_ties_without_candidate_are_refused() -> None:
    """A tie cannot be accepted for a candidate that is not declared."""
    data = {"kind": "preference", "candidate": None, "tie_accepts": True}
    assert why(data) == "needs a declared candidate; declare `candidate: A` or `B`, or drop `tie_accepts`"
