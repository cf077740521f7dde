"""Whether a judge tells good items from failing ones better than a baseline does. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from calibration.evidence import Case
from calibration.statistics.clusters import cluster_wilson
from calibration.statistics.paired import PairedTable, newcombe_paired
from calibration.statistics.ranking import clustered_difference
from calibration.values import Estimate, Interval, Undefined
from rubrics.verdict import Verdict

_Bounded = tuple[float, Interval]
"""A number with its interval."""


def separation(cases: Sequence[Case]) -> Estimate | Undefined:
    """The share accepted among reference passes less that among reference failures, in [-1, 1], at 95 %.

    What a judge is better by than one that always gives the same answer. Every outcome that accepts nothing,
    open ones included, counts as not accepted. Undefined without a reference pass or a reference failure.

    Newcombe's interval of two independent rates, each by Wilson with its clusters allowed for.

    Source: Youden 1950 (the index); Newcombe 1998 (independent proportions), method 10.
    """
    passing, failing = _share(cases, Verdict.PASS), _share(cases, Verdict.FAIL)
    return _less(passing, failing, method="newcombe-independent")


def advantage(judge: Sequence[Case], baseline: Sequence[Case]) -> Estimate | Undefined:
    """How much better the judge separates passes from failures, in [-2, 2], with a 95 % interval.

    A judge's separation is its share accepted among reference passes less its share accepted among reference
    failures (Youden 1950); the advantage is the judge's separation less the baseline's, on the same items.
    Every outcome that accepts nothing, open ones included, counts as not accepted. Undefined without a
    reference pass or a reference failure.

    The two paired differences are combined by MOVER as of independent groups (Newcombe 1998, method 10 for
    each; also by clusters where a cluster holds several, and then the wider interval counts). A cluster with
    both passes and failures is counted as two: where outcomes of one prompt are alike, the interval is too
    wide rather than too narrow.

    Args:
        judge: the cases of the judge.
        baseline: the cases of the baseline on the same items.

    Raises:
        ValueError: the items are not the same.
    """
    other = {case.item_id: case.outcome.accepted for case in baseline}
    if {case.item_id for case in judge} != other.keys():
        raise ValueError(f"{len(judge)} cases of the judge and {len(other)} of the baseline: give the same")
    passing, failing = (_difference(judge, other, each) for each in (Verdict.PASS, Verdict.FAIL))
    return _less(passing, failing, method="mover")


def _less(
    passing: _Bounded | Undefined, failing: _Bounded | Undefined, *, method: str
) -> Estimate | Undefined:
    """The first less the second, which are of different items, with the interval of both together."""
    if isinstance(passing, Undefined) or isinstance(failing, Undefined):
        return Undefined("needs reference passes and reference failures")
    (good, of_good), (bad, of_bad) = passing, failing
    below = math.hypot(good - of_good.lower, of_bad.upper - bad)
    above = math.hypot(of_good.upper - good, bad - of_bad.lower)
    value = good - bad
    return Estimate(value, Interval(value - below, value + above, of_good.confidence, 2, method))


def _share(cases: Sequence[Case], reference: Verdict) -> _Bounded | Undefined:
    """Share accepted among the items of one reference."""
    counts: defaultdict[str, list[bool]] = defaultdict(list)
    for case in cases:
        if case.reference.verdict is reference:
            counts[case.cluster].append(case.outcome.accepted)
    found = cluster_wilson([*map(sum, counts.values())], [*map(len, counts.values())])
    return (
        (found.x / found.n, found.interval) if found.n else Undefined(f"no item has a reference {reference}")
    )


def _difference(judge: Sequence[Case], other: dict[str, bool], reference: Verdict) -> _Bounded | Undefined:
    """Share accepted by the judge less by the other among the items of one reference."""
    cases = [case for case in judge if case.reference.verdict is reference]
    pairs = [(case.outcome.accepted, other[case.item_id]) for case in cases]
    gaps: defaultdict[str, list[int]] = defaultdict(list)
    for case, (mine, theirs) in zip(cases, pairs, strict=True):
        gaps[case.cluster].append(mine - theirs)
    found = [newcombe_paired(_table(pairs))]
    if len(gaps) < len(cases):
        found.append(clustered_difference([*map(sum, gaps.values())], [*map(len, gaps.values())]))
    estimates = [each for each in found if isinstance(each, Estimate)]
    intervals = [each.interval for each in estimates if isinstance(each.interval, Interval)]
    if not intervals:
        return Undefined(f"no item has a reference {reference}")
    return estimates[0].value, max(intervals, key=lambda interval: interval.upper - interval.lower)


def _table(pairs: Iterable[tuple[bool, bool]]) -> PairedTable:
    """The pairs (judge accepts, other accepts), counted."""
    given = list(pairs)
    return PairedTable(
        both=given.count((True, True)),
        only_baseline=given.count((False, True)),
        only_candidate=given.count((True, False)),
        neither=given.count((False, False)),
    )
