"""Words made safe, and small grammar."""

from __future__ import annotations

import pytest

from calibration.rendering.text import capital, counted, listed, named, number_word, sentence, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – ünïcode 判事", "plain – ünïcode 判事"),
        ("a\u202eb", "a‹U+202E›b"),
        ("\x1b[31m", "‹U+001B›[31m"),
        ("two\nlines\ttab", "two‹U+000A›lines‹U+0009›tab"),
        ("a\u2028b", "a‹U+2028›b"),
        ("zero\u200bwidth", "zero‹U+200B›width"),
        ("\ud800", "‹U+D800›"),
    ],
)
def test_what_cannot_be_seen_is_named(text: str, shown: str) -> None:
    """Every control, format, surrogate and line character is named; all else stays."""
    assert visible(text) == shown


def test_blank_name_is_said() -> None:
    """A name of nothing would leave a hole in a sentence."""
    assert named(" ") == named("") == "(no name)"
    assert named("x") == "x"


def test_lists_read_as_sentences() -> None:
    """None, one, two, three, and many with the rest counted; one beyond the most is named, not counted."""
    assert [listed(list("abcde"[:n])) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert listed(list("abcde"), most=3) == "a, b, c and 2 more"
    assert listed(list("abcd"), most=3) == "a, b, c and d"


def test_small_grammar() -> None:
    """Numbers with their nouns, capitals and full stops."""
    assert counted(1, "answer") == "1 answer"
    assert counted(1093, "answer") == "1,093 answers"
    assert counted(2, "criterion", "criteria") == "2 criteria"
    assert [number_word(n) for n in (0, 3, 10, 11, 1093)] == ["no", "three", "ten", "11", "1,093"]
    assert sentence("of one") == "Of one."
    assert sentence(" is it? ") == "Is it?"
    assert sentence("") == capital("") == ""
