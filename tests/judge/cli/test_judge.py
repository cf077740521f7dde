"""`voirdire judge`: declare, list, show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from judge.spec import parse_judge
from tests.judge.cli.records import address, on, support, told

SPEC = "kind: external\nname: gpt\norigin: their pipeline\n"


def test_declare_list_and_show(store: Any, tmp_path: Path) -> None:
    """A judge is its whole spec: the digest is that of the file."""
    db = on(address(store))
    source = tmp_path / "gpt.yaml"
    source.write_text(SPEC)
    found = told(db("judge", "add", str(source), "--json"))
    expected = {"judge": "gpt", "kind": "external", "digest": parse_judge(SPEC).digest, "new": True}
    assert found == {**expected, "risks": []}
    assert told(db("judge", "add", str(source), "--json"))["new"] is False
    support(db, tmp_path)
    listed = told(db("judge", "list", "--json"))["judges"]
    assert [(judge["judge"], judge["run_count"]) for judge in listed] == [("gpt", 1)]
    shown = told(db("judge", "show", "gpt", "--json"))
    assert shown["spec"]["origin"] == "their pipeline"
    assert [(run["dataset"], run["origin"], run["rubric"]) for run in shown["runs"]] == [
        ("support", "import", "support-imported@1")
    ]
    assert told(db("judge", "show", found["digest"], "--json"))["judge"] == "gpt"


def test_the_words_of_a_judge(sqlite_store: Any, tmp_path: Path) -> None:
    """External judges are said to be unverified; a baseline shows its spec."""
    db = on(sqlite_store.where)
    assert "No judge is recorded. Next: voirdire judge add FILE" in db("judge", "list").stdout
    support(db, tmp_path)
    assert "external, unverified" in db("judge", "list").stdout
    assert "run " in (said := db("judge", "show", "gpt").stdout)
    assert "on support under support-imported@1: imported" in said
    baseline = tmp_path / "length.yaml"
    baseline.write_text("kind: baseline\nname: length\n")
    assert db("judge", "add", str(baseline)).stdout.startswith("Recorded the baseline judge length (")
    assert db("judge", "add", str(baseline)).stdout.startswith(
        "Already recorded: the baseline judge length ("
    )


def test_what_is_no_judge_is_refused(sqlite_store: Any, tmp_path: Path) -> None:
    """By the line of the file; one that is not recorded is said to be so."""
    db = on(sqlite_store.where)
    source = tmp_path / "x.yaml"
    source.write_text("kind: oracle\nname: x\n")
    result = db("judge", "add", str(source))
    assert result.exit_code == 3
    assert "x.yaml:1" in result.stderr
    assert "no judge 'x' is recorded" in db("judge", "show", "x").stderr
