"""Items of a file that are only to be graded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calibration.interchange.native.unrecorded import read_items
from rubrics.errors import DeclarationError, TableError

LINE = {"item_id": "a", "input": "Where?", "output": "There.", "policy": "1. Somewhere.", "stars": 4}


def written(folder: Path, *lines: object) -> str:
    """A file of these lines."""
    path = folder / "new.jsonl"
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
    return str(path)


def test_items_come_in_order_with_their_evidence_and_tags(tmp_path: Path) -> None:
    """Further texts are evidence by their names, numbers are tags, as the import has it."""
    first, second = read_items(written(tmp_path, LINE, {**LINE, "item_id": "b", "group": "g"}))
    assert (first.item_id, first.input, first.output) == ("a", "Where?", "There.")
    assert first.evidence == {"policy": "1. Somewhere."}
    assert first.tags == {"stars": "4"}
    assert (second.item_id, second.group) == ("b", "g")


def test_a_table_is_read_too(tmp_path: Path) -> None:
    """CSV with the same column names."""
    path = tmp_path / "new.csv"
    path.write_text("item_id,input,output\na,Where?,There.\n")
    (item,) = read_items(str(path))
    assert (item.item_id, item.output) == ("a", "There.")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"input": "q", "output": "o"}, "line 2: .*item_id"),
        ({"item_id": "b", "output": "o"}, "line 2: .*input"),
        ("{broken\n", "line 2: "),
        (LINE, "line 2: item_id 'a' stands in line 1 too"),
    ],
)
def test_the_first_bad_line_is_named(tmp_path: Path, bad: object, said: str) -> None:
    """With its number and what is wrong; nothing is read past it."""
    with pytest.raises(TableError, match=said):
        read_items(written(tmp_path, LINE, bad))


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    """By name."""
    with pytest.raises((DeclarationError, OSError), match=r"no\.jsonl"):
        read_items(str(tmp_path / "no.jsonl"))
