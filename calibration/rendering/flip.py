"""How little ends an admission: the fewest further accepted failures that the gate does not bear."""

from __future__ import annotations

from collections.abc import Callable

from calibration.rendering.numbers import end_text, whole
from calibration.rendering.reading import Reading
from calibration.rendering.text import capital, number_word
from calibration.statistics.gates import shrink
from calibration.statistics.normal import z_value
from calibration.statistics.proportions import GateResult, score_gate, wilson_interval


def flip_sentence(reading: Reading) -> str:
    """The fewest further accepted failures that end an admission."""
    gate = reading.report.far_gate
    more, reach = to_flip(reading)
    about = "about " if reading.clustered else ""
    count = f"{whole(gate.x + more)}/{whole(gate.n + more)}"
    noun = ("more wrong side" if reading.pairs else "more accepted failure") + ("" if more == 1 else "s")
    verb = "turns" if more == 1 else "turn"
    said = f"{about}{number_word(more)} {noun} ({count}, up to {reach}) {verb} it into insufficient evidence."
    return capital(said)


def to_flip(reading: Reading) -> tuple[int, str]:
    """How many further accepted failures the gate does not bear, and how far its interval then reaches."""
    gate, limit = reading.report.far_gate, reading.limit or 0.0  # whoever is admitted holds a limit
    z = z_value(gate.confidence, sided=gate.sided)
    kept = shrink(gate.n_effective, gate.n)

    def bears(more: int) -> bool:
        x, n = (gate.x + more) * kept, (gate.n + more) * kept
        return score_gate(x, n, limit=limit, z=z) is GateResult.PASS

    more = _first_that_fails(bears)
    x, n = (gate.x + more) * kept, (gate.n + more) * kept
    found = wilson_interval(x, n, confidence=gate.confidence, sided=gate.sided)
    return more, end_text(found.upper, lower=found.lower, upper=found.upper, limit=limit)


def _first_that_fails(holds: Callable[[int], bool]) -> int:
    """The least number from 1 on at which something that stops holding no longer holds."""
    high = 1
    while holds(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high
