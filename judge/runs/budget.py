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
    """What may be spent by one run, over all its processes; without a cap everything may.

    Amounts are millionths of a dollar. As long as no attempt is billed more than its most, what the provider
    may bill is never more than the cap, however many attempts are lost.
    """

    def __init__(self, cap_micros: int | None, *, spent_micros: int = 0) -> None:
        self._cap = cap_micros
        self.spent_micros = spent_micros
        """Spent so far; what may be billed and is not known counts at its most."""
        self.set_aside_micros = 0
        self._in_flight = 0
        self._changed = asyncio.Event()

    async def set_aside(self, at_most: int | None) -> Hold | None:
        """The money for the first attempt of a call; None where the call may not be made.

        Waits for calls in flight where their change could still suffice. `at_most` is of one attempt, None
        without a price.
        """
        needed = at_most or 0
        while not self._fits(needed):
            if not self._in_flight:
                return None
            self._changed.clear()
            await self._changed.wait()
        self.set_aside_micros += needed
        self._in_flight += 1
        return Hold(self, at_most)

    def set_aside_more(self, micros: int) -> bool:
        """Whether so much more is set aside for a call in flight; at once: all could wait for each other."""
        if not self._fits(micros):
            return False
        self.set_aside_micros += micros
        return True

    def settle(self, aside_micros: int, spent_micros: int) -> None:
        """Give back what was set aside for a call and take what it comes to."""
        self.set_aside_micros -= aside_micros
        self._in_flight -= 1
        self.spent_micros += spent_micros
        self._changed.set()

    def _fits(self, needed: int) -> bool:
        return self._cap is None or self.spent_micros + self.set_aside_micros + needed <= self._cap


class Hold:
    """The money that is set aside for one call: the most of each attempt that may be billed."""

    __slots__ = ("_aside", "_budget", "at_most")

    def __init__(self, budget: Budget, at_most: int | None) -> None:
        self._budget = budget
        self.at_most = at_most
        """Millionths of a dollar that one attempt may cost; None without a price."""
        self._aside = at_most or 0

    def another(self) -> bool:
        """Whether money for one attempt more is set aside, those before may be billed; at once."""
        needed = self.at_most or 0
        if not self._budget.set_aside_more(needed):
            return False
        self._aside += needed
        return True

    def settle(self, attempts: Sequence[Attempt], cost_micros: int | None) -> None:
        """Take what the call comes to: its cost, its most where that is not known, and each lost attempt's.

        Nothing is known of a call without an attempt and a cost: it was cut off, and all of it is taken.
        """
        each = self.at_most or 0
        lost = sum(FAULTS[one.fault].maybe_paid for one in attempts if one.fault is not None)
        if cost_micros is not None:
            spent = cost_micros + lost * each
        elif attempts:
            spent = max(1, lost + (attempts[-1].fault is None)) * each
        else:
            spent = self._aside
        self._budget.settle(self._aside, spent)

    def give_back(self) -> None:
        """Take nothing: the call was not made."""
        self._budget.settle(self._aside, 0)


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
