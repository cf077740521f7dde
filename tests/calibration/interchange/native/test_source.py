"""Reading a file record by record: its forms, its places, its caps."""

from __future__ import annotations

import io
import os
import sys
import threading
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest

from calibration.interchange.grid import Rejected
from calibration.interchange.native import source
from calibration.interchange.native.source import Record, open_native
from rubrics.errors import DeclarationError, TableError

KNOWN = frozenset({"item_id", "label", "rater"})


def read(path: Path | str) -> list[Record | Rejected]:
    """Every record of a file."""
    with open_native(str(path), known=KNOWN) as file:
        return list(file.records())


def refused(path: Path | str) -> str:
    """The sentence with which a file is refused."""
    with pytest.raises(DeclarationError) as caught:
        read(path)
    return str(caught.value)


def put(folder: Path, data: bytes | str, name: str = "f.jsonl") -> Path:
    """A file with the data."""
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    """U+2028, U+0085 and a carriage return inside a text end no line; numbers count empty lines too."""
    text = '{"a":"x\u2028y\u0085z"}\r\n\n{"a":"\\r"}\n'
    assert read(put(tmp_path, text)) == [Record(1, {"a": "x\u2028y\u0085z"}), Record(3, {"a": "\r"})]


def test_numbers_stay_as_written(tmp_path: Path) -> None:
    """007 and 1e3 are no other texts, NaN is read and is no float."""
    fields = read(put(tmp_path, '{"a":1e3,"b":3.0,"c":NaN,"d":true,"e":null}'))[0]
    assert isinstance(fields, Record)
    assert fields.fields == {"a": "1e3", "b": "3.0", "c": "NaN", "d": True, "e": None}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"a":1', "not JSON"),
        ('{"a":1,"a":2}', "more than once"),
        ("[1]", "where a JSON object is due"),
        ('"x"', "where a JSON object is due"),
        ('{"a":' + "[" * 70 + "]" * 70 + "}", "deeper than 64"),
        ('{"a":' + "[" * 100_000, "deeper than 64"),
        ('{"a":' + "9" * 101 + "}", "101 digits"),
        ('{"a":"\t"}', "not JSON"),
    ],
)
def test_a_line_that_is_no_record_is_told_with_its_place(line: str, said: str, tmp_path: Path) -> None:
    """It stands among the records as refused; the lines around it are read."""
    found = read(put(tmp_path, f'{{"a":"1"}}\n{line}\n{{"a":"2"}}\n'))
    assert [each.line for each in found] == [1, 2, 3]
    bad = found[1]
    assert isinstance(bad, Rejected)
    assert said in bad.message


def test_brackets_within_texts_do_not_nest(tmp_path: Path) -> None:
    """A text full of brackets and escaped quotes is a text."""
    assert len(read(put(tmp_path, '{"a":"' + '[\\"{' * 100 + '"}'))) == 1


def test_half_a_character_is_kept(tmp_path: Path) -> None:
    """A lone surrogate and NUL, as JSON can escape them, reach the store that makes them whole."""
    assert read(put(tmp_path, '{"a":"\\ud800\\u0000"}')) == [Record(1, {"a": "\ud800\0"})]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"\xff\xfea\0", "UTF-16"),
        (b'{"a":"\xe9"}', "line 1: byte 0xE9 is not UTF-8"),
        (b'[{"a":1}]', "begins with ["),
        (b"x" * 1_000_001, "longer than 1,000,000 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(data: bytes, said: str, tmp_path: Path) -> None:
    """One sentence says what is wrong with the whole file."""
    assert said in refused(put(tmp_path, data))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """So are a folder and a path with a NUL."""
    assert "No such file" in refused(tmp_path / "none.jsonl")
    assert "cannot read" in refused(tmp_path)
    assert "cannot read" in refused("a\0b")


def test_the_mark_of_utf8_is_skipped(tmp_path: Path) -> None:
    """A byte order mark belongs to no record."""
    assert read(put(tmp_path, b'\xef\xbb\xbf{"a":"1"}')) == [Record(1, {"a": "1"})]
    assert read(put(tmp_path, b"\xef\xbb\xbfitem_id\n7\n", "f.csv")) == [Record(2, {"item_id": "7"})]


def test_caps_on_size_and_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beyond the caps is refused before it fills memory or disk."""
    monkeypatch.setattr(source, "MAX_BYTES", 10)
    assert "larger than" in refused(put(tmp_path, '{"a":"123456"}'))
    monkeypatch.setattr(source, "MAX_BYTES", 1000)
    monkeypatch.setattr(source, "MAX_RECORDS", 2)
    assert "more than 2 records" in refused(put(tmp_path, '{"a":"1"}\n' * 3))


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_delimiter_is_told_by_the_header(mark: str, tmp_path: Path) -> None:
    """The one that separates known names; an empty cell says nothing."""
    text = f"item_id{mark}label{mark}rater\ni1{mark}{mark}ann\n"
    expected = Record(2, {"item_id": "i1", "label": None, "rater": "ann"})
    assert read(put(tmp_path, text, "f.csv")) == [expected]
    assert read(put(tmp_path, text, "f.txt")) == [expected]


def test_delimited_records_keep_their_lines(tmp_path: Path) -> None:
    """A quoted cell may hold line ends; the record counts from its first line, and a short one is refused."""
    text = 'item_id,label\n\n"i\n1",pass\ni2\n,\ni3,fail\n'
    found = read(put(tmp_path, text, "f.csv"))
    assert found[0] == Record(3, {"item_id": "i\n1", "label": "pass"})
    assert isinstance(found[1], Rejected)
    assert (found[1].line, found[1].message.split(":")[0]) == (5, "1 fields where the header has 2")
    assert [each.line for each in found] == [3, 5, 6, 7]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('item_id,label\n"i1,pass\n', "line 2: the record that starts here"),
        ("item_id,label,item_id\n", "names 'item_id' more than once"),
        ('item_id,"' + "x" * 999_000 + "\n" + "y" * 999_000 + '"\n', "cannot be read"),
    ],
)
def test_delimited_text_that_cannot_be_read_is_refused(text: str, said: str, tmp_path: Path) -> None:
    """A quote without end, a header with one name twice, a cell beyond the cap."""
    assert said in refused(put(tmp_path, text, "f.csv"))


def test_a_nameless_column_is_called_by_its_place(tmp_path: Path) -> None:
    """What it holds is not lost."""
    assert read(put(tmp_path, "item_id,\ni1,x\n", "f.csv")) == [Record(2, {"item_id": "i1", "column_2": "x"})]


def test_refused_lines_come_back_as_they_stood(tmp_path: Path) -> None:
    """The texts of lines by number; of delimited text the header first and every line of a record."""
    with open_native(str(put(tmp_path, '{"a":1}\nx\n\n{"b":2}')), known=KNOWN) as file:
        assert list(file.texts([2, 4])) == ["x\n", '{"b":2}']
    text = 'item_id,label\ni1,a\n"i\n2",b\ni3,c\n'
    with open_native(str(put(tmp_path, text, "f.csv")), known=KNOWN) as file:
        assert list(file.texts([3])) == ["item_id,label\n", '"i\n', '2",b\n']
        assert list(file.texts([2, 5])) == ["item_id,label\n", "i1,a\n", "i3,c\n"]


def test_a_file_that_changes_is_refused(tmp_path: Path) -> None:
    """What is stored is what the digest names, or nothing."""
    path = put(tmp_path, '{"a":"1"}\n')
    with open_native(str(path), known=KNOWN) as file:
        path.write_text('{"a":"2"}\n')
        with pytest.raises(TableError, match="changed while it was read"):
            list(file.records())


def test_a_large_file_is_read_again_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the size that is kept, every pass reads the file."""
    path = put(tmp_path, '{"a":"1"}\n')
    with open_native(str(path), known=KNOWN) as file:
        assert list(file.records()) == list(file.records())
        assert file._records is not None
    monkeypatch.setattr(source, "_KEPT", 0)
    with open_native(str(path), known=KNOWN) as file:
        assert list(file.records()) == list(file.records())
        assert file._records is None


def test_standard_input_and_pipes_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be rewound is copied first; the answer is the same."""

    class Stdin:
        buffer = io.BytesIO(b'{"a":"1"}\n')

    monkeypatch.setattr(sys, "stdin", Stdin())
    with open_native("-", known=KNOWN) as file:
        assert file.name == "standard input"
        assert list(file.records()) == list(file.records()) == [Record(1, {"a": "1"})]
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(b'{"a":"2"}\n',))
    writer.start()
    assert read(fifo) == [Record(1, {"a": "2"})]
    writer.join()


def test_an_endless_pipe_stops_at_the_cap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than the cap is ever copied."""
    monkeypatch.setattr(source, "MAX_BYTES", 100_000)
    assert "larger than" in refused("/dev/zero")


def test_a_file_of_another_kind_is_refused_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every line of a log file is told to be no record."""
    monkeypatch.setattr(source, "MAX_REJECTED", 5)
    said = refused(put(tmp_path, '{"a":"1"}\n' + "2026-11-30 started\n" * 9))
    assert "more than 5 lines are no record (line 7: not JSON" in said


BOMBS = {
    "one-line.jsonl": b'{"a":"' + b"x" * 20_000_000 + b'"}',
    "brackets.jsonl": b'{"a":' + b"[" * 900_000 + b"}",
    "digits.jsonl": b'{"a":' + b"9" * 900_000 + b"}",
    "halves.jsonl": b'{"a":"' + b"\\ud800" * 150_000 + b'"}',
    "noise.jsonl": b"x\n" * 2_000_000,
    "quote-without-end.csv": b'item_id,"' + b"x\n" * 2_000_000,
    "columns.csv": b"item_id" + b",a" * 400_000 + b"\n",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_read_or_refused_in_bounded_memory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None takes more than 40 MB."""
    monkeypatch.setattr(source, "MAX_LINE", 100_000)
    path = put(tmp_path, BOMBS[name], name)
    tracemalloc.start()
    try:
        with suppress(TableError), open_native(str(path), known=KNOWN) as file:
            for _ in file.records():
                pass
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()
