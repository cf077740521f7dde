"""What the errors of raters, and another prevalence, do to the rates of a judge (STATISTICS §7)."""

from __future__ import annotations

from dataclasses import dataclass

from calibration.statistics.checks import require_open_share, require_share
from calibration.values import Interval, Rate, Undefined

ROUNDING = 1e-9
"""A prevalence that differs from 0 or 1 by less is one of them."""


@dataclass(frozen=True, slots=True)
class RaterErrors:
    """How often raters label right, given the truth."""

    detects_fail: float
    """P(rater says fail | truly fail)."""
    passes_pass: float
    """P(rater says pass | truly pass); the small shortfall of this one dominates small FARs."""


def apparent_far(
    *, fail_prevalence: float, true_far: float, true_frr: float, raters: RaterErrors
) -> float | Undefined:
    """The FAR that is measured against raters who err, their errors independent of the judge's.

    (pi se FAR + (1 - pi)(1 - sp)(1 - FRR)) / (pi se + (1 - pi)(1 - sp)); undefined when no case is failed.

    Raises:
        ValueError: for a share outside [0, 1].
    """
    _require_shares(fail_prevalence, true_far, true_frr, raters)
    caught = fail_prevalence * raters.detects_fail
    wronged = (1 - fail_prevalence) * (1 - raters.passes_pass)
    if caught + wronged == 0:
        return Undefined("no case is labelled a failure")
    return (caught * true_far + wronged * (1 - true_frr)) / (caught + wronged)


def _require_shares(prevalence: float, far: float, frr: float, raters: RaterErrors) -> None:
    for name, value in (
        ("a prevalence", prevalence),
        ("FAR", far),
        ("FRR", frr),
        ("detects_fail", raters.detects_fail),
        ("passes_pass", raters.passes_pass),
    ):
        require_share(value, name=name)


@dataclass(frozen=True, slots=True)
class RaterCorrectedFar:
    """FAR against the truth, solved from rates measured against raters with known errors."""

    far: float
    """Clipped to [0, 1]."""
    raw: float
    """Before clipping; outside [0, 1] when the assumed errors do not fit the data."""


def far_given_rater_errors(
    *, measured_far: float, measured_frr: float, labelled_fail_share: float, raters: RaterErrors
) -> RaterCorrectedFar | Undefined:
    """The FAR against the truth, when raters' error rates are known and independent of the judge's errors.

    The acceptance rates among cases labelled fail and labelled pass are mixtures of the two true acceptance
    rates; the mixing shares follow from the rater errors and the share labelled fail. Undefined when the
    raters do not tell pass from fail, when the errors cannot produce the labelled share, or when either label
    never occurs.

    Raises:
        ValueError: for a share outside [0, 1].
    """
    _require_shares(labelled_fail_share, measured_far, measured_frr, raters)
    power = raters.detects_fail + raters.passes_pass - 1
    if power <= 0:
        return Undefined("the raters' errors leave no information: detects_fail + passes_pass must exceed 1")
    prevalence = (labelled_fail_share - (1 - raters.passes_pass)) / power
    if not ROUNDING < prevalence < 1 - ROUNDING or not 0 < labelled_fail_share < 1:
        return Undefined("these rater errors cannot produce the share of cases labelled fail")
    truly_fail = prevalence * raters.detects_fail / labelled_fail_share
    truly_pass = (1 - prevalence) * raters.passes_pass / (1 - labelled_fail_share)
    accepted_pass = 1 - measured_frr
    raw = (truly_pass * measured_far - (1 - truly_fail) * accepted_pass) / (truly_fail + truly_pass - 1)
    return RaterCorrectedFar(min(1.0, max(0.0, raw)), raw)


@dataclass(frozen=True, slots=True)
class RestatedFailures:
    """The share of failures among accepted cases at a declared prevalence."""

    estimate: float | Undefined
    interval: Interval
    """From the ends of both rates, so at least the level of each."""


def failures_among_accepted_at(prevalence: float, far: Rate, non_acceptance: Rate) -> RestatedFailures:
    """Failure among accepted, restated for a declared failure prevalence.

    pi FAR / (pi FAR + (1 - pi)(1 - non-acceptance)); the interval takes both rates at their less and more
    favourable end. The estimate is undefined where a rate is, or where nothing would be accepted.

    Raises:
        ValueError: for a prevalence outside (0, 1).
    """
    require_open_share(prevalence, name="prevalence")

    def share(false: float, missed: float) -> float | Undefined:
        bad, good = prevalence * false, (1 - prevalence) * (1 - missed)
        return bad / (bad + good) if bad + good > 0 else Undefined("nothing is accepted")

    estimate: float | Undefined = Undefined("one of the two rates has no case")
    if not isinstance(far.estimate, Undefined) and not isinstance(non_acceptance.estimate, Undefined):
        estimate = share(far.estimate, non_acceptance.estimate)
    low = share(far.interval.lower, non_acceptance.interval.lower)
    high = share(far.interval.upper, non_acceptance.interval.upper)
    if isinstance(low, Undefined) or isinstance(high, Undefined):
        raise AssertionError("an interval holds more than 'nothing is accepted'")
    return RestatedFailures(estimate, Interval(low, high, far.interval.confidence, 2, "both-ends"))
