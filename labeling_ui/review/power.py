"""What more labels would buy: how likely the gate admits, by the number of reference failures."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
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
_ENOUGH = 0.80
_SAID = {"failures": "reference failures", "pairs": "pairs with a preferred side"}
_STEPS = 41
"""Sizes of a set that the picture shows, evenly from the present one to the largest of the table."""


@dataclass(frozen=True, slots=True)
class Power:
    """P(the gate admits) for sets of several sizes and judges of several true rates."""

    failures: tuple[int, ...]
    true_fars: tuple[float, ...]
    observed: float | None
    """The rate that was seen, one of `true_fars`; None without a failure."""
    chances: tuple[tuple[float, ...], ...]
    """By number of failures, then by true rate; in [0, 1]."""
    counted: str = "failures"
    """What a set is counted in: failures, or pairs with a preferred side."""
    curve_sizes: tuple[int, ...] = ()
    curves: tuple[tuple[float, ...], ...] = ()
    """By true rate, then by size: the same between the numbers of the table."""


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
    span = failures[-1] - failures[0]
    sizes = tuple(dict.fromkeys(failures[0] + round(span * k / (_STEPS - 1)) for k in range(_STEPS)))

    def chance(n: int, rate: float) -> float:
        return _chance(n, limit, policy.z, rate)

    return Power(
        failures,
        fars,
        None if observed is None else round(observed, 12),
        tuple(tuple(chance(n, rate) for rate in fars) for n in failures),
        "pairs" if reading.pairs else "failures",
        sizes,
        tuple(tuple(chance(n, rate) for n in sizes) for rate in fars),
    )


@functools.lru_cache(maxsize=10_000)
def _chance(n: int, limit: float, z: float, rate: float) -> float:
    """One of the two hundred numbers of a picture, which is drawn again at every press on the page."""
    return admission_probability([n], limit=limit, z=z, true_far=rate)


def power_table(shown: Power, *, limit: float, clustered: bool) -> Markup:
    """The chances as bars with their numbers."""
    names = [_rate_name(rate, shown, limit) for rate in shown.true_fars]
    rows = [
        row(f"{whole(n)} {shown.counted}", *(_bar(chance) for chance in chances))
        for n, chances in zip(shown.failures, shown.chances, strict=True)
    ]
    about = (
        f"The chance that a fresh set with so many {_SAID[shown.counted]} admits a judge whose true rate is "
        "that of the column: the gate alone, at one look of this policy, exact."
    )
    if clustered:
        about += " They are taken as independent here; items that share a prompt buy less."
    return (
        heading("What more labels would buy", under=about)
        + power_picture(shown, names)
        + grid(("Fresh set with", *names), rows, label="Chance of admission")
    )


def power_picture(shown: Power, names: Sequence[str]) -> Markup:
    """The chances by size, one small picture for each true rate; in words for who cannot see it."""
    drawn = [_curve(name, shown, curve) for name, curve in zip(names, shown.curves, strict=True)]
    return Markup('<div class="vd-curves">{}</div>').format(Markup("").join(drawn))


def _curve(name: str, shown: Power, curve: Sequence[float]) -> Markup:
    """Bars that rise with the chance, the present size at the left, a line at four in five."""
    sizes = shown.curve_sizes
    bars = Markup("").join(Markup('<i style="height:{}%"></i>').format(f"{100 * each:.1f}") for each in curve)
    first, last = whole(sizes[0]), whole(sizes[-1])
    short = [place for place, each in enumerate(curve) if each < _ENOUGH]
    first_safe = short[-1] + 1 if short else 0  # the chance is a saw: from here on no size falls short again
    held = first_safe < len(sizes)
    needs = f"80 % from about {whole(sizes[first_safe])} on" if held else "80 % is not reached"
    low, high = _chance_words(curve[0]), _chance_words(curve[-1])
    words = f"{name}: {low} with {first} {shown.counted}, {high} with {last}; {needs}"
    return Markup(
        '<div class="vd-curve"><div class="vd-curve-name">{}</div>'
        '<div class="vd-curve-plot" role="img" aria-label="{}"><em class="vd-enough"></em>{}</div>'
        '<div class="vd-curve-axis"><span>{}</span><span>{}</span></div><div class="vd-sub">{}</div></div>'
    ).format(name, words, bars, first, last, needs)


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
