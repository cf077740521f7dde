"""How fast a run asks, by a clock of the test's own: no test here waits."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from random import Random
from typing import Any

import pyrate_limiter.limiter
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyrate_limiter import AbstractClock

from calibration.store.database import Store
from judge.calls import Fault, Message, ModelReply, ModelRequest
from judge.fake_model import FakeTransport
from judge.faults import call_error
from judge.retries import RetryingClient
from judge.runs import RunOptions, StopKind, run_judge
from judge.runs.pacing import Pace, Pacer, Rate, parse_rate, tokens_of
from rubrics.errors import DeclarationError
from rubrics.order import OrderPolicy
from tests.judge.cases import judge
from tests.judge.run_world import answer, carried_out, lay_down, numbered, planned

ASKED = ModelRequest(model="openai/any", messages=(Message("user", "x" * 400),), max_output_tokens=50)
"""150 tokens: 400 characters, and a reply of up to 50 tokens."""
ONE = judge(name="one", order=OrderPolicy.AS_DECLARED)


class Clock(AbstractClock):
    """Time that only passes where the limiter waits."""

    def __init__(self) -> None:
        self.ms = 0.0

    def now(self) -> int:
        """Milliseconds."""
        return int(self.ms)

    async def sleep(self, seconds: float) -> None:
        """Let the time pass, and others work."""
        self.ms += seconds * 1000
        await asyncio.sleep(0)

    def __getattr__(self, name: str) -> Any:
        """Whatever else the limiter asks asyncio for."""
        return getattr(asyncio, name)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that the limiter waits by."""
    made = Clock()
    monkeypatch.setattr(pyrate_limiter.limiter, "asyncio", made)
    return made


def moments(clock: Clock, pace: Pace, count: int) -> list[float]:
    """When each of so many requests has its turn, in seconds."""

    async def ask() -> list[float]:
        pacer, at = Pacer(pace, clock=clock), []
        for _ in range(count):
            await pacer.turn(ASKED)
            at.append(clock.ms / 1000)
        return at

    return asyncio.run(ask())


@pytest.mark.parametrize(
    ("text", "rate"),
    [("500/min", Rate(500, "min")), (" 1,000 / h", Rate(1000, "h")), ("8/s", Rate(8, "s"))],
)
def test_a_rate_is_read_as_people_write_it(text: str, rate: Rate) -> None:
    """A whole number and a span."""
    assert parse_rate(text) == rate
    assert parse_rate(str(rate)) == rate


@pytest.mark.parametrize("text", ["", "500", "0/min", "-1/s", "1.5/min", "5/day", "5/minute", "five/s"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    """With what to write instead."""
    with pytest.raises(
        DeclarationError, match=r"is no rate; write a whole number and a span, such as 500/min"
    ):
        parse_rate(text)


@pytest.mark.parametrize("rate", [Rate(10, "min"), Rate(600, "min"), Rate(7, "s"), Rate(90, "h")])
def test_never_more_than_the_rate_in_any_span_and_hardly_less(clock: Clock, rate: Rate) -> None:
    """Every window of the span's length holds at most the count; three spans hold nearly three counts."""
    count = min(3 * rate.count, 400)
    at = moments(clock, Pace(requests=rate), count)
    for first, start in enumerate(at):
        assert sum(start <= moment < start + rate.seconds for moment in at[first:]) <= rate.count
    assert at[-1] >= rate.takes_s(count) - 0.001
    assert at[-1] <= 1.03 * rate.takes_s(count) + 0.001 * count  # each wait ends at a whole millisecond


def test_tokens_are_counted_with_the_longest_reply(clock: Clock) -> None:
    """1,500 tokens a minute are ten calls of 150, though fewer tokens than one call may come at once."""
    assert tokens_of(ASKED) == 150
    at = moments(clock, Pace(tokens=Rate(1500, "min")), 21)
    assert 119 <= at[-1] - at[0] <= 126
    assert Pace(Rate(600, "min"), Rate(1500, "min")).takes_s(21, 21 * 150) == pytest.approx(125)
    assert Pace().takes_s(10, 10) == 0.0


@settings(max_examples=25, derandomize=True)
@given(st.integers(1, 10**6), st.sampled_from(["s", "min", "h"]), st.integers(0, 10**6))
def test_a_rate_takes_no_time_for_what_may_come_at_once(count: int, span: str, calls: int) -> None:
    """And never less than none."""
    rate = Rate(count, span)
    assert rate.takes_s(rate.at_once) == 0.0
    assert rate.takes_s(calls) >= 0.0


def test_a_run_keeps_the_pace_and_asks_everything(clock: Clock, sqlite_store: Store) -> None:
    """Twelve calls at one every six seconds take 66 seconds of the clock."""
    lay_down(sqlite_store, numbered(12), ONE)
    pacer = Pacer(Pace(requests=Rate(10, "min")), clock=clock)
    summary = carried_out(sqlite_store, planned(sqlite_store, ONE), lambda _: answer("pass"), pacer=pacer)
    assert summary.complete
    assert clock.ms == pytest.approx(66_000, abs=50)


def test_a_run_that_waits_for_its_turn_stops_at_once(sqlite_store: Store) -> None:
    """One call an hour: a stop after the first ends the run, and what was intended is told as never made."""
    lay_down(sqlite_store, numbered(3), ONE)
    pacer = Pacer(Pace(requests=Rate(1, "h")))
    stopping = FakeTransport(lambda request: refused(request))

    def refused(request: ModelRequest) -> ModelReply:
        raise call_error(Fault.AUTH, request)

    summary = carried_out(sqlite_store, planned(sqlite_store, ONE), stopping, pacer=pacer)
    assert summary.stopped is not None
    assert summary.stopped.kind is StopKind.FAULT
    assert (len(stopping.requests), summary.calls.unresolved) == (1, 0)


class Noting(Pacer):
    """Notes when it gave each turn, in seconds."""

    def __init__(self, rate: Rate, clock: Clock) -> None:
        super().__init__(Pace(requests=rate), clock=clock)
        self.clock, self.at = clock, list[float]()

    async def turn(self, request: ModelRequest) -> None:
        """The turn, noted."""
        await super().turn(request)
        self.at.append(self.clock.ms / 1000)


def test_turns_are_not_saved_up_while_the_first_answer_is_waited_for(
    clock: Clock, sqlite_store: Store
) -> None:
    """The first call is alone and takes a minute: the second turn is taken after it, not meanwhile."""
    lay_down(sqlite_store, numbered(12), ONE)
    pacer = Noting(Rate(10, "min"), clock)
    answered = iter([60_000])

    def slow_at_first(_: ModelRequest) -> ModelReply:
        clock.ms += next(answered, 0)
        return answer("pass")

    plan = planned(sqlite_store, ONE)
    assert carried_out(sqlite_store, plan, slow_at_first, pacer=pacer, concurrency=8).complete
    assert len(pacer.at) == 12
    assert pacer.at[1] >= 60
    assert all(later - sooner >= 5.99 for sooner, later in pairwise(pacer.at))


def test_turns_are_not_saved_up_during_a_pause(clock: Clock) -> None:
    """A refusal has all wait for a minute; then they come at the rate, not all at once."""
    pacer = Noting(Rate(10, "min"), clock)

    def refused_once(request: ModelRequest) -> ModelReply:
        if len(transport.requests) == 1:
            raise call_error(Fault.RATE_LIMITED, request, status=429, retry_after_s=60)
        return answer("pass")

    transport = FakeTransport(refused_once)

    async def ask() -> None:
        client = RetryingClient(
            transport, rng=Random(1), sleep=clock.sleep, clock=lambda: clock.ms / 1000, turn=pacer.turn
        )
        await asyncio.gather(*(client.complete(ASKED) for _ in range(12)))

    asyncio.run(ask())
    assert len(transport.requests) == 13
    late = [moment for moment in pacer.at if moment >= 60]
    assert len(late) >= 10  # those that had gone before the refusal was heard are not among them
    assert all(later - sooner >= 5.99 for sooner, later in pairwise(late))


def test_a_retry_takes_a_turn_of_its_own(clock: Clock, sqlite_store: Store) -> None:
    """Two items, each refused once: four attempts at one every six seconds."""
    lay_down(sqlite_store, numbered(2), ONE)
    refused: set[str] = set()

    def once(request: ModelRequest) -> ModelReply:
        text = request.messages[-1].content
        if text not in refused:
            refused.add(text)
            raise call_error(Fault.SERVER_ERROR, request)
        return answer("pass")

    async def no_wait(_seconds: float) -> None:
        await asyncio.sleep(0)

    pacer = Pacer(Pace(requests=Rate(10, "min")), clock=clock)
    transport = FakeTransport(once)
    options = RunOptions(concurrency=2)
    plan = planned(sqlite_store, ONE)
    summary = run_judge(
        sqlite_store,
        plan,
        lambda: RetryingClient(transport, rng=Random(1), sleep=no_wait, turn=pacer.turn),
        options=options,
    )
    assert (summary.complete, len(transport.requests)) == (True, 4)
    assert clock.ms == pytest.approx(18_000, abs=50)
