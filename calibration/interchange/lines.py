"""Bytes in and out: where a file is read, decoded, and where its refused lines are written."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rubrics.errors import DeclarationError, TableError

STDIN = "-"
_UTF8_BOM = codecs.BOM_UTF8
# the UTF-32 marks come first: the little-endian one begins with the UTF-16 mark
_FOREIGN_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_UNPACK = "unpack it first, e.g. with {} -d"
_AS_CSV = "save it as CSV (UTF-8) first"
# what a file that is no text begins with, what it is, and what to do
_BINARY = (
    (b"\x1f\x8b", "gzip-compressed", _UNPACK.format("gzip")),
    (b"BZh91AY&SY", "bzip2-compressed", _UNPACK.format("bzip2")),
    (b"\xfd7zXZ\0", "xz-compressed", _UNPACK.format("xz")),
    (b"\x28\xb5\x2f\xfd", "zstd-compressed", _UNPACK.format("zstd")),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it and give the table inside"),
    (
        b"PK\x03\x04",
        "a zip archive or a workbook (xlsx, ods)",
        "unpack it and give the table inside, or save the sheet as CSV (UTF-8)",
    ),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook (xls)", "save the sheet as CSV (UTF-8)"),
    (b"PAR1\x15", "a Parquet file", _AS_CSV),
    (b"ARROW1\0", "an Arrow file", _AS_CSV),
    (b"SQLite format 3\0", "an SQLite database", _AS_CSV),
    (b"%PDF-", "a PDF", "give the table that it was made from"),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture", "is this the right file?"),
    (b"\xff\xd8\xff", "a JPEG picture", "is this the right file?"),
)
_SHOWN = 40


def shown(value: str) -> str:
    """The value as a message shows it: quoted, control characters escaped, at most 40 characters."""
    return repr(value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…")


def display_name(source: str) -> str:
    """What messages call the source: the path as given, or `standard input`."""
    return "standard input" if source == STDIN else source


def read_bytes(source: str) -> bytes:
    """The bytes of a file, or of standard input for `-`.

    Raises:
        DeclarationError: it is not there, is closed, is a directory or may not be read.
    """
    if source == STDIN:
        return _standard_input()
    with readable(source):
        return Path(source).read_bytes()


def _standard_input() -> bytes:
    """The bytes of standard input, which a process may have been started without."""
    if sys.stdin is None or sys.stdin.closed:
        raise DeclarationError(
            "standard input is closed: give a file, or hand the table in, e.g. voirdire check - < labels.csv"
        )
    with readable("standard input"):
        return sys.stdin.buffer.read()


@contextmanager
def readable(source: str) -> Iterator[None]:
    """A block that opens or reads a file; what the system refuses becomes a DeclarationError."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DeclarationError(
            f"cannot read {source!r} ({reason}): give a CSV or JSON Lines file, or - for standard input"
        ) from error


def decode(data: bytes, *, name: str) -> str:
    """The text of UTF-8 bytes, without a leading byte order mark.

    Raises:
        TableError: the bytes are not UTF-8 text, or there is nothing but white space.
    """
    body = data[mark_length(data, name=name) :]
    if b"\0" in body:
        at = data.index(b"\0")
        raise TableError(
            f"{name} holds a NUL byte at byte {at}: only UTF-8 text is read; save it as UTF-8 text"
        )
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(error, name=name, skipped=len(data) - len(body)) from error
    if not text.strip():
        raise TableError(f"{name} is empty: a header with id, human_label, judge_label and rows are needed")
    return text


def mark_length(head: bytes, *, name: str) -> int:
    """How many bytes of a byte order mark a file begins with: 0 or 3.

    Raises:
        TableError: the mark is that of another encoding, or the file is compressed or no text at all.
    """
    for magic, what, remedy in _BINARY:
        if head.startswith(magic):
            raise TableError(f"{name} is {what}, not text: {remedy}")
    for mark, encoding in _FOREIGN_MARKS:
        if head.startswith(mark):
            raise TableError(
                f"{name} begins with a {encoding} byte order mark: only UTF-8 is read; "
                f"save it as UTF-8, e.g. iconv -f {encoding} -t UTF-8"
            )
    return len(_UTF8_BOM) if head.startswith(_UTF8_BOM) else 0


def _not_utf8(error: UnicodeDecodeError, *, name: str, skipped: int) -> TableError:
    """The error that names the byte, its position and its line."""
    line = error.object.count(b"\n", 0, error.start) + 1
    byte = error.object[error.start]
    return TableError(
        f"{name} is not UTF-8: byte 0x{byte:02X} at position {error.start + skipped} (line {line}); "
        "only UTF-8 is read; convert it, e.g. iconv -f WINDOWS-1252 -t UTF-8",
        line=line,
    )


def write_rejected(source: str, texts: Iterable[str]) -> Path:
    """The path of a new file that holds the refused lines as they were; never an existing file.

    `FILE.rejected`, or `FILE.rejected-2` and so on where that name is taken.

    Raises:
        DeclarationError: the file cannot be made there.
    """
    base = "stdin" if source == STDIN else source
    body = "".join(text if text.endswith("\n") else text + "\n" for text in texts)
    number = 1
    while True:
        path = Path(f"{base}.rejected" if number == 1 else f"{base}.rejected-{number}")
        try:
            with path.open("x", encoding="utf-8", newline="") as file:
                file.write(body)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise DeclarationError(
                f"cannot write the refused lines to {str(path)!r} ({error.strerror}): make the "
                "folder writable, or mend the lines and run without --skip-bad"
            ) from error
        else:
            return path
