"""Pass rates of a deployment, corrected for the errors of the judge that judged it (STATISTICS §5)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from calibration.statistics.checks import require_part, require_share, require_whole
from calibration.statistics.proportions import level_of
from calibration.values import Interval, Undefined

WEAK_JUDGE = 0.5
"""Below this value of 1 - FAR - non-acceptance the judge adds nothing to the labels."""
MIN_LABELS_EACH = 30


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """The pass rate of a deployment judged by a judge with known errors."""

    estimate: float
    """In [0, 1]."""
    raw: float
    """Before clipping to [0, 1]; below 0 when the judge accepts less than its own FAR."""
    interval: Interval
    """Lang-Reiczigel, clipped to [0, 1]."""


@dataclass(frozen=True, slots=True)
class JudgeErrors:
    """The labelled cases that a judge's errors were measured on."""

    false_accepts: int
    failures: int
    non_acceptances: int
    passes: int

    @property
    def specificity(self) -> float:
        """1 - FAR."""
        return 1 - self.false_accepts / self.failures

    @property
    def sensitivity(self) -> float:
        """1 - non-acceptance among passes."""
        return 1 - self.non_acceptances / self.passes


def rogan_gladen(
    accepted: int, n: int, errors: JudgeErrors, *, confidence: float = 0.95, z: float | None = None
) -> CorrectedRate | Undefined:
    """The corrected pass rate (p + q0 - 1) / (q0 + q1 - 1); p = accepted / n, q0 = 1 - FAR, q1 = 1 - FRR.

    It needs only FAR and FRR to transport from the calibration set to the deployment, not its mix. Undefined
    without a judged case, a labelled failure or a labelled pass, and when FAR + FRR >= 1 (the judge does not
    tell passes from failures), also after the interval's shrinkage.

    Args:
        accepted: deployment cases that the judge accepted.
        n: deployment cases that it judged; unknown verdicts are in n, as not accepted.
        errors: counts that FAR and FRR rest on.
        confidence: level in (0, 1) of the two-sided interval.
        z: explicit quantile instead of the level.

    Raises:
        ValueError: for a bad count or x > n.

    Source: Rogan, Gladen 1978; interval: Lang, Reiczigel 2014.
    """
    require_part(require_whole(accepted, name="accepted"), require_whole(n, name="n"))
    require_part(errors.false_accepts, errors.failures)
    require_part(errors.non_acceptances, errors.passes)
    level = level_of(confidence, 2, z)
    if n == 0 or errors.failures == 0 or errors.passes == 0:
        return Undefined("no judged case, no labelled failure, or no labelled pass")
    p, q0, q1 = accepted / n, errors.specificity, errors.sensitivity
    caught = (errors.failures - errors.false_accepts) * errors.passes
    kept = (errors.passes - errors.non_acceptances) * errors.failures
    if caught + kept <= errors.failures * errors.passes:
        return Undefined("FAR + FRR is 1 or more: the judge does not tell passes from failures")
    ends = _lang_reiczigel(p, n, errors, level.z)
    if ends is None:
        return Undefined("too few labels: after shrinkage FAR + FRR is 1 or more")
    raw = (p + q0 - 1) / (q0 + q1 - 1)
    lower, upper = (_clip(end) for end in ends)
    return CorrectedRate(_clip(raw), raw, Interval(lower, upper, level.confidence, 2, "lang-reiczigel"))


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


def _lang_reiczigel(p: float, n: int, errors: JudgeErrors, z: float) -> tuple[float, float] | None:
    """Lang, Reiczigel 2014, equations 4 to 7: shrunken rates, shifted centre."""
    size = n + z * z
    rate = (n * p + z * z / 2) / size
    size0, size1 = errors.failures + 2, errors.passes + 2
    q0 = (errors.failures - errors.false_accepts + 1) / size0
    q1 = (errors.passes - errors.non_acceptances + 1) / size1
    youden = q0 + q1 - 1
    if youden <= 0:
        return None
    theta = (rate + q0 - 1) / youden
    noise0, noise1 = q0 * (1 - q0) / size0, q1 * (1 - q1) / size1
    shift = 2 * z * z * (theta * noise1 - (1 - theta) * noise0)
    spread = math.sqrt(rate * (1 - rate) / size + theta**2 * noise1 + (1 - theta) ** 2 * noise0) / youden
    return theta + shift - z * spread, theta + shift + z * spread


@dataclass(frozen=True, slots=True)
class LabelledPairs:
    """A random sample of deployment with both a reference label and a judge's verdict."""

    pass_accepted: int
    pass_not_accepted: int
    fail_accepted: int
    fail_not_accepted: int

    @property
    def n(self) -> int:
        """All labelled cases."""
        return self.pass_accepted + self.pass_not_accepted + self.fail_accepted + self.fail_not_accepted


@dataclass(frozen=True, slots=True)
class PredictionPowered:
    """The pass rate from labels, sharpened by the judge's verdicts on unlabelled cases."""

    estimate: float
    standard_error: float
    tuning: float
    """Weight of the judge in [0, 1]; 0 means that only the labels speak."""
    interval: Interval
    """Normal, clipped to [0, 1]."""


def prediction_powered(
    labelled: LabelledPairs,
    unlabelled_accepted: int,
    unlabelled_n: int,
    *,
    tuning: float | None = None,
    confidence: float = 0.95,
    z: float | None = None,
) -> PredictionPowered | Undefined:
    """The PPI++ pass rate: labels plus tuning times (judge on unlabelled minus judge on labelled).

    Valid only when the labelled cases are a random sample of the deployment: with a set that oversamples
    failures its nominal 95 % interval covered 9 to 21 %. Undefined without labelled or unlabelled cases.

    Args:
        labelled: counts of reference by verdict.
        unlabelled_accepted: unlabelled cases that the judge accepted.
        unlabelled_n: unlabelled cases that it judged.
        tuning: weight of the judge in [0, 1]; by default the one that minimises the variance.
        confidence: level in (0, 1) of the two-sided interval.
        z: explicit quantile instead of the level.

    Raises:
        ValueError: for a bad count, x > n, or a tuning outside [0, 1].

    Source: Angelopoulos, Duchi, Zrnic 2023 (PPI++), mean with power tuning, as ppi-python 0.2.3 computes it.
    """
    counts = (
        labelled.pass_accepted,
        labelled.pass_not_accepted,
        labelled.fail_accepted,
        labelled.fail_not_accepted,
    )
    for count in counts:
        require_whole(count, name="a labelled count")
    require_part(require_whole(unlabelled_accepted, name="unlabelled_accepted"), unlabelled_n)
    level = level_of(confidence, 2, z)
    n, size = labelled.n, unlabelled_n
    if n == 0 or size == 0:
        return Undefined("no labelled, or no unlabelled, case")
    weight = _best_tuning(labelled, unlabelled_accepted, size) if tuning is None else tuning
    require_share(weight, name="tuning")
    passing = (labelled.pass_accepted + labelled.pass_not_accepted) / n
    accepted = (labelled.pass_accepted + labelled.fail_accepted) / n
    judged = unlabelled_accepted / size
    estimate = weight * judged + passing - weight * accepted
    squares = labelled.pass_accepted * (1 - weight) ** 2 + labelled.pass_not_accepted
    squares += labelled.fail_accepted * weight**2
    rectifier = max(0.0, squares / n - (passing - weight * accepted) ** 2)
    error = math.sqrt(weight**2 * judged * (1 - judged) / size + rectifier / n)
    interval = Interval(
        _clip(estimate - level.z * error), _clip(estimate + level.z * error), level.confidence, 2, "ppi++"
    )
    return PredictionPowered(estimate, error, weight, interval)


def _best_tuning(labelled: LabelledPairs, unlabelled_accepted: int, unlabelled_n: int) -> float:
    """cov(label, verdict) / ((1 + n/N) var(verdict)), clipped to [0, 1]; 0 for a judge that never varies."""
    n = labelled.n
    passing = (labelled.pass_accepted + labelled.pass_not_accepted) / n
    accepted = labelled.pass_accepted + labelled.fail_accepted
    covariance = labelled.pass_accepted / n - passing * accepted / n
    pooled = n + unlabelled_n
    share = (accepted + unlabelled_accepted) / pooled
    variance = share * (1 - share) * pooled / (pooled - 1)
    return _clip(covariance / ((1 + n / unlabelled_n) * variance)) if variance else 0.0


class CorrectionMethod(StrEnum):
    """Which estimator of a pass rate the evidence allows."""

    PREDICTION_POWERED = "ppi++"
    ROGAN_GLADEN = "rogan_gladen"
    LABELS_ONLY = "labels_only"


def choose_correction(errors: JudgeErrors, *, labels_are_random_sample: bool) -> CorrectionMethod | Undefined:
    """The estimator that STATISTICS §5 prescribes for this evidence.

    A random labelled sample of deployment with at least 30 labels of each kind allows PPI++; a set drawn in
    another way (failures oversampled) needs Rogan-Gladen; a judge with 1 - FAR - FRR < 0.5 adds nothing, so
    only the labels speak, which a set that is no random sample cannot do: undefined.

    Raises:
        ValueError: for a bad count.
    """
    require_part(errors.false_accepts, errors.failures)
    require_part(errors.non_acceptances, errors.passes)
    if errors.failures == 0 or errors.passes == 0:
        known_weak = True
    else:
        known_weak = errors.specificity + errors.sensitivity - 1 < WEAK_JUDGE
    if labels_are_random_sample:
        enough = min(errors.failures, errors.passes) >= MIN_LABELS_EACH
        return (
            CorrectionMethod.PREDICTION_POWERED if enough and not known_weak else CorrectionMethod.LABELS_ONLY
        )
    if known_weak:
        return Undefined(
            "the judge is too weak to correct for, and the labels are no random sample of deployment"
        )
    return CorrectionMethod.ROGAN_GLADEN


@dataclass(frozen=True, slots=True)
class LabelAllocation:
    """How to split a budget of labels between reference failures and passes."""

    failures: int
    passes: int


def allocate_labels(budget: int, *, pass_rate: float, far: float, frr: float) -> LabelAllocation | Undefined:
    """The split of a label budget that makes the corrected pass rate most precise.

    passes : failures = theta sqrt(FRR (1 - FRR)) : (1 - theta) sqrt(FAR (1 - FAR)), at least one of each. It
    is undefined when both products are 0.

    Raises:
        ValueError: for a budget below 2 or a share outside [0, 1].
    """
    if require_whole(budget, name="budget") < 2:
        raise ValueError(f"budget is {budget!r}; give at least 2 labels, one a reference class")
    for name, value in (("pass_rate", pass_rate), ("far", far), ("frr", frr)):
        require_share(value, name=name)
    on_passes = pass_rate * math.sqrt(frr * (1 - frr))
    on_failures = (1 - pass_rate) * math.sqrt(far * (1 - far))
    if on_passes + on_failures == 0:
        return Undefined("neither side has any variance: every split is as good")
    passes = min(budget - 1, max(1, round(budget * on_passes / (on_passes + on_failures))))
    return LabelAllocation(budget - passes, passes)
