"""FAR from an adjudicated sample of all four judge x rater cells."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibration.statistics.adjudication import AdjudicationCell, adjudicated_far
from calibration.statistics.proportions import wilson_interval
from calibration.values import Undefined


def cells(*numbers: tuple[int, int, int]) -> list[AdjudicationCell]:
    """By judge and rater: cases, adjudicated, failures of (accepted, failed), (accepted, passed), ..."""
    kinds = ((True, True), (True, False), (False, True), (False, False))
    return [AdjudicationCell(*kind, *given) for kind, given in zip(kinds, numbers, strict=True)]


def test_estimate_by_hand() -> None:
    """5 + 200/40 · 2 accepted failures of 5 + 10 + 90/30 · 27 + 100/20 · 1: 15 of 101."""
    found = adjudicated_far(cells((6, 6, 5), (200, 40, 2), (90, 30, 27), (100, 20, 1)))
    assert not isinstance(found, Undefined)
    assert (found.accepted_failures, found.failures) == pytest.approx((15, 101))
    assert found.estimate == pytest.approx(15 / 101)
    assert found.set_interval.lower < found.estimate < found.set_interval.upper
    assert found.interval.lower < found.set_interval.lower
    assert found.interval.upper > found.set_interval.upper
    assert found.interval.method == "adjudication-mover"
    assert found.set_interval.method == "adjudication-mover-fixed-set"
    assert found.interval.confidence == found.set_interval.confidence == 0.95
    assert found.interval.sided == found.set_interval.sided == 2


def test_adjudicating_everything_leaves_the_set_known() -> None:
    """The set's interval has no width; the population's is plain Wilson on the adjudicated failures."""
    found = adjudicated_far(cells((6, 6, 5), (200, 200, 3), (90, 90, 80), (100, 100, 4)))
    assert not isinstance(found, Undefined)
    assert found.estimate == pytest.approx(8 / 92)
    assert (found.set_interval.lower, found.set_interval.upper) == pytest.approx((8 / 92, 8 / 92))
    plain = wilson_interval(8, 92)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((plain.lower, plain.upper))


def test_limits_by_hand() -> None:
    """One sampled cell: its unseen cases at the Wilson ends move the ratio; distances add as squares."""
    found = adjudicated_far(cells((10, 10, 8), (100, 50, 1), (90, 90, 88), (0, 0, 0)), z=1.96)
    assert not isinstance(found, Undefined)
    ends = wilson_interval(1, 50, z=1.96)
    point, low, high = 8 + 1 + 50 * 0.02, 8 + 1 + 50 * ends.lower, 8 + 1 + 50 * ends.upper
    far = point / (point + 88)
    assert found.estimate == pytest.approx(far)
    assert found.set_interval.lower == pytest.approx(low / (low + 88))
    assert found.set_interval.upper == pytest.approx(high / (high + 88))
    spread = wilson_interval(point, point + 88, z=1.96)
    assert found.interval.upper == pytest.approx(
        far + math.hypot(found.set_interval.upper - far, spread.upper - far)
    )
    assert found.interval.lower == pytest.approx(
        far - math.hypot(far - found.set_interval.lower, far - spread.lower)
    )


def test_both_sides_sampled_add_their_distances() -> None:
    """Unseen cases on either side of the judge both widen the set's interval."""
    one = adjudicated_far(cells((10, 10, 8), (100, 50, 1), (90, 90, 88), (0, 0, 0)))
    both = adjudicated_far(cells((10, 10, 8), (100, 50, 1), (90, 45, 44), (0, 0, 0)))
    assert not isinstance(one, Undefined)
    assert not isinstance(both, Undefined)
    assert both.set_interval.upper - both.set_interval.lower > one.set_interval.upper - one.set_interval.lower
    a, b = wilson_interval(1, 50), wilson_interval(44, 45)
    pa, pb = 10.0, 44 + 45 * 44 / 45
    far = pa / (pa + pb)
    la, ua = 9 + 50 * a.lower, 9 + 50 * a.upper
    lb, ub = 44 + 45 * b.lower, 44 + 45 * b.upper
    assert both.set_interval.lower == pytest.approx(
        far - math.hypot(far - la / (la + pb), far - pa / (pa + ub))
    )
    assert both.set_interval.upper == pytest.approx(
        far + math.hypot(ua / (ua + pb) - far, pa / (pa + lb) - far)
    )


def test_without_evidence() -> None:
    """A filled cell without an adjudication and no failure at all are undefined; empty cells are fine."""
    lacking = adjudicated_far(cells((6, 6, 5), (200, 0, 0), (90, 30, 27), (100, 20, 1)))
    assert isinstance(lacking, Undefined)
    assert "none adjudicated" in lacking.reason
    for none in (cells((6, 6, 0), (200, 40, 0), (90, 30, 0), (100, 20, 0)), []):
        assert adjudicated_far(none) == Undefined("no failure was found by adjudication")
    only = adjudicated_far(cells((6, 6, 5), (0, 0, 0), (0, 0, 0), (0, 0, 0)))
    assert not isinstance(only, Undefined)
    assert only.estimate == 1
    assert only.interval.upper == 1
    none_accepted = adjudicated_far(cells((0, 0, 0), (50, 25, 0), (40, 40, 40), (0, 0, 0)))
    assert not isinstance(none_accepted, Undefined)
    assert none_accepted.estimate == none_accepted.interval.lower == 0
    assert none_accepted.set_interval.upper > 0


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((5, 6, 0), "x is 6 of n 5"),
        ((5, 4, 5), "x is 5 of n 4"),
        ((-1, 0, 0), "cases is -1"),
        ((5, -1, 0), "is -1"),
    ],
)
def test_bad_cells(numbers: tuple[int, int, int], message: str) -> None:
    """More adjudicated than cases, more failures than adjudicated, and negatives are refused."""
    with pytest.raises(ValueError, match=message):
        AdjudicationCell(True, True, *numbers)


def simulated_fars(rng: np.random.Generator, cases: int, share: float) -> tuple[float, float, bool]:
    """The design's FAR, the FAR from adjudicating accepted failures alone, and whether 5 % is inside.

    10 % failures; a judge with FAR 5 % and FRR 10 %; raters wrongly fail 3 % of passes and catch 98 % of the
    failures that the judge rejected, 70 % of those that it accepted: a blind spot that both share.
    """
    fail = rng.random(cases) < 0.10
    accepted = rng.random(cases) < np.where(fail, 0.05, 0.90)
    rater_fail = rng.random(cases) < np.where(fail, np.where(accepted, 0.70, 0.98), 0.03)
    drawn = rng.random(cases) < share
    drawn |= accepted & rater_fail  # accepted failures are all adjudicated
    design = []
    for judge in (True, False):
        for rater in (True, False):
            cell = (accepted == judge) & (rater_fail == rater)
            seen = cell & drawn
            design.append(
                AdjudicationCell(judge, rater, int(cell.sum()), int(seen.sum()), int((seen & fail).sum()))
            )
    found = adjudicated_far(design)
    assert not isinstance(found, Undefined)
    # accepted failures alone: those confirmed, over them and the raters' other failures
    confirmed = int((accepted & rater_fail & fail).sum())
    alone = confirmed / (confirmed + int((~accepted & rater_fail).sum()))
    return found.estimate, alone, found.interval.lower <= 0.05 <= found.interval.upper


def check_design(replicates: int, cases: int) -> None:
    """The design is unbiased within 4 standard errors, accepted failures alone are biased down by as many."""
    rng = np.random.default_rng(20261130)
    runs = [simulated_fars(rng, cases, 0.25) for _ in range(replicates)]
    design, alone = np.array([r[0] for r in runs]), np.array([r[1] for r in runs])
    for values, biased in ((design, False), (alone, True)):
        error = values.std() / math.sqrt(replicates)
        assert bool(values.mean() < 0.05 - 4 * error) is biased
    assert abs(design.mean() - 0.05) < 4 * design.std() / math.sqrt(replicates) + 2e-4
    assert sum(r[2] for r in runs) / replicates >= 0.93


def test_the_design_is_unbiased_where_accepted_failures_alone_are_not() -> None:
    """Reduced: 300 sets of 4,000 cases."""
    check_design(300, 4_000)


@pytest.mark.slow
def test_the_design_is_unbiased_in_full() -> None:
    """Full: 4,000 sets of 4,000 cases."""
    check_design(4_000, 4_000)
