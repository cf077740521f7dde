"""Slots of the calls in flight, and when a provider counts as silent."""

from __future__ import annotations

import asyncio

import pytest

from judge.calls import Fault
from judge.grading import JudgeVerdict
from judge.runs.provider_watch import FAILURES_AT_FIRST, FAILURES_IN_A_ROW, IN_DOUBT, ProviderWatch
from rubrics.verdict import UnknownReason

SAID = {"judge": "j", "rubric": "r", "criterion": "c", "item_id": "1", "order": None, "repeat": 1}
ANSWERED = JudgeVerdict(**SAID, evidence="e", value="pass")
ABSTAINED = JudgeVerdict(**SAID, evidence="e", reason=UnknownReason.ABSTAINED, detail="abstained")
FAILED = JudgeVerdict(
    **SAID, evidence="e", reason=UnknownReason.ERROR, detail="timeout", rationale="the call timed out"
)


async def free(watch: ProviderWatch) -> int:
    """How many slots are given without waiting."""
    taken = 0
    while True:
        try:
            await asyncio.wait_for(watch.enter(), 0.01)
        except TimeoutError:
            return taken
        taken += 1


async def one_call(watch: ProviderWatch, verdict: JudgeVerdict, fault: Fault | None = None) -> str | None:
    """What is said of a call that is made alone and comes to this."""
    await watch.enter()
    watch.begin()
    watch.end()
    silent = watch.heard(verdict, fault)
    watch.leave()
    return silent


async def first_then(verdict: JudgeVerdict, fault: Fault | None = None) -> int:
    """How many calls may be in flight after one that came to this."""
    watch = ProviderWatch(5)
    await one_call(watch, verdict, fault)
    return await free(watch)


@pytest.mark.parametrize(("verdict", "slots"), [(ANSWERED, 5), (ABSTAINED, 5), (FAILED, 1)])
def test_one_call_is_in_flight_until_one_is_answered(verdict: JudgeVerdict, slots: int) -> None:
    """Any reply opens all slots, also one that judges nothing; a failure opens none."""

    async def fresh() -> int:
        return await free(ProviderWatch(5))

    assert asyncio.run(fresh()) == 1
    assert asyncio.run(first_then(verdict, None if verdict is not FAILED else Fault.TIMEOUT)) == slots


async def failures(watch: ProviderWatch, fault: Fault, most: int = 50) -> int:
    """After how many failures the watch ends the run."""
    for number in range(1, most):
        if silent := await one_call(watch, FAILED, fault):
            assert f"{number} calls failed" in silent
            assert "the call timed out" in silent
            return number
    return most


@pytest.mark.parametrize(
    ("answered_before", "fault", "allowed"),
    [
        (False, Fault.TIMEOUT, FAILURES_AT_FIRST),
        (True, Fault.TIMEOUT, FAILURES_IN_A_ROW),
        (False, Fault.BAD_REQUEST, FAILURES_IN_A_ROW),
    ],
    ids=["never answered", "answered in an earlier process", "may be the item's own fault"],
)
def test_a_silent_provider_ends_the_run(answered_before: bool, fault: Fault, allowed: int) -> None:
    """Soon where it never answered and the fault is its own, later elsewhere; the sentence names the last."""

    async def count() -> int:
        watch = ProviderWatch(5)
        watch.answered_before = answered_before
        return await failures(watch, fault)

    assert asyncio.run(count()) == allowed


def test_doubt_leaves_one_slot_and_an_answer_gives_the_others_back() -> None:
    """From the third failure in a row calls are made alone, until one is answered."""

    async def slots() -> tuple[int, int, int]:
        watch = ProviderWatch(5)
        await one_call(watch, ANSWERED)
        for _ in range(IN_DOUBT + 4):
            await one_call(watch, FAILED, Fault.TIMEOUT)
        doubt = await free(watch)
        watch.heard(ANSWERED, None)
        watch.leave()
        return doubt, await free(watch), watch.failed

    assert asyncio.run(slots()) == (1, 5, IN_DOUBT + 4)
