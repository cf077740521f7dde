"""Rates and coefficients as the review app shows them: x/n first, the interval beside it, or why none."""

from __future__ import annotations

from calibration.evidence import AlphaFigure, KappaFigure, RateFigure, UndefinedFigure
from calibration.rendering.numbers import coefficient_text, rate_text
from labeling_ui.components import Markup, untrusted

_FIGURE = Markup('<b class="vd-n">{}</b> {} <span class="vd-i">{}</span>')


def rate(figure: RateFigure | UndefinedFigure) -> Markup:
    """A rate: 16/80 20 % [13, 30]; why there is none where there is none."""
    if isinstance(figure, UndefinedFigure):
        return undefined(figure)
    words = rate_text(figure.x, figure.n, lower=figure.lower, upper=figure.upper)
    return _FIGURE.format(words.count, words.estimate, words.interval)


def coefficient(figure: KappaFigure | AlphaFigure | UndefinedFigure) -> Markup:
    """A kappa or alpha with its interval; why there is none where there is none."""
    if isinstance(figure, UndefinedFigure):
        return undefined(figure)
    number, interval = coefficient_text(figure.estimate, figure.lower, figure.upper)
    return _FIGURE.format(number, "", interval)


def undefined(figure: UndefinedFigure) -> Markup:
    """Why a figure does not exist, in its place."""
    return Markup('<span class="vd-i">not assessed: {}</span>').format(untrusted(figure.undefined))
