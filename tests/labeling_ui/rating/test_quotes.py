"""Quoted words are found where they stand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from calibration.labeling.records import Span
from labeling_ui.rating.quotes import quotes

TEXTS = [("input", "May I return it?"), ("output", "Yes, within 30 days; yes, 30 days.")]
WORDS = (
    st.text(min_size=1, max_size=30).map(str.strip).filter(lambda words: words and not set("“”") & set(words))
)


def test_quote_is_found_in_its_field() -> None:
    """Words between quotation marks are a place in the text, the first where they stand twice."""
    assert quotes("“30 days” is nowhere", TEXTS) == (Span("output", 12, 19),)


def test_what_is_not_there_is_no_quote() -> None:
    """Words of the rater's own, plain or quoted, are no place."""
    assert quotes("30 days, “60 days”, “ ”, “", TEXTS) == ()


def test_same_quote_counts_once() -> None:
    """Quoting twice is one place; several quotes keep the order of the note."""
    note = "“30 days” “return it” “30 days”"
    assert quotes(note, TEXTS) == (Span("output", 12, 19), Span("input", 6, 15))


@given(before=st.text(max_size=40), words=WORDS, after=st.text(max_size=40))
def test_place_reads_back_as_the_words(before: str, words: str, after: str) -> None:
    """Whatever is quoted from a text is found in it and reads back character by character."""
    (found,) = quotes(f"see “{words}”", [("output", before + words + after)])
    assert (before + words + after)[found.start : found.end] == words
