"""The flat table of `voirdire check`: bytes -> cases of every judge under every criterion.

One row per (id, criterion, judge[, rater]). Nothing leaves a denominator without being counted:
an item without a verdict is `missing`, one without a label is unresolved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from calibration.evidence import Case
from calibration.interchange.columns import KNOWN_NAMES, Part, Plan
from calibration.interchange.doctor import Diagnosis, examine, settle_columns
from calibration.interchange.gather import Gathered, gather
from calibration.interchange.grid import DELIMITERS, Grid, Rejected, read_grid
from calibration.interchange.layout import lay_out
from calibration.interchange.lines import decode, display_name, read_bytes
from calibration.interchange.options import ReadOptions
from calibration.interchange.refusals import raise_first_problem
from calibration.interchange.remarks import notes_of, warnings_of
from calibration.interchange.wide import lengthen
from calibration.interchange.words import WordBook
from calibration.labels import Assessment, ReferenceLabel, ReferenceRule
from calibration.reference import resolve
from calibration.report.supplement import LENGTH, NO_FAMILY, Written, log2_length, own_family
from rubrics.errors import DeclarationError
from rubrics.verdict import Outcome, UnknownReason, unknown

_NO_ROW = unknown(UnknownReason.MISSING)


@dataclass(frozen=True, slots=True)
class FlatTable:
    """A table that was read: labels and verdicts by criterion and judge, and what was left out."""

    name: str
    columns: dict[str, str]
    """Part -> column."""
    tags: tuple[str, ...]
    """Columns that play no part; kept in the file, in no figure."""
    rows: int
    """Rows read, refused ones not included."""
    duplicates: int
    """Rows that repeated an earlier one exactly; ignored."""
    repeats: int
    """Disagreements that --on-repeat settled."""
    rejected: tuple[Rejected, ...]
    rejected_text: tuple[str, ...]
    """The refused lines as they stood, after the header where the form has one."""
    warnings: tuple[str, ...]
    """What was ignored, settled, filled or left out: each changes a figure or may."""
    notes: tuple[str, ...]
    """How the columns were read; changes no figure."""
    _gathered: Gathered = field(repr=False)

    @property
    def criteria(self) -> tuple[str, ...]:
        """The criteria, in order of appearance."""
        return tuple(self._gathered.items_of)

    def judges(self, criterion: str) -> tuple[str, ...]:
        """The judges that gave at least one verdict under the criterion, in order of appearance."""
        return tuple(judge for of, judge in self._gathered.verdicts if of == criterion)

    def assessments(self, criterion: str) -> tuple[Assessment, ...]:
        """The raters' labels under the criterion."""
        labels = self._gathered.labels
        return tuple(
            label.assessment for item_id in self._gathered.items_of[criterion]
            for label in labels.get((criterion, item_id), {}).values()
        )  # fmt: skip

    def references(
        self, criterion: str, *, rule: ReferenceRule = ReferenceRule.MAJORITY, min_raters: int = 1
    ) -> dict[str, ReferenceLabel]:
        """Item id -> reference label of every item under the criterion."""
        gathered = self._gathered
        references = {}
        for item_id in gathered.items_of[criterion]:
            key = (criterion, item_id)
            said = [label.assessment for label in gathered.labels.get(key, {}).values()]
            adjudicated = gathered.adjudications.get(key)
            adjudication = adjudicated.adjudication if adjudicated else None
            references[item_id] = resolve(said, adjudication, rule=rule, min_raters=min_raters)
        return references

    def cases(self, criterion: str, judge: str, references: dict[str, ReferenceLabel]) -> list[Case]:
        """One case per item of the criterion; an item that the judge has no row for is missing."""
        verdicts, facts = self._gathered.verdicts[criterion, judge], self._gathered.facts
        cases = []
        for item_id, reference in references.items():
            found = verdicts.get(item_id)
            outcome: Outcome = found.outcome if found else _NO_ROW
            of_item = facts[item_id]
            cases.append(Case(item_id, of_item.cluster, reference, outcome, of_item.slices))
        return cases

    def written(self, judge: str) -> Written | None:
        """How long the outputs are and which are of the judge's own family; None without an output column.

        An empty cell is an output that is not known. The judge's family is told from its name alone.
        """
        if Part.OUTPUT not in self.columns:
            return None
        facts = self._gathered.facts
        lengths = {item: log2_length(text) for item, of in facts.items() if (text := of.of(Part.OUTPUT))}
        own = own_family({item: of.of(Part.MODEL_FAMILY) for item, of in facts.items()}, judge)
        why = None if any(own.values()) else f"no family in model_family stands in the judge's name {judge!r}"
        return Written(lengths, LENGTH, own, why if own else NO_FAMILY)

    def warnings_on(self, criterion: str, judge: str) -> tuple[str, ...]:
        """The table's warnings and those on one judge's rows."""
        wanted, has = self._gathered.items_of[criterion], self._gathered.verdicts[criterion, judge]
        absent = len(wanted) - len(has)
        if not absent:
            return self.warnings
        gap = f"judge {judge!r} has no row for {absent} of {len(wanted)} items of {criterion!r}"
        return (*self.warnings, f"{gap}: read as missing")


def read_table(source: str, options: ReadOptions | None = None) -> FlatTable:
    """The table in a file, or on standard input for `-`.

    Raises:
        TableError: a line, a word or a column cannot be read as what it should be.
        DeclarationError: the file is not there, or an option names what the table does not have.
    """
    return parse_table(read_bytes(source), name=display_name(source), options=options)


def parse_table(data: bytes, *, name: str, options: ReadOptions | None = None) -> FlatTable:
    """The table that the bytes of a CSV, TSV, JSON Lines or JSON file hold.

    Raises:
        ColumnsUnclear: no single column stands out for id, human_label or judge_label.
        NeedsOptions: label words that nobody explained; carries the options that would do.
        TableError: the bytes or a line cannot be read.
        DeclarationError: an option names what the table does not have.
    """
    options = options or ReadOptions()
    book = WordBook(options.maps, null_as=options.null_as)
    grid = parse_grid(data, name=name, options=options)
    plan = settle_columns(grid, given=dict(options.columns), book=book)
    layout = lay_out(grid, plan, options)
    gathered = gather(grid, layout, options, book)
    problems = [*grid.bad, *gathered.problems]
    if not options.skip_bad:
        raise_first_problem(grid, plan.columns, problems, gathered)
    _require_something(grid, plan, gathered, problems)
    return FlatTable(
        name=name,
        columns={part.value: column for part, column in plan.columns.items()},
        tags=layout.tags,
        rows=len(grid.rows) - len(gathered.problems),
        duplicates=gathered.duplicates,
        repeats=gathered.repeats,
        rejected=tuple(sorted(problems, key=lambda problem: problem.line)),
        rejected_text=tuple(grid.raw({problem.line for problem in problems})) if problems else (),
        warnings=warnings_of(grid, plan, layout, options, gathered, book),
        notes=notes_of(grid, layout),
        _gathered=gathered,
    )


def diagnose(data: bytes, *, name: str, options: ReadOptions | None = None) -> Diagnosis:
    """The doctor's answer for the bytes of a table, whether it can be read or not.

    Raises:
        TableError: the bytes hold no grid of cells.
        DeclarationError: an option names what the table does not have.
    """
    options = options or ReadOptions()
    grid = parse_grid(data, name=name, options=options)
    return examine(grid, given=dict(options.columns), book=WordBook(options.maps, null_as=options.null_as))


def parse_grid(data: bytes, *, name: str, options: ReadOptions) -> Grid:
    """The cells of a table before anything is read into them.

    Raises:
        TableError: the bytes hold no grid of cells.
        DeclarationError: the delimiter is none that is read.
    """
    if options.delimiter is not None and options.delimiter not in DELIMITERS:
        raise DeclarationError(f"--delimiter {options.delimiter!r}: it is , or ; or tab")
    delimiter = DELIMITERS[options.delimiter] if options.delimiter else None
    grid = read_grid(decode(data, name=name), name=name, delimiter=delimiter, known=KNOWN_NAMES)
    return lengthen(grid, options.judge_columns) if options.judge_columns else grid


def _require_something(grid: Grid, plan: Plan, gathered: Gathered, problems: Sequence[Rejected]) -> None:
    """Refuse a table of which nothing is left, or that holds no verdict at all."""
    if gathered.verdicts:
        return
    if problems:
        raise_first_problem(grid, plan.columns, problems, gathered)
    raise DeclarationError(
        f"{grid.name} names judges in its rows, but no row holds one: fill the judge column"
    )
