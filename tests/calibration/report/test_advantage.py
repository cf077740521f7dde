"""Whether a judge separates passes from failures better than a baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.evidence import Case
from calibration.report.advantage import advantage, separation
from calibration.statistics.paired import newcombe_independent
from calibration.values import Estimate, Interval, Undefined
from rubrics.verdict import FAIL, PASS
from tests.calibration.examples import make_cases


def judged(cases: Sequence[Case], accepted: Sequence[bool]) -> list[Case]:
    """The same items with these verdicts."""
    return [_judged(case, said) for case, said in zip(cases, accepted, strict=True)]


@cache
def _judged(case: Case, accepted: bool) -> Case:
    return replace(case, outcome=PASS if accepted else FAIL)


def ends(found: Estimate | Undefined) -> tuple[float, float, float]:
    """(value, lower, upper) of an advantage that is defined."""
    assert isinstance(found, Estimate)
    assert isinstance(found.interval, Interval)
    return found.value, found.interval.lower, found.interval.upper


ITEMS = make_cases({"fail": {"accept": 80}, "pass": {"accept": 120}})


def test_separation_is_newcombes_difference_of_two_rates() -> None:
    """16 of 80 failures and 114 of 120 passes accepted: .95 - .20 = .75, with its interval."""
    judge = make_cases({"fail": {"accept": 16, "reject": 64}, "pass": {"accept": 114, "reject": 6}})
    known = newcombe_independent(114, 120, 16, 80)
    assert ends(separation(judge)) == pytest.approx(ends(known))
    assert ends(known)[0] == pytest.approx(0.75)


def test_separation_allows_for_clusters() -> None:
    """Ten failures to a prompt are worth less than ten, so the interval is wider."""
    counts = {"fail": {"accept": 20, "reject": 80}, "pass": {"accept": 90, "reject": 10}}
    apart, together = (ends(separation(make_cases(counts, per_cluster=each))) for each in (1, 10))
    assert together[0] == apart[0]
    assert together[1] < apart[1]


def test_against_a_constant_answer_the_advantage_is_the_separation() -> None:
    """16 of 80 failures and 114 of 120 passes accepted: .95 - .20 = .75, whatever the constant answer is."""
    judge = make_cases({"fail": {"accept": 16, "reject": 64}, "pass": {"accept": 114, "reject": 6}})
    for constant in (True, False):
        value, lower, upper = ends(advantage(judge, judged(judge, [constant] * 200)))
        assert value == pytest.approx(0.75)
        assert 0.6 < lower < value < upper < 0.85


def test_by_hand_from_the_two_paired_intervals() -> None:
    """MOVER of Newcombe's paired differences, each worked out here from its own formula."""
    # passes: both accept 60, judge alone 40, baseline alone 10, neither 10; failures: 5, 5, 30, 40
    mine = [True] * 5 + [True] * 5 + [False] * 30 + [False] * 40
    theirs = [True] * 5 + [False] * 5 + [True] * 30 + [False] * 40
    mine += [True] * 60 + [True] * 40 + [False] * 10 + [False] * 10
    theirs += [True] * 60 + [False] * 40 + [True] * 10 + [False] * 10
    value, lower, upper = ends(advantage(judged(ITEMS, mine), judged(ITEMS, theirs)))
    good, good_low, good_high = _newcombe(60, 40, 10, 10)
    bad, bad_low, bad_high = _newcombe(5, 5, 30, 40)
    assert value == pytest.approx(30 / 120 + 25 / 80)
    assert value == pytest.approx(good - bad)
    assert lower == pytest.approx(value - math.sqrt((good - good_low) ** 2 + (bad_high - bad) ** 2))
    assert upper == pytest.approx(value + math.sqrt((good_high - good) ** 2 + (bad - bad_low) ** 2))


def _newcombe(both: int, first: int, second: int, neither: int) -> tuple[float, float, float]:
    """Newcombe 1998, paired method 10, of first minus second."""
    n = both + first + second + neither
    p1, p2, z = (both + first) / n, (both + second) / n, 1.959963984540054

    def wilson(p: float) -> tuple[float, float]:
        centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)

    (l1, u1), (l2, u2) = wilson(p1), wilson(p2)
    cross: float = both * neither - first * second
    cross = max(cross - n / 2, 0) if cross > 0 else cross
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    phi = cross / math.sqrt(margins)
    below = math.sqrt((p1 - l1) ** 2 - 2 * phi * (p1 - l1) * (u2 - p2) + (u2 - p2) ** 2)
    above = math.sqrt((u1 - p1) ** 2 - 2 * phi * (u1 - p1) * (p2 - l2) + (p2 - l2) ** 2)
    return p1 - p2, p1 - p2 - below, p1 - p2 + above


def test_clusters_widen_it_and_never_narrow_it() -> None:
    """Ten failures to a prompt, judged alike: the interval by prompts is wider than by answers."""
    plain = make_cases({"fail": {"accept": 100}, "pass": {"accept": 100}})
    clustered = make_cases({"fail": {"accept": 100}, "pass": {"accept": 100}}, per_cluster=10)
    mine = [number // 10 % 5 == 0 for number in range(100)] + [True] * 100
    theirs = [number // 10 % 5 < 2 for number in range(100)] + [True] * 100
    apart = ends(advantage(judged(plain, mine), judged(plain, theirs)))
    together = ends(advantage(judged(clustered, mine), judged(clustered, theirs)))
    assert together[0] == apart[0] == pytest.approx(0.2)
    assert together[1] < apart[1]


def test_clusters_that_all_agree_leave_the_plain_interval() -> None:
    """Where no cluster departs from the mean its spread says nothing, so the plain interval stays."""
    clustered = make_cases({"fail": {"reject": 40}, "pass": {"accept": 40}}, per_cluster=4)
    plain = make_cases({"fail": {"reject": 40}, "pass": {"accept": 40}})
    assert ends(advantage(clustered, judged(clustered, [True] * 80))) == ends(
        advantage(plain, judged(plain, [True] * 80))
    )


@pytest.mark.parametrize("missing", ["fail", "pass"])
def test_it_is_undefined_without_passes_or_without_failures(missing: str) -> None:
    """Separation needs both."""
    counts = {word: {"accept": 10} for word in ("fail", "pass", "unresolved") if word != missing}
    cases = make_cases(counts)
    assert isinstance(advantage(cases, cases), Undefined)
    assert isinstance(separation(cases), Undefined)


def test_other_items_are_refused() -> None:
    """Figures on different items are not paired."""
    with pytest.raises(ValueError, match="give the same"):
        advantage(ITEMS, ITEMS[1:])


@settings(max_examples=20, derandomize=True, deadline=None)
@given(data=st.data())
def test_the_other_way_round_has_the_other_sign(data: st.DataObject) -> None:
    """The baseline's advantage over the judge mirrors the judge's over the baseline."""
    verdicts = st.lists(st.booleans(), min_size=200, max_size=200)
    mine, theirs = judged(ITEMS, data.draw(verdicts)), judged(ITEMS, data.draw(verdicts))
    value, lower, upper = ends(advantage(mine, theirs))
    assert ends(advantage(theirs, mine)) == pytest.approx((-value, -upper, -lower))
    assert lower <= value <= upper


def test_two_judges_that_are_alike_are_seldom_told_apart() -> None:
    """Of 400 pairs with the same true rates, the interval excludes 0 in about one in twenty."""
    rng = np.random.default_rng(7)
    excluded = 0
    for _ in range(400):
        easy = rng.random(200)
        chances = np.r_[np.full(80, 0.3), np.full(120, 0.8)]
        mine, theirs = (((easy + rng.random(200)) / 2 < chances).tolist() for _ in range(2))
        _, lower, upper = ends(advantage(judged(ITEMS, mine), judged(ITEMS, theirs)))
        excluded += not lower <= 0 <= upper
    assert 4 <= excluded <= 32  # 20 expected, four standard deviations
