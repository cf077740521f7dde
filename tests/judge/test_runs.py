"""A run over a fake model: every unit has one verdict, nothing is asked twice, what fails stays open."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calibration.store.calls import open_units
from calibration.store.database import Store
from calibration.store.erasing import erase_item
from calibration.store.items import Scope
from calibration.store.judges import request_cancel
from calibration.store.run_lock import working_on
from calibration.store.verdicts import iter_verdicts
from judge.calls import Fault, ModelCallError, ModelReply, ModelRequest
from judge.fake_model import FakeTransport, failed, said
from judge.runs import Progress, RunOptions, StopKind, recorder, run_judge
from judge.spec import BlankOutput
from rubrics.errors import DeclarationError, RecordError
from rubrics.order import OrderPolicy
from tests.judge.cases import BETTER, PAIRWISE, TONE, item, judge, pair
from tests.judge.run_world import (
    DATASET,
    KEY,
    NOW,
    Slow,
    adds_up,
    answer,
    asked_once_each,
    carried_out,
    even_passes,
    lay_down,
    number_in,
    numbered,
    place_in,
    planned,
    rows,
    state,
    verdicts,
)

ONE_ORDER = judge(name="one-order", order=OrderPolicy.AS_DECLARED)


def test_every_unit_has_one_verdict_with_what_it_took(store: Store) -> None:
    """Both orders of each item: value, reply as it came, tokens, cost, model, and the intent behind it."""
    lay_down(store, numbered(5), judge())
    model = FakeTransport(lambda request: answer("fail" if number_in(request) % 2 else "pass", micros=7))
    summary = carried_out(store, planned(store), model)
    assert (summary.complete, summary.stopped) == (True, None)
    assert summary.verdicts == {"fail": 4, "pass": 6}
    assert (summary.units, summary.done, summary.done_before, summary.pending) == (10, 10, 0, 0)
    assert (summary.calls.intended, summary.calls.unresolved, summary.calls.known_micros) == (10, 0, 70)
    assert (summary.tokens_out, summary.models) == (10 * 5, ("fake-1",))
    assert asked_once_each(model)
    assert len(model.requests) == 10
    assert state(store, summary.run) == "finished"
    stored = verdicts(store)
    assert {row["presentation"] for row in stored} == {"ab", "ba"}
    assert {row["call_key"] for row in stored} == {
        key for (key,) in rows(store, "SELECT key FROM judge_call")
    }
    replies = [
        json.loads(text) for (text,) in rows(store, "SELECT text FROM item_payload WHERE text LIKE '%raw%'")
    ]
    assert {reply["raw"] for reply in replies} == {
        model.requests and answer(v).text for v in ("pass", "fail")
    }
    assert {reply["fields"]["cost_source"] for reply in replies} == {"declared"}


def test_the_intent_is_durable_before_its_call(store: Store) -> None:
    """Whenever the model is asked, the store already holds the intent of exactly that call."""
    lay_down(store, numbered(6), ONE_ORDER)
    seen: list[int] = []

    def handler(request: ModelRequest) -> ModelReply:
        intents = {item for (item,) in rows(store, INTENDED)}
        assert f"n-{number_in(request)}" in intents
        seen.append(len(intents))
        return answer("pass")

    carried_out(store, planned(store, ONE_ORDER), handler, concurrency=1)
    assert seen == sorted(seen)
    assert seen[0] <= 2


INTENDED = "SELECT i.item_id FROM judge_call c JOIN item i ON i.key = c.item_key"


def test_a_run_goes_on_where_it_stopped(store: Store) -> None:
    """Stopped after some answers and called again, it asks exactly what is left, and is the same run."""
    lay_down(store, numbered(9), judge())
    plan = planned(store)

    def breaks_down(request: ModelRequest) -> ModelReply | ModelCallError:
        return even_passes(request) if len(first.requests) <= 7 else failed(Fault.QUOTA, status=402)

    first = FakeTransport(breaks_down)
    stopped = carried_out(store, plan, first, concurrency=1)
    assert stopped.stopped is not None
    assert (stopped.done, adds_up(stopped), state(store, stopped.run)) == (7, True, "paused")
    second = FakeTransport(even_passes)
    summary = carried_out(store, plan, second)
    assert (summary.run, summary.done_before, summary.complete) == (stopped.run, 7, True)
    assert len(second.requests) == 18 - 7
    assert asked_once_each(second)
    third = FakeTransport(even_passes)
    assert carried_out(store, plan, third).complete
    assert third.requests == []
    assert len(verdicts(store)) == 18


@pytest.mark.parametrize(
    "fault", [Fault.MISSING_KEY, Fault.AUTH, Fault.QUOTA, Fault.NOT_FOUND, Fault.UNSUPPORTED]
)
def test_a_fault_that_every_call_would_meet_stops_the_run_after_one_call(
    sqlite_store: Store, fault: Fault
) -> None:
    """No key, a wrong one, no credit, no such model: one call, one sentence, and every unit stays open."""
    lay_down(sqlite_store, numbered(20), judge())
    model = FakeTransport(lambda _: failed(fault))
    summary = carried_out(sqlite_store, planned(sqlite_store), model, concurrency=8)
    assert len(model.requests) == 1
    assert summary.stopped is not None
    assert (summary.stopped.kind, summary.stopped.sentence) == (StopKind.FAULT, str(failed(fault)))
    assert (summary.done, verdicts(sqlite_store), adds_up(summary)) == (0, [], True)
    assert (summary.calls.made, summary.calls.unresolved) == (1, 0)


def test_a_call_that_fails_leaves_its_unit_open_and_is_made_again(store: Store) -> None:
    """A time-out is no verdict: the unit is an error until the next run asks it, as the second attempt."""
    lay_down(store, numbered(6), ONE_ORDER)
    plan = planned(store, ONE_ORDER)

    def sometimes(request: ModelRequest) -> ModelReply | ModelCallError:
        return failed(Fault.TIMEOUT) if number_in(request) in {1, 4} else even_passes(request)

    summary = carried_out(store, plan, sometimes)
    assert summary.errors == {"timeout": 2}
    assert (summary.done, summary.complete, adds_up(summary)) == (4, False, True)
    assert summary.stopped is not None
    assert summary.stopped.kind is StopKind.UNANSWERED
    assert "2 units have no verdict" in summary.stopped.sentence
    with store.read() as session:
        left = open_units(session=session, run_key=summary.run)
    assert [(unit.item_id, unit.detail, unit.repeat) for unit in left] == [
        ("n-1", "timeout", 1),
        ("n-4", "timeout", 1),
    ]
    again = FakeTransport(even_passes)
    finished = carried_out(store, plan, again)
    assert (finished.complete, finished.errors, len(again.requests)) == (True, {}, 2)
    attempts = rows(store, "SELECT attempt, count(*) FROM judge_call GROUP BY attempt ORDER BY attempt")
    assert attempts == [(1, 6), (2, 2)]
    assert finished.calls.unresolved == 0


@pytest.mark.parametrize("answered", [0, 20])
def test_a_provider_that_answers_nothing_is_left_alone(sqlite_store: Store, answered: int) -> None:
    """Three failures stop a run that never had an answer; later ten beyond those in flight do."""
    lay_down(sqlite_store, numbered(200), ONE_ORDER)
    seen: list[int] = []

    def dies(request: ModelRequest) -> ModelReply | ModelCallError:
        seen.append(number_in(request))
        return answer("pass") if len(seen) <= answered else failed(Fault.UNREACHABLE)

    summary = carried_out(sqlite_store, planned(sqlite_store, ONE_ORDER), dies, concurrency=16)
    assert summary.stopped is not None
    assert summary.stopped.kind is StopKind.PROVIDER
    most = 10 + 16 if answered else 3
    assert 3 <= len(seen) - answered <= most
    assert adds_up(summary)
    assert state(sqlite_store, summary.run) == "paused"
    assert len(verdicts(sqlite_store)) == answered


def test_failures_that_do_not_follow_each_other_stop_nothing(sqlite_store: Store) -> None:
    """Every second call fails: all are made."""
    lay_down(sqlite_store, numbered(60), ONE_ORDER)

    def every_second(request: ModelRequest) -> ModelReply | ModelCallError:
        return failed(Fault.SERVER_ERROR) if number_in(request) % 2 else answer("pass")

    summary = carried_out(sqlite_store, planned(sqlite_store, ONE_ORDER), every_second)
    assert (summary.verdicts, summary.errors) == ({"pass": 30}, {"provider_error": 30})


def test_a_final_unknown_is_a_verdict(store: Store) -> None:
    """Refused, cut off, unreadable: each is recorded with its reason and not asked again."""
    replies = {0: said("no idea"), 1: said(None, refusal="I will not"), 2: said('{"ver', finish="length")}
    lay_down(store, numbered(3), ONE_ORDER)
    plan = planned(store, ONE_ORDER)
    summary = carried_out(store, plan, lambda request: replies[number_in(request)])
    assert summary.unknown == {"abstained (refusal)": 1, "invalid (truncated)": 1, "invalid (unparsed)": 1}
    assert (summary.complete, summary.verdicts) == (True, {})
    again = FakeTransport(even_passes)
    carried_out(store, plan, again)
    assert again.requests == []


HOSTILE = "a\0b \ud83d \ud83d\ude00 c"


def test_whatever_a_model_says_can_be_stored(store: Store) -> None:
    """NUL, half characters, endless names and impossible counts: stored, the reply's own bytes kept."""
    lay_down(store, numbered(4), ONE_ORDER)
    text = json.dumps({"reason": HOSTILE, "verdict": "pass"}, ensure_ascii=False)

    def hostile(_: ModelRequest) -> ModelReply:
        reply = answer("pass", micros=2**70, model="m\0" * 400)
        tokens = type(reply.tokens)(10**30, None, -5)
        return ModelReply(
            text, "stop", model=reply.model, fingerprint="\ud800" * 999, tokens=tokens, cost=reply.cost
        )

    summary = carried_out(store, planned(store, ONE_ORDER), hostile)
    assert (summary.verdicts, summary.complete) == ({"pass": 4}, True)
    assert (summary.tokens_in, summary.tokens_out, summary.calls.unknown_cost) == (None, None, 4)
    kept = rows(store, "SELECT raw FROM item_payload WHERE raw IS NOT NULL")
    assert {json.loads(bytes(raw).decode("utf-8", "surrogatepass"))["raw"] for (raw,) in kept} == {text}


def test_what_is_settled_needs_no_call(store: Store) -> None:
    """A blank output fails, a missing policy is an abstention: neither is asked, neither has an intent."""
    items = [
        item("", item_id="blank"),
        item(policy=None, item_id="bare"),
        item("Case 7: 30 days.", item_id="real"),
    ]
    spec = judge(blank_output=BlankOutput.FAIL)
    lay_down(store, items, spec)
    model = FakeTransport(lambda _: answer("pass"))
    summary = carried_out(store, planned(store, spec), model)
    assert summary.verdicts == {"fail": 2, "pass": 2}
    assert summary.unknown == {"abstained (evidence_missing)": 2}
    assert (len(model.requests), summary.calls.intended) == (2, 2)
    assert summary.tokens_out is not None


def test_an_item_whose_texts_were_erased_cannot_be_judged(store: Store) -> None:
    """It is an abstention for lack of evidence, and the model never sees it."""
    lay_down(store, numbered(3), ONE_ORDER)
    erase_item(store=store, dataset=DATASET, item_id="n-1", reason="asked for", signer="dpo", at=NOW)
    model = FakeTransport(even_passes)
    summary = carried_out(store, planned(store, ONE_ORDER), model)
    assert (summary.unknown, summary.complete) == ({"abstained (evidence_missing)": 1}, True)
    assert {number_in(request) for request in model.requests} == {0, 2}


def test_no_more_calls_are_in_flight_than_allowed_and_the_first_is_alone(sqlite_store: Store) -> None:
    """Five at once where five are allowed, never six; the first call comes back before the second is made."""
    lay_down(sqlite_store, numbered(40), ONE_ORDER)
    alone: list[int] = []

    def handler(request: ModelRequest) -> ModelReply:
        alone.append(model.in_flight)
        return even_passes(request)

    model = Slow(handler, company=5)
    carried_out(sqlite_store, planned(sqlite_store, ONE_ORDER), model, concurrency=5)
    assert (model.peak, alone[0]) == (5, 1)
    assert model.closed


def test_repeats_are_asked_and_recorded_each(sqlite_store: Store) -> None:
    """Three repeats of two orders: six verdicts an item, numbered from 1."""
    lay_down(sqlite_store, numbered(2), judge())
    summary = carried_out(sqlite_store, planned(sqlite_store, repeats=3), even_passes)
    assert (summary.units, summary.complete) == (12, True)
    assert sorted({row["repeat"] for row in verdicts(sqlite_store)}) == [1, 2, 3]


def test_all_criteria_of_the_rubric_are_asked_by_default(sqlite_store: Store) -> None:
    """A binary and an ordinal criterion in one run, each on its own scale."""
    lay_down(sqlite_store, numbered(2), judge())

    def by_scale(request: ModelRequest) -> ModelReply:
        return answer("3" if TONE.question in request.messages[0].content else "pass")

    summary = carried_out(sqlite_store, planned(sqlite_store, criteria=()), by_scale)
    assert summary.verdicts == {"3": 4, "pass": 4}
    assert summary.criteria == (KEY, TONE.key)


def test_pairs_are_judged_in_source_positions(sqlite_store: Store) -> None:
    """A model that prefers the same output in both orders prefers it in the record, whatever its place."""
    lay_down(sqlite_store, [pair("Case 0: right", "Case 0: wrong")], judge(), rubric=PAIRWISE)

    def the_right_one(request: ModelRequest) -> ModelReply:
        text = request.messages[-1].content
        return answer("first" if text.index("right") < text.index("wrong") else "second")

    plan = planned(sqlite_store, rubric=PAIRWISE, criteria=(BETTER.key,))
    assert carried_out(sqlite_store, plan, the_right_one).verdicts == {"A": 2}
    assert {row["presentation"] for row in verdicts(sqlite_store)} == {"ab", "ba"}


def test_a_run_is_cancelled_from_elsewhere_and_goes_on_when_started_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancel request is heard at the next look for one; starting the run again answers it."""
    monkeypatch.setattr(recorder, "ASKED_EVERY_S", 0.0)
    lay_down(store, numbered(40), ONE_ORDER)
    plan = planned(store, ONE_ORDER)

    def cancels(request: ModelRequest) -> ModelReply:
        if len(model.requests) == 5:
            ((key,),) = rows(store, "SELECT key FROM judge_run")
            with store.write() as session:
                request_cancel(session=session, key=key, at=NOW)
        return even_passes(request)

    model = FakeTransport(cancels)
    summary = carried_out(store, plan, model, concurrency=2)
    assert summary.stopped is not None
    assert (summary.stopped.kind, state(store, summary.run)) == (StopKind.CANCELLED, "cancelled")
    assert 5 <= summary.done < 40
    assert (adds_up(summary), summary.calls.unresolved) == (True, 0)
    finished = carried_out(store, plan, even_passes)
    assert (finished.complete, state(store, finished.run)) == (True, "finished")


def test_one_process_at_a_time_works_on_a_run(store: Store) -> None:
    """A second one is refused while the first works, and not afterwards."""
    lay_down(store, numbered(2), ONE_ORDER)
    plan = planned(store, ONE_ORDER)
    finished = carried_out(store, plan, even_passes)
    model = FakeTransport(even_passes)
    with (
        working_on(store, finished.run),
        pytest.raises(RecordError, match="another process is working on the run"),
    ):
        carried_out(store, plan, model)
    assert model.requests == []
    assert carried_out(store, plan, model).complete


def test_a_fault_of_our_own_is_raised_and_what_was_answered_stays(store: Store) -> None:
    """A client that breaks its contract ends the run; the answers before it are stored, the run is paused."""
    lay_down(store, numbered(12), ONE_ORDER)

    def broken(request: ModelRequest) -> ModelReply:
        if len(model.requests) == 6:
            raise ZeroDivisionError("a bug")
        return even_passes(request)

    model = FakeTransport(broken)
    with pytest.raises(ZeroDivisionError):
        carried_out(store, planned(store, ONE_ORDER), model, concurrency=2)
    assert len(verdicts(store)) == len(model.requests) - 1
    assert rows(store, "SELECT state FROM judge_run") == [("paused",)]
    finished = carried_out(store, planned(store, ONE_ORDER), even_passes)
    assert (finished.complete, finished.calls.unresolved) == (True, 1)


def test_progress_only_grows_and_ends_at_the_whole(sqlite_store: Store) -> None:
    """Told after every answer: units done, calls failed, money spent."""
    lay_down(sqlite_store, numbered(8), ONE_ORDER)

    def one_fails(request: ModelRequest) -> ModelReply | ModelCallError:
        return failed(Fault.SERVER_ERROR) if number_in(request) == 3 else answer("pass", micros=10)

    told: list[Progress] = []
    carried_out(sqlite_store, planned(sqlite_store, ONE_ORDER), one_fails, on_progress=told.append)
    assert [each.done for each in told] == sorted(each.done for each in told)
    assert (told[-1].units, told[-1].done, told[-1].failed, told[-1].stopping) == (8, 7, 1, False)


def test_both_orders_of_a_few_items_come_before_the_next_items(sqlite_store: Store) -> None:
    """A run that stops has whole items: 100 are asked in both orders before the 101st is asked at all."""
    lay_down(sqlite_store, numbered(130), judge())
    model = FakeTransport(even_passes)
    carried_out(sqlite_store, planned(sqlite_store), model, concurrency=1)
    first = model.requests[:200]
    assert {number_in(request) for request in first} == set(range(100))
    assert [place_in(request) for request in first] == ["ab"] * 100 + ["ba"] * 100


def test_a_model_judge_needs_a_client_and_calls_need_room(sqlite_store: Store) -> None:
    """Without a client, or with no call allowed in flight, nothing is recorded."""
    lay_down(sqlite_store, numbered(1), ONE_ORDER)
    plan = planned(sqlite_store, ONE_ORDER)
    with pytest.raises(DeclarationError, match="is a model and no client was given"):
        run_judge(sqlite_store, plan, None)
    with pytest.raises(DeclarationError, match="a concurrency of 0 makes no call"):
        run_judge(sqlite_store, plan, lambda: FakeTransport(even_passes), options=RunOptions(concurrency=0))
    assert rows(sqlite_store, "SELECT key FROM judge_run") == []


def test_the_stored_verdicts_are_those_of_the_run(sqlite_store: Store) -> None:
    """Read back through the store: each item's answer in each order, of this judge."""
    lay_down(sqlite_store, numbered(4), judge())
    carried_out(sqlite_store, planned(sqlite_store), even_passes)
    with sqlite_store.read() as session:
        stored = list(iter_verdicts(session=session, scope=Scope(dataset=DATASET), criterion=KEY))
    found: dict[tuple[str, Any], str] = {(each.item_id, each.order): each.answer for each in stored}
    wanted = {(f"n-{n}", order): "fail" if n % 2 else "pass" for n in range(4) for order in ("ab", "ba")}
    assert found == wanted
    assert len(stored) == 8
