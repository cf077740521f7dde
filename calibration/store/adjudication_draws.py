"""Which cases were drawn for adjudication, with what probability: kept from raters and adjudicators.

A case is drawn by what a judge and the raters said, so that whoever may see why an item awaits
adjudication can tell the judge's verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.chain import append_event
from calibration.store.columns import Row, in_utc, table_of, text_column, time_column
from calibration.store.inserting import insert_one
from calibration.store.sessions import LabelingSessionRow
from calibration.store.text import content_digest, name, read_json, stored_json
from rubrics.digest import digest


class AdjudicationDrawRow(Row, table=True):
    """A probability sample of the cells of judge x raters, as it was drawn."""

    __tablename__ = "adjudication_draw"
    digest: str = text_column(primary_key=True)
    session_key: str = text_column(foreign_key=f"{LabelingSessionRow.__tablename__}.key")
    set_digest: str = text_column(foreign_key="calibration_set.digest")
    judge_digest: str = text_column(foreign_key="judge.digest")
    rubric_digest: str = text_column()
    criterion: str = text_column()
    content: str = text_column()
    content_digest: str = text_column()
    actor: str = text_column()
    recorded_at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class StoredDraw:
    """A recorded draw."""

    digest: str
    session_key: str
    set_digest: str
    judge_digest: str
    rubric_digest: str
    criterion: str
    content: Mapping[str, Any]
    """Seed, and the cells: judge's verdict, raters' label, cases, probability, the items that were drawn."""
    recorded_at: datetime


def add_draw(  # noqa: PLR0913 - keyword-only: what a draw is about, then who and when
    *,
    session: Session,
    session_key: str,
    set_digest: str,
    judge_digest: str,
    rubric_digest: str,
    criterion: str,
    content: Mapping[str, Any],
    actor: str,
    at: datetime,
) -> str:
    """The digest of the recorded draw; the same draw is recorded once."""
    about = (session_key, set_digest, judge_digest, rubric_digest, criterion)
    text = stored_json(dict(content))
    key = digest({"schema": "adjudication-draw/1", "about": about, "content": content_digest(text)})
    values = {
        "digest": key,
        "session_key": session_key,
        "set_digest": set_digest,
        "judge_digest": judge_digest,
        "rubric_digest": rubric_digest,
        "criterion": criterion,
        "content": text,
        "content_digest": content_digest(text),
        "actor": name(actor, "actor"),
        "recorded_at": in_utc(at),
    }
    if insert_one(session=session, row=AdjudicationDrawRow, values=values):
        what = {"digest": key, "content": content_digest(text)}
        append_event(
            session=session, stream="records", kind="adjudication.drawn", actor=actor, payload=what, at=at
        )
    return key


def draws_of(
    *, session: Session, set_digest: str, judge_digest: str, rubric_digest: str, criterion: str
) -> list[StoredDraw]:
    """The draws about a judge on a set under a criterion, oldest first."""
    table = table_of(AdjudicationDrawRow)
    query = sa.select(table).where(
        table.c.set_digest == set_digest,
        table.c.judge_digest == judge_digest,
        table.c.rubric_digest == rubric_digest,
        table.c.criterion == criterion,
    )
    rows = session.connection().execute(query.order_by(table.c.recorded_at, table.c.digest)).mappings()
    return [_stored(row) for row in rows]


def _stored(row: sa.RowMapping) -> StoredDraw:
    values = {key: value for key, value in row.items() if key != "actor"}
    values["content"] = read_json(values["content"], values.pop("content_digest"), "draw of adjudications")
    return StoredDraw(**values)
