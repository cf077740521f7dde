"""Judges and their runs. Kept from raters, who may not learn who judged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.chain import append_event
from calibration.store.columns import Row, in_utc, one_of, row_key, table_of, text_column, time_column
from calibration.store.inserting import insert_one
from calibration.store.text import content_digest, name, read_json, stored_json
from rubrics.errors import DifferentRecord, RecordError


class RunState(StrEnum):
    """Where a run stands."""

    PLANNED = "planned"
    RUNNING = "running"
    PAUSED = "paused"
    FINISHED = "finished"
    CANCELLED = "cancelled"


class RunOrigin(StrEnum):
    """Whether voirdire asked the judge itself, or its verdicts came in a file."""

    RUN = "run"
    IMPORT = "import"


class JudgeRow(Row, table=True):
    """A judge: the digest of its whole spec."""

    __tablename__ = "judge"
    digest: str = text_column(primary_key=True)
    name: str = text_column(index=True)
    kind: str = text_column()
    content: str = text_column()
    content_digest: str = text_column()
    recorded_at: datetime = time_column()


class JudgeRunRow(Row, table=True):
    """A run: its header is fixed, only its state and its cancel request move."""

    __tablename__ = "judge_run"
    __table_args__ = (
        one_of("origin", RunOrigin),
        one_of("state", RunState),
        sa.Index("ix_judge_run_state_priority", "state", "priority"),
    )
    key: str = text_column(primary_key=True)
    judge_digest: str = text_column(foreign_key="judge.digest")
    rubric_digest: str = text_column(foreign_key="rubric_version.digest")
    dataset: str = text_column()
    set_digest: str | None = text_column(foreign_key="calibration_set.digest")
    origin: str = text_column()
    plan: str = text_column()
    units: int
    priority: int
    state: str = text_column()
    cancel_requested_at: datetime | None = time_column()
    recorded_at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class StoredJudge:
    """A recorded judge."""

    digest: str
    name: str
    kind: str
    """model, rule, baseline, panel, cascade, external or proxy."""
    content: Mapping[str, Any]
    """The spec as JSON."""
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A recorded run."""

    key: str
    judge_digest: str
    rubric_digest: str
    dataset: str
    set_digest: str | None
    origin: RunOrigin
    plan: str
    """JSON: orders, repeats, seed."""
    units: int
    state: RunState
    recorded_at: datetime

    @property
    def escalated(self) -> bool:
        """True where it asks only about what another judge sent on: by itself no evidence about its judge."""
        return self.origin is RunOrigin.RUN and "escalated" in json.loads(self.plan)


def add_judge(
    *,
    session: Session,
    digest: str,
    judge_name: str,
    kind: str,
    content: Mapping[str, Any],
    actor: str,
    at: datetime,
) -> bool:
    """True if the judge is now recorded, False if this very spec was already.

    Args:
        session: a writing session.
        digest: of the whole spec.
        judge_name: how people call it; several specs may share a name, the newest is meant.
        kind: model, rule, baseline, panel, cascade, external or proxy.
        content: the spec as JSON.
        actor: who declares it.
        at: when.
    """
    text = stored_json(dict(content))
    values = {
        "digest": digest,
        "name": name(judge_name, "judge"),
        "kind": name(kind, "kind of judge"),
        "content": text,
        "content_digest": content_digest(text),
        "recorded_at": in_utc(at),
    }
    new = insert_one(session=session, row=JudgeRow, values=values)
    if new:
        what = {"judge": judge_name, "digest": digest, "content": values["content_digest"]}
        append_event(
            session=session, stream="records", kind="judge.declared", actor=actor, payload=what, at=at
        )
    return new


def get_judge(*, session: Session, judge: str) -> StoredJudge:
    """The judge of that name, the newest if several specs share it, or of that digest.

    Raises:
        RecordError: there is none, or its spec was changed outside voirdire.
    """
    query = sa.select(_JUDGE).where(sa.or_(_JUDGE.c.name == judge, _JUDGE.c.digest == judge))
    query = query.order_by(_JUDGE.c.recorded_at.desc(), _JUDGE.c.digest).limit(1)
    row = session.connection().execute(query).mappings().first()
    if row is None:
        raise RecordError(f"no judge {judge!r} is recorded; `voirdire judge list` shows which are")
    return _stored(row)


def list_judges(*, session: Session) -> list[StoredJudge]:
    """The recorded judges by name, the oldest spec of a name first."""
    query = sa.select(_JUDGE).order_by(_JUDGE.c.name, _JUDGE.c.recorded_at, _JUDGE.c.digest)
    return [_stored(row) for row in session.connection().execute(query).mappings()]


def add_run(  # noqa: PLR0913 - keyword-only: what identifies a run, and its state
    *,
    session: Session,
    judge_digest: str,
    rubric_digest: str,
    dataset: str,
    origin: RunOrigin,
    plan: Mapping[str, Any],
    units: int,
    at: datetime,
    set_digest: str | None = None,
    priority: int = 0,
    state: RunState = RunState.PLANNED,
) -> str:
    """The key of the run; the same judge, rubric, dataset or set, origin and plan have the same run.

    So a second import of a file, or a resumed run, finds its own verdicts. A run on purpose of the same
    plan again has another plan: say so in it (a number of the attempt).

    Raises:
        RecordError: no such judge, rubric or set.
        DifferentRecord: the run is recorded with another number of units.
    """
    text = stored_json(dict(plan))
    key = run_key(
        judge_digest=judge_digest,
        rubric_digest=rubric_digest,
        dataset=dataset,
        set_digest=set_digest,
        origin=origin,
        plan=text,
    )
    values = {
        "key": key,
        "judge_digest": judge_digest,
        "rubric_digest": rubric_digest,
        "dataset": name(dataset, "dataset"),
        "set_digest": set_digest,
        "origin": origin.value,
        "plan": text,
        "units": units,
        "priority": priority,
        "state": state.value,
        "cancel_requested_at": None,
        "recorded_at": in_utc(at),
    }
    if not insert_one(session=session, row=JudgeRunRow, values=values, identity="key"):
        stored = get_run(session=session, key=key)
        if stored.units != units:
            raise DifferentRecord(
                f"the run {key[:12]} is recorded with {stored.units} units, and {units} were given:"
                " items were added since; give the plan another attempt number"
            )
    return key


def run_key(
    *,
    judge_digest: str,
    rubric_digest: str,
    dataset: str,
    set_digest: str | None,
    origin: RunOrigin,
    plan: str,
) -> str:
    """The key of the run, recorded or not; `plan` as it is stored."""
    return row_key("run", judge_digest, rubric_digest, dataset, set_digest, origin.value, plan)


def move_run(*, session: Session, key: str, state: RunState) -> None:
    """Records where the run now stands; raises RecordError for an unknown run."""
    _update(session, key, {"state": state.value})


def request_cancel(*, session: Session, key: str, at: datetime) -> None:
    """Asks the run to stop after the calls in flight; raises RecordError for an unknown run."""
    _update(session, key, {"cancel_requested_at": in_utc(at)})


def get_run(*, session: Session, key: str) -> StoredRun:
    """The recorded run; raises RecordError where there is none."""
    row = session.connection().execute(_RUNS.where(_RUN.c.key == key)).mappings().first()
    if row is None:
        raise RecordError(f"no run {key!r} is recorded; `voirdire judge show` lists the runs of a judge")
    return _stored_run(row)


def list_runs(
    *,
    session: Session,
    dataset: str | None = None,
    judge_digest: str | None = None,
    rubric_digest: str | None = None,
) -> list[StoredRun]:
    """The recorded runs, oldest first; those of a dataset, judge or rubric where given."""
    query = _RUNS.order_by(_RUN.c.recorded_at, _RUN.c.key)
    wanted = (
        (_RUN.c.dataset, dataset),
        (_RUN.c.judge_digest, judge_digest),
        (_RUN.c.rubric_digest, rubric_digest),
    )
    for column, value in wanted:
        if value is not None:
            query = query.where(column == value)
    return [_stored_run(row) for row in session.connection().execute(query).mappings()]


_JUDGE = table_of(JudgeRow)
_RUN = table_of(JudgeRunRow)
_RUNS = sa.select(
    *(_RUN.c.key, _RUN.c.judge_digest, _RUN.c.rubric_digest, _RUN.c.dataset, _RUN.c.set_digest),
    *(_RUN.c.origin, _RUN.c.plan, _RUN.c.units, _RUN.c.state, _RUN.c.recorded_at),
)


def _update(session: Session, key: str, values: dict[str, Any]) -> None:
    get_run(session=session, key=key)
    session.connection().execute(_RUN.update().where(_RUN.c.key == key).values(**values))


def _stored(row: sa.RowMapping) -> StoredJudge:
    values = dict(row)
    values["content"] = read_json(
        values["content"], values.pop("content_digest"), f"judge {values['name']!r}"
    )
    return StoredJudge(**values)


def _stored_run(row: sa.RowMapping) -> StoredRun:
    return StoredRun(**{**row, "origin": RunOrigin(row["origin"]), "state": RunState(row["state"])})
