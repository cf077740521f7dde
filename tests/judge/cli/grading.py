"""Answers to be graded, a store in which a rule judge is admitted, and its exported decision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calibration.store.database import Store
from calibration.store.decisions import StoredDecision
from rubrics.item import Item
from tests.judge.cli.records import Run, address, jsonl, on
from tests.judge.cli.worlds import once
from tests.judge.grading_world import RUBRIC, admitted, lay_down, rule

TRUE = ("--rubric", RUBRIC.ref, "--criterion", "true")
FREE = "It is free."


def answers(folder: Path, items: Sequence[Item], name: str = "answers.jsonl") -> str:
    """A file with the items."""
    records = [
        {
            "item_id": each.item_id, "input": each.input, "output": each.output,
            "tags": dict(each.tags), "system": each.system, **each.evidence,
        }
        for each in items
    ]  # fmt: skip
    return jsonl(folder, name, *records)


def prepared(store: Store) -> tuple[Run, Any]:
    """A command line on a store in which a rule judge is admitted, and the decision."""

    def lay() -> StoredDecision:
        with store.write() as session:
            lay_down(session)
            return admitted(session, rule("true", "free"), "true")

    return on(address(store)), once(store, "a rule is admitted", lay)


def bundle_of(db: Run, decision: Any, folder: Path) -> Path:
    """The exported decision."""
    path = folder / "true.bundle"
    result = db("decisions", "export", decision.hash[:12], "--bundle", str(path), "--json")
    assert result.exit_code == 0, result.stderr
    return path
