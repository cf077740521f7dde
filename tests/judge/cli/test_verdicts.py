"""`voirdire verdicts`: import with its options, export and counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.judge.cli.records import jsonl, on, support, told


def verdict(number: int, said: Any = "A", **more: Any) -> dict[str, Any]:
    """A verdict on a pair of the dataset `pairs`."""
    return {"item_id": f"i{number}", "judge": "gpt", "criterion": "better", "label": said, **more}


def pairs(db: Any, folder: Path) -> None:
    """Three pairs."""
    records = [{"item_id": f"i{n}", "input": "q", "output_a": "a", "output_b": "b"} for n in range(3)]
    told(db("items", "import", jsonl(folder, "pairs.jsonl", *records), "--dataset", "pairs", "--json"))


def test_null_positions_and_prompts(sqlite_store: Any, tmp_path: Path) -> None:
    """The options reach the importer, and judges are named with what is unverified about them."""
    db = on(sqlite_store.where)
    pairs(db, tmp_path)
    records = [
        verdict(0, "A", order="ba", rubric="CoT"),
        verdict(1, None, order="ab", rubric="CoT"),
        verdict(2, "B", order="ab", rubric="Vanilla"),
    ]
    source = jsonl(tmp_path, "verdicts.jsonl", *records)
    args = ["verdicts", "import", source, "--dataset", "pairs", "--stub-rubric"]
    args += ["--positions", "displayed", "--null-as", "invalid"]
    said = db(*args).stdout
    assert "B 2, invalid 1" in said
    assert "2 judges, external and unverified: gpt/CoT, gpt/Vanilla" in said
    lines = [
        json.loads(line) for line in db("verdicts", "export", "-", "--dataset", "pairs").stdout.splitlines()
    ]
    assert [(line["label"], line.get("reason")) for line in lines] == [
        ("B", None),
        (None, "invalid"),
        ("B", None),
    ]
    assert told(db(*args, "--json"))["added"] == 0


def test_a_map_of_null(sqlite_store: Any, tmp_path: Path) -> None:
    """--map null=tie."""
    db = on(sqlite_store.where)
    pairs(db, tmp_path)
    source = jsonl(tmp_path, "verdicts.jsonl", verdict(0, None), verdict(1, "B"))
    found = told(
        db("verdicts", "import", source, "--dataset", "pairs", "--stub-rubric", "--map", "null=tie", "--json")
    )
    assert found["answers"] == {"B": 1, "tie": 1}


def test_a_changed_line_is_refused_by_its_number(sqlite_store: Any, tmp_path: Path) -> None:
    """Exit 3, and JSON says which kind of error it is."""
    db = on(sqlite_store.where)
    support(db, tmp_path)
    changed = {"item_id": "i0", "judge": "gpt", "criterion": "correct", "label": "pass"}
    source = jsonl(tmp_path, "changed.jsonl", {**changed, "item_id": "i1"}, changed)
    result = db("verdicts", "import", source, "--dataset", "support", "--stub-rubric", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["error"] == "different_record"
    assert "changed.jsonl, line 2: the verdict on item 'i0'" in result.stderr


def test_export_of_one_judge(sqlite_store: Any, tmp_path: Path) -> None:
    """By name; one that is not recorded is refused."""
    db = on(sqlite_store.where)
    support(db, tmp_path)
    more = {"item_id": "i1", "judge": "EM", "criterion": "correct", "label": "pass"}
    told(
        db(
            "verdicts",
            "import",
            jsonl(tmp_path, "em.jsonl", more),
            "--dataset",
            "support",
            "--stub-rubric",
            "--json",
        )
    )
    out = str(tmp_path / "out.jsonl")
    assert (
        told(db("verdicts", "export", out, "--dataset", "support", "--judge", "EM", "--json"))["verdicts"]
        == 1
    )
    assert (
        "no judge 'none' is recorded"
        in db("verdicts", "export", "-", "--dataset", "support", "--judge", "none").stderr
    )


def test_counts(sqlite_store: Any, tmp_path: Path) -> None:
    """By dataset, judge, rubric and criterion, in words and JSON."""
    db = on(sqlite_store.where)
    assert "No verdict is recorded. Next: voirdire verdicts import" in db("verdicts", "list").stdout
    support(db, tmp_path)
    assert told(db("verdicts", "list", "--json"))["verdicts"] == [
        {
            "dataset": "support", "judge": "gpt", "kind": "external", "rubric": "support-imported@1",
            "criterion": "correct", "runs": 1, "items": 1, "verdicts": 1, "unknown": 0,
        }
    ]  # fmt: skip
    said = db("verdicts", "list", "--dataset", "support").stdout
    assert said.startswith("support, under support-imported@1, external judges")
    assert told(db("verdicts", "list", "--dataset", "none", "--json")) == {"verdicts": []}
