r"""A native file as a stream of records with their places; a large one is never in memory as a whole.

One JSON object a line, or delimited text with a header. The file is read for its digest first, then for
its records; one that changes in between is refused.
"""

from __future__ import annotations

import csv
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from calibration.interchange.grid import Rejected
from calibration.interchange.json_values import BadJson, as_text, read_json
from calibration.interchange.lines import STDIN, display_name, mark_length, readable, shown
from rubrics.errors import TableError

MAX_BYTES: Final = 512 * 1024 * 1024
MAX_LINE: Final = 1_000_000
"""Bytes of a line, characters of a field."""
MAX_RECORDS: Final = 1_000_000
MAX_DEPTH: Final = 64
MAX_REJECTED: Final = 10_000
"""Lines that are no record at all, beyond which a file is another kind of file."""
_KEPT: Final = 8 * 1024 * 1024
"""A file up to this size is parsed once: its records take about ten times as much memory."""
_BLOCK: Final = 1 << 20
_OPENING, _CLOSING = frozenset("[{"), frozenset("]}")


class Record(NamedTuple):
    """One line of a file: its number and what it says by field; an empty cell is None."""

    line: int
    fields: dict[str, Any]


@dataclass(slots=True)
class NativeFile:
    """An open native file."""

    name: str
    """What messages call it."""
    source: str
    digest: str
    """SHA-256 of its bytes, 64 hex digits."""
    size: int
    columns: tuple[str, ...]
    """Of delimited text; empty for JSON lines."""
    _file: BinaryIO
    _start: int
    _delimiter: str | None
    position: int = field(default=0)
    """Bytes read so far of the running pass."""
    _records: list[Record | Rejected] | None = None

    @property
    def delimited(self) -> bool:
        """True for CSV and its kin, where an empty cell says nothing and every value is text."""
        return self._delimiter is not None

    def records(self) -> Iterator[Record | Rejected]:
        """Every record, and in its place whatever is none.

        Raises:
            TableError: not UTF-8, a line or a file beyond the caps, a quote that never ends, or a file that
                changed since its digest was taken.
        """
        if self._records is not None:
            yield from self._records
            return
        kept: list[Record | Rejected] | None = [] if self.size <= _KEPT else None
        found = self._delimited_records() if self.delimited else self._json_records()
        rejected = 0
        for number, record in enumerate(found, start=1):
            if number > MAX_RECORDS:
                raise TableError(f"{self.name} has more than {MAX_RECORDS:,} records: split it into parts")
            if isinstance(record, Rejected):
                rejected += 1
                if rejected > MAX_REJECTED:
                    raise _another_kind(self.name, record)
            if kept is not None:
                kept.append(record)
            yield record
        self._records = kept

    def texts(self, lines: Collection[int]) -> Iterator[str]:
        """The text of the records that begin on the lines, as it stood in the file, after the header."""
        wanted = set(lines)
        if not self.delimited:
            yield from (line for number, line in enumerate(self._lines(), start=1) if number in wanted)
            return
        starts = [record.line for record in self._delimited_records()]
        physical = list(pairwise([1, *starts, sys.maxsize]))
        spans = iter([(low, high) for low, high in physical if low in wanted or low == 1])
        low, high = next(spans)
        for number, line in enumerate(self._lines(), start=1):
            while number >= high:
                found = next(spans, None)
                if found is None:
                    return
                low, high = found
            if low <= number:
                yield line

    # -- lines

    def _lines(self) -> Iterator[str]:
        """The physical lines, decoded; a line feed ends them and nothing else."""
        self._file.seek(0)
        digest = hashlib.sha256(self._file.read(self._start))
        self.position = self._start
        number = 0
        while data := self._file.readline(MAX_LINE + 1):
            number += 1
            digest.update(data)
            self.position += len(data)
            if len(data) > MAX_LINE:
                raise TableError(
                    f"{self.name}, line {number}: longer than {MAX_LINE:,} bytes, the most that one record "
                    "may have: shorten its texts",
                    line=number,
                )
            yield _decoded(data, self.name, number)
        if digest.hexdigest() != self.digest:
            raise TableError(f"{self.name} changed while it was read: import it again when it is complete")

    def _json_records(self) -> Iterator[Record | Rejected]:
        for number, line in enumerate(self._lines(), start=1):
            text = line.strip("\r\n\t ")
            if text:
                yield _json_record(number, text)

    # -- delimited text

    def _delimited_records(self) -> Iterator[Record | Rejected]:
        rows = self._rows()
        next(rows, None)  # the header, read when the file was opened
        width = len(self.columns)
        for line, cells in rows:
            if len(cells) == width:
                yield Record(
                    line, {name: cell or None for name, cell in zip(self.columns, cells, strict=True)}
                )
            elif any(cells):
                told = f"{len(cells)} fields where the header has {width}"
                yield Rejected(line, f"{told}: quote a field that holds the delimiter")

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line and cells of each record that is not empty, the header first."""
        reader = csv.reader(self._lines(), delimiter=self._delimiter or ",", strict=True)
        while True:
            start = reader.line_num + 1
            before = csv.field_size_limit(MAX_LINE)
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise TableError(
                    f"{self.name}, line {start}: the record that starts here cannot be read ({error}): "
                    'a quoted field ends with " before the next delimiter, and " inside it is doubled',
                    line=start,
                ) from error
            finally:
                csv.field_size_limit(before)
            if cells:
                yield start, cells


@contextmanager
def open_native(source: str, *, known: Collection[str]) -> Iterator[NativeFile]:
    """The file, or standard input for `-`, with its digest taken.

    Args:
        source: a path, or `-`.
        known: the field names of its kind, to tell a delimiter by its header.

    Raises:
        DeclarationError: it is not there or may not be read.
        TableError: empty, too large, of another encoding, or its header cannot be used.
    """
    name = display_name(source)
    with ExitStack() as stack:
        file = _seekable(source, name, stack)
        head = file.read(_BLOCK)
        start = mark_length(head, name=name)
        digest, size = _digest(file)
        if not head[start:].strip():
            raise TableError(f"{name} is empty: one JSON object a line, or a header with rows, is needed")
        opened = NativeFile(name, source, digest, size, (), file, start, None)
        opened._delimiter = _told_delimiter(opened, head[start:], known)
        if opened.delimited:
            opened.columns = _header(opened)
        yield opened


def _seekable(source: str, name: str, stack: ExitStack) -> BinaryIO:
    """The file itself, or a copy in a temporary one of what can be read only once."""
    with readable(source):
        if source == STDIN:
            stream: BinaryIO = sys.stdin.buffer
        else:
            stream = Path(source).open("rb")  # noqa: SIM115 -- the stack closes it
            stack.push(stream)
            info = os.fstat(stream.fileno())
            if stat.S_ISREG(info.st_mode):
                _require_size(info.st_size, name)
                return stream
        copy = tempfile.TemporaryFile()  # noqa: SIM115 -- as above
        stack.push(copy)
        left = MAX_BYTES + 1
        while left and (data := stream.read(min(_BLOCK, left))):
            copy.write(data)
            left -= len(data)
    _require_size(MAX_BYTES + 1 - left, name)
    copy.seek(0)
    return copy


def _require_size(size: int, name: str) -> None:
    if size > MAX_BYTES:
        raise TableError(
            f"{name} is larger than {MAX_BYTES // 1024**2} MiB, the most that is read: split it into parts"
        )


def _digest(file: BinaryIO) -> tuple[str, int]:
    file.seek(0)
    found = hashlib.sha256()
    while block := file.read(_BLOCK):
        found.update(block)
    return found.hexdigest(), file.tell()


def _decoded(data: bytes, name: str, number: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise TableError(
            f"{name}, line {number}: byte 0x{data[error.start]:02X} is not UTF-8, and only UTF-8 is read; "
            "convert the file, e.g. iconv -f WINDOWS-1252 -t UTF-8",
            line=number,
        ) from error


def _json_record(number: int, text: str) -> Record | Rejected:
    try:
        if not _shallow(text):
            raise BadJson(f"nested deeper than {MAX_DEPTH} levels")
        value = read_json(text, halves=True)
    except BadJson as error:
        return Rejected(number, f"{error}: each line holds one JSON object")
    if isinstance(value, dict):
        return Record(number, value)
    return Rejected(number, f"{shown(as_text(value))} where a JSON object is due")


def _another_kind(name: str, last: Rejected) -> TableError:
    return TableError(
        f"{name}: more than {MAX_REJECTED:,} lines are no record (line {last.line}: {last.message}): "
        "is this the right file?",
        line=last.line,
    )


def _shallow(text: str) -> bool:
    """False where brackets outside of strings are nested deeper than the cap."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return True
    depth, quoted, escaped = 0, False, False
    for character in text:
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in _OPENING:
            depth += 1
            if depth > MAX_DEPTH:
                return False
        elif character in _CLOSING:
            depth -= 1
    return True


def _told_delimiter(file: NativeFile, head: bytes, known: Collection[str]) -> str | None:
    """What stands between the columns, or None where each line is a JSON object."""
    suffix = file.source.rpartition(".")[2].lower()
    start = head.lstrip()[:1]
    if start == b"[" and suffix not in {"csv", "tsv"}:
        raise TableError(
            f"{file.name} begins with [: one JSON object a line is read; "
            f"write a JSON array as lines first, e.g. jq -c '.[]' {Path(file.source).name}"
        )
    if suffix == "tsv":
        return "\t"
    if suffix != "csv" and (start == b"{" or suffix in {"jsonl", "ndjson", "json"}):
        return None
    line = head.lstrip(b"\r\n").split(b"\n", 1)[0].decode("utf-8", "replace")
    names = {mark: sum(cell.strip().strip('"') in known for cell in line.split(mark)) for mark in ",;\t"}
    return max(names, key=lambda mark: names[mark])


def _header(file: NativeFile) -> tuple[str, ...]:
    """The column names; a nameless column is called by its place."""
    line, cells = next(file._rows(), (1, list[str]()))
    if not cells:
        raise TableError(f"{file.name} has no header: a line with the names of its columns is needed")
    names = [cell.strip() or f"column_{place}" for place, cell in enumerate(cells, start=1)]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise TableError(
            f"{file.name}, line {line}: the header names {shown(twice)} more than once: "
            "each name may occur once; rename or remove one",
            line=line,
            field=twice,
        )
    return tuple(names)
