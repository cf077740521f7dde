"""What was decided, on which report, by which policy: admission decisions in one hash-chained list."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field, Session

from calibration.store.chain import (
    GENESIS,
    Broken,
    Head,
    Link,
    link,
    lock_stream,
    verify_links,
)
from calibration.store.columns import Row, in_utc, one_of, table_of, text_column, time_column
from calibration.store.database import BUSY_SECONDS
from calibration.store.reading import stream_named
from calibration.store.text import name, stored_json
from rubrics.criterion import JudgeRole
from rubrics.errors import DifferentRecord, RecordError, StoreError

STREAM = "decisions"
SUSPENDED = "suspended"
OUTCOMES = ("admit", "reject", "insufficient_evidence", SUSPENDED)
"""What a decision says; `suspended` ends an admission without judging the judge."""
_KIND = "admission-decision"
CLOCK_TOLERANCE = timedelta(seconds=BUSY_SECONDS + 2)
"""How far behind the last decision a time may lie: as long as a signer can have waited for another one.
A clock set back further signs nothing, so no decision can be dated back or kept from lapsing."""


class DecisionRow(Row, table=True):
    """A signed decision; a later one names the one that it replaces."""

    __tablename__ = "decision"
    __table_args__ = (
        one_of("outcome", OUTCOMES),
        one_of("role", JudgeRole),
        sa.CheckConstraint("seq >= 1", name="seq"),
        sa.CheckConstraint("length(hash) = 64 AND hash = lower(hash)", name="hash"),
        # of each scope there is one first decision, and each decision has one successor: a line, no fork
        sa.Index(
            "uq_decision_first_of_scope",
            *("judge_digest", "rubric_digest", "criterion", "population", "role"),
            unique=True,
            sqlite_where=sa.text("supersedes IS NULL"),
            postgresql_where=sa.text("supersedes IS NULL"),
        ),
    )
    hash: str = text_column(primary_key=True)
    seq: int = Field(unique=True)
    judge_digest: str = text_column(foreign_key="judge.digest")
    rubric_digest: str = text_column(foreign_key="rubric_version.digest")
    criterion: str = text_column()
    population: str = text_column()
    role: str = text_column()
    report_digest: str = text_column(foreign_key="report.digest")
    policy_digest: str = text_column(foreign_key="policy.digest")
    outcome: str = text_column()
    content: str = text_column()
    signer: str = text_column()
    valid_until: datetime | None = time_column()
    supersedes: str | None = text_column(foreign_key="decision.hash", unique=True)
    prev_hash: str = text_column()
    decided_at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class DecisionScope:
    """What a decision is about: any other judge, rubric, criterion, population or role needs its own."""

    judge_digest: str
    rubric_digest: str
    criterion: str
    population: str
    role: str
    """acceptance, review_trigger or diagnostic."""


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A recorded decision."""

    hash: str
    """Its identity."""
    seq: int
    scope: DecisionScope
    report_digest: str
    policy_digest: str
    outcome: str
    content: Mapping[str, Any]
    """JSON: the policy's items with what was found, the reasons, how the signer was established."""
    signer: str
    valid_until: datetime | None
    """The first moment at which it no longer holds; None where it does not lapse by time."""
    supersedes: str | None
    prev_hash: str
    decided_at: datetime


def add_decision(  # noqa: PLR0913 - keyword-only: each is part of what is signed
    *,
    session: Session,
    scope: DecisionScope,
    report_digest: str,
    policy_digest: str,
    outcome: str,
    content: Mapping[str, Any],
    signer: str,
    valid_until: datetime | None,
    supersedes: str | None,
    at: datetime,
) -> StoredDecision:
    """The decision as recorded at the end of the chain.

    Args:
        session: a writing session.
        scope: what it is about.
        report_digest: the report it rests on.
        policy_digest: the policy that gave the outcome.
        outcome: one of OUTCOMES.
        content: items, reasons and how the signer was established; JSON.
        signer: who signs.
        valid_until: the first moment at which it no longer holds.
        supersedes: hash of the decision that now stands for the scope; None if there is none. Whoever
            signs must have seen the one that he replaces.
        at: now.

    Raises:
        DifferentRecord: another decision for the scope was signed meanwhile.
        StoreError: the clock was set back.
    """
    lock_stream(session, STREAM)
    standing = current_decision(session=session, scope=scope)
    _must_supersede(standing, supersedes)
    head = decision_head(session=session)
    values = {
        "seq": head.seq + 1,
        **{field: getattr(scope, field) for field in _SCOPE},
        "criterion": name(scope.criterion, "criterion"),
        "population": name(scope.population, "population"),
        "report_digest": report_digest,
        "policy_digest": policy_digest,
        "outcome": outcome,
        "content": stored_json(dict(content)),
        "signer": name(signer, "signer"),
        "valid_until": in_utc(valid_until) if valid_until else None,
        "supersedes": supersedes,
        "prev_hash": head.hash,
        "decided_at": _next_moment(at, head),
    }
    values["hash"] = link(_KIND, head.seq + 1, head.hash, _body(values))
    session.connection().execute(_DECISION.insert(), values)
    return _stored(values)


def current_decision(*, session: Session, scope: DecisionScope) -> StoredDecision | None:
    """The decision that stands for the scope: the one that no other supersedes; None if none was made.

    Whether it admits, and whether it has lapsed, is for the caller to read: nothing here knows the time.
    """
    later = _DECISION.alias()
    query = sa.select(_DECISION).where(
        *(_DECISION.c[field] == getattr(scope, field) for field in _SCOPE),
        ~sa.exists().where(later.c.supersedes == _DECISION.c.hash),
    )
    row = session.connection().execute(query).mappings().one_or_none()
    return _stored(dict(row)) if row else None


def get_decision(*, session: Session, hash_prefix: str) -> StoredDecision:
    """The one decision whose hash begins so; raises RecordError where there is none, or several."""
    query = sa.select(_DECISION).where(_DECISION.c.hash.startswith(hash_prefix, autoescape=True)).limit(2)
    rows = session.connection().execute(query).mappings().all()
    if len(rows) != 1:
        many = "several decisions begin" if rows else "no decision begins"
        raise RecordError(f"{many} with {hash_prefix!r}; `voirdire decisions list` shows their hashes")
    return _stored(dict(rows[0]))


def iter_decisions(
    *,
    session: Session,
    judge_digest: str | None = None,
    rubric_digest: str | None = None,
    standing: bool = False,
) -> Iterator[StoredDecision]:
    """The decisions in the order of the chain; of one judge or rubric, or only those that still stand."""
    query = sa.select(_DECISION).order_by(_DECISION.c.seq)
    for column, value in (
        (_DECISION.c.judge_digest, judge_digest),
        (_DECISION.c.rubric_digest, rubric_digest),
    ):
        if value is not None:
            query = query.where(column == value)
    if standing:
        later = _DECISION.alias()
        query = query.where(~sa.exists().where(later.c.supersedes == _DECISION.c.hash))
    for row in stream_named(session, query):
        yield _stored(row)


def decision_head(*, session: Session) -> Head:
    """The newest link of the chain, to be kept outside the database; place 0 where there is none."""
    query = sa.select(_DECISION.c.seq, _DECISION.c.hash, _DECISION.c.decided_at).order_by(
        _DECISION.c.seq.desc()
    )
    row = session.connection().execute(query.limit(1)).first()
    return Head(row.seq, row.hash, row.decided_at) if row else Head(0, GENESIS)


def verify_decisions(*, session: Session, checkpoint: Head | None = None) -> tuple[Broken, ...]:
    """The first broken decision; empty when the chain holds and reaches the checkpoint."""
    rows = session.connection().execute(sa.select(_DECISION).order_by(_DECISION.c.seq)).mappings()
    records = ((STREAM, Link(row["seq"], row["prev_hash"], row["hash"], _body(dict(row)))) for row in rows)
    return verify_links(_KIND, records, {STREAM: checkpoint} if checkpoint else {})


def decision_links(*, session: Session, since: int) -> tuple[Link, ...]:
    """The links of the chain from a place on to its newest, each with what its hash is made of."""
    query = sa.select(_DECISION).where(_DECISION.c.seq >= since).order_by(_DECISION.c.seq)
    rows = session.connection().execute(query).mappings()
    return tuple(Link(row["seq"], row["prev_hash"], row["hash"], _body(dict(row))) for row in rows)


def linked(record: Link) -> StoredDecision:
    """The decision that a link of the chain holds, once its hash is found to be that of its content.

    Raises:
        RecordError: it is not, or it holds no decision.
    """
    if record.hash != link(_KIND, record.seq, record.prev_hash, record.body):
        raise RecordError(f"decision {record.hash[:12]} is not the one that its hash names")
    try:
        times = {
            field: datetime.fromisoformat(record.body[field]) if record.body[field] else None
            for field in ("decided_at", "valid_until")
        }
        values = {**record.body, **times, "seq": record.seq, "prev_hash": record.prev_hash}
        return _stored({**values, "hash": record.hash})
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"decision {record.hash[:12]} cannot be read: {error}") from error


_DECISION = table_of(DecisionRow)
_SCOPE = ("judge_digest", "rubric_digest", "criterion", "population", "role")
_SIGNED = (*_SCOPE, "report_digest", "policy_digest", "outcome", "content", "signer", "supersedes")


def _must_supersede(standing: StoredDecision | None, supersedes: str | None) -> None:
    there = standing.hash if standing else None
    if there == supersedes:
        return
    if standing is None:
        raise RecordError(f"decision {supersedes!r} does not stand for this scope: sign without naming one")
    raise DifferentRecord(
        f"for this judge, rubric, criterion, population and role the decision {standing.hash[:12]}"
        f" ({standing.outcome}, signed by {standing.signer!r}) stands now: read it, then sign one that"
        " supersedes it"
    )


def _next_moment(at: datetime, head: Head) -> datetime:
    """The time that the next decision bears: never before the last one."""
    moment = in_utc(at)
    if head.at is None or moment >= head.at:
        return moment
    if head.at - moment > CLOCK_TOLERANCE:
        raise StoreError(
            f"the clock says {moment.isoformat(timespec='seconds')}, but the last decision is of"
            f" {head.at.isoformat(timespec='seconds')}: set the clock right, then sign again"
        )
    return head.at


def _body(values: Mapping[str, Any]) -> dict[str, Any]:
    times = {field: values[field] for field in ("decided_at", "valid_until")}
    written = {
        field: moment.isoformat(timespec="microseconds") if moment else None
        for field, moment in times.items()
    }
    return {**{field: values[field] for field in _SIGNED}, **written}


def _stored(row: Mapping[str, Any]) -> StoredDecision:
    values = {field: row[field] for field in StoredDecision.__slots__ if field not in ("scope", "content")}
    scope = DecisionScope(**{field: row[field] for field in _SCOPE})
    return StoredDecision(**values, scope=scope, content=json.loads(row["content"]))
