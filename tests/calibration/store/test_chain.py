"""One chain, no fork, whoever signs at the same time; and whatever is changed in it is found."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from calibration.store.chain import GENESIS, Head, append_event, events, heads, link, verify_events
from calibration.store.database import Store
from calibration.store.decisions import (
    StoredDecision,
    add_decision,
    current_decision,
    decision_head,
    get_decision,
    iter_decisions,
    verify_decisions,
)
from rubrics.errors import DifferentRecord, JudgeCalibrationError, RecordError, StoreError
from tests.calibration.store.evidence import (
    NOW,
    add_report_and_policy,
    later,
    lay_down,
    scope_of,
    sign,
)


def write_events(store: Store, stream: str, number: int, actor: str = "lead") -> None:
    """Events, each in its own transaction."""
    for place in range(number):
        with store.write() as session:
            append_event(
                session=session,
                stream=stream,
                kind="tested",
                actor=actor,
                payload={"n": place},
                at=later(place),
            )


def test_events_are_linked_in_their_streams(store: Store) -> None:
    """Each event names the hash of the one before it in its stream; streams do not mix."""
    write_events(store, "a", 3)
    write_events(store, "b", 2)
    with store.read() as session:
        one, two, three = events(session=session, stream="a")
        assert [one.seq, two.seq, three.seq] == [1, 2, 3]
        assert (one.prev_hash, two.prev_hash, three.prev_hash) == (GENESIS, one.hash, two.hash)
        assert (three.payload, three.at, three.actor) == ({"n": 2}, later(2), "lead")
        assert heads(session=session)["a"] == Head(3, three.hash, later(2))
        assert set(heads(session=session)) == {"a", "b"}
        assert len(list(events(session=session))) == 5
        assert verify_events(session=session) == ()


def test_the_kind_of_a_record_is_part_of_its_hash() -> None:
    """A record of one kind never passes for one of another with the same content."""
    body = {"x": 1}
    hashes = {link("audit-event", 1, GENESIS, body), link("admission-decision", 1, GENESIS, body)}
    hashes |= {link("audit-event", 2, GENESIS, body), link("audit-event", 1, "1" * 64, body)}
    assert len(hashes) == 4


def appenders_in_threads(store: Store, work: Callable[[int], object], threads: int) -> list[object]:
    """What each thread got, all started at the same moment; exceptions are results too."""
    start = threading.Barrier(threads)

    def one(number: int) -> object:
        start.wait()
        try:
            return work(number)
        except JudgeCalibrationError as error:
            return error

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(threads)))


def test_many_append_at_once_and_the_chain_is_one(store: Store) -> None:
    """Eight threads append to one stream: every event is there, in one line."""
    failed = appenders_in_threads(store, lambda n: write_events(store, "busy", 10, f"actor-{n}"), 8)
    assert failed == [None] * 8
    with store.read() as session:
        assert [event.seq for event in events(session=session, stream="busy")] == list(range(1, 81))
        assert verify_events(session=session) == ()


def test_two_signers_at_once_make_one_line(store: Store) -> None:
    """Of two who replace the same decision one succeeds; the other is told to read again. No fork."""
    with store.write() as session:
        world = lay_down(session)
        report, policy = add_report_and_policy(session, world)
    rounds = 12
    for turn in range(rounds):
        with store.read() as session:
            standing = current_decision(session=session, scope=scope_of(world))
        seen = standing.hash if standing else None

        def race(signer: int, seen: str | None = seen, turn: int = turn) -> StoredDecision:
            with store.write() as session:
                return add_decision(
                    session=session,
                    scope=scope_of(world),
                    report_digest=report,
                    policy_digest=policy,
                    outcome="admit",
                    content={"turn": turn},
                    signer=f"signer-{signer}",
                    valid_until=None,
                    supersedes=seen,
                    at=later(turn),
                )

        results = appenders_in_threads(store, race, 2)
        assert sorted(type(result).__name__ for result in results) == ["DifferentRecord", "StoredDecision"]
    with store.read() as session:
        decisions = list(iter_decisions(session=session))
        assert [each.seq for each in decisions] == list(range(1, rounds + 1))
        assert [each.supersedes for each in decisions[1:]] == [each.hash for each in decisions[:-1]]
        assert len(list(iter_decisions(session=session, standing=True))) == 1
        assert verify_decisions(session=session) == ()


def test_the_database_itself_allows_no_fork(store: Store) -> None:
    """Even without the check in between: a second first decision, or a second successor, cannot be stored."""
    with store.write() as session:
        world = lay_down(session)
        sign(session, world)
        sign(session, world, outcome="suspended", seconds=1)
    columns = (
        "judge_digest, rubric_digest, criterion, population, role, report_digest, policy_digest, outcome,"
        " content, signer, valid_until, supersedes, prev_hash, decided_at"
    )
    new = f"INSERT INTO decision (hash, seq, {columns})"
    copy = f"{new} SELECT '{'e' * 64}', 99, {columns} FROM decision WHERE seq = "
    for seq in (1, 2):
        with pytest.raises(RecordError, match=r"(?i)unique"), store.write() as session:
            session.connection().exec_driver_sql(copy + str(seq))


def test_decisions_are_read_as_signed(store: Store) -> None:
    """The decision that stands is the last of its scope; each scope has its own line in one chain."""
    with store.write() as session:
        world = lay_down(session)
        first = sign(session, world)
        other = sign(session, world, population="all chats", seconds=1)
        second = sign(session, world, outcome="suspended", signer="bob", seconds=2)
    with store.read() as session:
        assert current_decision(session=session, scope=scope_of(world)) == second
        assert current_decision(session=session, scope=scope_of(world, "all chats")) == other
        assert current_decision(session=session, scope=scope_of(world, "nobody")) is None
        assert get_decision(session=session, hash_prefix=first.hash[:10]) == first
        assert list(iter_decisions(session=session)) == [first, other, second]
        assert list(iter_decisions(session=session, standing=True)) == [other, second]
        assert list(iter_decisions(session=session, judge_digest="none")) == []
        assert decision_head(session=session) == Head(3, second.hash, later(2))
        assert (second.supersedes, second.prev_hash) == (first.hash, other.hash)
        assert (first.content["binding"], first.valid_until) == ("far", later(90 * 86400))
        for prefix, words in ((".", "no decision begins"), ("", "several decisions begin")):
            with pytest.raises(RecordError, match=words):
                get_decision(session=session, hash_prefix=prefix)


def test_whoever_signs_must_have_seen_what_stands(sqlite_store: Store) -> None:
    """Naming no predecessor where one stands, or one where none stands, is refused."""
    with sqlite_store.write() as session:
        world = lay_down(session)
        report, policy = add_report_and_policy(session, world)

        def add(supersedes: str | None) -> StoredDecision:
            return add_decision(
                session=session,
                scope=scope_of(world),
                report_digest=report,
                policy_digest=policy,
                outcome="admit",
                content={},
                signer="lead",
                valid_until=None,
                supersedes=supersedes,
                at=NOW,
            )

        with pytest.raises(RecordError, match="sign without naming one"):
            add("f" * 64)
        first = add(None)
        with pytest.raises(DifferentRecord, match=f"{first.hash[:12]}.*admit, signed by 'lead'"):
            add(None)


def test_a_clock_set_back_signs_nothing(store: Store) -> None:
    """As long as one may wait for another signer is forgiven, and the later time stands; more is refused."""
    with store.write() as session:
        world = lay_down(session)
        sign(session, world, seconds=100)
        assert sign(session, world, seconds=70).decided_at == later(100)
        with pytest.raises(StoreError, match="the last decision is of 2026-11-30T12:01:40"):
            sign(session, world, seconds=67)


def test_the_times_of_a_stream_never_go_back(store: Store) -> None:
    """An event that waited while others were appended bears the time of the last of them."""
    with store.write() as session:
        for seconds, stands in ((10, 10), (3, 10), (11, 11)):
            event = append_event(
                session=session, stream="s", kind="k", actor="a", payload={}, at=later(seconds)
            )
            assert event.at == later(stands)


UNLOCK = {
    "sqlite": "DROP TRIGGER {table}_no_update; DROP TRIGGER {table}_no_delete",
    "postgresql": "ALTER TABLE {table} DISABLE TRIGGER ALL",
}


EMPTY = "'{}'"


def tamper(store: Store, table: str, statement: str) -> None:
    """What someone with rights of their own can do to a table."""
    with store.write() as session:
        for each in UNLOCK[store.dialect].format(table=table).split("; "):
            session.connection().exec_driver_sql(each)
        assert session.connection().exec_driver_sql(statement).rowcount


TAMPERING = [
    ("UPDATE {table} SET actor = 'mallory' WHERE seq = 2", 2, "content"),
    ("UPDATE {table} SET payload = '{{}}' WHERE seq = 3", 3, "content"),
    ("DELETE FROM {table} WHERE seq = 2", 3, "missing"),
    ("DELETE FROM {table} WHERE seq = 1", 2, "missing"),
    ("UPDATE {table} SET prev_hash = 'f' || substr(prev_hash, 2) WHERE seq = 4", 4, "another record"),
]


@pytest.mark.parametrize(("statement", "seq", "words"), TAMPERING)
def test_what_is_changed_in_the_trail_is_found(store: Store, statement: str, seq: int, words: str) -> None:
    """A changed actor, payload or link, or a missing event: the first bad record is named."""
    write_events(store, "a", 4)
    write_events(store, "b", 4)
    one = statement.format(table="audit_event")
    tamper(store, "audit_event", one + " AND stream = 'a'")
    with store.read() as session:
        (found,) = verify_events(session=session)
    assert (found.stream, found.seq) == ("a", seq)
    assert words in found.how


PARTS = [
    *((kind, part) for kind in ("sqlite", "postgresql") for part in ("outcome", "content", "valid_until")),
    *(("sqlite", part) for part in ("signer", "population", "decided_at")),
    *(
        pytest.param("postgresql", part, marks=pytest.mark.slow)
        for part in ("signer", "population", "decided_at")
    ),
]
"""One text, one document and one moment on both databases; the other texts and moments as well at night."""


@pytest.mark.parametrize(("store", "column"), PARTS, indirect=["store"])
def test_every_part_of_a_decision_is_signed(store: Store, column: str) -> None:
    """Changing any part of a decision breaks the chain at that decision."""
    with store.write() as session:
        world = lay_down(session)
        for turn in range(3):
            sign(session, world, seconds=turn)
    other = {"outcome": "'reject'", "valid_until": "NULL", "decided_at": "'2026-11-30 11:00:00.000000'"}
    tamper(store, "decision", f"UPDATE decision SET {column} = {other.get(column, EMPTY)} WHERE seq = 2")
    with store.read() as session:
        (found,) = verify_decisions(session=session)
    assert (found.seq, found.how) == (2, "its content is not the one that its hash names")


def test_a_cut_tail_is_found_by_a_checkpoint_only(store: Store) -> None:
    """Nothing inside the database shows that the newest records were cut off; a head kept elsewhere does."""
    write_events(store, "a", 4)
    with store.write() as session:
        world = lay_down(session)
        sign(session, world)
        sign(session, world, seconds=1)
    with store.read() as session:
        kept, decided = heads(session=session), decision_head(session=session)
        assert verify_events(session=session, checkpoints=kept) == ()
        assert verify_decisions(session=session, checkpoint=decided) == ()
    tamper(store, "audit_event", "DELETE FROM audit_event WHERE stream = 'a' AND seq > 2")
    tamper(store, "decision", "DELETE FROM decision WHERE seq = 2")
    with store.read() as session:
        assert verify_events(session=session) == ()
        assert [(b.stream, b.seq) for b in verify_events(session=session, checkpoints=kept)] == [("a", 4)]
        assert verify_decisions(session=session) == ()
        (cut,) = verify_decisions(session=session, checkpoint=decided)
        assert "checkpoint is not reached" in cut.how
        emptied = replace(decided, seq=1, hash="0" * 64)
        assert verify_decisions(session=session, checkpoint=emptied)
