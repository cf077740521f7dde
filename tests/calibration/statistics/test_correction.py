"""Corrected pass rates, allocation of labels, rater errors, and restated prevalences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.correction import (
    CorrectionMethod,
    JudgeErrors,
    LabelAllocation,
    LabelledPairs,
    allocate_labels,
    choose_correction,
    prediction_powered,
    rogan_gladen,
)
from calibration.statistics.proportions import rate
from calibration.statistics.rater_error import (
    RaterErrors,
    apparent_far,
    failures_among_accepted_at,
    far_given_rater_errors,
)
from calibration.values import Undefined

EXERCISE = JudgeErrors(16, 80, 6, 120)


def test_rogan_gladen_by_hand() -> None:
    """(.7 + .8 - 1)/(.8 + .95 - 1) = 2/3, and the interval of the R and Python references."""
    found = rogan_gladen(700, 1000, EXERCISE)
    assert not isinstance(found, Undefined)
    assert found.estimate == found.raw == pytest.approx(2 / 3)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((0.599409058556, 0.732949380233))
    assert (found.interval.method, found.interval.confidence) == ("lang-reiczigel", 0.95)
    assert (EXERCISE.specificity, EXERCISE.sensitivity) == pytest.approx((0.8, 0.95))
    wide = rogan_gladen(700, 1000, EXERCISE, z=3.0)
    assert not isinstance(wide, Undefined)
    assert wide.interval.lower < found.interval.lower


def test_an_acceptance_below_the_far_is_clipped_and_kept_raw() -> None:
    """Accepting 6 % with a FAR of 12.5 % gives 0, and the raw value stays visible; the mirror gives 1."""
    low = rogan_gladen(12, 200, JudgeErrors(10, 80, 3, 90))
    assert not isinstance(low, Undefined)
    assert low.estimate == 0
    assert low.raw == pytest.approx((0.06 - 0.125) / (1 - 0.125 - 1 / 30))
    assert (low.interval.lower, low.interval.upper) == pytest.approx((0, 0.01360315328346))
    high = rogan_gladen(199, 200, JudgeErrors(0, 80, 9, 90))
    assert not isinstance(high, Undefined)
    assert high.estimate == 1 < high.raw
    assert high.interval.upper == 1


@pytest.mark.parametrize(
    ("accepted", "n", "errors", "reason"),
    [
        (0, 0, EXERCISE, "no judged case"),
        (1, 2, JudgeErrors(0, 0, 0, 5), "no labelled failure"),
        (1, 2, JudgeErrors(0, 5, 0, 0), "no labelled pass"),
        (60, 100, JudgeErrors(30, 50, 25, 50), "FAR + FRR is 1 or more: the judge does not tell"),
        (60, 100, JudgeErrors(25, 50, 25, 50), "FAR + FRR is 1 or more: the judge does not tell"),
        (60, 100, JudgeErrors(0, 1, 800, 1000), "after shrinkage FAR + FRR is 1 or more"),
    ],
)
def test_a_judge_that_does_not_tell_is_refused(
    accepted: int, n: int, errors: JudgeErrors, reason: str
) -> None:
    """FAR + FRR >= 1, exactly 1 included, and missing counts have no corrected rate."""
    found = rogan_gladen(accepted, n, errors)
    assert isinstance(found, Undefined)
    assert reason in found.reason


def test_rogan_gladen_counts() -> None:
    """X > n is refused in each of the three samples."""
    for accepted, n, errors in (
        (3, 2, EXERCISE),
        (1, 2, JudgeErrors(9, 8, 0, 5)),
        (1, 2, JudgeErrors(0, 8, 6, 5)),
    ):
        with pytest.raises(ValueError, match="x counts cases among the n"):
            rogan_gladen(accepted, n, errors)


labelled = st.tuples(*[st.integers(1, 60)] * 4)


@given(labelled, st.integers(1, 300), st.integers(1, 300), st.sampled_from([None, 0.0, 0.4, 1.0]))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_prediction_powered_agrees_with_arrays(
    cells: tuple[int, int, int, int], accepted: int, rejected: int, tuning: float | None
) -> None:
    """Estimate, tuning and error equal those computed from the single cases with numpy."""
    a, b, c, d = cells
    y = np.array([1.0] * (a + b) + [0.0] * (c + d))
    f = np.array([1.0] * a + [0.0] * b + [1.0] * c + [0.0] * d)
    u = np.array([1.0] * accepted + [0.0] * rejected)
    n, size = y.size, u.size
    weight = tuning
    if weight is None:
        pooled = np.concatenate([f, u])
        covariance = float(np.mean((y - y.mean()) * (f - f.mean())))
        weight = min(1.0, max(0.0, covariance / ((1 + n / size) * float(pooled.var(ddof=1)))))
    found = prediction_powered(LabelledPairs(*cells), accepted, size, tuning=tuning)
    assert not isinstance(found, Undefined)
    assert found.tuning == pytest.approx(weight)
    assert found.estimate == pytest.approx(weight * u.mean() + (y - weight * f).mean())
    error = math.sqrt((weight * u).var() / size + (y - weight * f).var() / n)
    assert found.standard_error == pytest.approx(error, abs=1e-12)
    ends = [min(1.0, max(0.0, found.estimate + side * 1.959964 * error)) for side in (-1, 1)]
    assert [found.interval.lower, found.interval.upper] == pytest.approx(ends, abs=1e-6)
    assert (found.interval.method, found.interval.sided) == ("ppi++", 2)


def test_prediction_powered_without_evidence() -> None:
    """Without labelled or unlabelled cases: undefined; a judge that never varies: weight 0."""
    reason = Undefined("no labelled, or no unlabelled, case")
    assert prediction_powered(LabelledPairs(0, 0, 0, 0), 5, 9) == reason
    assert prediction_powered(LabelledPairs(1, 1, 1, 1), 0, 0) == reason
    constant = prediction_powered(LabelledPairs(30, 0, 10, 0), 9, 9, z=1.96)
    assert not isinstance(constant, Undefined)
    assert (constant.tuning, constant.estimate) == (0, 0.75)
    clipped = prediction_powered(LabelledPairs(10, 0, 0, 0), 9, 10, tuning=1.0, confidence=0.5)
    assert not isinstance(clipped, Undefined)
    assert clipped.interval.confidence == 0.5
    perfect = prediction_powered(LabelledPairs(7, 0, 0, 3), 30, 40, tuning=1.0)
    assert not isinstance(perfect, Undefined)
    assert perfect.standard_error == pytest.approx(math.sqrt(0.75 * 0.25 / 40))
    with pytest.raises(ValueError, match="a labelled count is -1"):
        prediction_powered(LabelledPairs(-1, 1, 1, 1), 5, 9)
    with pytest.raises(ValueError, match="x is 10 of n 9"):
        prediction_powered(LabelledPairs(1, 1, 1, 1), 10, 9)
    with pytest.raises(ValueError, match="tuning is 2"):
        prediction_powered(LabelledPairs(1, 1, 1, 1), 5, 9, tuning=2)


@pytest.mark.parametrize(
    ("errors", "random", "method"),
    [
        (JudgeErrors(3, 30, 3, 30), True, CorrectionMethod.PREDICTION_POWERED),
        (JudgeErrors(3, 29, 3, 30), True, CorrectionMethod.LABELS_ONLY),
        (JudgeErrors(3, 30, 3, 29), True, CorrectionMethod.LABELS_ONLY),
        (JudgeErrors(3, 30, 3, 29), False, CorrectionMethod.ROGAN_GLADEN),
        (JudgeErrors(25, 100, 25, 100), True, CorrectionMethod.PREDICTION_POWERED),  # exactly 0.5
        (JudgeErrors(26, 100, 25, 100), True, CorrectionMethod.LABELS_ONLY),
        (JudgeErrors(25, 100, 25, 100), False, CorrectionMethod.ROGAN_GLADEN),
        (JudgeErrors(26, 100, 25, 100), False, None),
        (JudgeErrors(0, 0, 0, 100), False, None),
        (JudgeErrors(0, 0, 0, 100), True, CorrectionMethod.LABELS_ONLY),
        (JudgeErrors(0, 100, 0, 0), True, CorrectionMethod.LABELS_ONLY),
    ],
)
def test_which_estimator(errors: JudgeErrors, random: bool, method: CorrectionMethod | None) -> None:
    """Random labels and 30 of each: PPI++; oversampled: Rogan-Gladen; a weak judge adds nothing."""
    found = choose_correction(errors, labels_are_random_sample=random)
    if method is None:
        assert found == Undefined(
            "the judge is too weak to correct for, and the labels are no random sample of deployment"
        )
    else:
        assert found is method


def test_which_estimator_checks_its_counts() -> None:
    """X > n is refused on both sides."""
    for errors in (JudgeErrors(9, 8, 0, 5), JudgeErrors(0, 8, 6, 5)):
        with pytest.raises(ValueError, match="x counts cases among the n"):
            choose_correction(errors, labels_are_random_sample=True)


def test_labels_go_where_the_variance_is() -> None:
    """At pass rate .7, FAR .2, FRR .05: .7 sqrt(.0475) against .3 sqrt(.16), and no split is better."""
    found = allocate_labels(200, pass_rate=0.7, far=0.2, frr=0.05)
    assert found == LabelAllocation(88, 112)

    def variance(failures: int) -> float:
        return 0.3**2 * 0.16 / failures + 0.7**2 * 0.0475 / (200 - failures)

    assert min(range(1, 200), key=variance) == 88


def test_allocation_edges() -> None:
    """At least one label on each side; no variance on either is undefined; shares and budget are checked."""
    assert allocate_labels(10, pass_rate=0.7, far=0.2, frr=0) == LabelAllocation(9, 1)
    assert allocate_labels(10, pass_rate=0.7, far=0, frr=0.1) == LabelAllocation(1, 9)
    assert allocate_labels(2, pass_rate=0.7, far=0.1, frr=0.1) == LabelAllocation(1, 1)
    flat = allocate_labels(10, pass_rate=0.7, far=0, frr=1)
    assert flat == Undefined("neither side has any variance: every split is as good")
    assert allocate_labels(10, pass_rate=0.5, far=0.1, frr=0.1) == LabelAllocation(5, 5)
    with pytest.raises(ValueError, match=r"^budget is -1; a count"):
        allocate_labels(-1, pass_rate=0.5, far=0.1, frr=0.1)
    with pytest.raises(ValueError, match="budget is 1; give at least 2 labels"):
        allocate_labels(1, pass_rate=0.7, far=0.1, frr=0.1)
    for name in ("pass_rate", "far", "frr"):
        with pytest.raises(ValueError, match=f"{name} is 7"):
            allocate_labels(10, **{"pass_rate": 0.5, "far": 0.1, "frr": 0.1, name: 7})


@pytest.mark.parametrize(
    ("prevalence", "far", "se", "sp", "percent"),
    [
        (0.05, 0, 1, 0.99, 15.2),
        (0.05, 0, 1, 0.98, 26.2),
        (0.05, 0, 1, 0.95, 46.3),
        (0.05, 0.05, 0.98, 0.995, 13.0),
        (0.10, 0, 1, 0.99, 7.8),
        (0.10, 0.05, 0.98, 0.995, 9.0),
        (0.20, 0, 1, 0.99, 3.7),
        (0.20, 0.05, 0.98, 0.995, 6.8),
        (0.50, 0, 1, 0.95, 4.5),
        (0.50, 0.05, 0.98, 0.995, 5.5),
    ],
)
def test_raters_who_fail_good_outputs_make_a_perfect_judge_look_bad(
    prevalence: float, far: float, se: float, sp: float, percent: float
) -> None:
    """The table of STATISTICS §7: apparent FAR in percent, FRR .05."""
    found = apparent_far(fail_prevalence=prevalence, true_far=far, true_frr=0.05, raters=RaterErrors(se, sp))
    assert not isinstance(found, Undefined)
    assert 100 * found == pytest.approx(percent, abs=0.0501)


def test_apparent_far_without_a_label_and_bad_shares() -> None:
    """Raters who never say fail leave no FAR; each share is checked."""
    none = apparent_far(fail_prevalence=0, true_far=0.1, true_frr=0.1, raters=RaterErrors(1, 1))
    assert none == Undefined("no case is labelled a failure")
    for prevalence, far, frr, se, sp, message in (
        (7, 0, 0, 1, 1, "a prevalence is 7"),
        (0.5, 7, 0, 1, 1, "FAR is 7"),
        (0.5, 0, 7, 1, 1, "FRR is 7"),
        (0.5, 0, 0, 7, 1, "detects_fail is 7"),
        (0.5, 0, 0, 1, 7, "passes_pass is 7"),
    ):
        with pytest.raises(ValueError, match=message):
            apparent_far(fail_prevalence=prevalence, true_far=far, true_frr=frr, raters=RaterErrors(se, sp))


@given(st.floats(0.05, 0.9), st.floats(0, 1), st.floats(0, 1), st.floats(0.8, 1), st.floats(0.8, 1))
@settings(max_examples=80, derandomize=True, deadline=None)
def test_rater_errors_can_be_undone(pi: float, far: float, frr: float, se: float, sp: float) -> None:
    """From the rates that such raters would measure the true FAR comes back."""
    raters = RaterErrors(se, sp)
    share = pi * se + (1 - pi) * (1 - sp)
    measured_far = apparent_far(fail_prevalence=pi, true_far=far, true_frr=frr, raters=raters)
    assert not isinstance(measured_far, Undefined)
    # among cases labelled pass: not accepted are true passes missed and true failures caught
    measured_frr = ((1 - pi) * sp * frr + pi * (1 - se) * (1 - far)) / (1 - share)
    found = far_given_rater_errors(
        measured_far=min(1, measured_far),
        measured_frr=min(1, measured_frr),
        labelled_fail_share=share,
        raters=raters,
    )
    assert not isinstance(found, Undefined)
    assert found.far == pytest.approx(far, abs=1e-6)


def test_rater_errors_that_cannot_be_undone() -> None:
    """Raters who guess, and errors beyond the labelled share, have no answer; a misfit is clipped."""

    def corrected(share: float, se: float, sp: float, far: float = 0.1) -> object:
        return far_given_rater_errors(
            measured_far=far, measured_frr=0.1, labelled_fail_share=share, raters=RaterErrors(se, sp)
        )

    assert corrected(0.3, 0.5, 0.5) == Undefined(
        "the raters' errors leave no information: detects_fail + passes_pass must exceed 1"
    )
    assert corrected(0.05, 1, 0.9) == Undefined(
        "these rater errors cannot produce the share of cases labelled fail"
    )
    assert isinstance(corrected(0.1, 1, 0.9), Undefined)  # exactly the false alarms: prevalence 0
    assert isinstance(corrected(1, 1, 1), Undefined)
    assert isinstance(corrected(0.99, 0.9, 1), Undefined)  # more than all failures would give
    misfit = far_given_rater_errors(
        measured_far=0.01, measured_frr=0.1, labelled_fail_share=0.2, raters=RaterErrors(1, 0.9)
    )
    assert not isinstance(misfit, Undefined)
    assert misfit.raw < 0
    assert misfit.far == 0


def test_failures_among_accepted_at_another_prevalence() -> None:
    """FAR 20 %, cost 5 %: at the set's 40 % failures .123; at 5 % in deployment .011 with both ends."""
    far, cost = rate(16, 80), rate(6, 120)
    found = failures_among_accepted_at(0.4, far, cost)
    assert found.estimate == pytest.approx(16 / 130)
    rare = failures_among_accepted_at(0.05, far, cost)
    assert rare.estimate == pytest.approx(0.05 * 0.2 / (0.05 * 0.2 + 0.95 * 0.95))
    low = 0.05 * far.interval.lower / (0.05 * far.interval.lower + 0.95 * (1 - cost.interval.lower))
    high = 0.05 * far.interval.upper / (0.05 * far.interval.upper + 0.95 * (1 - cost.interval.upper))
    assert (rare.interval.lower, rare.interval.upper) == pytest.approx((low, high))
    assert rare.interval.method == "both-ends"
    assert rare.interval.confidence == pytest.approx(0.95)


def test_failures_among_accepted_without_an_acceptance() -> None:
    """Nothing accepted, or an unknown rate, has no share; a prevalence of 0 or 1 is refused."""
    nothing = failures_among_accepted_at(0.2, rate(0, 9), rate(9, 9))
    assert nothing.estimate == Undefined("nothing is accepted")
    assert (nothing.interval.lower, nothing.interval.upper) == (0, 1)
    for far, cost in ((rate(0, 0), rate(1, 9)), (rate(1, 9), rate(0, 0))):
        found = failures_among_accepted_at(0.2, far, cost)
        assert found.estimate == Undefined("one of the two rates has no case")
    assert nothing.interval.sided == 2
    for prevalence in (0, 1):
        with pytest.raises(ValueError, match="prevalence is"):
            failures_among_accepted_at(prevalence, rate(1, 9), rate(1, 9))
