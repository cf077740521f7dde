"""The demo's judges asked about its set: their verdicts, recorded as a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from sqlmodel import Session

from calibration.calibrate.references import read_references
from calibration.labels import ReferenceLabel
from calibration.policy import AdmissionPolicy
from calibration.store.items import Scope, iter_full_items
from calibration.store.judges import RunOrigin, RunState, add_run
from calibration.store.verdicts import VerdictEntry, add_verdicts
from judge.baselines import run_baseline
from judge.demo.records import DATASET, Sample
from judge.rules import judge_item
from judge.spec import BaselineJudge, RuleJudge
from rubrics.digest import digest
from rubrics.item import Item
from rubrics.verdict import Outcome

Answers = Mapping[str, tuple[Outcome, str]]
"""Outcome and rationale by item id."""


def ask_rule(session: Session, sample: Sample, judge: RuleJudge, *, at: datetime) -> None:
    """Record what the rule judge says of every item of the set under its criterion."""
    answers = {
        item.item_id: (found.outcome, found.rationale)
        for item in _items(session, sample)
        for found in [judge_item(judge, item)]
    }
    _record(session, sample, judge, {judge.criterion: answers}, {}, at)


def ask_baseline(
    session: Session, sample: Sample, judge: BaselineJudge, policy: AdmissionPolicy, *, at: datetime
) -> None:
    """Record what the baseline says under every criterion; it is fitted on the policy's references.

    No item is judged by a model that has seen its label. Other references make another run.
    """
    items = list(_items(session, sample))
    answers: dict[str, Answers] = {}
    seen = {}
    for criterion in sample.rubric.criteria:
        references = _references(session, sample, criterion.key, policy)
        outcomes = run_baseline(judge, items, references).outcomes
        answers[criterion.key] = {item_id: (outcome, "") for item_id, outcome in outcomes.items()}
        seen[criterion.key] = digest(
            [[item_id, label.verdict] for item_id, label in sorted(references.items())]
        )
    _record(session, sample, judge, answers, {"references": seen}, at)


def _items(session: Session, sample: Sample) -> Iterator[Item]:
    for item in iter_full_items(session=session, scope=Scope(set_digest=sample.set.digest)):
        if isinstance(item, Item):
            yield item


def _references(
    session: Session, sample: Sample, criterion: str, policy: AdmissionPolicy
) -> dict[str, ReferenceLabel]:
    found = read_references(
        session=session,
        scope=Scope(set_digest=sample.set.digest),
        rubric_digest=sample.rubric.digest,
        criterion=sample.rubric.criterion(criterion),
        rule=policy.reference.label_rule,
        min_raters=1,
    )
    return {item_id: each.label for item_id, each in found.by_item.items()}


def _record(
    session: Session,
    sample: Sample,
    judge: RuleJudge | BaselineJudge,
    answers: Mapping[str, Answers],
    plan: Mapping[str, object],
    at: datetime,
) -> None:
    run = add_run(
        session=session,
        judge_digest=judge.digest,
        rubric_digest=sample.rubric.digest,
        dataset=DATASET,
        set_digest=sample.set.digest,
        origin=RunOrigin.RUN,
        plan={"criteria": sorted(answers), "orders": [None], "repeats": 1, **plan},
        units=sum(map(len, answers.values())),
        at=at,
        state=RunState.FINISHED,
    )
    verdicts = (
        _entry(run, item_id, criterion, outcome, rationale)
        for criterion, given in sorted(answers.items())
        for item_id, (outcome, rationale) in given.items()
    )
    add_verdicts(session=session, verdicts=verdicts, at=at)


def _entry(run: str, item_id: str, criterion: str, outcome: Outcome, rationale: str) -> VerdictEntry:
    return VerdictEntry(
        run,
        item_id,
        criterion,
        outcome.verdict.value,
        reason=outcome.reason,
        detail=outcome.detail,
        rationale=rationale or None,
    )
