"""What a count, a share and a number may be."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from calibration.statistics import checks

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("value", [-1, -1e-9, NAN, INF, -INF])
def test_a_count_is_finite_and_not_negative(value: float) -> None:
    """Negative, infinite and NaN counts are refused with the value given."""
    with pytest.raises(ValueError, match=rf"cases is {value!r}; a count is a finite number >= 0: check how"):
        checks.require_count(value, name="cases")


def test_zero_and_effective_counts_are_counts() -> None:
    """0 and 2.5 pass."""
    checks.require_count(0, name="n")
    checks.require_count(2.5, name="n")


def test_a_whole_count_is_returned_as_int() -> None:
    """Integers of numpy become ints; negatives, fractions, NaN and text are refused."""
    assert type(checks.require_whole(np.int64(3), name="n")) is int  # type: ignore[arg-type]
    assert checks.require_whole(0, name="n") == 0
    with pytest.raises(ValueError, match="n is -1; a count is a whole number >= 0"):
        checks.require_whole(-1, name="n")
    for value in (2.5, NAN, 3.0, "3", None):
        with pytest.raises(ValueError, match=rf"^n is {value!r}; a count is a whole number >= 0"):
            checks.require_whole(value, name="n")  # type: ignore[arg-type]


def test_a_part_lies_within_its_whole() -> None:
    """More than n is refused; an x above n by rounding alone is read as n."""
    assert checks.require_part(2, 3) == 2
    assert checks.require_part(3.0000000000000004, 3.0) == 3.0
    assert checks.require_part(0, 0) == 0
    with pytest.raises(ValueError, match="x is 4 of n 3; x counts cases among the n: give x <= n"):
        checks.require_part(4, 3)
    with pytest.raises(ValueError, match=r"x is 3\.00001 of n 3"):
        checks.require_part(3.00001, 3)
    with pytest.raises(ValueError, match="n is nan"):
        checks.require_part(1, NAN)
    with pytest.raises(ValueError, match="x is -1"):
        checks.require_part(-1, 3)


@pytest.mark.parametrize(
    ("check", "good", "bad", "message"),
    [
        (checks.require_share, [0, 0.5, 1], [-0.01, 1.01, NAN, 10], "a share lies in .0, 1."),
        (checks.require_open_share, [1e-9, 0.999], [0, 1, NAN, 2, -1], "strictly between 0 and 1"),
        (checks.require_positive, [1e-9, 3], [0, -1, NAN, INF], "finite number greater than 0"),
        (checks.require_number, [-3, 0, 1e300], [NAN, INF, -INF], "give a finite number, and leave"),
    ],
)
def test_ranges(check: Callable[..., None], good: list[float], bad: list[float], message: str) -> None:
    """Each check accepts its range with both ends as declared, and names the value that it refuses."""
    for value in good:
        check(value, name="it")
    for value in bad:
        with pytest.raises(ValueError, match=message) as refused:
            check(value, name="it")
        assert str(refused.value).startswith(f"it is {value!r}; ")


def test_lengths_must_agree() -> None:
    """Unequal lengths are named."""
    checks.require_same_length([1], ["a"], names="x and y")
    with pytest.raises(ValueError, match="x and y have 2 and 1 entries; give one of each per case"):
        checks.require_same_length([1, 2], ["a"], names="x and y")
