"""How a text is laid out: prose, code, tables and the steps of a trajectory, by their places in the text.

Nothing is rewritten: every block names a stretch of the text, so that what is read is what was recorded
and a marked span keeps its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

MOST_PARSED: Final = 200_000
"""Characters beyond which a text is not looked at for steps."""
MOST_CELLS: Final = 2_000
"""Cells of a table; a larger one stands in fixed columns, as it was written."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_DELIMITERS = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
_BAR = re.compile(r"(?<!\\)\|")


class Cell(NamedTuple):
    """A stretch of the text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Prose:
    """Text to be read as it stands, its line ends kept."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Code:
    """Text whose columns matter; the lines of its fence belong to it."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Table:
    """Cells in rows; the first row is the head."""

    start: int
    end: int
    rows: tuple[tuple[Cell, ...], ...]


Block: TypeAlias = Prose | Code | Table


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trajectory: who acts, and what is said, called or answered."""

    actor: str
    """Its role, type or name, as recorded; may be empty."""
    parts: tuple[tuple[str, str], ...]
    """Name and text of everything else that the step holds, in recorded order."""


class _Line(NamedTuple):
    start: int
    end: int
    """Without the line end."""
    text: str


def _lines(text: str) -> list[_Line]:
    found, start = [], 0
    for piece in text.split("\n"):
        found.append(_Line(start, start + len(piece), piece.removesuffix("\r")))
        start += len(piece) + 1
    return found


def blocks(text: str) -> tuple[Block, ...]:
    """The blocks of the text in order, from its first character to its last."""
    if is_json(text):
        return (Code(0, len(text)),)
    return tuple(_joined(_found(_lines(text)), len(text)))


def is_json(text: str) -> bool:
    """True for a JSON object or array: shown in fixed columns."""
    return text.lstrip()[:1] in {"{", "["} and _loaded(text) is not None


def _found(lines: list[_Line]) -> Iterator[Code | Table]:
    at = 0
    while at < len(lines):
        if opened := _FENCE.match(lines[at].text):
            last = _fence_end(lines, at, opened[1])
            yield Code(lines[at].start, lines[last].end)
            at = last + 1
        elif rows := _table_rows(lines, at):
            last = max(rows[-1], at + 1)
            yield _table_or_code(lines, rows, lines[at].start, lines[last].end)
            at = last + 1
        else:
            at += 1


def _table_or_code(lines: list[_Line], rows: list[int], start: int, end: int) -> Table | Code:
    if sum(lines[row].text.count("|") for row in rows) > MOST_CELLS:
        return Code(start, end)
    return Table(start, end, tuple(_cells(lines[row]) for row in rows))


def _fence_end(lines: list[_Line], at: int, fence: str) -> int:
    closing = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}\s*")
    for row in range(at + 1, len(lines)):
        if closing.fullmatch(lines[row].text):
            return row
    return len(lines) - 1


def _table_rows(lines: list[_Line], at: int) -> list[int]:
    """The numbers of the lines of the table that starts here, its delimiter line left out; [] for none."""
    if at + 1 >= len(lines) or "|" not in lines[at].text:
        return []
    under = lines[at + 1].text
    if "|" not in under or not _DELIMITERS.fullmatch(under):
        return []
    if len(_cells(lines[at])) != len(_cells(lines[at + 1])):
        return []
    last = at + 2
    while last < len(lines) and "|" in lines[last].text:
        last += 1
    return [at, *range(at + 2, last)]


def _cells(line: _Line) -> tuple[Cell, ...]:
    """The places of a row's cells, without the bars and the blanks around."""
    inner = line.text.strip()
    offset = line.text.index(inner) if inner else 0
    bars = [found.start() + offset for found in _BAR.finditer(inner)]
    edges = [offset - 1, *bars, offset + len(inner)]
    pieces = list(zip([edge + 1 for edge in edges[:-1]], edges[1:], strict=True))
    if len(pieces) > 1 and inner.startswith("|"):
        pieces = pieces[1:]
    if len(pieces) > 1 and inner.endswith("|"):
        pieces = pieces[:-1]
    return tuple(_trimmed(line, start, end) for start, end in pieces)


def _trimmed(line: _Line, start: int, end: int) -> Cell:
    piece = line.text[start:end]
    left = len(piece) - len(piece.lstrip(" "))
    return Cell(line.start + start + left, line.start + max(start + left, start + len(piece.rstrip(" "))))


def _joined(found: Iterator[Code | Table], length: int) -> Iterator[Block]:
    """The blocks found with the prose between them; the line end beside a block is the block's own."""
    at = 0
    for block in found:
        if block.start > at:
            yield Prose(at, block.start)
        yield block
        at = block.end
    if at < length or at == 0:
        yield Prose(at, length)


# -- trajectories


def steps(text: str) -> tuple[Step, ...]:
    """The steps of a trajectory recorded as JSON or JSON Lines; () where the text is none.

    A trajectory is a list of two or more objects that each name a role, type, tool or action, alone or
    under `messages`, `steps`, `trajectory` or `events`.
    """
    found = _listed(text)
    if len(found) < 2 or not all(isinstance(each, dict) and _actor_key(each) for each in found):
        return ()
    return tuple(_step(each) for each in found)


_ACTORS = ("role", "type", "actor", "kind", "tool", "action", "name")
_LISTS = ("messages", "steps", "trajectory", "events")


def _actor_key(step: dict[str, Any]) -> str | None:
    return next((key for key in _ACTORS if isinstance(step.get(key), str)), None)


def _listed(text: str) -> list[Any]:
    if len(text) > MOST_PARSED or text.lstrip()[:1] not in {"{", "["}:
        return []
    loaded = _loaded(text)
    if isinstance(loaded, dict):
        loaded = next((loaded[key] for key in _LISTS if isinstance(loaded.get(key), list)), None)
    if isinstance(loaded, list):
        return loaded
    rows = [_loaded(line) for line in text.split("\n") if line.strip()]
    return [] if any(row is None for row in rows) else rows


def _loaded(text: str) -> Any:
    if len(text) > MOST_PARSED:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _step(step: dict[str, Any]) -> Step:
    key = _actor_key(step)
    rest = tuple((name, _text(value)) for name, value in step.items() if name != key and value is not None)
    return Step(step[key] if key else "", rest)


def _text(value: Any) -> str:
    """The value as words: strings as they are, a list of text parts joined, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(_is_text_part(part) for part in value):
        return "\n".join(part["text"] for part in value)
    return json.dumps(value, ensure_ascii=False, indent=2)


def _is_text_part(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str) and set(part) <= {"type", "text"}
