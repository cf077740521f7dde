"""Judges on other evidence: slices and failure modes stand there, and pairs are spoken of as pairs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlmodel import Session

from calibration.calibrate import Asked, calibrate
from calibration.calibrate.evidence_set import open_set
from calibration.policy import far_only
from calibration.store.assessments import LabelEntry, add_labels
from calibration.store.database import Store
from calibration.store.judges import RunOrigin, add_judge, add_run, get_judge
from calibration.store.verdicts import VerdictEntry, add_verdicts
from labeling_ui.review import here
from rubrics.digest import digest
from rubrics.rubric import Rubric
from tests.calibration.filling import record_policy
from tests.calibration.labeling.world import DATASET, NOW, freeze, item, pair, pairs, rubric
from tests.labeling_ui.review.test_judges import judges

TEN = far_only(0.10)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """No store stays open behind a test."""
    yield
    here._store.clear()


def measure(session: Session, asked: Rubric, labels: list[LabelEntry], answers: list[str]) -> None:
    """Two raters' labels and a judge's answers on the frozen set, measured under 10 %."""
    criterion = asked.criteria[0].key
    add_labels(session=session, dataset=DATASET, rubric_digest=asked.digest, labels=labels, at=NOW)
    content = {"kind": "external", "name": "gpt"}
    judge = digest(content)
    add_judge(
        session=session,
        digest=judge,
        judge_name="gpt",
        kind="external",
        content=content,
        actor="lead",
        at=NOW,
    )
    run = add_run(
        session=session, judge_digest=judge, rubric_digest=asked.digest, dataset=DATASET,
        origin=RunOrigin.IMPORT, plan={}, units=0, at=NOW,
    )  # fmt: skip
    verdicts = [VerdictEntry(run, f"case-{n:03d}", criterion, answer) for n, answer in enumerate(answers)]
    add_verdicts(session=session, verdicts=verdicts, at=NOW)
    question = Asked(
        evidence=open_set(session=session, ref="may@1"), rubric=asked, criterion=criterion,
        judges=(get_judge(session=session, judge="gpt"),), policy=TEN, actor="lead",
    )  # fmt: skip
    calibrate(session=session, asked=question, at=NOW)


def test_slices_and_failure_modes_stand_there(sqlite_store: Store, tmp_path: Path) -> None:
    """Of 60 failures 30 are in each language and 20 of an invented claim, 6 of which were accepted."""
    asked = rubric()
    with sqlite_store.write() as session:
        record_policy(session, TEN)
        freeze(session, 100, asked, lambda n: item(n, tags={"lang": "de" if n % 2 else "en"}))
        labels = [
            LabelEntry(
                f"case-{n:03d}",
                "correct",
                rater,
                "fail" if n < 60 else "pass",
                failure_mode=None if n >= 60 else "invented" if n < 20 else "wrong_sum",
            )
            for n in range(100)
            for rater in ("ann", "ben")
        ]
        answers = ["pass"] * 6 + ["fail"] * 54 + ["pass"] * 40
        measure(session, asked, labels, answers)
    said = judges(tmp_path / "voirdire.db").words.replace("\u202f", " ")
    slices = said[said.index("Slice") :]
    for language in ("lang de", "lang en"):
        assert language in slices.replace("=", " ").replace(": ", " ")
    assert slices.count("3/30") >= 2
    assert "invented" in said
    assert "6/20" in said
    assert "0/40" in said


def test_pairs_are_spoken_of_as_pairs(sqlite_store: Store, tmp_path: Path) -> None:
    """Without a declared candidate the wrong side is counted: 2 of 60 preferences, and no answer fails."""
    better = pairs().criteria[0]
    scale = better.scale.model_copy(update={"candidate": None})
    asked = pairs().model_copy(update={"criteria": (better.model_copy(update={"scale": scale}),)})
    with sqlite_store.write() as session:
        record_policy(session, TEN)
        freeze(session, 60, asked, pair)
        labels = [
            LabelEntry(f"case-{n:03d}", "better", rater, "AB"[n % 2])
            for n in range(60)
            for rater in ("ann", "ben")
        ]
        answers = ["AB"[(n + (n < 2)) % 2] for n in range(60)]
        measure(session, asked, labels, answers)
    said = judges(tmp_path / "voirdire.db").words.replace("\u202f", " ")
    assert "2/60" in said
    assert "wrong side" in said.lower()
    assert "failing answer" not in said
    assert "60 pairs" in said
    assert "failures" not in said[said.index("What more labels would buy") :]
