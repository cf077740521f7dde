"""The one sentence with which a table is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from calibration.interchange.columns import Part
from calibration.interchange.doctor import NeedsOptions
from calibration.interchange.gather import Gathered
from calibration.interchange.grid import Grid, Rejected
from calibration.interchange.lines import shown
from calibration.interchange.words import (
    LABELS_READ,
    REASONS_READ,
    Side,
    UnmappedWords,
    is_number,
    proposed_maps,
)
from rubrics.errors import TableError

_PART_OF: Final = {Side.HUMAN: Part.HUMAN_LABEL, Side.JUDGE: Part.JUDGE_LABEL, Side.REASON: Part.REASON}
_NAMED_WORDS = 6
_SCORES = 3  # more distinct numbers than this are a scale, not a code


def raise_first_problem(
    grid: Grid, columns: Mapping[Part, str], problems: Sequence[Rejected], gathered: Gathered
) -> None:
    """Refuse the table for its first problem; return where there is none.

    Unknown words are told together, since one answer of the user mends them all.

    Raises:
        NeedsOptions: words or label sources that an option explains.
        TableError: a line that must be mended.
    """
    if not problems:
        return
    first = min(problems, key=lambda problem: problem.line)
    if gathered.words.counts and min(gathered.words.first.values()) <= first.line:
        _raise_words(grid, columns, gathered.words)
    if first.line in gathered.refused_sources.values():
        _raise_source(grid, gathered, first)
    lines = {problem.line for problem in problems}
    others = len(lines) - 1
    more = (
        f" ({others} more {grid.unit}{'s' if others > 1 else ''} cannot be read; --skip-bad reads the rest)"
    )
    raise TableError(
        f"{grid.name}, {grid.unit} {first.line}: {first.message}{more if others else ''}",
        line=first.line,
        field=first.field,
    )


def _raise_words(grid: Grid, columns: Mapping[Part, str], words: UnmappedWords) -> NoReturn:
    """Refuse label words that nobody explained, with counts, first lines and the options that would."""
    sides = list(dict.fromkeys(side for side, _ in words.counts))
    line = min(words.first.values())
    for side in sides:
        told = words.of(side)
        if len(told) > _SCORES and all(is_number(word) for word, _ in told):
            raise _scores(grid, columns[_PART_OF[side]], words, side)
    held = ", ".join(f"{columns[_PART_OF[side]]!r} holds {_told(grid, words, side)}" for side in sides)
    allowed = REASONS_READ if sides == [Side.REASON] else LABELS_READ
    raise NeedsOptions(
        f"{grid.name}: {held}; allowed are {allowed}: say what each word means",
        options=proposed_maps(words.counts),
        line=line,
        field=columns[_PART_OF[sides[0]]],
    )


def _told(grid: Grid, words: UnmappedWords, side: Side) -> str:
    """The words of one side with counts and first lines."""
    told = words.of(side)
    named = " and ".join(
        f"{shown(word)} ({count}, first on {grid.unit} {words.first[side, word]})"
        for word, count in told[:_NAMED_WORDS]
    )
    return named + (f" and {len(told) - _NAMED_WORDS} more words" if len(told) > _NAMED_WORDS else "")


def _raise_source(grid: Grid, gathered: Gathered, first: Rejected) -> NoReturn:
    """Refuse labels that no person made."""
    found = " and ".join(source.value for source in gathered.refused_sources)
    counted = sum(problem.field == Part.SOURCE.value for problem in gathered.problems)
    labels = f"{counted} labels come" if counted > 1 else "1 label comes"
    sources = ("human", *(source.value for source in gathered.refused_sources))
    raise NeedsOptions(
        f"{grid.name}, {grid.unit} {first.line}: {labels} from {found}, and only people's "
        "labels are a reference; leave them out by --reference-source human, or let them count "
        "(such a report can never admit)",
        options=tuple(part for source in sources for part in ("--reference-source", source)),
        line=first.line,
        field=Part.SOURCE.value,
    )


def _scores(grid: Grid, column: str, words: UnmappedWords, side: Side) -> TableError:
    """The refusal of numbers where words are due; no threshold is anybody's but the user's."""
    told = [word for word, _ in words.of(side)]
    line = words.first[side, told[0]]
    return TableError(
        f"{grid.name}, {grid.unit} {line}: {column!r} holds numbers ({', '.join(told[:_SCORES])}, ... "
        f"{len(told)} different ones) where a word is due ({LABELS_READ}); a score becomes a verdict by "
        "your rule only: write the verdicts into the table",
        line=line,
        field=column,
    )
