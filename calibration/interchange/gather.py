"""Rows of a grid -> labels, verdicts and facts, with every contradiction found.

A row that cannot be read, or that contradicts an earlier one, changes nothing: it is a problem.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

from calibration.interchange.columns import Part
from calibration.interchange.grid import Grid, Rejected
from calibration.interchange.layout import Layout
from calibration.interchange.lines import shown
from calibration.interchange.options import OnRepeat, ReadOptions
from calibration.interchange.rows import DEFAULT_JUDGE, DEFAULT_RATER, BadRow, Key, Row, RowReader
from calibration.interchange.words import UnmappedWords, WordBook
from calibration.labels import Adjudication, Assessment, LabelSource
from rubrics.verdict import Outcome, UnknownReason, Verdict, unknown

_INCONSISTENT = unknown(UnknownReason.INCONSISTENT, "votes")
_NAMED_DIFFERENCES = 4
_SHARED = (Part.INPUT, Part.OUTPUT, Part.GROUP, Part.MODEL_FAMILY)
"""The parts that are of the item, as they stand first in its facts."""


class Label(NamedTuple):
    """An assessment and the line it was first read on."""

    assessment: Assessment
    line: int


class Adjudicated(NamedTuple):
    """An adjudication and its line."""

    adjudication: Adjudication
    line: int


class Said(NamedTuple):
    """A judge's outcome and its line."""

    outcome: Outcome
    line: int


class Facts(NamedTuple):
    """What is true of an item whoever judges it."""

    cells: tuple[str, ...]
    """Input, output, group, family of models, cluster and slices as written, for comparison."""
    cluster: str
    alone: bool
    """True where a cluster column exists and is empty for the item."""
    slices: tuple[tuple[str, str], ...]
    line: int

    def of(self, part: Part) -> str:
        """The cell of a part that is of the item, "" where it is empty or there is no such column."""
        return self.cells[_SHARED.index(part)]


@dataclass(slots=True)
class Gathered:
    """Everything that the rows said."""

    facts: dict[str, Facts] = field(default_factory=dict)
    items_of: dict[str, dict[str, None]] = field(default_factory=dict)
    """Criterion -> its items, in order of appearance."""
    labels: dict[tuple[str, str], dict[str, Label]] = field(default_factory=dict)
    """(criterion, item id) -> rater -> label."""
    adjudications: dict[tuple[str, str], Adjudicated] = field(default_factory=dict)
    verdicts: dict[tuple[str, str], dict[str, Said]] = field(default_factory=dict)
    """(criterion, judge) -> item id -> outcome."""
    problems: list[Rejected] = field(default_factory=list)
    words: UnmappedWords = field(default_factory=UnmappedWords)
    duplicates: int = 0
    """Rows that repeat an earlier one exactly."""
    repeats: int = 0
    """Contradictions that --on-repeat settled."""
    empty_verdicts: int = 0
    """Verdicts that were empty without a reason."""
    left_out: Counter[LabelSource] = field(default_factory=Counter)
    """Labels not taken because of their source."""
    refused_sources: dict[LabelSource, int] = field(default_factory=dict)
    """Source that nobody allowed -> first line."""


def gather(grid: Grid, layout: Layout, options: ReadOptions, book: WordBook) -> Gathered:
    """What the rows of a grid say; rows that cannot be taken are among the problems."""
    work = _Gatherer(grid, layout, options, book)
    for line, cells in zip(grid.lines, grid.rows, strict=True):
        try:
            work.take(line, cells)
        except BadRow as bad:
            work.found.problems.append(Rejected(line, str(bad), bad.column))
    return work.found


class _Gatherer:
    """The state of one pass over the rows."""

    def __init__(self, grid: Grid, layout: Layout, options: ReadOptions, book: WordBook) -> None:
        self.found = Gathered()
        self._grid = grid
        self._layout = layout
        self._options = options
        self._null = book.null_as
        self._reader = RowReader(layout, book, self.found.words)
        self._seen: dict[Key, tuple[int, list[str]]] = {}
        shared = [layout.at[part] for part in _SHARED]
        cluster = [] if layout.cluster is None else [layout.cluster]
        self._fact_places = [*shared, *cluster, *(place for _, place in layout.slices)]
        self._fact_cells = itemgetter(*self._fact_places)

    def take(self, line: int, cells: list[str]) -> None:
        """Read one row and keep what it says.

        Raises:
            BadRow: it cannot be taken; nothing was kept of it.
        """
        key = self._reader.key(cells)
        earlier = self._seen.get(key)
        if earlier is not None:
            if earlier[1] == cells:
                self.found.duplicates += 1
                return
            if self._options.on_repeat is OnRepeat.REFUSE:
                raise self._other_content(key, earlier, cells)
        row = self._reader.read(line, key, cells)
        self._check_source(row)
        if self._options.on_repeat is OnRepeat.REFUSE:
            self._check(row, cells)
        self._keep(row, cells)
        self._seen[key] = (line, cells)

    # -- contradictions ------------------------------------------------------------------------

    def _other_content(self, key: Key, earlier: tuple[int, list[str]], cells: list[str]) -> BadRow:
        """The refusal of a row whose key has been met with other content."""
        line, before = earlier
        differing = [n for n, old, new in zip(self._grid.columns, before, cells, strict=False) if old != new]
        scope = [f"id {shown(key.item_id)}"]
        scope += [
            f"{part} {shown(name)}" for part, name in (("judge", key.judge), ("rater", key.rater)) if name
        ]
        columns = ", ".join(shown(name) for name in differing[:_NAMED_DIFFERENCES])
        return BadRow(
            f"{', '.join(scope)} already stands on {self._grid.unit} {line} with other content ({columns}): "
            "one row per id, criterion, judge and rater; remove one, or say --on-repeat last or unresolved",
            Part.ID,
        )

    def _check_source(self, row: Row) -> None:
        """Raise where a label's source is none that may be a reference."""
        if row.source is LabelSource.HUMAN or row.label is None or self._options.sources is not None:
            return
        self.found.refused_sources.setdefault(row.source, row.line)
        raise BadRow(
            f"the label's source is {row.source.value!r}: only people's labels are a reference", Part.SOURCE
        )

    def _check(self, row: Row, cells: list[str]) -> None:
        """Raise for a row that says otherwise than an earlier one of the same item, rater or judge."""
        found, key = self.found, row.key
        facts = found.facts.get(key.item_id)
        if facts is not None and (now := self._fact_cells(cells)) != facts.cells:
            compared = zip(self._fact_places, facts.cells, now, strict=True)
            place = next(place for place, old, new in compared if old != new)
            raise self._contradiction(self._grid.columns[place], row, facts.line, cells[place])
        of_item = (key.criterion, key.item_id)
        label = found.labels.get(of_item, _NO_LABELS).get(key.rater)
        if label is not None and row.label is not None and _differs(label.assessment, row):
            raise self._contradiction(
                Part.HUMAN_LABEL, row, label.line, cells[self._layout.at[Part.HUMAN_LABEL]]
            )
        adjudicated = found.adjudications.get(of_item)
        if adjudicated is not None and row.adjudicated not in {None, adjudicated.adjudication.verdict}:
            cell = cells[self._layout.at[Part.ADJUDICATED_LABEL]]
            raise self._contradiction(Part.ADJUDICATED_LABEL, row, adjudicated.line, cell)
        said = found.verdicts.get((key.criterion, key.judge or DEFAULT_JUDGE), _NOTHING_SAID).get(key.item_id)
        if said is not None and row.outcome is not None and row.outcome != said.outcome:
            raise self._contradiction(
                Part.JUDGE_LABEL, row, said.line, cells[self._layout.at[Part.JUDGE_LABEL]]
            )

    def _contradiction(self, column: str, row: Row, line: int, cell: str) -> BadRow:
        """The refusal of a row that says otherwise than an earlier line."""
        return BadRow(
            f"{column} {shown(cell)} of id {shown(row.key.item_id)} contradicts {self._grid.unit} {line}: "
            "make them agree, or say --on-repeat last or unresolved",
            column,
        )

    # -- keeping -------------------------------------------------------------------------------

    def _keep(self, row: Row, cells: list[str]) -> None:
        """Record what a row says; contradictions that come this far are settled by --on-repeat."""
        found, key = self.found, row.key
        self._keep_facts(row, cells)
        found.items_of.setdefault(key.criterion, {}).setdefault(key.item_id)
        of_item = (key.criterion, key.item_id)
        if row.label is not None and self._taken(row):
            self._keep_label(found.labels.setdefault(of_item, {}), row, row.label)
        if row.adjudicated is not None:
            self._keep_adjudication(of_item, row, row.adjudicated)
        if row.outcome is not None:
            judge = found.verdicts.setdefault((key.criterion, key.judge or DEFAULT_JUDGE), {})
            self._keep_outcome(judge, row, row.outcome)

    def _taken(self, row: Row) -> bool:
        """False, and counted, for a label whose source was left out."""
        if self._options.sources is None or row.source in self._options.sources:
            return True
        self.found.left_out[row.source] += 1
        return False

    def _last_holds(self) -> bool:
        """True where the later of two contradicting rows holds; counts the contradiction."""
        self.found.repeats += 1
        return self._options.on_repeat is OnRepeat.LAST

    def _keep_facts(self, row: Row, cells: list[str]) -> None:
        """Record the item's facts; of two contradicting rows the first holds unless the last is wanted."""
        now = self._fact_cells(cells)
        item_id = row.key.item_id
        before = self.found.facts.get(item_id)
        if before is not None and (before.cells == now or not self._last_holds()):
            return
        place = self._layout.cluster
        shared = "" if place is None else cells[place].strip()
        # two namespaces: an item without a group must not fall into a group called like its id
        cluster = item_id if place is None else f"group {shared}" if shared else f"item {item_id}"
        slices = tuple((name, cells[p].strip()) for name, p in self._layout.slices if cells[p].strip())
        self.found.facts[item_id] = Facts(now, cluster, place is not None and not shared, slices, row.line)

    def _keep_label(self, labels: dict[str, Label], row: Row, verdict: Verdict) -> None:
        """Record a rater's label."""
        before = labels.get(row.key.rater)
        if before is not None:
            if not _differs(before.assessment, row):
                return
            verdict = verdict if self._last_holds() else Verdict.UNKNOWN
        assessment = Assessment(
            item_id=row.key.item_id,
            criterion=row.key.criterion,
            rater=row.key.rater or DEFAULT_RATER,
            verdict=verdict,
            blind=row.blind,
            source=row.source,
            note=row.note,
        )
        labels[row.key.rater] = Label(assessment, row.line)

    def _keep_adjudication(self, of_item: tuple[str, str], row: Row, verdict: Verdict) -> None:
        """Record an adjudication."""
        before = self.found.adjudications.get(of_item)
        if before is not None:
            if before.adjudication.verdict is verdict:
                return
            verdict = verdict if self._last_holds() else Verdict.UNKNOWN
        adjudication = Adjudication(row.key.item_id, row.key.criterion, "adjudicator", verdict)
        self.found.adjudications[of_item] = Adjudicated(adjudication, row.line)

    def _keep_outcome(self, said: dict[str, Said], row: Row, outcome: Outcome) -> None:
        """Record a judge's outcome."""
        before = said.get(row.key.item_id)
        if before is not None:
            if before.outcome == outcome:
                return
            outcome = outcome if self._last_holds() else _INCONSISTENT
        elif outcome is self._null:
            self.found.empty_verdicts += 1
        said[row.key.item_id] = Said(outcome, row.line)


_NO_LABELS: dict[str, Label] = {}
_NOTHING_SAID: dict[str, Said] = {}


def _differs(before: Assessment, row: Row) -> bool:
    """True where the same rater's label is another one, or came to be in another way."""
    return before.verdict is not row.label or before.blind is not row.blind or before.source is not row.source
