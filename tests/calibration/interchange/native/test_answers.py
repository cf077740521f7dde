"""The words of labels and verdicts: what is read on which scale, and what is never guessed."""

from __future__ import annotations

from typing import Any

import pytest

from calibration.interchange.native.answers import (
    AnswerBook,
    AnswerBooks,
    BadWord,
    Said,
    parse_answer_map,
    read_reason,
)
from calibration.interchange.native.fields import BadField
from calibration.interchange.words import Side
from rubrics.errors import DeclarationError
from rubrics.stub import stub_rubric
from rubrics.verdict import UnknownReason

BINARY = stub_rubric("r", "correct")
LEVELS = stub_rubric("r", "tone", levels=["1", "2", "3", "4"], accept_at="3")
WORDS = stub_rubric("r", "tone", levels=["poor", "invalid"], accept_at="invalid")
PAIRS = stub_rubric("r", "better", pairwise=True, candidate=None)


def book(rubric: Any, side: Side = Side.HUMAN, *maps: str, null_as: str = "missing") -> AnswerBook:
    """The book of a rubric's one criterion."""
    return AnswerBook(
        rubric.criteria[0], side, maps=[parse_answer_map(m) for m in maps], null_as=UnknownReason(null_as)
    )


@pytest.mark.parametrize(
    ("rubric", "value", "answer"),
    [
        (BINARY, "pass", "pass"),
        (BINARY, " Fail ", "fail"),
        (BINARY, None, "unknown"),
        (BINARY, "", "unknown"),
        (BINARY, "cannot_decide", "unknown"),
        (LEVELS, "3", "3"),
        (LEVELS, "3.0", "3"),
        (LEVELS, "4.00", "4"),
        (WORDS, "Poor", "poor"),
        (WORDS, "invalid", "invalid"),
        (PAIRS, "a", "A"),
        (PAIRS, "Tie", "tie"),
        (PAIRS, "unknown", "unknown"),
    ],
)
def test_labels_of_people(rubric: Any, value: Any, answer: str) -> None:
    """Answers of the scale without regard to case, 3.0 for the level 3, null and cannot_decide as unknown."""
    assert book(rubric).read(value) == Said(answer)


@pytest.mark.parametrize(
    ("rubric", "value"),
    [
        (BINARY, "yes"),
        (BINARY, True),
        (BINARY, "1"),
        (BINARY, "NaN"),
        (BINARY, "null"),
        (BINARY, "3.0"),
        (BINARY, ["pass"]),
        (LEVELS, "5"),
        (LEVELS, "3.5"),
        (LEVELS, "pass"),
        (PAIRS, "C"),
        (PAIRS, "pass"),
        (BINARY, "abstained"),
    ],
)
def test_a_word_that_nobody_explained_is_refused(rubric: Any, value: Any) -> None:
    """Nothing is guessed: not a truth value, not a number, not a judge's reason from a person."""
    with pytest.raises(BadWord, match="is no answer under"):
        book(rubric).read(value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("pass", Said("pass")),
        ("abstained", Said("unknown", UnknownReason.ABSTAINED)),
        ("cannot_decide", Said("unknown", UnknownReason.ABSTAINED, "cannot_tell")),
        ("unparsed", Said("unknown", UnknownReason.INVALID, "unparsed")),
        ("error", Said("unknown", UnknownReason.ERROR)),
        (None, Said("unknown", UnknownReason.MISSING, None, True)),
        ("unknown", Said("unknown", UnknownReason.MISSING, None, True)),
    ],
)
def test_verdicts_of_judges(value: Any, said: Said) -> None:
    """A judge may also say a reason or its detail; nothing at all is missing."""
    assert book(BINARY, Side.JUDGE).read(value) == said


def test_null_is_read_as_it_was_said_to_be() -> None:
    """--null-as gives an empty verdict its reason; --map null=tie makes it a tie, also as a word."""
    invalid = book(PAIRS, Side.JUDGE, null_as="invalid")
    assert invalid.read(None) == Said("unknown", UnknownReason.INVALID, None, True)
    tied = book(PAIRS, Side.JUDGE, "null=tie")
    assert [tied.read(value) for value in (None, "", "null", "NULL")] == [Said("tie")] * 4


def test_maps_explain_words() -> None:
    """WORD=MEANING: answers of the scale, cannot_decide, of verdicts reasons; truth values by their words."""
    assert book(BINARY, Side.HUMAN, "True=pass").read(True) == Said("pass")
    assert book(BINARY, Side.HUMAN, "0=cannot_decide").read("0") == Said("unknown")
    assert book(LEVELS, Side.HUMAN, "good=3").read("Good") == Said("3")
    garbage = book(PAIRS, Side.JUDGE, "garbage=unparsed").read("garbage")
    assert garbage == Said("unknown", UnknownReason.INVALID, "unparsed")
    assert book(BINARY, Side.HUMAN, "a=b=pass").read("a=b") == Said("pass")


def test_a_map_without_meaning_is_refused() -> None:
    """One that is no map, and one whose meaning no criterion knows; a meaning of one of several is enough."""
    for text in ("pass", "pass=", ""):
        with pytest.raises(DeclarationError, match="WORD=MEANING"):
            parse_answer_map(text)
    with pytest.raises(DeclarationError, match="is no meaning here; allowed: pass, fail"):
        AnswerBooks([BINARY], Side.HUMAN, maps=[parse_answer_map("x=tie")])
    both = AnswerBooks(
        [BINARY, LEVELS.model_copy(update={"name": "s"})], Side.HUMAN, maps=[parse_answer_map("x=4")]
    )
    assert both.unmet() == (parse_answer_map("x=4"),)
    both.of(LEVELS.model_copy(update={"name": "s"}), "tone").read("x")
    assert both.unmet() == ()
    with pytest.raises(BadField, match="r@1 has no criterion 'tone'; it has correct"):
        both.of(BINARY, "tone")


EMPTY = Said("unknown", UnknownReason.MISSING, None, True)
ABSTAINED = Said("unknown", UnknownReason.ABSTAINED)


@pytest.mark.parametrize(
    ("fields", "said", "expected"),
    [
        ({}, EMPTY, (EMPTY, None)),
        ({"reason": "abstained"}, EMPTY, (ABSTAINED, None)),
        ({"reason": "refusal"}, EMPTY, (Said("unknown", UnknownReason.ABSTAINED, "refusal"), None)),
        (
            {"reason": "invalid", "detail": "truncated"},
            EMPTY,
            (Said("unknown", UnknownReason.INVALID, "truncated"), None),
        ),
        ({"detail": "timeout"}, EMPTY, (Said("unknown", UnknownReason.ERROR, "timeout"), None)),
        ({"reason": "abstained"}, ABSTAINED, (ABSTAINED, None)),
        ({"reason": "abstained", "detail": None}, ABSTAINED, (ABSTAINED, None)),
        ({"reason": "It names the clause."}, Said("pass"), (Said("pass"), "It names the clause.")),
        ({"reason": ""}, Said("pass"), (Said("pass"), None)),
    ],
)
def test_a_reason_beside_the_verdict(fields: Any, said: Said, expected: Any) -> None:
    """It says why there is no verdict; free text beside a verdict is a rationale."""
    assert read_reason(fields, said) == expected


@pytest.mark.parametrize(
    ("fields", "said", "told"),
    [
        ({"reason": "abstained"}, Said("pass"), "stands beside reason"),
        ({"reason": "invalid"}, ABSTAINED, "stands beside reason"),
        ({"reason": "it was unclear"}, EMPTY, "of a missing verdict is none of"),
        ({"detail": "nonsense"}, EMPTY, "is no detail"),
        ({"detail": "invalid"}, EMPTY, "is no detail"),
        ({"reason": "abstained", "detail": "timeout"}, EMPTY, "does not belong"),
        ({"reason": "free text", "detail": "timeout"}, EMPTY, "does not belong"),
    ],
)
def test_a_reason_that_contradicts_is_refused(fields: Any, said: Said, told: str) -> None:
    """Neither of the two is believed."""
    with pytest.raises(BadField, match=told):
        read_reason(fields, said)
