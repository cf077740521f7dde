"""`voirdire labels`: import with its options, export and counts."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import spawn
from tests.judge.cli.records import jsonl, on, support, told


def label(number: int, said: Any = "pass", rater: str = "ann", **more: Any) -> dict[str, Any]:
    """A label on an item of the dataset `support`."""
    return {"item_id": f"i{number}", "rater": rater, "criterion": "correct", "label": said, **more}


def test_import_says_what_it_needs(sqlite_store: Any, tmp_path: Path) -> None:
    """Without a rubric, the command that would work is proposed, in words and in JSON."""
    db = on(sqlite_store.where)
    source = jsonl(tmp_path, "more.jsonl", label(0, rater="bob"))
    support(db, tmp_path)
    result = db("labels", "import", source, "--dataset", "support", "--json")
    assert result.exit_code == 3
    assert result.stderr.count("\n") == 2
    ways = json.loads(result.stdout)["try"]
    assert ways[0].endswith("--rubric support-imported@1")


def test_repeats_levels_and_maps(sqlite_store: Any, tmp_path: Path) -> None:
    """The options reach the importer: counts of repeated and conflicting keys come back."""
    db = on(sqlite_store.where)
    items = [{"item_id": f"i{n}", "input": "q", "output": "a"} for n in (0, 1)]
    db("items", "import", jsonl(tmp_path, "items.jsonl", *items), "--dataset", "support")
    records = [label(0, 3), label(0, 4), label(1, 2), label(1, "2.0"), label(1, "top", "bob")]
    source = jsonl(tmp_path, "labels.jsonl", *records)
    args = ["labels", "import", source, "--dataset", "support", "--stub-rubric", "--levels", "1-4"]
    args += ["--accept-at", "3", "--map", "top=4"]
    assert db(*args).exit_code == 3
    result = db(*args, "--on-repeat", "unresolved", "--json")
    found = told(result)
    assert (found["lines"], found["added"], found["ignored"]) == (5, 4, 1)
    assert (found["repeated_keys"], found["conflicting_keys"]) == (2, 1)
    assert found["answers"] == {"2": 1, "3": 1, "4": 2}
    counted = told(db("labels", "list", "--json"))["labels"]
    assert (counted[0]["labels"], counted[0]["repeats"], counted[0]["raters"]) == (4, 1, 2)
    assert "1 repeated" in db("labels", "list", "--dataset", "support").stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--rubric", "a@1", "--stub-rubric"), "not both"),
        (("--levels", "1-4"), "add --stub-rubric"),
        (("--stub-rubric", "--levels", "1-4"), "go together"),
        (("--stub-rubric", "--levels", "4", "--accept-at", "3"), "worst first"),
        (("--map", "pass"), "WORD=MEANING"),
        (("--on-repeat", "first"), "--on-repeat"),
        (("--stub-rubric", "--candidate", "C"), "--candidate"),
    ],
)
def test_options_that_do_not_fit_are_usage_errors(
    args: tuple[str, ...], said: str, sqlite_store: Any
) -> None:
    """64, before any file is read."""
    result = on(sqlite_store.where)("labels", "import", "none.jsonl", "--dataset", "d", *args)
    assert result.exit_code == 64
    assert said in result.stderr


def test_a_claim_of_pairs(sqlite_store: Any, tmp_path: Path) -> None:
    """A stub of pairs claims nothing unless a candidate is declared."""
    db = on(sqlite_store.where)
    pair = {"item_id": "i0", "input": "q", "output_a": "a", "output_b": "b"}
    db("items", "import", jsonl(tmp_path, "items.jsonl", pair), "--dataset", "support")
    source = jsonl(tmp_path, "labels.jsonl", label(0, "B"))
    told(
        db(
            "labels",
            "import",
            source,
            "--dataset",
            "support",
            "--stub-rubric",
            "--candidate",
            "A",
            "--tie-accepts",
            "--json",
        )
    )
    shown = told(db("rubric", "show", "support-imported", "--json"))
    scale = shown["content"]["criteria"][0]["scale"]
    assert (scale["candidate"], scale["tie_accepts"]) == ("A", True)
    assert "claim: A is the better, a tie accepts" in db("rubric", "show", "support-imported").stdout


def test_export_and_import_again(sqlite_store: Any, tmp_path: Path) -> None:
    """JSON Lines say nothing new to the store they came from; a file is never overwritten unasked."""
    db = on(sqlite_store.where)
    support(db, tmp_path)
    out = tmp_path / "out.jsonl"
    result = db("labels", "export", str(out), "--dataset", "support")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"Wrote 2 labels of support to {out}\n"
    assert told(db("labels", "import", str(out), "--dataset", "support", "--json"))["added"] == 0
    assert (
        "exists: give another name, or --force"
        in db("labels", "export", str(out), "--dataset", "support").stderr
    )
    found = told(db("labels", "export", str(out), "--dataset", "support", "--force", "--json"))
    assert (found["labels"], found["constructed"]) == (2, 0)
    assert not list(tmp_path.glob(".*.part"))


def test_export_to_standard_output_and_as_a_table(sqlite_store: Any, tmp_path: Path) -> None:
    """- is standard output; a name that ends in .csv is a table without formulas."""
    db = on(sqlite_store.where)
    support(db, tmp_path)
    note = jsonl(tmp_path, "more.jsonl", label(0, rater="bob", note="=1+1", origin="constructed"))
    told(db("labels", "import", note, "--dataset", "support", "--stub-rubric", "--json"))
    lines = db("labels", "export", "-", "--dataset", "support").stdout.splitlines()
    assert [json.loads(line)["rater"] for line in lines] == ["ann", "bob", "ann"]
    table = tmp_path / "out.csv"
    result = db("labels", "export", str(table), "--dataset", "support", "--criterion", "correct")
    assert "3 labels of support, 1 of them constructed" in result.stderr
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["note"] for row in rows] == ["", "'=1+1", ""]
    assert [row["evidence"] for row in rows] == ["", "constructed", ""]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("labels", "export", "x.jsonl", "--dataset", "none"), "no dataset 'none'"),
        (("labels", "export", "x.jsonl", "--dataset", "support", "--rubric", "none@1"), "no rubric 'none@1'"),
        (("labels", "export", "none/x.jsonl", "--dataset", "support"), "cannot write 'none/x.jsonl'"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(
    args: tuple[str, ...], said: str, sqlite_store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no file is left behind."""
    monkeypatch.chdir(tmp_path)
    db = on(sqlite_store.where)
    support(db, tmp_path)
    result = db(*args)
    assert result.exit_code == 3
    assert said in result.stderr
    assert not list(tmp_path.glob("x.jsonl"))


def test_standard_output_cannot_hold_two_things(sqlite_store: Any, tmp_path: Path) -> None:
    """The records and the JSON about them."""
    db = on(sqlite_store.where)
    support(db, tmp_path)
    assert db("labels", "export", "-", "--dataset", "support", "--json").exit_code == 64


def test_an_empty_store_says_what_is_next(sqlite_store: Any) -> None:
    """No label is recorded."""
    assert (
        "No label is recorded. Next: voirdire labels import"
        in on(sqlite_store.where)("labels", "list").stdout
    )


def test_a_reader_that_goes_away_ends_quietly(sqlite_store: Any, tmp_path: Path) -> None:
    """`labels export - | head -1` complains of nothing."""
    import subprocess
    import sys

    db = on(sqlite_store.where)
    # more than a pipe holds
    items = [{"item_id": f"i{n}", "input": "q", "output": "a"} for n in range(300)]
    db("items", "import", jsonl(tmp_path, "items.jsonl", *items), "--dataset", "support")
    source = jsonl(tmp_path, "labels.jsonl", *(label(n, note="x" * 1000) for n in range(300)))
    db("labels", "import", source, "--dataset", "support", "--stub-rubric")
    command = [sys.executable, "-m", "judge.cli.main", "--db", sqlite_store.where]
    command += ["labels", "export", "-", "--dataset", "support"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


def test_labels_come_from_standard_input_too(sqlite_store: Any, tmp_path: Path) -> None:
    """As a process of its own, on a pipe."""
    db = on(sqlite_store.where)
    support(db, tmp_path)
    line = json.dumps(label(1, rater="bob")).encode()
    done = spawn(
        *("--db", sqlite_store.where, "labels", "import", "-", "--dataset", "support", "--stub-rubric"),
        stdin=line,
    )
    assert done.returncode == 0
    assert done.stdout.startswith(b"Imported labels of standard input into support under support-imported@1:")


def test_names_can_be_left_out_of_an_export(sqlite_store: Any, tmp_path: Path) -> None:
    """With pseudonyms no name of a rater is in the file, and one person has one name in every export."""
    db = on(sqlite_store.where)
    support(db, tmp_path)
    more = jsonl(tmp_path, "more.jsonl", label(0, rater="bob"), label(1, "fail", rater="bob"))
    assert (
        db("labels", "import", more, "--dataset", "support", "--rubric", "support-imported@1").exit_code == 0
    )
    out = tmp_path / "out.jsonl"
    args = ("labels", "export", str(out), "--dataset", "support", "--pseudonyms", "--force")
    assert db(*args).exit_code == 0
    first = out.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in first.splitlines()]
    assert {line["rater"] for line in lines} == {"rater-1", "rater-2"}
    assert "bob" not in first
    assert db(*args).exit_code == 0
    assert out.read_text(encoding="utf-8") == first


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv"])
def test_own_export_under_pseudonyms_is_refused(sqlite_store: Any, tmp_path: Path, name: str) -> None:
    """What the store exported under pseudonyms would double its evidence: it takes none of it back."""
    db = on(sqlite_store.where)
    support(db, tmp_path)
    out = str(tmp_path / name)
    assert db("labels", "export", out, "--dataset", "support", "--pseudonyms").exit_code == 0
    again = ("labels", "import", out, "--dataset", "support", "--rubric", "support-imported@1")
    refused = db(*again)
    assert refused.exit_code == 3
    assert "exported from this very store under pseudonyms" in " ".join(refused.stderr.split())
    db(*again, "--skip-bad")
    assert "rater-1" not in db("labels", "export", "-", "--dataset", "support").stdout
