"""Cells, columns and line numbers of delimited text, JSON Lines and arrays."""

from __future__ import annotations

import csv

import pytest

from calibration.interchange.columns import KNOWN_NAMES
from calibration.interchange.grid import Grid, read_grid
from rubrics.errors import TableError


def grid(text: str, name: str = "t", delimiter: str | None = None) -> Grid:
    """The grid of a text."""
    return read_grid(text, name=name, delimiter=delimiter, known=KNOWN_NAMES)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_told_by_the_header(delimiter: str) -> None:
    """Commas inside the fields of a semicolon table are text, and the other way round."""
    head = delimiter.join(["id", "human_label", "judge_label", "output"])
    other = ";" if delimiter == "," else ","
    line = delimiter.join(["1", "pass", "fail", f"a{other} b{other} c{other} d{other} e"])
    assert grid(f"{head}\n{line}\n").rows == [
        ["1", "pass", "fail", f"a{other} b{other} c{other} d{other} e", ""]
    ]


def test_a_header_that_two_delimiters_split_alike_is_not_guessed() -> None:
    """Where both readings are as good, --delimiter is asked for, and then used."""
    text = "a,b;c\n1,2;3\n"
    with pytest.raises(TableError, match="--delimiter"):
        grid(text)
    assert grid(text, delimiter=";").columns == ["a,b", "c"]


def test_line_numbers_count_physical_lines() -> None:
    """A quoted field over three lines moves the number of the next row."""
    found = grid('id,output\n1,"a\nb\r\nc"\n\n2,d\n')
    assert found.lines == [2, 6]
    assert found.rows[0][1] == "a\nb\r\nc"


def test_old_mac_line_ends() -> None:
    """A lone carriage return ends a line too."""
    assert grid("id,x\r1,a\r2,b\r").lines == [2, 3]


def test_rows_of_nothing_but_delimiters_are_counted() -> None:
    """What a spreadsheet leaves below a table is skipped, and counted."""
    found = grid("id,x\n1,a\n,\n,\n")
    assert (len(found.rows), found.empty_rows, found.bad) == (1, 2, [])


def test_nameless_columns_are_called_by_their_place() -> None:
    """A data frame's index column has no name."""
    assert grid(",id,x\n0,1,a\n").columns == ["column_1", "id", "x"]


def test_the_field_limit_is_put_back() -> None:
    """Reading a long field leaves the csv module as it was."""
    before = csv.field_size_limit()
    assert len(grid("id,x\n1," + "y" * 200_000).rows[0][1]) == 200_000
    assert csv.field_size_limit() == before


def test_json_numbers_keep_their_text() -> None:
    """No number is converted: what was written is what is read."""
    line = '{"id": 1e3, "a": 0.10, "b": -0, "c": NaN, "d": 123456789012345678901234567890}'
    assert grid(line).rows == [["1e3", "0.10", "-0", "NaN", "123456789012345678901234567890", ""]]


def test_other_json_values_are_their_json() -> None:
    """Null is empty; true is a word; lists and objects are kept as text."""
    line = '{"id": null, "a": true, "b": [1, "ä"], "c": {"d": false}}'
    assert grid(line).rows == [["", "true", '["1", "ä"]', '{"d": false}', ""]]


def test_columns_are_every_key_in_order_of_appearance() -> None:
    """Objects need not have the same keys; an absent one is empty."""
    found = grid('{"id": "1", "a": "x"}\n\n{"b": "y", "id": "2"}\n')
    assert found.columns == ["id", "a", "b"]
    assert found.rows == [["1", "x", "", ""], ["2", "", "y", ""]]
    assert found.lines == [1, 3]


def test_bad_lines_are_kept_apart() -> None:
    """A line that is no object is bad; the others are read."""
    found = grid('{"id": "1"}\n{"id": \n[1]\n{"id": "2"}\n')
    assert [bad.line for bad in found.bad] == [2, 3]
    assert found.lines == [1, 4]
    assert list(found.raw({2, 3})) == ['{"id": ', "[1]"]


def test_an_array_counts_elements() -> None:
    """Elements of a JSON array are numbered from one; refused ones are written as lines."""
    found = grid('[{"id": "1"}, 7, {"id": "ä"}]', "t.json")
    assert (found.unit, found.lines, [bad.line for bad in found.bad]) == ("element", [1, 3], [2])
    assert list(found.raw({3})) == ['{"id": "\\u00e4"}']


def test_refused_lines_of_delimited_text_come_with_header_and_line_ends() -> None:
    """The raw text of a record is all its physical lines, untouched."""
    text = 'id,x\r\n1,a\r\n2,"b\r\nc",d\r\n3,e\r\n'
    found = grid(text)
    assert [bad.line for bad in found.bad] == [3]
    assert "".join(found.raw({3})) == 'id,x\r\n2,"b\r\nc",d\r\n'


def test_a_suffix_decides_over_the_first_character() -> None:
    """A CSV whose first header begins with a bracket is a CSV."""
    assert grid("[id],x\n1,a\n", "t.csv").columns == ["[id]", "x"]
    with pytest.raises(TableError, match="not JSON"):
        grid("id,x\n1,a\n", "t.jsonl")
