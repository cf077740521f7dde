"""A whole rubric as a judge of its own: combine() of its verdicts against combine() of the references.

Admitted criteria do not admit their conjunction: an output that fails may fail on any of them, and the whole
is accepted only where every criterion is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calibration.evidence import Case
from calibration.labels import ReferenceLabel, UnresolvedReason
from calibration.statistics.error_rates import whole_rubric_case
from rubrics.verdict import Verdict

WHOLE = "(whole rubric)"
"""The criterion's name in a report on all required criteria together."""


def whole_rubric_cases(by_criterion: Mapping[str, Sequence[Case]]) -> list[Case]:
    """One case for each item, over the criteria given; an item that a criterion lacks is missing there."""
    required = list(by_criterion)
    items: dict[str, dict[str, Case]] = {}
    for criterion, cases in by_criterion.items():
        for case in cases:
            items.setdefault(case.item_id, {})[criterion] = case
    return [_case(item_id, parts, required) for item_id, parts in items.items()]


def _case(item_id: str, parts: Mapping[str, Case], required: Sequence[str]) -> Case:
    some = next(iter(parts.values()))
    combined = whole_rubric_case(
        {criterion: case.outcome for criterion, case in parts.items()},
        {criterion: case.reference.verdict for criterion, case in parts.items()},
        required=required,
    )
    raters = min((case.reference.raters for case in parts.values()), default=0)
    resolved = combined.reference in {Verdict.PASS, Verdict.FAIL}
    return Case(
        item_id=item_id,
        cluster=some.cluster,
        reference=ReferenceLabel(
            combined.reference if resolved else Verdict.UNKNOWN,
            raters,
            adjudicated=any(case.reference.adjudicated for case in parts.values()),
            unresolved=None if resolved else UnresolvedReason.DISAGREEMENT,
        ),
        outcome=combined.outcome,
        slices=some.slices,
        stratum=some.stratum,
        inclusion_probability=some.inclusion_probability,
    )
