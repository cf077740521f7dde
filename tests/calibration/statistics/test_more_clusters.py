"""Further failures under clusters: following the advice passes the gate, one fewer does not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.clusters import cluster_wilson
from calibration.statistics.more_clusters import MOST, more_clusters_needed
from calibration.statistics.normal import z_value
from calibration.statistics.planning import more_failures_needed
from calibration.statistics.proportions import GateResult, score_gate
from calibration.values import Undefined

Z = z_value(0.95)


def gate(x: list[int], n: list[int]) -> GateResult:
    """The gate at 10 % on these clusters."""
    found = cluster_wilson(x, n, planning_icc=0.3, z=Z)
    return score_gate(found.x_effective, found.n_effective, limit=0.1, z=Z)


def test_the_advice_holds_where_all_accepted_failures_share_a_prompt() -> None:
    """20 prompts of five, four accepted in one: adding the clean number passes, one fewer does not."""
    needed = more_clusters_needed([(4, 5, 1), (0, 5, 19)], limit=0.1, z=Z, planning_icc=0.3)
    x, n = [4, *[0] * 19], [5] * 20
    assert gate(x + [0] * needed.clean, n + [1] * needed.clean) is GateResult.PASS
    fewer = needed.clean - 1
    assert gate(x + [0] * fewer, n + [1] * fewer) is not GateResult.PASS


@settings(max_examples=25, deadline=None, derandomize=True)
@given(accepted=st.lists(st.integers(0, 3), min_size=4, max_size=20), size=st.integers(3, 6))
def test_the_advice_always_holds(accepted: list[int], size: int) -> None:
    """Whatever the clusters, the clean number passes the gate."""
    counts = [(x, size, 1) for x in accepted]
    needed = more_clusters_needed(counts, limit=0.1, z=Z, planning_icc=0.3)
    n = [size] * len(accepted) + [1] * needed.clean
    assert gate(accepted + [0] * needed.clean, n) is GateResult.PASS


def test_single_failures_need_what_the_plain_plan_says() -> None:
    """Without a shared cluster both plans agree: 2 of 30 needs 39 clean, 282 or a few more at the rate."""
    needed = more_clusters_needed([(1, 1, 2), (0, 1, 28)], limit=0.1, z=Z, planning_icc=0.3)
    plain = more_failures_needed(2, 30, limit=0.1, z=Z)
    assert needed.clean == plain.clean == 39
    assert isinstance(needed.at_observed_rate, int)
    assert isinstance(plain.at_observed_rate, int)
    # the accepted among the further ones are whole, rounded up, so a few more are needed
    assert plain.at_observed_rate <= needed.at_observed_rate <= plain.at_observed_rate + 60


def test_nothing_more_is_needed_where_the_gate_passes() -> None:
    """A gate that passes needs 0; a rate above the limit never passes; no failure so far has no rate."""
    assert more_clusters_needed([(0, 2, 60)], limit=0.1, z=Z, planning_icc=0.3).clean == 0
    above = more_clusters_needed([(1, 2, 20)], limit=0.1, z=Z, planning_icc=0.3)
    assert isinstance(above.at_observed_rate, Undefined)
    assert isinstance(more_clusters_needed([], limit=0.1, z=Z, planning_icc=0.3).at_observed_rate, Undefined)


def test_a_plan_of_no_use_is_capped() -> None:
    """A rate just under the limit would need millions: the cap is given."""
    counts = [(1, 1, 999), (0, 1, 9001)]
    needed = more_clusters_needed(counts, limit=0.1, z=Z, planning_icc=0.3)
    assert needed.at_observed_rate == MOST


@pytest.mark.parametrize("limit", [0.0, 1.0])
def test_a_limit_that_is_no_rate_is_refused(limit: float) -> None:
    """The limit lies strictly between 0 and 1."""
    with pytest.raises(ValueError, match="limit"):
        more_clusters_needed([(0, 1, 5)], limit=limit, z=Z, planning_icc=0.3)
