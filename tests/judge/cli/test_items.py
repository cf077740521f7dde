"""`voirdire items`: what it prints, what it refuses, and that the store is the one that was named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run
from tests.judge.cli.records import address, jsonl, on, support, told


def test_import_list_and_show(store: Any, tmp_path: Path) -> None:
    """Items come in, are counted by dataset and shown with their texts, on both databases."""
    db = on(address(store))
    record = {
        "item_id": "i0",
        "input": "What?\nNow",
        "output": "",
        "group": "g",
        "policy": "30 days",
        "turns": 2,
    }
    source = jsonl(tmp_path, "items.jsonl", record, {**record, "item_id": "i1", "split": "tuning"})
    found = told(db("items", "import", source, "--dataset", "support", "--licence", "CC0", "--json"))
    assert (found["lines"], found["added"], found["refused"]) == (2, 2, 0)
    assert found["answers"] == {"calibration": 1, "tuning": 1}
    listed = told(db("items", "list", "--json"))
    assert listed == {"datasets": [{"dataset": "support", "calibration": 1, "tuning": 1, "groups": 1}]}
    rows = told(db("items", "list", "--dataset", "support", "--limit", "1", "--json"))
    assert (rows["count"], [item["item_id"] for item in rows["items"]]) == (2, ["i0"])
    shown = told(db("items", "show", "i0", "--dataset", "support", "--json"))
    assert (shown["input"], shown["evidence"], shown["tags"]) == (
        "What?\nNow",
        {"policy": "30 days"},
        {"turns": "2"},
    )


def test_the_words_of_an_import(sqlite_store: Any, tmp_path: Path) -> None:
    """One sentence with the counts, whatever became of the lines; the second time nothing is new."""
    db = on(sqlite_store.where)
    source = jsonl(tmp_path, "items.jsonl", {"item_id": "i0", "input": "q", "output": "a"})
    said = db("items", "import", source, "--dataset", "support").stdout
    assert said == "Imported items of items.jsonl into support: 1 line, 1 new.\n  calibration 1\n"
    said = db("items", "import", source, "--dataset", "support").stdout
    assert said.startswith("Nothing new: items.jsonl was imported into support on 20")
    assert "items.jsonl" in db("items", "import", source, "--dataset", "support").stdout


def test_lines_that_are_left_out_are_told(sqlite_store: Any, tmp_path: Path) -> None:
    """On stderr, with the file that holds them; the JSON lists them too."""
    db = on(sqlite_store.where)
    records = [{"item_id": "i0", "input": "q", "output": "a"}, *({"item_id": f"x{n}"} for n in range(12))]
    source = jsonl(tmp_path, "items.jsonl", *records)
    result = db("items", "import", source, "--dataset", "support", "--skip-bad", "--json")
    assert "left out: line 2: input is missing" in result.stderr
    assert f"12 lines left out (2 more); they are in {source}.rejected" in result.stderr
    found = told(result)
    assert (found["added"], found["refused"], len(found["rejected"])) == (1, 12, 12)
    assert found["rejected"][0]["field"] == "input"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("items", "import", "none.jsonl", "--dataset", "d"), "cannot read 'none.jsonl'"),
        (("items", "list", "--dataset", "d"), "no dataset 'd' is recorded"),
        (("items", "show", "i9", "--dataset", "support"), "dataset 'support' has no item 'i9'"),
    ],
)
def test_what_is_not_there_is_one_sentence(
    args: tuple[str, ...], said: str, sqlite_store: Any, tmp_path: Path
) -> None:
    """Exit 3, and no traceback."""
    db = on(sqlite_store.where)
    support(db, tmp_path)
    result = db(*args)
    assert result.exit_code == 3
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_dataset_must_be_named(sqlite_store: Any) -> None:
    """A usage error is 64."""
    assert on(sqlite_store.where)("items", "import", "x.jsonl").exit_code == 64


def test_lists_in_words(sqlite_store: Any, tmp_path: Path) -> None:
    """Empty, the next command is said; filled, what there is; hostile texts cannot drive the terminal."""
    db = on(sqlite_store.where)
    assert "No item is recorded. Next: voirdire items import" in db("items", "list").stdout
    source = jsonl(
        tmp_path,
        "i.jsonl",
        {"item_id": "i\u202e0", "input": "\x1b[31mred", "output": "a", "tags": {"a": "b"}},
    )
    db("items", "import", source, "--dataset", "support")
    assert "support" in db("items", "list").stdout
    rows = db("items", "list", "--dataset", "support").stdout
    assert "i‹U+202E›0" in rows
    shown = db("items", "show", "i\u202e0", "--dataset", "support").stdout
    assert "‹U+001B›[31mred" in shown
    assert "\x1b" not in rows + shown


def test_the_store_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VOIRDIRE_DB names it as --db does; the file is made with the policies that ship."""
    monkeypatch.setenv("VOIRDIRE_DB", str(tmp_path / "new.db"))
    names = [policy["policy"] for policy in told(run("policy", "list", "--json"))["policies"]]
    assert {"acceptance@1", "far_only@1"} <= set(names)
    assert (tmp_path / "new.db").is_file()


def test_a_store_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    """Its folder is not there."""
    result = run("--db", str(tmp_path / "none" / "x.db"), "items", "list")
    assert result.exit_code == 3
    assert "cannot create the database" in result.stderr
