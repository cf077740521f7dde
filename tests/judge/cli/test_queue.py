"""`voirdire queue`: outputs that wait for a person are rated blind, and what raters agree on comes back."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from calibration.labeling import rating
from calibration.labeling.records import Answer, Nothing
from calibration.store.chain import events
from calibration.store.database import Store
from calibration.store.integrity import findings
from judge.cli.stores import now
from tests.judge.cli.grading import answers
from tests.judge.cli.records import Run, address, on, told
from tests.judge.cli.worlds import once
from tests.judge.grading_world import GOOD, RUBRIC, item, lay_down

RUDE = "Go away."


def waiting(store: Store, folder: Path) -> tuple[Run, str]:
    """Three outputs of which a criterion is left to people."""
    db = on(address(store))
    file = answers(folder, [item("x1", GOOD), item("x2", RUDE), item("x3", "Perhaps.")])

    def lay() -> None:
        with store.write() as session:
            lay_down(session)
        graded = db("grade", file, "--rubric", RUBRIC.ref, "--criterion", "true", "--human", "true")
        assert graded.exit_code == 0, graded.stderr

    once(store, "three outputs wait", lay)
    return db, file


def opened(db: Run, file: str, name: str = "monday", *raters: str) -> Any:
    """The session over what waits."""
    people = [word for rater in raters or ("ann", "ben") for word in ("--rater", rater)]
    return db("queue", "open", name, file, "--rubric", RUBRIC.ref, "--per-item", "2", *people)


def rate(store: Store, rater: str, says: dict[str, str]) -> set[str]:
    """Every task of the rater answered by its output's text; what the rater could read."""
    seen, at = set(), now() + timedelta(seconds=5)
    while not isinstance(task := rating.next_task(store=store, rater=rater, now=at), Nothing):
        seen |= {field.text for field in task.fields}
        value = next(word for text, word in says.items() if any(text == f.text for f in task.fields))
        reason = "evidence_missing" if value == "unknown" else None
        done = at + timedelta(seconds=2)
        given = Answer(value=value, shown_at=at, decided_at=done, ui_version="1", reason=reason)
        rating.answer(store=store, rater=rater, task=task.key, answer=given, now=done)
        at += timedelta(seconds=5)
    return seen


def test_what_raters_agree_on_resolves_the_grade(sqlite_store: Store, tmp_path: Path) -> None:
    """Two of three are agreed on; the third waits, and each step is on record."""
    db, file = waiting(sqlite_store, tmp_path)
    assert "open on 3 outputs" in " ".join(opened(db, file).stdout.split())
    assert opened(db, file, "tuesday").exit_code == 3  # they are asked about already
    seen = rate(sqlite_store, "ann", {GOOD: "pass", RUDE: "fail", "Perhaps.": "pass"})
    assert not any("bot-7" in text or "x1" in text for text in seen)
    assert "0 grades resolved" in db("queue", "settle", "monday").stdout
    rate(sqlite_store, "ben", {GOOD: "pass", RUDE: "fail", "Perhaps.": "unknown"})
    settled = told(db("queue", "settle", "monday", "--json"))
    assert sorted(each["overall"] for each in settled["resolved"]) == ["fail", "pass"]
    assert settled["waiting"] == 1
    assert told(db("queue", "settle", "monday", "--json"))["resolved"] == []
    shown = json.loads(db("grades", "show", settled["resolved"][0]["grade"], "--json").stdout)
    (step,) = shown["events"]
    assert (step["kind"], step["by"]) == ("resolved", "session monday")
    assert "labelled in session monday by ann, ben" in step["reason"]
    assert [g["item_id"] for g in told(db("grades", "queue", "--json"))["grades"]] == ["x3"]
    with sqlite_store.read() as session:
        assert [each.kind for each in events(session=session, stream="queue")] == [
            "grades.sent",
            "grades.settled",
        ]
        assert list(findings(session, {})) == []


def test_what_a_closed_session_left_open_is_asked_again(sqlite_store: Store, tmp_path: Path) -> None:
    """Closed without a label, its outputs may go into the next one."""
    db, file = waiting(sqlite_store, tmp_path)
    opened(db, file)
    assert db("session", "close", "monday").exit_code == 0
    again = opened(db, file, "tuesday", "cleo", "dan")
    assert "open on 3 outputs" in " ".join(again.stdout.split()), again.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("queue", "settle", "never"), "no session 'never' was opened for what waits"),
        (("queue", "open", "m", "other.jsonl", "--rubric", RUBRIC.ref, "--rater", "ann"), "not in the file"),
        (
            ("queue", "open", "m", "answers.jsonl", "--rubric", RUBRIC.ref, "--rater", "ann",
             "--criterion", "kind"),
            "nothing under refunds@1 waits for a person",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_asked(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], words: str
) -> None:
    """No such session, changed texts, or nothing that waits: each with what to do."""
    db, _ = waiting(sqlite_store, tmp_path)
    answers(tmp_path, [item("x1", "Another text.")], "other.jsonl")
    monkeypatch.chdir(tmp_path)
    result = db(*args)
    assert result.exit_code == 3
    assert words in " ".join(result.stderr.split())
