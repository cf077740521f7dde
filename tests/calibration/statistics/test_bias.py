"""Position, length, own family and probes."""

from __future__ import annotations

import math

import pytest

from calibration.statistics.bias import (
    LengthRow,
    OddsRatio,
    SwappedPairs,
    position_bias,
    probe_effect,
    rates_by_length,
    self_preference,
    verbosity_effect,
)
from calibration.statistics.logistic import fit_logistic
from calibration.statistics.paired import PairedTable, mcnemar_exact, newcombe_independent, newcombe_paired
from calibration.statistics.proportions import rate
from calibration.values import Interval, Undefined


def test_position_by_hand() -> None:
    """150 pairs: 123 consistent, 25 conflicts of which 20 lean to the first place."""
    found = position_bias(SwappedPairs(60, 55, 8, 20, 5, 2))
    assert found.consistency == rate(123, 150)
    assert found.conflict == rate(25, 150)
    assert found.first_preference == rate(20, 25)
    assert found.effect == pytest.approx(0.1)
    assert found.p_value == pytest.approx(mcnemar_exact(20, 5))
    pairs = SwappedPairs(6, 5, 1, 4, 2, 2)
    by_z, by_level = position_bias(pairs, z=1.0), position_bias(pairs, confidence=0.8)
    assert (by_z.consistency, by_z.conflict) == (rate(12, 20, z=1.0), rate(6, 20, z=1.0))
    assert by_z.first_preference == rate(4, 6, z=1.0)
    assert (by_level.consistency, by_level.conflict) == tuple(rate(x, 20, confidence=0.8) for x in (12, 6))
    assert by_level.first_preference == rate(4, 6, confidence=0.8)


def test_no_conflict_and_no_pair() -> None:
    """Without a conflict there is no lean (p 1); without a pair nothing is known."""
    found = position_bias(SwappedPairs(same_a=50, same_b=50))
    assert isinstance(found.first_preference.estimate, Undefined)
    assert (found.first_preference.interval.lower, found.first_preference.interval.upper) == (0, 1)
    assert (found.effect, found.p_value) == (0, 1)
    empty = position_bias(SwappedPairs())
    assert empty.effect == Undefined("no pair was judged in both orders")
    assert isinstance(empty.consistency.estimate, Undefined)
    for name in ("same_a", "same_b", "both_tie", "both_first", "both_second", "other"):
        with pytest.raises(ValueError, match=f"{name} is -1"):
            SwappedPairs(**{name: -1})


LENGTHS = [
    LengthRow(False, 6, 2, 28),
    LengthRow(False, 7, 4, 26),
    LengthRow(False, 8, 7, 23),
    LengthRow(False, 9, 12, 18),
    LengthRow(True, 6, 22, 8),
    LengthRow(True, 7, 25, 5),
    LengthRow(True, 8, 27, 3),
    LengthRow(True, 9, 29, 1),
]


def ratio(found: OddsRatio | Undefined) -> OddsRatio:
    """An odds ratio that exists."""
    assert isinstance(found, OddsRatio)
    return found


def test_verbosity_is_the_logit_at_equal_label() -> None:
    """Twice the length doubles the odds (statsmodels: .722, error .178); the interval is exp of the ends."""
    found = ratio(verbosity_effect(LENGTHS))
    assert found.coefficient == pytest.approx(0.722346596822739, abs=1e-8)
    assert found.standard_error == pytest.approx(0.178275401931221, abs=1e-8)
    assert found.odds_ratio.value == pytest.approx(math.exp(found.coefficient))
    interval = found.odds_ratio.interval
    assert isinstance(interval, Interval)
    assert interval.lower == pytest.approx(math.exp(found.coefficient - 1.959964 * found.standard_error))
    assert interval.upper == pytest.approx(
        math.exp(found.coefficient + 1.959964 * found.standard_error), rel=1e-5
    )
    assert (interval.method, interval.confidence, interval.sided) == ("logit-wald", 0.95, 2)
    wider = ratio(verbosity_effect(LENGTHS, z=3.0)).odds_ratio.interval
    assert isinstance(wider, Interval)
    assert wider.upper > interval.upper


def test_verbosity_with_one_label_and_with_clusters() -> None:
    """Only failures: the label drops out. The error is robust where every row names a cluster."""
    fails = [row for row in LENGTHS if not row.reference_pass]
    alone = ratio(verbosity_effect(fails))
    plain = fit_logistic([[6, 7, 8, 9]], [2, 4, 7, 12], [28, 26, 23, 18])
    assert not isinstance(plain, Undefined)
    assert (alone.coefficient, alone.standard_error) == pytest.approx(
        (plain.coefficients[1], plain.standard_errors[1])
    )
    named = [
        LengthRow(r.reference_pass, r.log2_length, r.accepted, r.not_accepted, cluster=i)
        for i, r in enumerate(LENGTHS)
    ]
    robust = ratio(verbosity_effect(named))
    assert robust.coefficient == pytest.approx(0.722346596822739, abs=1e-8)
    assert robust.standard_error != pytest.approx(0.178275401931221, abs=1e-4)
    partly = ratio(verbosity_effect([*named[:-1], LENGTHS[-1]]))
    assert partly.standard_error == pytest.approx(0.178275401931221, abs=1e-8)
    # a label that occurs only in empty rows does not enter the model
    with_empty = ratio(verbosity_effect([*fails, LengthRow(True, 7, 0, 0)]))
    assert with_empty.coefficient == pytest.approx(alone.coefficient)


def test_verbosity_that_cannot_be_estimated() -> None:
    """Separated outcomes, one length, and no row are not estimable; bad rows are refused."""
    separated = [LengthRow(False, 6, 0, 9), LengthRow(False, 9, 9, 0)]
    assert isinstance(verbosity_effect(separated), Undefined)
    assert isinstance(verbosity_effect([LengthRow(False, 6, 3, 9), LengthRow(True, 6, 9, 1)]), Undefined)
    assert isinstance(verbosity_effect([]), Undefined)
    with pytest.raises(ValueError, match="log2_length is nan"):
        verbosity_effect([LengthRow(False, math.nan, 1, 1)])
    with pytest.raises(ValueError, match="not_accepted is -1"):
        verbosity_effect([LengthRow(False, 6, 1, -1)])
    with pytest.raises(ValueError, match=r"^accepted is -1"):
        verbosity_effect([LengthRow(False, 6, -1, 1)])


def test_rates_by_length() -> None:
    """240 cases: the third that starts at case 80 begins within length 7, so 6-7, 8, 9."""
    shortest, middle, longest = rates_by_length(LENGTHS)
    assert (shortest.shortest, shortest.longest) == (6, 7)
    assert (middle.shortest, middle.longest) == (8, 8)
    assert (longest.shortest, longest.longest) == (9, 9)
    assert shortest.far == rate(6, 60)
    assert shortest.non_acceptance_among_pass == rate(13, 60)
    assert longest.far == rate(12, 30)
    assert longest.non_acceptance_among_pass == rate(1, 30)


def test_rates_by_length_edges() -> None:
    """One length is one group, no case none; the last group is never passed; bad rows are refused."""
    assert len(rates_by_length([LengthRow(False, 6, 1, 2), LengthRow(True, 6, 1, 2)])) == 1
    assert rates_by_length([]) == ()
    empty = rates_by_length([LengthRow(False, 6, 0, 0)])
    assert isinstance(empty[0].far.estimate, Undefined)
    tail = rates_by_length([LengthRow(False, 6, 3, 0), LengthRow(False, 7, 0, 0)], confidence=0.9)
    assert [(part.shortest, part.far.n) for part in tail] == [(6, 3), (7, 0)]
    assert tail[0].far == rate(3, 3, confidence=0.9)
    passes = rates_by_length([LengthRow(True, 6, 3, 1)], confidence=0.9)
    assert passes[0].non_acceptance_among_pass == rate(1, 4, confidence=0.9)
    single = rates_by_length([LengthRow(False, length, 1, 0) for length in (6, 7, 8)])
    assert [part.longest for part in single] == [6, 7, 8]
    for row, message in (
        (LengthRow(False, math.inf, 1, 1), "log2_length is inf"),
        (LengthRow(False, 6, -1, 1), "accepted is -1"),
        (LengthRow(False, 6, 1, -1), "not_accepted is -1"),
    ):
        with pytest.raises(ValueError, match=message):
            rates_by_length([row])


def family_rows(own_failures: int, other_failures: int) -> list[LengthRow]:
    """Failures and passes of the judge's own family and of others; own failures are accepted more often."""
    return [
        LengthRow(False, 6, own_failures // 3, own_failures - own_failures // 3, own_family=True),
        LengthRow(False, 8, other_failures // 10, other_failures - other_failures // 10),
        LengthRow(True, 6, 20, 5, own_family=True),
        LengthRow(True, 7, 18, 4, own_family=True),
        LengthRow(True, 8, 40, 9),
        LengthRow(True, 6, 30, 7),
    ]


def test_self_preference() -> None:
    """10 of 30 own failures against 4 of 40 of others: Newcombe's interval, and the odds ratio beside it."""
    found = self_preference(family_rows(30, 40))
    assert (found.own.x, found.own.n, found.others.x, found.others.n) == (10, 30, 4, 40)
    assert not isinstance(found.difference, Undefined)
    expected = newcombe_independent(10, 30, 4, 40)
    assert not isinstance(expected, Undefined)
    assert found.difference.value == pytest.approx(expected.value)
    assert isinstance(found.difference.interval, Interval)
    assert isinstance(expected.interval, Interval)
    assert found.difference.interval.upper == pytest.approx(expected.interval.upper)
    rows = family_rows(30, 40)
    fit = fit_logistic(
        [
            [float(r.own_family) for r in rows],
            [r.log2_length for r in rows],
            [float(r.reference_pass) for r in rows],
        ],
        [r.accepted for r in rows],
        [r.not_accepted for r in rows],
    )
    assert not isinstance(fit, Undefined)
    assert ratio(found.adjusted).coefficient == pytest.approx(fit.coefficients[1])


@pytest.mark.parametrize(("own", "others"), [(29, 40), (30, 29)])
def test_self_preference_needs_30_failures_each(own: int, others: int) -> None:
    """29 reference failures on either side are insufficient; the rates are shown all the same."""
    found = self_preference(family_rows(own, others))
    assert isinstance(found.difference, Undefined)
    assert (
        f"insufficient: {own} and {others} reference failures, each family needs 30"
        in found.difference.reason
    )
    assert found.own.n == own
    assert not isinstance(self_preference(family_rows(30, 30)).difference, Undefined)


def test_self_preference_level() -> None:
    """The level reaches the rates and the difference."""
    found = self_preference(family_rows(30, 40), confidence=0.9)
    assert found.own.interval.confidence == pytest.approx(0.9)
    assert found.others.interval.confidence == pytest.approx(0.9)
    adjusted = ratio(found.adjusted).odds_ratio.interval
    assert isinstance(adjusted, Interval)
    assert adjusted.confidence == 0.9
    assert self_preference(family_rows(30, 40), z=1.0).others == rate(4, 40, z=1.0)
    assert not isinstance(found.difference, Undefined)
    assert isinstance(found.difference.interval, Interval)
    assert found.difference.interval.confidence == pytest.approx(0.9)


def test_probe() -> None:
    """12 + 3 of 100 flip; the change of acceptance is paired; nothing probed has no rate."""
    table = PairedTable(30, 3, 12, 55)
    found = probe_effect(table)
    assert found.flipped == rate(15, 100)
    assert found.difference == newcombe_paired(table)
    assert found.p_value == pytest.approx(mcnemar_exact(3, 12))
    by_z, by_level = probe_effect(table, z=1.0), probe_effect(table, confidence=0.8)
    assert by_z.flipped == rate(15, 100, z=1.0)
    assert by_z.difference == newcombe_paired(table, z=1.0)
    assert by_level.flipped == rate(15, 100, confidence=0.8)
    assert by_level.difference == newcombe_paired(table, confidence=0.8)
    empty = probe_effect(PairedTable(0, 0, 0, 0))
    assert isinstance(empty.flipped.estimate, Undefined)
    assert isinstance(empty.difference, Undefined)
