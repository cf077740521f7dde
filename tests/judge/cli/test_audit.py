"""`voirdire audit`, `errors` and `drift` as commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calibration.store.database import Store
from tests.calibration.filling import CLEAN, EXERCISE_3, Counts
from tests.judge.cli.records import Run, on, told
from tests.judge.cli.test_decisions import admitted

ON = ("--dataset", "support", "--criterion", "correct")


def decided(store: Store, counts: Counts = CLEAN) -> tuple[Run, dict[str, Any]]:
    """A command line on a store with a signed decision, and that decision."""
    return admitted(store, counts)


def tamper(store: Store, statement: str, table: str) -> None:
    """A change behind the back of the triggers, which are put back."""
    with store.write() as session:
        run = session.connection().exec_driver_sql
        kept = run(
            f"SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = '{table}'"
        ).all()
        for name, _ in kept:
            run(f"DROP TRIGGER {name}")
        assert run(statement).rowcount
        for _, sql in kept:
            run(sql)


def test_what_is_whole_verifies_with_its_checkpoint(sqlite_store: Store, tmp_path: Path) -> None:
    """Exit 0, the counts, and the decision computed anew from its labels."""
    db, decision = decided(sqlite_store)
    kept = tmp_path / "heads.json"
    assert db("audit", "checkpoint", "--out", str(kept)).exit_code == 0
    assert db("audit", "checkpoint", "--out", str(kept)).exit_code == 3
    found = told(db("audit", "verify", "--checkpoint", str(kept), "--json"))
    assert (found["broken"], found["records"]["decisions"]) == ([], 1)
    assert found["recomputed"]["decisions"] == {decision["decision"]: "same"}
    said = " ".join(db("audit", "verify").stdout.split())
    assert "Every link holds" in said
    assert "Computed anew and as signed: 1 of 1 decisions, 1 of them from labels and verdicts" in said
    reached = db("audit", "verify", "--checkpoint", str(kept)).stdout
    assert "The checkpoint is reached." in " ".join(reached.split())
    assert json.loads(db("audit", "checkpoint").stdout)["heads"]["decisions"]["number"] == 1
    assert "Every row was sealed before." in db("audit", "seal").stdout


@pytest.mark.parametrize(
    ("statement", "table", "words"),
    [
        ("UPDATE assessment SET rater = 'zoe' WHERE rater = 'ann'", "assessment", "assessment "),
        ("UPDATE verdict SET recorded_at = '2026-01-01 00:00:00.000000'", "verdict", "verdict "),
        ("UPDATE decision SET signer = 'zoe'", "decision", "decisions record 1: "),
    ],
)
def test_a_changed_record_is_named(sqlite_store: Store, statement: str, table: str, words: str) -> None:
    """Exit 1, and the first bad record by table and key."""
    db, _ = decided(sqlite_store)
    tamper(sqlite_store, statement.replace("'ann'", "'a'"), table)
    result = db("audit", "verify")
    assert result.exit_code == 1
    assert words in result.stdout
    assert json.loads(db("audit", "verify", "--json").stdout)["broken"][0]["problem"]


def test_a_cut_tail_shows_against_the_checkpoint(sqlite_store: Store, tmp_path: Path) -> None:
    """The newest decision is gone without a trace in the database; the kept head says so."""
    db, _ = decided(sqlite_store)
    kept = tmp_path / "heads.json"
    assert db("audit", "checkpoint", "--out", str(kept)).exit_code == 0
    tamper(sqlite_store, "DELETE FROM decision", "decision")
    assert db("audit", "verify").exit_code == 0
    cut = db("audit", "verify", "--checkpoint", str(kept))
    assert cut.exit_code == 1
    assert "decisions record 1: its checkpoint is not reached" in " ".join(cut.stdout.split())
    kept.write_text(kept.read_text().replace('"number":1', '"number":2'))
    assert db("audit", "verify", "--checkpoint", str(kept)).exit_code == 3
    assert db("audit", "verify", "--checkpoint", str(tmp_path / "none")).exit_code == 3


def test_errors_are_exported_at_the_price_of_a_look(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file, the look in the ledger, and who is suspected afterwards; a second person signs."""
    monkeypatch.setenv("VOIRDIRE_ACTOR", "ann")
    db, _ = decided(sqlite_store, EXERCISE_3)
    out = tmp_path / "wrong.jsonl"
    found = told(db("errors", "export", str(out), "--judge", "gpt", *ON, "--json"))
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert (found["items"], len(lines)) == (22, 22)
    assert {line["reference"] for line in lines} == {"pass", "fail"}
    assert db("errors", "export", str(out), "--judge", "gpt", *ON).exit_code == 3
    looks = told(db("audit", "looks", "--judge", "gpt", "--json"))["looks"]
    assert [(look["kind"], look["number"], look["steered"]) for look in looks] == [
        ("report", 1, "no"),
        ("export", None, "presumed"),
    ]
    listed = db("audit", "looks").stdout
    assert "presumed" in listed
    assert "1 of 1, 5.00%" in listed
    sign = ("--judge", "gpt", "--reason", "it was declared before")
    assert db("errors", "clear", found["look"][:8], "--sign", "ann", *sign).exit_code == 3
    assert db("errors", "clear", found["look"][:8], "--sign", "ben", *sign).exit_code == 0
    assert (
        db("errors", "clear", found["look"][:8], "--sign", "ben", "--reason", "neither is named").exit_code
        == 3
    )
    steered = db("errors", "steered", *ON, "--reason", "the prompt was changed after it")
    assert "development data" in steered.stdout
    assert db("audit", "verify").exit_code == 0


def test_alarms_by_hand_and_by_anchors(sqlite_store: Store) -> None:
    """Raised, listed, and an unknown trigger refused."""
    db, decision = decided(sqlite_store)
    first = decision["decision"][:10]
    assert "No alarm was raised." in db("drift", "alarms", first).stdout
    raised = db("drift", "alarm", first, "--trigger", "sampling", "--reason", "another temperature", "--json")
    assert told(raised)["trigger"] == "sampling"
    assert "another temperature" in db("drift", "alarms", first).stdout
    assert db("drift", "alarm", first, "--trigger", "weather", "--reason", "it rains").exit_code == 64
    audit = db("drift", "audit", first, "--dataset", "support", "--json")
    assert (audit.exit_code, told(audit)["failures"]) == (0, 60)
    assert "0 of 60 audited failures accepted" in " ".join(
        db("drift", "audit", first, "--dataset", "support").stdout.split()
    )
    assert db("drift", "anchors", first, "--dataset", "support").exit_code == 3


def test_a_file_that_is_no_checkpoint_is_told_what_one_is(sqlite_store: Store, tmp_path: Path) -> None:
    """An empty object, and a list."""
    for content in ("{}", "[]"):
        (tmp_path / "c.json").write_text(content)
        refused = on(sqlite_store.where)("audit", "verify", "--checkpoint", str(tmp_path / "c.json"))
        said = " ".join(refused.stderr.split())
        assert (refused.exit_code, "`voirdire audit checkpoint --out FILE` wrote" in said) == (3, True), said
