"""The page's tables as plain records: every verdict, every policy item, every rate with its denominator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calibration.evidence import (
    BaselineFigure,
    ItemStatus,
    KappaFigure,
    PolicyItem,
    RateFigure,
    VerdictRow,
    VerdictTable,
)
from calibration.rendering.items import (
    bound_counts,
    coefficient_words,
    count_and_share,
    detail_words,
    found_text,
    kappa_words,
    limit_words,
)
from calibration.rendering.numbers import fixed, rate_text, whole
from calibration.rendering.page import MARKS, STATUS_MARKS
from calibration.rendering.reading import Reading, Readings
from calibration.rendering.text import capital, named, visible
from calibration.rendering.vocabulary import COLUMNS, STATUS_WORDS, name_words

SIDE_BY_SIDE = 4
"""Judges that stand side by side; more are set out in further tables below each other."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: its text, and what it looks like."""

    text: str
    mark: str = ""
    note: str = ""
    look: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A table row: its head, what it asks or counts, and a cell for each judge."""

    head: str
    definition: str
    about: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows beside each other for at most four judges of one criterion."""

    criterion: str
    judges: tuple[Cell, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of one judge in a long table."""

    criterion: str
    judge: Cell
    lines: tuple[Line, ...]


def _side_by_side(readings: Readings) -> list[Sequence[Reading]]:
    return [
        group[start : start + SIDE_BY_SIDE]
        for group in readings.groups
        for start in range(0, len(group), SIDE_BY_SIDE)
    ]


def judge_head(reading: Reading) -> Cell:
    """The judge's name with the mark of its outcome."""
    return Cell(reading.judge, mark=MARKS[reading.outcome])


def verdict_blocks(readings: Readings) -> tuple[Block, ...]:
    """Every verdict against the reference; nothing leaves a denominator."""
    return tuple(
        Block(
            reading.criterion,
            judge_head(reading),
            (
                _verdict_line("fail", reading.report.table.fail, boxed=True),
                _verdict_line("pass", reading.report.table.passing, boxed=False),
                _verdict_line("no agreed label", reading.report.table.unresolved, boxed=False),
            ),
        )
        for reading in readings.all
    )


def _verdict_line(head: str, row: VerdictRow, *, boxed: bool) -> Line:
    cells = []
    for column in COLUMNS:
        number = int(getattr(row, column.field))
        look = "boxed" if boxed and column.field == "accepted" else column.group
        cells.append(Cell(whole(number), look=look if number or look == "boxed" else f"{look} zero"))
    return Line(head, "", "", (*cells, Cell(whole(row.total), look="total")))


def policy_tables(readings: Readings) -> tuple[Table, ...]:
    """Every item of the policy, with what it asks, what was found, and a mark where it decides."""
    return tuple(_policy_table(chunk) for chunk in _side_by_side(readings) if any(r.decision for r in chunk))


def _policy_table(chunk: Sequence[Reading]) -> Table:
    decided = [reading for reading in chunk if reading.decision]
    names = dict.fromkeys(i.name for r in decided if r.decision for i in r.decision.items)
    lines = []
    for name in names:
        found = [_item_of(reading, name) for reading in decided]
        first = next(item for item in found if item is not None)
        cells = tuple(_item_cell(item, reading) for item, reading in zip(found, decided, strict=True))
        lines.append(Line(capital(name_words(name)), _DEFINED_BY.get(name, ""), limit_words(first), cells))
    return Table(chunk[0].criterion, tuple(judge_head(r) for r in decided), tuple(lines))


_DEFINED_BY = {
    "far": "gate",
    "non_acceptance_among_pass": "non_acceptance",
    "frr": "frr",
    "coverage": "coverage",
    "abstention": "coverage",
    "invalid": "coverage",
    "kappa_vs_reference": "kappa",
    "rater_kappa": "raters",
    "slice_far": "slices",
    "far_high_bound": "bounds",
}


def _item_of(reading: Reading, name: str) -> PolicyItem | None:
    items = reading.decision.items if reading.decision else ()
    return next((item for item in items if item.name == name), None)


def _item_cell(item: PolicyItem | None, reading: Reading) -> Cell:
    """What was found; marked where the item decides or warns, as the gate always is."""
    if item is None:
        return Cell("not applicable", look="muted")
    marked = item.status is not ItemStatus.PASS or item is reading.far_item
    return Cell(
        found_text(item, reading.report) or "nothing to compare",
        mark=STATUS_MARKS[item.status] if marked else "",
        note=detail_words(item),
        look=STATUS_WORDS[item.status],
    )


def rate_tables(readings: Readings) -> tuple[Table, ...]:
    """Every rate with its denominator in words, and FAR with the open resolved each way."""
    return tuple(
        Table(chunk[0].criterion, tuple(judge_head(r) for r in chunk), _rate_lines(chunk))
        for chunk in _side_by_side(readings)
    )


_RATES = (
    ("far", "Failing answers accepted (FAR)", "far", "accepted / failing"),
    ("far_decided", "FAR, decided only", "decided", "accepted / accepted or rejected, failing"),
    ("frr", "Good answers rejected (FRR)", "frr", "rejected / good"),
    ("non_acceptance_among_pass", "Good answers not accepted", "non_acceptance", "not accepted / good"),
    ("failure_among_accepted", "Failures among accepted", "failure_among_accepted", "failing / accepted"),
    ("disagreement", "Disagreement with people", "disagreement", "differing / with agreed label"),
    ("coverage", "Coverage", "coverage", "accepted or rejected / all"),
    ("abstention", "Abstained", "coverage", "abstained / all"),
    ("invalid", "Invalid replies", "coverage", "invalid / all"),
    ("open", "Open verdicts", "open", "pending, missing, error / all"),
    ("wrong_side", "Wrong side of a pair", "", "prefers what people reject / with a preference"),
)  # fmt: skip


def _rate_lines(chunk: Sequence[Reading]) -> tuple[Line, ...]:
    lines = []
    for field, head, definition, about in _RATES:
        figures = [getattr(reading.report, field) for reading in chunk]
        if any(figure is not None for figure in figures):
            lines.append(Line(head, definition, about, tuple(_rate_cell(figure) for figure in figures)))
    gates = tuple(_gate_cell(reading) for reading in chunk)
    return (
        lines[0],
        Line("FAR as the policy reads it", "gate", "best case from, worst case up to", gates),
        lines[1],
        Line("FAR, open resolved each way", "bounds", "lowest to highest", _bounds(chunk, final=False)),
        Line("FAR, every unknown each way", "bounds", "abstentions too", _bounds(chunk, final=True)),
        *lines[2:],
    )


def _rate_cell(figure: RateFigure | None) -> Cell:
    if figure is None:
        return Cell("not assessed", look="muted")
    return Cell(rate_text(figure.x, figure.n, lower=figure.lower, upper=figure.upper).text)


def _bounds(chunk: Sequence[Reading], *, final: bool) -> tuple[Cell, ...]:
    return tuple(_bounds_cell(reading.report.table, final=final) for reading in chunk)


def _bounds_cell(table: VerdictTable, *, final: bool) -> Cell:
    """Both extremes as counts and rates; no sampling enters them, so they have no interval."""
    low, high = bound_counts(table, final=final)
    if not high[1]:
        return Cell("no failing answer", look="muted")
    least, most = count_and_share(*low), count_and_share(*high)
    return Cell(least if low == high else f"{least} to {most}")


def _gate_cell(reading: Reading) -> Cell:
    gate = reading.report.far_gate
    if not gate.n:
        return Cell("no failing answer", look="muted")
    best, worst = f"{whole(gate.x_best)}/{whole(gate.n_best)}", f"{whole(gate.x)}/{whole(gate.n)}"
    worth = f"n worth {fixed(gate.n_effective, 1)}" if reading.clustered else ""
    return Cell(f"{best} from {reading.gate_lower}, {worst} up to {reading.gate_upper}", note=worth)


def kappa_tables(readings: Readings) -> tuple[Table, ...]:
    """Agreement beyond chance, with what it must be read with: raw agreement, margins, largest kappa."""
    tables = []
    for group in readings.groups:
        lines = [_kappa_line(reading) for reading in group]
        lines += [Line(named(b.name), "baseline", "", _baseline_cells(b)) for b in group[0].report.baselines]
        tables.append(Table(group[0].criterion, (), tuple(lines)))
    return tuple(tables)


def _kappa_line(reading: Reading) -> Line:
    report, margins = reading.report, reading.report.margins
    cells = _kappa_cells(kappa_words(report), report.kappa)
    return Line(
        reading.judge,
        "",
        "",
        (
            *cells,
            Cell(coefficient_words(report.kappa_decided)),
            Cell(f"{whole(margins.judge.accepted)}/{whole(margins.judge.n)}"),
            Cell(f"{whole(margins.reference.passing)}/{whole(margins.reference.n)}"),
        ),
    )


def _baseline_cells(baseline: BaselineFigure) -> tuple[Cell, ...]:
    far, turned_away = baseline.far, baseline.non_acceptance_among_pass
    n = far.n + turned_away.n
    return (
        *_kappa_cells(coefficient_words(baseline.kappa), baseline.kappa),
        Cell("–", look="muted"),
        Cell(f"{whole(far.x + turned_away.n - turned_away.x)}/{whole(n)}"),
        Cell(f"{whole(turned_away.n)}/{whole(n)}"),
    )


def _kappa_cells(words: str, figure: object) -> tuple[Cell, ...]:
    if not isinstance(figure, KappaFigure):
        reason = visible(getattr(figure, "undefined", ""))
        return (Cell(words, note=reason, look="muted"), *(Cell("–", look="muted") for _ in range(3)))
    agreed = round(figure.po * figure.n)
    return (
        Cell(words, look="" if words[:1].isdigit() or words[:1] == "−" else "muted"),
        Cell(f"{whole(agreed)}/{whole(figure.n)}"),
        Cell(fixed(figure.pe, 2)),
        Cell("–" if figure.kappa_max is None else fixed(figure.kappa_max, 2)),
    )
