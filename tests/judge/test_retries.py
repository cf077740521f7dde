"""Retries with a clock that only moves when someone waits: how often, how long, and all calls together."""

from __future__ import annotations

import asyncio
import doctest
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import judge.fake_model
from judge.calls import FAULTS, Fault, Message, ModelCallError, ModelReply, ModelRequest, NotSent
from judge.fake_model import FakeTransport, failed, in_turn, said
from judge.retries import NO_MONEY, Gate, RetryingClient, RetryPolicy, retry_after_seconds, utc_now

REQUEST = ModelRequest("fake/model", (Message("user", "?"),), 10)
NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


class Clock:
    """Time that passes only in sleep."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        """The present moment in seconds."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let the time pass; other tasks run meanwhile."""
        self.waits.append(seconds)
        until = self.now + seconds
        await asyncio.sleep(0)
        self.now = max(self.now, until)


def client(
    handler: Callable[[ModelRequest], ModelReply | ModelCallError], clock: Clock, **policy: float
) -> RetryingClient:
    """A client over the fake, with the clock and a fixed seed."""
    rules = RetryPolicy(**policy)  # type: ignore[arg-type]  # the integers among them are given as such
    return RetryingClient(FakeTransport(handler), rng=Random(3), policy=rules, sleep=clock.sleep, clock=clock)


def test_a_client_that_is_to_finish_makes_no_further_attempt() -> None:
    """A call that waits ends with its last failure, at once; one that was not sent is not sent."""

    async def finishing() -> tuple[ModelCallError, int]:
        transport = FakeTransport(lambda _: failed(Fault.RATE_LIMITED, retry_after_s=60))
        waiting = RetryingClient(transport, rng=Random(3), gate=Gate(2, 2))  # its waits are real ones
        first = asyncio.create_task(waiting.complete(REQUEST))
        while not transport.requests:
            await asyncio.sleep(0)
        second = asyncio.create_task(waiting.complete(REQUEST))  # held back by the pause of the first
        await asyncio.sleep(0.01)
        waiting.finish()
        with pytest.raises(ModelCallError) as caught:
            await first
        with pytest.raises(NotSent):
            await second
        with pytest.raises(NotSent):
            await waiting.complete(REQUEST)
        return caught.value, len(transport.requests)

    error, requests = asyncio.run(finishing())
    assert (error.fault, len(error.attempts), requests) == (Fault.RATE_LIMITED, 1, 1)


@pytest.mark.parametrize("fault", list(Fault))
def test_every_fault_is_tried_as_often_as_its_class_says(fault: Fault) -> None:
    """Hopeless: once. Perhaps paid: twice. Else: five times. Then the fault's outcome, never a verdict."""
    kind = FAULTS[fault]
    expected = 1 if not kind.retryable else 2 if kind.maybe_paid else 5
    with pytest.raises(ModelCallError) as caught:
        asyncio.run(client(lambda _: failed(fault), Clock()).complete(REQUEST))
    assert [a.number for a in caught.value.attempts] == list(range(1, expected + 1))
    assert caught.value.outcome.verdict == "unknown"
    assert caught.value.outcome.accepted is False


def test_waits_double_and_are_bounded() -> None:
    """Waits lie between half of 0.5, 1, 2, 4 seconds and all of it."""
    clock = Clock()
    with pytest.raises(ModelCallError):
        asyncio.run(client(lambda _: failed(Fault.SERVER_ERROR), clock).complete(REQUEST))
    assert len(clock.waits) == 4
    for wait, ceiling in zip(clock.waits, (0.5, 1, 2, 4), strict=True):
        assert ceiling / 2 <= wait <= ceiling


def test_a_wait_is_never_longer_than_the_policy_allows() -> None:
    """A Retry-After of a thousand million seconds is followed for a minute."""
    clock = Clock()
    answers = in_turn(failed(Fault.RATE_LIMITED, status=429, retry_after_s=1e9), said("x"))
    reply = asyncio.run(client(answers, clock).complete(REQUEST))
    assert 60 <= clock.waits[0] <= 66
    assert [a.fault for a in reply.attempts] == [Fault.RATE_LIMITED, None]
    assert reply.attempts[1].waited_ms == round(clock.waits[0] * 1000)


def test_one_rate_limit_pauses_every_call() -> None:
    """Of twenty calls the first meets a 429 with Retry-After; the others send nothing before it is over."""
    clock = Clock()
    sent_at: list[float] = []

    def answer(_: ModelRequest) -> ModelReply | ModelCallError:
        sent_at.append(clock.now)
        return failed(Fault.RATE_LIMITED, retry_after_s=30) if len(sent_at) == 1 else said("x")

    async def run() -> list[ModelReply]:
        one = client(answer, clock)
        first = asyncio.create_task(one.complete(REQUEST))
        await asyncio.sleep(0)
        return await asyncio.gather(first, *(one.complete(REQUEST) for _ in range(19)))

    replies = asyncio.run(run())
    assert len(replies) == 20
    assert len(sent_at) == 21
    assert all(at >= 1030 for at in sent_at[1:])


def test_a_server_error_pauses_only_its_own_call() -> None:
    """A 500 says nothing about the other calls."""
    clock = Clock()
    answers = in_turn(failed(Fault.SERVER_ERROR), said("other"), said("own"))

    async def run() -> None:
        one = client(answers, clock)
        await asyncio.gather(one.complete(REQUEST), one.complete(REQUEST))

    asyncio.run(run())
    assert len(clock.waits) == 1


def test_faults_of_both_kinds_are_counted_apart() -> None:
    """A timeout after three 503 is retried once; a second timeout ends it."""
    faults = [Fault.OVERLOADED] * 2 + [Fault.TIMEOUT, Fault.OVERLOADED, Fault.TIMEOUT]
    with pytest.raises(ModelCallError) as caught:
        asyncio.run(client(in_turn(*map(failed, faults)), Clock()).complete(REQUEST))
    assert len(caught.value.attempts) == 5
    assert caught.value.fault is Fault.TIMEOUT


def test_money_for_a_further_attempt_is_asked_for_only_after_one_that_may_be_billed() -> None:
    """Refused, lost, refused, answered: asked once. Where it says no the call ends, and says so."""
    faults = [Fault.OVERLOADED, Fault.TIMEOUT, Fault.OVERLOADED]
    asked: list[bool] = []

    def again() -> bool:
        asked.append(True)
        return True

    answers = in_turn(*map(failed, faults), said("x"))
    reply = asyncio.run(client(answers, Clock()).complete(REQUEST, again=again))
    assert ([a.fault for a in reply.attempts], asked) == ([*faults, None], [True])
    with pytest.raises(ModelCallError) as caught:
        asyncio.run(client(in_turn(*map(failed, faults)), Clock()).complete(REQUEST, again=lambda: False))
    assert [a.fault for a in caught.value.attempts] == faults[:2]
    assert str(caught.value) == f"the fake model answers with the fault timeout; {NO_MONEY}"
    with pytest.raises(ModelCallError) as caught:
        asyncio.run(client(in_turn(failed(Fault.TIMEOUT)), Clock()).complete(REQUEST, again=again))
    assert (len(caught.value.attempts), len(asked)) == (2, 2), "none after the last attempt"


def test_the_client_closes_its_transport() -> None:
    """Closing goes through to the connections."""
    transport = FakeTransport(lambda _: said("x"))
    asyncio.run(RetryingClient(transport, rng=Random(0)).aclose())
    assert transport.closed


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("2", 2.0),
        (" 2.5 ", 2.5),
        ("0", 0.0),
        ("-3", None),
        ("1000000000", 1e9),
        ("9" * 400, None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        ("Mon, 30 Nov 2026 12:00:30 GMT", 30.0),
        ("Mon, 30 Nov 2026 13:00:30 +0100", 30.0),
        ("Mon, 30 Nov 2026 11:59:00 GMT", None),
        ("Mon, 99 Nov 2026 12:00:30 GMT", None),
    ],
)
def test_retry_after_in_every_form(header: str | None, seconds: float | None) -> None:
    """Seconds or a date; what is absent, past, negative or garbage is no wish."""
    assert retry_after_seconds(header, now=NOW) == seconds


@settings(max_examples=200, derandomize=True)
@given(st.text())
def test_no_header_crashes(header: str) -> None:
    """Whatever a provider sends as Retry-After, the result is a finite wait or none."""
    seconds = retry_after_seconds(header, now=NOW)
    assert seconds is None or 0 <= seconds < float("inf")


def test_the_present_moment_has_a_zone() -> None:
    """HTTP dates are compared with an aware time."""
    assert utc_now().utcoffset() == timedelta(0)


def test_the_example_of_the_fake_runs() -> None:
    """The docstring shows the fake as it is."""
    assert doctest.testmod(judge.fake_model).failed == 0


# -- how many at once


class Limited:
    """A provider that refuses whatever goes beyond so many at once, and counts."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.in_flight = self.peak = self.refused = self.answered = 0

    async def send(self, _: ModelRequest) -> ModelReply:
        """An answer after a while, or a refusal at once."""
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            if self.in_flight > self.limit:
                self.refused += 1
                raise failed(Fault.RATE_LIMITED, status=429)
            for _turn in range(5):
                await asyncio.sleep(0)
            self.answered += 1
            return said("x")
        finally:
            self.in_flight -= 1

    async def aclose(self) -> None:
        """Nothing is open."""


def through_gate(limit: int, gate: Gate, calls: int, *, at_once: int) -> Limited:
    """So many calls, that many of them at once, at a provider of this limit."""
    provider, clock = Limited(limit), Clock()

    async def run() -> None:
        room = asyncio.Semaphore(at_once)
        policy = RetryPolicy(attempts=50)
        one = RetryingClient(
            provider, rng=Random(3), policy=policy, sleep=clock.sleep, clock=clock, gate=gate
        )

        async def call() -> None:
            async with room:
                await one.complete(REQUEST)

        await asyncio.gather(*(call() for _ in range(calls)))

    asyncio.run(run())
    return provider


def test_the_gate_grows_to_what_is_allowed() -> None:
    """A provider without a limit is asked by as many as the run may make."""
    gate = Gate(8, 64)
    provider = through_gate(1000, gate, 4000, at_once=64)
    assert (gate.allowed, provider.peak, provider.answered) == (64, 64, 4000)


def test_the_gate_finds_a_provider_s_limit() -> None:
    """Of 4,000 calls at a provider that takes 20 at once few are refused, and it is kept busy."""
    gate = Gate(8, 64)
    provider = through_gate(20, gate, 4000, at_once=64)
    assert provider.answered == 4000
    assert provider.refused <= 0.02 * 4000
    assert 8 <= gate.allowed <= 21


def test_a_refusal_of_many_at_once_shrinks_the_gate_once() -> None:
    """Sixty refusals of attempts that were in flight together are one sign, not sixty; one stays allowed."""
    gate = Gate(60, 64)

    async def run() -> list[int]:
        numbers = [await gate.enter() for _ in range(60)]
        for number in numbers:
            gate.leave(number, refused=True, answered=False)
        return numbers

    numbers = asyncio.run(run())
    assert (numbers[-1], gate.allowed) == (60, 40)
    assert Gate(1, 1).allowed == 1


def test_a_call_that_is_given_up_while_it_waits_takes_no_room() -> None:
    """Cancelled in the queue: the next in line gets its turn."""

    async def run() -> int:
        gate = Gate(1, 1)
        first = await gate.enter()
        waits = [asyncio.create_task(gate.enter()) for _ in range(2)]
        await asyncio.sleep(0)
        waits[0].cancel()
        gate.leave(first, refused=False, answered=True)
        return await asyncio.wait_for(waits[1], 5)

    assert asyncio.run(run()) == 2
