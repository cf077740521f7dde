"""Which column plays which part; where two could, nobody picks."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from calibration.interchange.grid import Grid
from calibration.interchange.lines import shown
from calibration.interchange.words import Side, WordBook, boolean_like, fold
from rubrics.errors import DeclarationError


class Part(StrEnum):
    """The columns of the flat table (ARCHITECTURE §6)."""

    ID = "id"
    HUMAN_LABEL = "human_label"
    JUDGE_LABEL = "judge_label"
    INPUT = "input"
    OUTPUT = "output"
    RATER = "rater"
    BLIND = "blind"
    GROUP = "group"
    MODEL_FAMILY = "model_family"
    CRITERION = "criterion"
    JUDGE = "judge"
    REASON = "reason"
    DETAIL = "detail"
    ADJUDICATED_LABEL = "adjudicated_label"
    NOTE = "note"
    SOURCE = "source"


REQUIRED: Final = (Part.ID, Part.HUMAN_LABEL, Part.JUDGE_LABEL)
SLICE_PREFIX: Final = "slice_"

# fmt: off
_ALIASES: Final[Mapping[Part, frozenset[str]]] = {
    Part.ID: frozenset({
        "id", "item_id", "example_id", "case_id", "sample_id", "row_id", "record_id", "task_id", "uid",
        "uuid", "key",
    }),
    Part.HUMAN_LABEL: frozenset({
        "human_label", "human", "human_passed", "human_pass", "human_verdict", "human_judgment",
        "human_judgement", "human_rating", "human_grade", "human_score", "human_annotation", "human_decision",
        "gold", "gold_label", "ground_truth", "reference_label", "reference", "expert", "expert_label",
        "rater_label", "annotator_label",
    }),
    Part.JUDGE_LABEL: frozenset({
        "judge_label", "judge", "judge_passed", "judge_pass", "judge_verdict", "judge_judgment",
        "judge_judgement", "judge_rating", "judge_grade", "judge_score", "judge_decision", "judge_output",
        "llm", "llm_label", "llm_judge", "llm_verdict", "llm_judgment", "llm_judgement", "llm_passed",
        "llm_score", "model_label", "model_verdict", "model_judgment", "auto_label", "auto_grade",
        "grader_label", "prediction", "predicted", "predicted_label",
    }),
}
# names that say nothing about who labeled: each could be either side's
_NAMELESS: Final = frozenset({
    "label", "verdict", "passed", "pass", "result", "rating", "grade", "score", "decision", "correct",
    "is_correct", "success", "accepted", "judgment", "judgement",
})
# fmt: on
KNOWN_NAMES: Final = frozenset(Part) | frozenset().union(*_ALIASES.values()) | _NAMELESS
_SIDES: Final = {Part.HUMAN_LABEL: Side.HUMAN, Part.JUDGE_LABEL: Side.JUDGE}
_FEW_WORDS = 8
_LONG_WORD = 30
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def plain_name(column: str) -> str:
    """The column's name as names are compared: `humanLabel`, `Human Label`, `human-label` are one."""
    return re.sub(r"[\s.\-]+", "_", _CAMEL.sub("_", column.strip())).casefold()


class ColumnValues:
    """The distinct folded values of a grid's columns, gathered when asked for."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._found: dict[str, dict[str, int]] = {}

    def counts(self, column: str) -> dict[str, int]:
        """Folded value -> rows that hold it, empty cells included."""
        if column not in self._found:
            at = self._grid.columns.index(column)
            counts: dict[str, int] = {}
            for row in self._grid.rows:
                counts[row[at]] = counts.get(row[at], 0) + 1
            folded: dict[str, int] = {}
            for cell, count in counts.items():
                folded[fold(cell)] = folded.get(fold(cell), 0) + count
            self._found[column] = folded
        return self._found[column]

    def words(self, column: str) -> list[str]:
        """The distinct values that are not empty."""
        return [value for value in self.counts(column) if value]


@dataclass(frozen=True, slots=True)
class Plan:
    """Column of each part, and the parts for which no single column stands out."""

    columns: dict[Part, str]
    candidates: dict[Part, tuple[str, ...]]
    """Of the required parts that are open: the columns that could play them."""
    aliases: dict[Part, str]
    """Parts that were told from another name than their own."""

    @property
    def settled(self) -> bool:
        """True where every required part has its column."""
        return not self.candidates


def plan_columns(values: ColumnValues, grid: Grid, *, given: Mapping[str, str], book: WordBook) -> Plan:
    """Which column plays which part: as given, else by its own name, else by a single alias.

    Args:
        values: What the columns hold.
        grid: The table.
        given: Part -> column as the user said; an empty column says that no column plays the part.
        book: The words that can be read, to tell a column of labels from a column of names.

    Raises:
        DeclarationError: a given part or column does not exist, or one column has two parts.
    """
    columns = _given_columns(given, grid)
    taken = set(columns.values())
    for part in Part:
        if (
            part not in columns
            and part.value not in given
            and part.value in grid.columns
            and part.value not in taken
            and not (part in REQUIRED and len(_spellings(part, grid.columns, taken)) > 1)
        ):
            columns[part] = part.value
    candidates = _candidates(values, grid, columns, book)
    wanted_elsewhere = {column for found in candidates.values() if len(found) > 1 for column in found}
    aliases = {
        part: found[0]
        for part, found in candidates.items()
        if len(found) == 1 and found[0] not in wanted_elsewhere
    }
    if len(set(aliases.values())) < len(aliases):
        aliases = {part: name for part, name in aliases.items() if list(aliases.values()).count(name) == 1}
    for part, name in aliases.items():
        # `judge` in its own name is a judge's name; read as the judge's label it cannot be both
        columns = {p: c for p, c in columns.items() if c != name} | {part: name}
    return Plan(columns, {part: found for part, found in candidates.items() if part not in aliases}, aliases)


def _given_columns(given: Mapping[str, str], grid: Grid) -> dict[Part, str]:
    """The parts that the user settled."""
    columns: dict[Part, str] = {}
    for name, column in given.items():
        if name not in set(Part):
            raise DeclarationError(
                f"--column {shown(name)}=...: there is no such part; the parts are {', '.join(Part)}"
            )
        if not column:
            continue
        if column not in grid.columns:
            raise DeclarationError(
                f"--column {name}={column}: {grid.name} has no column {shown(column)}; "
                f"it has {listed(grid.columns)}"
            )
        if column in columns.values():
            raise DeclarationError(
                f"--column {name}={column}: the column already plays another part; name another"
            )
        columns[Part(name)] = column
    return columns


def _candidates(
    values: ColumnValues, grid: Grid, columns: Mapping[Part, str], book: WordBook
) -> dict[Part, tuple[str, ...]]:
    """The columns that could play each required part that is open."""
    taken = {column for part, column in columns.items() if part is not Part.JUDGE}
    found: dict[Part, tuple[str, ...]] = {}
    for part in REQUIRED:
        if part not in columns:
            free = [column for column in grid.columns if column not in taken]
            spellings = _spellings(part, free, ())
            found[part] = (
                spellings
                if len(spellings) > 1
                else tuple(column for column in free if _could_play(part, column, values, book))
            )
    return found


def _spellings(part: Part, columns: Iterable[str], taken: Container[str]) -> tuple[str, ...]:
    """The free columns that are called as the part is, in whatever spelling: judge_label, Judge_Label."""
    return tuple(c for c in columns if plain_name(c) == part.value and c not in taken)


def _could_play(part: Part, column: str, values: ColumnValues, book: WordBook) -> bool:
    """True where the column's name claims the part and its content does not contradict."""
    name = plain_name(column)
    if part is Part.ID:
        return name in _ALIASES[part]
    if name == Part.JUDGE.value:
        return part is Part.JUDGE_LABEL and holds_verdicts(column, _SIDES[part], values, book)
    return (name in _ALIASES[part] or name in _NAMELESS) and holds_few_words(column, values)


def holds_few_words(column: str, values: ColumnValues) -> bool:
    """True where the column holds at most eight distinct short values, as labels do."""
    words = values.words(column)
    return len(words) <= _FEW_WORDS and all(len(word) <= _LONG_WORD for word in words)


def holds_verdicts(column: str, side: Side, values: ColumnValues, book: WordBook) -> bool:
    """True where every value is a word of the side, or one that means yes or no to somebody."""
    words = values.words(column)
    return bool(words) and all(book.knows(side, word) or boolean_like(word) for word in words)


def listed(names: Iterable[str], *, limit: int = 12) -> str:
    """Names in a sentence: quoted, with how many were left out."""
    every = list(names)
    text = ", ".join(shown(name) for name in every[:limit])
    return text + (f" and {len(every) - limit} more" if len(every) > limit else "")
