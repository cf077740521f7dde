"""Lengths and families of recorded outputs: characters, ratios of pairs, and what is not known."""

from __future__ import annotations

import math

import pytest

from calibration.calibrate.evidence_set import convenience_set
from calibration.calibrate.written import lengths_of, written_of
from calibration.report.supplement import Written
from calibration.store.database import Store
from calibration.store.items import add_items
from calibration.store.judges import StoredJudge
from rubrics.criterion import Criterion, Guidance
from rubrics.item import Item
from rubrics.scale import PreferenceScale
from tests.calibration.filling import CRITERION, DATASET, NOW, RUBRIC

GUIDANCE = Guidance(prefer_when="it is right", tie_when="both are alike", cannot_decide_when="unclear")


def read(store: Store, items: list[Item], criterion: Criterion, **content: str) -> Written:
    """What is known of the items for a model judge with this content."""
    kind = content.pop("kind", "model")
    judge = StoredJudge("d" * 64, "gpt", kind, content, NOW)
    with store.write() as session:
        add_items(session=session, dataset=DATASET, items=items, at=NOW)
        evidence = convenience_set(session=session, dataset=DATASET, actor="lead", at=NOW)
        lengths = lengths_of(session=session, evidence=evidence, criterion=criterion)
        return written_of(lengths=lengths, evidence=evidence, criterion=criterion, judge=judge)


def preference(candidate: str | None) -> Criterion:
    """A pairwise criterion."""
    scale = PreferenceScale.model_validate({"kind": "preference", "candidate": candidate})
    return Criterion(key="better", title="Better", question="Which?", guidance=GUIDANCE, scale=scale)


def test_lengths_are_of_the_output_and_families_of_the_item(sqlite_store: Store) -> None:
    """log2 of the characters, a blank output as one; the judge's family by its model's name."""
    items = [
        Item(item_id="a", input="q", output="x" * 8, model_family="GPT-4"),
        Item(item_id="b", input="q", output="", model_family="llama"),
        Item(item_id="c", input="q", output="x" * 16),
    ]
    found = read(sqlite_store, items, RUBRIC.criterion(CRITERION), model="openai/gpt-4.1")
    assert dict(found.log2_length) == {"a": 3.0, "b": 0.0, "c": 4.0}
    assert dict(found.own_family) == {"a": True, "b": False}
    assert (found.measure, found.not_assessable) == ("characters", None)


def test_a_judge_without_one_model_or_items_without_a_family_are_told(sqlite_store: Store) -> None:
    """An imported judge, and outputs that nobody named a family for."""
    items = [Item(item_id="a", input="q", output="x", model_family="gpt-4")]
    found = read(sqlite_store, items, RUBRIC.criterion(CRITERION), kind="external")
    assert dict(found.own_family) == {}
    assert found.not_assessable == "of this judge (external) no single model is known"


def test_items_without_a_family_are_told(sqlite_store: Store) -> None:
    """Nothing names who wrote them."""
    found = read(
        sqlite_store,
        [Item(item_id="a", input="q", output="x")],
        RUBRIC.criterion(CRITERION),
        model="openai/x",
    )
    assert "model_family" in (found.not_assessable or "")


@pytest.mark.parametrize(("candidate", "expected"), [("B", 2.0), ("A", -2.0), (None, None)])
def test_of_a_pair_the_candidate_is_measured_against_the_other(
    sqlite_store: Store, candidate: str | None, expected: float | None
) -> None:
    """Four times as long is 2; without a candidate nothing is accepted and nothing measured."""
    items = [Item(item_id="a", input="q", output_a="x" * 3, output_b="x" * 12)]
    found = read(sqlite_store, items, preference(candidate), model="openai/x")
    if expected is None:
        assert (dict(found.log2_length), "no candidate" in (found.not_assessable or "")) == ({}, True)
    else:
        assert math.isclose(found.log2_length["a"], expected)
