"""The panels of item and criterion: all texts whole, sources named, candidates never folded."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from labeling_ui.components import (
    Markup,
    criterion_panel,
    field_panel,
    item_panel,
    key_hints,
    laid_out,
    notice,
    progress_line,
    show,
)
from labeling_ui.panels import LONG
from labeling_ui.texts import MOST_SHOWN
from rubrics.criterion import EvidenceSource
from rubrics.loader import load_catalog
from tests.labeling_ui.hostile import hostile
from tests.labeling_ui.html_text import read, words

CORPUS = hostile("http://127.0.0.1:9")
# fmt: off
SAFE_TAGS = {
    "b", "dd", "details", "div", "dl", "dt", "h1", "h2", "i", "kbd", "li", "mark", "p", "section", "span",
    "summary", "table", "tbody", "td", "th", "thead", "tr", "ul",
}
# fmt: on
SAFE_ATTRIBUTES = {"class", "title", "dir", "tabindex", "data-field", "open", "role", "aria-label"}


@dataclass(frozen=True, slots=True)
class Shown:
    """A field as the labeling records give it."""

    key: str
    title: str
    source: EvidenceSource
    text: str


def field(text: str, source: EvidenceSource = EvidenceSource.CANDIDATE, key: str = "output") -> Shown:
    """A field with a text."""
    return Shown(key, key.capitalize(), source, text)


def foreign(html: str) -> set[str]:
    """The elements and attributes of a panel that none of ours has."""
    shown = read(html)
    return (set(shown.tags) - SAFE_TAGS) | ({key for key, _ in shown.attributes} - SAFE_ATTRIBUTES)


@pytest.mark.parametrize("source", EvidenceSource)
def test_hostile_field_makes_only_our_own_elements(source: EvidenceSource) -> None:
    """In every kind of field a hostile text adds no element and no attribute of its own."""
    shown = {name: foreign(item_panel([field(text, source)])) for name, text in CORPUS.items()}
    assert {name: found for name, found in shown.items() if found} == {}


def test_hostile_title_makes_only_our_own_elements() -> None:
    """A field whose title is hostile adds none either."""
    fields = {name: Shown("k", text, EvidenceSource.RECORDED, "x") for name, text in CORPUS.items()}
    shown = {name: foreign(field_panel(each)) for name, each in fields.items()}
    assert {name: found for name, found in shown.items() if found} == {}


@pytest.mark.parametrize("source", EvidenceSource)
def test_field_says_where_its_text_comes_from(source: EvidenceSource) -> None:
    """The source stands in a chip beside the heading."""
    said = words(field_panel(field("x", source)))
    assert source.value in said
    assert ("untrusted text" in said) is (source is EvidenceSource.CANDIDATE)


def test_long_evidence_is_folded_and_whole() -> None:
    """Beyond the limit the rest of an evidence text is behind a fold, with nothing lost or doubled."""
    text = "word " * LONG
    panel = field_panel(field(text, EvidenceSource.RECORDED, "policy"))
    assert 'class="vd-rest"' in panel
    assert words(panel).count("word") == LONG


def test_text_under_judgment_is_never_folded() -> None:
    """However long, and asked for or not: a rater cannot overlook a part of what is judged."""
    panel = field_panel(field("word " * LONG), folded=True)
    assert "details" not in read(panel).tags
    assert words(panel).count("word") == LONG


def test_fold_opens_where_a_span_lies() -> None:
    """A marked stretch behind the fold opens it."""
    text = "a" * LONG + "b" * 10
    panel = field_panel(field(text, EvidenceSource.RECORDED), [(LONG + 2, LONG + 5)])
    assert '<details class="vd-rest" open>' in panel
    assert '<mark class="vd-mark">bbb</mark>' in panel


def test_beyond_all_bounds_the_page_says_what_it_leaves_out() -> None:
    """A text too long for a page is cut, and the number of its characters is said."""
    said = words(laid_out("x" * (MOST_SHOWN + 1)))
    assert f"{MOST_SHOWN + 1:,} characters" in said
    assert said.count("x") == MOST_SHOWN + said.replace("x" * MOST_SHOWN, "").count("x")


@pytest.mark.parametrize(("text", "said"), [("", "(empty)"), (" \n ", "(only blanks: 3)")])
def test_empty_text_is_said(text: str, said: str) -> None:
    """Nothing to see is no blank space on the page."""
    assert words(laid_out(text)) == said


def test_folding_closes_evidence() -> None:
    """A field named as folded is closed; reference texts that are not named are open."""
    closed = item_panel([field("x", EvidenceSource.REFERENCE, "ref")], folded=["ref"])
    opened = item_panel([field("x", EvidenceSource.REFERENCE, "ref")])
    assert " open" not in closed
    assert " open" in opened


def test_pair_stands_side_by_side() -> None:
    """Left and right share a row, whatever stands before them."""
    fields = [
        field("q", EvidenceSource.RECORDED, "input"),
        field("L", key="left"),
        field("R", key="right"),
    ]
    panel = item_panel(fields)
    assert panel.count('class="vd-pair"') == 1
    assert panel.index("vd-pair") > panel.index('data-field="input"')
    assert panel.index('data-field="left"') < panel.index('data-field="right"')


def test_trajectory_has_folded_steps_and_the_text_as_recorded() -> None:
    """All steps but the last are folded, and the recorded text stands under them whole."""
    text = json.dumps([{"role": f"r{n}", "content": f"said {n}"} for n in range(4)])
    panel = field_panel(field(text))
    assert panel.count('class="vd-step"') == 4
    assert panel.count('class="vd-step" open') == 1
    assert words(panel).endswith(text)


def test_spans_are_marked_in_prose_code_and_tables() -> None:
    """A span is found again in whichever block it lies."""
    text = "one two\n```\nthree\n```\n| four | five |\n|---|---|\n| six | seven |"
    for word in ("two", "three", "five", "seven"):
        at = text.index(word)
        assert f'<mark class="vd-mark">{word}</mark>' in laid_out(text, [(at, at + len(word))])


def test_criterion_card_says_all_that_a_rater_needs() -> None:
    """Question, when to give which answer, ways to fail and examples stand on the card."""
    rubric = load_catalog("refund-policy")
    criterion = rubric.criteria[0]
    said = words(criterion_panel(criterion, number=1, of=2, rubric=rubric.ref))
    texts = [criterion.title, criterion.question, criterion.guidance.pass_when, criterion.guidance.fail_when]
    texts += [criterion.guidance.cannot_decide_when, *(mode.when for mode in criterion.failure_modes)]
    texts += [example.why for example in criterion.examples]
    assert [text for text in texts if text not in said] == []
    assert "Criterion 1 of 2" in said
    assert rubric.ref in said


def test_show_takes_markup_only() -> None:
    """A bare string cannot be put on a page by mistake."""
    with pytest.raises(TypeError, match="untrusted"):
        show("<b>x</b>")  # type: ignore[arg-type]


def test_progress_is_said_in_words_and_to_a_screen_reader() -> None:
    """The bar has a name and its numbers; nothing done and nothing to do are no error."""
    line = progress_line(label="Batch 4", done=12, of=50, right="total 412")
    assert words(line) == "Batch 4 · 12 of 50total 412"
    assert 'aria-valuenow="12"' in line
    assert "width:24%" in line
    assert "width:0%" in progress_line(label="x", done=0, of=0)


def test_small_pieces_escape() -> None:
    """Notices and key hints show their words as words."""
    for piece in (notice("<b>", "<i>"), key_hints([("<b>", "<i>")], remark="<u>")):
        assert isinstance(piece, Markup)
        assert not {"u"} & set(read(piece).tags)
        assert "<b>" in words(piece)


@pytest.mark.parametrize(
    "text",
    [
        "a\u200b" * 300_000,
        "\u200b\u200c" * 300_000,
        "|" * 400_000,
        '"' * 400_000,
        "|a|b|\n|-|-|\n" + "|x|y|\n" * 60_000,
        json.dumps([{"role": "a", "n": 1}] * 9_000),
        json.dumps([{"role": "a", "content": '"' * 90_000}] * 2),
    ],
    ids=["alternating", "unseen", "bars", "quotes", "cells", "steps", "long steps"],
)
def test_no_text_makes_a_page_that_cannot_be_sent(text: str) -> None:
    """However a text is made, its panel stays far below the 20 MB that one message may have."""
    for source in EvidenceSource:
        assert len(field_panel(field(text, source))) < 3_000_000


def test_text_full_of_unseen_characters_is_cut_and_says_so() -> None:
    """What a page cannot hold is left out with its count, not in silence."""
    said = words(laid_out("a\u200b" * 30_000))
    assert "The text has 60,000 characters; only the first 20,000 are shown." in said
    assert "60,000" not in words(laid_out("a" * 60_000))


def test_many_steps_are_counted() -> None:
    """Beyond the first hundreds the steps stand in the text as recorded, and the page says how many."""
    text = json.dumps([{"role": "a", "content": str(n)} for n in range(310)])
    panel = field_panel(field(text))
    assert panel.count('class="vd-step"') == 300
    assert "10 more steps stand in the text as recorded." in words(panel)
