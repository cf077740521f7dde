"""A lead opens a session on a frozen set, sees how it stands, reassigns an absent rater, closes."""

from __future__ import annotations

import pytest

from calibration.labeling import looking, rating
from calibration.labeling.disputes import queue_disputes
from calibration.labeling.plan import SessionPlan
from calibration.labeling.records import EventKind, Nothing, NothingWhy, Progress, Task, TaskKind
from calibration.labeling.sessions import (
    Opening,
    OpenWork,
    close_due,
    close_session,
    open_items,
    open_session,
    open_work,
    reassign,
    session_status,
)
from calibration.store.assessments import add_labels
from calibration.store.chain import events, verify_events
from calibration.store.database import Store
from calibration.store.rubrics import get_rubric
from calibration.store.sessions import get_session
from calibration.store.sets import get_set
from rubrics.errors import DeclarationError, DifferentRecord, RaterRefused, RecordError
from tests.calibration.labeling.world import (
    DATASET,
    PLAIN,
    SESSION,
    freeze,
    later,
    number_of,
    opened,
    pair,
    rate_all,
    rubric,
    said,
)
from tests.calibration.store.evidence import label


def test_practice_comes_first_with_feedback_and_is_no_evidence(store: Store) -> None:
    """The rubric's own examples are asked before the first item; their answers are no assessments."""
    opened(store, plan=PLAIN.model_copy(update={"practice": 2}))
    for turn in (1, 2):
        task = rating.next_task(store=store, rater="ann", now=later(10 * turn))
        assert isinstance(task, Task)
        assert (task.kind, task.position, task.of) == (TaskKind.PRACTICE, turn, 2)
        given = said("pass", 10 * turn + 5)
        done = rating.answer(store=store, rater="ann", task=task.key, answer=given, now=later(10 * turn + 5))
        assert done.feedback is not None
        assert done.feedback == rating.feedback(task, given)
        assert done.feedback.agrees == (done.feedback.expected == "pass")
        assert done.feedback.why
    task = rating.next_task(store=store, rater="ann", now=later(40))
    assert isinstance(task, Task)
    assert (task.kind, task.position) == (TaskKind.RATE, 1)
    assert looking.history(store=store, rater="ann", now=later(41)) == ()


def test_hidden_repeats_ask_again_at_a_distance_and_look_the_same(sqlite_store: Store) -> None:
    """Forty items: ten come again, thirty places later or more, as further assessments of their own."""
    opened(sqlite_store, items=40, plan=SessionPlan(practice=0, seed=5))
    seen = rate_all(sqlite_store, "ann")
    assert len(seen) == 50
    places: dict[int, list[int]] = {}
    for task in seen:
        places.setdefault(number_of(task), []).append(task.position)
    twice = [positions for positions in places.values() if len(positions) == 2]
    assert len(twice) == 10
    assert all(second - first >= 30 for first, second in twice)


def test_the_window_ends_and_what_was_open_is_unknown_by_a_record(store: Store) -> None:
    """After its end nobody can answer; what was open is recorded as error, window_closed, once."""
    opened(store, asked=rubric(criteria=2), items=3, window_ends_at=later(1000))
    task = rating.next_task(store=store, rater="ann", now=later(8))
    assert isinstance(task, Task)
    rating.answer(store=store, rater="ann", task=task.key, answer=said(), now=later(10))
    rate_all(store, "ben")
    over = rating.next_task(store=store, rater="ann", now=later(1000))
    assert isinstance(over, Nothing)
    assert over.why is NothingWhy.WINDOW_OVER
    second = task.key._replace(criterion="polite")
    with pytest.raises(RaterRefused, match="time of the session"):
        rating.answer(store=store, rater="ann", task=second, answer=said(at=1001), now=later(1001))
    with store.write() as session:
        assert session_status(session=session, name=SESSION, now=later(1001)).over
        assert close_due(session=session, at=later(999)) == 0
        assert close_due(session=session, at=later(1002)) == 5
        assert close_due(session=session, at=later(1003)) == 0
        rows = session.connection().exec_driver_sql(
            "SELECT criterion, reason, detail FROM assignment_closure ORDER BY criterion"
        )
        assert [tuple(row) for row in rows] == [
            *[("correct", "error", "window_closed")] * 2,
            *[("polite", "error", "window_closed")] * 3,
        ]
    closed = rating.next_task(store=store, rater="ann", now=later(1004))
    assert isinstance(closed, Nothing)
    assert closed.why is NothingWhy.CLOSED


def test_a_closed_session_takes_nothing_and_shows_what_was_given(store: Store) -> None:
    """Answer and undo are refused in a closed session; looking back is allowed."""
    opened(store)
    task = rating.next_task(store=store, rater="ann", now=later(8))
    assert isinstance(task, Task)
    rating.answer(store=store, rater="ann", task=task.key, answer=said(), now=later(10))
    with store.write() as session:
        assert close_session(session=session, name=SESSION, actor="lead", at=later(20)) == 11
        assert close_session(session=session, name=SESSION, actor="lead", at=later(21)) == 0
    with pytest.raises(RaterRefused, match="closed"):
        rating.retract(
            store=store, rater="ann", assignment=task.assignment, criterion="correct", now=later(30)
        )
    again = rating.task_at(
        store=store, rater="ann", assignment=task.assignment, criterion="correct", now=later(30)
    )
    assert again.given is not None
    assert (again.given.value, again.given.revision) == ("pass", 0)
    (past,) = looking.history(store=store, rater="ann", now=later(31))
    assert (past.assignment, past.changeable) == (task.assignment, False)


def test_an_absent_raters_items_go_to_others_and_their_page_is_fenced_off(store: Store) -> None:
    """What was not looked at moves at once; what is looked at only by force, and is refused then."""
    opened(store, raters=("ann", "ben", "cem"))
    task = rating.next_task(store=store, rater="ann", now=later(8))
    assert isinstance(task, Task)
    with store.read() as session:
        before = {
            p.person: p.open for p in session_status(session=session, name=SESSION, now=later(9)).people
        }
    assert before == {"ann": 4, "ben": 4, "cem": 4, "zoe": 0}
    with store.write() as session:
        moved = reassign(
            session=session, name=SESSION, absent="ann", to=["ben", "cem", "eve"], actor="lead", at=later(20)
        )
    assert moved == 3
    given = said(at=30)
    assert rating.answer(store=store, rater="ann", task=task.key, answer=given, now=later(30)).new
    with store.read() as session:
        people = session_status(session=session, name=SESSION, now=later(31)).people
    ann = next(each for each in people if each.person == "ann")
    assert (ann.done, ann.reassigned, ann.absent) == (1, 3, True)
    assert sum(each.open for each in people) == 11


def test_force_takes_what_is_looked_at(store: Store) -> None:
    """A forced reassignment raises the fencing number: the old page's answer is refused."""
    opened(store)
    task = rating.next_task(store=store, rater="ann", now=later(8))
    assert isinstance(task, Task)
    with store.write() as session:
        reassign(
            session=session, name=SESSION, absent="ann", to=["eve"], actor="lead", at=later(20), force=True
        )
    with pytest.raises(RaterRefused, match="taken off your list"):
        rating.answer(store=store, rater="ann", task=task.key, answer=said(at=30), now=later(30))
    assert len(rate_all(store, "eve")) == 6


def test_reassigning_to_nobody_or_in_a_closed_session_is_refused(store: Store) -> None:
    """The absent rater, an adjudicator, nobody, a stranger: each is refused with a sentence."""
    opened(store)
    with store.write() as session:
        for to, absent, error in (
            (["ann"], "ann", DeclarationError),
            (["zoe"], "ann", DeclarationError),
            ([], "ann", DeclarationError),
            (["eve"], "nobody", RecordError),
        ):
            with pytest.raises(error):
                reassign(session=session, name=SESSION, absent=absent, to=to, actor="lead", at=later(1))
        close_session(session=session, name=SESSION, actor="lead", at=later(2))
        with pytest.raises(RecordError, match="closed"):
            reassign(session=session, name=SESSION, absent="ann", to=["eve"], actor="lead", at=later(3))


def test_a_broken_item_leaves_the_queue_and_the_lead_sees_why(store: Store) -> None:
    """An item that cannot be judged is flagged with a word; the rater goes on with the next."""
    opened(store)
    task = rating.next_task(store=store, rater="ann", now=later(8))
    assert isinstance(task, Task)
    with pytest.raises(DeclarationError, match="what is broken"):
        rating.flag_broken(store=store, rater="ann", task=task.key, why=" ", now=later(9))
    rating.flag_broken(store=store, rater="ann", task=task.key, why="cut off", now=later(10))
    following = rating.next_task(store=store, rater="ann", now=later(11))
    assert isinstance(following, Task)
    assert following.position == 2
    with store.read() as session:
        status = session_status(session=session, name=SESSION, now=later(12))
    assert [(each.rater, each.why) for each in status.broken] == [("ann", "cut off")]


def test_progress_counts_items_batches_and_breaks(sqlite_store: Store) -> None:
    """Done, batch and the minutes since a break; a full batch asks for one until it was taken."""
    opened(sqlite_store, items=60)
    for turn in range(50):
        at = 10 + turn * 30
        task = rating.next_task(store=sqlite_store, rater="ann", now=later(at - 2))
        assert isinstance(task, Task)
        rating.answer(store=sqlite_store, rater="ann", task=task.key, answer=said(at=at), now=later(at))
    found = looking.progress(store=sqlite_store, rater="ann", now=later(1500))
    assert (found.batch, found.batch_done, found.batch_size, found.done, found.of) == (1, 50, 50, 50, 60)
    assert (found.total_ever, found.break_due) == (50, True)
    assert found.minutes_since_break == pytest.approx((1500 - 8) / 60)
    rating.note_event(store=sqlite_store, rater="ann", session=SESSION, kind=EventKind.BREAK, now=later(1600))
    after = looking.progress(store=sqlite_store, rater="ann", now=later(1601))
    assert (after.break_due, after.done) == (False, 50)
    none = looking.progress(store=sqlite_store, rater="nobody", now=later(1))
    assert none == Progress(1, 0, 0, 0, 0, 0, 0.0)


def test_a_newer_rubric_is_told_and_changes_nothing(store: Store) -> None:
    """A version published meanwhile is there to be announced; labels stay under the session's own."""
    from calibration.store.rubrics import add_rubric

    opened(store)
    assert looking.newer_rubric(store=store, session=SESSION) is None
    with store.write() as session:
        add_rubric(session=session, rubric=rubric(2), actor="lead", at=later(1))
    newer = looking.newer_rubric(store=store, session=SESSION)
    assert newer is not None
    assert newer.version == 2
    task = rating.next_task(store=store, rater="ann", now=later(2))
    assert isinstance(task, Task)
    assert task.rubric.version == 1


def opening(store: Store, **changes: object) -> Opening:
    """An opening on the world's set, changed as given."""
    with store.read() as session:
        given: dict[str, object] = {
            "name": "other",
            "stored_set": get_set(session=session, set_name="may"),
            "rubric": get_rubric(session=session, name="refunds"),
            "raters": ("eve", "fay"),
            "plan": PLAIN,
        }
    return Opening(**(given | changes))  # type: ignore[arg-type]


def refused(store: Store, error: type[Exception], match: str, **changes: object) -> None:
    """Opening so is refused, and nothing of it stays."""
    with pytest.raises(error, match=match), store.write() as session:
        open_session(session=session, opening=opening(store, **changes), actor="lead", at=later(5))


def test_what_cannot_be_opened_is_refused_with_a_sentence(sqlite_store: Store) -> None:
    """Too few raters, one person in two roles, a window before its start, a taken name, other items."""
    store = sqlite_store
    opened(store)
    refused(store, DifferentRecord, "another name", name=SESSION)
    refused(store, DeclarationError, "1 rater for 2", raters=("eve",))
    refused(store, DeclarationError, "rates or adjudicates", adjudicators=("eve",))
    refused(store, DeclarationError, "before the session opens", window_ends_at=later(1))
    with store.write() as session:
        labels = [label(0, "eve", item_id="case-000")]
        add_labels(
            session=session, dataset=DATASET, rubric_digest=rubric().digest, labels=labels, at=later(1)
        )
    refused(store, DeclarationError, "labelled 1 item of")
    with store.read() as session:
        assert open_items(session=session, person="ann", set_digest=opening(store).stored_set.digest) == 6
        assert verify_events(session=session) == ()
        kinds = [event.kind for event in events(session=session, stream="labeling")]
    assert kinds == ["session.opened"]


def test_open_cases_keep_their_adjudicator_out_after_the_close(sqlite_store: Store) -> None:
    """An adjudicator's open case counts as an open item of the set once its session is closed too."""
    opened(sqlite_store, items=2)
    rate_all(sqlite_store, "ann")
    rate_all(sqlite_store, "ben", lambda task: "fail" if number_of(task) == 0 else "pass")
    with sqlite_store.write() as session:
        close_session(session=session, name=SESSION, actor="lead", at=later(900))
        labeling = get_session(session=session, session_name=SESSION)
        assert queue_disputes(session=session, labeling=labeling, rubric=rubric(), at=later(901)) == 1
        left = {
            who: open_items(session=session, person=who, set_digest=labeling.set_digest)
            for who in ("ann", "zoe")
        }
        work = open_work(session=session, person="zoe")
    assert left == {"ann": 0, "zoe": 1}
    assert work == OpenWork(frozenset({"refunds"}), frozenset({DATASET}))


def test_pairs_are_not_rated_under_a_rubric_of_single_outputs(sqlite_store: Store) -> None:
    """Items of another shape than the rubric judges are refused at opening."""
    with sqlite_store.write() as session:
        stored = freeze(session, 2, rubric(), pair)
        wrong = Opening(name="x", stored_set=stored, rubric=rubric(), raters=("a", "b"), plan=PLAIN)
        with pytest.raises(DeclarationError, match="is pairwise and refunds@1 judges pointwise"):
            open_session(session=session, opening=wrong, actor="lead", at=later(1))
