"""Policies, reports, and the ledger of looks: what was asked of which evidence, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.assessments import AssessmentRow
from calibration.store.chain import append_event
from calibration.store.columns import Row, in_utc, one_of, table_of, text_column, time_column
from calibration.store.inserting import insert_one
from calibration.store.items import ItemRow, Scope
from calibration.store.judges import JudgeRunRow
from calibration.store.references import AdjudicationRow
from calibration.store.text import content_digest, name, read_json, stored_json
from calibration.store.verdicts import VerdictRow
from rubrics.errors import RecordError


class LookKind(StrEnum):
    """What was looked at."""

    REPORT = "report"
    DISAGREEMENTS = "disagreements"
    EXPORT = "export"


class Steered(StrEnum):
    """Whether what was seen went into a judge, prompt or rubric."""

    YES = "yes"
    NO = "no"
    PRESUMED = "presumed"


class PolicyRow(Row, table=True):
    """A policy, with the moment since which it is recorded."""

    __tablename__ = "policy"
    digest: str = text_column(primary_key=True)
    name: str = text_column(index=True)
    version: int
    content: str = text_column()
    content_digest: str = text_column()
    added_by: str = text_column()
    added_at: datetime = time_column()


class ReportRow(Row, table=True):
    """A report: what was found about one judge on one set by one policy's gate."""

    __tablename__ = "report"
    __table_args__ = (sa.Index("ix_report_judge_digest_criterion", "judge_digest", "criterion"),)
    digest: str = text_column(primary_key=True)
    input_digest: str = text_column(index=True)
    judge_digest: str = text_column(foreign_key="judge.digest")
    rubric_digest: str = text_column(foreign_key="rubric_version.digest")
    criterion: str = text_column()
    dataset: str = text_column()
    set_digest: str | None = text_column(foreign_key="calibration_set.digest")
    policy_digest: str | None = text_column(foreign_key="policy.digest")
    content: str = text_column()
    content_digest: str = text_column()
    recorded_at: datetime = time_column()


class LookRow(Row, table=True):
    """One look at the evidence; the same inputs are one look, however often they are shown."""

    __tablename__ = "look"
    __table_args__ = (one_of("kind", LookKind), one_of("steered", Steered))
    input_digest: str = text_column(primary_key=True)
    kind: str = text_column()
    set_digest: str | None = text_column(foreign_key="calibration_set.digest", index=True)
    judge_digest: str | None = text_column(foreign_key="judge.digest")
    rubric_digest: str | None = text_column(foreign_key="rubric_version.digest")
    criterion: str = text_column()
    policy_digest: str | None = text_column(foreign_key="policy.digest")
    report_digest: str | None = text_column(foreign_key="report.digest")
    actor: str = text_column()
    steered: str = text_column()
    at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A recorded policy."""

    digest: str
    name: str
    version: int
    content: Mapping[str, Any]
    added_by: str
    added_at: datetime
    """A set frozen before this moment can only be explored with the policy."""


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A recorded report."""

    digest: str
    input_digest: str
    judge_digest: str
    rubric_digest: str
    criterion: str
    dataset: str
    set_digest: str | None
    policy_digest: str | None
    content: Mapping[str, Any]
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class Look:
    """A look at the evidence."""

    input_digest: str
    """What makes it one look: for a report the digest of labels, verdicts, rubric, set and policy."""
    kind: LookKind
    criterion: str
    actor: str
    at: datetime
    set_digest: str | None = None
    judge_digest: str | None = None
    rubric_digest: str | None = None
    policy_digest: str | None = None
    report_digest: str | None = None
    steered: Steered = Steered.NO


def add_policy(
    *,
    session: Session,
    digest: str,
    policy_name: str,
    version: int,
    content: Mapping[str, Any],
    actor: str,
    at: datetime,
) -> bool:
    """True if the policy is now recorded, False if it already was; the first moment counts."""
    text = stored_json(dict(content))
    values = {
        "digest": digest,
        "name": name(policy_name, "policy"),
        "version": version,
        "content": text,
        "content_digest": content_digest(text),
        "added_by": name(actor, "actor"),
        "added_at": in_utc(at),
    }
    new = insert_one(session=session, row=PolicyRow, values=values)
    if new:
        what = {"policy": f"{policy_name}@{version}", "digest": digest, "content": values["content_digest"]}
        append_event(
            session=session, stream="records", kind="policy.recorded", actor=actor, payload=what, at=at
        )
    return new


def get_policy(*, session: Session, policy: str) -> StoredPolicy:
    """The policy with that digest, or the newest of that name or name@version.

    Raises:
        RecordError: there is none, or it was changed outside voirdire.
    """
    asked, _, version = policy.partition("@")
    query = sa.select(_POLICY).where(sa.or_(_POLICY.c.name == asked, _POLICY.c.digest == policy))
    if version.isdecimal():
        query = query.where(_POLICY.c.version == int(version))
    query = query.order_by(_POLICY.c.version.desc(), _POLICY.c.added_at.desc(), _POLICY.c.digest)
    row = session.connection().execute(query.limit(1)).mappings().first()
    if row is None:
        raise RecordError(f"no policy {policy!r} is recorded; run `voirdire policy add FILE`")
    return _policy(row)


def list_policies(*, session: Session) -> list[StoredPolicy]:
    """The recorded policies by name and version, the earliest first."""
    query = sa.select(_POLICY).order_by(
        _POLICY.c.name, _POLICY.c.version, _POLICY.c.added_at, _POLICY.c.digest
    )
    return [_policy(row) for row in session.connection().execute(query).mappings()]


def add_report(  # noqa: PLR0913 - keyword-only: what a report is bound to
    *,
    session: Session,
    digest: str,
    input_digest: str,
    judge_digest: str,
    rubric_digest: str,
    criterion: str,
    dataset: str,
    content: Mapping[str, Any],
    actor: str,
    at: datetime,
    set_digest: str | None = None,
    policy_digest: str | None = None,
) -> bool:
    """True if the report is now recorded, False if the same report was.

    Raises:
        RecordError: it names a judge, rubric, set or policy that is not recorded.
    """
    text = stored_json(dict(content))
    values = {
        "digest": digest,
        "input_digest": input_digest,
        "judge_digest": judge_digest,
        "rubric_digest": rubric_digest,
        "criterion": name(criterion, "criterion"),
        "dataset": name(dataset, "dataset"),
        "set_digest": set_digest,
        "policy_digest": policy_digest,
        "content": text,
        "content_digest": content_digest(text),
        "recorded_at": in_utc(at),
    }
    new = insert_one(session=session, row=ReportRow, values=values)
    if new:
        what = {"digest": digest, "inputs": input_digest, "content": values["content_digest"]}
        append_event(session=session, stream="records", kind="report.made", actor=actor, payload=what, at=at)
    return new


def get_report(*, session: Session, digest_prefix: str) -> StoredReport:
    """The one report whose digest begins so; raises RecordError where there is none, or several."""
    query = sa.select(_REPORT).where(_REPORT.c.digest.startswith(digest_prefix, autoescape=True)).limit(2)
    rows = session.connection().execute(query).mappings().all()
    if len(rows) != 1:
        many = "several reports begin" if rows else "no report begins"
        raise RecordError(f"{many} with {digest_prefix!r}; run `voirdire calibrate` to make one")
    return _report(rows[0])


def list_reports(
    *,
    session: Session,
    judge_digest: str | None = None,
    criterion: str | None = None,
    set_digest: str | None = None,
    dataset: str | None = None,
) -> list[StoredReport]:
    """The recorded reports, newest first; those of a judge, criterion, set or dataset where given."""
    query = sa.select(_REPORT).order_by(_REPORT.c.recorded_at.desc(), _REPORT.c.digest)
    wanted = (
        ("judge_digest", judge_digest),
        ("criterion", criterion),
        ("set_digest", set_digest),
        ("dataset", dataset),
    )
    for column, value in wanted:
        if value is not None:
            query = query.where(_REPORT.c[column] == value)
    return [_report(row) for row in session.connection().execute(query).mappings()]


def add_look(*, session: Session, look: Look) -> tuple[Look, bool]:
    """The look as recorded, and True if it is a new one.

    The same inputs give the look that is there, whoever looks and whenever. To be called in the
    transaction that makes the report, before a number is shown.
    """
    values = {field: getattr(look, field) for field in Look.__slots__}
    values |= {"kind": look.kind.value, "steered": look.steered.value, "at": in_utc(look.at)}
    values |= {"actor": name(look.actor, "actor"), "criterion": name(look.criterion, "criterion")}
    new = insert_one(session=session, row=LookRow, values=values, identity="input_digest")
    if new:
        what = {"inputs": look.input_digest, "kind": look.kind.value, "set": look.set_digest}
        what |= {"judge": look.judge_digest, "report": look.report_digest, "steered": look.steered.value}
        append_event(
            session=session, stream="looks", kind="look.taken", actor=look.actor, payload=what, at=look.at
        )
        return look, True
    row = session.connection().execute(sa.select(_LOOK).where(_LOOK.c.input_digest == look.input_digest))
    return _look(row.mappings().one()), False


def list_looks(
    *,
    session: Session,
    set_digest: str | None = None,
    criterion: str | None = None,
    judge_digest: str | None = None,
) -> list[Look]:
    """The looks taken, oldest first; those at a set, criterion or judge where given."""
    query = sa.select(_LOOK).order_by(_LOOK.c.at, _LOOK.c.input_digest)
    for column, value in (
        ("set_digest", set_digest),
        ("criterion", criterion),
        ("judge_digest", judge_digest),
    ):
        if value is not None:
            query = query.where(_LOOK.c[column] == value)
    return [_look(row) for row in session.connection().execute(query).mappings()]


def first_look(*, session: Session, input_digest: str) -> datetime | None:
    """When these very inputs were first looked at; None where nobody has."""
    query = sa.select(_LOOK.c.at).where(_LOOK.c.input_digest == input_digest)
    return session.connection().execute(query).scalar()


def evidence_between(
    *, session: Session, scope: Scope, about: tuple[str, str, str], after: datetime, until: datetime
) -> bool:
    """True where a label, adjudication or verdict was recorded after one moment and not after another.

    Args:
        session: a reading session.
        scope: which items.
        about: judge, rubric and criterion; labels are of any judge.
        after: the first moment, itself left out.
        until: the last moment, itself included.
    """
    judge, rubric, criterion = about
    run = table_of(JudgeRunRow)
    for row in (AssessmentRow, AdjudicationRow, VerdictRow):
        table, item = table_of(row), table_of(ItemRow)
        query = sa.select(sa.literal(1)).select_from(table.join(item, item.c.key == table.c.item_key))
        if row is VerdictRow:
            query = query.join(run, run.c.key == table.c.run_key)
            query = query.where(run.c.judge_digest == judge, run.c.rubric_digest == rubric)
        else:
            query = query.where(table.c.rubric_digest == rubric)
        query = scope.applied(query.where(table.c.criterion == criterion))
        query = query.where(table.c.recorded_at > in_utc(after), table.c.recorded_at <= in_utc(until))
        if session.connection().execute(query.limit(1)).first() is not None:
            return True
    return False


_POLICY, _REPORT, _LOOK = table_of(PolicyRow), table_of(ReportRow), table_of(LookRow)


def _policy(row: sa.RowMapping) -> StoredPolicy:
    values = dict(row)
    values["content"] = read_json(
        values["content"], values.pop("content_digest"), f"policy {values['name']!r}"
    )
    return StoredPolicy(**values)


def _report(row: sa.RowMapping) -> StoredReport:
    values = dict(row)
    values["content"] = read_json(
        values["content"], values.pop("content_digest"), f"report {values['digest'][:12]}"
    )
    return StoredReport(**values)


def _look(row: sa.RowMapping) -> Look:
    return Look(**{**row, "kind": LookKind(row["kind"]), "steered": Steered(row["steered"])})
