"""Text from outside made HTML or plain words in which nothing acts and nothing is unseen."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias

from markupsafe import Markup, escape

from rubrics.characters import UNSEEN, code_point

Range: TypeAlias = tuple[int, int]
"""Start and end (exclusive) of a marked stretch, in characters of the text."""

MOST_CHIPS: Final = 24
"""Chips of one run of invisible characters; the others of the run are counted."""
_LONGEST_NAME: Final = 120
_RUNS = re.compile(f"(?:{UNSEEN.pattern})+")
_LINE_END: Final = "&#10;"
"""A line end that no dedenting and no `<pre>` rule of a parser touches."""


def untrusted(text: str, spans: Iterable[Range] = ()) -> Markup:
    """The text as HTML that shows exactly its characters: nothing in it acts, nothing in it is unseen.

    Control and invisible characters become chips such as U+202E; spans are marked. The result belongs
    into an element that keeps white space; `prose` gives one.
    """
    text = str(text)  # a text that claims to be Markup is a text
    parts: list[Markup] = []
    for start, end, marked in _stretches(len(text), spans):
        piece = _escaped(text[start:end])
        parts.append(Markup('<mark class="vd-mark">{}</mark>').format(piece) if marked else piece)
    return Markup("").join(parts)


def plain(text: str, *, most: int = _LONGEST_NAME) -> str:
    """The text on one line for a widget that draws plain words: invisible characters named, length bounded.

    Not for a slot that reads Markdown (labels of buttons, headings, radio options).
    """
    line = UNSEEN.sub(lambda found: f"‹{code_point(found[0])}›", " ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _escaped(text: str) -> Markup:
    found: list[Markup] = []
    at = 0
    for run in _RUNS.finditer(text):
        found.append(escape(text[at : run.start()]))
        found.append(_chips(run[0]))
        at = run.end()
    found.append(escape(text[at:]))
    return Markup(str(Markup("").join(found)).replace("\r\n", "\n").replace("\n", _LINE_END))


def _chips(run: str) -> Markup:
    groups: list[tuple[str, int]] = []
    for character in run:
        if groups and groups[-1][0] == character:
            groups[-1] = (character, groups[-1][1] + 1)
        else:
            groups.append((character, 1))
    shown = Markup("").join(_chip(character, count) for character, count in groups[:MOST_CHIPS])
    if left := sum(count for _, count in groups[MOST_CHIPS:]):
        shown += Markup('<span class="vd-uc">and {} more invisible characters</span>').format(f"{left:,}")
    return shown


@lru_cache(maxsize=1024)
def _chip(character: str, count: int) -> Markup:
    times = f" × {count:,}" if count > 1 else ""
    said = Markup('<span class="vd-uc" title="{}">{}{}</span>')
    return said.format(_name(character), code_point(character), times)


def _name(character: str) -> str:
    """What an invisible character is called; of a tag, the letter that it stands for."""
    number = ord(character)
    if 0xE0020 <= number <= 0xE007E:
        return f"invisible character: tag {chr(number - 0xE0000)}"
    return f"invisible character: {unicodedata.name(character, 'without a name').lower()}"


def _stretches(length: int, spans: Iterable[Range]) -> Iterator[tuple[int, int, bool]]:
    """The text cut at the spans, overlapping ones as one, what lies outside the text left out."""
    at = 0
    for start, end in merged(length, spans):
        if start > at:
            yield at, start, False
        yield start, end, True
        at = end
    if at < length:
        yield at, length, False


def merged(length: int, spans: Iterable[Range]) -> list[Range]:
    """The ranges in order, overlapping ones as one, what lies outside the text left out."""
    merged: list[Range] = []
    for start, end in sorted((max(0, start), min(length, end)) for start, end in spans):
        if end <= start:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def within(spans: Iterable[Range], start: int, end: int) -> list[Range]:
    """The ranges as they lie in the stretch from start to end, cut at its edges."""
    return [(max(a, start) - start, min(b, end) - start) for a, b in spans if a < end and b > start]
