"""Numbers as people read them: x/n first, and no more decimals than the interval carries.

The rules (DESIGN §2): decimals are the place of the first significant digit of the interval's half-width, at
least 0; halves round away from zero; an interval end that would round onto the limit gets more decimals until
it does not; x > 0 never prints as 0 % nor x < n as 100 %; x = 0 prints 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

NBSP = "\u00a0"
NNBSP = "\u202f"
"""Narrow no-break space: stands before %."""
MINUS = "\u2212"
_MOST_DECIMALS = 6
_DIGITS = 28


@dataclass(frozen=True, slots=True)
class RateText:
    """A rate in words: the count always first, then the rate, then its interval."""

    count: str
    """x/n, such as 16/80."""
    estimate: str
    """20 %, <1 %, or an empty text without a denominator."""
    interval: str
    """[13, 30] in percent, or an empty text without a denominator."""
    lower: str
    """13 %."""
    upper: str
    """30 %."""

    @property
    def text(self) -> str:
        """All of it on one line: 16/80 20 % [13, 30]."""
        return " ".join(part for part in (self.count, self.estimate, self.interval) if part)


def whole(number: int) -> str:
    """A count with thousands separated: 1,093."""
    return f"{number:,}"


def fixed(value: float | Fraction, decimals: int) -> str:
    """A number with so many decimals, halves away from zero; a number that rounds to 0 has no sign."""
    exact = value if isinstance(value, Fraction) else Fraction(repr(float(value)))
    quotient = Decimal(exact.numerator) / Decimal(exact.denominator)
    text = str(quotient.quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_UP))
    if text.startswith("-"):
        return text[1:] if not text.strip("-0.") else MINUS + text[1:]
    return text


def interval_decimals(lower: float, upper: float, *, least: int = 0) -> int:
    """Decimals that an interval carries: the place of the first significant digit of its half-width."""
    half = abs(upper - lower) / 2
    if half == 0:
        return max(least, 1)
    return min(max(least, -math.floor(math.log10(half))), _MOST_DECIMALS)


def rate_text(x: int, n: int, *, lower: float, upper: float, limit: float | None = None) -> RateText:
    """The rate x/n in [0, 1] with its interval, in percent; without a denominator only the count.

    Args:
        x: cases counted.
        n: cases in the denominator.
        lower: lower end in [0, 1].
        upper: upper end in [0, 1].
        limit: the limit in [0, 1] that an end must not seem to touch.
    """
    count = f"{whole(x)}/{whole(n)}"
    if n == 0:
        return RateText(count, "", "", "", "")
    decimals = interval_decimals(lower * 100, upper * 100)
    low, high = (_end(end, decimals, limit) for end in (lower, upper))
    return RateText(count, percent(share(x, n, decimals)), f"[{low}, {high}]", percent(low), percent(high))


def share(x: int, n: int, decimals: int) -> str:
    """The share x of n in percent, without the sign: 0 only for x = 0, 100 only for x = n."""
    if x in (0, n):
        return "0" if x == 0 else "100"
    text = fixed(Fraction(100 * x, n), decimals)
    step = Decimal(1).scaleb(-decimals)
    if Decimal(text) == 0:
        return f"<{step}"
    if Decimal(text) == 100:
        return f">{100 - step}"
    return text


def percent(number: str) -> str:
    """A number that is already text, with the percent sign after a narrow no-break space."""
    return f"{number}{NNBSP}%"


def end_text(end: float, *, lower: float, upper: float, limit: float | None = None) -> str:
    """One end of a rate's interval in percent, with the decimals that the interval [lower, upper] carries."""
    return percent(_end(end, interval_decimals(lower * 100, upper * 100), limit))


def _end(end: float, decimals: int, limit: float | None) -> str:
    """An end in percent, with more decimals where it would round onto a limit that it does not equal."""
    if end in (0.0, 1.0):
        return "0" if end == 0 else "100"
    text = fixed(end * 100, decimals)
    if limit is None or abs(end - limit) < 1e-12:
        return text
    while Decimal(text) == Decimal(repr(limit)) * 100 and decimals < _MOST_DECIMALS + _DIGITS:
        decimals += 1
        text = fixed(end * 100, decimals)
    return text


def limit_text(limit: float) -> str:
    """A limit on a rate, as it was written: 0.139 gives 13.9 %."""
    return percent(plain(Decimal(repr(float(limit))) * 100))


def plain(number: Decimal | float) -> str:
    """A number as it was written, without trailing zeros or an exponent: 0.10 gives 0.1, 5E+1 gives 50."""
    exact = number if isinstance(number, Decimal) else Decimal(repr(float(number)))
    text = f"{exact.normalize():f}"
    return MINUS + text[1:] if text.startswith("-") else text


def coefficient_text(estimate: float, lower: float | None, upper: float | None) -> tuple[str, str]:
    """A kappa-like number in [-1, 1] and its interval, two texts; in words where there is no interval.

    At least one decimal, and one where every resample gives the same number; an interval of no width would
    claim certainty, so it counts as none.
    """
    if lower is None or upper is None or lower == upper:
        return fixed(estimate, 1 if estimate in (-1.0, 0.0, 1.0) else 2), "(no interval: too uniform)"
    decimals = interval_decimals(lower, upper, least=1)
    return fixed(estimate, decimals), f"[{fixed(lower, decimals)}, {fixed(upper, decimals)}]"


def p_text(p: float) -> str:
    """A p-value: "p = .25", two significant digits, "p < .001" below that."""
    if p < 0.001:
        return "p < .001"
    if p >= 0.995:
        return "p = 1"
    decimals = 2 if p >= 0.1 else 3
    return "p = " + fixed(p, decimals).removeprefix("0")
