"""Label words: what is read, what is mapped, what is asked for."""

from __future__ import annotations

import pytest

from calibration.interchange.words import (
    Cell,
    Side,
    WordBook,
    WordMap,
    choices_in,
    is_number,
    likely_meaning,
    parse_map,
    proposed_maps,
)
from rubrics.errors import DeclarationError
from rubrics.verdict import FAIL, PASS, REASON_DETAILS, UnknownReason, Verdict, unknown


def test_the_words_of_the_contract() -> None:
    """Pass and fail in any case, with spaces around; cannot_decide, unknown, reasons, empty."""
    book = WordBook()
    assert [book.human[w] for w in ("pass", " FAIL\t", "Cannot_Decide", "unknown", "", "  ")] == [
        Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN, Verdict.UNKNOWN, Cell.EMPTY, Cell.EMPTY,
    ]  # fmt: skip
    assert [book.judge[w] for w in ("Pass", "fail ", "cannot_decide", "unknown", "")] == [
        PASS, FAIL, unknown("abstained", "cannot_tell"), Cell.EMPTY, Cell.EMPTY,
    ]  # fmt: skip


@pytest.mark.parametrize("reason", UnknownReason)
def test_reason_words_are_the_judges_only(reason: UnknownReason) -> None:
    """A judge may have a reason for no verdict; a person's label cannot be one."""
    book = WordBook()
    assert book.judge[reason.value] == unknown(reason)
    assert book.human[reason.value] is Cell.UNMAPPED


def test_details_name_their_reason() -> None:
    """Every detail belongs to one reason, so that the word alone says both."""
    book = WordBook()
    for reason, details in REASON_DETAILS.items():
        for detail in details:
            assert book.reason[detail.upper()] == unknown(reason, detail)


def test_a_map_holds_where_its_meaning_exists() -> None:
    """An open map is read by both sides, one to a reason by the judge's alone, a prefixed one on its side."""
    book = WordBook(
        [parse_map("YES=pass"), parse_map("skip=abstained"), parse_map("human:n/a=cannot_decide")]
    )
    assert (book.human["yes"], book.judge["Yes"]) == (Verdict.PASS, PASS)
    assert (book.human["skip"], book.judge["skip"]) == (Cell.UNMAPPED, unknown("abstained"))
    assert (book.human["N/A"], book.judge["N/A"]) == (Verdict.UNKNOWN, Cell.UNMAPPED)


def test_a_map_wins_over_the_word_itself() -> None:
    """Where fail means that the check fired, a person may turn the words round."""
    book = WordBook([parse_map("judge:pass=fail"), parse_map("judge:fail=pass")])
    assert (book.judge["pass"], book.judge["fail"], book.human["pass"]) == (FAIL, PASS, Verdict.PASS)


def test_maps_of_odd_words() -> None:
    """The last = divides; a colon is a side only where a side is named before it."""
    assert parse_map("a=b=fail") == WordMap("a=b", "fail")
    assert parse_map("note: bad=fail") == WordMap("note: bad", "fail")
    assert parse_map("=fail") == WordMap("", "fail")
    assert parse_map("reason:No answer=missing") == WordMap("no answer", "missing", Side.REASON)


@pytest.mark.parametrize("text", ["yes", "yes=", "yes=maybe", "human:x=abstained", "reason:x=pass", "="])
def test_maps_that_say_nothing(text: str) -> None:
    """A map without = or with a meaning that the side does not know is refused with what there is."""
    with pytest.raises(DeclarationError, match="WORD=MEANING"):
        parse_map(text)


def test_maps_that_met_no_cell_are_known() -> None:
    """A mistyped map would otherwise look as if it had been heeded."""
    book = WordBook([parse_map("yes=pass"), parse_map("judge:nope=fail")])
    assert book.human["Yes "] is Verdict.PASS
    assert [str(m) for m in book.unused()] == ["judge:nope=fail"]


def test_proposals_are_shared_where_both_sides_agree() -> None:
    """The same word on both sides needs one argument; nothing long is proposed."""
    assert proposed_maps([(Side.HUMAN, "1"), (Side.JUDGE, "1"), (Side.JUDGE, "N/A")]) == (
        "--map", "1=pass", "--map", "judge:n/a=missing",
    )  # fmt: skip
    assert proposed_maps([(Side.HUMAN, "x" * 100)]) == ()
    assert proposed_maps([(Side.JUDGE, str(n)) for n in range(50)]) == ()


@pytest.mark.parametrize("word", ["approve", "fine", "banana", "good enough", "2"])
def test_a_meaning_that_only_a_person_knows_is_left_to_them(word: str) -> None:
    """No meaning is proposed for such a word, least of all a final one: the command waits for a choice."""
    assert proposed_maps([(Side.HUMAN, word), (Side.JUDGE, word)]) == ("--map", f"{word}=PASS_OR_FAIL")
    assert proposed_maps([(Side.JUDGE, word)]) == ("--map", f"judge:{word}=PASS_OR_FAIL")
    assert proposed_maps([(Side.REASON, word)]) == ("--map", f"reason:{word}=WHICH_REASON")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("judge:approve=PASS_OR_FAIL", "replace PASS_OR_FAIL by pass or fail"),
        ("approve=pass_or_fail ", "replace PASS_OR_FAIL by pass or fail"),
        ("reason:x=WHICH_REASON", "replace WHICH_REASON by abstained, invalid, "),
    ],
)
def test_a_map_without_a_choice_says_what_to_replace(text: str, said: str) -> None:
    """A proposed command that is run as it stands is refused with what to put there."""
    with pytest.raises(DeclarationError) as caught:
        parse_map(text)
    assert str(caught.value).startswith(said)
    assert choices_in(f"voirdire check t.csv --map {text.strip().upper()}") == (str(caught.value),)


@pytest.mark.parametrize("side", [Side.HUMAN, Side.JUDGE])
@pytest.mark.parametrize(
    ("word", "meaning"),
    [("1", "pass"), ("TRUE", "pass"), ("yes", "pass"), ("correct", "pass"), ("accept", "pass"),
     ("0", "fail"), ("false", "fail"), ("No", "fail"), ("incorrect", "fail"), ("reject", "fail")],
)  # fmt: skip
def test_words_with_an_evident_meaning_are_proposed(side: Side, word: str, meaning: str) -> None:
    """Yes and no in their usual spellings need no choice, and nothing is read before the person agrees."""
    assert likely_meaning(side, word) == meaning
    assert choices_in(" ".join(proposed_maps([(side, word)]))) == ()


@pytest.mark.parametrize(
    ("word", "number"), [("0.5", True), ("-3", True), ("nan", False), ("inf", False), ("x", False)]
)
def test_numbers(word: str, number: bool) -> None:
    """NaN and infinity are no numbers here."""
    assert is_number(word) is number
