"""Bytes to text, and the file of refused lines."""

from __future__ import annotations

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
