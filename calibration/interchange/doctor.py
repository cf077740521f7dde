"""The doctor's answer: what each column of a table could be, and the commands that would work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product

from calibration.interchange.columns import (
    ColumnValues,
    Part,
    Plan,
    holds_verdicts,
    listed,
    plan_columns,
)
from calibration.interchange.grid import Grid
from calibration.interchange.lines import shown
from calibration.interchange.words import Side, WordBook, proposed_maps
from rubrics.errors import TableError

_SIDES = {Part.HUMAN_LABEL: Side.HUMAN, Part.JUDGE_LABEL: Side.JUDGE}
_SAMPLES = 3
_MAX_COMMANDS = 6  # three columns for two parts, every way round


@dataclass(frozen=True, slots=True)
class ColumnFinding:
    """What one column holds and which part it plays or could play."""

    name: str
    plays: str | None
    """The part it plays."""
    could_play: tuple[str, ...]
    """The open parts that it could play."""
    filled: int
    """Rows in which it is not empty."""
    rows: int
    distinct: int
    samples: tuple[str, ...]
    unmapped: tuple[tuple[str, int], ...]
    """Words that its part does not know, with their counts; of label columns only."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the doctor found in a table."""

    name: str
    problem: str | None
    """Why the table cannot be read as it is, in one sentence; None where it can."""
    columns: tuple[ColumnFinding, ...]
    options: tuple[tuple[str, ...], ...]
    """Each a set of options with which `voirdire check FILE` would read the table."""


class NeedsOptions(TableError):
    """A table that can be read once the user has said something; `options` says it."""

    def __init__(
        self,
        message: str,
        *,
        options: tuple[str, ...] = (),
        line: int | None = None,
        field: str | None = None,
    ) -> None:
        super().__init__(message, line=line, field=field)
        self.options = options


class ColumnsUnclear(TableError):
    """No single column stands out for a required part; carries the doctor's answer."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__(diagnosis.problem or "")
        self.diagnosis = diagnosis


def settle_columns(grid: Grid, *, given: dict[str, str], book: WordBook) -> Plan:
    """The plan of a table's columns.

    Raises:
        ColumnsUnclear: a required part has no column, or more than one column could play it.
    """
    values = ColumnValues(grid)
    plan = plan_columns(values, grid, given=given, book=book)
    if not plan.settled:
        raise ColumnsUnclear(_diagnosis(grid, values, plan, book))
    return plan


def examine(grid: Grid, *, given: dict[str, str], book: WordBook) -> Diagnosis:
    """The doctor's answer for a table, whether it can be read or not."""
    values = ColumnValues(grid)
    return _diagnosis(grid, values, plan_columns(values, grid, given=given, book=book), book)


def _diagnosis(grid: Grid, values: ColumnValues, plan: Plan, book: WordBook) -> Diagnosis:
    """Every column's finding, the problem and the ways out."""
    candidates = {
        part: tuple(dict.fromkeys([*named, *_by_content(part, grid, values, plan, book)]))
        for part, named in plan.candidates.items()
    }
    parts = {column: part for part, column in plan.columns.items()}
    findings = []
    for at, column in enumerate(grid.columns):
        part = parts.get(column)
        could = tuple(p for p, found in candidates.items() if column in found)
        sides = [_SIDES[p] for p in ((part,) if part else could) if p in _SIDES]
        findings.append(
            _finding(grid, values, at, part=part, could=could, unknown=_unknown(column, sides, values, book))
        )
    return Diagnosis(
        name=grid.name,
        problem=_problem(grid, plan, candidates, findings),
        columns=tuple(findings),
        options=_ways(plan, candidates, values, book),
    )


def _finding(
    grid: Grid,
    values: ColumnValues,
    at: int,
    *,
    part: Part | None,
    could: tuple[Part, ...],
    unknown: tuple[tuple[str, int], ...],
) -> ColumnFinding:
    """What the column at a place holds."""
    column = grid.columns[at]
    counts = values.counts(column)
    samples = islice(dict.fromkeys(row[at] for row in grid.rows if row[at].strip()), _SAMPLES)
    return ColumnFinding(
        name=column,
        plays=part.value if part else None,
        could_play=tuple(p.value for p in could),
        filled=len(grid.rows) - counts.get("", 0),
        rows=len(grid.rows),
        distinct=len(values.words(column)),
        samples=tuple(samples),
        unmapped=unknown,
    )


def _unknown(
    column: str, sides: Sequence[Side], values: ColumnValues, book: WordBook
) -> tuple[tuple[str, int], ...]:
    """The words of a label column that one of its sides does not know, the most frequent first."""
    counts = values.counts(column)
    words = [(w, n) for w, n in counts.items() if any(not book.knows(side, w) for side in sides)]
    return tuple(sorted(words, key=lambda pair: (-pair[1], pair[0])))


def _by_content(part: Part, grid: Grid, values: ColumnValues, plan: Plan, book: WordBook) -> tuple[str, ...]:
    """Columns whose content alone would allow the part; of ids for want of a name that claims it."""
    free = [c for c in grid.columns if c not in plan.columns.values()]
    if part is Part.ID and plan.candidates[part]:
        return ()  # any text that is never repeated would do
    if part is Part.ID:
        rows = len(grid.rows)
        return tuple(
            c for c in free if rows > 1 and len(values.words(c)) == rows and "" not in values.counts(c)
        )
    return tuple(c for c in free if holds_verdicts(c, _SIDES[part], values, book))


def _problem(
    grid: Grid, plan: Plan, candidates: dict[Part, tuple[str, ...]], findings: Sequence[ColumnFinding]
) -> str | None:
    """Why the columns cannot be told, or which words nobody has explained."""
    if plan.candidates:
        return f"{grid.name}: " + "; ".join(_open_part(part, candidates[part]) for part in plan.candidates)
    unread = [
        f"{f.name} {shown(w)} ({n})"
        for f in findings
        if f.plays in {*_SIDES}
        for w, n in f.unmapped[:_SAMPLES]
    ]
    return f"{grid.name} holds label words that are not read: {', '.join(unread)}" if unread else None


def _open_part(part: Part, found: tuple[str, ...]) -> str:
    """Why a part is open."""
    what = {Part.ID: "ids", Part.HUMAN_LABEL: "people's labels", Part.JUDGE_LABEL: "judge's verdicts"}[part]
    if not found:
        return (
            f"no column holds the {what} ({part.value}): add it, or name it with --column {part.value}=COLUMN"
        )
    if len(found) == 1:
        only = f"only {shown(found[0])} could hold the {what}, and its name does not say so"
        return f"no column is called {part.value}: {only}"
    return f"{len(found)} columns could hold the {what} ({part.value}): {listed(found)}"


def _ways(
    plan: Plan, candidates: dict[Part, tuple[str, ...]], values: ColumnValues, book: WordBook
) -> tuple[tuple[str, ...], ...]:
    """Options that would settle everything: one set per combination of candidates."""
    parts = list(candidates)
    ways = []
    for chosen in product(*(candidates[part] for part in parts)):
        if len(set(chosen)) == len(chosen) and not set(chosen) & set(plan.columns.values()):
            settled = {**plan.columns, **dict(zip(parts, chosen, strict=True))}
            columns = [
                x
                for part, column in zip(parts, chosen, strict=True)
                for x in ("--column", f"{part}={column}")
            ]
            words = [
                (side, word)
                for part, side in _SIDES.items()
                if part in settled
                for word, _ in _unknown(settled[part], [side], values, book)
            ]
            ways.append((*columns, *proposed_maps(words)))
    return tuple(
        way for way in (*islice(ways, _MAX_COMMANDS), _every_judge(plan, candidates, values, book)) if way
    )


def _every_judge(
    plan: Plan, candidates: dict[Part, tuple[str, ...]], values: ColumnValues, book: WordBook
) -> tuple[str, ...]:
    """Options that read each of several candidates as a judge of its own, where nothing else is open."""
    judges = candidates.get(Part.JUDGE_LABEL, ())
    if len(judges) < 2 or len(candidates) > 1 or Part.JUDGE in plan.columns:
        return ()
    words = [
        (Side.JUDGE, word) for column in judges for word, _ in _unknown(column, [Side.JUDGE], values, book)
    ]
    human = plan.columns[Part.HUMAN_LABEL]
    words += [(Side.HUMAN, word) for word, _ in _unknown(human, [Side.HUMAN], values, book)]
    columns = [part for column in judges for part in ("--column", f"{Part.JUDGE_LABEL}={column}")]
    return (*columns, *proposed_maps(dict.fromkeys(words)))
