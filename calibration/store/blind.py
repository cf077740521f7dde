"""The database session of the rating app: whatever it is asked for, no judge's table can be read.

Three walls stand apart from each other: the import contract keeps the code away, SQLite asks an authorizer
before each statement, and PostgreSQL runs every statement as a role that has no rights there.
"""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

from calibration.store.database import Store, clear_error, database_url, make_engine, place
from calibration.store.schema import check_schema, open_store
from rubrics.errors import StoreError

READABLE: Final = (
    *("rubric_version", "criterion", "item", "item_payload", "import_file", "audit_event", "assessment"),
    *("adjudication", "retraction", "assessment_context", "rater_event", "labeling_session", "session_rater"),
    *("assignment", "assignment_closure", "person", "role_grant", "alembic_version"),
)
"""The tables that raters' code may read: an allow-list, so that a new table is closed until it is opened, on
both databases and without a line here."""
ADDED_TO: Final = (
    *("item_payload", "audit_event", "assessment", "adjudication", "retraction", "assessment_context"),
    *("rater_event", "person", "assignment"),
)
"""The tables to which raters' code adds rows; an assignment is added where raters disagree."""
MOVED: Final = ("session_rater", "assignment")
"""The tables whose state it moves."""
ROLE: Final = "voirdire_rater"
"""The PostgreSQL role as which the rating app works."""

_INTERNAL = re.compile(r"sqlite_(master|schema|temp_master|temp_schema|sequence)")


def open_rating_store(where: str | Path | None = None, *, durable: bool = False) -> Store:
    """The store for the rating app: it can read what raters may see and add what raters say, no more.

    Args:
        where: as for schema.open_store(); a SQLite file is made or upgraded first.
        durable: as for schema.open_store().

    Raises:
        StoreError: it cannot be opened, or PostgreSQL has no role for raters and it may not be made.
    """
    url = database_url(where)
    open_store(where, durable=durable).close()
    if url.get_backend_name() == "sqlite":
        store = Store(make_engine(url, durable=durable))
        event.listen(store.engine, "connect", _authorize)
        return store
    _prepare_role(url)
    store = Store(make_engine(url))
    event.listen(store.engine, "connect", _take_role)
    with store.read() as session:
        findings = check_schema(session.connection())
    if findings:  # pragma: no cover - open_store has just looked
        store.close()
        raise StoreError(f"{store.where} cannot be used: {'; '.join(findings[:3])}")
    return store


def role_statements() -> tuple[str, ...]:
    """What an administrator of PostgreSQL runs once in the database, where voirdire may not do it itself."""
    return (
        f"DO $$BEGIN CREATE ROLE {ROLE} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END$$",
        f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {ROLE}",
        f"GRANT USAGE ON SCHEMA public TO {ROLE}",
        f"GRANT SELECT ON {', '.join(READABLE)} TO {ROLE}",
        f"GRANT INSERT ON {', '.join(ADDED_TO)} TO {ROLE}",
        f"GRANT UPDATE ON {', '.join(MOVED)} TO {ROLE}",
        f"GRANT {ROLE} TO CURRENT_USER",
    )


def _prepare_role(url: sa.URL) -> None:
    engine = make_engine(url)
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtextextended('voirdire:role', 0))")
            if not _has_role(connection):
                for statement in role_statements():
                    connection.exec_driver_sql(statement)
                _refuse_more(connection, place(url))
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", "") == "42501":
            raise StoreError(
                f"{place(url)} has no role {ROLE} for the rating app, and this user may not make it: have an"
                f" administrator run: {'; '.join(role_statements())}"
            ) from error
        raise clear_error(error, place(url)) from error
    finally:
        engine.dispose()


def _refuse_more(connection: sa.Connection, where: str) -> None:
    """Raises StoreError where the role may do more than its own grants say."""
    if more := sorted(rights_of_role(connection) - _rights()):
        named = ", ".join(f"{right} on {table}" for table, right in more[:3])
        raise StoreError(
            f"in {where} the rating app could do more than it should ({named}): something is granted to"
            f" PUBLIC or to a role that {ROLE} is in; revoke it, then start the app again"
        )


def _has_role(connection: sa.Connection) -> bool:
    """Whether the role is there with exactly the rights that it should have."""
    if not connection.exec_driver_sql(f"SELECT 1 FROM pg_roles WHERE rolname = '{ROLE}'").scalar():
        return False
    member = connection.exec_driver_sql(f"SELECT pg_has_role(current_user, '{ROLE}', 'MEMBER')").scalar()
    return bool(member) and rights_of_role(connection) == _rights()


def _rights() -> set[tuple[str, str]]:
    """Table and right, as the role should have them."""
    return {
        *((table, "SELECT") for table in READABLE),
        *((table, "INSERT") for table in ADDED_TO),
        *((table, "UPDATE") for table in MOVED),
    }


def rights_of_role(connection: sa.Connection) -> set[tuple[str, str]]:
    """Table and right of whatever the role may do: granted to it, to everybody, or on a single column."""
    query = sa.text(
        "SELECT c.relname, r.name FROM pg_class AS c"
        " CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS r(name)"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
        " AND CASE WHEN r.name IN ('DELETE', 'TRUNCATE') THEN has_table_privilege(:role, c.oid, r.name)"
        " ELSE has_any_column_privilege(:role, c.oid, r.name) END"
    )
    return {(table, right) for table, right in connection.execute(query, {"role": ROLE})}


def _take_role(connection: object, _entry: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()  # type: ignore[attr-defined]
    cursor.execute(f"SET ROLE {ROLE}")
    cursor.close()
    connection.commit()  # type: ignore[attr-defined]


def _authorize(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    connection.set_authorizer(_allowed)


_FREE = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_TRANSACTION,
        sqlite3.SQLITE_SAVEPOINT,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
    }
)
_PRAGMAS = frozenset(
    {"query_only", "busy_timeout", "foreign_key_list", "table_info", "table_xinfo", "wal_checkpoint"}
)
_TABLES: Final = {
    sqlite3.SQLITE_READ: READABLE,
    sqlite3.SQLITE_INSERT: ADDED_TO,
    sqlite3.SQLITE_UPDATE: MOVED,
}


def _allowed(
    action: int, first: str | None, _second: str | None, _database: str | None, _source: str | None
) -> int:
    """SQLITE_OK for what raters' code may do; SQLite refuses everything else before it runs.

    A plain INSERT looks in no table that refers to the new row, so none has to be opened for it; one with
    RETURNING would, and would be refused where a closed table refers to what it adds.
    """
    if action in _FREE:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if first in _PRAGMAS else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_READ and first and _INTERNAL.fullmatch(first):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_OK if first in _TABLES.get(action, ()) else sqlite3.SQLITE_DENY
