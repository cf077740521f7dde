"""The curve of a gate as one HTML page: how often it admits, by the true FAR; a picture and its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from calibration.rendering.html import _content_policy, _environment, _stylesheet, _time
from calibration.rendering.numbers import limit_text, percent, plain
from calibration.rendering.strip import Scale, Tick, fitting_scale
from calibration.rendering.text import visible

DASHES = ("none", "10 5", "2 4", "12 4 2 4", "6 2", "1 6")
"""Lines are told apart by their dashes, never by colour alone."""
MOST_CURVES = len(DASHES)


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of the picture and one column of the table."""

    name: str
    places: tuple[tuple[float, float], ...]
    """(true FAR, P(admitted)) from the left to the right."""
    cells: tuple[str, ...]
    """P(admitted) in words at each true FAR of the table."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a line; places are shares of the width and height in [0, 1], from the top left."""

    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True, slots=True)
class Line:
    """A curve as it is drawn."""

    name: str
    dash: str
    segments: tuple[Segment, ...]
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
    scale = fitting_scale([far for curve in curves for far, _ in curve.places], limit)
    head, *rest = sentences
    return _environment().get_template("gate.html").render(
        css=_stylesheet(),
        policy_for_content=_content_policy(),
        headline=visible(head),
        sentences=[visible(text) for text in rest],
        notes=[visible(text) for text in notes],
        scale=scale,
        levels=tuple(Tick(1 - level / 4, percent(plain(25 * level))) for level in range(5)),
        lines=tuple(_line(curve, dash, scale) for curve, dash in zip(curves, DASHES, strict=False)),
        names=[visible(curve.name) for curve in curves],
        rows=[
            (limit_text(far), far == limit, [curve.cells[number] for curve in curves])
            for number, far in enumerate(true_fars)
        ],
        limit=limit_text(limit),
        made=_time(made_at),
    )  # fmt: skip


def _line(curve: Curve, dash: str, scale: Scale) -> Line:
    """The segments between neighbouring points; what lies beyond the scale is cut."""
    drawn = [(scale.place(far), 1 - chance) for far, chance in curve.places if far <= scale.top + 1e-9]
    return Line(
        name=visible(curve.name),
        dash=dash,
        segments=tuple(Segment(*one, *two) for one, two in pairwise(drawn)),
        words=f"{visible(curve.name)}: admitted " + ", ".join(curve.cells),
    )
