"""Every revision upgrades to the newest; one that fails, or is killed, leaves nothing behind."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from calibration.store.database import Store, database_url, make_engine
from calibration.store.schema import (
    HEAD,
    KNOWN,
    MIGRATIONS,
    check_schema,
    migrate,
    open_store,
    revision,
    upgrade,
)
from calibration.store.triggers import DECLARED, trigger_findings
from rubrics.errors import RecordError, StoreError

ROWS = {
    "0001": (
        "INSERT INTO rubric_version VALUES ('r1', 'refund', 1, '{}', '2026-01-01 00:00:00')",
        "INSERT INTO criterion VALUES ('r1', 'correct', 'c1', 0, 'acceptance', 'binary', true)",
        "INSERT INTO item_payload (digest, text) VALUES ('p1', '{}')",
        "INSERT INTO item VALUES ('k1', 'd1', 'set', 'case-1', 'p1', 'g', '{}', 'calibration', '', '', 0,"
        " NULL, '2026-01-01 00:00:00')",
    ),
    "0002": (
        "INSERT INTO assessment VALUES ('a1', 'k1', 'p1', 'r1', 'correct', 'ann', 0, 0, NULL, 'binary',"
        " 'pass', NULL, NULL, NULL, 'no', 'human', NULL, NULL, NULL, '2026-01-01 00:00:00')",
    ),
    "0003": (
        "INSERT INTO judge VALUES ('j1', 'gpt', 'model', '{}', 'x', '2026-01-01 00:00:00')",
        "INSERT INTO judge_run VALUES ('run', 'j1', 'r1', 'set', NULL, 'import', '{}', 0, 0, 'planned', NULL,"
        " '2026-01-01 00:00:00')",
    ),
    "0004": (),
    "0005": (),
    "0006": (),
    "0007": (),
}
"""A row or two of each revision, in the words that the databases of that revision understand."""
BROKEN = """
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "broken", "{head}", None, None


def upgrade() -> None:
    op.create_table("half_done", sa.Column("id", sa.Integer()))
    op.execute("INSERT INTO half_done VALUES (1)")
    {end}
"""


@contextmanager
def at_revision(address: str, target: str) -> Iterator[sa.Engine]:
    """An engine on the database, brought to the revision and filled with its rows."""
    if "://" not in address:
        Path(address).touch()
    engine = make_engine(database_url(address))
    with engine.begin() as connection:
        migrate(connection, target)
        for each in KNOWN[: KNOWN.index(target) + 1]:
            for statement in ROWS.get(each, ()):
                connection.exec_driver_sql(statement)
    try:
        yield engine
    finally:
        engine.dispose()


def content(engine: sa.Engine) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables but Alembic's own."""
    with engine.connect() as connection:
        tables = [table for table in sa.inspect(connection).get_table_names() if table != "alembic_version"]
        return {
            table: [tuple(row) for row in connection.exec_driver_sql(f"SELECT * FROM {table}")]
            for table in tables
        }


def address_of(store: Store) -> str:
    """What `--db` would be for the store."""
    url = store.engine.url
    return str(url.database) if store.dialect == "sqlite" else url.render_as_string(hide_password=False)


def change(store: Store, *statements: str) -> None:
    """Runs the statements in one transaction."""
    with store.write() as session:
        for statement in statements:
            session.connection().exec_driver_sql(statement)


def folder_with(tmp_path: Path, end: str) -> Path:
    """A folder with one more revision, whose last statement is given."""
    folder = tmp_path / "versions"
    folder.mkdir()
    (folder / "broken.py").write_text(BROKEN.format(head=HEAD, end=end))
    return folder


STARTS = [
    *(("sqlite", start) for start in KNOWN),
    *(("postgresql", start) for start in (KNOWN[0], KNOWN[-2])),
    *(pytest.param("postgresql", start, marks=pytest.mark.slow) for start in (*KNOWN[1:-2], KNOWN[-1])),
]
"""From the first on, PostgreSQL too runs each step; from the others in `make nightly`."""


@pytest.mark.parametrize(("empty_address", "start"), STARTS, indirect=["empty_address"])
def test_every_earlier_revision_upgrades_with_its_rows(empty_address: str, start: str) -> None:
    """Whatever a database of an earlier revision holds is still there, and now protected as declared."""
    with at_revision(empty_address, start) as engine:
        before = content(engine)
        assert any(before.values())
        done = upgrade(empty_address)
        assert (done.before, done.after, done.changed) == (start, HEAD, start != HEAD)
        after = content(engine)
        assert {table: after[table] for table in before} == before
        with engine.connect() as connection:
            assert check_schema(connection) == ()
        with open_store(empty_address) as store, pytest.raises(RecordError, match="append-only"):
            change(store, "UPDATE item SET item_id = 'other'")


def test_there_is_one_history() -> None:
    """The files, the list of known revisions and the newest one agree; each follows the one before."""
    from alembic.script import ScriptDirectory

    script = ScriptDirectory(str(MIGRATIONS))
    assert script.get_heads() == [HEAD]
    assert tuple(each.revision for each in script.walk_revisions())[::-1] == KNOWN


def test_a_failed_migration_leaves_nothing(empty_address: str, tmp_path: Path) -> None:
    """After an error in the middle neither its table nor its row nor its revision is there."""
    folder = folder_with(tmp_path, "raise RuntimeError('in the middle')")
    with at_revision(empty_address, "0002") as engine:
        before = content(engine)
        with pytest.raises(RuntimeError, match="in the middle"):
            upgrade(empty_address, versions=[folder])
        assert content(engine) == before
        with engine.connect() as connection:
            assert revision(connection) == "0002"


def test_a_failed_statement_is_told_clearly(empty_address: str, tmp_path: Path) -> None:
    """An error of the database itself undoes everything too, and is a StoreError."""
    folder = folder_with(tmp_path, 'op.execute("INSERT INTO nowhere VALUES (1)")')
    with at_revision(empty_address, HEAD) as engine:
        with pytest.raises(StoreError, match="nowhere"):
            upgrade(empty_address, versions=[folder])
        assert "half_done" not in content(engine)


def test_a_killed_migration_leaves_nothing(tmp_path: Path) -> None:
    """Kill -9 in the middle of an upgrade: the old revision, whole, and the upgrade runs afterwards."""
    path = tmp_path / "voirdire.db"
    folder = folder_with(tmp_path, "print('here', flush=True); import time; time.sleep(60)")
    with at_revision(str(path), "0003") as engine:
        before = content(engine)
        code = (
            "from pathlib import Path; from calibration.store.schema import upgrade;"
            f"upgrade({str(path)!r}, versions=[Path({str(folder)!r})])"
        )
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            assert process.stdout
            assert process.stdout.readline() == b"here\n"
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        assert content(engine) == before
    with open_store(path) as store, store.read() as session:
        assert revision(session.connection()) == HEAD


COPIES = """
with op.batch_alter_table("policy", recreate="always") as batch:
        batch.add_column(sa.Column("remark", sa.Text()))
    {protect}
"""


@pytest.mark.parametrize("protects", [False, True])
def test_a_batch_migration_keeps_its_triggers_or_is_undone(tmp_path: Path, protects: bool) -> None:
    """Copying a table drops its triggers without a word; an upgrade that leaves it so is undone."""
    again = "from calibration.store.triggers import protect; protect(op.execute, 'sqlite', 'policy')"
    folder = folder_with(tmp_path, COPIES.format(protect=again if protects else "").strip())
    path = tmp_path / "voirdire.db"
    with at_revision(str(path), HEAD) as engine:
        if protects:
            assert upgrade(path, versions=[folder]).after == "broken"
        else:
            with pytest.raises(StoreError, match="undone: trigger policy_no_update is missing"):
                upgrade(path, versions=[folder])
        with engine.connect() as connection:
            assert trigger_findings(connection) == ()
            columns = [column["name"] for column in sa.inspect(connection).get_columns("policy")]
            assert ("remark" in columns) is protects


def test_an_older_sqlite_file_is_upgraded_on_opening_and_copied_first(tmp_path: Path) -> None:
    """Opening does it; the copy beside it is what the file was, for the owner only."""
    path = tmp_path / "100% mine.db"
    with at_revision(str(path), "0002") as engine:
        before = content(engine)
        open_store(path).close()
    (copy,) = tmp_path.glob("*.before-upgrade-from-0002")
    assert copy.stat().st_mode & 0o777 == 0o600
    twin = make_engine(database_url(copy))
    kept = content(twin)
    twin.dispose()
    assert kept == before


def test_a_postgresql_database_is_not_upgraded_by_opening(postgres_url: str) -> None:
    """Opening says what to run, and has changed nothing."""
    with pytest.raises(StoreError, match="no voirdire schema yet: run `voirdire db upgrade`"):
        open_store(postgres_url)
    with at_revision(postgres_url, "0002") as engine:
        before = content(engine)
        with pytest.raises(
            StoreError, match=f"at revision 0002, older than {HEAD}: run `voirdire db upgrade`"
        ):
            open_store(postgres_url)
        assert content(engine) == before


def test_a_newer_schema_is_refused(store: Store) -> None:
    """An older voirdire does not touch the database of a newer one."""
    change(store, "UPDATE alembic_version SET version_num = '0099'")
    for attempt in (open_store, upgrade):
        with pytest.raises(
            StoreError, match=rf"'0099', which this version of voirdire \(at {HEAD}\) does not"
        ):
            attempt(address_of(store))


DROP = {
    "sqlite": "DROP TRIGGER verdict_no_update",
    "postgresql": "DROP TRIGGER verdict_no_update ON verdict",
}
WEAK = {
    "sqlite": "CREATE TRIGGER verdict_no_update BEFORE UPDATE ON verdict BEGIN SELECT 1; END",
    "postgresql": (
        "CREATE TRIGGER verdict_no_update BEFORE INSERT ON verdict"
        " FOR EACH ROW EXECUTE FUNCTION voirdire_refuse()"
    ),
}
EXTRA = {
    "sqlite": "CREATE TRIGGER sly AFTER INSERT ON verdict BEGIN SELECT 1; END",
    "postgresql": (
        "CREATE TRIGGER sly AFTER INSERT ON verdict FOR EACH ROW EXECUTE FUNCTION voirdire_refuse()"
    ),
}
SABOTAGE = {"is missing": (DROP,), "is not as declared": (DROP, WEAK), "was not made by voirdire": (EXTRA,)}


@pytest.mark.parametrize("what", SABOTAGE)
def test_start_up_refuses_triggers_that_are_not_the_declared_ones(store: Store, what: str) -> None:
    """A missing, weakened or foreign trigger: the store does not open, and says which."""
    change(store, *(each[store.dialect] for each in SABOTAGE[what]))
    with pytest.raises(
        StoreError, match=rf"(verdict_no_update|sly) {what}.*evidence could be changed unseen"
    ):
        open_store(address_of(store))


def test_a_disabled_trigger_or_emptied_function_is_noticed(postgres_store: Store) -> None:
    """PostgreSQL keeps the trigger's name when it is disabled, or when its function does nothing any more."""
    function = "CREATE OR REPLACE FUNCTION voirdire_refuse() RETURNS trigger LANGUAGE plpgsql AS"
    quiet = f"{function} $$BEGIN RETURN NEW; END$$"
    for statement in ("ALTER TABLE look DISABLE TRIGGER look_no_update", quiet):
        with postgres_store.write() as session:
            session.connection().exec_driver_sql(statement)
            assert "trigger look.look_no_update is not as declared" in trigger_findings(session.connection())
            session.rollback()


def test_many_open_a_new_file_at_once(tmp_path: Path) -> None:
    """Eight threads open a file that does not exist: one makes the schema, all can work."""
    path = tmp_path / "new.db"

    def one(_number: int) -> str | None:
        store = open_store(path)
        with store.read() as session:
            found = revision(session.connection())
        store.close()
        return found

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(one, range(8))) == {HEAD}


def test_protection_survives_where_nothing_is_left_to_upgrade(sqlite_store: Store) -> None:
    """Upgrading a current store changes nothing and makes no copy."""
    path = Path(str(sqlite_store.engine.url.database))
    done = upgrade(path)
    assert (done.changed, done.copy, list(path.parent.glob("*before*"))) == (False, None, [])
    with closing(sqlite3.connect(path)) as connection:
        triggers = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").fetchone()[
            0
        ]
    assert triggers == len([each for each in DECLARED if each.sqlite])


def test_a_refused_change_is_a_record_error(store: Store) -> None:
    """What the triggers say reaches the caller as one sentence."""
    with pytest.raises(RecordError, match="append-only: record a new row that names the old one"):
        change(store, ROWS["0001"][0], "DELETE FROM rubric_version")
