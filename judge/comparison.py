"""Two judges, or two systems, on the same items: paired figures and one word for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from calibration.statistics.agreement import Kappa, cohens_kappa
from calibration.statistics.paired import (
    PairedOutcomes,
    PairedTable,
    mcnemar_exact,
    newcombe_paired,
    paired_outcomes,
)
from calibration.statistics.panels import error_correlation
from calibration.statistics.proportions import rate
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
    """New minus old, open outcomes as not happening; Newcombe's paired interval."""
    lower: float
    """The lower end, with every open outcome resolved against a rise; -1 without an item."""
    upper: float
    p_value: float
    """Two-sided exact McNemar."""
    open_pairs: int

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
    confidence: float = 0.95,
) -> JudgeComparison:
    """The new judge beside the old one.

    Args:
        old: by item whether the old judge accepts it; an item without an entry is open.
        new: the same of the new judge.
        reference: by item whether the reference passes it; items without one count for bridge and kappa only.
        margin: differences up to which two judges are called equivalent, in (0, 1).
        confidence: level of every interval.
    """
    items = sorted({*old, *new, *reference})
    pairs = {item: (old.get(item), new.get(item)) for item in items}
    failures = [pairs[item] for item in items if reference.get(item) is False]
    passes = [pairs[item] for item in items if reference.get(item) is True]
    far = paired(failures, confidence=confidence)
    refused = [(None if a is None else not a, None if b is None else not b) for a, b in passes]
    lost = paired(refused, confidence=confidence)
    known = [(a, b) for a, b in pairs.values() if a is not None and b is not None]
    kept = [b for a, b in known if a]
    gained = [b for a, b in known if not a]
    wrong = paired_outcomes([a for a, _ in failures], [b for _, b in failures]).table
    return JudgeComparison(
        items=len(items),
        far=far,
        non_acceptance=lost,
        kept=rate(sum(kept), len(kept), confidence=confidence),
        gained=rate(sum(gained), len(gained), confidence=confidence),
        kappa=cohens_kappa(_table(known), confidence=confidence),
        shared_errors=error_correlation(
            both=wrong.both, only_a=wrong.only_baseline, only_b=wrong.only_candidate, neither=wrong.neither
        ),
        both_wrong=wrong.both,
        margin=margin,
        word=word_of([far, lost], margin=margin),
        open_items=len(items) - len(known),
    )


def paired(pairs: Sequence[tuple[Accepted, Accepted]], *, confidence: float) -> Paired:
    """How often something happens under old and new over the same items."""
    old, new = [a for a, _ in pairs], [b for _, b in pairs]
    found = paired_outcomes(old, new)
    table = found.table
    difference = newcombe_paired(table, confidence=confidence)
    lower, upper = _ends(pairs, found, confidence)
    return Paired(
        old=rate(table.both + table.only_baseline, table.n, confidence=confidence),
        new=rate(table.both + table.only_candidate, table.n, confidence=confidence),
        difference=difference,
        lower=lower,
        upper=upper,
        p_value=mcnemar_exact(table.only_baseline, table.only_candidate),
        open_pairs=found.unresolved_pairs,
    )


def _ends(
    pairs: Sequence[tuple[Accepted, Accepted]], found: PairedOutcomes, confidence: float
) -> tuple[float, float]:
    """The widest interval over what open outcomes may become."""
    ends = []
    for old_open, new_open in ((True, False), (False, True)) if found.unresolved_pairs else ((False, False),):
        resolved = [(old_open if a is None else a, new_open if b is None else b) for a, b in pairs]
        cells = [
            resolved.count(cell) for cell in ((True, True), (True, False), (False, True), (False, False))
        ]
        estimate = newcombe_paired(PairedTable(*cells), confidence=confidence)
        if isinstance(estimate, Undefined) or isinstance(estimate.interval, Undefined):
            return -1.0, 1.0
        ends += [estimate.interval.lower, estimate.interval.upper]
    return min(ends), max(ends)


def word_of(errors: Sequence[Paired], *, margin: float) -> Word:
    """One word for differences of error rates, of which less is better.

    better: one falls for certain and none may have risen by more than the margin; worse: one rises for
    certain and none may have fallen by more than the margin; different: one falls and one rises for certain;
    equivalent: every interval lies within the margin; otherwise it cannot be told.
    """
    falls, rises = any(e.upper < 0 for e in errors), any(e.lower > 0 for e in errors)
    if falls and rises:
        return Word.DIFFERENT
    if all(-margin <= each.lower and each.upper <= margin for each in errors):
        return Word.EQUIVALENT
    if falls and all(each.upper <= margin for each in errors):
        return Word.BETTER
    if rises and all(each.lower >= -margin for each in errors):
        return Word.WORSE
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
