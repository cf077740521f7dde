"""Panels and votes: what independence would give, and what shared errors leave of it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from calibration.statistics.checks import require_share, require_whole
from calibration.values import Undefined


def majority_independent(probabilities: Sequence[float], *, votes_needed: int | None = None) -> float:
    """P(at least `votes_needed` of the members accept) if their votes were independent, in [0, 1].

    Args:
        probabilities: for each member P(accept), for instance its FAR.
        votes_needed: votes that accept; by default a strict majority.

    Raises:
        ValueError: without a member, for a probability outside [0, 1], or votes outside 0..members.
    """
    members = len(probabilities)
    if members == 0:
        raise ValueError("a panel needs at least one member: give one probability each")
    needed = members // 2 + 1 if votes_needed is None else require_whole(votes_needed, name="votes_needed")
    if needed > members:
        raise ValueError(f"votes_needed is {needed!r} of {members} members; give at most {members}")
    counts = [1.0]
    for p in probabilities:
        require_share(p, name="a member's probability")
        with_reject = [*(share * (1 - p) for share in counts), 0.0]
        with_accept = [0.0, *(share * p for share in counts)]
        counts = [left + right for left, right in zip(with_reject, with_accept, strict=True)]
    return min(1.0, math.fsum(counts[needed:]))


def majority_exchangeable(votes: int, *, p: float, correlation: float) -> float:
    """P(a strict majority of votes accepts) when every pair of votes has the same correlation, in [0, 1].

    Beta-binomial votes: correlation 0 is independence, 1 gives p back.

    Raises:
        ValueError: for fewer than one vote, or a p or correlation outside [0, 1].
    """
    if require_whole(votes, name="votes") < 1:
        raise ValueError(f"votes is {votes!r}; give at least one vote")
    require_share(p, name="p")
    require_share(correlation, name="correlation")
    if correlation == 1:
        return float(p)
    spread = correlation / (1 - correlation)
    accepting = range(votes // 2 + 1, votes + 1)
    return min(1.0, math.fsum(_exchangeable(votes, k, p, spread) for k in accepting))


def _exchangeable(votes: int, accepting: int, p: float, spread: float) -> float:
    """The beta-binomial probability of so many accepting votes, as a product that also holds at spread 0."""
    accepted = math.prod(p + i * spread for i in range(accepting))
    rejected = math.prod(1 - p + i * spread for i in range(votes - accepting))
    return math.comb(votes, accepting) * accepted * rejected / math.prod(1 + i * spread for i in range(votes))


def error_correlation(*, both: int, only_a: int, only_b: int, neither: int) -> float | Undefined:
    """The phi correlation of two judges' false acceptances within the reference failures, in [-1, 1].

    Undefined when one of them accepted none or all of the failures.

    Raises:
        ValueError: for a negative count.
    """
    for name, value in (("both", both), ("only_a", only_a), ("only_b", only_b), ("neither", neither)):
        require_whole(value, name=name)
    margins = (both + only_a) * (only_b + neither) * (both + only_b) * (only_a + neither)
    if margins == 0:
        return Undefined("one of the two accepted none, or all, of the failures: no correlation")
    return (both * neither - only_a * only_b) / math.sqrt(margins)
