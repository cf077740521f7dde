"""What more labels would buy: how likely the gate admits, by the number of reference failures."""

from __future__ import annotations

import math
from dataclasses import dataclass

from calibration.policy import AdmissionPolicy
from calibration.rendering.numbers import fixed, limit_text, percent, whole
from calibration.rendering.reading import Reading
from calibration.statistics.sequential import admission_probability
from labeling_ui.components import Markup
from labeling_ui.review.pages import heading
from labeling_ui.review.tables import grid, row

_GROWTH = (1, 1.5, 2, 3, 4)
_LEAST = 20


@dataclass(frozen=True, slots=True)
class Power:
    """P(the gate admits) for sets of several sizes and judges of several true rates."""

    failures: tuple[int, ...]
    true_fars: tuple[float, ...]
    observed: float | None
    """The rate that was seen, one of `true_fars`; None without a failure."""
    chances: tuple[tuple[float, ...], ...]
    """By number of failures, then by true rate; in [0, 1]."""


def power(reading: Reading, policy: AdmissionPolicy) -> Power:
    """The chances of a fresh set, failures taken as independent, at one look of the policy's level, exact."""
    limit, far = policy.primary.upper_at_most, reading.report.headline
    start = max(far.n, _LEAST)
    failures = tuple(math.ceil(start * factor) for factor in _GROWTH)
    observed = far.x / far.n if far.n else None
    wanted = {0.0, round(limit / 5, 12), round(limit / 2, 12), limit}
    if observed is not None:
        wanted.add(round(observed, 12))
    fars = tuple(sorted(wanted))
    chances = tuple(
        tuple(admission_probability([n], limit=limit, z=policy.z, true_far=rate) for rate in fars)
        for n in failures
    )
    return Power(failures, fars, None if observed is None else round(observed, 12), chances)


def power_table(shown: Power, *, limit: float, clustered: bool) -> Markup:
    """The chances as bars with their numbers."""
    names = [_rate_name(rate, shown, limit) for rate in shown.true_fars]
    rows = [
        row(f"{whole(n)} failures", *(_bar(chance) for chance in chances))
        for n, chances in zip(shown.failures, shown.chances, strict=True)
    ]
    about = (
        "The chance that a fresh set with so many reference failures admits a judge whose true rate is that "
        "of the column: the false-acceptance gate alone, at one look of this policy, exact."
    )
    if clustered:
        about += " Failures are taken as independent here; items that share a prompt buy less."
    return heading("What more labels would buy", under=about) + grid(
        ("Fresh set with", *names), rows, label="Chance of admission"
    )


def _rate_name(rate: float, shown: Power, limit: float) -> str:
    said = percent("0") if rate == 0 else limit_text(round(rate, 3))
    if rate == shown.observed:
        return f"true rate {said}, as seen"
    return f"true rate {said}, the limit" if rate == limit else f"true rate {said}"


def _bar(chance: float) -> Markup:
    bar = Markup('<span class="vd-chance"><i style="width:{}%"></i></span>{}')
    return bar.format(f"{100 * chance:.1f}", _chance_words(chance))


def _chance_words(chance: float) -> str:
    if 0 < chance < 0.01:
        return percent("<1")
    if 0.99 < chance < 1:
        return percent(">99")
    return percent(fixed(100 * chance, 0))
