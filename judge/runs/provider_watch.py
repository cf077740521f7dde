"""Whether the provider answers: one call at a time until it has, and no more where it does not any more."""

from __future__ import annotations

import asyncio

from judge.calls import FAULTS, Fault
from judge.grading import JudgeVerdict

FAILURES_IN_A_ROW = 10
"""Calls that may fail one after the other, beyond those in flight when the first of them failed."""
FAILURES_AT_FIRST = 3
"""Calls that may fail where the provider has not answered a single one of the run, one at a time."""
APART = 0.7
"""Of the time between calls that are spread evenly over the time that one takes: so much lies between two."""
MOST_APART_S = 0.005
"""At most so much: a call keeps this process busy for less than a thousandth of a second."""
SMOOTHED = 16
"""Calls over which the time that one takes is averaged."""
IN_DOUBT = 3
"""Failures in a row after which calls are made one at a time until one is answered."""


class ProviderWatch:
    """The slots of the calls in flight, and how the last of them ended; made inside an event loop."""

    def __init__(self, concurrency: int) -> None:
        self._most_withheld = concurrency - 1
        self._slots = asyncio.Semaphore(1)  # until one was answered: a wrong key then fails once, not N times
        self._withheld = self._most_withheld
        """Slots that are not given while the provider seems to answer nothing."""
        self._calling = self._in_flight_then = 0
        self._next = self._latency_s = 0.0
        self._answered = False
        self._failed_in_a_row = 0
        self.failed = 0
        """Calls that failed."""
        self.answered_before = False
        """Whether the provider has answered in an earlier process of the run."""

    async def enter(self) -> None:
        """Wait for a slot, to be given back by `leave`, and for some distance from the call before.

        Calls that begin at once are answered at once, and each then waits for all the others.
        """
        await self._slots.acquire()
        now = asyncio.get_running_loop().time()
        start = max(now, self._next)
        self._next = start + self._apart_s
        if start > now:
            await asyncio.sleep(start - now)

    def leave(self) -> None:
        """Make room for another call; for one at a time while the provider seems to answer nothing."""
        doubt = not self._answered or self._failed_in_a_row >= IN_DOUBT
        if doubt and self._withheld < self._most_withheld:
            self._withheld += 1
            return
        self._slots.release()
        while not doubt and self._withheld:
            self._slots.release()
            self._withheld -= 1

    def begin(self) -> None:
        """A call is made now."""
        self._calling += 1

    def end(self) -> None:
        """That call is over, whatever it came to."""
        self._calling -= 1

    def heard(self, verdict: JudgeVerdict, fault: Fault | None) -> str | None:
        """Why no further call should be made after one that came to this; None where they go on."""
        if verdict.reason is None or not verdict.reason.is_open:
            took = verdict.latency_ms / 1000
            self._latency_s += (took - self._latency_s) / (SMOOTHED if self._answered else 1)
            self._failed_in_a_row, self._answered = 0, True
            return None
        if not self._failed_in_a_row:
            self._in_flight_then = self._calling
        self.failed += 1
        self._failed_in_a_row += 1
        if self._failed_in_a_row < self._failures_allowed(fault):
            return None
        calls = "call" if self._failed_in_a_row == 1 else f"{self._failed_in_a_row} calls"
        return f"the last {calls} failed, so no more were made: {verdict.rationale}"

    @property
    def _apart_s(self) -> float:
        return min(MOST_APART_S, APART * self._latency_s / (self._most_withheld + 1))

    def _failures_allowed(self, fault: Fault | None) -> int:
        silent = not self._answered and not self.answered_before
        if silent and fault is not None and FAULTS[fault].retryable:  # what is not may be the item's own
            return FAILURES_AT_FIRST
        return FAILURES_IN_A_ROW + self._in_flight_then
