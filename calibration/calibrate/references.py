"""Recorded labels and adjudications -> the references of one criterion, with what they rest on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from sqlmodel import Session

from calibration.labels import Adjudication, Assessment, LabelSource, ReferenceLabel, ReferenceRule
from calibration.reference import resolve
from calibration.store.assessments import StoredLabel, iter_labels
from calibration.store.items import Scope
from calibration.store.references import (
    ReferenceEntry,
    StoredAdjudication,
    add_reference_labels,
    iter_adjudications,
)
from rubrics.answer import answered
from rubrics.criterion import Criterion
from rubrics.digest import digest
from rubrics.scale import NoClaim, Preference, PreferenceScale
from rubrics.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Referenced:
    """The reference of one item."""

    label: ReferenceLabel
    answer: str | None
    """The level or preference behind it, where the raters agree on one; None where they do not."""
    inputs: str
    """Digest of the labels and the adjudication that it rests on."""
    failure_modes: tuple[str, ...] = ()
    """Modes that raters named on a fail, sorted."""


@dataclass(frozen=True, slots=True)
class References:
    """The references of one criterion and the assessments behind them."""

    by_item: dict[str, Referenced]
    assessments: tuple[Assessment, ...]
    conflicting: int
    """Items on which a rater's own repeats disagree; that rater then counts as cannot-decide."""


def read_references(
    *,
    session: Session,
    scope: Scope,
    rubric_digest: str,
    criterion: Criterion,
    rule: ReferenceRule,
    min_raters: int,
    sources: frozenset[LabelSource] = frozenset({LabelSource.HUMAN}),
) -> References:
    """The reference of every labelled item in the scope, from its raters' live labels.

    Args:
        session: a reading session.
        scope: which items.
        rubric_digest: of the rubric that the raters answered.
        criterion: of that rubric.
        rule: how labels become a reference.
        min_raters: fewer leave an item unresolved.
        sources: whose labels count; model and code labels only where they were asked for.
    """
    key = criterion.key
    labels = iter_labels(session=session, scope=scope, rubric_digest=rubric_digest, criterion=key)
    rulings = {
        ruling.item_id: ruling
        for ruling in iter_adjudications(
            session=session, scope=scope, rubric_digest=rubric_digest, criterion=key
        )
    }
    by_item: dict[str, Referenced] = {}
    assessments: list[Assessment] = []
    conflicting = 0
    wanted = (label for label in labels if label.source in sources)
    for item_id, group in groupby(wanted, key=lambda label: label.item_id):
        mine = list(group)
        said, clashes = _one_per_rater(mine)
        conflicting += clashes
        read = [_assessment(label, criterion) for label in said]
        assessments += read
        ruling = rulings.pop(item_id, None)
        by_item[item_id] = _referenced(mine, said, read, ruling, criterion, rule, min_raters)
    for item_id, ruling in rulings.items():
        by_item[item_id] = _referenced([], [], [], ruling, criterion, rule, min_raters)
    return References(by_item, tuple(assessments), conflicting)


@dataclass(frozen=True, slots=True)
class _Said:
    """What one rater says of one item, over hidden repeats."""

    label: StoredLabel
    answer: str


def _one_per_rater(labels: Iterable[StoredLabel]) -> tuple[list[_Said], int]:
    """One answer a rater: the common one of its repeats, or cannot-decide where they disagree."""
    said, clashes = [], 0
    for _, group in groupby(labels, key=lambda label: label.rater):
        repeats = list(group)
        answers = {label.answer for label in repeats}
        clashes += len(answers) > 1
        said.append(_Said(repeats[0], answers.pop() if len(answers) == 1 else Verdict.UNKNOWN.value))
    return said, clashes


def _assessment(said: _Said, criterion: Criterion) -> Assessment:
    label = said.label
    return Assessment(
        item_id=label.item_id,
        criterion=label.criterion,
        rater=label.rater,
        verdict=verdict_of(said.answer, criterion),
        blind=label.blind,
        source=label.source,
    )


def verdict_of(answer: str, criterion: Criterion) -> Verdict:
    """The verdict that a rater's answer amounts to; without a declared candidate, see wrong_side."""
    if answer == Verdict.UNKNOWN.value:
        return Verdict.UNKNOWN
    outcome = answered(answer).outcome(criterion.scale)
    if isinstance(outcome, NoClaim):
        # every item with a preference can be judged to the wrong side: it plays the part of a failure
        return Verdict.UNKNOWN if answer == Preference.TIE.value else Verdict.FAIL
    return outcome.verdict


def _referenced(
    labels: Sequence[StoredLabel],
    said: Sequence[_Said],
    read: Sequence[Assessment],
    ruling: StoredAdjudication | None,
    criterion: Criterion,
    rule: ReferenceRule,
    min_raters: int,
) -> Referenced:
    adjudication = None
    if ruling is not None:
        adjudication = Adjudication(
            ruling.item_id, ruling.criterion, ruling.adjudicator, verdict_of(ruling.answer, criterion)
        )
    answer = ruling.answer if ruling is not None else _agreed([s.answer for s in said], rule)
    label = resolve(read, adjudication, rule=rule, min_raters=min_raters)
    if _no_claim(criterion) and ruling is None and label.resolved and answer is None:
        # two raters who prefer different sides agree that there is a preference and not on which
        label = resolve([], None, rule=rule)
    inputs = digest([sorted(label.digest for label in labels), ruling.digest if ruling else None])
    modes = sorted({said.failure_mode for said in labels if said.failure_mode})
    return Referenced(label, answer, inputs, tuple(modes) if label.verdict is Verdict.FAIL else ())


def _no_claim(criterion: Criterion) -> bool:
    return isinstance(criterion.scale, PreferenceScale) and criterion.scale.candidate is None


def _agreed(answers: Sequence[str], rule: ReferenceRule) -> str | None:
    """The one answer that the rule finds in what was said, or None."""
    needed = len(answers) // 2 + 1 if rule is ReferenceRule.MAJORITY else len(answers)
    for answer in set(answers):
        if answers.count(answer) >= needed:
            return None if answer == Verdict.UNKNOWN.value else answer
    return None


def record_references(
    *,
    session: Session,
    dataset: str,
    rubric_digest: str,
    criterion: str,
    rule: ReferenceRule,
    min_raters: int,
    references: References,
    at: datetime,
) -> None:
    """Record the references; the same rule over the same labels adds nothing."""

    def entries() -> Iterator[ReferenceEntry]:
        for item_id, found in references.by_item.items():
            yield ReferenceEntry(item_id, criterion, found.label, found.inputs, found.answer)

    add_reference_labels(
        session=session,
        dataset=dataset,
        rubric_digest=rubric_digest,
        rule=rule,
        min_raters=min_raters,
        references=entries(),
        at=at,
    )
