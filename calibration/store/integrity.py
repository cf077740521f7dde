"""Is everything that is stored still what was recorded? Every digest and every chain, computed anew."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.adjudication_draws import AdjudicationDrawRow
from calibration.store.assessments import ASSESSMENT_STATES, AssessmentRow
from calibration.store.chain import Broken, Event, Head, events, verify_events
from calibration.store.columns import Row, UtcDateTime, row_digest, table_of
from calibration.store.database import Store, database_url, make_engine
from calibration.store.decisions import STREAM, verify_decisions
from calibration.store.grades import (
    GRADE_EVENT_STATES,
    GRADE_STATES,
    GRADES,
    USE_STATES,
    GradeEventRow,
    GradeRow,
    GradeUseRow,
    sealed_digest,
)
from calibration.store.imports import import_seal
from calibration.store.inserting import batches
from calibration.store.items import ITEM_STATES, ItemRow
from calibration.store.judges import JudgeRow
from calibration.store.payloads import ItemPayloadRow
from calibration.store.reading import stream_named
from calibration.store.references import (
    ADJUDICATION_STATES,
    REFERENCE_STATES,
    AdjudicationRow,
    ReferenceLabelRow,
)
from calibration.store.reports import LookRow, PolicyRow, ReportRow
from calibration.store.rubrics import RubricVersionRow, get_rubric_by_digest, list_rubrics
from calibration.store.schema import check_schema
from calibration.store.seals import BrokenSeal, EvidenceSealRow, broken_seals
from calibration.store.sets import CalibrationSetRow, SetFreezeRow, recomputed_set_digest
from calibration.store.text import content_digest
from calibration.store.verdicts import VERDICT_STATES, VerdictRow
from rubrics.errors import RecordError, StoreError

_STATED: tuple[tuple[type[Row], Sequence[str]], ...] = (
    (ItemRow, ITEM_STATES),
    (AssessmentRow, ASSESSMENT_STATES),
    (AdjudicationRow, ADJUDICATION_STATES),
    (ReferenceLabelRow, REFERENCE_STATES),
    (VerdictRow, VERDICT_STATES),
    (GradeRow, GRADE_STATES),
    (GradeEventRow, GRADE_EVENT_STATES),
    (GradeUseRow, USE_STATES),
)
_WITH_CONTENT: tuple[type[Row], ...] = (
    *(JudgeRow, PolicyRow, ReportRow, CalibrationSetRow, AdjudicationDrawRow),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it was recorded."""

    table: str
    key: str
    """Which row; the place in its stream for a link of a chain."""
    what: str

    def __str__(self) -> str:
        return f"{self.table} {self.key}: {self.what}" if self.key else f"{self.table}: {self.what}"


def check(where: str | Path | None, *, checkpoints: Mapping[str, Head] | None = None) -> tuple[Finding, ...]:
    """Everything that is wrong with the store; empty when schema, digests and chains hold.

    Args:
        where: as for schema.open_store(); nothing is created or changed.
        checkpoints: heads of streams (and of `decisions`) that were kept outside the database.

    Raises:
        StoreError: there is no store there.
    """
    url = database_url(where)
    if url.get_backend_name() == "sqlite":
        path = Path(str(url.database))
        if not path.is_file():
            raise StoreError(f"there is no database {str(path)!r} to check; give the right --db")
        damage = _damage(path)
        if damage:
            return damage
    with Store(make_engine(url)) as store, store.read() as session:
        schema = tuple(Finding("schema", "", what) for what in check_schema(session.connection()))
        return schema or tuple(findings(session, checkpoints or {}))


def findings(session: Session, checkpoints: Mapping[str, Head]) -> Iterator[Finding]:
    """Every record that is not what its digest, chain or seal names; what cannot be read is one."""
    decided = checkpoints.get(STREAM)
    streams = {stream: head for stream, head in checkpoints.items() if stream != STREAM}
    looks: list[tuple[str, Callable[[], Iterable[Finding]]]] = [
        ("times", lambda: _odd_times(session)),
        ("item_payload", lambda: _payloads(session)),
        *((table_of(row).name, partial(_stated, session, row, states)) for row, states in _STATED),
        *((table_of(row).name, partial(_contents, session, row)) for row in _WITH_CONTENT),
        ("rubric_version", lambda: _rubrics(session)),
        ("calibration_set", lambda: _sets(session)),
        ("audit_event", lambda: map(_broken, verify_events(session=session, checkpoints=streams))),
        ("decisions", lambda: map(_broken, verify_decisions(session=session, checkpoint=decided))),
        ("evidence_seal", lambda: map(_unsealed, broken_seals(session=session))),
        ("audit_event", lambda: _against_the_trail(session)),
    ]
    for where, look in looks:
        yield from _readable(where, look)


def _readable(where: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """The findings of one check; where a value cannot even be read, that it is so."""
    try:
        yield from look()
    except (RecordError, ValueError, TypeError, KeyError) as error:
        said = str(error).partition("\n")[0]
        yield Finding(where, "", f"a record of it, or of one that it names, cannot be read: {said}")


def _odd_times(session: Session) -> Iterator[Finding]:
    """Moments that SQLite, which keeps them as text, holds in another form than the one that is written.

    The driver reads several forms as the same moment, so no digest would show the difference.
    """
    if session.connection().dialect.name != "sqlite":
        return
    for _, table in sorted(Row.metadata.tables.items()):
        for column in table.columns:
            if isinstance(column.type, UtcDateTime):
                asked = sa.text(f"SELECT rowid FROM {table.name} WHERE {column.name} NOT GLOB :form LIMIT 1")
                for rowid in session.connection().execute(asked, {"form": _MOMENT}).scalars():
                    said = f"{column.name} is not in the form in which times are written"
                    yield Finding(str(table.name), f"row {rowid}", said)


_MOMENT = (
    "-".join(("[0-9]" * 4, "[0-9]" * 2, "[0-9]" * 2)) + " " + ":".join(("[0-9]" * 2,) * 3) + "." + "[0-9]" * 6
)


def _unsealed(seal: BrokenSeal) -> Finding:
    return Finding(seal.table, seal.key[:12], seal.what)


_CHANGED = "its content is not the one that its digest names"


def _damage(path: Path) -> tuple[Finding, ...]:
    """What SQLite itself finds wrong with the file; nothing else can be read then."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            said = [row[0] for row in connection.execute("PRAGMA integrity_check(5)")]
            orphans = connection.execute("PRAGMA foreign_key_check").fetchmany(5)
    except sqlite3.DatabaseError as error:
        return (Finding("file", "", f"{error}: restore a backup"),)
    broken = tuple(Finding("file", "", each) for each in said if each != "ok")
    lost = tuple(
        Finding(table, str(rowid), f"refers to nothing in {parent}") for table, rowid, parent, _ in orphans
    )
    return (*broken, *lost)


def _payloads(session: Session) -> Iterator[Finding]:
    table = table_of(ItemPayloadRow)
    query = sa.select(table.c.digest, table.c.text).where(table.c.text.is_not(None))
    for stored in stream_named(session, query):
        if content_digest(stored["text"]) != stored["digest"]:
            yield Finding("item_payload", stored["digest"][:12], _CHANGED)


def _stated(session: Session, row: type[Row], states: Sequence[str]) -> Iterator[Finding]:
    table = table_of(row)
    query = sa.select(table.c.digest, *(table.c[each] for each in states))
    for stored in stream_named(session, query):
        if row_digest(stored, states) != stored["digest"]:
            yield Finding(table.name, stored["digest"][:12], _CHANGED)


def _contents(session: Session, row: type[Row]) -> Iterator[Finding]:
    table = table_of(row)
    query = sa.select(table.c.digest, table.c.content, table.c.content_digest)
    for stored in stream_named(session, query):
        if content_digest(stored["content"]) != stored["content_digest"]:
            yield Finding(table.name, stored["digest"][:12], _CHANGED)


def _rubrics(session: Session) -> Iterator[Finding]:
    for ref, digest in list_rubrics(session=session):
        try:
            get_rubric_by_digest(session=session, digest=digest)
        except (RecordError, ValueError) as error:
            yield Finding("rubric_version", str(ref), str(error).partition("\n")[0])


def _sets(session: Session) -> Iterator[Finding]:
    for stored in stream_named(session, sa.select(table_of(CalibrationSetRow).c.digest)):
        digest = stored["digest"]
        if recomputed_set_digest(session=session, digest=digest) != digest:
            yield Finding(
                "calibration_set", digest[:12], "its members or design are not those that its digest names"
            )


def _against_the_trail(session: Session) -> Iterator[Finding]:
    """What the audit trail says was recorded, and is not there or is something else."""
    for event in events(session=session):
        if event.kind in _RECORDED:
            yield from _recorded(session, event)
        elif event.stream == GRADES:
            yield from _graded(session, event)
        elif event.kind == "import.sealed":
            seal = import_seal(session=session, key=event.payload["import"], kind=event.payload["kind"])
            if (seal.rows, seal.digest) != (event.payload["rows"], event.payload["digest"]):
                said = f"brought {event.payload['rows']} rows and now has {seal.rows}, or other ones"
                yield Finding("import_file", event.payload["import"], said)


_RECORDED: dict[str, tuple[type[Row], str, str]] = {
    "rubric.published": (RubricVersionRow, "digest", "digest"),
    "judge.declared": (JudgeRow, "digest", "digest"),
    "policy.recorded": (PolicyRow, "digest", "digest"),
    "report.made": (ReportRow, "digest", "digest"),
    "set.drawn": (CalibrationSetRow, "digest", "digest"),
    "adjudication.drawn": (AdjudicationDrawRow, "digest", "digest"),
    "set.frozen": (SetFreezeRow, "set_digest", "digest"),
    "look.taken": (LookRow, "input_digest", "inputs"),
    "evidence.sealed": (EvidenceSealRow, "digest", "digest"),
}
"""By event: the table, its key, and where the event names it."""


def _graded(session: Session, event: Event) -> Iterator[Finding]:
    """The grades, or the one step taken about a grade, that an event tells of."""
    given = event.kind == "grades.given"
    told: tuple[tuple[type[Row], str], ...] = ((GradeEventRow, "key"),)
    where = ((GradeRow, "key"), (GradeUseRow, "grade_key")) if given else told
    digests: list[str] = []
    for row, column in where:
        table = table_of(row)
        for keys in batches(event.payload["keys"]):
            query = sa.select(table.c.digest).where(table.c[column].in_(keys))
            digests += session.connection().execute(query).scalars()
    if sealed_digest(digests) != event.payload["digest"]:
        said = f"{len(event.payload['keys'])} were recorded together; some are gone or are other ones"
        yield Finding("grade" if given else "grade_event", event.payload["keys"][0], said)


def _recorded(session: Session, event: Event) -> Iterator[Finding]:
    row, column, named = _RECORDED[event.kind]
    table, key = table_of(row), event.payload[named]
    found = session.connection().execute(sa.select(table).where(table.c[column] == key)).mappings().first()
    if found is None:
        yield Finding(table.name, key[:12], f"was recorded ({event.kind}) and is gone")
    elif "content" in event.payload and event.payload["content"] != found["content_digest"]:
        yield Finding(table.name, key[:12], "is not the one that the audit trail names")


def _broken(found: Broken) -> Finding:
    return Finding(found.stream, f"record {found.seq}", found.how)
