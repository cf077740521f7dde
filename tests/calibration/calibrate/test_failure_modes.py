"""At freezing, items known for each failure mode are counted against the minimum that was asked for."""

from __future__ import annotations

import pytest

from calibration.calibrate.failure_modes import ModeCount, mode_counts
from calibration.store.assessments import LabelEntry, add_labels
from calibration.store.database import Store
from rubrics.errors import DeclarationError
from tests.calibration.labeling.world import DATASET, NOW, freeze, item, rubric
from tests.judge.cli.records import on, told


def tagged(store: Store) -> str:
    """A set of six items: three tagged with modes, one labelled with another; its digest."""
    modes = {0: "invented", 1: "invented, wrong_sum", 2: " "}
    with store.write() as session:
        stored = freeze(
            session, 6, rubric(), lambda n: item(n, tags={"failure_mode": modes[n]} if n in modes else {})
        )
        labels = [
            LabelEntry("case-001", "correct", "ann", "fail", failure_mode="invented"),
            LabelEntry("case-004", "correct", "ann", "fail", failure_mode="wrong_sum"),
        ]
        add_labels(session=session, dataset=DATASET, rubric_digest=rubric().digest, labels=labels, at=NOW)
    return stored.digest


def test_tags_and_labels_count_once_an_item(store: Store) -> None:
    """A tag and a label of the same mode are one item; a mode that nobody has counts 0."""
    digest = tagged(store)
    with store.read() as session:
        found = mode_counts(session=session, set_digest=digest, needed={"invented": 3, "tone": 1})
    assert found == (ModeCount("invented", 2, 3), ModeCount("tone", 0, 1), ModeCount("wrong_sum", 2, 0))
    assert [each.short for each in found] == [1, 1, 0]


def test_asking_for_none_is_refused(sqlite_store: Store) -> None:
    """A minimum of 0 says nothing."""
    digest = tagged(sqlite_store)
    with sqlite_store.read() as session, pytest.raises(DeclarationError, match="at least 1"):
        mode_counts(session=session, set_digest=digest, needed={"invented": 0})


def test_freezing_prints_the_shortfall(sqlite_store: Store) -> None:
    """`set freeze --need` tells what is short, in words and JSON, and refuses a bad MODE=N."""
    tagged(sqlite_store)
    db = on(sqlite_store.where)
    words = " ".join(
        db("set", "freeze", "may", "--need", "invented=3", "--need", "wrong_sum=2").stdout.split()
    )
    assert "Failure mode invented: 2 of 3 items known, 1 short" in words
    assert "Failure mode wrong_sum: 2 of 2 items known, enough" in words
    found = told(db("set", "freeze", "may", "--json"))["failure_modes"]
    assert {"mode": "invented", "items": 2, "needed": 0, "short": 0} in found
    assert "Failure mode invented: 2 items known." in db("set", "freeze", "may").stdout
    assert "MODE=N" in db("set", "freeze", "may", "--need", "invented").stderr
    assert db("set", "freeze", "may", "--policy", "acceptance").exit_code == 0
