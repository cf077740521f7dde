"""Whose turn it is where several judges are asked about the same items: the one that is furthest behind.

A provider drifts and a day has busy hours. Judges that are asked item by item in turn meet the same of both,
so that a difference between them is not one of the moments at which they were asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from judge.runs.plan import RunPlan
from judge.spec import ModelJudge
from rubrics.errors import DeclarationError

Place = tuple[int, int]
"""The how manieth hundred of items, and the how manieth open unit in it."""


def in_turn(plans: Sequence[RunPlan]) -> tuple[RunPlan, ...]:
    """The plans, each knowing with which judges its own is asked in turn: a run of its own for each.

    Raises DeclarationError for fewer than two judges, one named twice, one that makes no call, other items.
    """
    judges = {plan.judge.digest: str(plan.judge.name) for plan in plans}
    if len(judges) < max(2, len(plans)):
        raise DeclarationError("judges that are asked in turn are at least two, each named once")
    for plan in plans:
        if not isinstance(plan.judge, ModelJudge):
            raise DeclarationError(
                f"judge {plan.judge.name!r} makes no call, so it cannot be asked in turn; run it by itself"
            )
        if plan.item_keys != plans[0].item_keys:
            raise DeclarationError("judges that are asked in turn are asked about the same items")
    return tuple(
        replace(plan, in_turn_with={each: name for each, name in judges.items() if each != plan.judge.digest})
        for plan in plans
    )


class Turns:
    """The places of several judges on their way through the same items; used from one event loop."""

    def __init__(self, judges: int) -> None:
        self._places: list[Place | None] = [(0, 0)] * judges
        self._moved = asyncio.Event()

    def of(self, judge: int) -> Turn:
        """The turn of one of them."""
        return Turn(self, judge)

    async def wait(self, judge: int, place: Place) -> None:
        """Say that the judge has come to the place, and wait until no other is behind it."""
        self._move(judge, place)
        while any(
            other is not None and (other, number) < (place, judge)
            for number, other in enumerate(self._places)
            if number != judge
        ):
            await self._moved.wait()

    def leave(self, judge: int) -> None:
        """Say that the judge has nothing more to be asked; the others wait for it no longer."""
        self._move(judge, None)

    def _move(self, judge: int, place: Place | None) -> None:
        self._places[judge] = place
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


class Turn:
    """The turn of one judge among several."""

    def __init__(self, turns: Turns, judge: int) -> None:
        self._turns, self._judge = turns, judge

    async def wait(self, place: Place) -> None:
        """Wait until the judge may be asked what stands at the place."""
        await self._turns.wait(self._judge, place)

    def leave(self) -> None:
        """Say that nothing is left to ask."""
        self._turns.leave(self._judge)
