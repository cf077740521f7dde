"""Word-level differences."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics.words import Edit, Run, marked, word_diff

TEXTS = st.lists(
    st.sampled_from(
        ["within", "30", "14", "days", ",", " ", "  ", "\n", "(", "fee", "€5", "it's", "12.5", "é"]
    ),
    max_size=20,
).map("".join)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(TEXTS, TEXTS)
def test_runs_lead_from_one_text_to_the_other(before: str, after: str) -> None:
    """Kept and removed give the old text, kept and added the new one, and no run is empty."""
    runs = word_diff(before, after)
    assert "".join(run.text for run in runs if run.edit is not Edit.ADDED) == before
    assert "".join(run.text for run in runs if run.edit is not Edit.REMOVED) == after
    assert all(run.text for run in runs)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(TEXTS.filter(bool))
def test_equal_texts_have_one_kept_run(text: str) -> None:
    """Nothing changed is one run."""
    assert word_diff(text, text) == (Run(Edit.KEPT, text),)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("within 30 days", "within 14 days", "within [-30-]{+14+} days"),
        ("a fee of 12.50 euros", "a fee of 12.90 euros", "a fee of [-12.50-]{+12.90+} euros"),
        (
            "found in the evidence",
            "found in, or follows from, the evidence",
            "found in{+, or follows from,+} the evidence",
        ),
        ("it's free", "its free", "[-it's-]{+its+} free"),
        ("15% of it", "15 of it", "[-15%-]{+15+} of it"),
        ("", "new", "{+new+}"),
        ("old", "", "[-old-]"),
        ("", "", ""),
    ],
)
def test_words_and_numbers_change_whole(before: str, after: str, shown: str) -> None:
    """A reader sees which word or number became which."""
    assert marked(word_diff(before, after)) == shown


def test_texts_of_few_words_repeated_very_often_are_not_aligned() -> None:
    """Aligning them would take minutes: they are replaced whole, or kept where equal."""
    once, twice = "a b " * 400, "b a " * 400
    assert word_diff(once, twice) == (Run(Edit.REMOVED, once), Run(Edit.ADDED, twice))
    assert word_diff(once, once) == (Run(Edit.KEPT, once),)
