"""Who rates which item, in which order, which way round, and what comes twice: drawn by a seed, no more.

Nothing but the seed, the person's name and the keys of the items enters, so the queue of a rater is the
same whatever any judge or any other rater says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Self

from pydantic import Field, model_validator

from rubrics.record import Frozen

DISTANCE = 30
"""Items at least between an item and its hidden repeat: far enough to have forgotten the answer."""


class SessionPlan(Frozen):
    """How a session is run."""

    raters_per_item: int = Field(default=2, ge=1)
    repeat_share: float = Field(default=0.05, ge=0, le=0.5)
    """Share of a rater's items that come a second time, unmarked."""
    repeats_at_least: int = Field(default=10, ge=0)
    """Repeats for each rater (and so for each criterion), as far as the set has room for them."""
    repeat_distance: int = Field(default=DISTANCE, ge=1)
    practice: int = Field(default=4, ge=0)
    """Worked examples of the rubric that are answered with feedback first; at most as many as it has."""
    seed: int = 0
    reason_after_hours: float = Field(default=24.0, ge=0)
    """An answer older than this is changed only with a reason."""

    @model_validator(mode="after")
    def _repeats(self) -> Self:
        if self.repeats_at_least and not self.repeat_share:
            raise ValueError("repeats_at_least needs a repeat_share above 0; give 0 for both to have none")
        return self


@dataclass(frozen=True, slots=True)
class Place:
    """One place in a rater's queue."""

    item: str
    slot: int
    """Which of the item's raters this is, from 0."""
    repeat: int
    swapped: bool


def seeded(*parts: object) -> Random:
    """A generator that depends on the parts alone, the same on every machine."""
    text = "\0".join(str(part) for part in parts)
    return Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16]))


def share_out(
    items: Sequence[str], raters: Sequence[str], plan: SessionPlan, *, session: str
) -> dict[str, list[tuple[str, int]]]:
    """For each rater the items they rate, with the slot that they fill; loads differ by one at most.

    Raises ValueError where there are fewer raters than an item needs.
    """
    if len(raters) < plan.raters_per_item:
        raise ValueError(
            f"{len(raters)} raters and {plan.raters_per_item} raters an item: name as many raters, or ask for"
            " fewer an item"
        )
    rng = seeded("share", session, plan.seed)
    order = list(items)
    rng.shuffle(order)
    mine: dict[str, list[tuple[str, int]]] = {rater: [] for rater in raters}
    for item in order:
        least = sorted(raters, key=lambda rater: (len(mine[rater]), rng.random()))
        for slot, rater in enumerate(least[: plan.raters_per_item]):
            mine[rater].append((item, slot))
    return mine


def repeats_of(items: int, plan: SessionPlan) -> int:
    """How many of a rater's items come twice: the share, at least the minimum, at most what has room."""
    if not plan.repeat_share:
        return 0
    wanted = max(round(plan.repeat_share * items), plan.repeats_at_least)
    return max(0, min(wanted, items - plan.repeat_distance + 1))


def queue_of(mine: Sequence[tuple[str, int]], plan: SessionPlan, *, session: str, rater: str) -> list[Place]:
    """The rater's queue: their items in an order of their own, repeats at the distance, sides of pairs."""
    rng = seeded("queue", session, plan.seed, rater)
    order = sorted(mine)
    rng.shuffle(order)
    last = len(order) - plan.repeat_distance
    again = rng.sample(range(last + 1), repeats_of(len(order), plan)) if last >= 0 else []
    # the repeat of place i goes before place t, at least the distance later; what goes in between adds to it
    before: dict[int, list[int]] = {}
    for place in again:
        before.setdefault(rng.randint(place + plan.repeat_distance, len(order)), []).append(place)
    queue: list[Place] = []
    for place in range(len(order) + 1):
        for twice in before.get(place, ()):
            queue.append(Place(*order[twice], repeat=1, swapped=rng.random() < 0.5))
        if place < len(order):
            queue.append(Place(*order[place], repeat=0, swapped=rng.random() < 0.5))
    return queue
