"""The text inside records: normalised for stores, checked for authors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from rubrics.record import Key, Line, Name, OptionalText, Text, normalise_text, raw_bytes, shown

ANY_TEXT = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF, categories=None) | st.just("\0"))


def refused(kind: Any, text: str) -> str:
    """Why the text is refused as that kind."""
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(text)
    return str(caught.value.errors()[0]["msg"]).removeprefix("Value error, ")


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("plain", "plain"),
        ("", ""),
        ("a\0b", "a\\u{0}b"),
        ("half \ud83d", "half \\u{D83D}"),
        ("half \ude00 back", "half \\u{DE00} back"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\\u{DE00}\\u{D83D}"),
        (" kept\r\n\tas it is\u2028 e\u0301 \u202e", " kept\r\n\tas it is\u2028 e\u0301 \u202e"),
    ],
)
def test_text_is_normalised_only_where_no_store_could_hold_it(text: str, normal: str) -> None:
    """NUL and lone surrogates become visible escapes, halves that meet become their character."""
    assert normalise_text(text) == normal


@settings(max_examples=200, deadline=None, derandomize=True)
@given(ANY_TEXT)
def test_normal_text_can_be_stored_and_stays_normal(text: str) -> None:
    """Every text becomes UTF-8 without NUL, twice is as once, and the raw bytes bring it back."""
    normal = normalise_text(text)
    assert "\0" not in normal.encode().decode()
    assert normalise_text(normal) == normal
    assert raw_bytes(text).decode("utf-8", "surrogatepass") == text


def test_different_texts_stay_different() -> None:
    """Three outputs that differ in one unstorable character do not become one."""
    assert len({normalise_text(text) for text in ("a\0", "a\ud83d", "a\ud83e", "a")}) == 4


def test_storable_text_is_not_copied() -> None:
    """The usual case costs a search and no more."""
    text = "an answer" * 100
    assert normalise_text(text) is text


def test_authored_text_is_nfc_trimmed_and_has_one_kind_of_line_end() -> None:
    """The same words typed elsewhere give the same rubric."""
    assert TypeAdapter(Text).validate_python("  cafe\u0301\r\nnext \n") == "caf\u00e9\nnext"


@pytest.mark.parametrize(
    "character", ["\0", "\x07", "\r", "\x85", "\u202e", "\u2066", "\ufeff", "\U000e0041", "\U000e01ef"]
)
def test_character_that_only_the_model_would_see_is_refused(character: str) -> None:
    """A rubric cannot carry text that its reader does not see."""
    message = refused(Text, f"Pass{character} when")
    assert message == f"holds the invisible character U+{ord(character):04X}; delete it"


@pytest.mark.parametrize("text", ["tab\there", "two\nlines", "flag 🏳️‍🌈", "می‌خواهم", "U+2028 \u2028 inside"])
def test_characters_that_writing_needs_are_allowed(text: str) -> None:
    """Tabs, lines, joiners and variation selectors are part of ordinary text."""
    assert TypeAdapter(Text).validate_python(text) == text


def test_blank_long_and_many_lined_texts_are_refused_where_they_do_not_belong() -> None:
    """Each refusal says what is allowed."""
    assert refused(Text, " \n") == "is empty; write at least one word"
    assert TypeAdapter(OptionalText).validate_python(" ") == ""
    assert refused(OptionalText, "x" * 10_001) == "has 10,001 characters; at most 10,000 are allowed"
    assert refused(Line, "a\nb") == "runs over several lines; a heading is one line"


@pytest.mark.parametrize("key", ["a", "Q0", "states_terms", "x.y-z", "a" * 64])
def test_keys_of_other_tools_are_keys(key: str) -> None:
    """Keys are what files spell, upper case included."""
    assert TypeAdapter(Key).validate_python(key) == key


@pytest.mark.parametrize("key", ["", "0a", "_a", "a b", "é", "a\n", "a" * 65])
def test_what_is_no_key_is_quoted(key: str) -> None:
    """A key that is none is shown, with the syntax."""
    assert refused(Key, key).startswith(f"{shown(key)} is not a key; it has up to 64 letters")


@pytest.mark.parametrize("name", ["a", "0", "refund-policy", "Vanilla_NoRules", "pandalm-v1.2"])
def test_names_of_other_tools_are_names(name: str) -> None:
    """Names are what files spell, upper case included."""
    assert TypeAdapter(Name).validate_python(name) == name


@pytest.mark.parametrize("name", ["", "-a", "a-", "a@1", "a/b", "..", "a b"])
def test_what_is_no_name_is_quoted(name: str) -> None:
    """A name that could be read as a path or a version is refused."""
    assert refused(Name, name).startswith(f"{shown(name)} is not a name; a name has")


def test_quoted_value_is_cut() -> None:
    """A message quotes at most about 60 characters of what was given."""
    assert shown("x" * 10_000_000) == "'" + "x" * 27 + "..." + "x" * 28 + "'"
