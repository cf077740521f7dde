"""Two judges, or two systems, on the same items: paired figures and one word for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from calibration.statistics.agreement import Kappa, cohens_kappa
from calibration.statistics.clusters import cluster_wilson
from calibration.statistics.paired import paired_outcomes
from calibration.statistics.paired_clusters import ClusteredDifference, paired_by_cluster
from calibration.statistics.panels import error_correlation
from calibration.values import Estimate, Rate, Undefined

Accepted = bool | None
"""Whether an output was accepted; None where that is open."""


class Word(StrEnum):
    """What two judges, or systems, amount to beside each other."""

    BETTER = "better"
    WORSE = "worse"
    DIFFERENT = "different"
    """Better in one respect and worse in the other."""
    EQUIVALENT = "equivalent"
    """Every difference is shown to be within the margin."""
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Paired:
    """How often one thing happens under old and new, over the same items; open ones at both extremes."""

    old: Rate
    new: Rate
    difference: Estimate | Undefined
    """New minus old, open outcomes as not happening; Newcombe's paired interval, groups allowed for."""
    lower: float
    """The lower end, with every open outcome resolved against a rise; -1 without an item."""
    upper: float
    p_value: float
    """Two-sided exact McNemar; where items share groups, the same with whole groups exchanged."""
    open_pairs: int
    groups: int
    """Groups of items that are not independent; as many as items where each is alone in its own."""
    n_effective: float
    """How many independent items the items are worth for the difference."""

    @property
    def grouped(self) -> bool:
        """True where items share a group."""
        return self.groups < self.old.n

    def to_json(self) -> dict[str, Any]:
        """The figures as scripts read them."""
        known = isinstance(self.difference, Estimate)
        return {
            "old": _rate_json(self.old),
            "new": _rate_json(self.new),
            "difference": self.difference.value if isinstance(self.difference, Estimate) else None,
            "lower": self.lower if known else None,
            "upper": self.upper if known else None,
            "p_value": self.p_value,
            "open_pairs": self.open_pairs,
            "groups": self.groups,
            "n_effective": self.n_effective,
        }


@dataclass(frozen=True, slots=True)
class JudgeComparison:
    """A new judge beside an old one on the same labelled items."""

    items: int
    far: Paired
    """Accepted among reference failures."""
    non_acceptance: Paired
    """Not accepted among reference passes."""
    kept: Rate
    """New accepts where old accepted: the bridge for pass rates that the old judge gave."""
    gained: Rate
    """New accepts where old did not."""
    kappa: Kappa | Undefined
    """Of the two judges, accepted against not; agreement is not accuracy."""
    shared_errors: float | Undefined
    """Phi of the two judges' false acceptances within the reference failures."""
    both_wrong: int
    """Reference failures that both accept."""
    margin: float
    word: Word
    open_items: int

    def to_json(self) -> dict[str, Any]:
        """The comparison as scripts read it."""
        kappa = None if isinstance(self.kappa, Undefined) else self.kappa.kappa
        return {
            "schema": "judge-comparison/1",
            "items": self.items,
            "far": self.far.to_json(),
            "non_acceptance_among_pass": self.non_acceptance.to_json(),
            "bridge": {
                "accepted_before": _rate_json(self.kept),
                "not_accepted_before": _rate_json(self.gained),
            },
            "judge_by_judge_kappa": kappa,
            "shared_false_acceptances": {
                "both": self.both_wrong,
                "phi": None if isinstance(self.shared_errors, Undefined) else self.shared_errors,
            },
            "margin": self.margin,
            "open_items": self.open_items,
            "word": self.word.value,
        }


def compare_judges(
    old: Mapping[str, Accepted],
    new: Mapping[str, Accepted],
    reference: Mapping[str, bool],
    *,
    margin: float,
    groups: Mapping[str, str] | None = None,
    confidence: float = 0.95,
) -> JudgeComparison:
    """The new judge beside the old one.

    Args:
        old: by item whether the old judge accepts it; an item without an entry is open.
        new: the same of the new judge.
        reference: by item whether the reference passes it; items without one count for bridge and kappa only.
        margin: differences up to which two judges are called equivalent, in (0, 1).
        groups: by item the group of items that are not independent; each item its own where it is not named.
        confidence: level of every interval.
    """
    items = sorted({*old, *new, *reference})
    pairs = {item: (old.get(item), new.get(item)) for item in items}
    of = {item: (groups or {}).get(item, item) for item in items}
    failing = [item for item in items if reference.get(item) is False]
    passing = [item for item in items if reference.get(item) is True]
    failures = [pairs[item] for item in failing]
    far = paired(failures, confidence=confidence, groups=[of[item] for item in failing])
    refused = [refusals(pairs[item]) for item in passing]
    lost = paired(refused, confidence=confidence, groups=[of[item] for item in passing])
    both = {item: (a, b) for item, (a, b) in pairs.items() if a is not None and b is not None}
    known = [*both.values()]
    wrong = paired_outcomes([a for a, _ in failures], [b for _, b in failures]).table
    return JudgeComparison(
        items=len(items),
        far=far,
        non_acceptance=lost,
        kept=grouped_rate([(b, of[item]) for item, (a, b) in both.items() if a], confidence=confidence),
        gained=grouped_rate([(b, of[item]) for item, (a, b) in both.items() if not a], confidence=confidence),
        kappa=cohens_kappa(_table(known), confidence=confidence),
        shared_errors=error_correlation(
            both=wrong.both, only_a=wrong.only_baseline, only_b=wrong.only_candidate, neither=wrong.neither
        ),
        both_wrong=wrong.both,
        margin=margin,
        word=word_of([far, lost], margin=margin),
        open_items=len(items) - len(known),
    )


def refusals(accepted: tuple[Accepted, Accepted]) -> tuple[Accepted, Accepted]:
    """Whether each side does not accept; None stays open."""
    old, new = accepted
    return (None if old is None else not old, None if new is None else not new)


def grouped_rate(said: Sequence[tuple[bool, str]], *, confidence: float) -> Rate:
    """How often something is so, of (whether it is, group) each, with the interval of the effective size."""
    counts: defaultdict[str, list[bool]] = defaultdict(list)
    for flag, group in said:
        counts[group].append(flag)
    x, n = [*map(sum, counts.values())], [*map(len, counts.values())]
    return Rate(sum(x), sum(n), cluster_wilson(x, n, confidence=confidence).interval)


def paired(
    pairs: Sequence[tuple[Accepted, Accepted]], *, confidence: float, groups: Sequence[str] | None = None
) -> Paired:
    """How often something happens under old and new over the same items, each its own group by default."""
    of = list(groups) if groups is not None else [str(place) for place in range(len(pairs))]
    plain = resolved(pairs, of, open_old=False, open_new=False, confidence=confidence)
    open_pairs = sum(a is None or b is None for a, b in pairs)
    extremes = ((True, False), (False, True)) if open_pairs else ()
    ends = [plain] if not open_pairs else []
    for open_old, open_new in extremes:
        ends.append(resolved(pairs, of, open_old=open_old, open_new=open_new, confidence=confidence))
    found = [interval_of(each) for each in ends]
    return Paired(
        old=grouped_rate([(bool(a), g) for (a, _), g in zip(pairs, of, strict=True)], confidence=confidence),
        new=grouped_rate([(bool(b), g) for (_, b), g in zip(pairs, of, strict=True)], confidence=confidence),
        difference=plain.estimate,
        lower=min(lower for lower, _ in found),
        upper=max(upper for _, upper in found),
        p_value=plain.p_value,
        open_pairs=open_pairs,
        groups=plain.clusters,
        n_effective=plain.n_effective,
    )


def resolved(
    pairs: Sequence[tuple[Accepted, Accepted]],
    groups: Sequence[str],
    *,
    open_old: bool,
    open_new: bool,
    confidence: float,
) -> ClusteredDifference:
    """The difference of new and old with what is open on each side taken as said."""
    told = [(open_old if a is None else a, open_new if b is None else b) for a, b in pairs]
    return paired_by_cluster(told, groups, confidence=confidence)


def interval_of(found: ClusteredDifference) -> tuple[float, float]:
    """The ends of the interval; everything is possible without an item."""
    if isinstance(found.estimate, Undefined) or isinstance(found.estimate.interval, Undefined):
        return -1.0, 1.0
    return found.estimate.interval.lower, found.estimate.interval.upper


def word_of(errors: Sequence[Paired], *, margin: float) -> Word:
    """One word for differences of error rates, of which less is better.

    In this order: different, where one falls and one rises for certain; equivalent, where every interval lies
    within the margin; worse, where one rises for certain, however little is known of the other; better, where
    one falls for certain and none may have risen by more than the margin; otherwise it cannot be told. So a
    rise that was found is always told, and a fall is told as better only where it was not bought unseen.
    """
    falls, rises = any(e.upper < 0 for e in errors), any(e.lower > 0 for e in errors)
    if falls and rises:
        return Word.DIFFERENT
    if all(-margin <= each.lower and each.upper <= margin for each in errors):
        return Word.EQUIVALENT
    if rises:
        return Word.WORSE
    if falls and all(each.upper <= margin for each in errors):
        return Word.BETTER
    return Word.CANNOT_TELL


def _table(known: Sequence[tuple[bool, bool]]) -> list[list[int]]:
    return [[known.count((a, b)) for b in (True, False)] for a in (True, False)]


def _rate_json(found: Rate) -> dict[str, Any]:
    estimate = found.estimate
    return {
        "x": found.x,
        "n": found.n,
        "estimate": None if isinstance(estimate, Undefined) else estimate,
        "lower": found.interval.lower,
        "upper": found.interval.upper,
    }
