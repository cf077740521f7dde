"""Rates with every outcome in a denominator: by enumeration, by hand, by group, and over whole rubrics."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, f1_score, matthews_corrcoef, precision_score

from calibration.evidence import VerdictRow, VerdictTable
from calibration.statistics.error_rates import (
    GroupStatus,
    classification,
    far_bounds,
    far_by_group,
    judge_rates,
    resolution_bounds,
    whole_rubric_case,
)
from calibration.statistics.proportions import rate
from calibration.values import Undefined
from rubrics.verdict import FAIL, PASS, Outcome, UnknownReason, Verdict, unknown

rows = st.builds(
    VerdictRow,
    accepted=st.integers(0, 3),
    rejected=st.integers(0, 2),
    abstained=st.integers(0, 1),
    invalid=st.integers(0, 1),
    inconsistent=st.integers(0, 1),
    pending=st.integers(0, 1),
    missing=st.integers(0, 1),
    error=st.integers(0, 1),
)


def extremes(table: VerdictTable, *, every_unknown: bool) -> tuple[float | None, float | None]:
    """Lowest and highest FAR over every way to resolve every open item, by enumeration of counts."""
    kinds = []
    for row, reference_open in ((table.fail, False), (table.unresolved, True)):
        free = row.open + (row.final_unknown if every_unknown else 0)
        fixed = row.rejected + (0 if every_unknown else row.final_unknown)
        kinds.append((row.accepted, free, fixed, reference_open))
    (a, free, fixed, _), (ua, ufree, ufixed, _) = kinds
    found = []
    for accepted_free, became in product(range(free + 1), product(range(ua + 1), range(ufixed + 1))):
        for failed_free in range(ufree + 1):
            for accepted_of_them in range(failed_free + 1):
                n = a + free + fixed + sum(became) + failed_free
                if n:
                    found.append((a + accepted_free + became[0] + accepted_of_them) / n)
    return (min(found), max(found)) if found else (None, None)


@given(rows, rows, rows, st.booleans())
@settings(max_examples=120, derandomize=True, deadline=None)
def test_bounds_are_the_exact_extremes(
    fail: VerdictRow, passing: VerdictRow, unresolved: VerdictRow, every_unknown: bool
) -> None:
    """Low and high equal the extremes over all resolutions, where both denominators exist."""
    table = VerdictTable.model_validate({"fail": fail, "pass": passing, "unresolved": unresolved})
    bounds = far_bounds(table, every_unknown=every_unknown)
    low, high = extremes(table, every_unknown=every_unknown)
    if not isinstance(bounds.low, Undefined) and fail.total:
        assert bounds.low == pytest.approx(low)
    if not isinstance(bounds.high, Undefined) and fail.total:
        assert bounds.high == pytest.approx(high)
    if not fail.total and not unresolved.total:
        assert isinstance(bounds.low, Undefined)
        assert isinstance(bounds.high, Undefined)


TABLE = VerdictTable.model_validate(
    {
        "fail": VerdictRow(
            accepted=4, rejected=30, abstained=3, invalid=2, inconsistent=1, pending=2, missing=1, error=1
        ),
        "pass": VerdictRow(accepted=80, rejected=9, abstained=4, invalid=2, error=1),
        "unresolved": VerdictRow(accepted=3, rejected=5, abstained=1, pending=1),
    }
)


def test_rates_by_hand() -> None:
    """44 failures, 96 passes, 10 unresolved: each rate with its numerator and denominator."""
    rates = judge_rates(TABLE)
    counts = {
        "far": (4, 44),
        "far_open_as_accepted": (8, 44),
        "far_decided": (4, 34),
        "frr": (9, 96),
        "non_acceptance_among_pass": (16, 96),
        "failure_among_accepted": (4, 84),
        "abstention": (8, 150),
        "coverage": (4 + 30 + 80 + 9 + 3 + 5, 150),
    }
    for name, (x, n) in counts.items():
        found = getattr(rates, name)
        assert (name, found.x, found.n) == (name, x, n)
    assert (rates.far_bounds.low, rates.far_bounds.high) == pytest.approx((4 / 51, 12 / 48))
    every = rates.far_bounds_all_unknown
    assert (every.low, every.high) == pytest.approx((4 / 51, 19 / 49))


def test_rates_at_another_level() -> None:
    """An explicit z and a confidence reach every interval."""
    assert judge_rates(TABLE, z=1.0).far.interval.confidence == pytest.approx(0.6827, abs=1e-4)
    assert judge_rates(TABLE, confidence=0.9).coverage.interval.confidence == 0.9


def test_an_empty_table_has_no_rate() -> None:
    """No case: every estimate and bound is undefined, no interval looks good."""
    rates = judge_rates(VerdictTable())
    assert isinstance(rates.far.estimate, Undefined)
    assert (rates.far.interval.lower, rates.far.interval.upper) == (0, 1)
    assert rates.far_bounds.low == Undefined("no case in the denominator")
    assert isinstance(rates.far_bounds_all_unknown.high, Undefined)


def test_resolution_bounds() -> None:
    """34 accepted, 10 failed, 6 unresolved: .68 to .80; nothing is undefined; negatives are refused."""
    found = resolution_bounds(34, 10, 6)
    assert (found.low, found.high) == (0.68, 0.8)
    assert isinstance(resolution_bounds(0, 0, 0).low, Undefined)
    for place, name in enumerate(("accepted", "failed", "unresolved")):
        counts = [0, 0, 0]
        counts[place] = -1
        with pytest.raises(ValueError, match=f"^{name} is -1; a count"):
            resolution_bounds(*counts)


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20), st.integers(1, 20))
@settings(max_examples=30, derandomize=True, deadline=None)
def test_classification_agrees_with_scikit_learn(tp: int, fn: int, fp: int, tn: int) -> None:
    """Precision, F1, balanced accuracy and MCC equal scikit-learn's."""
    truth = [1] * (tp + fn) + [0] * (fp + tn)
    said = [1] * tp + [0] * fn + [1] * fp + [0] * tn
    found = classification(tp=tp, fn=fn, fp=fp, tn=tn)
    assert found.precision == pytest.approx(precision_score(truth, said))
    assert found.f1 == pytest.approx(f1_score(truth, said))
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(truth, said))
    assert found.mcc == pytest.approx(matthews_corrcoef(truth, said))
    assert found.far == pytest.approx(fp / (fp + tn))
    assert found.frr == pytest.approx(fn / (fn + tp))


def test_classification_of_a_single_class() -> None:
    """Only passes: no FAR, no balanced accuracy, no MCC; a judge that accepts nothing has no precision."""
    passes = classification(tp=5, fn=2, fp=0, tn=0)
    assert isinstance(passes.far, Undefined)
    assert passes.balanced_accuracy == Undefined("one reference class is empty")
    assert passes.mcc == Undefined("a margin of the table is empty")
    assert passes.precision == 1
    fails = classification(tp=0, fn=0, fp=1, tn=3)
    assert isinstance(fails.frr, Undefined)
    assert isinstance(fails.balanced_accuracy, Undefined)
    silent = classification(tp=0, fn=2, fp=0, tn=3)
    assert isinstance(silent.precision, Undefined)
    assert silent.f1 == 0
    assert isinstance(classification(tp=0, fn=0, fp=0, tn=3).f1, Undefined)
    for name in ("tp", "fn", "fp", "tn"):
        with pytest.raises(ValueError, match=f"{name} is -1"):
            classification(**{"tp": 1, "fn": 1, "fp": 1, "tn": 1, name: -1})


ABSTAINED, PENDING, MISSING = (unknown(reason) for reason in ("abstained", "pending", "missing"))


@pytest.mark.parametrize(
    ("parts", "outcome"),
    [
        ([PASS, PASS], PASS),
        ([PASS, FAIL, ABSTAINED], FAIL),
        ([PENDING, FAIL], FAIL),
        ([PASS, ABSTAINED], ABSTAINED),
        ([PENDING, PASS], PENDING),
        ([PENDING, ABSTAINED], ABSTAINED),  # can no longer become a pass
        ([MISSING, PENDING], PENDING),
        ([unknown("error"), MISSING], MISSING),
        ([unknown("inconsistent"), unknown("invalid")], unknown("invalid")),
        ([], MISSING),
    ],
)
def test_a_whole_rubric_is_a_judge_of_its_own(parts: list[Outcome], outcome: Outcome) -> None:
    """The four-verdict rule over the judge's verdicts; a final unknown outlasts an open one."""
    named = {f"c{i}": part for i, part in enumerate(parts)}
    found = whole_rubric_case(named, {}, required=list(named))
    assert found.outcome == outcome


@pytest.mark.parametrize(
    ("references", "expected"),
    [
        ([Verdict.PASS, Verdict.PASS], Verdict.PASS),
        ([Verdict.PASS, Verdict.FAIL], Verdict.FAIL),
        ([Verdict.UNKNOWN, Verdict.FAIL], Verdict.FAIL),
        ([Verdict.UNKNOWN, Verdict.PASS], Verdict.UNKNOWN),
        ([Verdict.PENDING, Verdict.PASS], Verdict.UNKNOWN),
        ([], Verdict.UNKNOWN),
    ],
)
def test_whole_rubric_reference(references: list[Verdict], expected: Verdict) -> None:
    """One failed criterion fails the item, one unresolved leaves it unresolved."""
    named = {f"c{i}": verdict for i, verdict in enumerate(references)}
    assert whole_rubric_case({}, named, required=list(named)).reference is expected


def test_whole_rubric_ignores_what_is_not_required_and_misses_what_is() -> None:
    """A diagnostic criterion does not count; a required one without a verdict is missing, hence open."""
    outcomes = {"a": PASS, "diagnostic": FAIL}
    references = {"a": Verdict.PASS, "diagnostic": Verdict.FAIL}
    found = whole_rubric_case(outcomes, references, required=["a"])
    assert (found.outcome, found.reference) == (PASS, Verdict.PASS)
    lacking = whole_rubric_case(outcomes, references, required=["a", "b"])
    assert lacking.outcome.reason is UnknownReason.MISSING
    assert lacking.reference is Verdict.UNKNOWN


def test_admitted_criteria_do_not_admit_their_conjunction() -> None:
    """Of 20 items that each fail one of two criteria, a judge wrong on one of each accepts 2 as a whole."""
    accepted = 0
    for i in range(20):
        criterion, other = ("a", "b") if i % 2 else ("b", "a")
        wrong = i in (0, 1)
        outcomes = {criterion: PASS if wrong else FAIL, other: PASS}
        references = {criterion: Verdict.FAIL, other: Verdict.PASS}
        found = whole_rubric_case(outcomes, references, required=["a", "b"])
        assert found.reference is Verdict.FAIL
        accepted += found.outcome.accepted
    assert accepted == 2


def test_groups_have_their_own_status() -> None:
    """Slices below the minimum are not assessed; one may be above the limit while the whole is not."""
    groups = [["a"]] * 60 + [["b"]] * 40 + [["c", "a"]] * 5 + [[]] * 7
    accepted = [False] * 60 + [True] * 20 + [False] * 20 + [True] * 5 + [True] * 7
    found = far_by_group(groups, accepted, limits=0.2, z=1.96)
    assert [(g.group, g.far.x, g.far.n, g.status) for g in found] == [
        ("a", 5, 65, GroupStatus.WITHIN_LIMIT),
        ("b", 20, 40, GroupStatus.ABOVE_LIMIT),
        ("c", 5, 5, GroupStatus.NOT_ASSESSED),
    ]
    assert {g.limit for g in found} == {0.2}
    by_z = far_by_group([["a"]] * 30, [True] * 30, limits=0.1, z=1.0)
    assert by_z[0].far == rate(30, 30, z=1.0)


def test_severity_levels_have_their_own_limits() -> None:
    """The same rate is within the limit of minor failures and undecided against that of severe ones."""
    levels = [["minor"]] * 60 + [["severe"]] * 60
    found = far_by_group(
        levels, [False] * 120, limits={"minor": 0.1, "severe": 0.02}, z=1.96, min_failures=60
    )
    assert {g.group: g.status for g in found} == {
        "minor": GroupStatus.WITHIN_LIMIT,
        "severe": GroupStatus.UNDECIDED,
    }
    assert {g.group: g.limit for g in found} == {"minor": 0.1, "severe": 0.02}
    for n, status in ((20, GroupStatus.UNDECIDED), (19, GroupStatus.NOT_ASSESSED)):
        assert far_by_group([["a"]] * n, [False] * n, limits=0.1, z=1.96)[0].status is status
    short = far_by_group(levels, [False] * 120, limits=0.1, z=1.96, min_failures=61)
    assert {g.status for g in short} == {GroupStatus.NOT_ASSESSED}


def test_a_group_named_twice_counts_once_and_needs_a_limit() -> None:
    """A repeated mode is one failure; an undeclared group and unequal lengths are refused."""
    found = far_by_group([["a", "a"]] * 30, [True] * 30, limits=0.1, z=1.96)
    assert found[0].far.n == 30
    assert far_by_group([], [], limits=0.1, z=1.96) == ()
    with pytest.raises(ValueError, match=r"group 'a' has no limit; limits are declared for \['b'\]"):
        far_by_group([["a"]], [True], limits={"b": 0.1}, z=1.96)
    with pytest.raises(ValueError, match="groups and accepted have 1 and 2 entries"):
        far_by_group([["a"]], [True, False], limits=0.1, z=1.96)
