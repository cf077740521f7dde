"""The small values that everything else is made of: intervals, rates, and what is undefined."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Undefined:
    """A number that does not exist for this evidence, with the reason in field words."""

    reason: str


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval with everything that is needed to read it."""

    lower: float
    upper: float
    confidence: float
    """Level in (0, 1); of the two-sided interval when `sided` is 2."""
    sided: int
    """2, or 1 when each end is a one-sided limit at the level."""
    method: str


@dataclass(frozen=True, slots=True)
class Rate:
    """x of n with its interval; `estimate` is Undefined when n is 0, and the interval then [0, 1]."""

    x: int
    n: int
    interval: Interval

    @property
    def estimate(self) -> float | Undefined:
        """The share x / n in [0, 1]; undefined without a denominator."""
        return self.x / self.n if self.n else Undefined("no case in the denominator")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number that is not a plain proportion (kappa, a difference, a weighted rate), with its interval."""

    value: float
    interval: Interval | Undefined
