"""Where an interval, its estimate and the limit lie on a scale; drawn by the page and by the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from calibration.evidence import RateFigure
from calibration.rendering.numbers import limit_text, percent, plain
from calibration.rendering.reading import Reading

_SCALES = (
    (0.005, 0.001), (0.01, 0.0025), (0.02, 0.005), (0.04, 0.01), (0.06, 0.02), (0.1, 0.02), (0.2, 0.05),
    (0.3, 0.1), (0.4, 0.1), (0.5, 0.1), (0.6, 0.2), (0.8, 0.2), (1.0, 0.2),
)  # fmt: skip
_ROOM = 2.5
"""The scale reaches at least so many times the limit, so that the limit never hides at the edge."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on the axis."""

    at: float
    """Place in [0, 1] of the width."""
    words: str


@dataclass(frozen=True, slots=True)
class Scale:
    """The axis of a picture: from 0 to `top`, a rate in (0, 1]."""

    top: float
    step: float
    limit: float | None

    def place(self, rate: float) -> float:
        """Where a rate lies, as a share of the width in [0, 1]; beyond the end it is 1."""
        return min(1.0, max(0.0, rate / self.top))

    @property
    def limit_at(self) -> float | None:
        """Where the limit lies."""
        return None if self.limit is None else self.place(self.limit)

    @property
    def limit_words(self) -> str:
        """The limit's label."""
        return "" if self.limit is None else f"limit {limit_text(self.limit)}"

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """The axis marks, without those that the limit's label covers; both ends have a percent sign."""
        rates = [i * self.step for i in range(round(self.top / self.step) + 1)]
        return tuple(self._tick(rate) for rate in rates if not self._covered(rate))

    def _tick(self, rate: float) -> Tick:
        number = plain(round(rate * 100, 6))
        ends = rate == 0 or abs(rate - self.top) < 1e-9
        return Tick(self.place(rate), percent(number) if ends else number)

    def _covered(self, rate: float) -> bool:
        at = self.limit_at
        return at is not None and 0 < rate < self.top - 1e-9 and abs(self.place(rate) - at) < 0.18


@dataclass(frozen=True, slots=True)
class Strip:
    """One interval on a scale; places are shares of the width in [0, 1]."""

    lower: float
    upper: float
    worst: float | None
    """Upper end with everything open against the judge; None where nothing is open."""
    estimate: float
    limit: float | None
    hollow: bool
    """A baseline: shown for comparison, never decided."""
    beyond: bool
    """The solid interval, or its dotted extension, runs off the scale."""
    off: str
    """The rate in words where all of it lies beyond the scale, else empty."""
    words: str
    """The same in words, for who cannot see it."""


def scale_for(readings: Sequence[Reading]) -> Scale:
    """The smallest scale that holds every judge's interval, and the limit well inside."""
    limit = next((r.limit for r in readings if r.limit is not None), None)
    return fitting_scale([end for r in readings if r.report.headline.n for end in _ends(r)], limit)


def fitting_scale(ends: Iterable[float], limit: float | None) -> Scale:
    """The smallest scale that holds the ends, and the limit well inside it; at most 0 to 100 %."""
    wanted = min(1.0, max([*ends, (limit or 0.0) * _ROOM], default=1.0) or 1.0)
    top, step = next(scale for scale in _SCALES if scale[0] >= wanted - 1e-9)
    return Scale(top, step, limit)


def _ends(reading: Reading) -> tuple[float, float]:
    return reading.measured.upper, reading.report.far_gate.upper


def judge_strip(reading: Reading, scale: Scale) -> Strip | None:
    """The judge's interval as the policy reads it; None without a failing answer."""
    report, measured = reading.report, reading.measured
    if not report.headline.n or report.headline.estimate is None:
        return None
    worst = report.far_gate.upper if report.far_gate.upper > measured.upper + 1e-9 else None
    words = f"{reading.judge}: {reading.far.text}"
    if worst is not None:
        words += f"; worst case {report.far_gate.x}/{report.far_gate.n}, up to {reading.gate_upper}"
    if reading.limit is not None:
        words += f"; limit {reading.limit_words}"
    return Strip(
        lower=scale.place(measured.lower),
        upper=scale.place(measured.upper),
        worst=None if worst is None else scale.place(worst),
        estimate=scale.place(report.headline.estimate),
        limit=scale.limit_at,
        hollow=False,
        beyond=max(measured.upper, worst or 0.0) > scale.top + 1e-9,
        off=_off(report.headline, scale),
        words=words,
    )


def rate_strip(figure: RateFigure, scale: Scale, *, words: str, hollow: bool) -> Strip | None:
    """The plain interval of a rate: a baseline or a slice; None without a denominator."""
    if figure.estimate is None:
        return None
    return Strip(
        lower=scale.place(figure.lower),
        upper=scale.place(figure.upper),
        worst=None,
        estimate=scale.place(figure.estimate),
        limit=scale.limit_at,
        hollow=hollow,
        beyond=figure.upper > scale.top + 1e-9,
        off=_off(figure, scale),
        words=words,
    )


def _off(figure: RateFigure, scale: Scale) -> str:
    if figure.lower < scale.top or figure.estimate is None:
        return ""
    return percent(plain(round(figure.estimate * 100)))
