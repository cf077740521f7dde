"""The lead's page: how a session stands, and for whom it is closed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from calibration.labeling import people, rating
from calibration.labeling.people import Role
from calibration.labeling.records import Nothing
from calibration.labeling.sessions import Opening, close_session, open_session
from calibration.store.database import Store
from calibration.store.sets import StoredSet, get_set_by_digest
from labeling_ui.review import here
from tests.calibration.labeling import world
from tests.calibration.labeling.test_agreement import of_levels
from tests.labeling_ui.review.looking import Looking


@pytest.fixture
def db(sqlite_store: Store, tmp_path: Path) -> Iterator[Path]:
    """The file of an empty store."""
    assert sqlite_store.dialect == "sqlite"
    yield tmp_path / "voirdire.db"
    here._store.clear()


def refusals(store: Store) -> list[str]:
    """What the audit trail says was refused, and to whom."""
    with store.read() as session:
        query = "SELECT actor FROM audit_event WHERE kind = 'rater.refused'"
        return [str(row[0]) for row in session.connection().exec_driver_sql(query)]


def test_empty_store_says_how_to_begin(db: Path) -> None:
    """Without a session the page says which command opens one."""
    assert "voirdire session open" in Looking(db, "lead").words


def test_counts_are_those_of_the_session(db: Path, sqlite_store: Store) -> None:
    """Each person's done and open items, and the ratings of the whole session."""
    world.opened(sqlite_store, items=6)
    world.rate_all(sqlite_store, "ann")
    said = Looking(db, "lead").words
    assert "6 of 12 ratings done" in said
    assert "annrater6 of 60" in said
    assert "benrater0 of 66" in said
    assert "zoeadjudicator" in said


def test_broken_items_stand_with_their_reason(db: Path, sqlite_store: Store) -> None:
    """An item that a rater set aside is listed with who says so and why, markup and all as text."""
    world.opened(sqlite_store)
    task = rating.next_task(store=sqlite_store, rater="ann", now=world.later(1))
    assert not isinstance(task, Nothing)
    rating.flag_broken(
        store=sqlite_store, rater="ann", task=task.key, why="<b>cut</b> off", now=world.later(2)
    )
    page = Looking(db, "lead")
    assert "by ann <b>cut</b> off" in page.words
    assert "Called broken" in page.words


def test_closed_session_says_when_it_closed(db: Path, sqlite_store: Store) -> None:
    """What was left open at the close stands in a column of its own."""
    world.opened(sqlite_store, items=2)
    with sqlite_store.write() as session:
        close_session(session=session, name=world.SESSION, actor="lead", at=datetime(2026, 12, 1, tzinfo=UTC))
    said = Looking(db, "lead").words
    assert "closed on 01 Dec 2026, 00:00 UTC" in said
    assert "Unanswered at the close" in said


def test_agreement_is_that_of_the_answers(db: Path, sqlite_store: Store) -> None:
    """Of 10 items 8 alike; kappa and alpha stand with an interval, and the counts of answers beside them."""
    world.opened(sqlite_store, items=10)
    world.rate_all(sqlite_store, "ann", lambda task: "fail" if world.number_of(task) < 3 else "pass")
    world.rate_all(sqlite_store, "ben", lambda task: "fail" if 0 < world.number_of(task) < 4 else "pass")
    said = Looking(db, "lead").words
    assert "10 of 10 items rated by two or more · 14 pass, 6 fail, 0 cannot decide" in said
    assert "Same answer from all8/10 80" in said
    # cells 6, 1, 1, 2: po 0.8, pe 0.7 * 0.7 + 0.3 * 0.3 = 0.58, kappa 0.22 / 0.42 = 0.52
    assert "Cohen’s kappa0.5  [" in said
    assert "Same answer againnot assessed: no hidden repeat was answered yet" in said
    assert "Cannot decide0/20 0" in said


def test_levels_have_weights_that_are_said(db: Path, sqlite_store: Store) -> None:
    """Kappa of levels names its weights, what they mean and over how many items; a level is no count."""
    world.opened(sqlite_store, items=6, asked=of_levels())
    world.rate_all(sqlite_store, "ann", lambda task: str(world.number_of(task) % 4))
    world.rate_all(sqlite_store, "ben", lambda task: str((world.number_of(task) + 1) % 4))
    said = Looking(db, "lead").words
    assert "beyond chance, two raters, quadratic weights" in said
    assert "over the 6 items on which both chose one" in said
    assert "level 0: 3, level 1: 4, level 2: 3, level 3: 2, 0 cannot decide" in said


def test_ambiguous_criterion_lists_what_raters_wrote(db: Path, sqlite_store: Store) -> None:
    """The words stand at the criterion, as text, with who wrote them and about which item."""
    world.opened(sqlite_store, items=1)
    task = rating.next_task(store=sqlite_store, rater="ann", now=world.later(1))
    assert not isinstance(task, Nothing)
    given = world.said("unknown", 5, reason="criterion_ambiguous", note="which <i>sum</i>?")
    rating.answer(store=sqlite_store, rater="ann", task=task.key, answer=given, now=world.later(5))
    page = Looking(db, "lead")
    assert "Called ambiguous 1 time, hidden repeats included" in page.words
    assert "which <i>sum</i>? ann · case-000" in page.words
    assert "<i>sum" not in page.html


def test_pace_stands_in_seconds(db: Path, sqlite_store: Store) -> None:
    """The median from shown to decided, and idle answers with their denominator."""
    world.opened(sqlite_store, items=3)
    world.rate_all(sqlite_store, "ann")
    said = Looking(db, "lead").words
    assert "ann32.0 s0/3 0" in said
    assert "ben0no answer was timednot assessed: no answer yet" in said


def test_another_session_can_be_picked(db: Path, sqlite_store: Store) -> None:
    """With several sessions the newest is shown first; each can be picked by its name."""
    world.opened(sqlite_store, items=2)
    page = Looking(db, "lead")
    assert not page.app.selectbox
    second = Opening(
        name="december <b>",
        stored_set=the_set(sqlite_store),
        rubric=world.rubric(),
        raters=("cy", "dee"),
        plan=world.PLAIN,
        opens_at=world.later(60),
    )
    with sqlite_store.write() as session:
        open_session(session=session, opening=second, actor="lead", at=world.later(1))
    assert "cyrater" in page.run().words
    assert "annrater" in page.choose(world.SESSION).words


def the_set(store: Store) -> StoredSet:
    """The world's frozen set."""
    with store.read() as session:
        digest = session.connection().exec_driver_sql("SELECT digest FROM calibration_set").scalar_one()
        return get_set_by_digest(session=session, digest=str(digest))


def test_whoever_still_rates_sees_nothing(db: Path, sqlite_store: Store) -> None:
    """A rater with open items of the set is refused, and the audit trail says so; afterwards it opens."""
    world.opened(sqlite_store, items=2)
    page = Looking(db, "ann")
    assert "still have 2 items of this set to rate" in page.words
    assert "ben" not in page.words
    assert refusals(sqlite_store) == ["ann"]
    world.rate_all(sqlite_store, "ann")
    assert "benrater" in page.run().words


def test_name_is_asked_where_none_was_given(db: Path, sqlite_store: Store) -> None:
    """Locally a typed name opens the page; an empty one is refused in a sentence."""
    world.opened(sqlite_store)
    page = Looking(db)
    assert "Who looks?" in page.words
    page.enter(" ")
    assert "ratings done" not in page.words
    page.enter("lead")
    assert "ratings done" in page.words


def test_provider_says_who_and_a_role_says_what(
    db: Path, sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a proxy a person without the role of reviewer is refused and audited; with it the page opens."""
    monkeypatch.setenv("VOIRDIRE_UI_SIGN_IN", "proxy")
    world.opened(sqlite_store)
    user = {"email": "eve@example.org"}
    page = Looking(db, user=user)
    assert "no reviewer" in page.words
    assert refusals(sqlite_store) == ["eve@example.org"]
    people.grant(
        store=sqlite_store,
        handle="eve@example.org",
        role=Role.REVIEWER,
        given=True,
        actor="lead",
        now=world.NOW,
    )
    assert "ratings done" in page.run().words
    assert "Nobody is signed in" in Looking(db).words
