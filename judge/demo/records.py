"""The demo's evidence, put into a store as anybody's evidence would be: rubric, items, labels, judges, set.

Everything is recorded by its content, so recording it again adds nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from calibration.calibrate.sets import Drawing, draw_set, freeze
from calibration.labels import Adjudication, Assessment
from calibration.sampling import DesignKind, SamplingDesign
from calibration.store.assessments import LabelEntry, add_labels
from calibration.store.database import Store
from calibration.store.imports import record_import, seal_import
from calibration.store.items import Scope, add_items, iter_full_items, list_datasets
from calibration.store.judges import add_judge
from calibration.store.references import AdjudicationEntry, add_adjudications
from calibration.store.rubrics import add_rubric
from calibration.store.sets import StoredSet, iter_members, list_sets
from judge.baselines import BaselineName
from judge.demo.sample import (
    ORIGIN,
    demo_adjudications,
    demo_assessments,
    demo_file,
    demo_items,
)
from judge.spec import BaselineJudge, JudgeSpec, parse_judge
from rubrics.errors import DifferentRecord, RecordError
from rubrics.item import Item
from rubrics.loader import load_catalog
from rubrics.rubric import Rubric

DATASET = "demo"
RUBRIC = "refund-policy"
ACTOR = "demo"
"""Who records and signs: nobody in particular."""
DRAWN = {"states_terms": 150, "resolves_request": 108}
"""Items of the set of each criterion, named after it: a model, asked in both orders, makes 216 calls on the
second. What the first leaves out is graded."""
SEED = 0
_RULE = "rule_terms.yaml"


@dataclass(frozen=True, slots=True)
class Sample:
    """What of the sample is recorded."""

    rubric: Rubric
    sets: Mapping[str, StoredSet]
    """By criterion."""
    kept: tuple[Item, ...]
    """The items that the first set leaves out: its judges were not examined on them."""


def demo_judges() -> tuple[JudgeSpec, ...]:
    """The judges that need no model: the rule judge for states_terms, and every baseline."""
    rule = parse_judge(demo_file(_RULE).read_text(encoding="utf-8"), source=_RULE)
    return (rule, *(BaselineJudge(kind="baseline", name=name) for name in BaselineName))


def require_own_store(store: Store) -> None:
    """Refuse a store that holds other evidence than the demo's: the demo would mix into it.

    Raises:
        RecordError: it has another dataset.
    """
    with store.read() as session:
        others = [name for name, _ in list_datasets(session=session) if name != DATASET]
    if others:
        raise RecordError(
            f"{store.where} holds the dataset {others[0]!r}, which is not the demo's; "
            "give the demo a folder of its own with --out"
        )


def record_sample(store: Store, judges: Iterable[JudgeSpec], *, at: datetime) -> Sample:
    """The sample and the judges, recorded; the sets drawn and frozen if they were not.

    Args:
        store: the demo's own store, its policies already recorded.
        judges: declared before the sets are frozen, so that texts which their authors saw are found.
        at: now.

    Raises:
        RecordError: the store holds the demo of another version.
    """
    rubric = load_catalog(RUBRIC)
    try:
        with store.write() as session:
            add_rubric(session=session, rubric=rubric, actor=ACTOR, at=at)
            _record_items(session, at)
            _record_labels(session, rubric, at)
            for judge in judges:
                declare(session, judge, at)
            sets = {each: _frozen_set(session, rubric, each, at) for each in DRAWN}
            return Sample(rubric, sets, _kept(session, next(iter(sets.values()))))
    except DifferentRecord as error:
        raise RecordError(
            f"{store.where} holds the demo of another version ({error}); delete its folder, or give "
            "another one with --out"
        ) from error


def declare(session: Session, judge: JudgeSpec, at: datetime) -> None:
    """Record a judge by its spec."""
    add_judge(
        session=session,
        digest=judge.digest,
        judge_name=judge.name,
        kind=judge.kind,
        content=judge.model_dump(mode="json"),
        actor=ACTOR,
        at=at,
    )


def _record_items(session: Session, at: datetime) -> None:
    key = _import(session, "items", "items.jsonl", at)
    add_items(session=session, dataset=DATASET, items=demo_items(), at=at, import_key=key)
    seal_import(session=session, key=key, kind="items", actor=ACTOR, at=at)


def _record_labels(session: Session, rubric: Rubric, at: datetime) -> None:
    key = _import(session, "labels", "labels.jsonl", at)
    add_labels(
        session=session,
        dataset=DATASET,
        rubric_digest=rubric.digest,
        labels=map(_label, demo_assessments()),
        at=at,
        import_key=key,
    )
    add_adjudications(
        session=session,
        dataset=DATASET,
        rubric_digest=rubric.digest,
        adjudications=map(_ruling, demo_adjudications()),
        at=at,
        import_key=key,
    )
    seal_import(session=session, key=key, kind="labels", actor=ACTOR, at=at)


def _label(said: Assessment) -> LabelEntry:
    return LabelEntry(
        said.item_id,
        said.criterion,
        said.rater,
        said.verdict.value,
        blind=said.blind,
        source=said.source,
        fields={"origin": ORIGIN},
    )


def _ruling(found: Adjudication) -> AdjudicationEntry:
    return AdjudicationEntry(
        found.item_id,
        found.criterion,
        found.adjudicator,
        found.verdict.value,
        reason=found.reason,
        fields={"origin": ORIGIN},
    )


def _import(session: Session, kind: str, name: str, at: datetime) -> str:
    return record_import(
        session=session,
        kind=kind,
        dataset=DATASET,
        file_digest=hashlib.sha256(demo_file(name).read_bytes()).hexdigest(),
        provenance={"file": name, "origin": ORIGIN, "licence": "Apache-2.0", "collector": "voirdire"},
        actor=ACTOR,
        at=at,
    )


def _frozen_set(session: Session, rubric: Rubric, criterion: str, at: datetime) -> StoredSet:
    """The set of a criterion; it is drawn once, since drawing under its name again would top it up."""
    drawn = [stored for stored in list_sets(session=session, dataset=DATASET) if stored.name == criterion]
    if drawn:
        return drawn[0]
    design = SamplingDesign(kind=DesignKind.SIMPLE_RANDOM, n=DRAWN[criterion], seed=SEED)
    stored = draw_set(session=session, drawing=Drawing(criterion, DATASET, design), actor=ACTOR, at=at)
    return freeze(session=session, stored=stored, rubrics=(rubric,), actor=ACTOR, at=at).stored


def _kept(session: Session, stored: StoredSet) -> tuple[Item, ...]:
    drawn = {member.item_id for member in iter_members(session=session, set_digest=stored.digest)}
    items = iter_full_items(session=session, scope=Scope(dataset=DATASET))
    return tuple(item for item in items if isinstance(item, Item) and item.item_id not in drawn)
