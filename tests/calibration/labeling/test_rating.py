"""A rater gets items one by one, answers each once, takes answers back, and reaches nothing else."""

from __future__ import annotations

import pytest

from calibration.interchange.native.export import export_labels
from calibration.interchange.native.overview import count_labels
from calibration.labeling import rating
from calibration.labeling.records import IgnoredWhy, Nothing, NothingWhy, Task, TaskKey
from calibration.labels import Blindness
from calibration.store.assessments import iter_labels
from calibration.store.chain import events
from calibration.store.database import Store
from calibration.store.items import Scope
from rubrics.errors import DeclarationError, RaterRefused
from tests.calibration.labeling.world import DATASET, SESSION, later, opened, rate_all, rubric, said


def task_of(store: Store, rater: str = "ann", at: float = 8) -> Task:
    """The rater's next task, which there is."""
    task = rating.next_task(store=store, rater=rater, now=later(at))
    assert isinstance(task, Task)
    return task


def labels(store: Store, digest: str, *, live: bool = True) -> list[tuple[str, str, int]]:
    """Rater, answer and revision of each label."""
    with store.read() as session:
        found = iter_labels(session=session, scope=Scope(dataset=DATASET), rubric_digest=digest, live=live)
        return [(each.rater, each.answer, each.revision) for each in found]


def test_each_item_is_answered_once_and_stored_as_blind(store: Store) -> None:
    """A rater meets every item once; the labels say blind yes, with revision 0 and both times."""
    asked = opened(store)
    seen = rate_all(store, "ann")
    assert len({task.assignment for task in seen}) == len(seen) == 6
    assert [task.position for task in seen] == [1, 2, 3, 4, 5, 6]
    with store.read() as session:
        found = list(iter_labels(session=session, scope=Scope(dataset=DATASET), rubric_digest=asked.digest))
    assert len(found) == 6
    assert {each.blind for each in found} == {Blindness.YES}
    assert all(each.shown_at and each.decided_at and each.shown_at < each.decided_at for each in found)
    after = rating.next_task(store=store, rater="ann", now=later(500))
    assert after == Nothing(NothingWhy.ALL_DONE, 0, SESSION)


def test_pressing_twice_stores_once(store: Store) -> None:
    """The same answer again is the same record; another one is ignored and changes nothing."""
    asked = opened(store)
    task = task_of(store)
    first = rating.answer(store=store, rater="ann", task=task.key, answer=said(), now=later(10))
    again = rating.answer(store=store, rater="ann", task=task.key, answer=said(at=11), now=later(11))
    other = rating.answer(store=store, rater="ann", task=task.key, answer=said("fail"), now=later(12))
    assert (first.new, again.new) == (True, False)
    assert first.digest == again.digest
    assert other.ignored is IgnoredWhy.ALREADY_ANSWERED
    assert labels(store, asked.digest) == [("ann", "pass", 0)]


def test_a_press_meant_for_the_item_before_is_ignored(store: Store) -> None:
    """Less than 250 ms after the task was shown nobody has read it."""
    asked = opened(store)
    task = task_of(store)
    early = said()
    hasty = type(early)(value="pass", shown_at=later(10), decided_at=later(10.249))
    done = rating.answer(store=store, rater="ann", task=task.key, answer=hasty, now=later(11))
    assert done.ignored is IgnoredWhy.TOO_EARLY
    assert labels(store, asked.digest) == []


def test_undo_keeps_both_and_the_next_answer_is_a_revision(store: Store) -> None:
    """An answer taken back counts for nothing and stays; the new one names it."""
    asked = opened(store)
    task = task_of(store)
    rating.answer(store=store, rater="ann", task=task.key, answer=said(), now=later(10))
    back = rating.retract(
        store=store, rater="ann", assignment=task.assignment, criterion="correct", now=later(12)
    )
    assert (back.assignment, back.position) == (task.assignment, task.position)
    assert labels(store, asked.digest) == []
    assert task_of(store, at=13).key == task.key
    rating.answer(store=store, rater="ann", task=back.key, answer=said("fail", 20), now=later(20))
    assert labels(store, asked.digest) == [("ann", "fail", 1)]
    assert labels(store, asked.digest, live=False) == [("ann", "pass", 0), ("ann", "fail", 1)]


def test_an_old_answer_is_changed_only_with_a_reason(store: Store) -> None:
    """After the hours that the plan names, taking back asks why."""
    opened(store)
    task = task_of(store)
    rating.answer(store=store, rater="ann", task=task.key, answer=said(), now=later(10))
    old = later(25 * 3600)
    with pytest.raises(DeclarationError, match="older than 24 hours"):
        rating.retract(store=store, rater="ann", assignment=task.assignment, criterion="correct", now=old)
    rating.retract(
        store=store, rater="ann", assignment=task.assignment, criterion="correct", why="misread", now=old
    )


def test_cannot_decide_needs_a_reason_and_a_fail_may_name_a_mode(store: Store) -> None:
    """Unknown without a reason is refused; a failure mode belongs to a fail and to the rubric."""
    asked = opened(store)
    task = task_of(store)
    for wrong in (
        said("unknown"),
        said("unknown", reason="tired"),
        said("pass", reason="other"),
        said("pass", failure_mode="invented"),
        said("fail", failure_mode="rude"),
        said("maybe"),
    ):
        with pytest.raises(DeclarationError):
            rating.answer(store=store, rater="ann", task=task.key, answer=wrong, now=later(10))
    rating.answer(
        store=store, rater="ann", task=task.key, answer=said("fail", failure_mode="invented"), now=later(10)
    )
    assert labels(store, asked.digest) == [("ann", "fail", 0)]


def test_criteria_of_an_item_come_in_a_row(store: Store) -> None:
    """The text stays while its criteria are asked one after the other; skipping one is refused."""
    opened(store, asked=rubric(criteria=3), items=3)
    first = task_of(store)
    key = TaskKey(first.assignment, "complete", first.lease_no)
    with pytest.raises(RaterRefused, match="'correct' of the same item comes first"):
        rating.answer(store=store, rater="ann", task=key, answer=said(), now=later(10))
    seen = rate_all(store, "ann")
    assert [(task.position, task.criterion_no) for task in seen] == [
        (item, criterion) for item in (1, 2, 3) for criterion in (1, 2, 3)
    ]


def test_what_is_not_the_raters_is_refused_and_audited(store: Store) -> None:
    """Another's assignment, one that was not shown, a stale hand-out: refused, each with an audit event."""
    opened(store)
    mine, theirs = task_of(store, "ann"), task_of(store, "ben")
    tries = [
        ("ben", mine.key),
        ("eve", mine.key),
        ("ann", theirs.key),
        ("ann", TaskKey("nothing", "correct", 1)),
        ("ann", TaskKey(mine.assignment, "correct", 0)),
        ("ann", TaskKey(mine.assignment, "correct", 9)),
        ("ann", TaskKey(mine.assignment, "unheard", 1)),
    ]
    for rater, key in tries:
        with pytest.raises(RaterRefused):
            rating.answer(store=store, rater=rater, task=key, answer=said(), now=later(10))
    with store.read() as session:
        refused = [each.actor for each in events(session=session, stream="labeling")][1:]
    assert refused == [rater for rater, _ in tries]


def test_a_rater_without_a_session_gets_nothing(store: Store) -> None:
    """Whoever is in no session is told so; a session of others is refused."""
    opened(store)
    found = rating.next_task(store=store, rater="eve", now=later(1))
    assert found == Nothing(NothingWhy.NO_SESSION)
    with pytest.raises(RaterRefused, match="no place"):
        rating.next_task(store=store, rater="eve", session=SESSION, now=later(1))


def test_an_answer_that_was_taken_back_is_in_no_export_and_no_count(store: Store) -> None:
    """Taken back and not given anew: out of exports and counts; given anew: the whole chain is exported."""
    asked = opened(store)
    task = task_of(store)
    rating.answer(store=store, rater="ann", task=task.key, answer=said(), now=later(10))
    rating.retract(store=store, rater="ann", assignment=task.assignment, criterion="correct", now=later(12))

    def exported() -> list[tuple[str | None, int | None]]:
        with store.read() as session:
            lines = export_labels(session=session, scope=Scope(dataset=DATASET), rubric_digest=asked.digest)
            return [(line["label"], line.get("revision")) for line in lines]

    def counted() -> list[int]:
        with store.read() as session:
            return [each.labels for each in count_labels(session=session)]

    assert (exported(), counted()) == ([], [])
    rating.answer(store=store, rater="ann", task=task.key, answer=said("fail", 20), now=later(20))
    assert (exported(), counted()) == ([("pass", None), ("fail", 1)], [1])
