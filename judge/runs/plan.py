"""What a run will ask: which units, and of whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from sqlmodel import Session

from calibration.labels import ReferenceLabel, ReferenceRule
from calibration.store.calls import NO_ORDER, SameCall
from calibration.store.items import ErasedItem, ItemRef, Scope, item_keys, read_items
from calibration.store.judges import RunOrigin, StoredRun, get_judge, list_runs
from calibration.store.sets import get_set_by_digest
from calibration.store.text import stored_json
from judge.baselines import BaselineName
from judge.panel import CascadeJudge, PanelJudge
from judge.question import Question, asked_together
from judge.runs.members import Ground, find_members
from judge.spec import BaselineJudge, ExternalJudge, JudgeSpec, ModelJudge, RuleJudge
from rubrics.criterion import Criterion
from rubrics.digest import digest
from rubrics.errors import DeclarationError, RecordError
from rubrics.item import Split
from rubrics.order import Order, presentations
from rubrics.rubric import Rubric
from rubrics.scale import BinaryScale, PreferenceScale

FITTED = frozenset({BaselineName.LENGTH, BaselineName.WORD_OVERLAP})
"""Baselines that learn from the reference labels."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What gets exactly one verdict of a run; with others where one call asks about several criteria."""

    item: ItemRef
    """The item and the very text that is judged."""
    question: Question
    order: Order | None
    """None for a judge to which nothing is presented in an order."""
    repeat: int
    """From 1."""
    attempt: int
    """From 1; one more than the unit was asked before."""
    asked_again: bool = False
    """Whether a reply could not be read and the unit was asked once more: it is not asked so again."""
    same: Mapping[str, SameCall] = field(default_factory=dict)
    """By criterion the verdict of another run on a call about it, where there is one."""
    beside: tuple[Question, ...] = ()
    """What else of the item the same call asks, each with a verdict of its own."""

    @property
    def questions(self) -> tuple[Question, ...]:
        """All that the call asks of the item, in the order of the rubric."""
        return (self.question, *self.beside)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Everything that makes this run this run; the same plan is resumed, another one starts anew."""

    judge: JudgeSpec
    rubric: Rubric
    dataset: str
    set_digest: str | None
    criteria: tuple[Criterion, ...]
    orders: tuple[Order | None, ...]
    """In the order of asking."""
    repeats: int
    item_keys: tuple[str, ...] = field(repr=False)
    references: Mapping[str, Mapping[str, ReferenceLabel]] = field(default_factory=dict, repr=False)
    """What a fitted baseline learns from: by criterion, the reference of each item id."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """By criterion the digest of the labels behind `references`."""
    members: Mapping[str, str] = field(default_factory=dict)
    """Of a panel or cascade: by judge the run whose verdicts vote."""
    in_turn_with: Mapping[str, str] = field(default_factory=dict)
    """The judges with which this one is asked in turn, item by item: digest and name."""

    @property
    def units(self) -> int:
        """Verdicts that a finished run has."""
        return len(self.item_keys) * len(self.criteria) * len(self.orders) * self.repeats

    @property
    def content(self) -> dict[str, Any]:
        """The plan as it is recorded with the run; part of the run's identity."""
        labels: dict[str, Any] = {"labels": dict(self.labels)} if self.labels else {}
        if self.members:
            labels["members"] = dict(self.members)
        if self.in_turn_with:
            labels["in_turn_with"] = sorted(self.in_turn_with)
        return {
            "schema": "run-plan/1",
            "criteria": [criterion.key for criterion in self.criteria],
            "orders": [order.value if order else NO_ORDER for order in self.orders],
            "repeats": self.repeats,
            "items": digest(list(self.item_keys)),
            **labels,
        }

    @property
    def together(self) -> tuple[tuple[Criterion, ...], ...]:
        """The criteria by the call that asks about them."""
        return _groups(self.judge, self.rubric, self.criteria)

    def asks(self) -> Iterator[tuple[tuple[Criterion, ...], Order | None, int]]:
        """What is asked of each item: criteria, order, repeat; what shares a prompt's beginning together."""
        repeats = range(1, self.repeats + 1)
        for repeat, criteria, order in product(repeats, self.together, self.orders):
            yield criteria, order, repeat


def plan_run(  # noqa: PLR0913 - keyword-only: what identifies a plan
    *,
    session: Session,
    judge: JudgeSpec,
    rubric: Rubric,
    dataset: str | None = None,
    set_digest: str | None = None,
    criteria: Sequence[str] = (),
    repeats: int = 1,
    rule: ReferenceRule = ReferenceRule.MAJORITY,
    split: Split = Split.CALIBRATION,
) -> RunPlan:
    """The plan of a run over the members of a frozen set, or over the calibration items of a dataset.

    Args:
        session: a reading session.
        judge: a recorded judge.
        rubric: a published rubric.
        dataset: whose calibration items are judged, where no set is given.
        set_digest: the set whose members are judged.
        criteria: keys; none means every criterion that this judge can answer. Those that share a call with
            one of them are judged too.
        repeats: how often each presentation is asked; the first repeat is the judge's verdict.
        rule: how labels become the references that a fitted baseline learns from; no matter for others.
        split: which items of a dataset; others than calibration items are never evidence about a judge.

    Raises:
        DeclarationError: a judge that is not run here, a criterion that it cannot answer, repeats of a judge
            that never changes its verdict.
        RecordError: the judge is not recorded, the set is not frozen, there is no item, or a baseline finds
            no label to learn from.
    """
    if isinstance(judge, ExternalJudge):
        raise DeclarationError(
            f"judge {str(judge.name)!r} runs elsewhere; import what it said: `voirdire verdicts import FILE`"
        )
    get_judge(session=session, judge=judge.digest)
    chosen = _criteria(judge, rubric, criteria)
    _check_repeats(judge, repeats)
    scope, dataset = _scope(session, dataset, set_digest, split)
    keys = tuple(item_keys(session=session, scope=scope))
    if not keys:
        raise RecordError(
            f"dataset {dataset!r} has no calibration item; "
            f"run `voirdire items import FILE --dataset {dataset}`"
        )
    _check_mode(session, rubric, chosen[0], keys[0])
    references, labels = _references(session, judge, rubric, chosen, scope, rule)
    orders = presentations(judge.order) if isinstance(judge, ModelJudge) else (None,)
    members: dict[str, str] = {}
    if isinstance(judge, PanelJudge | CascadeJudge):
        on = Ground(dataset, set_digest, rubric.digest, tuple(criterion.key for criterion in chosen))
        members = find_members(session=session, judge=judge, on=on)
    return RunPlan(
        judge, rubric, dataset, set_digest, chosen, orders, repeats, keys, references, labels, members
    )


def recorded_run(*, session: Session, plan: RunPlan) -> StoredRun | None:
    """The run that this plan resumes, None where it would start one."""
    text = stored_json(plan.content)
    runs = list_runs(
        session=session,
        dataset=plan.dataset,
        judge_digest=plan.judge.digest,
        rubric_digest=plan.rubric.digest,
    )
    for run in runs:
        if (run.plan, run.set_digest, run.origin) == (text, plan.set_digest, RunOrigin.RUN):
            return run
    return None


def _criteria(judge: JudgeSpec, rubric: Rubric, wanted: Sequence[str]) -> tuple[Criterion, ...]:
    """The criteria to ask, in the rubric's order."""
    named = {key: rubric.criterion(key) for key in wanted}
    able = tuple(criterion for criterion in rubric.criteria if _can_answer(judge, criterion))
    for key, criterion in named.items():
        if criterion not in able:
            only = "pass or fail criteria"
            if isinstance(judge, RuleJudge):
                only = f"the pass or fail criterion {judge.criterion!r}"
            raise DeclarationError(
                f"judge {str(judge.name)!r} answers only {only}, not {key!r} on its {criterion.scale.kind} "
                "scale; leave that criterion to another judge"
            )
    chosen = tuple(criterion for criterion in able if not named or criterion.key in named)
    if not chosen:
        keys = ", ".join(criterion.key for criterion in rubric.criteria)
        raise DeclarationError(
            f"judge {str(judge.name)!r} can answer no criterion of {rubric.ref}, which has: {keys}"
        )
    return tuple(criterion for group in _groups(judge, rubric, chosen) for criterion in group)


def _groups(
    judge: JudgeSpec, rubric: Rubric, criteria: Sequence[Criterion]
) -> tuple[tuple[Criterion, ...], ...]:
    """The criteria by the call that asks about them, with those that share it."""
    if not isinstance(judge, ModelJudge) or not judge.several:
        return tuple((criterion,) for criterion in criteria)
    _require_no_preference(judge, rubric)
    groups = asked_together(judge, rubric.criteria)
    return tuple(group for group in groups if any(criterion in criteria for criterion in group))


def _require_no_preference(judge: ModelJudge, rubric: Rubric) -> None:
    for criterion in rubric.criteria:
        if isinstance(criterion.scale, PreferenceScale):
            raise DeclarationError(
                f"judge {str(judge.name)!r} asks several criteria in one call, which is for pass or fail "
                f"criteria and levels, and {criterion.key!r} is a preference; declare `criteria_per_call: 1`"
            )


def _can_answer(judge: JudgeSpec, criterion: Criterion) -> bool:
    if isinstance(judge, ModelJudge | PanelJudge | CascadeJudge):
        return True
    of_rule = not isinstance(judge, RuleJudge) or judge.criterion == criterion.key
    return of_rule and isinstance(criterion.scale, BinaryScale)


def _check_repeats(judge: JudgeSpec, repeats: int) -> None:
    if repeats < 1:
        raise DeclarationError(f"{repeats} repeats were asked for; give 1 or more")
    if repeats > 1 and not isinstance(judge, ModelJudge):
        raise DeclarationError(
            f"judge {str(judge.name)!r} gives the same verdict every time; leave out --repeats, "
            "it is for models"
        )


def _scope(session: Session, dataset: str | None, set_digest: str | None, split: Split) -> tuple[Scope, str]:
    if set_digest is None:
        if dataset is None:
            raise DeclarationError("name the items with either a set or a dataset")
        return Scope(dataset=dataset, split=split), dataset
    stored = get_set_by_digest(session=session, digest=set_digest)
    if dataset not in (None, stored.dataset):
        raise DeclarationError(f"set {stored.ref} is of dataset {stored.dataset!r}, not of {dataset!r}")
    if stored.frozen_at is None:
        raise RecordError(
            f"set {stored.ref} is not frozen, so its items may still change; "
            f"run `voirdire set freeze {stored.name}`"
        )
    return Scope(set_digest=set_digest), stored.dataset


def _check_mode(session: Session, rubric: Rubric, criterion: Criterion, key: str) -> None:
    """Refuse items of the other mode before anything is asked; Question says what is wrong."""
    for _, item in read_items(session=session, keys=[key]):
        if not isinstance(item, ErasedItem):
            Question(rubric, criterion, item)


def _references(
    session: Session,
    judge: JudgeSpec,
    rubric: Rubric,
    criteria: Sequence[Criterion],
    scope: Scope,
    rule: ReferenceRule,
) -> tuple[dict[str, dict[str, ReferenceLabel]], dict[str, str]]:
    """What a fitted baseline learns from, with the digest of it; nothing for other judges."""
    if not isinstance(judge, BaselineJudge) or judge.name not in FITTED:
        return {}, {}
    from calibration.calibrate.references import read_references  # with it comes numpy, 20 MB of it

    references: dict[str, dict[str, ReferenceLabel]] = {}
    labels: dict[str, str] = {}
    for criterion in criteria:
        found = read_references(
            session=session,
            scope=scope,
            rubric_digest=rubric.digest,
            criterion=criterion,
            rule=rule,
            min_raters=1,
        ).by_item
        if not found:
            raise RecordError(
                f"the baseline {str(judge.name)!r} learns from reference labels and {criterion.key!r} has "
                "none on these items; run `voirdire labels import` first, or name another --criterion"
            )
        references[criterion.key] = {item_id: each.label for item_id, each in found.items()}
        labels[criterion.key] = digest({item_id: each.inputs for item_id, each in found.items()})
    return references, labels
