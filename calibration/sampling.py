"""How items enter a calibration set: designs, drawing, inclusion probabilities. Pure; rng is an argument.

A set without a recorded design is a convenience set: it describes its own items only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Self

from pydantic import Field, model_validator

from calibration.evidence import Frozen
from rubrics.errors import DeclarationError


class DesignKind(StrEnum):
    """How the items of a set were chosen."""

    CONVENIENCE = "convenience"
    """Whatever was at hand; no probability is known."""
    SIMPLE_RANDOM = "simple_random"
    STRATIFIED = "stratified"
    """By a tag of the item, a number in each stratum."""
    FAILURE_OVERSAMPLED = "failure_oversampled"
    """By the recorded verdict of a screening judge or rule."""


class SamplingDesign(Frozen):
    """The declared way of drawing; with the seed it can be repeated exactly."""

    kind: DesignKind
    n: int | None = Field(default=None, ge=1)
    """Items to draw; for strata either this with `proportional`, or `allocation`."""
    allocation: dict[str, int] = Field(default_factory=dict)
    """Items to draw in each stratum."""
    by: str | None = None
    """The tag (stratified) or the screening judge or rule (failure_oversampled) that makes the strata."""
    one_per_cluster: bool = False
    """Draw at most one output of each cluster, so that cases are independent."""
    seed: int | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        strata = self.kind in {DesignKind.STRATIFIED, DesignKind.FAILURE_OVERSAMPLED}
        if strata and not self.by:
            raise ValueError(f"a {self.kind} design names what its strata are made by")
        if self.kind is DesignKind.SIMPLE_RANDOM and self.n is None:
            raise ValueError("a simple_random design names n, the items to draw")
        if strata and bool(self.allocation) == (self.n is not None):
            raise ValueError(
                f"a {self.kind} design names either n (proportional) or an allocation by stratum"
            )
        if self.kind is not DesignKind.CONVENIENCE and self.seed is None:
            raise ValueError("a drawn design names its seed, so that the draw can be repeated")
        return self

    @property
    def claim(self) -> str:
        """What a figure on such a set may be said to describe."""
        return {
            DesignKind.CONVENIENCE: "convenience set: describes these items only",
            DesignKind.SIMPLE_RANDOM: "simple random sample: describes the population it was drawn from",
            DesignKind.STRATIFIED: "stratified sample: describes the population after re-weighting",
            DesignKind.FAILURE_OVERSAMPLED: (
                "failure-oversampled sample: FAR within strata describes the population after re-weighting"
            ),
        }[self.kind]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item that may be drawn."""

    item_id: str
    cluster: str
    stratum: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A drawn item with its probability of having been drawn."""

    item_id: str
    cluster: str
    stratum: str
    inclusion_probability: float
    """In (0, 1]; under one_per_cluster the product of both phases, the second given the first."""


def draw(
    candidates: Sequence[Candidate],
    design: SamplingDesign,
    *,
    rng: Random,
    already: Sequence[Member] = (),
) -> tuple[Member, ...]:
    """The members that the design draws, in item order; with `already`, the members to add to them.

    A top-up counts the earlier members towards n or the allocation, so that earlier and new members together
    are one draw of the larger size; all carry the probability of that larger draw.

    Raises:
        DeclarationError: a stratum holds fewer items than are asked of it, or an earlier member is no
            longer among the candidates.
    """
    if design.kind is DesignKind.CONVENIENCE:
        raise DeclarationError("a convenience set is not drawn; freeze the items that are at hand")
    pool = sorted(candidates, key=lambda c: c.item_id)
    kept = _kept(pool, already)
    phase_one = _one_per_cluster(pool, kept, rng) if design.one_per_cluster else [(c, 1.0) for c in pool]
    strata = _by_stratum(phase_one, design)
    members: list[Member] = []
    for stratum, wanted in sorted(_allocation(strata, design).items()):
        members += _draw_stratum(stratum, strata.get(stratum, []), wanted, kept, rng)
    return tuple(sorted(members, key=lambda m: m.item_id))


def _kept(pool: Sequence[Candidate], already: Sequence[Member]) -> frozenset[str]:
    known = {c.item_id for c in pool}
    gone = sorted(m.item_id for m in already if m.item_id not in known)
    if gone:
        raise DeclarationError(
            f"item {gone[0]!r} was drawn before and is no longer among the candidates; "
            "a top-up draws from the same population"
        )
    return frozenset(m.item_id for m in already)


_Weighted = tuple[Candidate, float]


def _one_per_cluster(pool: Sequence[Candidate], kept: frozenset[str], rng: Random) -> list[_Weighted]:
    """One item of each cluster with its probability 1 / size; an earlier member stays its cluster's item."""
    clusters: dict[str, list[Candidate]] = {}
    for candidate in pool:
        clusters.setdefault(candidate.cluster, []).append(candidate)
    chosen = []
    for _, items in sorted(clusters.items()):
        earlier = [c for c in items if c.item_id in kept]
        pick = earlier[0] if earlier else rng.choice(items)
        chosen.append((pick, 1 / len(items)))
    return chosen


def _by_stratum(items: Sequence[_Weighted], design: SamplingDesign) -> dict[str, list[_Weighted]]:
    strata: dict[str, list[_Weighted]] = {}
    for candidate, probability in items:
        name = "" if design.kind is DesignKind.SIMPLE_RANDOM else candidate.stratum
        strata.setdefault(name, []).append((candidate, probability))
    return strata


def _allocation(strata: Mapping[str, Sequence[_Weighted]], design: SamplingDesign) -> dict[str, int]:
    """Items wanted of each stratum; proportional shares are rounded by largest remainder."""
    if design.allocation:
        return dict(design.allocation)
    wanted, total = design.n or 0, sum(len(items) for items in strata.values())
    if wanted > total:
        raise DeclarationError(
            f"{wanted} items are wanted and {total} can be drawn; ask for {total} or fewer, or import more"
        )
    exact = {name: wanted * len(items) / total for name, items in strata.items()} if total else {}
    shares = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(exact, key=lambda name: (shares[name] - exact[name], name))
    for name in by_remainder[: wanted - sum(shares.values())]:
        shares[name] += 1
    return shares


def _draw_stratum(
    name: str, items: Sequence[_Weighted], wanted: int, kept: frozenset[str], rng: Random
) -> list[Member]:
    if wanted > len(items):
        raise DeclarationError(
            f"stratum {name!r} has {len(items)} items to draw from and {wanted} are wanted; "
            f"ask for {len(items)} or fewer there, or import more items"
        )
    earlier = [(c, p) for c, p in items if c.item_id in kept]
    if len(earlier) > wanted:
        raise DeclarationError(
            f"stratum {name!r} already has {len(earlier)} members and {wanted} are wanted in all; "
            "a top-up only adds"
        )
    fresh = [(c, p) for c, p in items if c.item_id not in kept]
    chosen = earlier + rng.sample(fresh, wanted - len(earlier))
    share = wanted / len(items) if items else 0.0
    return [Member(c.item_id, c.cluster, name, p * share) for c, p in chosen]


@dataclass(frozen=True, slots=True)
class ExpectedFailures:
    """Whether a set can be expected to hold the reference failures that a policy needs."""

    expected: float
    """Sum over strata of members times the assumed failure prevalence."""
    needed: int

    @property
    def short_by(self) -> int:
        """Further failures to be expected before the policy could admit anyone; 0 when enough."""
        return max(0, self.needed - math.floor(self.expected + 1e-9))


def expected_failures(
    members: Sequence[Member], prevalence: Mapping[str, float], *, needed: int
) -> ExpectedFailures:
    """Reference failures to be expected among the members, by each stratum's failure prevalence.

    Raises:
        DeclarationError: a stratum has no prevalence, or it is no rate.
    """
    total = 0.0
    for member in members:
        rate = prevalence.get(member.stratum)
        if rate is None or not 0 <= rate <= 1:
            raise DeclarationError(
                f"stratum {member.stratum!r} has the failure prevalence {rate!r}; give it a rate"
            )
        total += rate
    return ExpectedFailures(total, needed)
