"""Ids that cannot be told apart, or that name nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from calibration.interchange.lines import shown
from calibration.interchange.words import fold

# what software writes for a value that it does not have; as an id it would make one item of many
# fmt: off
_NO_IDS: Final = frozenset({
    "nan", "null", "none", "na", "n/a", "#n/a", "<na>", "undefined",
    "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity",
})
# fmt: on


def no_id(item_id: str) -> str:
    """Why the text names no item, in a sentence; empty where it may."""
    if fold(item_id) not in _NO_IDS:
        return ""
    return f"id {shown(item_id)} is how a missing value is written: give each item an id of its own"


def alike(item_ids: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The pairs (id met before, id) that differ by case or spaces only, in the order met.

    Ids are joined exactly, so each of a pair is an item of its own, which is seldom meant.

    >>> alike(["A1", "b", "a1", "a  1"])
    (('A1', 'a1'),)
    """
    met: dict[str, str] = {}
    pairs = []
    for item_id in item_ids:
        first = met.setdefault(" ".join(item_id.casefold().split()), item_id)
        if first != item_id:
            pairs.append((first, item_id))
    return tuple(pairs)
