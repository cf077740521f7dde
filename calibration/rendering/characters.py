"""Strips and marks in characters, for terminals and plain text."""

from __future__ import annotations

from dataclasses import dataclass

from calibration.rendering.numbers import NNBSP
from calibration.rendering.strip import Scale, Strip


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters of marks and strips."""

    admit: str
    insufficient: str
    reject: str
    warning: str
    baseline: str
    line: str
    thin: str
    dotted: str
    start: str
    end: str
    open_end: str
    estimate: str
    hollow: str
    limit: str
    crossing: str
    beyond: str


SIGNS = Glyphs("✔", "?", "✘", "!", "–", "━", "─", "┈", "├", "┤", "┊", "█", "□", "┃", "╋", "▸")
PLAIN = Glyphs("+", "?", "x", "!", "-", "=", "-", ".", "[", "]", ":", "#", "o", "|", "|", ">")


def axis(scale: Scale, width: int) -> str:
    """The axis labels over the strips, the limit's own first."""
    cells = [" "] * width
    labels = [(scale.limit_at, scale.limit_words)] if scale.limit_at is not None else []
    for at, words in [*labels, *((tick.at, tick.words) for tick in scale.ticks)]:
        start = min(max(0, round(at * (width - 1)) - len(words) // 2), width - len(words))
        around = cells[max(0, start - 1) : start + len(words) + 1]
        if all(cell == " " for cell in around):
            cells[start : start + len(words)] = words
    return "".join(cells)


def draw(strip: Strip, scale: Scale, width: int, glyphs: Glyphs) -> str:
    """The strip in so many characters: an end never seems to lie on the other side of the limit."""
    limit = None if scale.limit_at is None else round(scale.limit_at * (width - 1))
    cells = [" "] * width
    if limit is not None:
        cells[limit] = glyphs.limit
    if strip.off:
        words = f"{strip.off} {glyphs.beyond}".replace(NNBSP, " ")
        cells[width - len(words) :] = words
        return "".join(cells)
    line = glyphs.thin if strip.hollow else glyphs.line
    low, high = _column(strip.lower, strip, limit, width), _column(strip.upper, strip, limit, width)
    for column in range(low, high + 1):
        cells[column] = glyphs.crossing if column == limit else line
    if strip.worst is not None:
        last = _column(strip.worst, strip, limit, width)
        for column in range(high + 1, last + 1):
            cells[column] = glyphs.limit if column == limit else glyphs.dotted
        if last > high:
            cells[last] = glyphs.open_end
    if high > low:
        cells[low] = glyphs.start
        cells[high] = glyphs.end
    if strip.beyond:
        cells[-1] = glyphs.beyond
    cells[min(max(low, round(strip.estimate * (width - 1))), high)] = (
        glyphs.hollow if strip.hollow else glyphs.estimate
    )
    return "".join(cells)


def _column(place: float, strip: Strip, limit: int | None, width: int) -> int:
    """The column of a place; beside the limit's column unless the place is the limit itself."""
    column = round(place * (width - 1))
    if limit is None or column != limit or strip.limit is None or place == strip.limit:
        return column
    return max(0, column - 1) if place < strip.limit else min(width - 1, column + 1)
