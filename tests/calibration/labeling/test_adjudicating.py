"""An adjudicator judges first, sees the raters' answers without names, and resolves with a reason."""

from __future__ import annotations

import pytest

from calibration.labeling import adjudicating
from calibration.labeling.rating import answer, next_task
from calibration.labeling.records import AdjudicationCounts, Case, Nothing, NothingWhy, Span, Task
from calibration.labeling.sessions import close_session
from calibration.store.chain import events
from calibration.store.database import Store
from calibration.store.items import Scope
from calibration.store.payloads import StoredText, read_payloads
from calibration.store.rater_records import events_of
from calibration.store.references import iter_adjudications
from calibration.store.sessions import session_key
from rubrics.errors import DeclarationError, RaterRefused
from tests.calibration.labeling.world import (
    DATASET,
    SESSION,
    later,
    number_of,
    opened,
    pair,
    pairs,
    rate_all,
    rubric,
    said,
)
from tests.databases import BOTH


def odd_fails(task: Task) -> str:
    """Fail every odd item."""
    return "fail" if number_of(task) % 2 else "pass"


def disputed(store: Store, items: int = 6) -> None:
    """A session in which the raters disagree on the odd items."""
    opened(store, items=items)
    rate_all(store, "ann", odd_fails)
    rate_all(store, "ben")


def case_of(store: Store, at: float = 200) -> Case:
    """The adjudicator's next case, which there is."""
    found = adjudicating.next_case(store=store, rater="zoe", now=later(at))
    assert isinstance(found, Case)
    return found


def through(store: Store, case: Case, value: str, first: str = "pass", at: float = 210) -> None:
    """Own verdict, reveal, resolution."""
    key = case.task.key
    adjudicating.first_verdict(store=store, rater="zoe", task=key, answer=said(first, at), now=later(at))
    adjudicating.reveal(store=store, rater="zoe", task=key, now=later(at + 1))
    adjudicating.resolve(
        store=store, rater="zoe", task=key, value=value, reason="the policy", now=later(at + 2)
    )


@BOTH
def test_every_disagreement_comes_once_and_only_when_its_raters_are_done(store: Store) -> None:
    """Nothing is queued while a rater of the item is open; then each disagreement once, in seeded order."""
    opened(store)
    rate_all(store, "ann", odd_fails)
    nothing = adjudicating.next_case(store=store, rater="zoe", now=later(100))
    assert nothing == Nothing(NothingWhy.ALL_DONE, session=SESSION)
    rate_all(store, "ben")
    seen = []
    for turn in range(3):
        case = case_of(store, 200 + 20 * turn)
        assert (case.first, case.task.of, case.task.position) == (None, 3, turn + 1)
        seen.append(number_of(case.task))
        through(store, case, "fail", at=205 + 20 * turn)
    assert sorted(seen) == [1, 3, 5]
    assert adjudicating.counts(store=store, rater="zoe") == AdjudicationCounts(0, 3, 0)
    assert isinstance(adjudicating.next_case(store=store, rater="zoe", now=later(400)), Nothing)


def test_nothing_is_revealed_before_the_own_verdict(store: Store) -> None:
    """Reveal and resolve are refused until the adjudicator has judged, and audited."""
    disputed(store)
    key = case_of(store).task.key
    with pytest.raises(RaterRefused, match="own verdict first"):
        adjudicating.reveal(store=store, rater="zoe", task=key, now=later(205))
    with pytest.raises(RaterRefused, match="before you resolve"):
        adjudicating.resolve(store=store, rater="zoe", task=key, value="fail", reason="so", now=later(205))
    with pytest.raises(RaterRefused, match="no assignment"):
        adjudicating.reveal(store=store, rater="ann", task=key, now=later(205))
    adjudicating.first_verdict(store=store, rater="zoe", task=key, answer=said("fail", 210), now=later(210))
    again = case_of(store, 211)
    assert again.first is not None
    assert again.first.value == "fail"
    shown = adjudicating.reveal(store=store, rater="zoe", task=key, now=later(212))
    assert [each.letter for each in shown] == ["A", "B"]
    assert sorted(each.value for each in shown) == ["fail", "pass"]
    assert shown == adjudicating.reveal(store=store, rater="zoe", task=key, now=later(213))
    with pytest.raises(RaterRefused, match="stands as it is"):
        adjudicating.first_verdict(
            store=store, rater="zoe", task=key, answer=said("pass", 214), now=later(214)
        )
    with store.read() as session:
        refused = [e.actor for e in events(session=session, stream="labeling") if e.kind == "rater.refused"]
    assert refused == ["zoe", "zoe", "ann", "zoe"]


def test_letters_do_not_follow_the_names(sqlite_store: Store) -> None:
    """Over many cases either rater is A."""
    disputed(sqlite_store, items=24)
    first = set()
    for turn in range(12):
        case = case_of(sqlite_store, 500 + 10 * turn)
        key, at = case.task.key, 502 + 10 * turn
        adjudicating.first_verdict(
            store=sqlite_store, rater="zoe", task=key, answer=said(at=at), now=later(at)
        )
        first.add(adjudicating.reveal(store=sqlite_store, rater="zoe", task=key, now=later(at))[0].value)
        adjudicating.resolve(
            store=sqlite_store, rater="zoe", task=key, value="pass", reason="so", now=later(at)
        )
    assert first == {"pass", "fail"}


def test_unresolved_is_a_result_with_its_reason(store: Store) -> None:
    """Leaving a case unresolved is recorded like any resolution; a reason is required for every one."""
    disputed(store)
    case = case_of(store)
    with pytest.raises(DeclarationError, match="needs a reason"):
        adjudicating.resolve(
            store=store, rater="zoe", task=case.task.key, value="unknown", reason=" ", now=later(205)
        )
    through(store, case, "unknown")
    assert adjudicating.counts(store=store, rater="zoe") == AdjudicationCounts(2, 0, 1)
    with store.read() as session:
        found = list(
            iter_adjudications(session=session, scope=Scope(dataset=DATASET), rubric_digest=rubric().digest)
        )
        reason = read_payloads(session=session, digests=[str(found[0].reason_digest)])
    assert [(each.adjudicator, each.answer) for each in found] == [("zoe", "unknown")]
    assert [each.content for each in reason.values() if isinstance(each, StoredText)] == [
        {"reason": "the policy"}
    ]


def test_a_changed_mind_is_recorded_beside_the_first_verdict(store: Store) -> None:
    """First and final verdict of every resolution are kept: together they measure anchoring."""
    disputed(store)
    through(store, case_of(store), "fail", first="pass")
    through(store, case_of(store, 220), "pass", first="pass", at=230)
    with store.read() as session:
        found = events_of(session=session, key=session_key(SESSION), kinds=[adjudicating.RESOLVED])
    assert [(e.payload["first"], e.payload["final"]) for e in found] == [("pass", "fail"), ("pass", "pass")]


def test_a_resolution_may_be_revised(store: Store) -> None:
    """Resolving again is a revision; both rows stay and the newer one counts."""
    disputed(store)
    case = case_of(store)
    through(store, case, "fail")
    done = adjudicating.case_at(store=store, rater="zoe", assignment=case.task.assignment, now=later(230))
    assert done.task.given is not None
    assert (done.task.given.value, done.task.given.note) == ("fail", "the policy")
    adjudicating.resolve(
        store=store, rater="zoe", task=case.task.key, value="pass", reason="read again", now=later(240)
    )
    with store.read() as session:
        both, live = (
            [
                (each.answer, each.revision)
                for each in iter_adjudications(
                    session=session, scope=Scope(dataset=DATASET), rubric_digest=rubric().digest, live=live
                )
            ]
            for live in (False, True)
        )
    assert both == [("fail", 0), ("pass", 1)]
    assert live == [("pass", 1)]


def test_adjudicators_go_on_after_the_session_is_closed(store: Store) -> None:
    """Closing ends rating; what the raters left in dispute can still be resolved."""
    disputed(store)
    with store.write() as session:
        close_session(session=session, name=SESSION, actor="lead", at=later(150))
    through(store, case_of(store), "fail")


def test_pairs_are_shown_and_revealed_by_side(store: Store) -> None:
    """Left and right are each person's own; what is stored and revealed is about the same output."""
    opened(store, asked=pairs(), make=pair, items=8)
    prefers = {"ann": "source A", "ben": "source B"}
    for rater in ("ann", "ben"):
        for at in range(10, 90, 10):
            task = next_task(store=store, rater=rater, now=later(at - 2))
            assert isinstance(task, Task)
            sides = {field.key: field for field in task.fields if field.key in {"left", "right"}}
            assert [sides[key].title for key in ("left", "right")] == ["Left", "Right"]
            side = next(key for key, field in sides.items() if field.text.startswith(prefers[rater]))
            given = said(side, at, spans=(Span(side, 0, 8),))
            answer(store=store, rater=rater, task=task.key, answer=given, now=later(at))
    case = case_of(store)
    at = 205
    adjudicating.first_verdict(
        store=store, rater="zoe", task=case.task.key, answer=said("left", at), now=later(at)
    )
    texts = {field.key: field.text for field in case.task.fields}
    shown = adjudicating.reveal(store=store, rater="zoe", task=case.task.key, now=later(at))
    assert {texts[each.value][:8] for each in shown} == {"source A", "source B"}
    assert all(each.spans == (Span(each.value, 0, 8),) for each in shown)
    adjudicating.resolve(
        store=store, rater="zoe", task=case.task.key, value="left", reason="clearer", now=later(at + 1)
    )
    with store.read() as session:
        found = list(
            iter_adjudications(session=session, scope=Scope(dataset=DATASET), rubric_digest=pairs().digest)
        )
    assert texts["left"].startswith(f"source {found[0].answer}")
