"""Several p-values at once."""

from __future__ import annotations

from collections.abc import Sequence

from calibration.statistics.checks import require_share


def _ranked(p_values: Sequence[float]) -> list[int]:
    for p in p_values:
        require_share(p, name="a p-value")
    return sorted(range(len(p_values)), key=lambda i: p_values[i])


def bonferroni(p_values: Sequence[float]) -> tuple[float, ...]:
    """Each p-value times their number, at most 1, in the order given; controls the family-wise error.

    Raises:
        ValueError: for a p-value outside [0, 1].
    """
    _ranked(p_values)
    return tuple(min(1.0, len(p_values) * p) for p in p_values)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The Holm-adjusted p-values in the order given; control the family-wise error, never above Bonferroni's.

    Raises:
        ValueError: for a p-value outside [0, 1].

    Source: Holm 1979.
    """
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, i in enumerate(_ranked(p_values)):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = running
    return tuple(adjusted)


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p-values adjusted to control the false discovery rate, in the order given; for screens.

    Raises:
        ValueError: for a p-value outside [0, 1].

    Source: Benjamini, Hochberg 1995.
    """
    adjusted = [0.0] * len(p_values)
    running = 1.0
    for rank, i in reversed(list(enumerate(_ranked(p_values), start=1))):
        running = min(running, len(p_values) / rank * p_values[i])
        adjusted[i] = running
    return tuple(adjusted)
