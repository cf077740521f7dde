"""Notebooks 13.1 to 13.3, the checkpoints and the figures beside them in the agent evaluation chapter."""

from __future__ import annotations

import math

import pytest

from calibration.statistics.agreement import cohens_kappa
from calibration.statistics.costs import candidate_costs
from calibration.statistics.paired import (
    PairedTable,
    mcnemar_exact,
    newcombe_paired,
    noninferiority,
    paired_normal,
    pairing_gain,
)
from calibration.statistics.proportions import wald_interval, wilson_interval
from calibration.statistics.repeats import mixture_consistency, repeat_power
from calibration.statistics.sample_size import (
    n_for_half_width,
    n_pairs_noninferiority,
    n_pairs_scaled,
    n_two_arm,
)
from calibration.values import Interval, Undefined

Z = 1.96
TABLE = PairedTable(both=70, only_baseline=12, only_candidate=18, neither=50)
"""Table 4: 150 tasks, one run of each configuration."""


# -- 13.1: a paired gain and an inconclusive gate


def test_notebook_1_the_gate_holds_the_candidate() -> None:
    """+4 points [-3.21, 11.12]: below -2 points at its lower end, so neither noninferior nor superior."""
    found = newcombe_paired(TABLE, z=Z)
    assert not isinstance(found, Undefined)
    assert isinstance(found.interval, Interval)
    assert found.value == pytest.approx(6 / 150)
    assert round(100 * found.interval.lower, 2) == -3.21
    assert round(100 * found.interval.upper, 2) == 11.12
    shown = noninferiority(found.interval.lower, tolerance=0.02)
    assert not shown.noninferior
    assert not shown.superior
    assert round(mcnemar_exact(12, 18), 3) == 0.362


def test_notebook_1_pairs_that_would_just_reach_the_margin() -> None:
    """216.385, so 217, if the gain of 4 points is true; 1,947.5 (printed: about 1,900) if there is none."""
    gain = n_pairs_scaled(TABLE, true_gain=0.04, tolerance=0.02, z=Z)
    none = n_pairs_scaled(TABLE, true_gain=0.0, tolerance=0.02, z=Z)
    assert not isinstance(gain, Undefined)
    assert not isinstance(none, Undefined)
    assert round(100 * gain.lower_half_width, 2) == 7.21
    assert gain.n_pairs == pytest.approx(216.385, abs=5e-4)
    assert gain.n_pairs_ceil == 217
    assert none.n_pairs == pytest.approx(1947.5, abs=0.05)


def test_notebook_1_pairs_for_a_power() -> None:
    """A plan adds the power's quantile: 433 and 580 pairs for 4 points, 3,925 and 5,254 for none."""
    found = [
        n_pairs_noninferiority(gain=gain, discordant=0.2, tolerance=0.02, power=power, z=Z)
        for gain in (0.04, 0.0)
        for power in (0.8, 0.9)
    ]
    assert found == [433, 580, 3925, 5254]
    # by hand: (1.96 + .841621)² (.2 - .0016) / .06²
    assert math.ceil(2.801621**2 * 0.1984 / 0.0036) == 433


def test_sizes_beside_notebook_1() -> None:
    """100 tasks: ±9.8 points (Wilson 9.6); ±2 points: 2,401; 4 and 2 points apart: 2,452.8 and 9,811.4."""
    wald, wilson = wald_interval(50, 100, z=Z), wilson_interval(50, 100, z=Z)
    assert not isinstance(wald, Undefined)
    assert round(100 * wald.half_width, 1) == 9.8
    assert round(50 * (wilson.upper - wilson.lower), 1) == 9.6
    assert n_for_half_width(0.5, 0.02, z=Z) == 2401
    assert n_two_arm(0.5, 0.04, power=0.8, z=Z) == pytest.approx(2452.8, abs=0.05)
    assert n_two_arm(0.5, 0.02, power=0.8, z=Z) == pytest.approx(9811.35, abs=0.005)


def test_figure_4_wald_and_wilson_for_50_tasks() -> None:
    """0 of 50: Wald has no width, Wilson 7.13 % (7.14 at z = 1.96); 2 of 50: Wald ends at -1.43 %."""
    nothing, two = wald_interval(0, 50, z=Z), wald_interval(2, 50, z=Z)
    assert not isinstance(nothing, Undefined)
    assert not isinstance(two, Undefined)
    assert nothing.half_width == 0
    assert round(100 * wilson_interval(0, 50).upper, 2) == 7.13
    assert wilson_interval(0, 50, z=Z).upper == pytest.approx(0.07135003, abs=5e-9)
    assert round(100 * two.lower, 2) == -1.43
    assert wilson_interval(2, 50, z=Z).lower > 0


def test_pairing_leaves_two_fifths_of_the_variance() -> None:
    """.2 - .04² over two arms' variance: 40 %, so 2.5 times the tasks; ±7.1 points by the normal interval."""
    gain, normal = pairing_gain(TABLE), paired_normal(12, 18, 150, z=Z)
    assert not isinstance(gain, Undefined)
    assert not isinstance(normal, Undefined)
    assert round(gain.paired_over_independent, 2) == 0.4
    assert round(gain.independent_over_paired, 1) == 2.5
    assert round(100 * normal.half_width, 1) == 7.1


# -- 13.2: single-run success is not reliability


def test_notebook_2_consistency() -> None:
    """.9^8 = 43 %, .8^8 = 17 %, .95^8 = 66 %; 98.7 % is needed for 90 %, a 7.6-fold cut of failures."""
    nine = repeat_power(0.9, 8, target=0.9)
    assert nine.all_pass == pytest.approx(0.9**8)
    assert [round(repeat_power(p, 8).all_pass, 2) for p in (0.9, 0.8, 0.95)] == [0.43, 0.17, 0.66]
    assert nine.any_pass == pytest.approx(1 - 1e-8)
    assert round(nine.required_p, 3) == 0.987
    assert round(nine.failure_cut, 1) == 7.6


def test_repeating_a_task_overstates_new_tasks() -> None:
    """Tasks of .5 and .9: twice the same 53 %, two new ones 49 %."""
    found = mixture_consistency([0.5, 0.9], 2)
    assert not isinstance(found, Undefined)
    assert (found.same_task, found.new_tasks) == pytest.approx((0.53, 0.49))


# -- 13.3: generation and checking priced separately


def test_notebook_3_prices() -> None:
    """Available .784; a batch $.12, in sequence 1.96 candidates for $.0784; accepted $.153 and $.10."""
    found = candidate_costs(p=0.4, generate=0.03, check=0.01, k=3)
    assert found.availability == pytest.approx(1 - 0.6**3)
    assert found.batch_per_trial == pytest.approx(0.12)
    assert found.expected_candidates == pytest.approx(1.96)
    assert found.sequential_per_trial == pytest.approx(0.0784)
    assert round(found.batch_per_accepted, 3) == 0.153
    assert found.sequential_per_accepted == pytest.approx(0.10)
    assert round(found.batch_premium, 2) == 0.53
    assert found.sequential_per_trial < found.generate_all_per_trial < found.batch_per_trial


def test_notebook_3_only_the_success_of_one_candidate_lowers_the_cost() -> None:
    """Doubling it halves the cost, to $.05; the cap does not change it."""
    double = candidate_costs(p=0.8, generate=0.03, check=0.01, k=3)
    assert double.sequential_per_accepted == pytest.approx(0.05)
    assert candidate_costs(p=0.4, generate=0.03, check=0.01, k=9).sequential_per_accepted == pytest.approx(
        0.1
    )


# -- checkpoints


def test_checkpoint_2_agreement_by_chance() -> None:
    """Two judges that pass 80 % whatever they read agree on 68 %, kappa 0; at 90 % on 82 %, kappa 0."""
    for share, agreement in ((0.8, 0.68), (0.9, 0.82)):
        yes, no = round(100 * share * share), round(100 * (1 - share) ** 2)
        mixed = (100 - yes - no) // 2
        found = cohens_kappa([[yes, mixed], [mixed, no]])
        assert not isinstance(found, Undefined)
        assert found.po == pytest.approx(agreement)
        assert found.kappa == pytest.approx(0, abs=1e-12)


def test_kappa_is_undefined_where_chance_agreement_is_1() -> None:
    """Both raters constant on the same label: there is nothing to agree about."""
    assert isinstance(cohens_kappa([[100, 0], [0, 0]]), Undefined)


def test_checkpoint_3_consistency() -> None:
    """.95^5 = .774; .979 would hold 90 % over 5 sessions."""
    found = repeat_power(0.95, 5, target=0.9)
    assert round(found.all_pass, 3) == 0.774
    assert round(found.required_p, 3) == 0.979
