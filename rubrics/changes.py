"""What changed within one criterion, each change with its effect on acceptance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from rubrics.criterion import Criterion, Guidance, JudgeRole
from rubrics.record import shown
from rubrics.scale import OrdinalScale, PreferenceScale
from rubrics.verdict import Verdict
from rubrics.words import Run, word_diff


class Effect(StrEnum):
    """Which way a change moves acceptance, as far as the structure shows it."""

    WEAKENS = "weakens"
    """Outputs that were not accepted before may be accepted now."""
    STRENGTHENS = "strengthens"
    """Outputs that were accepted before may not be accepted now."""
    REDEFINES = "redefines"
    """Another question is asked or other evidence shown; old and new verdicts are not comparable."""
    WORDING = "wording"
    """Words changed and no rule did; which way they pull, a person has to read."""


class Part(StrEnum):
    """What of a rubric changed."""

    TITLE = "title"
    PURPOSE = "purpose"
    ESTABLISHES = "establishes"
    DOES_NOT_ESTABLISH = "does_not_establish"
    EVIDENCE = "evidence"
    CRITERION = "criterion"
    QUESTION = "question"
    DIMENSION = "dimension"
    IMPORTED = "imported"
    ROLE = "role"
    REQUIRED = "required"
    SCALE = "scale"
    LEVEL = "level"
    ACCEPT_AT = "accept_at"
    CANDIDATE = "candidate"
    TIE_ACCEPTS = "tie_accepts"
    GUIDANCE = "guidance"
    SEVERITY = "severity"
    FAILURE_MODE = "failure_mode"
    REQUIRES = "requires"
    EXAMPLE = "example"


class Action(StrEnum):
    """What was done to it."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    REORDERED = "reordered"


@dataclass(frozen=True, slots=True)
class Change:
    """One change from the old to the new version."""

    part: Part
    action: Action
    effect: Effect
    sentence: str
    """What changed and what that does, for a person; without the criterion's key."""
    criterion: str = ""
    """The key of the criterion that it belongs to; "" for the rubric as a whole."""
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        return f"{self.criterion}: {self.sentence}" if self.criterion else self.sentence

    @property
    def words(self) -> tuple[Run, ...]:
        """The word-level difference of `before` and `after`."""
        return word_diff(self.before, self.after)


@dataclass(frozen=True, slots=True)
class Listed:
    """How the entries of one list are compared: by key, each with its text."""

    part: Part
    noun: str
    effects: Mapping[Action, Effect]
    reorder: Effect = Effect.WORDING


MORE_OR_LESS = {Action.ADDED: Effect.STRENGTHENS, Action.REMOVED: Effect.WEAKENS}
WORDS_ONLY = {Action.ADDED: Effect.WORDING, Action.REMOVED: Effect.WORDING}
REDEFINING = {Action.ADDED: Effect.REDEFINES, Action.REMOVED: Effect.REDEFINES}
_TOWARDS = {True: Effect.STRENGTHENS, False: Effect.WEAKENS}


def changed(part: Part, effect: Effect, sentence: str, *, before: str, after: str) -> Change:
    """A change of one value."""
    return Change(part, Action.CHANGED, effect, sentence, before=before, after=after)


def listed_changes(how: Listed, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Change]:
    """Entries removed and reworded in the order of the old list, then those added, then a new order."""
    for key, text in old.items():
        name = f"{how.noun} {shown(key)}"
        if key not in new:
            effect = how.effects[Action.REMOVED]
            yield Change(how.part, Action.REMOVED, effect, f"{name} removed", before=text)
        elif new[key] != text:
            yield changed(how.part, Effect.WORDING, f"{name} reworded", before=text, after=new[key])
    for key, text in new.items():
        if key not in old:
            effect = how.effects[Action.ADDED]
            yield Change(how.part, Action.ADDED, effect, f"{how.noun} {shown(key)} added", after=text)
    kept = [key for key in old if key in new], [key for key in new if key in old]
    if kept[0] != kept[1]:
        before, after = (", ".join(keys) for keys in kept)
        sentence = f"the {how.noun}s stand in another order"
        yield Change(how.part, Action.REORDERED, how.reorder, sentence, before=before, after=after)


def criterion_changes(old: Criterion, new: Criterion) -> tuple[Change, ...]:
    """Every change from one version of a criterion to another of the same key; empty where they are equal."""
    parts = (_standing, _scale, _guidance, _failures, _requires, _examples, _words)
    return tuple(replace(change, criterion=new.key) for part in parts for change in part(old, new))


def _standing(old: Criterion, new: Criterion) -> Iterator[Change]:
    if old.required != new.required:
        yield changed(
            Part.REQUIRED,
            _TOWARDS[new.required],
            "required now: an output must pass it to be accepted"
            if new.required
            else "no longer required: an output that fails it can be accepted",
            before=_yes_no(old.required),
            after=_yes_no(new.required),
        )
    if old.role is not new.role:
        ranks = list(JudgeRole)  # declared from the role that decides most to the one that decides nothing
        effect = _TOWARDS[ranks.index(new.role) < ranks.index(old.role)]
        before, after = old.role.value, new.role.value
        yield changed(Part.ROLE, effect, f"role {after} now, {before} before", before=before, after=after)


def _scale(old: Criterion, new: Criterion) -> Iterator[Change]:
    before, after = old.scale, new.scale
    if before.kind != after.kind:
        sentence = f"answered on a scale of kind {after.kind} now, {before.kind} before"
        yield changed(Part.SCALE, Effect.REDEFINES, sentence, before=before.kind, after=after.kind)
    elif isinstance(before, OrdinalScale) and isinstance(after, OrdinalScale):
        yield from _levels(before, after)
    elif isinstance(before, PreferenceScale) and isinstance(after, PreferenceScale):
        yield from _claim(before, after)


def _levels(old: OrdinalScale, new: OrdinalScale) -> Iterator[Change]:
    how = Listed(Part.LEVEL, "level", REDEFINING, Effect.REDEFINES)
    yield from listed_changes(how, *({level.level: level.anchor for level in s.levels} for s in (old, new)))
    before, after = old.accept_at, new.accept_at
    if before != after:
        effect = _direction(before, after, (old.answers, new.answers))
        sentence = f"passes from level {after} on, from {before} on before"
        yield changed(Part.ACCEPT_AT, effect, sentence, before=before, after=after)


def _claim(old: PreferenceScale, new: PreferenceScale) -> Iterator[Change]:
    if old.candidate != new.candidate:
        before, after = old.candidate or "none", new.candidate or "none"
        sentence = f"declared candidate {after} now, {before} before"
        yield changed(Part.CANDIDATE, Effect.REDEFINES, sentence, before=before, after=after)
    if old.tie_accepts != new.tie_accepts:
        yield changed(
            Part.TIE_ACCEPTS,
            _TOWARDS[old.tie_accepts],
            f"a tie is {'accepted now' if new.tie_accepts else 'no longer accepted'}",
            before=_yes_no(old.tie_accepts),
            after=_yes_no(new.tie_accepts),
        )


def _guidance(old: Criterion, new: Criterion) -> Iterator[Change]:
    for name in Guidance.model_fields:
        effects = MORE_OR_LESS if name in {"pass_when", "fail_when"} else WORDS_ONLY
        texts = (getattr(criterion.guidance, name) for criterion in (old, new))
        yield from listed_changes(
            Listed(Part.GUIDANCE, "guidance", effects), *({name: text} if text else {} for text in texts)
        )


def _failures(old: Criterion, new: Criterion) -> Iterator[Change]:
    levels = [{level.key: level.when for level in c.severity} for c in (old, new)]
    yield from listed_changes(
        Listed(Part.SEVERITY, "severity level", MORE_OR_LESS, Effect.REDEFINES), *levels
    )
    modes = [{mode.key: mode.when for mode in c.failure_modes} for c in (old, new)]
    yield from listed_changes(Listed(Part.FAILURE_MODE, "failure mode", MORE_OR_LESS), *modes)
    severity_before = {mode.key: mode.severity for mode in old.failure_modes}
    for mode in new.failure_modes:
        before = severity_before.get(mode.key, mode.severity)
        if before != mode.severity:
            words = before or "none", mode.severity or "none"
            effect = _severity_effect(before, mode.severity, [list(keys) for keys in levels])
            sentence = f"failure mode {mode.key!r} of severity {words[1]} now, {words[0]} before"
            yield changed(Part.FAILURE_MODE, effect, sentence, before=words[0], after=words[1])


def _severity_effect(before: str | None, after: str | None, orders: Sequence[Sequence[str]]) -> Effect:
    if before is None or after is None:
        return _TOWARDS[before is None]
    return _direction(before, after, orders)


def _direction(before: str, after: str, orders: Sequence[Sequence[str]]) -> Effect:
    """Strengthens where `after` stands above `before` in every one of the orders, weakens where below."""
    if not all(before in order and after in order for order in orders):
        return Effect.REDEFINES
    upward = {order.index(after) > order.index(before) for order in orders}
    return _TOWARDS[upward.pop()] if len(upward) == 1 else Effect.REDEFINES


def _requires(old: Criterion, new: Criterion) -> Iterator[Change]:
    how = Listed(Part.REQUIRES, "required evidence field", MORE_OR_LESS)
    yield from listed_changes(how, *({key: key for key in criterion.requires} for criterion in (old, new)))


def _examples(old: Criterion, new: Criterion) -> Iterator[Change]:
    reasons = ({example.case: example.why for example in criterion.examples} for criterion in (old, new))
    yield from listed_changes(Listed(Part.EXAMPLE, "example", WORDS_ONLY), *reasons)
    verdict_before = {example.case: example.verdict for example in old.examples}
    for example in new.examples:
        before, after = verdict_before.get(example.case, example.verdict), example.verdict
        if before != after:
            passed = old.read(before) is Verdict.PASS, new.read(after) is Verdict.PASS
            effect = _TOWARDS[passed[0]] if passed[0] != passed[1] else Effect.WORDING
            sentence = f"the example {shown(example.case)} is {after} now, {before} before"
            yield changed(Part.EXAMPLE, effect, sentence, before=before, after=after)


def _words(old: Criterion, new: Criterion) -> Iterator[Change]:
    for part, before, after in (
        (Part.TITLE, old.title, new.title),
        (Part.QUESTION, old.question, new.question),
        (Part.DIMENSION, old.dimension or "", new.dimension or ""),
    ):
        if before != after:
            yield changed(part, Effect.WORDING, f"{part.value} reworded", before=before, after=after)
    if old.imported != new.imported:
        sentence = f"the guidance that its raters had is {'not known' if new.imported else 'declared'} now"
        before, after = _yes_no(old.imported), _yes_no(new.imported)
        yield changed(Part.IMPORTED, Effect.REDEFINES, sentence, before=before, after=after)


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"
