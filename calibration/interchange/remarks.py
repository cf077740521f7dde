"""What a reader of the figures must know of how a table was read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from calibration.interchange.columns import Part, Plan, listed, plain_name
from calibration.interchange.gather import Gathered
from calibration.interchange.grid import Grid
from calibration.interchange.ids import alike
from calibration.interchange.layout import Layout
from calibration.interchange.lines import shown
from calibration.interchange.options import OnRepeat, ReadOptions
from calibration.interchange.words import WordBook

# columns that usually say what items share; ignoring one makes the interval too narrow
# fmt: off
_SHARED_NAMES: Final = frozenset({
    "prompt", "prompt_id", "question", "question_id", "conversation", "conversation_id", "thread",
    "thread_id", "session", "session_id", "document", "document_id", "doc_id", "user", "user_id",
    "customer_id", "cluster", "cluster_id", "group_id", "scenario", "scenario_id", "trace_id",
    "ticket", "ticket_id",
})
# fmt: on


def warnings_of(
    grid: Grid, plan: Plan, layout: Layout, options: ReadOptions, gathered: Gathered, book: WordBook
) -> tuple[str, ...]:
    """Sentences on what was told, ignored, settled, filled or left out; each changes a figure or may."""
    return (
        *(f"the column {column!r} was read as {part}" for part, column in plan.aliases.items()),
        *_row_warnings(grid, options, gathered, book),
        *_cluster_warnings(grid, layout, options, gathered),
    )


def _row_warnings(grid: Grid, options: ReadOptions, gathered: Gathered, book: WordBook) -> Iterator[str]:
    """What happened to rows and cells."""
    refused = len({problem.line for problem in (*grid.bad, *gathered.problems)})
    if refused:
        yield f"{_count(refused, grid.unit)} could not be read and {_are(refused)} in no figure (--skip-bad)"
    pairs = alike(gathered.facts)
    if pairs:
        first, second = map(shown, pairs[0])
        yield (
            f"{_count(len(pairs), 'id')} like another but for case or spaces ({first} and {second}): "
            "each counts as an answer of its own"
        )
    if gathered.duplicates:
        yield f"{_count(gathered.duplicates, 'exact repeat')} of an earlier row ignored"
    if gathered.repeats:
        last = options.on_repeat is OnRepeat.LAST
        how = "the later row holds" if last else "the item stays open"
        yield f"{_count(gathered.repeats, 'contradiction')} between rows of one id: {how} (--on-repeat)"
    if gathered.empty_verdicts:
        reason = book.null_as.reason
        empty = _count(gathered.empty_verdicts, "empty verdict")
        yield f"{empty} without a reason, read as {reason} (--null-as)"
    for source, count in sorted(gathered.left_out.items()):
        yield f"{_count(count, 'label')} from {source.value} left out (--reference-source)"
    for unused in book.unused():
        yield f"--map {unused} met no cell"


def _cluster_warnings(grid: Grid, layout: Layout, options: ReadOptions, gathered: Gathered) -> Iterator[str]:
    """What may make items depend on each other without being told."""
    facts = gathered.facts.values()
    if layout.cluster is not None:
        alone = sum(of_item.alone for of_item in facts)
        if alone:
            column = grid.columns[layout.cluster]
            yield f"{_count(alone, 'item')} without a value in {column!r} taken to stand alone"
    elif options.cluster is None:
        inputs = {of_item.cells[0] for of_item in facts} - {""}
        if inputs and len(inputs) < sum(of_item.cells[0] != "" for of_item in facts):
            column = grid.columns[layout.at[Part.INPUT]]
            yield (
                f"items that share an input are taken to be independent: say --cluster {column}, "
                "or --cluster none if they are"
            )
        for tag in layout.tags:
            if plain_name(tag) in _SHARED_NAMES and _repeats(grid, layout, tag):
                yield (
                    f"the column {tag!r} repeats over items, which are taken to be independent: "
                    f"say --cluster {tag}, or --cluster none if they are"
                )


def _repeats(grid: Grid, layout: Layout, column: str) -> bool:
    """True where two items share a value of the column."""
    at, of = grid.columns.index(column), layout.at[Part.ID]
    owner: dict[str, str] = {}
    return any(row[at].strip() and owner.setdefault(row[at], row[of]) != row[of] for row in grid.rows)


def notes_of(grid: Grid, layout: Layout) -> tuple[str, ...]:
    """Sentences on what stands in no figure."""
    tags = (f"kept as tags, in no figure: {listed(layout.tags)}",) if layout.tags else ()
    empty = (f"{_count(grid.empty_rows, 'empty row')} skipped",) if grid.empty_rows else ()
    return (*tags, *empty)


def _count(number: int, noun: str) -> str:
    """The number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
