"""What changed between two versions of a rubric, whether acceptance got weaker, and what no longer holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rubrics.changes import (
    REDEFINING,
    WORDS_ONLY,
    Action,
    Change,
    Effect,
    Listed,
    Part,
    changed,
    criterion_changes,
    listed_changes,
)
from rubrics.criterion import Criterion, EvidenceField, EvidenceSource, JudgeRole
from rubrics.rubric import Rubric

_SHARED = frozenset({Part.TITLE, Part.PURPOSE, Part.EVIDENCE})
"""Parts of the whole rubric that are shown beside every criterion."""


@dataclass(frozen=True, slots=True)
class RubricDiff:
    """The old and the new version, the changes between them, and what they mean for evidence."""

    old: Rubric
    new: Rubric
    changes: tuple[Change, ...]

    def by_effect(self, effect: Effect) -> tuple[Change, ...]:
        """The changes with the effect, in the order of the rubric."""
        return tuple(change for change in self.changes if change.effect is effect)

    @property
    def weakened(self) -> tuple[Change, ...]:
        """The changes by which outputs may be accepted that were not before."""
        return self.by_effect(Effect.WEAKENS)

    @property
    def identical(self) -> bool:
        """True for one and the same published rubric: nothing is invalidated."""
        return self.old.digest == self.new.digest

    @property
    def only_wording(self) -> bool:
        """True where no rule changed; a person may then sign that the change is not substantive."""
        return all(change.effect is Effect.WORDING for change in self.changes)

    @property
    def untouched(self) -> tuple[str, ...]:
        """Criteria asked in the same words on the same evidence in both; evidence on them may be comparable.

        Empty where the title, the purpose or an evidence field changed: those stand beside every criterion.
        """
        if any(change.part in _SHARED and not change.criterion for change in self.changes):
            return ()
        before = {criterion.key: criterion for criterion in self.old.criteria}
        return tuple(new.key for new in self.new.criteria if before.get(new.key) == new)

    @property
    def asked_anew(self) -> tuple[str, ...]:
        """Criteria of the new version that need their own labels, verdicts and decisions."""
        return tuple(new.key for new in self.new.criteria if new.key not in self.untouched)

    def consequences(self) -> tuple[str, ...]:
        """What the new version invalidates, a sentence each; empty for identical rubrics."""
        if self.identical:
            return ()
        old, new = self.old.ref, self.new.ref
        said = [
            f"Labels, verdicts, sets, reports and decisions made under {old} stay with it; "
            f"{new} begins with none, so no judge may grade by it yet."
        ]
        if not self.changes:
            said.append("Both ask and show exactly the same; a signed carry-over may be considered.")
        elif self.asked_anew:
            said.append(f"To be labelled, judged and decided anew: {', '.join(self.asked_anew)}.")
        if self.changes and self.untouched:
            said.append(f"Unchanged, so a signed carry-over may be considered: {', '.join(self.untouched)}.")
        required = [[criterion.key for criterion in rubric.required] for rubric in (self.old, self.new)]
        if set(required[0]) != set(required[1]):
            words = [", ".join(keys) or "nothing" for keys in required]
            said.append(f"The overall verdict rests on {words[1]} now; before, on {words[0]}.")
        return tuple(said)


def diff_rubrics(old: Rubric, new: Rubric) -> RubricDiff:
    """Every change from the old version to the new; name and version themselves are no change.

    A change is found wherever the content digests differ.
    """
    changes = (*_whole(old, new), *_evidence(old, new), *_criteria(old, new))
    return RubricDiff(old, new, changes)


def _whole(old: Rubric, new: Rubric) -> Iterator[Change]:
    for part, before, after in (
        (Part.TITLE, old.title, new.title),
        (Part.PURPOSE, old.purpose, new.purpose),
    ):
        if before != after:
            yield changed(part, Effect.WORDING, f"{part.value} reworded", before=before, after=after)
    for part, noun in ((Part.ESTABLISHES, "claim"), (Part.DOES_NOT_ESTABLISH, "caveat")):
        claims = ({text: text for text in getattr(rubric, part.value)} for rubric in (old, new))
        yield from listed_changes(Listed(part, noun, WORDS_ONLY), *claims)


def _evidence(old: Rubric, new: Rubric) -> Iterator[Change]:
    before, after = ({field.key: field for field in rubric.fields} for rubric in (old, new))
    how = Listed(Part.EVIDENCE, "evidence field", REDEFINING)
    yield from listed_changes(how, _field_words(before), _field_words(after))
    for key, field in after.items():
        source = before.get(key, field).source
        if source is not field.source:
            sentence = f"evidence field {key!r} is {field.source.value} text now, {source.value} before"
            effect = _trust_effect(source, field.source)
            yield changed(Part.EVIDENCE, effect, sentence, before=source.value, after=field.source.value)
    if before == after and list(before) == list(after) and old.evidence != new.evidence:
        sentence = "evidence fields that every item has are written out differently; the same is shown"
        yield changed(Part.EVIDENCE, Effect.WORDING, sentence, before="", after="")


def _field_words(fields: Mapping[str, EvidenceField]) -> dict[str, str]:
    return {key: f"{field.title}\n{field.description}".strip() for key, field in fields.items()}


def _trust_effect(before: EvidenceSource, after: EvidenceSource) -> Effect:
    # text of the candidate that is trusted from now on can argue for its own acceptance
    if before is EvidenceSource.CANDIDATE:
        return Effect.WEAKENS
    return Effect.STRENGTHENS if after is EvidenceSource.CANDIDATE else Effect.REDEFINES


def _criteria(old: Rubric, new: Rubric) -> Iterator[Change]:
    before, after = ({criterion.key: criterion for criterion in rubric.criteria} for rubric in (old, new))
    for key, criterion in before.items():
        if key not in after:
            effect = Effect.WEAKENS if _binds(criterion) else Effect.WORDING
            yield Change(Part.CRITERION, Action.REMOVED, effect, "removed", key, before=criterion.question)
        else:
            yield from criterion_changes(criterion, after[key])
    for key, criterion in after.items():
        if key not in before:
            effect = Effect.STRENGTHENS if _binds(criterion) else Effect.WORDING
            yield Change(Part.CRITERION, Action.ADDED, effect, "added", key, after=criterion.question)
    kept = [key for key in before if key in after], [key for key in after if key in before]
    if kept[0] != kept[1]:
        orders = [", ".join(keys) for keys in kept]
        sentence = "the criteria stand in another order"
        yield Change(Part.CRITERION, Action.REORDERED, Effect.WORDING, sentence, "", *orders)


def _binds(criterion: Criterion) -> bool:
    return criterion.required or criterion.role is JudgeRole.REVIEW_TRIGGER
