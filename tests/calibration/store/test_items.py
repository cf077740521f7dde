"""Rubrics, items and imports are recorded once and read back whole, on both databases."""

from __future__ import annotations

from typing import Any

import pytest

from calibration.store.chain import events
from calibration.store.database import Store
from calibration.store.imports import record_import, seal_import
from calibration.store.items import (
    Scope,
    add_items,
    count_items,
    get_item,
    item_content,
    item_ids,
    iter_full_items,
    iter_items,
    list_datasets,
)
from calibration.store.rubrics import add_rubric, get_rubric, get_rubric_by_digest, list_rubrics
from rubrics.digest import digest
from rubrics.errors import DifferentRecord, RecordError
from rubrics.item import Item, Split
from tests.calibration.store.evidence import (
    DATASET,
    NOW,
    ids,
    item,
    later,
    rubric,
)

ALL = Scope(dataset=DATASET)


def test_a_rubric_is_published_once_and_read_back(store: Store) -> None:
    """The same text twice is one rubric; it comes back equal, newest version first."""
    with store.write() as session:
        assert add_rubric(session=session, rubric=rubric(), actor="lead", at=NOW)
        assert not add_rubric(session=session, rubric=rubric(), actor="lead", at=later(5))
        assert add_rubric(session=session, rubric=rubric(2, "Is it right?"), actor="lead", at=NOW)
    with store.read() as session:
        assert get_rubric(session=session, name="refund-policy") == rubric(2, "Is it right?")
        assert get_rubric(session=session, name="refund-policy", version=1) == rubric()
        assert get_rubric_by_digest(session=session, digest=rubric().digest) == rubric()
        assert [str(ref) for ref, _ in list_rubrics(session=session)] == [
            "refund-policy@1",
            "refund-policy@2",
        ]
        published = [event.payload["rubric"] for event in events(session=session, stream="records")]
        assert published == ["refund-policy@1", "refund-policy@2"]


def test_other_content_under_a_published_version_is_refused(store: Store) -> None:
    """name@version never changes its meaning; the sentence names the next free version."""
    with store.write() as session:
        add_rubric(session=session, rubric=rubric(), actor="lead", at=NOW)
        with pytest.raises(DifferentRecord, match="publish this text as refund-policy@2"):
            add_rubric(session=session, rubric=rubric(1, "Is it wrong?"), actor="lead", at=NOW)
    with store.read() as session:
        assert get_rubric(session=session, name="refund-policy") == rubric()
        with pytest.raises(RecordError, match="no rubric 'refund-policy@9' is published"):
            get_rubric(session=session, name="refund-policy", version=9)
        with pytest.raises(RecordError, match="voirdire rubric list"):
            get_rubric_by_digest(session=session, digest="0" * 64)


def test_items_come_back_whole_and_in_their_order(store: Store) -> None:
    """What was imported is what is read, in the order of the file, across chunks."""
    given = [item(n) for n in (5, 3, 9, *range(100, 1250))] + [
        item(7, output=None, output_a="one", output_b="two", split=Split.TUNING, tags={})
    ]
    with store.write() as session:
        assert add_items(session=session, dataset=DATASET, items=iter(given), at=NOW).added == len(given)
    with store.read() as session:
        assert list(iter_full_items(session=session, scope=ALL)) == given
        assert get_item(session=session, dataset=DATASET, item_id="case-7") == given[-1]
        assert ids(iter_items(session=session, scope=Scope(dataset=DATASET, split=Split.TUNING))) == [
            "case-7"
        ]
        assert (
            count_items(session=session, scope=ALL) == len(given) == len(item_ids(session=session, scope=ALL))
        )
        assert list_datasets(session=session) == [(DATASET, len(given))]
        first = next(iter_items(session=session, scope=ALL))
        assert (first.group, first.tags, first.system) == ("prompt-2", {"channel": "mail"}, "bot-7")


def test_the_payload_has_the_digest_that_items_state() -> None:
    """What is stored of an item is what its content digest is computed from."""
    for each in (item(1), item(2, evidence={}), item(3, output=None, output_a="", output_b="b")):
        assert digest(item_content(each)) == each.content_digest


def test_a_second_import_adds_nothing_and_a_changed_item_is_refused(store: Store) -> None:
    """The same items are counted as present; the sentence says what differs in a changed one."""
    with store.write() as session:
        add_items(session=session, dataset=DATASET, items=[item(1), item(2)], at=NOW)
        again = add_items(
            session=session, dataset=DATASET, items=[item(1), item(2), item(2), item(3)], at=later(9)
        )
        assert (again.added, again.present, again.different) == (1, 3, ())
        for changed, what in [
            (item(2, output="other"), "text"),
            (item(2, group="g"), "group"),
            (item(2, tags={}), "tags"),
            (item(2, split=Split.TUNING), "split"),
        ]:
            with pytest.raises(DifferentRecord, match=f"'case-2'.* another {what}") as refused:
                add_items(session=session, dataset=DATASET, items=[item(1), changed], at=NOW)
            assert refused.value.position == 1
        lenient = add_items(
            session=session,
            dataset=DATASET,
            items=[item(9), item(2, group="g"), item(1)],
            at=NOW,
            strict=False,
        )
        assert (lenient.added, lenient.present, lenient.different) == (1, 1, (1,))
    with store.read() as session:
        assert get_item(session=session, dataset=DATASET, item_id="case-2") == item(2)


def test_the_same_id_in_two_datasets_are_two_items(store: Store) -> None:
    """Ids are unique within a dataset; equal texts share their payload."""
    with store.write() as session:
        add_items(session=session, dataset="one", items=[item(1)], at=NOW)
        add_items(session=session, dataset="two", items=[item(1, group="other")], at=NOW)
        found = get_item(session=session, dataset="two", item_id="case-1")
        assert isinstance(found, Item)
        assert found.group == "other"
        with pytest.raises(RecordError, match="dataset 'two' has no item 'case-2'"):
            get_item(session=session, dataset="two", item_id="case-2")


def test_a_scope_is_a_dataset_or_a_set() -> None:
    """Neither or both is a mistake of the caller."""
    with pytest.raises(ValueError, match="a dataset or a set"):
        Scope()
    with pytest.raises(ValueError, match="a dataset or a set"):
        Scope(dataset="d", set_digest="s")


def test_an_import_is_recorded_once_and_sealed(store: Store) -> None:
    """The same file has the same key and no second event; the seal counts what it brought."""
    with store.write() as session:
        file: dict[str, Any] = {
            "session": session,
            "kind": "items",
            "dataset": DATASET,
            "file_digest": "a" * 64,
            "provenance": {"origin": "https://example.org", "licence": "CC-BY-4.0"},
            "actor": "lead",
            "at": NOW,
        }
        keys = set()
        for turn in (0, 1):
            key = record_import(**file)
            keys.add(key)
            add_items(session=session, dataset=DATASET, items=[item(1), item(2)], at=NOW, import_key=key)
            seal = seal_import(session=session, key=key, kind="items", actor="lead", at=later(turn))
            assert seal.rows == 2
        assert len(keys) == 1
        assert record_import(**(file | {"file_digest": "b" * 64})) not in keys
        kinds = [event.kind for event in events(session=session, stream="imports")]
        assert kinds == ["file.imported", "import.sealed", "file.imported"]
