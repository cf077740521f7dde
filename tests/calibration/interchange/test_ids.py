"""Ids that name nothing, and ids that look alike."""

from __future__ import annotations

import pytest

from calibration.interchange.ids import alike, no_id


@pytest.mark.parametrize("word", ["nan", "NaN", " NULL ", "<NA>", "-inf", "undefined"])
def test_words_for_a_missing_value_name_no_item(word: str) -> None:
    """However they are written, with spaces around them or in capitals."""
    assert no_id(word) == f"id {word!r} is how a missing value is written: give each item an id of its own"


@pytest.mark.parametrize("word", ["nano", "0", "-", "na-1", "none of these"])
def test_other_words_may(word: str) -> None:
    """A word that only begins so is an id like any other."""
    assert no_id(word) == ""


def test_ids_that_differ_by_case_or_spaces_are_paired_with_the_first() -> None:
    """Case folded, runs of spaces as one; the same id again is no pair."""
    assert alike(["Straße", "b", "STRASSE", "b", "a b", " A  b "]) == (
        ("Straße", "STRASSE"),
        ("a b", " A  b "),
    )
