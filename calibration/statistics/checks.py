"""One sentence for each kind of number that a statistic cannot take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index


def require_count(value: float, *, name: str) -> None:
    """Accept a finite number of cases >= 0, which may be an effective one, else raise ValueError."""
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(
            f"{name} is {value!r}; a count is a finite number >= 0: check how the cases were counted"
        )


def require_whole(value: int, *, name: str) -> int:
    """The count as an int; ValueError for a negative one and for what is no whole number (1.5, NaN, "3")."""
    try:
        whole = index(value)
    except TypeError:
        whole = -1
    if whole < 0:
        raise ValueError(
            f"{name} is {value!r}; a count is a whole number >= 0: check how the cases were counted"
        )
    return whole


def require_part(x: float, n: float) -> float:
    """The x of 0 <= x <= n, both finite; an effective x above n by rounding alone is read as n.

    Raises:
        ValueError: for a bad count or x > n.
    """
    require_count(n, name="n")
    require_count(x, name="x")
    if x > n * (1 + 1e-12):
        raise ValueError(f"x is {x!r} of n {n!r}; x counts cases among the n: give x <= n")
    return min(x, n)


def require_share(value: float, *, name: str) -> None:
    """Accept a number in [0, 1], else raise ValueError."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is {value!r}; a share lies in [0, 1]: divide a percentage by 100")


def require_open_share(value: float, *, name: str) -> None:
    """Accept a number in (0, 1), both ends excluded, else raise ValueError."""
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value!r}; it must lie strictly between 0 and 1")


def require_positive(value: float, *, name: str) -> None:
    """Accept a finite number > 0, else raise ValueError."""
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} is {value!r}; give a finite number greater than 0")


def require_number(value: float, *, name: str) -> None:
    """Accept a finite number, else raise ValueError."""
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}; give a finite number, and leave missing values out")


def require_same_length(first: Sequence[object], second: Sequence[object], *, names: str) -> None:
    """Accept two sequences of one length, else raise ValueError."""
    if len(first) != len(second):
        raise ValueError(f"{names} have {len(first)} and {len(second)} entries; give one of each per case")
