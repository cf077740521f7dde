"""The declared list of triggers that keep evidence append-only, on both databases.

Migrations create them from here; start-up compares what the database has with this list. An
outside writer with rights of its own can still drop a trigger: the hash chain finds what it changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import sqlalchemy as sa

APPEND_ONLY = (
    "rubric_version",
    "criterion",
    "import_file",
    "item",
    "audit_event",
    "assessment",
    "adjudication",
    "reference_label",
    "calibration_set",
    "set_member",
    "set_freeze",
    "judge",
    "verdict",
    "judge_call",
    "judge_call_fault",
    "policy",
    "report",
    "look",
    "decision",
    "assessment_context",
    "retraction",
    "rater_event",
    "assignment_closure",
    "adjudication_draw",
    "person",
    "role_grant",
    "grade",
    "grade_event",
    "grade_use",
    "evidence_seal",
)
"""Tables whose rows are inserted and then never touched."""

_RUN_HEADER = ("key", "judge_digest", "rubric_digest", "dataset", "set_digest", "origin", "plan", "units")
_SESSION_HEADER = (
    *("key", "name", "dataset", "set_digest", "rubric_digest", "plan", "opened_by", "opens_at"),
    *("window_ends_at", "recorded_at"),
)
_SEAT_HEADER = ("key", "session_key", "rater", "kind", "seed", "recorded_at")
_ASSIGNMENT_HEADER = (
    *(
        "key",
        "session_key",
        "item_key",
        "rater",
        "kind",
        "criterion",
        "repeat",
        "slot",
        "position",
        "swapped",
    ),
    "recorded_at",
)
_TOMBSTONE = (
    "OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL AND NEW.digest = OLD.digest"
    " AND NEW.text IS NULL AND NEW.raw IS NULL"
)


@dataclass(frozen=True, slots=True)
class Trigger:
    """One trigger as both databases state it."""

    table: str
    name: str
    sqlite: str | None
    """The statement exactly as sqlite_master keeps it; None where SQLite has no such event."""
    events: str
    """For PostgreSQL: what fires it, such as UPDATE OR DELETE."""
    function: str
    """The PostgreSQL function that refuses."""

    @property
    def postgres(self) -> str:
        """The statement for PostgreSQL."""
        each = "STATEMENT" if self.events == "TRUNCATE" else "ROW"
        return (
            f"CREATE TRIGGER {self.name} BEFORE {self.events} ON {self.table}"
            f" FOR EACH {each} EXECUTE FUNCTION {self.function}()"
        )

    @property
    def postgres_type(self) -> int:
        """The events as pg_trigger.tgtype writes them: a bit each, 1 for each row, 2 for before."""
        bits = {"INSERT": 4, "DELETE": 8, "UPDATE": 16, "TRUNCATE": 32}
        return 2 + (self.events != "TRUNCATE") + sum(bits[event] for event in self.events.split(" OR "))


def _refused(table: str) -> str:
    return f"{table} is append-only: record a new row that names the old one"


_ERASE_ONLY = "item_payload changes only by a logged erase: use voirdire to erase it"
_HEADER_FIXED = "the header of a judge_run is fixed: only its state and its cancel request move"
_MOVES = {
    "labeling_session": (
        *(_SESSION_HEADER, "voirdire_session_fixed"),
        "the header of a labeling_session is fixed: only its state moves",
    ),
    "session_rater": (
        *(_SEAT_HEADER, "voirdire_seat_fixed"),
        "the header of a session_rater is fixed: only cursor and absence move",
    ),
    "assignment": (
        *(_ASSIGNMENT_HEADER, "voirdire_assignment_fixed"),
        "the header of an assignment is fixed: only its state and its lease move",
    ),
}
"""Operational tables: the columns that stay, the function that sees to it, and what it says."""
_OWN_ITEM = "an adjudicator may not be one of the raters of the item: ask someone else"


def _fixed(columns: tuple[str, ...], sentence: str) -> str:
    """The body of a function that lets every column move but these."""
    same = " AND ".join(f"NEW.{column} IS NOT DISTINCT FROM OLD.{column}" for column in columns)
    return (
        f"BEGIN IF TG_OP = 'UPDATE' AND {same} THEN RETURN NEW; END IF;"
        f" RAISE EXCEPTION '{sentence}' USING ERRCODE = '23000'; END"
    )


FUNCTIONS = {
    **{function: _fixed(columns, sentence) for columns, function, sentence in _MOVES.values()},
    "voirdire_refuse": (
        "BEGIN RAISE EXCEPTION '% is append-only: record a new row that names the old one', TG_TABLE_NAME"
        " USING ERRCODE = '23000'; END"
    ),
    "voirdire_erase_only": (
        f"BEGIN IF TG_OP = 'UPDATE' AND {_TOMBSTONE} THEN RETURN NEW; END IF;"
        f" RAISE EXCEPTION '{_ERASE_ONLY}' USING ERRCODE = '23000'; END"
    ),
    "voirdire_header_fixed": _fixed(_RUN_HEADER, _HEADER_FIXED),
    "voirdire_own_item": (
        "BEGIN IF EXISTS (SELECT 1 FROM assessment a WHERE a.item_key = NEW.item_key"
        " AND a.criterion = NEW.criterion AND a.rater = NEW.adjudicator)"
        f" THEN RAISE EXCEPTION '{_OWN_ITEM}' USING ERRCODE = '23000'; END IF; RETURN NEW; END"
    ),
}
"""Bodies of the PostgreSQL functions; 23000 is the class that a violated constraint has too."""


def _sqlite(name: str, event: str, table: str, refusal: str, when: str = "") -> str:
    return (
        f"CREATE TRIGGER {name} BEFORE {event} ON {table}{when} BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
    )


def _guard(table: str, refusal: str, function: str, *, allowed: str = "") -> tuple[Trigger, ...]:
    update, delete, empty = (f"{table}_no_{word}" for word in ("update", "delete", "truncate"))
    when = f" WHEN NOT ({allowed})" if allowed else ""
    return (
        Trigger(table, update, _sqlite(update, "UPDATE", table, refusal, when), "UPDATE", function),
        Trigger(table, delete, _sqlite(delete, "DELETE", table, refusal), "DELETE", function),
        Trigger(table, empty, None, "TRUNCATE", function),
    )


def _own_item() -> Trigger:
    name = "adjudication_own_item"
    when = (
        " WHEN EXISTS (SELECT 1 FROM assessment a WHERE a.item_key = NEW.item_key"
        " AND a.criterion = NEW.criterion AND a.rater = NEW.adjudicator)"
    )
    statement = _sqlite(name, "INSERT", "adjudication", _OWN_ITEM, when)
    return Trigger("adjudication", name, statement, "INSERT", "voirdire_own_item")


DECLARED: tuple[Trigger, ...] = (
    *(each for table in APPEND_ONLY for each in _guard(table, _refused(table), "voirdire_refuse")),
    *_guard("item_payload", _ERASE_ONLY, "voirdire_erase_only", allowed=_TOMBSTONE),
    *_guard(
        "judge_run",
        _HEADER_FIXED,
        "voirdire_header_fixed",
        allowed=" AND ".join(f"NEW.{column} IS OLD.{column}" for column in _RUN_HEADER),
    ),
    *(
        each
        for table, (columns, function, sentence) in _MOVES.items()
        for each in _guard(
            table,
            sentence,
            function,
            allowed=" AND ".join(f"NEW.{column} IS OLD.{column}" for column in columns),
        )
    ),
    _own_item(),
)
"""Every trigger that the newest schema has."""


def protect(execute: Callable[[str], object], dialect: str, *tables: str) -> None:
    """Creates the declared triggers of the tables; called by migrations, again after a batch migration.

    A batch migration on SQLite copies the table and drops its triggers without a word.
    """
    triggers = [each for each in DECLARED if each.table in tables]
    if dialect != "sqlite":
        for function in sorted({each.function for each in triggers}):
            body = FUNCTIONS[function]
            execute(f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $${body}$$")
    for each in triggers:
        statement = each.sqlite if dialect == "sqlite" else each.postgres
        if statement is not None:
            execute(
                f"DROP TRIGGER IF EXISTS {each.name}" + ("" if dialect == "sqlite" else f" ON {each.table}")
            )
            execute(statement)


def trigger_findings(connection: sa.Connection) -> tuple[str, ...]:
    """Each way in which the triggers of the database differ from the declared list; empty when they agree."""
    if connection.dialect.name == "sqlite":
        declared = {each.name: each.sqlite for each in DECLARED if each.sqlite}
        found = _sqlite_triggers(connection)
        return _differences(declared, found)
    declared_types = {
        f"{each.table}.{each.name}": (each.postgres_type, "O", each.function, FUNCTIONS[each.function])
        for each in DECLARED
    }
    return _differences(declared_types, _postgres_triggers(connection))


def _differences(declared: Mapping[str, object], found: Mapping[str, object]) -> tuple[str, ...]:
    missing = [f"trigger {name} is missing" for name in declared if name not in found]
    foreign = [f"trigger {name} was not made by voirdire" for name in found if name not in declared]
    changed = [
        f"trigger {name} is not as declared"
        for name in declared
        if name in found and found[name] != declared[name]
    ]
    return (*missing, *foreign, *changed)


def _sqlite_triggers(connection: sa.Connection) -> dict[str, object]:
    rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    return {row.name: row.sql for row in rows}


_POSTGRES_TRIGGERS = sa.text(
    "SELECT c.relname, t.tgname, t.tgtype, t.tgenabled::text, p.proname, p.prosrc FROM pg_trigger t"
    " JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid"
    " WHERE NOT t.tgisinternal AND c.relnamespace = current_schema()::regnamespace"
    " AND c.relname = ANY(:tables)"
)


def _postgres_triggers(connection: sa.Connection) -> dict[str, object]:
    rows = connection.execute(_POSTGRES_TRIGGERS, {"tables": sorted({each.table for each in DECLARED})})
    return {f"{table}.{name}": tuple(rest) for table, name, *rest in rows}
