"""Plans of calibration sets, in clusters too, in reverse, and over several looks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibration.statistics import gate_plans
from calibration.statistics.gate_curve import GateSetting
from calibration.statistics.gate_plans import (
    FailurePlan,
    clean_failures,
    plan_failures,
    plan_looks,
    reachable_far,
)
from calibration.statistics.normal import look_adjusted_z, z_value
from calibration.statistics.planning import failures_for_power, gate_characteristic
from calibration.statistics.simulation import GateDesign, simulate_gate
from calibration.values import Undefined

Z = z_value(0.95)


def rng() -> np.random.Generator:
    """A fresh generator with the fixed seed."""
    return np.random.default_rng(20261130)


def planned(gate: GateSetting, true_far: float, power: float) -> FailurePlan:
    """The plan, which there is."""
    found = plan_failures(gate, true_far=true_far, power=power, rng=rng())
    assert not isinstance(found, Undefined)
    return found


@pytest.mark.parametrize(
    ("true_far", "power", "first", "failures", "most"), [(0.02, 0.9, 84, 99, 4), (0.05, 0.8, 217, 254, 16)]
)
def test_plan_apart(true_far: float, power: float, first: int, failures: int, most: int) -> None:
    """The acceptance lines: 99 at FAR 2 % and power .9, 254 at 5 % and .8; exact, for every larger number."""
    found = planned(GateSetting(1), true_far, power)
    assert (found.first, found.failures, found.clusters) == (first, failures, failures)
    assert (found.clean, found.most_accepted, found.tried_up_to) == (35, most, None)
    exact = gate_characteristic(failures, limit=0.1, true_far=true_far, z=Z).pass_probability
    assert found.chance.probability == pytest.approx(exact)
    assert found.chance.simulated is None
    wrong = gate_characteristic(failures, limit=0.1, true_far=0.1, z=Z).pass_probability
    assert found.wrongly.probability == pytest.approx(wrong)


def test_looks_raise_the_quantile_of_the_one_that_is_planned_for() -> None:
    """Three looks: 52 clean failures, and the plan and its chances at z 2.394."""
    found = planned(GateSetting(3, looks=3), 0.02, 0.9)
    z = look_adjusted_z(0.05, 3)
    sizes = failures_for_power(limit=0.1, true_far=0.02, power=0.9, z=z)
    assert not isinstance(sizes, Undefined)
    assert (found.clean, found.failures) == (52, sizes.stable)
    at = gate_characteristic(found.failures, limit=0.1, true_far=0.02, z=z)
    assert found.chance.probability == pytest.approx(at.pass_probability)
    assert found.most_accepted == at.max_accepted


@pytest.mark.parametrize(("per_cluster", "clean"), [(2, 45), (5, 77)])
def test_plan_in_clusters_reaches_its_power(per_cluster: int, clean: int) -> None:
    """Whole clusters whose power, simulated anew, is what was asked; a tenth fewer miss it."""
    found = planned(GateSetting(per_cluster, per_cluster=per_cluster), 0.02, 0.9)
    assert found.clean == clean
    assert found.failures == found.clusters * per_cluster
    assert isinstance(found.most_accepted, Undefined)
    assert found.tried_up_to is not None
    assert found.tried_up_to > found.failures

    def power(failures: int) -> float:
        design = GateDesign(failures, 0.1, Z, per_cluster=per_cluster, icc=0.3)
        rate = simulate_gate(design, true_far=0.02, rng=np.random.default_rng(1), replicates=8_000)
        return rate.x / rate.n

    assert power(found.failures) > 0.88
    fewer = per_cluster * round(0.85 * found.clusters)
    assert power(fewer) < 0.9
    assert found.chance.probability == pytest.approx(power(found.failures), abs=0.02)
    assert found.wrongly.probability <= 0.027


def test_the_design_effect_alone_is_not_enough_in_clusters() -> None:
    """99 failures times 2.2 in fives have a power of 86 % where 90 % was asked: why plans are simulated."""
    design = GateDesign(220, 0.1, Z, per_cluster=5, icc=0.3)
    found = simulate_gate(design, true_far=0.02, rng=rng(), replicates=8_000)
    assert found.interval.upper < 0.88
    assert planned(GateSetting(5, per_cluster=5), 0.02, 0.9).failures > 230


def test_a_perfect_judge_needs_the_clean_clusters() -> None:
    """At FAR 0 the plan in fives is the clean number in whole clusters: 80."""
    found = planned(GateSetting(5, per_cluster=5), 0.0, 0.9)
    assert (found.failures, found.first, found.clean) == (80, 80, 77)
    assert found.chance.probability == 1


@pytest.mark.parametrize("reached_everywhere", [True, False])
def test_search_goes_down_and_up(monkeypatch: pytest.MonkeyPatch, reached_everywhere: bool) -> None:
    """A window that begins above the plan is widened downwards, one that ends below it upwards."""
    gate = GateSetting(5, per_cluster=5)
    expected = planned(gate, 0.04, 0.5).failures
    real = gate_plans._powers
    windows: list[tuple[int, int]] = []

    def at_first_misleading(*args: Any) -> Any:
        clusters = args[1]
        windows.append((int(clusters[0]), int(clusters[-1])))
        return real(*args) if len(windows) > 1 else np.full(len(clusters), float(reached_everywhere))

    monkeypatch.setattr(gate_plans, "_powers", at_first_misleading)
    again = planned(gate, 0.04, 0.5)
    first, second = windows
    assert second[0] < first[0] if reached_everywhere else second[1] == 2 * first[1]
    assert abs(again.failures - expected) <= 0.2 * expected


def test_no_plan() -> None:
    """At the limit, near it, and in clusters too large for it: the reason, never a number."""
    for gate, far, said in (
        (GateSetting(1), 0.1, "not below the limit"),
        (GateSetting(1), 0.0999, "more than 2,000,000"),
        (GateSetting(5, per_cluster=5), 0.095, "more than 4,000 clusters"),
    ):
        found = plan_failures(gate, true_far=far, power=0.8, rng=rng())
        assert isinstance(found, Undefined)
        assert said in found.reason
    for far, power, said in ((2, 0.8, "true_far is 2"), (0.02, 1, "power is 1")):
        with pytest.raises(ValueError, match=said):
            plan_failures(GateSetting(1), true_far=far, power=power, rng=rng())


def test_reverse() -> None:
    """60 failures and power .8 admit judges up to 1.4 %; at that FAR the chance is the power."""
    far = reachable_far(GateSetting(60), power=0.8, rng=rng())
    assert not isinstance(far, Undefined)
    assert round(100 * far, 1) == 1.4
    assert gate_characteristic(60, limit=0.1, true_far=far, z=Z).pass_probability == pytest.approx(0.8)
    assert isinstance(reachable_far(GateSetting(34), power=0.8, rng=rng()), Undefined)
    with pytest.raises(ValueError, match="power is 1"):
        reachable_far(GateSetting(60), power=1, rng=rng())


def test_reverse_in_clusters() -> None:
    """150 failures in fives: the FAR found has the power; 75 in fives admit nobody and say what it takes."""
    gate = GateSetting(150, per_cluster=5)
    far = reachable_far(gate, power=0.8, rng=rng())
    assert not isinstance(far, Undefined)
    assert 0 < far < 0.02
    design = GateDesign(150, 0.1, Z, per_cluster=5, icc=0.3)
    assert simulate_gate(design, true_far=far, rng=rng(), replicates=8_000).x / 8_000 == pytest.approx(
        0.8, abs=0.03
    )
    few = reachable_far(GateSetting(75, per_cluster=5), power=0.8, rng=rng())
    assert isinstance(few, Undefined)
    assert "it takes 77" in few.reason
    with pytest.raises(ValueError, match="power is 0"):
        reachable_far(gate, power=0, rng=rng())


def test_clean_failures_of_a_gate() -> None:
    """35 apart, 52 at three looks, 77 and 114 in fives."""
    assert clean_failures(GateSetting(1)) == 35
    assert clean_failures(GateSetting(3, looks=3)) == 52
    assert clean_failures(GateSetting(5, per_cluster=5)) == 77
    assert clean_failures(GateSetting(15, per_cluster=5, looks=3)) == 114


def test_looks() -> None:
    """150 failures, three looks: the error is shared or trebles; sizes and levels as in table 2."""
    found = plan_looks(limit=0.1, true_far=0.02, power=0.8, looks=3, failures=150)
    assert not isinstance(found, Undefined)
    one, shared, unshared = found
    assert [way.failures for way in found] == [150] * 3
    assert [(way.looks, way.divided) for way in found] == [(1, True), (3, True), (3, False)]
    assert [way.clean for way in found] == [35, 52, 35]
    assert one.wrongly == pytest.approx(0.014, abs=5e-4)
    assert shared.wrongly == pytest.approx(0.007, abs=5e-4)
    assert unshared.wrongly == pytest.approx(0.033, abs=5e-4)
    assert shared.z == look_adjusted_z(0.05, 3)
    assert shared.confidence == pytest.approx(1 - 0.05 / 3)
    assert unshared.confidence == 0.95
    assert (one.chance, shared.chance, unshared.chance) == pytest.approx((0.989, 0.969, 0.991), abs=5e-4)
    assert not isinstance(shared.needed, Undefined)
    assert not isinstance(one.needed, Undefined)
    assert (one.needed.stable, shared.needed.stable) == (84, 119)


def test_looks_without_a_number_plan_for_the_shared_error() -> None:
    """By default the failures that the shared error needs; one look needs fewer."""
    found = plan_looks(limit=0.1, true_far=0.02, power=0.8, looks=3, failures=None)
    single = plan_looks(limit=0.1, true_far=0.02, power=0.8, looks=1, failures=None)
    assert not isinstance(found, Undefined)
    assert not isinstance(single, Undefined)
    assert [way.failures for way in found] == [119] * 3
    assert [way.failures for way in single] == [84]


def test_no_looks_plan() -> None:
    """A judge at the limit has no number; with one given, what is needed is undefined and the rest stands."""
    assert isinstance(plan_looks(limit=0.1, true_far=0.1, power=0.8, looks=3, failures=None), Undefined)
    found = plan_looks(limit=0.1, true_far=0.1, power=0.8, looks=2, failures=100)
    assert not isinstance(found, Undefined)
    assert all(isinstance(way.needed, Undefined) for way in found)
    with pytest.raises(ValueError, match="looks is 3, more than"):
        plan_looks(limit=0.1, true_far=0.02, power=0.8, looks=3, failures=2)
    with pytest.raises(ValueError, match="looks is 0"):
        plan_looks(limit=0.1, true_far=0.02, power=0.8, looks=0, failures=50)
