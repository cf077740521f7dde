"""Published rubric versions and their criteria."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import sqlalchemy as sa
from sqlmodel import Field, Session

from calibration.store.chain import append_event
from calibration.store.columns import SCALES, Row, in_utc, one_of, table_of, text_column, time_column
from calibration.store.inserting import Taken, insert_one
from calibration.store.text import stored_json
from rubrics.criterion import JudgeRole
from rubrics.errors import DeclarationError, DifferentRecord, RecordError
from rubrics.record import shown
from rubrics.rubric import Rubric, RubricRef
from rubrics.verdict import Verdict


class RubricVersionRow(Row, table=True):
    """A published rubric; what it says never changes."""

    __tablename__ = "rubric_version"
    __table_args__ = (sa.UniqueConstraint("name", "version"),)
    digest: str = text_column(primary_key=True)
    name: str = text_column()
    version: int
    content: str = text_column()
    recorded_at: datetime = time_column()


class CriterionRow(Row, table=True):
    """A criterion of a rubric version, with what queries ask of it."""

    __tablename__ = "criterion"
    __table_args__ = (one_of("role", JudgeRole), one_of("scale", SCALES))
    rubric_digest: str = text_column(primary_key=True, foreign_key="rubric_version.digest")
    key: str = text_column(primary_key=True)
    digest: str = text_column()
    """Of the criterion alone: equal where another version asks it in the same words."""
    position: int
    role: str = text_column()
    scale: str = text_column()
    required: bool = Field(sa_type=sa.Boolean)


def add_rubric(*, session: Session, rubric: Rubric, actor: str, at: datetime) -> bool:
    """True if the rubric is now published, False if this very content was already.

    Raises:
        DifferentRecord: its name and version are taken by other content.
    """
    values = {
        "digest": rubric.digest,
        "name": rubric.name,
        "version": rubric.version,
        "content": stored_json(rubric.model_dump(mode="json", exclude_defaults=True)),
        "recorded_at": in_utc(at),
    }
    try:
        new = insert_one(session=session, row=RubricVersionRow, values=values)
    except Taken:
        raise DifferentRecord(
            f"{rubric.ref} is published with other content ({_taken_digest(session, rubric)[:12]}):"
            f" publish this text as {rubric.name}@{_next_version(session, rubric.name)}"
        ) from None
    if new:
        session.connection().execute(table_of(CriterionRow).insert(), _criteria(rubric))
        append_event(
            session=session,
            stream="records",
            kind="rubric.published",
            actor=actor,
            payload={"rubric": rubric.ref, "digest": rubric.digest},
            at=at,
        )
    return new


def get_rubric(*, session: Session, name: str, version: int | None = None) -> Rubric:
    """The published rubric of the name: that version, or the newest.

    Raises:
        RecordError: there is none, or its content was changed outside voirdire.
    """
    table = table_of(RubricVersionRow)
    query = sa.select(table).where(table.c.name == name).order_by(table.c.version.desc()).limit(1)
    if version is not None:
        query = query.where(table.c.version == version)
    row = session.connection().execute(query).mappings().first()
    if row is None:
        asked = name if version is None else f"{name}@{version}"
        raise RecordError(f"no rubric {asked!r} is published; `voirdire rubric list` shows which are")
    return _read(row)


def get_rubric_by_digest(*, session: Session, digest: str) -> Rubric:
    """The published rubric with the digest; raises RecordError as get_rubric() does."""
    table = table_of(RubricVersionRow)
    row = session.connection().execute(sa.select(table).where(table.c.digest == digest)).mappings().first()
    if row is None:
        raise RecordError(
            f"no rubric with the digest {digest!r} is published; `voirdire rubric list` shows which are"
        )
    return _read(row)


def list_rubrics(*, session: Session) -> list[tuple[RubricRef, str]]:
    """Name, version and digest of every published rubric, by name, then version."""
    table = table_of(RubricVersionRow)
    query = sa.select(table.c.name, table.c.version, table.c.digest).order_by(table.c.name, table.c.version)
    return [
        (RubricRef(name, version), digest) for name, version, digest in session.connection().execute(query)
    ]


@dataclass(frozen=True, slots=True)
class AnswerSpace:
    """What may be answered under a criterion."""

    scale: str
    """binary, ordinal or preference."""
    answers: frozenset[str]
    """The answers of the scale, and unknown."""


def answer_spaces(*, session: Session, rubric_digest: str) -> dict[str, AnswerSpace]:
    """What may be answered under each criterion of a published rubric.

    Raises:
        RecordError: no rubric has the digest.
    """
    rubric = get_rubric_by_digest(session=session, digest=rubric_digest)
    return {
        each.key: AnswerSpace(each.scale.kind, frozenset({*each.answers, Verdict.UNKNOWN.value}))
        for each in rubric.criteria
    }


def fitting_scale(spaces: Mapping[str, AnswerSpace], criterion: str, answer: str) -> str:
    """The scale on which the answer was given.

    Raises:
        DeclarationError: the rubric has no such criterion, or its scale no such answer.
    """
    space = spaces.get(criterion)
    if space is None:
        raise DeclarationError(f"the rubric has no criterion {shown(criterion)}; it has {', '.join(spaces)}")
    if answer not in space.answers:
        allowed = ", ".join(sorted(space.answers))
        raise DeclarationError(f"{shown(answer)} is no answer under {criterion!r}; allowed: {allowed}")
    return space.scale


def _criteria(rubric: Rubric) -> list[dict[str, object]]:
    return [
        {
            "rubric_digest": rubric.digest,
            "key": criterion.key,
            "digest": criterion.digest,
            "position": position,
            "role": criterion.role.value,
            "scale": criterion.scale.kind,
            "required": criterion.required,
        }
        for position, criterion in enumerate(rubric.criteria)
    ]


def _read(row: sa.RowMapping) -> Rubric:
    return _parsed(row["content"], row["digest"])


@lru_cache(maxsize=32)  # every label and verdict asks for its rubric, which never changes
def _parsed(content: str, digest: str) -> Rubric:
    rubric = Rubric.model_validate(json.loads(content))
    if rubric.digest != digest:
        raise RecordError(
            f"the stored rubric {rubric.ref} is not the one that its digest names: it was"
            " changed outside voirdire; run `voirdire db check` and restore a backup"
        )
    return rubric


def _taken_digest(session: Session, rubric: Rubric) -> str:
    table = table_of(RubricVersionRow)
    query = sa.select(table.c.digest).where(table.c.name == rubric.name, table.c.version == rubric.version)
    return str(session.connection().execute(query).scalar_one())


def _next_version(session: Session, name: str) -> int:
    table = table_of(RubricVersionRow)
    query = sa.select(sa.func.max(table.c.version)).where(table.c.name == name)
    return int(session.connection().execute(query).scalar_one()) + 1
