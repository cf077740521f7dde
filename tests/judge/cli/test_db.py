"""`voirdire db`: upgrade, check, backup, restore."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from tests.command_line import run
from tests.judge.cli.records import on, support, told


def test_upgrade_makes_a_store_with_its_policies(empty_address: str) -> None:
    """On both databases; a second upgrade has nothing to do."""
    db = on(empty_address)
    found = told(db("db", "upgrade", "--json"))
    assert (found["before"], found["copy"]) == (None, None)
    assert len(told(db("policy", "list", "--json"))["policies"]) >= 2
    again = told(db("db", "upgrade", "--json"))
    assert again["before"] == again["after"] == found["after"]
    assert "nothing to do" in db("db", "upgrade").stdout


def test_a_database_that_was_not_upgraded_is_named(postgres_url: str) -> None:
    """PostgreSQL is changed by its own command only."""
    result = on(postgres_url)("items", "list")
    assert result.exit_code == 3
    assert "run `voirdire db upgrade`" in result.stderr


def test_check_finds_what_was_changed(sqlite_store: Any, tmp_path: Path) -> None:
    """Exit 0 while every record is the one that was recorded, else 1 with the record."""
    db = on(sqlite_store.where)
    support(db, tmp_path)
    assert db("db", "check").stdout == "Every record is the one that was recorded.\n"
    assert told(db("db", "check", "--json")) == {"findings": []}
    with sqlite3.connect(sqlite_store.where) as connection:
        (trigger,) = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'verdict_no_update'"
        ).fetchone()
        connection.execute("DROP TRIGGER verdict_no_update")
        connection.execute("UPDATE verdict SET value = 'pass'")
        connection.execute(trigger)
    connection.close()
    result = db("db", "check")
    assert result.exit_code == 1
    assert result.stdout.startswith("verdict ")
    assert db("db", "check", "--json").exit_code == 1


def test_backup_and_restore(sqlite_store: Any, tmp_path: Path) -> None:
    """A copy with its sha256, restored under another name; nothing is overwritten."""
    db = on(sqlite_store.where)
    support(db, tmp_path)
    copy = str(tmp_path / "copy.db")
    found = told(db("db", "backup", copy, "--json"))
    assert found["rows"]["verdict"] == 1
    assert db("db", "backup", copy).exit_code == 3
    other = on(str(tmp_path / "restored.db"))
    assert "sha256" in other("db", "restore", copy, "--sha256", "0" * 64).stderr
    said = other("db", "restore", copy, "--sha256", found["sha256"]).stdout
    assert " ".join(said.split()).startswith(f"Restored {tmp_path / 'restored.db'}")
    assert told(other("verdicts", "list", "--json")) == told(db("verdicts", "list", "--json"))
    assert "exists; move it away first" in other("db", "restore", copy).stderr
    assert db("db", "backup", str(tmp_path / "second.db")).stdout.startswith("Backed up to")


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    """Neither checked nor copied, and not made by asking."""
    db = on(str(tmp_path / "none.db"))
    assert "there is no database" in db("db", "check").stderr
    assert "there is no database" in db("db", "backup", str(tmp_path / "x.db")).stderr
    assert not (tmp_path / "none.db").exists()


def test_a_store_that_was_not_there_is_told(tmp_path: Path) -> None:
    """A mistyped --db is made, and said to be new; the second command says nothing more of it."""
    typo = str(tmp_path / "typo.db")
    first, second = (run("--db", typo, "judge", "list") for _ in range(2))
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert first.stderr == f"voirdire: made a new, empty evidence store, {typo}\n"
    assert second.stderr == ""
