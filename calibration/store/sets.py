"""Calibration sets: which items were drawn, how, and when the list was frozen.

Kept from raters: a stratum may be a judge's verdict, and a design names the judge that screened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.chain import append_event
from calibration.store.columns import Row, in_utc, table_of, text_column, time_column
from calibration.store.inserting import Taken, batches, insert_one
from calibration.store.items import ItemIndex, ItemRef, ItemRow
from calibration.store.reading import stream
from calibration.store.text import content_digest, name, read_json, stored_json
from rubrics.digest import digest
from rubrics.errors import DeclarationError, DifferentRecord, RecordError
from rubrics.item import Split


class CalibrationSetRow(Row, table=True):
    """A drawn list of items with the design that drew it."""

    __tablename__ = "calibration_set"
    __table_args__ = (sa.UniqueConstraint("name", "version"),)
    digest: str = text_column(primary_key=True)
    name: str = text_column()
    version: int
    dataset: str = text_column()
    extends: str | None = text_column(foreign_key="calibration_set.digest")
    content: str = text_column()
    content_digest: str = text_column()
    recorded_at: datetime = time_column()


class SetMemberRow(Row, table=True):
    """An item of a set, with its stratum and how likely the design was to draw it."""

    __tablename__ = "set_member"
    __table_args__ = (
        sa.CheckConstraint("inclusion_probability > 0 AND inclusion_probability <= 1", name="inclusion"),
    )
    set_digest: str = text_column(primary_key=True, foreign_key="calibration_set.digest")
    item_key: str = text_column(primary_key=True, foreign_key="item.key")
    position: int
    stratum: str | None = text_column()
    inclusion_probability: float | None


class SetFreezeRow(Row, table=True):
    """The moment from which a set is what it is; policies recorded later are exploratory."""

    __tablename__ = "set_freeze"
    set_digest: str = text_column(primary_key=True, foreign_key="calibration_set.digest")
    actor: str = text_column()
    content: str = text_column()
    frozen_at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class MemberEntry:
    """An item as it was drawn."""

    item_id: str
    stratum: str | None = None
    inclusion_probability: float | None = None
    """In (0, 1]; None where the design gives none (a convenience set)."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a recorded set."""

    item_key: str
    item_id: str
    content_digest: str
    group: str
    split: Split
    stratum: str | None
    inclusion_probability: float | None


@dataclass(frozen=True, slots=True)
class StoredSet:
    """A recorded set without its members."""

    digest: str
    name: str
    version: int
    dataset: str
    extends: str | None
    """Digest of the set that this one tops up."""
    content: Mapping[str, Any]
    """The design: its kind, seed, strata, evidence grade, as the drawing recorded them."""
    recorded_at: datetime
    frozen_at: datetime | None
    """None while it may still be redrawn under a further version."""

    @property
    def ref(self) -> str:
        """name@version."""
        return f"{self.name}@{self.version}"


def add_set(  # noqa: PLR0913 - keyword-only: what identifies a set, then who and when
    *,
    session: Session,
    set_name: str,
    version: int,
    dataset: str,
    content: Mapping[str, Any],
    members: Sequence[MemberEntry],
    actor: str,
    at: datetime,
    extends: str | None = None,
) -> str:
    """The digest of the recorded set: of its name, design and members with their texts.

    Args:
        session: a writing session.
        set_name: how people call it.
        version: 1 for the first, one more for each top-up.
        dataset: where its items are.
        content: the design as JSON: kind, seed, strata, evidence grade.
        members: in the order drawn.
        actor: who drew it.
        at: when.
        extends: digest of the set that this one tops up.

    Raises:
        DifferentRecord: name and version are taken by another list or design.
        RecordError: the dataset has no such item.
        DeclarationError: no member, or one twice.
    """
    _distinct(set_name, members)
    refs = ItemIndex(session, dataset).refs(each.item_id for each in members)
    drawn = [_drawn(each, ref.content_digest) for each, ref in zip(members, refs, strict=True)]
    text = stored_json(dict(content))
    set_digest = _digest((set_name, version, dataset, extends, content_digest(text)), drawn)
    values = {
        "digest": set_digest,
        "name": name(set_name, "set"),
        "version": version,
        "dataset": dataset,
        "extends": extends,
        "content": text,
        "content_digest": content_digest(text),
        "recorded_at": in_utc(at),
    }
    try:
        new = insert_one(session=session, row=CalibrationSetRow, values=values)
    except Taken:
        raise DifferentRecord(
            f"the set {set_name}@{version} is recorded with other members or another design:"
            " draw it under another name, or top it up as the next version"
        ) from None
    if new:
        _insert_members(session, set_digest, members, refs)
        what = {"set": f"{set_name}@{version}", "digest": set_digest, "members": len(members)}
        append_event(session=session, stream="records", kind="set.drawn", actor=actor, payload=what, at=at)
    return set_digest


def freeze_set(
    *, session: Session, set_digest: str, actor: str, at: datetime, content: Mapping[str, Any] | None = None
) -> datetime:
    """The moment since which the set is frozen: now, or earlier if it already was.

    Args:
        session: a writing session.
        set_digest: from add_set().
        actor: who freezes it.
        at: now.
        content: what was found at freezing, such as strata that fell short; JSON.
    """
    table = table_of(SetFreezeRow)
    query = sa.select(table.c.frozen_at).where(table.c.set_digest == set_digest)
    values = {
        "set_digest": set_digest,
        "actor": name(actor, "actor"),
        "content": stored_json(dict(content or {})),
        "frozen_at": in_utc(at),
    }
    new = insert_one(session=session, row=SetFreezeRow, values=values, identity="set_digest")
    if new:
        append_event(
            session=session,
            stream="records",
            kind="set.frozen",
            actor=actor,
            payload={"digest": set_digest},
            at=at,
        )
    moment: datetime = session.connection().execute(query).scalar_one()
    return moment


def get_set(*, session: Session, set_name: str, version: int | None = None) -> StoredSet:
    """The recorded set of the name: that version, or the newest; raises RecordError where there is none."""
    query = _SETS.where(_SET.c.name == set_name).order_by(_SET.c.version.desc()).limit(1)
    if version is not None:
        query = query.where(_SET.c.version == version)
    row = session.connection().execute(query).mappings().first()
    if row is None:
        asked = set_name if version is None else f"{set_name}@{version}"
        raise RecordError(f"no set {asked!r} is recorded; `voirdire set list` shows which are")
    return _stored(row)


def get_set_by_digest(*, session: Session, digest: str) -> StoredSet:
    """The recorded set with the digest; raises RecordError where there is none."""
    row = session.connection().execute(_SETS.where(_SET.c.digest == digest)).mappings().first()
    if row is None:
        raise RecordError(
            f"no set with the digest {digest!r} is recorded; `voirdire set list` shows which are"
        )
    return _stored(row)


def list_sets(*, session: Session, dataset: str | None = None) -> list[StoredSet]:
    """The recorded sets, of one dataset or of all, by name, then version."""
    query = _SETS.order_by(_SET.c.name, _SET.c.version)
    if dataset is not None:
        query = query.where(_SET.c.dataset == dataset)
    return [_stored(row) for row in session.connection().execute(query).mappings()]


def iter_members(*, session: Session, set_digest: str) -> Iterator[Member]:
    """The members of the set in the order drawn."""
    member, item = table_of(SetMemberRow), table_of(ItemRow)
    query = (
        sa.select(
            *(item.c.key, item.c.item_id, item.c.content_digest, item.c.group_name, item.c.split),
            *(member.c.stratum, member.c.inclusion_probability),
        )
        .join_from(member, item)
        .where(member.c.set_digest == set_digest)
        .order_by(member.c.position)
    )
    for key, item_id, content, group, split, stratum, probability in stream(session, query):
        yield Member(key, item_id, content, group, Split(split), stratum, probability)


def recomputed_set_digest(*, session: Session, digest: str) -> str:
    """The digest of the set with what is now stored of it; another one if anything was changed."""
    row = session.connection().execute(sa.select(_SET).where(_SET.c.digest == digest)).mappings().one()
    drawn = [
        [each.item_id, each.content_digest, each.stratum, each.inclusion_probability]
        for each in iter_members(session=session, set_digest=digest)
    ]
    header = (row["name"], row["version"], row["dataset"], row["extends"], content_digest(row["content"]))
    return _digest(header, drawn)


_SET = table_of(CalibrationSetRow)
_FREEZE = table_of(SetFreezeRow)
_SETS = sa.select(_SET, _FREEZE.c.frozen_at).join_from(_SET, _FREEZE, isouter=True)


def _stored(row: sa.RowMapping) -> StoredSet:
    values = dict(row)
    values["content"] = read_json(values["content"], values.pop("content_digest"), f"set {values['name']}")
    return StoredSet(**values)


def _drawn(member: MemberEntry, content: str) -> list[str | float | None]:
    probability = member.inclusion_probability
    return [member.item_id, content, member.stratum, None if probability is None else float(probability)]


def _insert_members(
    session: Session, set_digest: str, members: Sequence[MemberEntry], refs: Sequence[ItemRef]
) -> None:
    rows = (
        {
            "set_digest": set_digest,
            "item_key": ref.key,
            "position": position,
            "stratum": name(each.stratum, "stratum") if each.stratum is not None else None,
            "inclusion_probability": each.inclusion_probability,
        }
        for position, (each, ref) in enumerate(zip(members, refs, strict=True))
    )
    for batch in batches(rows):
        session.connection().execute(table_of(SetMemberRow).insert(), batch)


def _digest(header: tuple[str, int, str, str | None, str], drawn: list[list[str | float | None]]) -> str:
    return digest({"schema": "calibration-set/1", "set": header, "members": drawn})


def _distinct(set_name: str, members: Iterable[MemberEntry]) -> None:
    seen: set[str] = set()
    for each in members:
        if each.item_id in seen:
            raise DeclarationError(f"item {each.item_id!r} is twice in the set {set_name!r}; list it once")
        seen.add(each.item_id)
    if not seen:
        raise DeclarationError(f"the set {set_name!r} has no member; draw at least one item")
