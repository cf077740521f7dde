"""Evidence about a judge whose errors are known, because they were planted.

Pure: the generator is an argument. References come from planted raters through `reference.resolve`, verdicts
in two orders through `rubrics.order`, so that what is simulated is what ships.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from calibration.evidence import Case
from calibration.labels import Assessment, Blindness, ReferenceLabel, ReferenceRule
from calibration.reference import resolve
from calibration.report.supplement import Supplement
from calibration.statistics.rater_error import RaterErrors
from rubrics.answer import Answer, answered, no_answer
from rubrics.order import position_cells, reconcile
from rubrics.scale import BINARY, AnyScale, Preference, PreferenceScale
from rubrics.verdict import Outcome, UnknownReason, Verdict

CRITERION = "planted"
PAIRWISE = PreferenceScale(kind="preference")
"""Output B is the candidate: the judge accepts where it prefers B."""
_ACCEPTED, _REJECTED, _ABSTAINED, _BY_PLACE = range(4)


@dataclass(frozen=True, slots=True)
class PlantedGroup:
    """Items of one kind, and what the planted judge makes of them."""

    truth: Verdict
    """`pass` or `fail`."""
    items: int
    accepts: float
    """Share that the judge accepts, of all items: abstentions and inconsistent pairs are not accepted."""
    abstains: float = 0.0
    by_place: float = 0.0
    """Share on which it names whatever is shown first, in both orders."""
    per_cluster: int = 1
    """Items that share a prompt; the last prompt may have fewer."""
    icc: float = 0.0
    """Correlation of acceptance within a prompt."""
    stratum: str = ""
    probability: float | None = None
    """With which the design drew each item."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What `build_report` is given."""

    cases: tuple[Case, ...]
    assessments: tuple[Assessment, ...]
    supplement: Supplement


NO_ERRORS = RaterErrors(detects_fail=1.0, passes_pass=1.0)


@dataclass(frozen=True, slots=True)
class PlantedRaters:
    """Raters who label every item, blind, each wrong independently of the judge and of one another."""

    number: int = 1
    errors: RaterErrors = NO_ERRORS
    recorded: bool = False
    """Whether the report is shown their assessments; else only the references that follow from them."""


PERFECT = PlantedRaters()


def plant(
    groups: Sequence[PlantedGroup],
    *,
    rng: np.random.Generator,
    raters: PlantedRaters = PERFECT,
    both_orders: bool = False,
    errors_known: bool = False,
) -> Evidence:
    """One calibration's evidence about the planted judge.

    Args:
        groups: the items; the judge's errors in each are its own.
        rng: draws verdicts and labels.
        raters: who label; perfect unless they have errors.
        both_orders: the criterion compares two outputs, and the judge is asked in both orders.
        errors_known: the report is told the raters' error rates.
    """
    cases: list[Case] = []
    assessments: list[Assessment] = []
    asked: list[tuple[Answer, ...]] = []
    for number, group in enumerate(groups):
        says_pass = _labels(group, raters, rng)
        for index, code in enumerate(_codes(group, rng).tolist()):
            item = f"{number}-{index:05d}"
            asked.append(_in_both_orders(code) if both_orders else _pointwise(code))
            said = tuple(says_pass[index].tolist())
            if raters.recorded:
                assessments += _assessments(item, said)
            cases.append(
                Case(
                    item,
                    cluster=f"{number}-{index // group.per_cluster}",
                    reference=_reference(said),
                    outcome=_outcome(code, both_orders=both_orders),
                    stratum=group.stratum,
                    inclusion_probability=group.probability,
                )
            )
    supplement = Supplement(
        position=position_cells(PAIRWISE.answers, [(ab, ba) for ab, ba in asked]) if both_orders else None,
        rater_errors=raters.errors if errors_known else None,
    )
    return Evidence(tuple(cases), tuple(assessments), supplement)


def _codes(group: PlantedGroup, rng: np.random.Generator) -> NDArray[np.int64]:
    """What the judge does with each item of the group."""
    chance = rng.random(group.items)
    accepts: NDArray[np.float64] | float = group.accepts
    if group.icc > 0 and 0 < group.accepts < 1:
        strength = (1 - group.icc) / group.icc
        prompts = -(-group.items // group.per_cluster)
        each = rng.beta(group.accepts * strength, (1 - group.accepts) * strength, size=prompts)
        accepts = np.repeat(each, group.per_cluster)[: group.items]
    codes = np.full(group.items, _REJECTED)
    codes[chance < accepts] = _ACCEPTED
    # the unknowns take the other end of the unit interval, so that the accepted stay what they are
    codes[chance > 1 - group.abstains - group.by_place] = _BY_PLACE
    codes[chance > 1 - group.abstains] = _ABSTAINED
    return codes


def _labels(group: PlantedGroup, raters: PlantedRaters, rng: np.random.Generator) -> NDArray[np.bool_]:
    """For each item whether each rater says pass."""
    errors = raters.errors
    says_pass = errors.passes_pass if group.truth is Verdict.PASS else 1 - errors.detects_fail
    return rng.random((group.items, raters.number)) < says_pass


def _assessments(item: str, says_pass: Sequence[bool]) -> list[Assessment]:
    """What each rater says of one item."""
    return [
        Assessment(item, CRITERION, f"rater-{rater}", Verdict.PASS if said else Verdict.FAIL, Blindness.YES)
        for rater, said in enumerate(says_pass)
    ]


@cache
def _reference(says_pass: tuple[bool, ...]) -> ReferenceLabel:
    """The reference of every item of which its raters say this."""
    return resolve(_assessments("any", says_pass), rule=ReferenceRule.UNANIMOUS_OR_ADJUDICATED)


_SILENT = no_answer(UnknownReason.ABSTAINED, "cannot_tell")


def _pointwise(code: int) -> tuple[Answer, ...]:
    """The one answer; there is no place to go by."""
    if code in {_ABSTAINED, _BY_PLACE}:
        return (_SILENT,)
    return (answered(Verdict.PASS if code == _ACCEPTED else Verdict.FAIL),)


def _in_both_orders(code: int) -> tuple[Answer, Answer]:
    """The answers in both orders: the candidate B where it accepts, A where it does not."""
    if code == _BY_PLACE:
        return answered(Preference.A), answered(Preference.B)  # A is first in ab, B in ba
    said = _SILENT if code == _ABSTAINED else answered(Preference.B if code == _ACCEPTED else Preference.A)
    return said, said


@cache
def _outcome(code: int, *, both_orders: bool) -> Outcome:
    scale: AnyScale = PAIRWISE if both_orders else BINARY
    found = reconcile(_in_both_orders(code) if both_orders else _pointwise(code)).outcome(scale)
    if not isinstance(found, Outcome):
        raise AssertionError("both planted scales have a claim")
    return found
