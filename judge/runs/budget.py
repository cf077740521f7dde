"""The money of a run: what a call may cost at most is set aside before it, and given back after it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass

from judge.calls import FAULTS, Attempt, ModelRequest, Prices, Tokens

BYTES_A_TOKEN = 3
"""For the most that a prompt may cost; English has about four."""


@dataclass(frozen=True, slots=True)
class Tariff:
    """By which prices calls are paid."""

    prices: Prices | None = None
    """None where no price is known."""
    free: bool = False
    """Nobody bills: the model runs here."""

    @property
    def known(self) -> bool:
        """Whether the cost of a call can be told before it is made."""
        return self.free or self.prices is not None

    def at_most(self, request: ModelRequest) -> int | None:
        """Millionths of a dollar that the call may cost at most; None without a price."""
        if self.free:
            return 0
        if self.prices is None:
            return None
        text = sum(len(message.content.encode("utf-8", "replace")) for message in request.messages)
        tokens = Tokens(math.ceil(text / BYTES_A_TOKEN), 0, request.max_output_tokens)
        return self.prices.cost(tokens).micros


class Budget:
    """What may be spent by one run, over all its processes; without a cap everything may."""

    def __init__(self, cap_micros: int | None, *, spent_micros: int = 0) -> None:
        self._cap = cap_micros
        self.spent_micros = spent_micros
        """Spent so far; a call of unknown cost counts as what was set aside for it."""
        self.set_aside_micros = 0
        self._in_flight = 0
        self._changed = asyncio.Event()

    async def set_aside(self, micros: int | None) -> bool:
        """Whether the call may be made; waits for calls in flight where their change could still suffice."""
        needed = micros or 0
        while not self._fits(needed):
            if not self._in_flight:
                return False
            self._changed.clear()
            await self._changed.wait()
        self.set_aside_micros += needed
        self._in_flight += 1
        return True

    def settle(self, aside_micros: int | None, cost_micros: int | None) -> None:
        """Give back what was set aside and take what the call cost; None where that is not known."""
        needed = aside_micros or 0
        self.set_aside_micros -= needed
        self._in_flight -= 1
        self.spent_micros += needed if cost_micros is None else cost_micros
        self._changed.set()

    def _fits(self, needed: int) -> bool:
        return self._cap is None or self.spent_micros + self.set_aside_micros + needed <= self._cap


def counted_cost(
    attempts: Sequence[Attempt], *, cost_micros: int | None, aside_micros: int | None
) -> int | None:
    """What a call counts against the cap; None for what was set aside for it.

    An attempt that was lost may be billed beside the one that was answered.
    """
    lost = sum(FAULTS[each.fault].maybe_paid for each in attempts if each.fault is not None)
    if cost_micros is not None:
        return cost_micros + lost * (aside_micros or 0)
    return None if lost < 2 else lost * (aside_micros or 0)


def dollars(micros: int) -> str:
    """The amount in US dollars as people read it: cents, and as many digits more as a small one needs.

    >>> dollars(1_500_000), dollars(1_234), dollars(0)
    ('$1.50', '$0.0012', '$0')
    """
    if micros == 0:
        return "$0"
    amount = micros / 1_000_000
    if amount >= 0.1:
        return f"${amount:,.2f}"
    return f"${amount:.2g}" if amount >= 0.0001 else f"${amount:.6f}"
