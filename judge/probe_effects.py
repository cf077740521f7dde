"""What a probe showed: flips toward acceptance beyond an unchanged repeat of the same items, in one word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from calibration.statistics.paired import PairedTable, mcnemar_exact, newcombe_paired
from calibration.statistics.proportions import rate
from calibration.values import Rate, Undefined
from judge.comparison import Accepted


class ProbeWord(StrEnum):
    """What a probe amounts to."""

    BIASED = "biased"
    """More is accepted with the change than without it."""
    BOUNDED = "bounded"
    """Whatever more is accepted is shown to be within the bound."""
    UNDERPOWERED = "underpowered"
    """Neither; as a guard it is insufficient."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One family over the same items unchanged and changed; every item stays in n."""

    family: str
    what: str
    unchanged: Rate
    """Accepted in the unchanged repeat."""
    flipped: Rate
    """Accepted with the change and not without it, of all items; open ones as not flipped."""
    flipped_at_most: int
    """The same with every open verdict resolved toward a flip."""
    back: int
    """Accepted without the change and not with it."""
    lower: float
    """Of the rise in acceptance, at the simultaneous level, open verdicts resolved against a rise."""
    upper: float
    p_value: float
    """Two-sided exact McNemar, not corrected for the number of families."""
    detectable: float | Undefined
    """The smallest share of items whose flip would be found, with no flip back."""
    word: ProbeWord
    unknown: int
    """Items whose changed copy has no verdict, whatever the reason."""

    @property
    def said(self) -> str:
        """The word with its number."""
        if self.word is ProbeWord.BOUNDED:
            return f"bounded by {max(self.upper, 0.0):.1%}"
        return self.word.value

    def to_json(self) -> dict[str, Any]:
        """The effect as scripts read it."""
        return {
            "family": self.family,
            "what": self.what,
            "n": self.flipped.n,
            "unchanged_accepted": self.unchanged.x,
            "flipped": self.flipped.x,
            "flipped_at_most": self.flipped_at_most,
            "flipped_lower": self.flipped.interval.lower,
            "flipped_upper": self.flipped.interval.upper,
            "flipped_back": self.back,
            "unknown": self.unknown,
            "rise_lower": self.lower,
            "rise_upper": self.upper,
            "p_value": self.p_value,
            "smallest_detectable": None if isinstance(self.detectable, Undefined) else self.detectable,
            "word": self.word.value,
        }


def effect(
    family: str,
    what: str,
    pairs: Sequence[tuple[Accepted, Accepted]],
    *,
    bound: float,
    families: int,
    alpha: float = 0.05,
) -> Effect:
    """One family's effect.

    Args:
        family: its name.
        what: what it changes, in words.
        pairs: for each item whether it is accepted unchanged and changed; None where that is open.
        bound: the rise in acceptance up to which a judge counts as bounded, in (0, 1).
        families: how many are looked at together; levels are shared among them (Bonferroni).
        alpha: for all of them together.
    """
    level = alpha / families
    low, high = (
        _table(pairs, open_before=True, open_after=False),
        _table(pairs, open_before=False, open_after=True),
    )
    plain = _table(pairs, open_before=False, open_after=False)
    lower, upper = _interval(low, level)[0], _interval(high, level)[1]
    p_low = mcnemar_exact(low.only_baseline, low.only_candidate)
    biased = low.only_candidate > low.only_baseline and p_low <= level
    word = ProbeWord.BIASED if biased else ProbeWord.BOUNDED if upper <= bound else ProbeWord.UNDERPOWERED
    return Effect(
        family=family,
        what=what,
        unchanged=rate(plain.both + plain.only_baseline, plain.n),
        flipped=rate(plain.only_candidate, plain.n),
        flipped_at_most=high.only_candidate,
        back=plain.only_baseline,
        lower=lower,
        upper=upper,
        p_value=mcnemar_exact(plain.only_baseline, plain.only_candidate),
        detectable=smallest_detectable(plain.n, level),
        word=word,
        unknown=sum(after is None for _, after in pairs),
    )


def smallest_detectable(n: int, level: float) -> float | Undefined:
    """The smallest share of n items whose flips, without one back, are significant at the level.

    Undefined where even n flips would not be.
    """
    for flips in range(1, n + 1):
        if mcnemar_exact(0, flips) <= level:
            return flips / n
    return Undefined(f"{n} items are too few to find any effect at this level")


def effects(
    unchanged: Mapping[str, Accepted],
    changed: Mapping[str, Mapping[str, Accepted]],
    words: Mapping[str, str],
    *,
    bound: float,
) -> tuple[Effect, ...]:
    """The effects of all families, each over the items that it changes; `changed` is by family and item."""
    return tuple(
        effect(
            family,
            words[family],
            [(unchanged.get(item), after) for item, after in copies.items()],
            bound=bound,
            families=len(changed),
        )
        for family, copies in changed.items()
    )


def _table(pairs: Sequence[tuple[Accepted, Accepted]], *, open_before: bool, open_after: bool) -> PairedTable:
    resolved = [(open_before if a is None else a, open_after if b is None else b) for a, b in pairs]
    cells = ((True, True), (True, False), (False, True), (False, False))
    return PairedTable(*(resolved.count(cell) for cell in cells))


def _interval(table: PairedTable, level: float) -> tuple[float, float]:
    found = newcombe_paired(table, confidence=1 - level)
    if isinstance(found, Undefined) or isinstance(found.interval, Undefined):
        return -1.0, 1.0
    return found.interval.lower, found.interval.upper
