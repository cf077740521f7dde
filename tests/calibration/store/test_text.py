"""Any text that a model or a file can produce is stored, shown and given back whole."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlmodel import Session

from calibration.store.assessments import add_labels, iter_labels
from calibration.store.chain import append_event, events
from calibration.store.database import Store
from calibration.store.items import ErasedItem, Scope, add_items, get_item
from calibration.store.payloads import Erased, StoredText, payload, put_payloads, raw_of, read_payloads
from calibration.store.text import item_id, name, stored_json
from calibration.store.verdicts import add_verdicts, iter_verdicts
from rubrics.errors import DeclarationError, RecordError
from rubrics.item import Item
from rubrics.record import normalise_text
from tests.calibration.store.evidence import DATASET, NOW, item, label, lay_down, verdict

ODD = [
    "a\0b",
    "\ud83d",
    "half \udc00 and \ud800 more",
    "\ud83d\ude00",
    "\u2028\u2029\x85",
    "\U0001f600 \u202e tags \U000e0041",
    "\x00" * 5,
    "\\u0000 and \\ud83d as letters",
    "",
    "'; DROP TABLE item; --",
    "%s %(x)s :name ?",
]


def stored(session: Session, digest: str) -> StoredText:
    """The stored text, which must not have been erased."""
    found = read_payloads(session=session, digests=[digest])[digest]
    assert isinstance(found, StoredText)
    return found


def test_odd_texts_round_trip(store: Store) -> None:
    """NUL, lone surrogates and all the rest come back as they were; what is shown of them is storable."""
    contents = [{"raw": text, "rationale": text[::-1]} for text in ODD]
    made = [payload(content) for content in contents]
    with store.write() as session:
        put_payloads(session=session, payloads=made)
    with store.read() as session:
        for content, each in zip(contents, made, strict=True):
            back = stored(session, each.digest)
            assert back.original == content
            assert back.content == {key: normalise_text(text) for key, text in content.items()}


@settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.text(st.characters(), max_size=12), min_size=1, max_size=4))
def test_any_text_round_trips(sqlite_store: Store, texts: list[str]) -> None:
    """Property: whatever code points a text holds, the original comes back, and its digest is stable."""
    made = payload({"texts": texts})
    assert payload({"texts": texts}) == made
    with sqlite_store.write() as session:
        put_payloads(session=session, payloads=[made])
        back = stored(session, made.digest)
    assert back.content == {"texts": [normalise_text(text) for text in texts]}
    if back.raw is not None:
        assert back.original == {"texts": texts}


def test_odd_texts_pass_through_every_door(store: Store) -> None:
    """A reply, a note, a tag and an event with NUL and half a character are stored by the usual functions."""
    odd = "x\0y\ud83dz"
    with store.write() as session:
        world = lay_down(session)
        add_items(session=session, dataset="odd", items=[item(1, output=odd, tags={"channel": odd})], at=NOW)
        add_verdicts(session=session, verdicts=[verdict(world.run_key, 1, raw=odd)], at=NOW)
        noted = [label(1, note=odd, reason=odd)]
        add_labels(session=session, dataset=DATASET, rubric_digest=world.rubric.digest, labels=noted, at=NOW)
        append_event(session=session, stream="odd", kind="seen", actor="lead", payload={"text": odd}, at=NOW)
    scope = Scope(dataset=DATASET)
    with store.read() as session:
        back = get_item(session=session, dataset="odd", item_id="case-1")
        assert isinstance(back, Item)
        assert back.output == "x\\u{0}y\\u{D83D}z" == back.tags["channel"]
        (said,) = iter_verdicts(session=session, scope=scope)
        assert said.reply_digest
        assert stored(session, said.reply_digest).original == {"raw": odd}
        (noted_back,) = iter_labels(session=session, scope=scope, rubric_digest=world.rubric.digest)
        assert noted_back.note_digest
        assert stored(session, noted_back.note_digest).original == {"note": odd}
        (event,) = events(session=session, stream="odd")
        assert event.payload == {"text": "x\\u{0}y\\u{D83D}z"}


def test_the_original_of_an_item_is_kept_beside_it(store: Store) -> None:
    """An importer hands over what a text was before its item normalised it."""
    original = {"schema": "item/1", "input": "question 1", "output": "a\0", "evidence": {}}
    shown = item(1, output="a\0", evidence={})
    with store.write() as session:
        add_items(session=session, dataset="d", items=[shown], at=NOW, originals={"case-1": raw_of(original)})
    with store.read() as session:
        assert stored(session, shown.content_digest).original == original


@pytest.mark.parametrize("odd", ["a\0", "\ud800", "", "x" * 201])
def test_names_that_cannot_be_joined_exactly_are_refused(odd: str) -> None:
    """A name or id with NUL, half a character or a length that no index holds is refused in a sentence."""
    with pytest.raises(DeclarationError, match=r"^rater "):
        name(odd, "rater")


def test_limits_of_ids_are_those_of_an_index_row(store: Store) -> None:
    """The longest id and dataset that are allowed fit into the index of either database."""
    longest = "\U0001f600" * 400
    with store.write() as session:
        add_items(
            session=session, dataset="\U0001f600" * 200, items=[item(1, item_id=longest, group="g")], at=NOW
        )
    with pytest.raises(DeclarationError, match="at most 1600 bytes"):
        item_id(longest + "x")
    with pytest.raises(DeclarationError, match="1 to 512 characters"):
        item_id("x" * 513)


def test_json_refuses_what_is_no_number() -> None:
    """NaN is never written."""
    with pytest.raises(ValueError, match="JSON"):
        stored_json({"far": float("nan")})


def test_a_changed_text_is_not_given_back(sqlite_store: Store) -> None:
    """A text that no longer has its digest raises instead of being shown."""
    made = payload({"raw": "pass"})
    with sqlite_store.write() as session:
        put_payloads(session=session, payloads=[made])
        session.connection().exec_driver_sql("DROP TRIGGER item_payload_no_update")
        session.connection().exec_driver_sql("UPDATE item_payload SET text = replace(text, 'pass', 'fail')")
    with pytest.raises(RecordError, match="changed outside voirdire"), sqlite_store.read() as session:
        read_payloads(session=session, digests=[made.digest])


def test_unknown_digests_are_absent(store: Store) -> None:
    """Reading asks for many at once and gets those that are there."""
    made = [payload({"n": n}) for n in range(1500)]
    with store.write() as session:
        assert put_payloads(session=session, payloads=made) == 1500
        assert put_payloads(session=session, payloads=made[:3]) == 0
        found = read_payloads(session=session, digests=[each.digest for each in made] + ["none"])
    assert len(found) == 1500
    assert not any(isinstance(each, Erased | ErasedItem) for each in found.values())
