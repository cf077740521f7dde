"""Handles belong to whoever signed in first; roles are granted, audited, and asked for at every step."""

from __future__ import annotations

from threading import Barrier, Thread

import pytest

from calibration.labeling import people, rating
from calibration.labeling.people import Role
from calibration.labeling.records import Answered, IgnoredWhy, Task
from calibration.store.assessments import iter_labels
from calibration.store.chain import events
from calibration.store.database import Store
from calibration.store.items import Scope
from rubrics.errors import DeclarationError, RaterRefused
from tests.calibration.labeling.world import DATASET, SESSION, later, opened, rubric, said
from tests.databases import BOTH
from tests.judge.cli.records import on, told


def test_a_handle_belongs_to_whoever_signed_in_first(store: Store) -> None:
    """The same person comes back as the same record; another issuer's person does not get the name."""
    first = people.sign_in(store=store, handle="ann", now=later(1))
    assert people.sign_in(store=store, handle="ann", now=later(2)) == first
    assert not first.verified
    verified = people.sign_in(
        store=store, handle="eve@x.org", auth="oidc", subject="issuer#7", display="Eve", now=later(3)
    )
    assert (verified.verified, verified.name) == (True, "Eve")
    with pytest.raises(RaterRefused, match="belongs to someone"):
        people.sign_in(store=store, handle="ann", auth="oidc", subject="issuer#8", now=later(4))
    assert [each.handle for each in people.known_people(store=store)] == ["ann", "eve@x.org"]
    with pytest.raises(DeclarationError):
        people.sign_in(store=store, handle="", now=later(5))


def test_roles_are_granted_and_required(store: Store) -> None:
    """A verified person has no role until it is granted; a place in the session is asked for too; audited."""
    opened(store, raters=("eve@x.org", "ben"))
    eve = people.sign_in(store=store, handle="eve@x.org", auth="oidc", subject="i#7", now=later(1))
    with pytest.raises(RaterRefused, match="is no rater"):
        people.require(store=store, person=eve, role=Role.RATER, now=later(2))
    assert people.grant(
        store=store, handle=eve.handle, role=Role.RATER, given=True, actor="lead", now=later(3)
    )
    assert not people.grant(
        store=store, handle=eve.handle, role=Role.RATER, given=True, actor="lead", now=later(4)
    )
    people.require(store=store, person=eve, role=Role.RATER, session=SESSION, now=later(5))
    for session in ("elsewhere", SESSION):
        role = Role.RATER if session == "elsewhere" else Role.ADJUDICATOR
        with pytest.raises(RaterRefused):
            people.require(store=store, person=eve, role=role, session=session, now=later(6))
    people.grant(store=store, handle=eve.handle, role=Role.RATER, given=False, actor="lead", now=later(7))
    assert people.roles(store=store, person=eve) == frozenset()
    local = people.sign_in(store=store, handle="ben", now=later(8))
    assert people.roles(store=store, person=local) == frozenset(Role)
    with store.read() as session_:
        kinds = [event.kind for event in events(session=session_, stream="labeling")]
    assert kinds == [
        *("session.opened", "rater.refused", "role.given", "rater.refused", "rater.refused", "role.taken"),
    ]


def test_an_admin_does_not_take_their_own_role(sqlite_store: Store) -> None:
    """The role of admin is taken by another admin."""
    people.grant(store=sqlite_store, handle="ada", role=Role.ADMIN, given=True, actor="lead", now=later(1))
    with pytest.raises(RaterRefused, match="own role"):
        people.grant(
            store=sqlite_store, handle="ada", role=Role.ADMIN, given=False, actor="ada", now=later(2)
        )


def test_roles_on_the_command_line(sqlite_store: Store) -> None:
    """Granted, listed and revoked by `voirdire people`."""
    people.sign_in(store=sqlite_store, handle="eve@x.org", auth="oidc", subject="i#7", now=later(1))
    people.sign_in(store=sqlite_store, handle="ann", now=later(1))
    db = on(sqlite_store.where)
    assert "has the role rater." in db("people", "grant", "eve@x.org", "--role", "rater").stdout
    assert told(db("people", "grant", "eve@x.org", "--role", "rater", "--json"))["changed"] is False
    assert told(db("people", "list", "--json"))["people"][1] == {
        "name": "eve@x.org",
        "auth": "oidc",
        "roles": ["rater"],
    }
    assert "every role" in db("people", "list").stdout
    assert "no longer has" in db("people", "revoke", "eve@x.org", "--role", "rater").stdout
    assert db("people", "grant", "ann", "--role", "king").exit_code == 64


@BOTH
def test_two_tabs_at_the_same_moment_store_one_answer(store: Store) -> None:
    """Ten times two threads press different answers at once: one is stored, the other is told so."""
    opened(store, items=10)
    for turn in range(10):
        task = rating.next_task(store=store, rater="ann", now=later(10 * turn + 5))
        assert isinstance(task, Task)
        start, outcomes = Barrier(2), list[Answered]()

        def press(
            value: str,
            at: float,
            task: Task = task,
            start: Barrier = start,
            outcomes: list[Answered] = outcomes,
        ) -> None:
            start.wait()
            given = said(value, at)
            outcomes.append(
                rating.answer(store=store, rater="ann", task=task.key, answer=given, now=later(at))
            )

        threads = [Thread(target=press, args=(value, 10 * turn + 9)) for value in ("pass", "fail")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(str(each.ignored) for each in outcomes) == sorted(
            ["None", str(IgnoredWhy.ALREADY_ANSWERED)]
        )
    with store.read() as session:
        found = list(
            iter_labels(session=session, scope=Scope(dataset=DATASET), rubric_digest=rubric().digest)
        )
    assert len(found) == 10
