"""Bytes to text, and the file of refused lines."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from pathlib import Path

import pytest

from calibration.interchange.lines import decode, display_name, read_bytes, shown, write_rejected
from rubrics.errors import DeclarationError, TableError


def test_a_byte_order_mark_is_taken_off_once() -> None:
    """Only the mark at the start is one; a second is text."""
    assert decode("\ufeff\ufeffid".encode(), name="t") == "\ufeffid"


def test_the_position_of_a_wrong_byte_counts_the_mark() -> None:
    """The position is that in the file, the line counted from one."""
    data = b"\xef\xbb\xbfid\nb\xff\n"
    with pytest.raises(TableError, match=r"byte 0xFF at position 7 \(line 2\)") as caught:
        decode(data, name="t")
    assert data[7] == 0xFF
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("encoding", "word"), [("utf-16", "UTF-16"), ("utf-32", "UTF-32"), ("utf-16-le", "NUL")]
)
def test_other_encodings_are_named(encoding: str, word: str) -> None:
    """A foreign mark is named; without one its NUL bytes are."""
    with pytest.raises(TableError, match=word):
        decode("id,human_label".encode(encoding), name="t")


def test_long_values_are_cut_and_control_characters_escaped() -> None:
    """A value in a message is short and cannot move the cursor."""
    assert shown("\x1b[2J") == r"'\x1b[2J'"
    assert len(shown("x" * 1000)) == 42


def test_names_of_sources() -> None:
    """A dash is standard input."""
    assert display_name("-") == "standard input"
    assert display_name("a.csv") == "a.csv"


def test_a_path_that_cannot_be_a_file(tmp_path: Path) -> None:
    """What the system refuses is one sentence."""
    for path in (tmp_path / "no", tmp_path, "a\0b"):
        with pytest.raises(DeclarationError, match="cannot read"):
            read_bytes(str(path))


@pytest.mark.parametrize("closed", [True, False])
def test_standard_input_that_is_closed(closed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process started without standard input (<&-), or whose input was closed, says so."""
    stream = io.TextIOWrapper(io.BytesIO())
    stream.close()
    monkeypatch.setattr("sys.stdin", stream if closed else None)
    with pytest.raises(DeclarationError, match="standard input is closed: give a file"):
        read_bytes("-")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (
            gzip.compress(b"id,human_label\n", mtime=0),
            "gzip-compressed, not text: unpack it first, e.g. with gzip -d",
        ),
        (bz2.compress(b"id,human_label\n"), "bzip2-compressed"),
        (lzma.compress(b"id,human_label\n"), "xz-compressed"),
        (b"PK\x03\x04rest", "a zip archive or a workbook"),
        (b"\x89PNG\r\n\x1a\nrest", "a PNG picture"),
        (b"%PDF-1.7", "a PDF"),
        (b"PAR1\x15\x04", "a Parquet file"),
        (b"SQLite format 3\0", "an SQLite database"),
    ],
    ids=["gzip", "bzip2", "xz", "zip", "png", "pdf", "parquet", "sqlite"],
)
def test_a_file_that_is_no_text_is_called_what_it_is(data: bytes, what: str) -> None:
    """Compressed or binary, with what to do, instead of a byte that is not UTF-8."""
    with pytest.raises(TableError) as caught:
        decode(data, name="t")
    assert str(caught.value).startswith(f"t is {what}")


def test_refused_lines_never_overwrite(tmp_path: Path) -> None:
    """Each call takes the next free name; a missing line end is added."""
    source = str(tmp_path / "t.csv")
    paths = [write_rejected(source, ["head\n", "bad"]) for _ in range(3)]
    assert [path.name for path in paths] == ["t.csv.rejected", "t.csv.rejected-2", "t.csv.rejected-3"]
    assert {path.read_text() for path in paths} == {"head\nbad\n"}


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """Where nothing can be written, the sentence says what to do."""
    with pytest.raises(DeclarationError, match="--skip-bad"):
        write_rejected(str(tmp_path / "no" / "t.csv"), ["x"])
