"""Personal text, apart from everything that refers to it: the one table whose content can be erased.

What an item says, what a judge replied and what a rater noted lie here under the digest of their
content. Erasing leaves a tombstone with reason and signer and an audit event; digests, labels and
verdicts stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field, Session

from calibration.store.chain import append_event
from calibration.store.columns import Row, in_utc, table_of, text_column, time_column
from calibration.store.inserting import batches, insert_many
from calibration.store.text import content_digest, name, normalised
from rubrics.digest import canonical_json
from rubrics.errors import DeclarationError, RecordError
from rubrics.record import normalise_text, raw_bytes

_NUL = "\\u0000"
"""What JSON makes of one; a text that only spells it is looked at twice."""
_HALF = re.compile("[\ud800-\udfff]")


class ItemPayloadRow(Row, table=True):
    """A text by its digest, or the tombstone of one."""

    __tablename__ = "item_payload"
    __table_args__ = (
        sa.CheckConstraint("(text IS NULL) = (erased_at IS NOT NULL)", name="text_or_tombstone"),
        sa.CheckConstraint(
            "erased_at IS NULL OR (raw IS NULL AND erased_by <> '' AND erase_reason <> '')", name="tombstone"
        ),
    )
    digest: str = text_column(primary_key=True)
    text: str | None = text_column(default=None)
    raw: bytes | None = Field(default=None, sa_type=sa.LargeBinary)
    erased_at: datetime | None = time_column(default=None)
    erased_by: str | None = text_column(default=None)
    erase_reason: str | None = text_column(default=None)


@dataclass(frozen=True, slots=True)
class Payload:
    """A text ready to be stored."""

    digest: str
    text: str
    """Canonical JSON of the normalised content."""
    raw: bytes | None
    """The canonical JSON of the original as bytes, where normalising changed it."""


@dataclass(frozen=True, slots=True)
class StoredText:
    """A text as it was recorded."""

    digest: str
    content: Any
    """What judge and rater are shown: normalised."""
    raw: bytes | None = None

    @property
    def original(self) -> Any:
        """The content as it came in, NUL and lone surrogates included."""
        return self.content if self.raw is None else json.loads(self.raw.decode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class Erased:
    """What is left of a text that was erased."""

    digest: str
    at: datetime
    by: str
    reason: str


def payload(content: Any, *, raw: bytes | None = None) -> Payload:
    """The content as it will be stored; its digest is that of the normalised content.

    Args:
        content: any JSON value.
        raw: raw_of(the original) where the content was normalised before it came here.
    """
    text = canonical_json(content)
    whole = _NUL not in text and (text.isascii() or not _HALF.search(text))
    if raw is None and whole:  # nearly always: nothing to change, so nothing to walk
        return Payload(content_digest(text), text, None)
    clean = normalised(content)
    text = canonical_json(clean)
    if raw is None and clean != content:
        raw = raw_of(content)
    return Payload(content_digest(text), text, raw if raw != text.encode() else None)


def raw_of(original: Any) -> bytes:
    """The bytes that keep an original whole, whatever characters it holds."""
    return raw_bytes(canonical_json(original))


def put_payloads(*, session: Session, payloads: Iterable[Payload]) -> int:
    """How many of the texts are new; a text that was erased stays erased."""
    rows = ({"digest": each.digest, "text": each.text, "raw": each.raw} for each in payloads)
    return insert_many(session=session, row=ItemPayloadRow, rows=rows).added


def read_payloads(*, session: Session, digests: Collection[str]) -> dict[str, StoredText | Erased]:
    """The texts by digest; an unknown digest is absent.

    Raises:
        RecordError: a text is not the one that its digest names.
    """
    found: dict[str, StoredText | Erased] = {}
    for batch in batches(dict.fromkeys(digests)):
        for row in session.connection().execute(_BY_DIGEST, {"digests": batch}).all():
            found[row.digest] = _read(row)
    return found


def erase_payload(*, session: Session, digest: str, reason: str, signer: str, at: datetime) -> Erased:
    """The tombstone that now stands for the text; an earlier one is left as it was.

    The event in the audit trail belongs to the same transaction. On SQLite the bytes are overwritten
    in the file; copies in backups, exports and in PostgreSQL's dead rows are not reached (README).

    Raises:
        RecordError: no text has this digest.
        DeclarationError: no reason is given.
    """
    if not reason.strip():
        raise DeclarationError("an erase needs a reason: say who asked for it and why")
    there = read_payloads(session=session, digests=[digest]).get(digest)
    if there is None:
        raise RecordError(
            f"no text is stored under {digest!r}; `voirdire items show` prints the digest of an item"
        )
    if isinstance(there, Erased):
        return there
    stone = Erased(digest, in_utc(at), name(signer, "signer"), normalise_text(reason))
    table = table_of(ItemPayloadRow)
    session.connection().execute(
        table.update()
        .where(table.c.digest == digest)
        .values(text=None, raw=None, erased_at=stone.at, erased_by=stone.by, erase_reason=stone.reason)
    )
    append_event(
        session=session,
        stream="erasure",
        kind="payload.erased",
        actor=signer,
        payload={"digest": digest, "reason": stone.reason},
        at=at,
    )
    return stone


_BY_DIGEST = sa.select(table_of(ItemPayloadRow)).where(
    table_of(ItemPayloadRow).c.digest.in_(sa.bindparam("digests", expanding=True))
)


def _read(row: sa.Row[Any]) -> StoredText | Erased:
    if row.text is None:
        return Erased(row.digest, row.erased_at, row.erased_by, row.erase_reason)
    if content_digest(row.text) != row.digest:
        raise RecordError(
            f"the text stored under {row.digest[:12]} is not the one that its digest names: it was changed"
            " outside voirdire; run `voirdire db check` and restore a backup"
        )
    return StoredText(row.digest, json.loads(row.text), row.raw)
