"""Whether the provider answers: one call at a time until it has, and no more where it does not any more."""

from __future__ import annotations

import asyncio

from judge.calls import FAULTS, Fault
from judge.grading import JudgeVerdict

FAILURES_IN_A_ROW = 10
"""Calls that may fail one after the other, beyond those in flight when the first of them failed."""
FAILURES_AT_FIRST = 3
"""Calls that may fail where the provider has not answered a single one of the run, one at a time."""
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
        self._answered = False
        self._failed_in_a_row = 0
        self.failed = 0
        """Calls that failed."""
        self.answered_before = False
        """Whether the provider has answered in an earlier process of the run."""

    async def enter(self) -> None:
        """Wait for a slot; to be given back by `leave`."""
        await self._slots.acquire()

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

    def _failures_allowed(self, fault: Fault | None) -> int:
        silent = not self._answered and not self.answered_before
        if silent and fault is not None and FAULTS[fault].retryable:  # what is not may be the item's own
            return FAILURES_AT_FIRST
        return FAILURES_IN_A_ROW + self._in_flight_then
