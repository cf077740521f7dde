"""How much evidence a gate needs, and how often it admits."""

from __future__ import annotations

import math
from dataclasses import dataclass

from calibration.statistics.checks import require_open_share, require_part, require_positive, require_whole
from calibration.statistics.proportions import GateResult, score_gate
from calibration.values import Undefined


@dataclass(frozen=True, slots=True)
class MoreFailures:
    """Further reference failures until the gate passes."""

    clean: int
    """If the judge accepts none of them: the floor."""
    at_observed_rate: int | Undefined
    """If it accepts them at the rate seen so far: the plan."""


def min_failures_clean(limit: float, *, z: float) -> int:
    """The fewest reference failures that pass a judge which accepts none of them: ceil(z² (1 - L) / L).

    Args:
        limit: on the false-acceptance rate, in (0, 1).
        z: quantile of the gate, > 0.

    Raises:
        ValueError: for a limit outside (0, 1) or a bad z.
    """
    return _first_pass(0, 1, limit, z)


def _first_pass(x: int, start: int, limit: float, z: float) -> int:
    """The smallest n >= start at which x accepted of n pass; passing stays passing as n grows."""
    require_open_share(limit, name="limit")
    require_positive(z, name="z")
    spread = z * math.sqrt(limit * (1 - limit))
    root = (spread + math.sqrt(spread * spread + 4 * limit * x)) / (2 * limit)
    n = max(start, x, math.floor(root * root) - 1)
    while score_gate(x, n, limit=limit, z=z) is not GateResult.PASS:
        n += 1
    return n


def more_failures_needed(x: int, n: int, *, limit: float, z: float) -> MoreFailures:
    """Further reference failures until x of n accepted passes, if all are rejected and at the rate so far.

    At the rate p seen so far the gate passes from n* = z² L (1 - L) / (L - p)² failures on; that plan is
    undefined without a failure so far and when p >= limit.

    Args:
        x: accepted reference failures so far.
        n: reference failures so far.
        limit: on the false-acceptance rate, in (0, 1).
        z: quantile of the gate at its look level, > 0.

    Raises:
        ValueError: for a bad count, x > n, a limit outside (0, 1) or a bad z.
    """
    whole_x, whole_n = require_whole(x, name="x"), require_whole(n, name="n")
    require_part(whole_x, whole_n)
    clean = _first_pass(whole_x, max(whole_n, 1), limit, z) - whole_n
    return MoreFailures(clean, _at_observed_rate(whole_x, whole_n, limit, z))


def _at_observed_rate(x: int, n: int, limit: float, z: float) -> int | Undefined:
    if n == 0:
        return Undefined("no failure so far: no rate is known")
    if x >= n * limit:
        return Undefined("the rate so far is not below the limit: more cases at this rate never pass")
    needed = z * z * limit * (1 - limit) / (limit - x / n) ** 2
    return max(0, math.ceil(needed * (1 - 1e-12)) - n)
