"""`voirdire session`: a session from opening to its draw, as a lead types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calibration.labeling.plan import SessionPlan
from calibration.labeling.sheets import SCHEMA
from calibration.store.database import Store
from judge.cli.session import _repeats_told
from tests.calibration.labeling.test_sheets import data_of, export
from tests.calibration.labeling.test_to_calibrate import add_a_judge, truth
from tests.calibration.labeling.world import freeze, later, rate_all, rubric
from tests.judge.cli.records import on, told
from tests.judge.cli.worlds import once

OPEN = (
    "session",
    "open",
    "may",
    "--set",
    "may",
    "--rubric",
    "refunds@1",
    "--practice",
    "0",
    "--repeats",
    "0",
)
PEOPLE = ("--rater", "ann", "--rater", "ben", "--adjudicator", "zoe")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run an hour after the world's beginning, whatever the machine's clock says."""
    monkeypatch.setattr("judge.cli.stores.now", lambda: later(3600))


def started(store: Store, *more: str, items: int = 40) -> Any:
    """The command line on a store with an open session of two raters."""
    db = on(store.where)

    def lay() -> None:
        with store.write() as session:
            freeze(session, items, rubric())
        assert db(*OPEN, *PEOPLE, *more).exit_code == 0

    once(store, ("an open session", items, more), lay)
    return db


def test_a_session_is_opened_listed_shown_and_closed(sqlite_store: Store) -> None:
    """Counts by person in words and JSON; closing says what was left open, once."""
    db = started(sqlite_store, items=4)
    found = told(db("session", "status", "may", "--json"))
    assert (found["open"], found["done"], found["state"], found["rubric"]) == (8, 0, "open", "refunds@1")
    assert [(p["person"], p["kind"], p["open"]) for p in found["people"]] == [
        ("ann", "rate", 4),
        ("ben", "rate", 4),
        ("zoe", "adjudicate", 0),
    ]
    assert told(db("session", "show", "may", "--json")) == found
    words = db("session", "status", "may").stdout
    assert "0 of 8 assignments done" in words
    assert "adjudicates" in words
    assert told(db("session", "list", "--json"))["sessions"] == [found]
    assert "refunds@1" in db("session", "list").stdout
    assert told(db("session", "close", "may", "--json"))["left_open"] == 8
    words = db("session", "close", "may").stdout
    assert "Nothing was open" in words
    assert "0 of 8 assignments done" in words


def test_opening_tells_how_many_items_come_twice(sqlite_store: Store) -> None:
    """Forty items for each of two raters: ten come twice; the lead sees it, raters do not."""
    with sqlite_store.write() as session:
        freeze(session, 40, rubric())
    db = on(sqlite_store.where)
    result = db(*OPEN[:-2], *PEOPLE)
    assert "Hidden repeats: ann 10, ben 10." in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("again", "share", "told"),
    [
        ({"ann": 0}, 0.0, "No hidden repeats."),
        ({"ann": 0, "ben": 0}, 0.05, "No hidden repeats: they take 30 items a rater or more."),
        ({"ann": 10, "ben": 6}, 0.05, "Hidden repeats: ann 10, ben 6; 10 take 39 items a rater or more."),
        ({"ann": 12}, 0.05, "Hidden repeats: ann 12."),
    ],
)
def test_hidden_repeats_are_told_with_why_there_are_no_more(
    again: dict[str, int], share: float, told: str
) -> None:
    """A lead reads how many items each rater meets twice, and what more would take."""
    plan = SessionPlan(repeat_share=share, repeats_at_least=10 if share else 0)
    assert _repeats_told(again, plan) == told


def test_a_window_in_the_past_is_refused_and_one_that_ended_closes(sqlite_store: Store) -> None:
    """A session cannot end before it opens; a name is taken once; an unknown set is named."""
    db = started(sqlite_store, items=4)
    early = db(
        *OPEN[:2], "june", *OPEN[3:], "--rater", "eve", "--rater", "fay", "--window-ends", "2020-01-01"
    )
    assert early.exit_code == 3
    assert "before the session opens" in early.stderr
    assert "another name" in db(*OPEN, *PEOPLE).stderr
    assert (
        "no set 'nope'" in db("session", "open", "x", "--set", "nope", "--rubric", "refunds", *PEOPLE).stderr
    )
    assert (
        "NAME@VERSION" in db("session", "open", "x", "--set", "may@x", "--rubric", "refunds", *PEOPLE).stderr
    )


def test_status_tells_disputes_and_who_could_resolve_them(sqlite_store: Store) -> None:
    """An open disagreement names the next step; without an adjudicator it says who could resolve it."""
    with sqlite_store.write() as session:
        freeze(session, 4, rubric())
    db = on(sqlite_store.where)
    assert "No adjudicator is named" in db(*OPEN, "--rater", "ann", "--rater", "ben").stdout
    rate_all(sqlite_store, "ann", start=3700)
    rate_all(sqlite_store, "ben", lambda task: "fail", start=3700)
    words = " ".join(db("session", "status", "may").stdout.split())
    assert "4 disagreements of raters to resolve. 4 of them nobody here may resolve" in words
    assert "Anybody but ann, ben could" in words
    assert "Next: voirdire labels import FILE --dataset support" in words


def test_disputes_with_an_adjudicator_have_a_next_step(sqlite_store: Store) -> None:
    """What an adjudicator may resolve leads to their page."""
    db = started(sqlite_store, items=2)
    rate_all(sqlite_store, "ann", start=3700)
    rate_all(sqlite_store, "ben", lambda task: "fail", start=3700)
    words = " ".join(db("session", "status", "may").stdout.split())
    assert "2 disagreements of raters to resolve. Next: voirdire ui rate --as zoe, page Adjudicate" in words


def test_names_hide_nothing_and_are_quoted(sqlite_store: Store) -> None:
    """Marks of direction and line ends of a name are seen, and a command with a name is one word there."""
    with sqlite_store.write() as session:
        freeze(session, 4, rubric())
    db = on(sqlite_store.where)
    odd = [*OPEN]
    odd[2] = "m\u202eay"
    words = db(*odd, "--rater", "ann lee", "--rater", "ben").stdout
    assert "Next: voirdire ui rate --as 'ann lee'" in words
    assert "m‹U+202E›ay" in db("session", "list").stdout


def test_reassigning_says_how_many_items_moved(sqlite_store: Store) -> None:
    """An absent rater's open items go to a newcomer."""
    db = started(sqlite_store, items=4)
    result = db("session", "reassign", "may", "--from", "ann", "--to", "eve")
    assert "4 items of ann moved" in result.stdout
    assert "ann (absent)" in result.stdout
    assert told(db("session", "reassign", "may", "--from", "ann", "--to", "fay", "--json"))["moved"] == 0
    words = " ".join(db("session", "reassign", "may", "--from", "eve", "--to", "ben").stdout.split())
    assert "0 items of eve moved. What stays with eve: 4 for which nobody is free" in words


def test_a_sheet_goes_out_and_its_answers_come_back(sqlite_store: Store, tmp_path: Path) -> None:
    """One HTML file out, one JSON Lines file in by `labels import`, which knows it by its first line."""
    db = started(sqlite_store, items=4)
    out = tmp_path / "ann.html"
    words = db("session", "sheet", "may", "--rater", "ann", "--out", str(out)).stdout
    assert "4 items for ann" in " ".join(words.split())
    assert "exists" in db("session", "sheet", "may", "--rater", "ann", "--out", str(out)).stderr
    again = db("session", "sheet", "may", "--rater", "ann", "--out", str(out), "--force", "--json")
    assert told(again)["items"] == 4
    answers = tmp_path / "answers.jsonl"
    answers.write_text("\n".join(export(data_of(out.read_text()))), encoding="utf-8")
    assert "not 'other'" in db("labels", "import", str(answers), "--dataset", "other").stderr
    words = db("labels", "import", str(answers), "--dataset", "support").stdout
    assert " ".join(words.split()).startswith("4 answers of ann recorded in the session may, blind by sheet")
    found = told(db("labels", "import", str(answers), "--dataset", "support", "--json"))
    assert found == {"schema": "sheet/1", "session": "may", "rater": "ann", "added": 0, "present": 4}
    assert found["schema"] != SCHEMA
    answers.write_bytes(b'{"schema":"voirdire-sheet/1"}\n\xff')
    assert "UTF-8" in db("labels", "import", str(answers), "--dataset", "support").stderr


def test_cases_are_drawn_for_adjudication_and_calibrate_says_so(sqlite_store: Store) -> None:
    """`session adjudicate` prints the cells; `calibrate` has the figure, undefined until all are ruled."""
    db = started(sqlite_store)
    for rater in ("ann", "ben"):
        rate_all(sqlite_store, rater, truth, start=4000)
    with sqlite_store.write() as session:
        add_a_judge(session, rubric())
    args = ("session", "adjudicate", "may", "--judge", "gpt", "--criterion", "correct")
    found = told(db(*args, "--json"))
    assert (found["drawn"], found["assigned"]) == (23, 23)
    assert {(c["judge_accepted"], c["raters"]): (c["cases"], c["drawn"]) for c in found["cells"]} == {
        (True, "fail"): (2, 2),
        (True, "pass"): (27, 10),
        (False, "fail"): (8, 8),
        (False, "pass"): (3, 3),
    }
    assert "drawn before" in db(*args).stderr
    report = json.loads(
        db("calibrate", "--set", "may", "--judge", "gpt", "--criterion", "correct", "--json").stdout
    )
    assert report["adjudication"]["undefined"] == "23 of 23 drawn cases wait"
    assert {"name": "adjudication", "reason": "23 of 23 drawn cases wait"} in report["not_assessed"]
    words = db("calibrate", "--set", "may", "--judge", "gpt", "--criterion", "correct").stdout
    assert "23 drawn cases adjudicated" in " ".join(words.split())
