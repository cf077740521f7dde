"""`voirdire decisions`: what stands, what lapses, what is compared, suspended and carried over."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from calibration.store.chain import append_event
from calibration.store.database import Store
from calibration.store.rubrics import add_rubric
from judge.cli.stores import now
from rubrics.rubric import Rubric
from tests.calibration.filling import CLEAN, CRITERION, EXERCISE_3, NOW, RUBRIC, Counts, fill
from tests.judge.cli.records import Run, on, told
from tests.judge.cli.test_admit import admit
from tests.judge.cli.worlds import once


def admitted(store: Store, counts: Counts = CLEAN) -> tuple[Run, dict[str, Any]]:
    """A command line on a store in which the judge is admitted by far_only, and the decision."""
    db = on(store.where)

    def lay() -> str:
        with store.write() as session:
            fill(session, counts)
        return admit(db, "far_only", "--json").stdout

    return db, json.loads(once(store, ("decided by far_only", json.dumps(counts)), lay))


def test_list_show_expiring_and_suspend(sqlite_store: Store) -> None:
    """An admission of thirty days lapses within 31 and not within 3; suspended, it is in no such list."""
    db, decision = admitted(sqlite_store)
    first = decision["decision"][:12]
    assert [d["decision"] for d in told(db("decisions", "list", "--json"))["decisions"]] == [
        decision["decision"]
    ]
    assert "admit" in db("decisions", "list").stdout
    shown = db("decisions", "show", first).stdout
    assert "far: pass" in shown
    assert "Signed by R. Ito (local, unverified)" in " ".join(shown.split())
    assert db("decisions", "expiring", "--within", "31").exit_code == 1
    none = db("decisions", "expiring", "--within", "3")
    assert (none.exit_code, none.stdout.strip()) == (
        0,
        "No admission lapses within 3 days; 1 decision stands.",
    )
    soon = db("decisions", "list", "--expiring-in", "31", "--json")
    assert (soon.exit_code, len(json.loads(soon.stdout)["decisions"])) == (1, 1)
    ended = db(
        "decisions", "suspend", first, "--sign", "A. Blum", "--reason", "the provider changed the model"
    )
    assert "Suspended" in ended.stdout
    assert db("decisions", "expiring", "--within", "31").exit_code == 0
    assert db("decisions", "suspend", first, "--sign", "A. Blum", "--reason", "and once more").exit_code == 3


def test_a_clock_that_is_set_back_lists_no_revived_decision(sqlite_store: Store) -> None:
    """What is recorded later tells the time in the list and beside the decision, as it does when grading."""
    db, decision = admitted(sqlite_store)
    late = now() + timedelta(days=40)
    with sqlite_store.write() as session:
        append_event(session=session, stream="x", kind="k", actor="a", payload={}, at=late)
    assert "lapsed" in db("decisions", "list").stdout
    assert ": lapsed." in db("decisions", "show", decision["decision"][:12]).stdout


def test_an_override_and_the_view_of_both(sqlite_store: Store) -> None:
    """Rejected first, then admitted by two people for a week; both are compared item by item."""
    db, rejected = admitted(sqlite_store, EXERCISE_3)
    assert rejected["outcome"] == "reject"
    alone = admit(db, "far_only", "--override-days", "7")
    assert (alone.exit_code, "--second" in alone.stderr) == (64, True)
    words = ("--override-days", "7", "--second", "A. Blum", "--second-reason", "a person reads all of it")
    wrong = admit(db, "far_only", *words, "--replaces", "0000")
    assert "read what stands" in " ".join(wrong.stderr.split())
    result = admit(db, "far_only", *words, "--replaces", rejected["decision"][:8])
    assert result.exit_code == 0, result.stderr
    assert "admit against the policy, valid until" in " ".join(result.stdout.split())
    (standing,) = told(db("decisions", "list", "--json"))["decisions"]
    said = " ".join(db("decisions", "show", standing["decision"][:10]).stdout.split())
    assert "Against the policy, which says reject; also signed by A. Blum" in said
    both = (rejected["decision"][:10], standing["decision"][:10])
    found = told(db("decisions", "compare", *both, "--json"))
    assert {item["name"] for item in found["items"]} == {"far", "informative", "looks"}
    assert "16/80" in db("decisions", "compare", *both).stdout


def test_a_reworded_rubric_is_carried_over(sqlite_store: Store) -> None:
    """The words are printed; a rule that changed ends with 3."""
    db, decision = admitted(sqlite_store)
    criterion = RUBRIC.criterion(CRITERION).model_copy(update={"title": "Correct at last"})
    new = Rubric.model_validate({**RUBRIC.model_dump(), "version": 2, "criteria": (criterion,)})
    with sqlite_store.write() as session:
        add_rubric(session=session, rubric=new, actor="lead", at=NOW)
    words = ("--sign", "R. Ito", "--reason", "only the heading was reworded")
    said = db("decisions", "carry", decision["decision"][:10], "--rubric", new.ref, *words)
    assert said.exit_code == 0, said.stderr
    assert "stands for the new version" in said.stdout
    assert "{+" in said.stdout
    assert db("decisions", "carry", decision["decision"][:10], *words).exit_code == 3
    again = db("decisions", "carry", decision["decision"][:10], "--rubric", new.ref, *words, "--json")
    assert again.exit_code == 3
