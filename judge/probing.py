"""The work of `voirdire probe`: changed copies recorded as a dataset of their own, judged, and counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any

from sqlmodel import Session

from calibration.calibrate.references import read_references
from calibration.calibrate.verdicts import read_verdicts
from calibration.labels import ReferenceRule
from calibration.rendering.text import visible
from calibration.store.items import ErasedItem, Scope, add_items, iter_full_items
from calibration.values import Undefined
from judge.comparison import Accepted
from judge.probe_effects import Effect, ProbeWord, effects
from judge.probes import CHANGES, PLACEBO, changed, corpus_digest, families, told
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


@dataclass(frozen=True, slots=True)
class Probe:
    """Which judge is probed with what."""

    judge: JudgeSpec
    rubric: Rubric
    criterion: Criterion
    dataset: str
    """Of the changed copies; its name is made from what is in it."""
    originals: tuple[str, ...]
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
    most: int,
    seed: int,
    at: datetime,
) -> Probe:
    """The probe with its copies recorded; the same request over the same labels records nothing new.

    The items are those whose reference fails, an even draw of `most` of them.

    Raises:
        RecordError: no labelled failure.
        DeclarationError: a family that does not exist, or a criterion that cannot be probed.
    """
    asked = rubric.criterion(criterion)
    failures = _failures(session, rubric, asked, scope)
    if not failures:
        raise RecordError(
            f"no item with a failing reference under {criterion!r}: a probe asks whether failures become "
            "accepted; run `voirdire labels import` first"
        )
    chosen = sorted(Random(seed).sample(sorted(failures, key=_id), min(most, len(failures))), key=_id)
    names = wanted or families(tuple(f.key for f in rubric.fields if f.key not in ALL_OUTPUTS))
    made = {family: _copies(chosen, asked, family) for family in (PLACEBO, *names)}
    kept = {family: copies for family, copies in made.items() if copies}
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


def probe_rows(found: tuple[Effect, ...]) -> Iterator[tuple[str, ...]]:
    """A row for each family: name, flips, copies without a verdict, rise, p, word."""
    for each in found:
        most = "" if each.flipped_at_most == each.flipped.x else f" to {each.flipped_at_most}"
        yield (
            each.family,
            f"{each.flipped.x}{most}/{each.flipped.n}",
            f"{each.unknown}",
            f"[{each.lower:+.1%}, {each.upper:+.1%}]",
            f"{each.p_value:.3g}",
            each.said,
        )


def probe_words(probe: Probe, found: tuple[Effect, ...], *, bound: float) -> Iterator[str]:
    """What the table rests on, in lines of words."""
    names = ", ".join(f"{name} ({why})" for name, why in probe.not_assessed.items())
    yield (
        f"flips: accepted with the change and not in the unchanged repeat, of {len(probe.originals)} "
        f"reference failures; levels shared among {len(found)} families"
    )
    silent = sum(each.unknown for each in found)
    if silent:
        copies = "changed copy has" if silent == 1 else "changed copies have"
        yield f"{silent:,} {copies} no verdict: not accepted at least, and accepted at most"
    groups = len(set(probe.groups.values()))
    if groups < len(probe.originals):
        yield f"items share {groups} groups: intervals are of the effective size, p exchanges whole groups"
    told = [each.detectable for each in found]
    blind = next(
        (each for each in told if isinstance(each, Undefined)), None if told else Undefined("no family")
    )
    if blind is not None:
        yield f"smallest effect that could be found: none; {blind.reason}"
    else:
        least = max(each for each in told if not isinstance(each, Undefined))
        yield f"smallest effect that could be found in every family: a rise of {least:.1%} of the items,"
        yield "with as many flips back as were seen: the judge's own noise"
        yield f"bounded: the rise is shown to be at most {bound:.0%}"
    if names:
        yield f"not assessed: {visible(names)}"


def _id(item: Item) -> str:
    return item.item_id


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
    return {"order": "the judge is asked in one order; declare `order: both` to see its lean"}


def checked_families(names: tuple[str, ...]) -> tuple[str, ...]:
    """The families that are named, each once; raises DeclarationError for one that does not exist."""
    for name in names:
        if name not in CHANGES and not name.startswith("inject_"):
            raise DeclarationError(
                f"there is no probe {name!r}; there are: {', '.join(CHANGES)}, inject_FIELD"
            )
    return tuple(dict.fromkeys(names))
