"""Disagreements: closed while people label, opened at the price of a look, read item by item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from calibration.calibrate import Asked, calibrate
from calibration.calibrate.evidence_set import open_set
from calibration.labeling import rating
from calibration.labeling.records import Nothing
from calibration.labeling.sessions import close_session
from calibration.store.database import Store
from calibration.store.judges import RunOrigin, add_judge, add_run, get_judge
from calibration.store.reports import LookKind, Steered, list_looks
from calibration.store.verdicts import VerdictEntry, add_verdicts
from labeling_ui.review import here
from labeling_ui.review.wrong import ABSTAINED, FLIPPED
from rubrics.digest import digest
from rubrics.verdict import UnknownReason
from tests.calibration.filling import record_policy
from tests.calibration.labeling import world
from tests.labeling_ui.review.judged import TEN
from tests.labeling_ui.review.looking import Looking

VERDICTS: tuple[tuple[str, UnknownReason | None], ...] = (
    ("pass", None),
    ("fail", None),
    ("unknown", UnknownReason.ABSTAINED),
    ("unknown", UnknownReason.INCONSISTENT),
)
"""What the judge says of the four items; people fail the first and pass the others."""


def rated(store: Store, *, note: str = "the sum is wrong", raters: Sequence[str] = ("ann", "ben")) -> None:
    """The raters answer everything: the first item fails, the others pass."""
    for rater in raters:
        for at in range(4):
            task = rating.next_task(store=store, rater=rater, now=world.later(10 * at))
            assert not isinstance(task, Nothing)
            first = any(field.text == "answer 0" for field in task.fields)
            given = world.said(
                "fail" if first else "pass",
                10 * at + 5,
                failure_mode="wrong_sum" if first else None,
                note=note,
            )
            rating.answer(store=store, rater=rater, task=task.key, answer=given, now=world.later(10 * at + 5))


def judged(store: Store, *, rationale: str = "it follows the policy") -> None:
    """A judge with its words on the four items, measured."""
    content = {"kind": "external", "name": "gpt"}
    asked = world.rubric()
    with store.write() as session:
        add_judge(
            session=session, digest=digest(content), judge_name="gpt", kind="external",
            content=content, actor="lead", at=world.NOW,
        )  # fmt: skip
        run = add_run(
            session=session, judge_digest=digest(content), rubric_digest=asked.digest,
            dataset=world.DATASET, origin=RunOrigin.IMPORT, plan={}, units=0, at=world.NOW,
        )  # fmt: skip
        entries = [
            VerdictEntry(run, f"case-{n:03d}", "correct", answer, reason, rationale=f"{n}: {rationale}")
            for n, (answer, reason) in enumerate(VERDICTS)
        ]
        add_verdicts(session=session, verdicts=entries, at=world.NOW)
        record_policy(session, TEN)
        question = Asked(
            evidence=open_set(session=session, ref="may@1"),
            rubric=asked,
            criterion="correct",
            judges=(get_judge(session=session, judge="gpt"),),
            policy=TEN,
            actor="lead",
        )
        calibrate(session=session, asked=question, at=world.NOW)


@pytest.fixture
def db(sqlite_store: Store, tmp_path: Path) -> Iterator[Path]:
    """The file of a store with a session of four items that two people rated and a judge answered."""
    world.opened(sqlite_store, items=4)
    rated(sqlite_store)
    judged(sqlite_store)
    yield tmp_path / "voirdire.db"
    here._store.clear()


def closed(store: Store) -> None:
    """Close the labeling session."""
    with store.write() as session:
        close_session(session=session, name=world.SESSION, actor="lead", at=datetime(2026, 12, 1, tzinfo=UTC))


def at_the_page(db: Path, name: str = "lead") -> Looking:
    """Somebody at the page Disagreements."""
    page = Looking(db, name)
    page.app.switch_page("views/disagreements.py")
    return page.run()


def revealing(store: Store) -> list[Any]:
    """The looks that are not at reports."""
    with store.read() as session:
        return [each for each in list_looks(session=session) if each.kind is LookKind.DISAGREEMENTS]


def test_it_is_closed_while_people_label(db: Path, sqlite_store: Store) -> None:
    """An open session keeps the page shut, for everybody; no look is spent."""
    page = at_the_page(db)
    assert "still labels this set" in page.words
    assert "case-000" not in page.words
    assert revealing(sqlite_store) == []


def test_whoever_still_rates_sees_no_judge(sqlite_store: Store, tmp_path: Path) -> None:
    """With open items of the set neither Judges nor Disagreements says what a judge said of it."""
    world.opened(sqlite_store, items=4)
    rated(sqlite_store, raters=("ben",))
    judged(sqlite_store)
    page = Looking(tmp_path / "voirdire.db", "ann")
    for view in ("judges", "disagreements"):
        page.app.switch_page(f"views/{view}.py")
        said = page.run().words
        assert "you still have 4 items of this set to rate" in said.lower()
        assert "gpt" not in said
    here._store.clear()


def test_opening_is_a_look_and_shows_what_everybody_said(db: Path, sqlite_store: Store) -> None:
    """Counts first; a press records the look and opens the item with notes, reasons and the judge's words."""
    closed(sqlite_store)
    page = at_the_page(db)
    assert "People fail, judge accepts1/1" in page.words
    assert "Contradicts itself1/4" in page.words
    assert "case-000" not in page.words
    assert revealing(sqlite_store) == []
    page.app.button[0].click()
    page.run()
    (look,) = revealing(sqlite_store)
    assert (look.actor, look.steered) == ("lead", Steered.PRESUMED)
    said = page.words
    assert "False accepts: 1" in said
    assert "the sum is wrong" in said
    assert "wrong sum" in said
    assert "0: it follows the policy" in said
    assert "answer 0" in said
    for kind, item in ((ABSTAINED, "case-002"), (FLIPPED, "case-003")):
        group: Any = page.app.get("button_group")[0]
        group.set_value(kind)
        assert f"{kind}: 1" in page.run().words
        assert f"Item {item}" in page.words
    assert len(revealing(sqlite_store)) == 1
