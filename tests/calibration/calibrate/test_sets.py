"""Sets in the store: drawn by a design, topped up, frozen, and refused where the judge has seen them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from calibration.calibrate import calibrate
from calibration.calibrate.evidence_set import open_set
from calibration.calibrate.sets import Drawing, draw_set, freeze
from calibration.sampling import SamplingDesign
from calibration.store.database import Store
from calibration.store.items import add_items
from calibration.store.sets import iter_members
from rubrics.errors import DeclarationError, RecordError
from rubrics.item import Item
from rubrics.loader import load_catalog
from tests.calibration.filling import (
    CLEAN,
    CRITERION,
    DATASET,
    NOW,
    RUBRIC,
    asked,
    fill,
    fill_items,
    fill_judge,
)
from tests.databases import BOTH


def drawing(name: str = "may", **fields: Any) -> Drawing:
    """A simple random drawing of 40 unless fields say otherwise."""
    design = {"kind": "simple_random", "n": 40, "seed": 1, **fields}
    return Drawing(name, DATASET, SamplingDesign.model_validate(design), RUBRIC, CRITERION)


@BOTH
def test_a_drawn_set_is_frozen_and_examined(store: Store) -> None:
    """40 of 150 items, each with probability 40/150; unfrozen it cannot be opened."""
    with store.write() as session:
        fill(session, CLEAN)
        stored = draw_set(session=session, drawing=drawing(), actor="test", at=NOW)
        members = list(iter_members(session=session, set_digest=stored.digest))
        with pytest.raises(RecordError, match="voirdire set freeze may"):
            open_set(session=session, ref="may")
        freeze(session=session, stored=stored, rubrics=(), actor="test", at=NOW)
        evidence = open_set(session=session, ref="may@1")
        question = asked(session, None, evidence=evidence)
        report = calibrate(session=session, asked=question, at=NOW).comparison.examinations[0].report
    assert len(members) == 40
    assert {m.inclusion_probability for m in members} == {40 / 150}
    assert report.table.all.total == 40
    assert (report.set, report.design) == ("may@1", "simple_random")
    assert report.claim is not None
    assert report.claim.startswith("simple random sample")


def test_a_top_up_is_the_next_version(store: Store) -> None:
    """Drawing under the same name keeps the members and adds to them."""
    with store.write() as session:
        fill_items(session, CLEAN)
        first = draw_set(session=session, drawing=drawing(), actor="test", at=NOW)
        second = draw_set(session=session, drawing=drawing(n=60), actor="test", at=NOW)
        earlier = {m.item_id for m in iter_members(session=session, set_digest=first.digest)}
        both = {m.item_id for m in iter_members(session=session, set_digest=second.digest)}
    assert (first.ref, second.ref, second.extends) == ("may@1", "may@2", first.digest)
    assert earlier < both
    assert len(both) == 60


def test_failures_are_oversampled_by_a_screening_judge_that_is_then_not_examined(store: Store) -> None:
    """30 screened failures and 20 passes; the screening judge itself is refused on the set."""
    with store.write() as session:
        fill(session, CLEAN, judge="screen")
        plan = drawing(kind="failure_oversampled", n=None, by="screen", allocation={"fail": 30, "pass": 20})
        stored = draw_set(session=session, drawing=plan, actor="test", at=NOW)
        freeze(session=session, stored=stored, rubrics=(), actor="test", at=NOW)
        evidence = open_set(session=session, ref="may")
        assert {p.stratum for p in evidence.placed} == {"fail", "pass"}
        with pytest.raises(DeclarationError, match="its strata are that judge's own verdicts"):
            calibrate(
                session=session, asked=asked(session, None, judges=("screen",), evidence=evidence), at=NOW
            )


def test_strata_by_tag(store: Store) -> None:
    """A stratified draw takes its numbers from each value of the tag."""
    with store.write() as session:
        items = [
            Item(item_id=f"i{i}", input="q", output=f"answer {i}", tags={"lang": "en" if i % 4 else "de"})
            for i in range(40)
        ]
        add_items(session=session, dataset=DATASET, items=items, at=NOW)
        plan = drawing(kind="stratified", n=None, by="lang", allocation={"de": 5, "en": 6})
        stored = draw_set(session=session, drawing=plan, actor="test", at=NOW)
        strata = [m.stratum for m in iter_members(session=session, set_digest=stored.digest)]
    assert (strata.count("de"), strata.count("en")) == (5, 6)
    assert stored.content["population"] == {"de": 10, "en": 30}


@pytest.mark.parametrize("kind", ["tuning", "example", "prompt"])
def test_what_the_judges_author_has_seen_is_refused_at_freezing(store: Store, kind: str) -> None:
    """An output that stands in the tuning split, a rubric example or a judge's prompt refuses the freeze."""
    rubric = load_catalog("refund-policy")
    example = rubric.criteria[0].examples[0]
    seen = example.output or ""
    with store.write() as session:
        fill_items(session, CLEAN)
        add_items(
            session=session,
            dataset=DATASET,
            items=[Item(item_id="leaked", input="q", output=seen.upper())],
            at=NOW,
        )
        if kind == "tuning":
            tuned = Item.model_validate({"item_id": "t", "input": "q", "output": seen, "split": "tuning"})
            add_items(session=session, dataset=DATASET, items=[tuned], at=NOW)
        if kind == "prompt":
            from calibration.store.judges import add_judge

            content = {"kind": "model", "prompt": f"An example: {seen} That fails."}
            add_judge(
                session=session,
                digest="e" * 64,
                judge_name="m",
                kind="model",
                content=content,
                actor="t",
                at=NOW,
            )
        stored = draw_set(session=session, drawing=drawing(n=151), actor="test", at=NOW)
        with pytest.raises(DeclarationError, match="item 'leaked' also stands in"):
            freeze(
                session=session,
                stored=stored,
                rubrics=(rubric,) if kind == "example" else (),
                actor="test",
                at=NOW,
            )


def test_near_duplicates_are_listed_at_freezing(store: Store) -> None:
    """Twins do not refuse the set; they are named."""
    with store.write() as session:
        twins = [Item(item_id=name, input="q", output="the very same answer to it") for name in ("a", "b")]
        add_items(session=session, dataset=DATASET, items=twins, at=NOW)
        stored = draw_set(session=session, drawing=drawing(n=2), actor="test", at=NOW)
        frozen = freeze(session=session, stored=stored, rubrics=(), actor="test", at=NOW + timedelta(hours=1))
    assert [(t.first, t.second) for t in frozen.near_duplicates] == [("a", "b")]
    assert frozen.stored.frozen_at == NOW + timedelta(hours=1)


def test_what_cannot_be_drawn_is_said(store: Store) -> None:
    """No item, no screening verdicts, no rubric for them: one sentence each."""
    screened: dict[str, Any] = {"kind": "failure_oversampled", "n": 5, "by": "screen"}
    with store.write() as session:
        with pytest.raises(RecordError, match="has no calibration item"):
            draw_set(session=session, drawing=drawing(), actor="test", at=NOW)
        fill_items(session, CLEAN)
        from calibration.store.rubrics import add_rubric

        add_rubric(session=session, rubric=RUBRIC, actor="test", at=NOW)
        fill_judge(session, "other")
        with pytest.raises(RecordError, match="no judge 'screen' is recorded"):
            draw_set(session=session, drawing=drawing(**screened), actor="test", at=NOW)
        design = SamplingDesign.model_validate({"seed": 1, **screened})
        with pytest.raises(DeclarationError, match="needs --rubric and --criterion"):
            draw_set(session=session, drawing=Drawing("may", DATASET, design), actor="test", at=NOW)
