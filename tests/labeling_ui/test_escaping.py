"""Text from outside shows exactly its characters: nothing acts, nothing is unseen, nothing is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from labeling_ui.escaping import MOST_CHIPS, Range, merged, plain, untrusted, within
from rubrics.characters import UNSEEN
from tests.labeling_ui.hostile import hostile
from tests.labeling_ui.html_text import read, words

BASE = "http://127.0.0.1:9"
CORPUS = hostile(BASE)
CHIP = {"class", "title"}
TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("<>&\"'`\n\r\t \u200b\u202e\ufe0f\U000e0041")))


def test_corpus_is_large_and_without_doubles() -> None:
    """At least 60 hostile texts, no two alike."""
    assert len(CORPUS) >= 60
    assert len(set(CORPUS.values())) == len(CORPUS)


def test_hostile_text_makes_no_tag_but_chips() -> None:
    """Whatever a text holds, its HTML has chips and nothing else."""
    shown = {name: read(untrusted(text)) for name, text in CORPUS.items()}
    assert {name: each.tags for name, each in shown.items() if set(each.tags) - {"span"}} == {}
    odd = {name: each.attributes for name, each in shown.items() if dict(each.attributes).keys() - CHIP}
    assert odd == {}


def test_hostile_text_leaves_nothing_unseen() -> None:
    """No invisible character reaches the page, in words or attributes."""
    shown = {name: untrusted(text) + plain(text) for name, text in CORPUS.items()}
    assert [name for name, each in shown.items() if UNSEEN.search(each)] == []


@settings(max_examples=150, derandomize=True, deadline=None)
@given(TEXTS)
def test_text_is_read_back_whole(text: str) -> None:
    """What a person reads, chips taken as their characters, is the text, but for two kinds of line end."""
    if "more invisible characters" in untrusted(text):
        return
    assert words(untrusted(text)) == text.replace("\r\n", "\n")


@settings(max_examples=150, derandomize=True, deadline=None)
@given(TEXTS, st.lists(st.tuples(st.integers(-3, 40), st.integers(-3, 40)), max_size=4))
def test_marks_lie_where_the_spans_are(text: str, spans: list[Range]) -> None:
    """The marked characters are those of the spans, whatever their order, overlap or reach."""
    text = text.replace("\r", "").replace("\u202e", "")
    inside = {at for start, end in spans for at in range(max(0, start), min(len(text), end))}
    ranges = merged(len(text), spans)
    assert {at for start, end in ranges for at in range(start, end)} == inside
    assert all(a[1] < b[0] for a, b in pairwise(ranges))
    assert untrusted(text, spans).count("<mark") == len(ranges)


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a\u200bb", 'a<span class="vd-uc" title="invisible character: zero width space">U+200B</span>b'),
        ("\U000e0041", '<span class="vd-uc" title="invisible character: tag A">U+E0041</span>'),
        ("\x07", '<span class="vd-uc" title="invisible character: without a name">U+0007</span>'),
        (
            "\u200b" * 3,
            '<span class="vd-uc" title="invisible character: zero width space">U+200B × 3</span>',
        ),
        ("a\r\nb\nc", "a&#10;b&#10;c"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
    ],
)
def test_what_is_not_seen_is_named(text: str, html: str) -> None:
    """A chip says the number, and its title the name, the letter of a tag, or that there is none."""
    assert untrusted(text) == html


def test_long_run_is_counted() -> None:
    """Of a run of many different invisible characters the first are shown and the others counted."""
    shown = untrusted("\u200b\u200c" * 500)
    assert shown.count("vd-uc") == MOST_CHIPS + 1
    assert f"and {1000 - MOST_CHIPS:,} more invisible characters" in shown


def test_markup_from_outside_is_still_text() -> None:
    """A text that calls itself Markup is escaped like any other."""
    assert untrusted(Markup("<b>x</b>")) == "&lt;b&gt;x&lt;/b&gt;"


def test_plain_words_fit_on_one_short_line() -> None:
    """For a widget: one line, invisible characters named, cut where it is long."""
    assert plain("a\n b\u202e") == "a b‹U+202E›"
    assert plain("x" * 200, most=10) == "x" * 9 + "…"


def test_ranges_are_cut_at_the_edges_of_a_stretch() -> None:
    """A span that reaches over the edge of a block is marked inside the block."""
    assert within([(0, 3), (4, 9), (20, 30)], 2, 6) == [(0, 1), (2, 4)]
