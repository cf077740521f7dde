"""Items, and the scope that every query of evidence is limited to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.columns import (
    Row,
    in_utc,
    one_of,
    row_digest,
    row_key,
    table_of,
    text_column,
    time_column,
)
from calibration.store.inserting import Added, add_records, batches
from calibration.store.payloads import Erased, Payload, StoredText, payload, put_payloads, read_payloads
from calibration.store.reading import Query, stream
from calibration.store.text import item_id as checked_id
from calibration.store.text import name, stored_json
from rubrics.errors import DifferentRecord, RecordError
from rubrics.item import Item, Split
from rubrics.record import normalise_text

ITEM_STATES = (
    "dataset",
    "item_id",
    "content_digest",
    "group_name",
    "tags",
    "split",
    "system",
    "model_family",
)
"""The columns that make the digest of an item's row."""


class ItemRow(Row, table=True):
    """One item; its texts lie in item_payload."""

    __tablename__ = "item"
    __table_args__ = (sa.UniqueConstraint("dataset", "item_id"), one_of("split", Split))
    key: str = text_column(primary_key=True)
    digest: str = text_column(unique=True)
    dataset: str = text_column()
    item_id: str = text_column()
    content_digest: str = text_column(foreign_key="item_payload.digest", index=True)
    group_name: str = text_column()
    tags: str = text_column()
    split: str = text_column()
    system: str = text_column()
    model_family: str = text_column()
    position: int
    """Order in which items of the dataset came; not part of what the row states."""
    import_key: str | None = text_column(foreign_key="import_file.key")
    recorded_at: datetime = time_column()


_SET_MEMBER = sa.table("set_member", sa.column("set_digest"), sa.column("item_key"))
# By name: whoever may see which items a set holds may not see its strata (calibration.store.sets).


@dataclass(frozen=True, slots=True)
class Scope:
    """Which items a query is about: a dataset or a part of it, or the members of a set."""

    dataset: str | None = None
    split: Split | None = None
    set_digest: str | None = None

    def __post_init__(self) -> None:
        if (self.dataset is None) == (self.set_digest is None):
            raise ValueError(f"a scope is a dataset or a set, not both or neither: {self}")

    def applied(self, query: Query) -> Query:
        """The query, which selects from or joins `item`, limited to the scope."""
        item = table_of(ItemRow)
        if self.set_digest is not None:
            members = sa.select(_SET_MEMBER.c.item_key).where(_SET_MEMBER.c.set_digest == self.set_digest)
            query = query.where(item.c.key.in_(members))
        if self.dataset is not None:
            query = query.where(item.c.dataset == self.dataset)
        return query.where(item.c.split == self.split.value) if self.split else query


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item without its texts: enough to count, to cluster and to slice."""

    key: str
    item_id: str
    content_digest: str
    group: str
    tags: Mapping[str, str]
    split: Split
    system: str
    model_family: str


@dataclass(frozen=True, slots=True)
class ErasedItem:
    """An item whose texts were erased; its labels and verdicts stay."""

    item_id: str
    erased: Erased


def item_key(dataset: str, item_id: str) -> str:
    """The key of an item, made from its dataset and id."""
    return row_key("item", dataset, item_id)


def add_items(
    *,
    session: Session,
    dataset: str,
    items: Iterable[Item],
    at: datetime,
    import_key: str | None = None,
    originals: Mapping[str, bytes] | None = None,
    strict: bool = True,
) -> Added:
    """What became of the items: added, already there, or there with other content.

    Args:
        session: a writing session.
        dataset: the dataset they belong to; ids are unique within it.
        items: read one by one.
        at: when.
        import_key: from record_import().
        originals: by item id, payloads.raw_of(the item's content before its texts were normalised).
        strict: raise at the first difference instead of listing it in `different`.

    Raises:
        DifferentRecord: an id of the dataset is recorded with other texts, group, tags or split.
    """
    name(dataset, "dataset")
    common = {"dataset": dataset, "import_key": import_key, "recorded_at": in_utc(at)}
    positions = count(count_items(session=session, scope=Scope(dataset=dataset)))

    def rows_of(batch: Sequence[Item]) -> list[dict[str, Any]]:
        contents = [payload(item_content(each), raw=(originals or {}).get(each.item_id)) for each in batch]
        put_payloads(session=session, payloads=contents)
        return [
            _row(item, content, {**common, "position": next(positions)})
            for item, content in zip(batch, contents, strict=True)
        ]

    def refusal(_item: Item, row: Mapping[str, Any], position: int) -> DifferentRecord:
        return _different(session, row, position)

    return add_records(
        session=session, row=ItemRow, records=items, rows_of=rows_of, refusal=refusal if strict else None
    )


def item_content(item: Item) -> dict[str, Any]:
    """What judge and rater are shown of an item, in the form whose digest is item.content_digest."""
    shown = {key: getattr(item, key) for key in ("input", "output", "output_a", "output_b")}
    texts = {key: text for key, text in shown.items() if text is not None}
    return {"schema": "item/1", **texts, "evidence": dict(item.evidence)}


def count_items(*, session: Session, scope: Scope) -> int:
    """How many items the scope holds."""
    query = scope.applied(sa.select(sa.func.count()).select_from(table_of(ItemRow)))
    return int(session.connection().execute(query).scalar_one())


def list_datasets(*, session: Session) -> list[tuple[str, int]]:
    """Each dataset with its number of items, by name."""
    table = table_of(ItemRow)
    query = sa.select(table.c.dataset, sa.func.count()).group_by(table.c.dataset).order_by(table.c.dataset)
    return [(dataset, count) for dataset, count in session.connection().execute(query)]


def iter_items(*, session: Session, scope: Scope) -> Iterator[StoredItem]:
    """The items of the scope without their texts, in the order in which they came."""
    table = table_of(ItemRow)
    query = scope.applied(_WITHOUT_TEXT).order_by(table.c.position, table.c.item_id)
    for row in stream(session, query):
        yield _stored(row)


def iter_full_items(*, session: Session, scope: Scope) -> Iterator[Item | ErasedItem]:
    """The items of the scope with their texts, in the order in which they came.

    Raises:
        RecordError: a text was changed outside voirdire.
    """
    for batch in batches(iter_items(session=session, scope=scope)):
        texts = read_payloads(session=session, digests=[each.content_digest for each in batch])
        for each in batch:
            yield _full(each, texts[each.content_digest])


def item_keys(*, session: Session, scope: Scope) -> list[str]:
    """The keys of the items in the scope, in the order in which they came."""
    table = table_of(ItemRow)
    query = scope.applied(sa.select(table.c.key)).order_by(table.c.position, table.c.item_id)
    return list(session.connection().execute(query).scalars())


def read_items(*, session: Session, keys: Sequence[str]) -> list[tuple[str, Item | ErasedItem]]:
    """Each of the items by its key, with its texts, in the order of the keys; an unknown key is absent.

    Raises:
        RecordError: a text was changed outside voirdire.
    """
    return [(ref.key, item) for ref, item in read_bound_items(session=session, keys=keys)]


def read_bound_items(*, session: Session, keys: Sequence[str]) -> list[tuple[ItemRef, Item | ErasedItem]]:
    """As read_items(), each with what a verdict on it is bound to, so that no digest is made again."""
    rows = session.connection().execute(_BY_KEY, {"keys": list(keys)}).all()
    found = {row.key: _stored(row) for row in rows}
    texts = read_payloads(session=session, digests=[each.content_digest for each in found.values()])
    known = [found[key] for key in keys if key in found]
    return [
        (ItemRef(each.key, each.content_digest), _full(each, texts[each.content_digest])) for each in known
    ]


def get_item(*, session: Session, dataset: str, item_id: str) -> Item | ErasedItem:
    """One item with its texts; raises RecordError where the dataset has no such id."""
    query = _WITHOUT_TEXT.where(table_of(ItemRow).c.key == item_key(dataset, item_id))
    row = session.connection().execute(query).first()
    if row is None:
        raise RecordError(
            f"dataset {dataset!r} has no item {item_id!r}; `voirdire items list` shows what it has"
        )
    stored = _stored(row)
    text = read_payloads(session=session, digests=[stored.content_digest])[stored.content_digest]
    return _full(stored, text)


def item_ids(*, session: Session, scope: Scope) -> set[str]:
    """The ids in the scope: what a file of labels or verdicts can be joined to."""
    query = scope.applied(sa.select(table_of(ItemRow).c.item_id))
    return set(session.connection().execute(query).scalars())


@dataclass(frozen=True, slots=True)
class ItemRef:
    """What a label or verdict is bound to: the item and the very text that was seen."""

    key: str
    content_digest: str


def ref_of_key(*, session: Session, key: str) -> tuple[str, ItemRef]:
    """The id of the item with the key, and what a label is bound to, without its texts."""
    query = sa.select(_COLUMNS.item_id, _COLUMNS.content_digest).where(_COLUMNS.key == key)
    item_id, content = session.connection().execute(query).one()
    return item_id, ItemRef(key, content)


class ItemIndex:
    """Item ids of one dataset, joined exactly; each is looked up once."""

    def __init__(self, session: Session, dataset: str) -> None:
        self._session = session
        self._dataset = dataset
        self._known: dict[str, ItemRef] = {}

    def refs(self, ids: Iterable[str]) -> list[ItemRef]:
        """The items of the ids, in their order.

        Raises:
            RecordError: the dataset has no item of that id; all that are missing are counted.
        """
        asked = list(ids)
        new = [each for each in dict.fromkeys(asked) if each not in self._known]
        for batch in batches(new):
            self._look_up(batch)
        missing = [each for each in new if each not in self._known]
        if missing:
            raise RecordError(
                f"dataset {self._dataset!r} has no item {missing[0]!r}"
                + (f" (nor {len(missing) - 1} more of the ids given)" if len(missing) > 1 else "")
                + ": ids are joined exactly; import its items first, or correct the ids"
            )
        return [self._known[each] for each in asked]

    def _look_up(self, ids: list[str]) -> None:
        keys = {item_key(self._dataset, each): each for each in ids}
        query = sa.select(_COLUMNS.key, _COLUMNS.content_digest).where(_COLUMNS.key.in_(list(keys)))
        for key, content in self._session.connection().execute(query):
            self._known[keys[key]] = ItemRef(key, content)


_COLUMNS = table_of(ItemRow).c
_WITHOUT_TEXT = sa.select(
    _COLUMNS.key,
    _COLUMNS.item_id,
    _COLUMNS.content_digest,
    _COLUMNS.group_name,
    _COLUMNS.tags,
    _COLUMNS.split,
    _COLUMNS.system,
    _COLUMNS.model_family,
)
_BY_KEY = _WITHOUT_TEXT.where(_COLUMNS.key.in_(sa.bindparam("keys", expanding=True)))


_SPLITS = {each.value: each for each in Split}


def _stored(row: Sequence[Any]) -> StoredItem:
    key, item_id, content, group, tags, split, system, family = row
    said = {} if tags == "{}" else json.loads(tags)
    return StoredItem(key, item_id, content, group, said, _SPLITS[split], system, family)


def _full(stored: StoredItem, text: StoredText | Erased) -> Item | ErasedItem:
    if isinstance(text, Erased):
        return ErasedItem(stored.item_id, text)
    texts = {key: value for key, value in text.content.items() if key != "schema"}
    return Item(
        item_id=stored.item_id,
        group=stored.group,
        tags=stored.tags,
        split=stored.split,
        system=stored.system,
        model_family=stored.model_family,
        **texts,
    )


def _row(item: Item, content: Payload, common: Mapping[str, Any]) -> dict[str, Any]:
    values = {
        **common,
        "key": item_key(common["dataset"], item.item_id),
        "item_id": checked_id(item.item_id),
        "content_digest": content.digest,
        "group_name": checked_id(item.group),
        "tags": stored_json(dict(item.tags)),
        "split": item.split.value,
        "system": normalise_text(item.system),
        "model_family": normalise_text(item.model_family),
    }
    return {**values, "digest": row_digest(values, ITEM_STATES)}


def _different(session: Session, row: Mapping[str, Any], position: int) -> DifferentRecord:
    table = table_of(ItemRow)
    there = session.connection().execute(sa.select(table).where(table.c.key == row["key"])).mappings().one()
    changed = ", ".join(_SAID[column] for column in _SAID if there[column] != row[column])
    return DifferentRecord(
        f"item {row['item_id']!r} of dataset {row['dataset']!r} is recorded with another {changed}:"
        " give the changed item another id, or import it into another dataset",
        position=position,
    )


_SAID = {
    "content_digest": "text (input, output or evidence)",
    "group_name": "group",
    "tags": "tags",
    "split": "split",
    "system": "system",
    "model_family": "model_family",
}
