"""The curve of a gate as one HTML page: how often it admits, by the true FAR; a picture and its table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from calibration.rendering.numbers import NNBSP, limit_text, percent, plain
from calibration.rendering.shell import moment_words, render_page
from calibration.rendering.strip import Scale, Tick
from calibration.rendering.text import visible

DASHES = ("none", "10 5", "2 4", "12 4 2 4", "6 2", "1 6")
"""Lines are told apart by their dashes, never by colour alone."""
MOST_CURVES = len(DASHES)
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of the picture and one column of the table."""

    name: str
    places: tuple[tuple[float, float], ...]
    """(true FAR, P(admitted)) from the left to the right."""
    cells: tuple[str, ...]
    """P(admitted) in words at each true FAR of the table."""


@dataclass(frozen=True, slots=True)
class Line:
    """A curve as it is drawn."""

    name: str
    dash: str
    path: str
    """SVG path on a square of 1,000 units, from the top left."""
    words: str
    """The same for who cannot see it."""


def render_gate(
    curves: Sequence[Curve],
    *,
    true_fars: Sequence[float],
    limit: float,
    sentences: Sequence[str],
    notes: Sequence[str],
    made_at: datetime | None,
) -> str:
    """The page.

    Args:
        curves: at most `MOST_CURVES`, each with a cell for every true FAR.
        true_fars: of the table's lines.
        limit: on the false-acceptance rate.
        sentences: what the curves say, the first as the headline.
        notes: what they rest on.
        made_at: when; None prints no time.

    Raises:
        ValueError: no curve, or more than can be told apart.
    """
    if not 0 < len(curves) <= MOST_CURVES:
        raise ValueError(f"{len(curves)} curves; the picture tells 1 to {MOST_CURVES} apart")
    scale = _scale([far for curve in curves for far, _ in curve.places], limit)
    head, *rest = sentences
    return render_page(
        "gate.html",
        headline=_set(head),
        sentences=[_set(text) for text in rest],
        notes=[_set(text) for text in notes],
        scale=scale,
        levels=tuple(Tick(1 - level / 4, percent(plain(25 * level))) for level in range(1, 5)),
        lines=tuple(_line(curve, dash, scale) for curve, dash in zip(curves, DASHES, strict=False)),
        names=[visible(curve.name) for curve in curves],
        rows=[
            (limit_text(far), far == limit, [_set(curve.cells[number]) for curve in curves])
            for number, far in enumerate(true_fars)
        ],
        limit=limit_text(limit),
        made=moment_words(made_at),
    )  # fmt: skip


def _set(text: str) -> str:
    """Text for the page: nothing unseen in it, and no percent sign at the beginning of a line."""
    return visible(text).replace(" %", f"{NNBSP}%")


def _scale(places: Sequence[float], limit: float) -> Scale:
    """From 0 to the largest FAR, the limit well inside, in at most six steps."""
    wanted = min(1.0, max(*places, 1.2 * limit))
    step = next(step for step in _STEPS if wanted <= 6 * step + 1e-9)
    return Scale(min(1.0, math.ceil(wanted / step - 1e-9) * step), step, limit)


def _line(curve: Curve, dash: str, scale: Scale) -> Line:
    points = (f"{1000 * scale.place(far):.1f} {1000 * (1 - chance):.1f}" for far, chance in curve.places)
    return Line(
        name=visible(curve.name),
        dash=dash,
        path="M" + "L".join(points),
        words=f"{visible(curve.name)}: admitted " + ", ".join(curve.cells),
    )
