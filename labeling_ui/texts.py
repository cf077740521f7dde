"""A text of an item as HTML: prose, code, tables, the steps of a trajectory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from markupsafe import Markup

from labeling_ui.blocks import Block, Code, Step, Table, blocks
from labeling_ui.escaping import Range, merged, plain, untrusted, within
from labeling_ui.pieces import notice
from rubrics.characters import UNSEEN

MOST_SHOWN: Final = 200_000
"""Characters of one text beyond which nothing more is shown, and the page says so."""
MOST_UNSEEN: Final = 5_000
"""Invisible characters of one text beyond which less of it is shown: each takes 80 characters of HTML."""
MOST_SHOWN_OF_UNSEEN: Final = 20_000
"""Characters that are then shown."""
MOST_STEPS: Final = 300
"""Steps of a trajectory that are shown one by one; the text as recorded holds all."""


def prose(text: str, spans: Iterable[Range] = ()) -> Markup:
    """The text in an element that keeps its white space and finds its own writing direction."""
    return Markup('<div class="vd-txt" dir="auto">{}</div>').format(untrusted(text, spans))


def laid_out(text: str, spans: Iterable[Range] = ()) -> Markup:
    """The text with its code in fixed columns and its tables as tables; nothing is rewritten."""
    if not text.strip():
        return _blank(text)
    shown_text = text[: _bound(text)]
    marked = merged(len(shown_text), spans)
    parts = [_block(shown_text, block, marked) for block in blocks(shown_text)]
    if len(text) > len(shown_text):
        parts.append(
            notice(
                f"The text has {len(text):,} characters; only the first {len(shown_text):,} are shown.",
                "If the rest matters for your answer, choose cannot decide.",
            )
        )
    return Markup("").join(parts)


def _bound(text: str) -> int:
    """How many characters of the text a page can hold."""
    unseen = sum(1 for _ in islice(UNSEEN.finditer(text), MOST_UNSEEN + 1))
    return MOST_SHOWN if unseen <= MOST_UNSEEN else MOST_SHOWN_OF_UNSEEN


def _blank(text: str) -> Markup:
    words = f"(only blanks: {len(text):,})" if text else "(empty)"
    return Markup('<div class="vd-txt vd-none">{}</div>').format(words)


def _block(text: str, block: Block, spans: Sequence[Range]) -> Markup:
    if isinstance(block, Table):
        return _table(text, block, spans)
    piece = text[block.start : block.end]
    if isinstance(block, Code):
        code = Markup('<div class="vd-code" dir="ltr" tabindex="0">{}</div>')
        return code.format(untrusted(piece, within(spans, block.start, block.end)))
    if len(piece) == len(text):
        return prose(text, spans)
    # the line ends beside a block are drawn by the block's own edge
    stripped = piece.strip("\r\n")
    start = block.start + piece.index(stripped)
    return prose(stripped, within(spans, start, start + len(stripped))) if stripped else Markup("")


def _table(text: str, table: Table, spans: Sequence[Range]) -> Markup:
    rows = []
    for number, row in enumerate(table.rows):
        tag = Markup("th") if number == 0 else Markup("td")
        cells = Markup("").join(
            Markup('<{0} dir="auto">{1}</{0}>').format(
                tag, untrusted(text[cell.start : cell.end], within(spans, cell.start, cell.end))
            )
            for cell in row
        )
        rows.append(Markup("<tr>{}</tr>").format(cells))
    body = Markup("<thead>{}</thead><tbody>{}</tbody>").format(rows[0], Markup("").join(rows[1:]))
    return Markup('<div class="vd-scroll" tabindex="0"><table class="vd-table">{}</table></div>').format(body)


def trajectory(text: str, found: Sequence[Step], spans: Iterable[Range] = ()) -> Markup:
    """The steps of a trajectory, folded but for the last one, and the text as it was recorded under them."""
    shown = found[:MOST_STEPS]
    parts = [_step(number, step, opened=number == len(found)) for number, step in enumerate(shown, start=1)]
    if len(found) > len(shown):
        parts.append(notice(f"{len(found) - len(shown):,} more steps stand in the text as recorded."))
    raw = Markup('<details class="vd-raw"{}><summary>As recorded: {} characters</summary>{}</details>')
    marked = list(spans)
    opened = Markup(" open") if marked else Markup("")
    return Markup("").join(parts) + raw.format(opened, f"{len(text):,}", laid_out(text, marked))


def _step(number: int, step: Step, *, opened: bool) -> Markup:
    first = " · ".join(words for _, words in step.parts if words.strip())
    head = Markup(
        '<summary><span class="vd-no">{}</span> <b>{}</b> <span class="vd-first">{}</span></summary>'
    )
    parts = Markup("").join(_part(name, words) for name, words in step.parts)
    summary = head.format(number, untrusted(plain(step.actor)), untrusted(plain(first)))
    folded = Markup('<details class="vd-step"{}>{}{}</details>')
    return folded.format(Markup(" open") if opened else Markup(""), summary, parts)


def _part(name: str, words: str) -> Markup:
    called = (
        Markup("")
        if name == "content"
        else Markup('<span class="vd-part-name">{}</span>').format(untrusted(name))
    )
    return Markup('<div class="vd-part">{}{}</div>').format(called, laid_out(words))
