"""One bounded re-ask for a reply not of the agreed form, counted and paid; nothing else is asked again."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import replace

import pytest

from calibration.store.database import Store
from calibration.store.judges import get_run
from judge.calls import Cost, CostSource, Fault, ModelCallError, ModelReply, ModelRequest, Prices, Tokens
from judge.fake_model import FakeTransport, failed, in_turn, said
from judge.grading import ask_once, sit
from judge.parsing import AnswerForm, Reading, parse
from judge.pricing import spent
from judge.runs import StopKind, Tariff
from rubrics.answer import answered
from rubrics.order import Order, OrderPolicy
from tests.judge.cases import POINTWISE, SECRET, ask, item, judge
from tests.judge.run_world import (
    adds_up,
    answer,
    carried_out,
    lay_down,
    number_in,
    numbered,
    planned,
    rows,
    verdicts,
)

REASKS = judge(name="reasks", order=OrderPolicy.AS_DECLARED, reask=True)
ONCE = judge(name="once", order=OrderPolicy.AS_DECLARED)


def mumbles(times: int) -> FakeTransport:
    """A model that answers item 1 with words so many times before it answers in the agreed form."""
    asked: Counter[int] = Counter()

    def handler(request: ModelRequest) -> ModelReply:
        number = number_in(request)
        asked[number] += 1
        if number == 1 and asked[number] <= times:
            return said("I think it passes.")
        return answer("pass", micros=5)

    return FakeTransport(handler)


def test_a_reply_that_cannot_be_read_is_asked_for_once_more(store: Store) -> None:
    """The second reply is the verdict; both calls are intended, counted and priced, the first kept beside."""
    lay_down(store, numbered(4), REASKS)
    model = mumbles(1)
    summary = carried_out(store, planned(store, REASKS), model)
    assert (summary.complete, summary.verdicts, adds_up(summary)) == (True, {"pass": 4}, True)
    assert len(model.requests) == 5
    assert (summary.calls.intended, summary.calls.made, summary.calls.unresolved) == (5, 5, 0)
    assert summary.calls.unknown_cost == 1  # of the words, whose cost the fake does not know
    assert rows(store, "SELECT reason, detail FROM judge_call_fault") == [("invalid", "unparsed")]
    kept = [json.loads(t) for (t,) in rows(store, "SELECT text FROM item_payload WHERE text LIKE '%unread%'")]
    assert [each["fields"]["unread"][0]["raw"] for each in kept] == ["I think it passes."]


def test_both_calls_are_in_the_tokens_and_both_commands_tell_one_pace(sqlite_store: Store) -> None:
    """Four calls about three items: the summary counts all four, and says what `judge cost` says."""
    lay_down(sqlite_store, numbered(3), REASKS)
    asked: list[int] = []

    def counted(request: ModelRequest) -> ModelReply:
        asked.append(number_in(request))
        mumbled = number_in(request) == 1 and asked.count(1) == 1
        reply = said("I think it passes.") if mumbled else answer("pass")
        return replace(reply, tokens=Tokens(10, 0, 2))

    summary = carried_out(sqlite_store, planned(sqlite_store, REASKS), counted)
    assert (summary.tokens_in, summary.tokens_out) == (40, 8)
    with sqlite_store.read() as session:
        found = spent(session=session, run=get_run(session=session, key=summary.run))
    assert (found.per_minute, found.tokens) == (summary.per_minute, (40, 8))


def test_it_is_asked_once_more_and_not_twice(store: Store) -> None:
    """A judge that mumbles twice is invalid, unparsed: two calls, one verdict."""
    lay_down(store, numbered(2), REASKS)
    model = mumbles(9)
    summary = carried_out(store, planned(store, REASKS), model)
    assert (summary.complete, summary.unknown) == (True, {"invalid (unparsed)": 1})
    assert len(model.requests) == 3
    again = carried_out(store, planned(store, REASKS), model)
    assert (again.complete, len(model.requests)) == (True, 3)


@pytest.mark.parametrize(
    "reply",
    [
        said('{"reason": "x", "verdict": "pass"', finish="length"),
        said('{"reason": "x", "verdict": "maybe"}'),
        said(None, refusal="No."),
        said('{"reason": "x", "verdict": "pass", "verdict": "fail"}'),
    ],
    ids=["truncated", "out of range", "refusal", "contradictory"],
)
def test_nothing_else_is_asked_again(sqlite_store: Store, reply: ModelReply) -> None:
    """What was cut off, refused, contradictory or off the scale says something of the judge: one call."""
    lay_down(sqlite_store, numbered(1), REASKS)
    model = FakeTransport(lambda _: reply)
    assert carried_out(sqlite_store, planned(sqlite_store, REASKS), model).complete
    assert len(model.requests) == 1


def test_a_judge_that_does_not_declare_it_is_not_asked_again(sqlite_store: Store) -> None:
    """The re-ask is part of the judge: another digest, and by default there is none."""
    assert judge(reask=True).digest != judge().digest == judge(reask=False).digest
    lay_down(sqlite_store, numbered(2), ONCE)
    model = mumbles(1)
    summary = carried_out(sqlite_store, planned(sqlite_store, ONCE), model)
    assert (summary.unknown, len(model.requests)) == ({"invalid (unparsed)": 1}, 2)


def test_a_run_that_ends_between_the_two_calls_asks_the_second_when_it_goes_on(store: Store) -> None:
    """No credit for the re-ask: the unit stays open, and the next process makes exactly that call."""
    lay_down(store, numbered(1), REASKS)
    first = FakeTransport(in_turn(said("words"), failed(Fault.QUOTA, status=402)))
    stopped = carried_out(store, planned(store, REASKS), first)
    assert (stopped.complete, adds_up(stopped), len(first.requests)) == (False, True, 2)
    second = FakeTransport(lambda _: said("words again"))
    summary = carried_out(store, planned(store, REASKS), second)
    assert (summary.unknown, len(second.requests)) == ({"invalid (unparsed)": 1}, 1)


def test_the_cap_holds_for_the_second_call_too(sqlite_store: Store) -> None:
    """Money for one call only: the unit stays open, the run says so, and nothing is overspent."""
    lay_down(sqlite_store, numbered(1), REASKS)
    tariff = Tariff(Prices(1.0, 1.0))
    model = FakeTransport(lambda _: said("words", cost=Cost(2400, CostSource.DECLARED)))
    summary = carried_out(
        sqlite_store, planned(sqlite_store, REASKS), model, tariff=tariff, max_cost_micros=2500
    )
    assert summary.stopped is not None
    assert (summary.stopped.kind, len(model.requests)) == (StopKind.COST_CAP, 1)
    assert (summary.calls.known_micros, verdicts(sqlite_store)) == (2400, [])


def test_grading_asks_again_as_a_run_does() -> None:
    """One item outside a run: the same two calls, and a failure of the second is the verdict."""
    sitting = sit(judge(reask=True), POINTWISE, secret=SECRET)
    model = FakeTransport(in_turn(said("words"), answer("fail")))
    verdict = asyncio.run(ask_once(sitting, ask(item()), model, order=Order.AB))
    assert (verdict.value, [each.raw for each in verdict.unread]) == ("fail", [b"words"])
    assert model.requests[0].messages[1] != model.requests[1].messages[1]  # marks of its own
    answers: list[ModelReply | ModelCallError] = [said("words"), failed(Fault.TIMEOUT)]
    fails = FakeTransport(in_turn(*answers))
    verdict = asyncio.run(ask_once(sitting, ask(item()), fails, order=Order.AB))
    assert (verdict.reason, verdict.detail) == ("error", "timeout")


FORM = AnswerForm(
    Reading.STRUCTURED, tuple((str(n), answered(str(n))) for n in range(1, 6)), with_reason=False
)


@pytest.mark.parametrize(
    ("verdict", "kind"),
    [
        ("3.5", "a number between two levels"),
        ("3,5", "a number between two levels"),
        (3.5, "a number between two levels"),
        ("8/10", "a score out of some number"),
        ("4 out of 5", "a score out of some number"),
        ("three", "a number in words"),
        ("three and a half", "a number in words"),
        ("9", "a number off the scale"),
        (-1, "a number off the scale"),
        ("excellent", "another word"),
    ],
)
def test_a_verdict_off_the_scale_is_never_rounded_and_says_what_it_was(verdict: object, kind: str) -> None:
    """Half points, 8/10, numbers in words and off the scale: out_of_range, with what was written."""
    parsed = parse(json.dumps({"verdict": verdict}), FORM, finish="stop")
    assert parsed.answer.unknown is not None
    assert (parsed.answer.reason, parsed.answer.unknown.detail) == ("invalid", "out_of_range")
    assert kind in parsed.rationale
    assert "allowed: 1, 2, 3, 4, 5" in parsed.rationale


@pytest.mark.parametrize(
    "text",
    ["Verdict: 4", '{"score": 4}', '{"verdict": 4} I am sure.', "4", '{"answer": {"verdict": 4}}', "**4**"],
)
def test_a_mark_outside_the_agreed_place_is_unparsed(text: str) -> None:
    """A number that stands anywhere but in the agreed key of the agreed object is no verdict."""
    parsed = parse(text, FORM, finish="stop")
    assert parsed.answer.unknown is not None
    assert parsed.answer.unknown.detail == "unparsed"


def test_a_level_is_read_as_it_is_named() -> None:
    """By number or by text."""
    assert parse('{"verdict": 4}', FORM, finish="stop").answer == answered("4")
    assert parse('{"verdict": "4"}', FORM, finish="stop").answer == answered("4")
