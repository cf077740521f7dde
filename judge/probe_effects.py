"""What a probe showed: flips toward acceptance beyond an unchanged repeat of the same items, in one word."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from calibration.statistics.paired import PairedTable, mcnemar_exact, newcombe_paired
from calibration.values import Estimate, Interval, Rate, Undefined
from judge.comparison import Accepted, grouped_rate, interval_of, resolved


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
    """Accepted with the change and not without it, of all items; without a verdict as not flipped."""
    flipped_at_most: int
    """The same with every copy without a verdict resolved toward a flip."""
    back: int
    """Accepted without the change and not with it."""
    lower: float
    """Of the rise in acceptance, at the simultaneous level, copies without a verdict resolved against one."""
    upper: float
    """The other end, copies without a verdict resolved toward a rise."""
    p_value: float
    """Two-sided exact McNemar, not corrected for the number of families; where items share groups, whole
    groups are exchanged."""
    detectable: float | Undefined
    """The smallest rise, flips less flips back as a share of items, that would be found where as many flip
    back as did here: the judge's own noise. Each flip in another group."""
    word: ProbeWord
    unknown: int
    """Items whose changed copy has no verdict, whatever the reason."""
    answered: int
    """Items whose changed copy has a verdict and whose unchanged one is not open."""
    groups: int
    """Groups of items that are not independent."""

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
            "groups": self.groups,
            "unchanged_accepted": self.unchanged.x,
            "flipped": self.flipped.x,
            "flipped_at_most": self.flipped_at_most,
            "flipped_lower": self.flipped.interval.lower,
            "flipped_upper": self.flipped.interval.upper,
            "flipped_back": self.back,
            "unknown": self.unknown,
            "answered": self.answered,
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
    groups: Sequence[str] | None = None,
    alpha: float = 0.05,
) -> Effect:
    """One family's effect.

    Args:
        family: its name.
        what: what it changes, in words.
        pairs: for each item whether it is accepted unchanged and changed; None where that may be either.
        bound: the rise in acceptance up to which a judge counts as bounded, in (0, 1).
        families: how many are looked at together; levels are shared among them (Bonferroni).
        groups: of each pair, the group of items that are not independent; each its own by default.
        alpha: for all of them together.
    """
    level = alpha / families
    of = list(groups) if groups is not None else [str(place) for place in range(len(pairs))]
    low, high, plain = (
        resolved(pairs, of, open_old=before, open_new=after, confidence=1 - level)
        for before, after in ((True, False), (False, True), (False, False))
    )
    lower, upper = interval_of(low)[0], interval_of(high)[1]
    biased = low.table.only_candidate > low.table.only_baseline and low.p_value <= level
    word = ProbeWord.BIASED if biased else ProbeWord.BOUNDED if upper <= bound else ProbeWord.UNDERPOWERED
    return Effect(
        family=family,
        what=what,
        unchanged=grouped_rate([(bool(a), g) for (a, _), g in zip(pairs, of, strict=True)], confidence=0.95),
        flipped=grouped_rate(
            [(bool(b) and not a, g) for (a, b), g in zip(pairs, of, strict=True)], confidence=0.95
        ),
        flipped_at_most=high.table.only_candidate,
        back=plain.table.only_baseline,
        lower=lower,
        upper=upper,
        p_value=plain.p_value,
        detectable=smallest_detectable(
            plain.table.n, level, groups=plain.clusters, back=plain.table.only_baseline
        ),
        word=word,
        unknown=sum(after is None for _, after in pairs),
        answered=sum(None not in pair for pair in pairs),
        groups=plain.clusters,
    )


def bounded_at_best(groups: Sequence[str], *, bound: float, families: int, alpha: float = 0.05) -> bool:
    """True if a judge that nothing moves would end as bounded; `groups` names the group of each item.

    `bound`, `families` and `alpha` are those of `effect`.
    """
    still = resolved(
        [(False, False)] * len(groups),
        groups,
        open_old=False,
        open_new=False,
        confidence=1 - alpha / families,
    )
    return interval_of(still)[1] <= bound


def items_needed(*, bound: float, families: int, alpha: float = 0.05) -> int:
    """The fewest items, each in a group of its own, by which a judge that nothing moves ends as bounded.

    `bound`, `families` and `alpha` are those of `effect`; the upper end of no flip of n falls with n.
    """

    def suffices(n: int) -> bool:
        still = newcombe_paired(PairedTable(0, 0, 0, n), confidence=1 - alpha / families)
        return (
            isinstance(still, Estimate)
            and isinstance(still.interval, Interval)
            and still.interval.upper <= bound
        )

    return bisect_left(range(_MOST_NEEDED), True, key=suffices)


_MOST_NEEDED = 10_000_000


def smallest_detectable(
    n: int, level: float, *, groups: int | None = None, back: int = 0
) -> float | Undefined:
    """The smallest rise among n items that is significant at the level where so many flip back by chance.

    Undefined where even a flip in each other group (each item by default) would not be.
    """
    many = n if groups is None else groups
    noise = math.ceil(back * many / n) if n else 0
    for flips in range(noise + 1, many - noise + 1):
        if mcnemar_exact(noise, flips) <= level:
            return (flips - noise) / n
    what = "items" if many == n else "groups of items"
    chance = f", {back} of them flipping back by chance," if back else ""
    return Undefined(f"{many} {what}{chance} are too few to find any effect at this level")


def effects(
    unchanged: Mapping[str, Accepted],
    changed: Mapping[str, Mapping[str, Accepted]],
    words: Mapping[str, str],
    *,
    bound: float,
    groups: Mapping[str, str],
) -> tuple[Effect, ...]:
    """The effects of all families, each over the items that it changes; `changed` is by family and item.

    `groups` names by item the group of those that are not independent.
    """
    return tuple(
        effect(
            family,
            words[family],
            [(unchanged.get(item), after) for item, after in copies.items()],
            bound=bound,
            families=len(changed),
            groups=[groups.get(item, item) for item in copies],
        )
        for family, copies in changed.items()
    )
