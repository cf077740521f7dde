"""Erasing a text: gone from the file, a tombstone and an event in its place, everything else as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibration.store.assessments import add_labels, iter_labels
from calibration.store.chain import events
from calibration.store.database import Store
from calibration.store.erasing import erase_item
from calibration.store.integrity import check
from calibration.store.items import ErasedItem, Scope, add_items, get_item, iter_full_items, iter_items
from calibration.store.payloads import Erased, erase_payload, payload, put_payloads, read_payloads
from calibration.store.verdicts import add_verdicts, iter_verdicts
from rubrics.errors import DeclarationError, RecordError, StoreError
from tests.calibration.store.evidence import DATASET, NOW, item, label, later, lay_down, verdict

SECRET = "Ingeborg-Brunnenmeister"
SCOPE = Scope(dataset=DATASET)


def fill(store: Store) -> str:
    """Items, verdicts and labels, of which one item's tell of a person; the digest of the rubric."""
    with store.write() as session:
        world = lay_down(session)
        add_items(session=session, dataset=DATASET, items=[item(50, output=f"Dear {SECRET}, ...")], at=NOW)
        said = [
            verdict(world.run_key, 50, raw=f"PASS, since {SECRET} paid"),
            verdict(world.run_key, 1, raw="PASS"),
            verdict(world.run_key, 50, repeat=1, raw="PASS"),
        ]
        add_verdicts(session=session, verdicts=said, at=NOW)
        labels = [label(50, note=f"{SECRET} again"), label(1)]
        add_labels(session=session, dataset=DATASET, rubric_digest=world.rubric.digest, labels=labels, at=NOW)
        return world.rubric.digest


def erase(store: Store) -> int:
    """Erases item 50; how many texts were left since they were said of others too."""
    outcome = erase_item(
        store=store, dataset=DATASET, item_id="case-50", reason="asked by mail", signer="dpo", at=later(9)
    )
    assert [(stone.by, stone.reason) for stone in outcome.erased] == [("dpo", "asked by mail")] * 3
    return outcome.shared


def test_an_erased_item_keeps_its_labels_and_verdicts(store: Store) -> None:
    """Text, reply and note are tombstones; digests, labels, verdicts and all other texts are untouched."""
    rubric = fill(store)
    with store.read() as session:
        before = (
            list(iter_items(session=session, scope=SCOPE)),
            list(iter_verdicts(session=session, scope=SCOPE)),
            list(iter_labels(session=session, scope=SCOPE, rubric_digest=rubric)),
        )
    assert erase(store) == 1
    with store.read() as session:
        after = (
            list(iter_items(session=session, scope=SCOPE)),
            list(iter_verdicts(session=session, scope=SCOPE)),
            list(iter_labels(session=session, scope=SCOPE, rubric_digest=rubric)),
        )
        assert after == before
        gone = get_item(session=session, dataset=DATASET, item_id="case-50")
        assert isinstance(gone, ErasedItem)
        assert (gone.erased.reason, gone.erased.at) == ("asked by mail", later(9))
        assert [type(each).__name__ for each in iter_full_items(session=session, scope=SCOPE)] == [
            *["Item"] * 6,
            "ErasedItem",
        ]
        replies = [each.reply_digest for each in after[1] if each.reply_digest]
        found = read_payloads(session=session, digests=replies)
        assert sorted(isinstance(found[reply], Erased) for reply in replies) == [False, False, True]
        trail = list(events(session=session, stream="erasure"))
        assert [event.kind for event in trail] == ["payload.erased"] * 3
        assert {event.actor for event in trail} == {"dpo"}


def test_no_byte_of_the_text_is_left_in_the_file(sqlite_store: Store) -> None:
    """Neither the database file nor its log holds the erased words; what stays still verifies."""
    fill(sqlite_store)
    path = Path(sqlite_store.where)
    files = (path, Path(f"{path}-wal"))
    with sqlite_store.write() as session:
        long = item(
            51, output=f"{SECRET} asks. " * 2000, evidence={}
        )  # more than a page, so pages become free
        add_items(session=session, dataset=DATASET, items=[long], at=NOW)
    words = SECRET.encode()
    assert any(words in file.read_bytes() for file in files)
    erase(sqlite_store)
    assert any(words in file.read_bytes() for file in files if file.exists()), "the other item still names it"
    erase_item(
        store=sqlite_store, dataset=DATASET, item_id="case-51", reason="asked", signer="dpo", at=later(9)
    )
    assert not any(words in file.read_bytes() for file in files if file.exists())
    assert check(path) == ()


def test_a_reader_that_keeps_the_log_is_reported(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While someone still reads the old state, the log cannot be emptied; that is said, not hidden."""
    monkeypatch.setattr("calibration.store.database.BUSY_SECONDS", 0.05)
    from calibration.store.database import database_url, make_engine

    impatient = Store(make_engine(database_url(sqlite_store.where)))
    fill(impatient)
    with sqlite_store.read() as reader:
        list(iter_items(session=reader, scope=SCOPE))
        with pytest.raises(StoreError, match="still read by someone") as busy:
            erase(impatient)
        assert busy.value.retryable
    impatient.forget()
    assert SECRET.encode() not in Path(sqlite_store.where).read_bytes()
    impatient.close()


def test_an_erased_text_does_not_come_back(store: Store) -> None:
    """Importing the same text again leaves the tombstone; erasing again leaves the first one."""
    fill(store)
    erase(store)
    with store.write() as session:
        again = add_items(
            session=session, dataset=DATASET, items=[item(50, output=f"Dear {SECRET}, ...")], at=later(20)
        )
        assert (again.added, again.present) == (0, 1)
        gone = get_item(session=session, dataset=DATASET, item_id="case-50")
        assert isinstance(gone, ErasedItem)
        second = erase_payload(
            session=session, digest=gone.erased.digest, reason="other", signer="bob", at=later(30)
        )
        assert second == gone.erased
        assert len(list(events(session=session, stream="erasure"))) == 3


def test_a_tombstone_stays_as_it_was_signed(store: Store) -> None:
    """Neither the signer nor the reason of an erase can be rewritten."""
    fill(store)
    erase(store)
    rewritten = (
        "UPDATE item_payload SET erased_by = 'bob', erase_reason = 'other' WHERE erased_at IS NOT NULL"
    )
    with pytest.raises(RecordError, match="logged erase"), store.write() as session:
        session.connection().exec_driver_sql(rewritten)


def test_an_erase_needs_a_text_a_reason_and_a_signer(store: Store) -> None:
    """An unknown digest or item, a blank reason and a nameless signer are refused."""
    made = payload({"raw": "text"})
    with store.write() as session:
        put_payloads(session=session, payloads=[made])
    for error, digest, reason, signer in (
        (RecordError, "none", "asked", "dpo"),
        (DeclarationError, made.digest, " ", "dpo"),
        (DeclarationError, made.digest, "asked", ""),
    ):
        with pytest.raises(error), store.write() as session:
            erase_payload(session=session, digest=digest, reason=reason, signer=signer, at=NOW)
    with pytest.raises(RecordError, match="has no item 'none'"):
        erase_item(store=store, dataset=DATASET, item_id="none", reason="asked", signer="dpo", at=NOW)
    with store.read() as session:
        assert not isinstance(read_payloads(session=session, digests=[made.digest])[made.digest], Erased)
