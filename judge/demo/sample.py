"""The demo sample as records. Items and labels are constructed: they are evidence about nothing real."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from calibration.labels import Adjudication, Assessment, Blindness, ReferenceLabel, ReferenceRule
from calibration.reference import resolve
from judge.rule_spec import RuleSpec
from rubrics.item import Item
from rubrics.loader import parse_declaration
from rubrics.verdict import Verdict

ORIGIN = "constructed"
"""The origin that every item and label of the sample carries."""
CRITERIA = ("states_terms", "resolves_request")
"""Checkable by a rule; a matter of judgment."""


def demo_file(name: str) -> Traversable:
    """A file of the demo: items.jsonl, labels.jsonl, key.jsonl, policy.md, rule_terms.yaml, ABOUT.md."""
    return resources.files("judge.demo").joinpath(name)


def demo_items() -> tuple[Item, ...]:
    """The items in file order, the clauses that matter as their evidence field `policy`."""
    return tuple(_item(row) for row in _rows("items.jsonl"))


def demo_assessments() -> tuple[Assessment, ...]:
    """What the two raters said, in file order; a null label is cannot-decide."""
    rows = (row for row in _rows("labels.jsonl") if row.get("kind") != "adjudication")
    return tuple(
        Assessment(
            row["item_id"], row["criterion"], row["rater"], _verdict(row["label"]), Blindness(row["blind"])
        )
        for row in rows
    )


def demo_adjudications() -> tuple[Adjudication, ...]:
    """What the adjudicator said where the raters differ; unknown where it was left unresolved."""
    rows = (row for row in _rows("labels.jsonl") if row.get("kind") == "adjudication")
    return tuple(
        Adjudication(row["item_id"], row["criterion"], row["rater"], _verdict(row["label"]), row["note"])
        for row in rows
    )


def demo_references(criterion: str) -> dict[str, ReferenceLabel]:
    """The reference label of every item under a criterion: unanimous, else adjudicated, else unknown."""
    said: dict[str, list[Assessment]] = defaultdict(list)
    for assessment in demo_assessments():
        if assessment.criterion == criterion:
            said[assessment.item_id].append(assessment)
    settled = {found.item_id: found for found in demo_adjudications() if found.criterion == criterion}
    rule = ReferenceRule.UNANIMOUS_OR_ADJUDICATED
    return {
        item_id: resolve(assessments, settled.get(item_id), rule=rule, min_raters=2)
        for item_id, assessments in said.items()
    }


def demo_clauses() -> dict[int, str]:
    """The numbered clauses of the invented policy, each with its number, as they stand in the evidence."""
    text = demo_file("policy.md").read_text(encoding="utf-8")
    return {int(found[1]): found[0] for found in re.finditer(r"^(\d+)\. .+$", text, re.MULTILINE)}


def demo_rule() -> RuleSpec:
    """The rule judge for states_terms."""
    text = demo_file("rule_terms.yaml").read_text(encoding="utf-8")
    return parse_declaration(text, RuleSpec, source="rule_terms.yaml")


def _rows(name: str) -> Iterator[dict[str, Any]]:
    for line in demo_file(name).read_text(encoding="utf-8").split("\n"):
        if line:
            yield json.loads(line)


def _item(row: dict[str, Any]) -> Item:
    fields = {key: value for key, value in row.items() if key != "policy"}
    return Item(**fields, evidence={"policy": row["policy"]})


def _verdict(label: str | None) -> Verdict:
    return Verdict.UNKNOWN if label is None else Verdict(label)
