"""`db check` names every record that is not what it was recorded as."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calibration.store.chain import append_event, heads
from calibration.store.database import Store
from calibration.store.decisions import STREAM, decision_head
from calibration.store.imports import record_import, seal_import
from calibration.store.integrity import check
from calibration.store.schema import open_store
from calibration.store.triggers import DECLARED, protect
from calibration.store.verdicts import add_verdicts
from rubrics.errors import StoreError
from tests.calibration.store.evidence import DATASET, NOW, verdict
from tests.calibration.store.test_append_only import fill_every_table

if TYPE_CHECKING:
    from tests.conftest import PostgresServer


def address_of(store: Store) -> str:
    """What `--db` would be for the store."""
    url = store.engine.url
    return str(url.database) if store.dialect == "sqlite" else url.render_as_string(hide_password=False)


def tamper(store: Store, table: str, statement: str) -> None:
    """What someone with rights of their own can do, who then puts the triggers back."""
    with store.write() as session:
        run = session.connection().exec_driver_sql
        for each in DECLARED:
            if each.table == table and (each.sqlite or store.dialect == "postgresql"):
                run(f"DROP TRIGGER {each.name}" + ("" if store.dialect == "sqlite" else f" ON {table}"))
        if store.dialect == "postgresql":
            run("SET session_replication_role = replica")  # foreign keys look away
        else:
            run("PRAGMA defer_foreign_keys = ON")
        assert run(statement).rowcount
        if store.dialect == "postgresql":
            run("SET session_replication_role = DEFAULT")
        execute = session.connection().exec_driver_sql
        protect(lambda each: execute(each.replace("%", "%%")), store.dialect, table)


def fill(store: Store) -> None:
    """Something in every table, an import with its seal among it."""
    with store.write() as session:
        world = fill_every_table(session)
        key = record_import(
            session=session,
            kind="verdicts",
            dataset=DATASET,
            file_digest="e" * 64,
            provenance={},
            actor="lead",
            at=NOW,
        )
        imported = [verdict(world.run_key, n, repeat=7) for n in range(3)]
        add_verdicts(session=session, verdicts=imported, at=NOW, import_key=key)
        seal_import(session=session, key=key, kind="verdicts", actor="lead", at=NOW)


@pytest.fixture(scope="module")
def filled_file(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with something in every table, to be copied, never opened."""
    path = tmp_path_factory.mktemp("filled") / "filled.db"
    shutil.copy(migrated_sqlite, path)
    store = open_store(path)
    fill(store)
    store.close()
    return path


@pytest.fixture(scope="module")
def filled_database(postgres_server: PostgresServer) -> Iterator[str]:
    """The name of a database with something in every table, to be copied."""
    name = postgres_server.create(postgres_server.migrated())
    store = open_store(postgres_server.url(name))
    fill(store)
    store.close()
    yield name
    postgres_server.drop(name)


@pytest.fixture
def filled_sqlite(filled_file: Path, tmp_path: Path) -> Iterator[Store]:
    """A filled store in a file of its own."""
    store = open_store(shutil.copy(filled_file, tmp_path / "voirdire.db"))
    yield store
    store.close()


@pytest.fixture
def filled_postgres(filled_database: str, postgres_server: PostgresServer) -> Iterator[Store]:
    """A filled store in a database of its own."""
    name = postgres_server.create(filled_database)
    store = open_store(postgres_server.url(name))
    yield store
    store.close()
    postgres_server.drop(name)


@pytest.fixture(params=["sqlite", "postgresql"])
def filled(request: pytest.FixtureRequest) -> Store:
    """A store with something in every table, on both databases."""
    name = "filled_sqlite" if request.param == "sqlite" else "filled_postgres"
    opened: Store = request.getfixturevalue(name)
    return opened


def test_an_untouched_store_has_no_finding(filled: Store) -> None:
    """Everything recorded by the usual functions verifies, with checkpoints too."""
    with filled.read() as session:
        kept = {**heads(session=session), STREAM: decision_head(session=session)}
    assert check(address_of(filled), checkpoints=kept) == ()


TAMPERING = {
    "item": ("UPDATE item SET split = 'tuning' WHERE item_id = 'case-0'", "item "),
    "item_payload": (
        "UPDATE item_payload SET text = replace(text, 'question 1', 'question 7')",
        "item_payload ",
    ),
    "assessment": ("UPDATE assessment SET value = 'fail'", "assessment "),
    "adjudication": ("UPDATE adjudication SET adjudicator = 'bob'", "adjudication "),
    "reference_label": ("UPDATE reference_label SET raters = 9", "reference_label "),
    "verdict": ("UPDATE verdict SET value = 'fail' WHERE repeat = 0", "verdict "),
    "judge": ("UPDATE judge SET content = '{}'", "judge "),
    "policy": ("UPDATE policy SET content = '{}'", "policy "),
    "report": ("UPDATE report SET content = '{}'", "report "),
    "calibration_set": ("UPDATE calibration_set SET dataset = 'other'", "calibration_set "),
    "set_member": ("UPDATE set_member SET stratum = 'easy'", "calibration_set "),
    "rubric_version": (
        "UPDATE rubric_version SET content = replace(content, 'correct?', 'nice?')",
        "rubric_version ",
    ),
    "audit_event": ("UPDATE audit_event SET actor = 'bob' WHERE seq = 1", "record 1: "),
    "decision": ("UPDATE decision SET signer = 'bob'", "decisions record 1: "),
}


ON_POSTGRESQL = {"item_payload", "verdict", "set_member", "audit_event", "decision"}
"""The tables whose rows are read in ways of their own; `make nightly` changes the others there as well."""
CHANGED = [
    pytest.param(
        kind, table, marks=[pytest.mark.slow] if kind == "postgresql" and table not in ON_POSTGRESQL else []
    )
    for kind in ("sqlite", "postgresql")
    for table in TAMPERING
]


@pytest.mark.parametrize(("filled", "table"), CHANGED, indirect=["filled"])
def test_a_changed_record_is_named(filled: Store, table: str) -> None:
    """In each table: a changed value is found though the schema and its triggers are as declared."""
    statement, named = TAMPERING[table]
    tamper(filled, table, statement)
    found = [str(finding) for finding in check(address_of(filled))]
    assert any(named in each for each in found), found


REMOVED = {
    "verdict": ("DELETE FROM verdict WHERE repeat = 7", "brought 3 rows and now has 0"),
    "look": ("DELETE FROM look", "was recorded (look.taken) and is gone"),
    "set_freeze": ("DELETE FROM set_freeze", "was recorded (set.frozen) and is gone"),
    "judge": (
        "UPDATE judge SET content = '[]', content_digest = 'x'",
        "not the one that the audit trail names",
    ),
}


@pytest.mark.parametrize("table", REMOVED)
def test_a_removed_or_replaced_record_is_named(filled: Store, table: str) -> None:
    """What the audit trail says was recorded and is not there, or is consistently something else."""
    statement, words = REMOVED[table]
    tamper(filled, table, statement)
    assert any(words in finding.what for finding in check(address_of(filled)))


def test_a_cut_tail_is_found_with_checkpoints(filled: Store) -> None:
    """A head that was kept elsewhere shows that the newest events are gone."""
    with filled.write() as session:
        append_event(session=session, stream="late", kind="k", actor="a", payload={}, at=NOW)
        kept = heads(session=session)
    tamper(filled, "audit_event", "DELETE FROM audit_event WHERE stream = 'late'")
    assert check(address_of(filled)) == ()
    assert [str(each) for each in check(address_of(filled), checkpoints=kept)] == [
        "late record 1: its checkpoint is not reached: records were cut off or replaced"
    ]


def test_a_missing_trigger_is_a_finding(store: Store) -> None:
    """The schema is checked first."""
    with store.write() as session:
        suffix = "" if store.dialect == "sqlite" else " ON look"
        session.connection().exec_driver_sql(f"DROP TRIGGER look_no_delete{suffix}")
    assert "look_no_delete is missing" in str(check(address_of(store))[0])


def test_a_damaged_file_is_a_finding(filled_sqlite: Store) -> None:
    """Pages overwritten with rubbish are found by SQLite's own check, or cannot be read, which is said."""
    filled_sqlite.forget()
    filled_sqlite.close()
    path = Path(filled_sqlite.where)
    content = bytearray(path.read_bytes())
    content[-40000:-20000] = b"\xff" * 20000
    path.write_bytes(content)
    assert [finding.table for finding in check(path)] == ["file"]


def test_nothing_to_check_is_said(tmp_path: Path) -> None:
    """A file that is not there is not created by checking it."""
    with pytest.raises(StoreError, match="there is no database"):
        check(tmp_path / "none.db")
    assert list(tmp_path.iterdir()) == []
