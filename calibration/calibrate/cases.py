"""Items, references and a judge's answers -> the cases that a report is built from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from calibration.calibrate.references import Referenced, References
from calibration.calibrate.verdicts import MISSING, Judged
from calibration.evidence import Case
from calibration.labels import ReferenceLabel, UnresolvedReason
from calibration.report.supplement import AnswerTable
from calibration.store.items import StoredItem
from rubrics.answer import Answer
from rubrics.criterion import Criterion
from rubrics.scale import NoClaim, PreferenceScale
from rubrics.verdict import FAIL, PASS, Outcome, Verdict

MAX_SLICE_VALUES = 50
"""A tag with more values than this is an identifier, not a slice."""
NO_LABEL = ReferenceLabel(Verdict.UNKNOWN, 0, unresolved=UnresolvedReason.NO_LABEL)


@dataclass(frozen=True, slots=True)
class Placed:
    """An item of the set with the stratum and the probability that its design gave it."""

    item: StoredItem
    stratum: str = ""
    inclusion_probability: float | None = None


def slice_names(items: Iterable[StoredItem]) -> tuple[str, ...]:
    """The tags that make slices: at least two values, at most MAX_SLICE_VALUES."""
    values: dict[str, set[str]] = {}
    for item in items:
        for name, value in item.tags.items():
            values.setdefault(name, set()).add(value)
    return tuple(sorted(name for name, seen in values.items() if 2 <= len(seen) <= MAX_SLICE_VALUES))


def make_cases(
    placed: Sequence[Placed], references: References, judged: Judged, criterion: Criterion
) -> list[Case]:
    """One case for each item of the set; an item without label or verdict stays, as unknown."""
    slices = slice_names(each.item for each in placed)
    return [_case(each, references.by_item, judged.answers, criterion, slices) for each in placed]


def _case(
    placed: Placed,
    references: Mapping[str, Referenced],
    answers: Mapping[str, Answer],
    criterion: Criterion,
    slices: Sequence[str],
) -> Case:
    item = placed.item
    found = references.get(item.item_id)
    return Case(
        item_id=item.item_id,
        cluster=item.group,
        reference=found.label if found else NO_LABEL,
        outcome=outcome_of(answers.get(item.item_id, MISSING), criterion, found.answer if found else None),
        slices=tuple((name, item.tags[name]) for name in slices if name in item.tags),
        failure_modes=found.failure_modes if found else (),
        severity=severity_of(found.failure_modes if found else (), criterion),
        stratum=placed.stratum,
        inclusion_probability=placed.inclusion_probability,
    )


def severity_of(modes: Sequence[str], criterion: Criterion) -> str:
    """The most severe level that the named failure modes have by themselves; empty where none has one."""
    levels = [level.key for level in criterion.severity]
    by_mode = {mode.key: mode.severity for mode in criterion.failure_modes}
    found = [levels.index(level) for level in (by_mode.get(mode) for mode in modes) if level in levels]
    return levels[max(found)] if found else ""


def outcome_of(answer: Answer, criterion: Criterion, reference: str | None) -> Outcome:
    """The outcome that a judge's answer amounts to.

    Without a declared candidate an acceptance is a preference for the side that the reference rejects;
    the false-acceptance rate of such cases is the wrong-side rate.
    """
    outcome = answer.outcome(criterion.scale)
    if not isinstance(outcome, NoClaim):
        return outcome
    wrong = reference in {"A", "B"} and answer.value in {"A", "B"} and answer.value != reference
    return PASS if wrong else FAIL


def has_claim(criterion: Criterion) -> bool:
    """False for a preference without a declared candidate."""
    return not isinstance(criterion.scale, PreferenceScale) or criterion.scale.has_claim


def answer_table(
    references: References, judged: Judged, criterion: Criterion, items: Iterable[str]
) -> AnswerTable:
    """Reference answer by judge answer on the criterion's own scale, unknowns of the judge last."""
    words = criterion.answers
    place = {word: i for i, word in enumerate(words)}
    counts = [[0] * (len(words) + 1) for _ in words]
    for item_id in items:
        found = references.by_item.get(item_id)
        if found is None or found.answer not in place:
            continue
        value = judged.answers.get(item_id, MISSING).value
        counts[place[found.answer]][place[value] if value is not None else len(words)] += 1
    return AnswerTable(
        answers=words,
        counts=tuple(tuple(row) for row in counts),
        ordered=criterion.scale.kind == "ordinal",
    )
