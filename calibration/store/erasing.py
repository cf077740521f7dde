"""Erasing what an item says, and what judges and raters wrote about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.assessments import AssessmentRow
from calibration.store.columns import table_of
from calibration.store.database import Store
from calibration.store.items import ItemRow, item_key
from calibration.store.payloads import Erased, erase_payload
from calibration.store.references import AdjudicationRow
from calibration.store.verdicts import VerdictRow
from rubrics.errors import RecordError

_ABOUT = (
    (table_of(VerdictRow), "reply_digest"),
    (table_of(AssessmentRow), "note_digest"),
    (table_of(AdjudicationRow), "reason_digest"),
)


@dataclass(frozen=True, slots=True)
class ItemErasure:
    """What an erase reached."""

    erased: tuple[Erased, ...]
    """The item's own text first, then replies, notes and reasons."""
    shared: int
    """Replies and notes left, since the same words were also said of other items."""


def erase_item(
    *, store: Store, dataset: str, item_id: str, reason: str, signer: str, at: datetime
) -> ItemErasure:
    """The tombstones of all that the store holds of the item's text.

    Digests, labels and verdicts stay, so every report can still be recomputed. On SQLite the bytes are
    gone from the file and its log when this returns. Not reached: backups, exports, and on PostgreSQL
    the dead rows until VACUUM and the server's own log.

    Raises:
        RecordError: the dataset has no such item.
        DeclarationError: no reason is given.
    """
    with store.write() as session:
        own = _own_text(session, dataset, item_id)
        about, shared = _texts_about(session, item_key(dataset, item_id))
        stones = [
            erase_payload(session=session, digest=digest, reason=reason, signer=signer, at=at)
            for digest in (own, *about)
        ]
    store.forget()
    return ItemErasure(tuple(stones), shared)


def _own_text(session: Session, dataset: str, item_id: str) -> str:
    item = table_of(ItemRow)
    query = sa.select(item.c.content_digest).where(item.c.key == item_key(dataset, item_id))
    found = session.connection().execute(query).scalar()
    if found is None:
        raise RecordError(
            f"dataset {dataset!r} has no item {item_id!r}; `voirdire items list` shows what it has"
        )
    return str(found)


def _texts_about(session: Session, key: str) -> tuple[list[str], int]:
    """The digests of texts written about this item only, and how many were written about others too."""
    connection = session.connection()
    alone: list[str] = []
    shared = 0
    for table, column in _ABOUT:
        digests = sa.select(table.c[column]).where(table.c.item_key == key, table.c[column].is_not(None))
        for digest in connection.execute(digests.distinct().order_by(table.c[column])).scalars().all():
            elsewhere = sa.select(sa.literal(1)).where(table.c[column] == digest, table.c.item_key != key)
            if connection.execute(elsewhere.limit(1)).first():
                shared += 1
            else:
                alone.append(digest)
    return alone, shared
