"""Canonical form and digest."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics.digest import canonical_json, digest, short, text_digest
from tests.rubrics.builders import item

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_canonical_json_is_written_as_said() -> None:
    """Keys sorted, no spaces, text not escaped."""
    assert canonical_json({"b": [1, None, True], "a": "é€"}) == '{"a":"é€","b":[1,null,true]}'


@settings(max_examples=60, deadline=None, derandomize=True)
@given(VALUES)
def test_canonical_json_loses_nothing(value: Any) -> None:
    """Read back, the canonical form is the value; written again, it is the same text."""
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


def test_order_of_keys_does_not_matter_and_order_of_entries_does() -> None:
    """A mapping is its keys, a list is its order."""
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest([1, 2]) != digest([2, 1])


def test_digest_is_the_sha256_of_the_canonical_bytes() -> None:
    """Anybody can recompute it with other tools."""
    assert digest({"a": "é"}) == hashlib.sha256('{"a":"é"}'.encode()).hexdigest()
    assert text_digest("é") == hashlib.sha256("é".encode()).hexdigest()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_no_number_that_is_none(number: float) -> None:
    """NaN and infinity have no canonical form: an undefined number is a reason."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest({"far": number})


def test_lone_surrogates_keep_texts_apart() -> None:
    """Half a character can be hashed, and another half gives another digest."""
    assert len({digest("\ud83d"), digest("\ud83e"), digest("?")}) == 3
    assert len({text_digest("\ud83d"), text_digest("\ud83e"), text_digest("?")}) == 3


def test_record_is_hashed_by_its_content() -> None:
    """A pydantic record and its own JSON form have one digest."""
    assert digest(item()) == digest(item().model_dump(mode="json"))


def test_short_form_is_twelve_digits_in_fours() -> None:
    """People read 12 digits."""
    assert short("0123456789abcdef" * 4) == "0123 4567 89ab"
