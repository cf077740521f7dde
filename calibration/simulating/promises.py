"""What was promised, what was delivered, and how far chance alone may take the one from the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from calibration.statistics.proportions import wilson_interval
from calibration.statistics.sequential import binomial_pmf

TAIL = 2.5e-4
"""Chance that a kept promise leaves its band on one side; with some forty bands a false alarm is rare."""
BAND_Z = 3.5
"""The same for a mean of many values."""


class Claim(StrEnum):
    """What a promise says of its number."""

    IS = "is"
    AT_MOST = "at most"
    AT_LEAST = "at least"


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise with what the simulation delivered."""

    what: str
    claim: Claim
    promised: float
    delivered: float
    n: int
    """Of what the delivered number is a share or a mean."""
    low: float
    """The band within which chance alone leaves the delivered number."""
    high: float

    @property
    def kept(self) -> bool:
        """Whether the delivered number lies in the band."""
        return self.low <= self.delivered <= self.high


def share(what: str, x: int, n: int, promised: float, *, claim: Claim = Claim.IS) -> Promise:
    """A promise about a share: x of n were delivered, each independently of the others.

    Raises:
        ValueError: nothing was delivered.
    """
    if n == 0:
        raise ValueError(f"{what!r}: nothing was simulated")
    low, high = _open(*_band(n, promised), claim)
    return Promise(what, claim, promised, x / n, n, low, high)


def mean(what: str, values: Sequence[float], promised: float) -> Promise:
    """A promise about a mean of independent values.

    Raises:
        ValueError: fewer than two values, whose spread is unknown.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"{what!r}: {n} values simulated; a band needs at least two")
    found = math.fsum(values) / n
    spread = math.sqrt(math.fsum((value - found) ** 2 for value in values) / (n - 1) / n)
    return Promise(what, Claim.IS, promised, found, n, promised - BAND_Z * spread, promised + BAND_Z * spread)


def _band(n: int, promised: float) -> tuple[float, float]:
    """The shares of n that a rate like this delivers but for `TAIL` below and above."""
    below = np.cumsum(binomial_pmf(n, promised))
    low = int(np.searchsorted(below, TAIL, side="right"))
    high = int(np.searchsorted(below, 1 - TAIL, side="left"))
    return low / n, min(high, n) / n


def _open(low: float, high: float, claim: Claim) -> tuple[float, float]:
    """The band of a one-sided claim has no end on the good side."""
    if claim is Claim.AT_MOST:
        return 0.0, high
    return (low, 1.0) if claim is Claim.AT_LEAST else (low, high)


def wilson_coverage(n: int, p: float, *, z: float) -> float:
    """How often the Wilson interval of n independent cases holds the rate p: exact, not the nominal level."""
    held = 0.0
    for x, mass in enumerate(binomial_pmf(n, p).tolist()):
        interval = wilson_interval(x, n, z=z)
        held += mass * (interval.lower <= p <= interval.upper)
    return min(1.0, held)
