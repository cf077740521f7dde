r"""Text -> a grid of cells with line numbers, from delimited text, JSON Lines or a JSON array.

Every cell is text: null is empty, and a number, true or NaN is its literal text, so that an id
`007` or `1e3` stays what was written. Lines end at "\n" only in JSON Lines: U+2028 inside a text
is a character like any other.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any, NoReturn

from calibration.interchange.json_values import BadJson, as_text, read_json
from calibration.interchange.lines import shown
from rubrics.errors import TableError

DELIMITERS = {",": ",", ";": ";", "tab": "\t", "\t": "\t"}
_TRIED_RECORDS = 20
_LABELS = frozenset({"pass", "fail"})


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that cannot be read, and why."""

    line: int
    message: str
    """What was given and what is allowed; without the place."""
    field: str | None = None


@dataclass(slots=True)
class Grid:
    """Cells in rows, each row with one empty cell more than there are columns.

    The extra cell is what an absent column reads as: index `len(columns)` is always "".
    """

    name: str
    kind: str
    """`delimited`, `json lines` or `json array`."""
    columns: list[str]
    text: str
    lines: list[int] = field(default_factory=list)
    """Line (or, in an array, place) of each row."""
    rows: list[list[str]] = field(default_factory=list)
    bad: list[Rejected] = field(default_factory=list)
    empty_rows: int = 0
    """Rows that hold delimiters and nothing else; they are left out."""

    @property
    def unit(self) -> str:
        """What a place is called in messages."""
        return "element" if self.kind == "json array" else "line"

    def raw(self, places: set[int]) -> Iterator[str]:
        """The text of the given places as it stood in the file, with the header where there is one."""
        if self.kind == "json lines":
            lines = self.text.split("\n")
            yield from (lines[place - 1] for place in sorted(places))
        elif self.kind == "json array":
            for place, element in enumerate(json.loads(self.text), start=1):
                if place in places:
                    yield json.dumps(element, ensure_ascii=True)
        else:
            yield from self._raw_delimited(places)

    def _raw_delimited(self, places: set[int]) -> Iterator[str]:
        """Header, then the physical lines of each refused record."""
        physical = list(io.StringIO(self.text, newline=""))
        starts = sorted({*self.lines, *places, len(physical) + 1})
        yield "".join(physical[: starts[0] - 1])
        for start, following in pairwise(starts):
            if start in places:
                yield "".join(physical[start - 1 : following - 1])


def read_grid(text: str, *, name: str, delimiter: str | None = None, known: frozenset[str]) -> Grid:
    """The cells of a text, its form told by the name's ending, else by its first character.

    Args:
        text: The decoded file, not empty.
        name: What messages call it.
        delimiter: The delimiter, where it should not be told from the header.
        known: Column names that the reader understands, lower case; they tell delimiters apart.

    Raises:
        TableError: the text is in none of the forms, or its header cannot be used.
    """
    start = text.lstrip()[0]
    suffix = name.rpartition(".")[2].lower()
    if (
        delimiter is None
        and suffix not in {"csv", "tsv"}
        and (start in "[{" or suffix in {"json", "jsonl", "ndjson"})
    ):
        grid = _json_array(text, name=name) if start == "[" else _json_lines(text, name=name)
    else:
        chosen = delimiter or ("\t" if suffix == "tsv" else _told_delimiter(text, name=name, known=known))
        grid = _delimited(text, name=name, delimiter=chosen)
    if not grid.rows and not grid.bad:
        raise TableError(
            f"{name} has a header and no row: at least one row with id, human_label, judge_label is needed"
        )
    return grid


@contextmanager
def _long_fields() -> Iterator[None]:
    """The csv module without its field limit of 131,072 characters, put back afterwards."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _told_delimiter(text: str, *, name: str, known: frozenset[str]) -> str:
    """The delimiter whose header holds most known names, then whose records are most regular."""
    scores = {delimiter: _regularity(text, delimiter, known) for delimiter in (",", ";", "\t")}
    best = max(scores.values())
    chosen = [delimiter for delimiter, score in scores.items() if score == best]
    if len(chosen) > 1 and best > (0, 0, 0):
        found = " and ".join(repr(delimiter) for delimiter in chosen)
        raise TableError(
            f"{name} can be read with {found} between its columns: say which by --delimiter", line=1
        )
    return chosen[0]


def _regularity(text: str, delimiter: str, known: frozenset[str]) -> tuple[int, int, int]:
    """(known names in the header, records as wide as the header, its width); zeros for one column."""
    try:
        with _long_fields():
            source = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
            records = [record for record in islice(source, _TRIED_RECORDS) if record]
    except csv.Error:
        return (0, 0, 0)
    if not records or len(records[0]) < 2:
        return (0, 0, 0)
    width = len(records[0])
    names = sum(cell.strip().casefold() in known for cell in records[0])
    return (names, sum(len(record) == width for record in records), width)


def _delimited(text: str, *, name: str, delimiter: str) -> Grid:
    """The cells of CSV, TSV or semicolon text; quoted fields may hold line ends."""
    grid = Grid(name, "delimited", [], text)
    start = 1
    with _long_fields():
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        try:
            for record in reader:
                if record and grid.columns:
                    _add_record(grid, record, start)
                elif record:
                    grid.columns = _header(record, name=name, line=start)
                start = reader.line_num + 1
        except csv.Error as error:
            raise TableError(
                f"{name}, line {start}: the record that starts here cannot be read ({error}): "
                'a quoted field ends with " before the next delimiter, and " inside it is doubled',
                line=start,
            ) from error
    return grid


def _add_record(grid: Grid, record: list[str], line: int) -> None:
    """Put one record of delimited text into the grid, or among its bad lines."""
    width = len(grid.columns)
    if not any(record):
        grid.empty_rows += 1
    elif len(record) == width:
        record.append("")
        grid.rows.append(record)
        grid.lines.append(line)
    else:
        message = f"{len(record)} fields where the header has {width}: quote a field that holds the delimiter"
        grid.bad.append(Rejected(line, message))


def _header(cells: list[str], *, name: str, line: int) -> list[str]:
    """Column names without surrounding spaces; a nameless column is called by its place."""
    names = [cell.strip() or f"column_{place}" for place, cell in enumerate(cells, start=1)]
    repeated = [column for column, count in Counter(names).items() if count > 1]
    if sum(column.casefold() in _LABELS for column in names) > 1:
        raise TableError(
            f"{name}, line {line}: the first line reads like data ({shown(', '.join(names))}): put a "
            "header before it, with id, human_label and judge_label",
            line=line,
        )
    if repeated:
        places = ", ".join(str(place) for place, cell in enumerate(names, start=1) if cell == repeated[0])
        raise TableError(
            f"{name}: the header names {shown(repeated[0])} more than once (columns {places}): "
            "each name may occur once; rename or remove one",
            line=line,
            field=repeated[0],
        )
    return names


def _json_lines(text: str, *, name: str) -> Grid:
    """The cells of one JSON object a line."""
    grid = Grid(name, "json lines", [], text)
    objects: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = read_json(line.strip("\r\n\t "))
        except BadJson as error:
            grid.bad.append(Rejected(number, f"{error}: each line holds one JSON object"))
            continue
        _add_object(grid, objects, value, number)
    if not objects:
        _no_object(grid)
    return _fill(grid, objects)


def _no_object(grid: Grid) -> NoReturn:
    """Refuse a JSON text none of whose lines is an object of the expected form."""
    first = grid.bad[0]
    raise TableError(
        f"{grid.name}, {grid.unit} {first.line}: {first.message}; JSON Lines (one object a line), "
        "a JSON array of objects or CSV can be read",
        line=first.line,
    )


def _json_array(text: str, *, name: str) -> Grid:
    """The cells of a JSON array of objects."""
    try:
        elements = read_json(text.strip())
    except BadJson as error:
        raise TableError(
            f"{name}: {error}; a JSON array of objects, JSON Lines or CSV can be read"
        ) from error
    grid = Grid(name, "json array", [], text)
    objects: list[dict[str, Any]] = []
    for place, element in enumerate(elements, start=1):
        _add_object(grid, objects, element, place)
    if grid.bad and not objects:
        _no_object(grid)
    return _fill(grid, objects)


def _add_object(grid: Grid, objects: list[dict[str, Any]], value: Any, place: int) -> None:
    """Keep a JSON object, or note that the value is none."""
    if isinstance(value, dict):
        objects.append(value)
        grid.lines.append(place)
    else:
        grid.bad.append(Rejected(place, f"{shown(as_text(value))} where a JSON object is due"))


def _fill(grid: Grid, objects: list[dict[str, Any]]) -> Grid:
    """The grid with its columns (every key, in order of appearance) and cells."""
    seen: dict[str, None] = {}
    for one in objects:
        seen.update(dict.fromkeys(one))
    keys = list(seen)
    grid.columns = _header(keys, name=grid.name, line=1)
    for one in objects:
        cells = [value if type(value) is str else as_text(value) for value in map(one.get, keys)]
        cells.append("")
        grid.rows.append(cells)
    return grid
