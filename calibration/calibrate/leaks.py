"""Texts of a set that the judge may have seen while it was written, and texts that stand twice. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

MIN_LEAK_WORDS = 5
"""A shorter output ("Yes.") stands in many places without having been copied."""
SHINGLE = 3
NEAR = 0.8
"""Jaccard similarity of word triples from which two texts are listed as near-duplicates."""


@dataclass(frozen=True, slots=True)
class Leak:
    """An item whose output also stands where the judge's author could see it."""

    item_id: str
    place: str


@dataclass(frozen=True, slots=True)
class NearDuplicate:
    """Two items of a set with almost the same output."""

    first: str
    second: str
    similarity: float


def canonical_text(text: str) -> str:
    """The words of a text without case and spacing, for comparison only."""
    return " ".join(text.casefold().split())


def find_leaks(outputs: Mapping[str, str], seen: Mapping[str, str]) -> tuple[Leak, ...]:
    """Items whose whole output stands in a text that the judge's author wrote or tuned on.

    Args:
        outputs: output by item id.
        seen: text by place, such as "rubric example 2" or "tuning item t-7".
    """
    places = {place: f" {canonical_text(text)} " for place, text in seen.items()}
    leaks = []
    for item_id, output in outputs.items():
        words = canonical_text(output)
        if words.count(" ") + 1 < MIN_LEAK_WORDS:
            continue
        place = next((place for place, text in places.items() if f" {words} " in text), None)
        if place is not None:
            leaks.append(Leak(item_id, place))
    return tuple(leaks)


def near_duplicates(outputs: Mapping[str, str]) -> tuple[NearDuplicate, ...]:
    """Pairs of items whose outputs share most of their word triples, most similar first."""
    shingles = {item_id: _shingles(text) for item_id, text in outputs.items()}
    holders: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    shared: Counter[tuple[str, str]] = Counter()
    for item_id, own in shingles.items():
        for shingle in own:
            for other in holders[shingle]:
                shared[other, item_id] += 1
            holders[shingle].append(item_id)
    found = []
    for (first, second), common in shared.items():
        union = len(shingles[first]) + len(shingles[second]) - common
        if common / union >= NEAR:
            found.append(NearDuplicate(first, second, common / union))
    return tuple(sorted(found, key=lambda pair: (-pair.similarity, pair.first, pair.second)))


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = canonical_text(text).split()
    return frozenset(zip(*(words[i:] for i in range(SHINGLE)), strict=False)) or frozenset([tuple(words)])
