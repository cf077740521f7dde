"""Native records -> JSON Lines, which loses nothing, or CSV for a spreadsheet, without formulas."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, Final

from calibration.interchange.json_values import as_text

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
FURTHER: Final = "fields"
"""The column of a CSV that holds what has no column of its own, as JSON."""


def neutralised(cell: str) -> str:
    """The cell as no spreadsheet takes it for a formula: an apostrophe before = + - @, tab or line end."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def json_lines(records: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One line a record, in ASCII: no separator of lines can hide in a text, and no encoding can break it."""
    for record in records:
        yield json.dumps(record, ensure_ascii=True, allow_nan=False) + "\n"


def csv_lines(records: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """A header and one record a line; fields without a column stand as JSON in the last one."""
    buffer = StringIO()
    writer = csv.writer(buffer)  # ends lines with CR LF, and so quotes a cell that holds either

    def line(cells: Sequence[str]) -> str:
        buffer.seek(0)
        buffer.truncate()
        writer.writerow(cells)
        return buffer.getvalue()

    yield line([*columns, FURTHER])
    known = set(columns)
    for record in records:
        further = {key: value for key, value in record.items() if key not in known}
        cells = [as_text(record.get(column)) for column in columns]
        cells.append(json.dumps(further, ensure_ascii=True) if further else "")
        yield line([neutralised(_printable(cell)) for cell in cells])


def _printable(cell: str) -> str:
    """The cell without what no CSV file can hold: half a character is written as its escape."""
    return cell.encode("utf-8", "backslashreplace").decode("utf-8")
