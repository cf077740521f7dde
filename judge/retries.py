"""Retries on our own terms: every attempt recorded, Retry-After honoured, one pause shared by all calls."""

from __future__ import annotations

import asyncio
import dataclasses
import email.utils
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import NoReturn

from judge.calls import (
    FAULTS,
    Attempt,
    Fault,
    MayTryAgain,
    ModelCallError,
    ModelReply,
    ModelRequest,
    NotSent,
    Transport,
)

Sleep = Callable[[float], Awaitable[None]]
Turn = Callable[[ModelRequest], Awaitable[None]]
NO_MONEY = "it was not tried again, since both attempts together could pass the cap on the cost"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and after how long a call is tried again; waits in seconds."""

    attempts: int = 5
    """Attempts of one call at most."""
    maybe_paid_attempts: int = 2
    """Attempts at most that the provider may have billed without answering."""
    first_wait: float = 0.5
    """Doubled after each attempt; the wait is drawn between half of it and all of it."""
    longest_wait: float = 60.0
    """Also the most that a provider's Retry-After is followed."""


def retry_after_seconds(header: str | None, *, now: datetime) -> float | None:
    """The seconds that a Retry-After header asks for: a number, or the time until its HTTP date.

    None where it is absent, negative, in the past or unreadable; the caller then waits as it would without.
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        seconds = _until(header, now)
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _until(date: str, now: datetime) -> float:
    try:
        moment = email.utils.parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return math.nan
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()


class Gate:
    """How many attempts may be in flight: grows while the provider takes them, shrinks where it refuses.

    One more after as many answers as are allowed at once; a third less at a refusal, once for all attempts
    that were in flight when the first of them was refused.
    """

    def __init__(self, start: int, most: int) -> None:
        self.most = most
        self.allowed = min(start, most)
        self._in_flight = self._answered = 0
        self._begun = self._shrunk_at = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> int:
        """Wait for room; the number of this attempt, to be given to `leave`."""
        while self._in_flight >= self.allowed:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._wake()
                raise
        self._in_flight += 1
        self._begun += 1
        return self._begun

    def leave(self, number: int, *, refused: bool, answered: bool) -> None:
        """Say how the attempt ended."""
        self._in_flight -= 1
        if refused and number > self._shrunk_at:
            self.allowed = max(1, min(self.allowed, self._in_flight + 1) * 2 // 3)
            self._shrunk_at, self._answered = self._begun, 0
        elif answered:
            self._answered += 1
            if self._answered >= self.allowed:
                self.allowed, self._answered = min(self.most, self.allowed + 1), 0
        self._wake()

    def _wake(self) -> None:
        for _ in range(self.allowed - self._in_flight):
            while self._waiting:
                turn = self._waiting.popleft()
                if not turn.done():
                    turn.set_result(None)
                    break


class RetryingClient:
    """A ModelClient over one transport.

    A rate limit or overload pauses every call of this client, not only the one that met it, so that
    sixty-four calls in flight do not turn one 429 into a storm.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        rng: Random,
        policy: RetryPolicy | None = None,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        gate: Gate | None = None,
        turn: Turn | None = None,
    ) -> None:
        """Take the transport.

        With a gate no more attempts are in flight than the provider seems to take. `turn` waits until an
        attempt may be made: the last thing before each, for turns taken ahead would all be used at once.
        """
        self._gate, self._turn = gate, turn
        self._transport = transport
        self._policy = policy or RetryPolicy()
        self._rng = rng
        self._sleep = sleep
        self._clock = clock
        self._paused_until = -math.inf
        self._finishing = asyncio.Event()

    async def complete(self, request: ModelRequest, *, again: MayTryAgain | None = None) -> ModelReply:
        """The first reply that comes, with every attempt; raises ModelCallError when none did.

        `again` is asked once before each attempt that follows one which may be billed. Raises NotSent where
        the client was told to finish before the first attempt.
        """
        attempts: list[Attempt] = []
        failure: ModelCallError | None = None
        wait = 0.0
        while True:
            due = self._clock()
            await self._wait(wait)
            number = await self._gate.enter() if self._gate else 0
            await self._take_turn(request)
            if self._finishing.is_set():
                self._give_up(number, attempts, failure)
            started = self._clock()
            waited = started - due
            refused = answered = False
            try:
                reply = await self._transport.send(request)
                answered = True
            except ModelCallError as error:
                attempts.append(self._attempt(attempts, started, waited, error))
                failure = error
                refused = error.fault in {Fault.RATE_LIMITED, Fault.OVERLOADED}
            else:
                attempts.append(self._attempt(attempts, started, waited, None))
                return dataclasses.replace(reply, attempts=tuple(attempts))
            finally:
                if self._gate:
                    self._gate.leave(number, refused=refused, answered=answered)
            if not (self._may_retry(attempts) and _affords(failure, again)):
                failure.attempts = tuple(attempts)
                raise failure
            wait = self._next_wait(failure, len(attempts))

    def finish(self) -> None:
        """Make no further attempt; those that were sent are answered or fail as they do."""
        self._finishing.set()

    def _give_up(self, number: int, attempts: list[Attempt], failure: ModelCallError | None) -> NoReturn:
        if self._gate:
            self._gate.leave(number, refused=False, answered=False)
        if failure is None:
            raise NotSent
        failure.attempts = tuple(attempts)
        raise failure

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()

    async def _wait(self, wait: float) -> None:
        """Wait for this call's own back-off and for the shared pause."""
        pause = self._paused_until - self._clock()
        if pause > 0:  # spread over a tenth, so that the calls do not all come back at one instant
            pause *= 1 + 0.1 * self._rng.random()
        if max(wait, pause) > 0:
            await self._unless_finishing(self._sleep(max(wait, pause)))

    async def _take_turn(self, request: ModelRequest) -> None:
        """Wait for the attempt's turn; for another one where all had to pause since it was asked for."""
        if self._turn is None:
            return
        await self._unless_finishing(self._turn(request))
        if self._paused_until > self._clock() and not self._finishing.is_set():
            await self._wait(0.0)
            await self._unless_finishing(self._turn(request))

    async def _unless_finishing(self, waiting: Awaitable[None]) -> None:
        """Wait, or until the client is told to finish."""
        await wait_unless(self._finishing, waiting)

    def _attempt(
        self, earlier: list[Attempt], started: float, waited: float, error: ModelCallError | None
    ) -> Attempt:
        return Attempt(
            number=len(earlier) + 1,
            fault=error.fault if error else None,
            status=error.status if error else None,
            waited_ms=round(waited * 1000),
            latency_ms=round((self._clock() - started) * 1000),
        )

    def _may_retry(self, attempts: list[Attempt]) -> bool:
        faults = [attempt.fault for attempt in attempts if attempt.fault is not None]
        maybe_paid = sum(FAULTS[fault].maybe_paid for fault in faults)
        return (
            FAULTS[faults[-1]].retryable
            and len(attempts) < self._policy.attempts
            and maybe_paid < self._policy.maybe_paid_attempts
        )

    def _next_wait(self, failure: ModelCallError, made: int) -> float:
        longest = self._policy.longest_wait
        ceiling: float = min(longest, self._policy.first_wait * 2 ** (made - 1))
        wait = ceiling * (0.5 + 0.5 * self._rng.random())
        if failure.retry_after_s is not None:
            wait = max(wait, min(longest, failure.retry_after_s))
        if failure.fault in {Fault.RATE_LIMITED, Fault.OVERLOADED}:
            self._paused_until = max(self._paused_until, self._clock() + wait)
        return wait


def _affords(failure: ModelCallError, again: MayTryAgain | None) -> bool:
    """Whether there is money for the attempt after this failure, which says so where there is none."""
    if again is None or not FAULTS[failure.fault].maybe_paid or again():
        return True
    failure.add_words(NO_MONEY)
    return False


async def wait_unless(ended: asyncio.Event, waiting: Awaitable[None]) -> None:
    """Wait until one of the two is over and give up the other; an error of the waiting is raised."""
    wanted = asyncio.ensure_future(waiting)
    ending = asyncio.ensure_future(ended.wait())
    try:
        await asyncio.wait({wanted, ending}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        wanted.cancel()
        ending.cancel()
    if wanted.done():
        wanted.result()


def utc_now() -> datetime:
    """The present moment, for turning an HTTP date into a wait."""
    return datetime.now(UTC)
