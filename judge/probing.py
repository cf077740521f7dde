"""The work of `voirdire probe`: changed copies recorded as a dataset of their own, judged, and counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any

from sqlmodel import Session

from calibration.calibrate.references import read_references
from calibration.calibrate.verdicts import read_verdicts
from calibration.labels import ReferenceRule
from calibration.rendering.text import counted
from calibration.store.items import ErasedItem, Scope, add_items, iter_full_items
from judge.comparison import Accepted
from judge.probe_effects import Effect, ProbeWord, bounded_at_best, effects, items_needed
from judge.probes import PLACEBO, changed, corpus_digest, families, told
from judge.runs import RunPlan, plan_run
from judge.spec import JudgeSpec, ModelJudge
from rubrics.criterion import ALL_OUTPUTS, Criterion
from rubrics.digest import digest
from rubrics.errors import DeclarationError, RecordError
from rubrics.item import Item, Split
from rubrics.order import OrderPolicy
from rubrics.rubric import Rubric
from rubrics.scale import NoClaim
from rubrics.verdict import Outcome, Verdict

LEAST_DRAWN = 100
"""Failures that are probed where nobody says how many, if there are so many: fewer find little."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Which judge is probed with what."""

    judge: JudgeSpec
    rubric: Rubric
    criterion: Criterion
    dataset: str
    """Of the changed copies; its name is made from what is in it."""
    originals: tuple[str, ...]
    failures: int
    """Reference failures that there are; the originals are drawn from them."""
    enough: int | None
    """A number of them with which a judge that nothing moves ends as bounded; None where there is none."""
    groups: Mapping[str, str]
    """By original, the group of those that are not independent."""
    copies: Mapping[str, Mapping[str, str]]
    """By family the copy's id of each original that the family changes."""
    not_assessed: Mapping[str, str]
    plan: RunPlan


def prepare_probe(  # noqa: PLR0913 - keyword-only: what identifies a probe
    *,
    session: Session,
    judge: JudgeSpec,
    rubric: Rubric,
    criterion: str,
    scope: Scope,
    wanted: tuple[str, ...],
    most: int | None,
    seed: int,
    bound: float,
    at: datetime,
) -> Probe:
    """The probe with its copies recorded; the same request over the same labels records nothing new.

    The items are those whose reference fails, an even draw of `most` of them. By default as many as a judge
    that nothing moves needs to end as bounded by `bound`, and LEAST_DRAWN at least.

    Raises:
        RecordError: no labelled failure, or none that a family changes.
        DeclarationError: a family that does not exist, or a criterion that cannot be probed.
    """
    asked = rubric.criterion(criterion)
    names = _families(rubric, wanted)
    failures = _failures(session, rubric, asked, scope)
    if not failures:
        raise RecordError(
            f"no item with a failing reference under {criterion!r}: a probe asks whether failures become "
            "accepted; run `voirdire labels import` first"
        )
    if most is None:
        most = max(LEAST_DRAWN, _enough(failures, seed=seed, bound=bound, families=len(names)) or 0)
    chosen = _drawn(failures, most, seed)
    made = {family: _copies(chosen, asked, family) for family in (PLACEBO, *names)}
    kept = {family: copies for family, copies in made.items() if copies}
    if set(kept) == {PLACEBO}:
        raise RecordError(
            f"{', '.join(names)}: none of {counted(len(chosen), 'reference failure')} is changed, so that "
            "there is nothing to ask; name another --family, or none for all of them"
        )
    items = [copy for copies in kept.values() for copy in copies.values()]
    content = [corpus_digest(tuple(kept)), [[item.item_id, item.content_digest] for item in items]]
    dataset = f"probes-{digest([rubric.digest, criterion, content])[:16]}"
    add_items(session=session, dataset=dataset, items=items, at=at)
    plan = plan_run(
        session=session,
        judge=judge,
        rubric=rubric,
        dataset=dataset,
        criteria=[criterion],
        split=Split.TUNING,
    )
    skipped = {family: "changes no item of these" for family, copies in made.items() if not copies}
    return Probe(
        judge=judge,
        rubric=rubric,
        criterion=asked,
        dataset=dataset,
        originals=tuple(item.item_id for item in chosen),
        failures=len(failures),
        enough=_enough(failures, seed=seed, bound=bound, families=len(kept) - 1),
        groups={item.item_id: item.group for item in chosen},
        copies={f: {of: copy.item_id for of, copy in copies.items()} for f, copies in kept.items()},
        not_assessed={**skipped, **_order(judge)},
        plan=plan,
    )


def read_effects(*, session: Session, probe: Probe, bound: float) -> tuple[Effect, ...]:
    """What the judge's verdicts on the copies show, by family."""
    judged = read_verdicts(
        session=session,
        scope=Scope(dataset=probe.dataset),
        judge_digest=probe.judge.digest,
        rubric_digest=probe.rubric.digest,
        dataset=probe.dataset,
        criterion=probe.criterion,
    )
    scale = probe.criterion.scale
    said = {item: answer.outcome(scale) for item, answer in (judged.answers if judged else {}).items()}
    unchanged = {of: _settled(said.get(copy)) for of, copy in probe.copies[PLACEBO].items()}
    after = {
        family: {of: _decided(said.get(copy)) for of, copy in copies.items()}
        for family, copies in probe.copies.items()
        if family != PLACEBO
    }
    words = {family: told(family) for family in after}
    return effects(unchanged, after, words, bound=bound, groups=probe.groups)


def _decided(outcome: Outcome | NoClaim | None) -> Accepted:
    """Whether a changed copy is accepted; None without a verdict, since silence shows no resistance."""
    if outcome is None or isinstance(outcome, NoClaim) or outcome.verdict is Verdict.UNKNOWN:
        return None
    return outcome.accepted


def _settled(outcome: Outcome | NoClaim | None) -> Accepted:
    """Whether an unchanged copy is accepted; None only while it may still be: unknown is no acceptance."""
    if outcome is None or isinstance(outcome, NoClaim) or outcome.is_open:
        return None
    return outcome.accepted


def probe_object(probe: Probe, found: tuple[Effect, ...], *, bound: float) -> dict[str, Any]:
    """The probe as scripts and guards read it."""
    return {
        "schema": "probe/1",
        "judge": str(probe.judge.name),
        "judge_digest": probe.judge.digest,
        "rubric": probe.rubric.ref,
        "rubric_digest": probe.rubric.digest,
        "criterion": probe.criterion.key,
        "corpus": corpus_digest(tuple(probe.copies)),
        "dataset": probe.dataset,
        "items": len(probe.originals),
        "groups": len(set(probe.groups.values())),
        "bound": bound,
        "effects": [each.to_json() for each in found],
        "not_assessed": [{"name": name, "reason": why} for name, why in probe.not_assessed.items()],
        "word": overall(found).value,
    }


def overall(found: tuple[Effect, ...]) -> ProbeWord:
    """Biased if any family is, else underpowered if any is, else bounded."""
    words = {each.word for each in found}
    for word in (ProbeWord.BIASED, ProbeWord.UNDERPOWERED):
        if word in words:
            return word
    return ProbeWord.BOUNDED if found else ProbeWord.UNDERPOWERED


def _id(item: Item) -> str:
    return item.item_id


def _drawn(failures: list[Item], most: int, seed: int) -> list[Item]:
    return sorted(Random(seed).sample(sorted(failures, key=_id), min(most, len(failures))), key=_id)


def _enough(failures: list[Item], *, seed: int, bound: float, families: int) -> int | None:
    """So many of the failures that a judge that nothing moves ends as bounded; None where all are too few.

    The fewest where each is in a group of its own, else at most a twentieth more.
    """
    n = items_needed(bound=bound, families=families)
    while n <= len(failures):
        groups = [item.group for item in _drawn(failures, n, seed)]
        if bounded_at_best(groups, bound=bound, families=families):
            return n
        n += math.ceil(n / 20)
    every = [item.group for item in failures]
    return len(failures) if bounded_at_best(every, bound=bound, families=families) else None


def _failures(session: Session, rubric: Rubric, criterion: Criterion, scope: Scope) -> list[Item]:
    references = read_references(
        session=session,
        scope=scope,
        rubric_digest=rubric.digest,
        criterion=criterion,
        rule=ReferenceRule.MAJORITY,
        min_raters=1,
    ).by_item
    failing = {item for item, each in references.items() if each.label.verdict is Verdict.FAIL}
    items = iter_full_items(session=session, scope=scope)
    return [item for item in items if not isinstance(item, ErasedItem) and item.item_id in failing]


def _copies(items: list[Item], criterion: Criterion, family: str) -> dict[str, Item]:
    found = {item.item_id: changed(item, criterion, family) for item in items}
    return {of: copy for of, copy in found.items() if copy is not None}


def _order(judge: JudgeSpec) -> dict[str, str]:
    if not isinstance(judge, ModelJudge):
        return {}
    if judge.order is OrderPolicy.BOTH:
        return {"order": "asked in both orders already; the report has the position figures"}
    return {
        "order": "the judge is asked in one order; add a version of it with `order: both` and run that: "
        "the report has the position figures"
    }


def _families(rubric: Rubric, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The families that are wanted, each once, or all; DeclarationError for one that does not exist."""
    known = families(tuple(field.key for field in rubric.fields if field.key not in ALL_OUTPUTS))
    for name in wanted:
        if name not in known:
            raise DeclarationError(
                f"there is no probe {name!r} under {rubric.ref}; there are: {', '.join(known)}"
            )
    return tuple(dict.fromkeys(wanted)) or known
