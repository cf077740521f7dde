"""One history for both databases, and what start-up refuses."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

import calibration.store.adjudication_draws
import calibration.store.assessments
import calibration.store.assignments
import calibration.store.calls
import calibration.store.decisions
import calibration.store.grades
import calibration.store.imports
import calibration.store.people
import calibration.store.rater_records
import calibration.store.references
import calibration.store.reports
import calibration.store.seals
import calibration.store.sessions
import calibration.store.sets
import calibration.store.verdicts  # noqa: F401 - all tables, to be compared with the migrations
from calibration.store.columns import Row
from calibration.store.database import Store
from calibration.store.schema import HEAD, KNOWN, check_schema, revision
from calibration.store.triggers import APPEND_ONLY, DECLARED

OPERATIONAL = ("judge_run", "labeling_session", "session_rater", "assignment")
"""Tables whose rows move a state and keep their header."""


def test_migrations_make_the_declared_tables(store: Store) -> None:
    """What the migrations create is what the row classes declare: no difference is left to generate."""
    with store.read() as session:
        context = MigrationContext.configure(
            session.connection(), opts={"compare_type": True, "target_metadata": Row.metadata}
        )
        assert compare_metadata(context, Row.metadata) == []


def test_checks_are_the_declared_ones(store: Store) -> None:
    """Every CHECK of a migration has the words that the row class has now, which comparing does not see."""
    twin = sa.create_engine("sqlite://")
    Row.metadata.create_all(twin)
    with store.read() as session:
        inspector = sa.inspect(session.connection())
        for table in Row.metadata.tables:
            declared = {check["name"] for check in sa.inspect(twin).get_check_constraints(table)}
            found = inspector.get_check_constraints(table)
            assert {check["name"] for check in found} == declared, table
            if store.dialect == "sqlite":
                assert {(c["name"], c["sqltext"]) for c in found} == {
                    (c["name"], c["sqltext"]) for c in sa.inspect(twin).get_check_constraints(table)
                }
    twin.dispose()


def test_indexes_are_the_declared_ones(sqlite_store: Store) -> None:
    """Every index is as its row class declares it, the condition of a partial one included."""
    indexes = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
    twin = sa.create_engine("sqlite://")
    with twin.begin() as connection, sqlite_store.read() as session:
        Row.metadata.create_all(connection)
        declared = [(name, " ".join(sql.split())) for name, sql in connection.exec_driver_sql(indexes)]
        found = session.connection().exec_driver_sql(indexes)
        assert [(name, " ".join(sql.split())) for name, sql in found] == declared
    twin.dispose()


def test_every_table_is_protected() -> None:
    """A table that nobody thought of protecting does not exist."""
    assert {trigger.table for trigger in DECLARED} == set(Row.metadata.tables)
    assert set(APPEND_ONLY) == set(Row.metadata.tables) - {"item_payload", *OPERATIONAL}


def test_a_new_store_is_at_the_newest_revision(store: Store) -> None:
    """Start-up finds nothing to complain about on a fresh database."""
    with store.read() as session:
        assert revision(session.connection()) == HEAD == KNOWN[-1]
        assert check_schema(session.connection()) == ()


def test_a_dropped_trigger_is_named(store: Store) -> None:
    """Start-up says which trigger is missing."""
    with store.write() as session:
        suffix = "" if store.dialect == "sqlite" else " ON verdict"
        session.connection().exec_driver_sql(f"DROP TRIGGER verdict_no_delete{suffix}")
        assert any(
            "verdict_no_delete is missing" in finding for finding in check_schema(session.connection())
        )
        session.rollback()
