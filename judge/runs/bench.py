"""Who answers: for each unit the call that has to be made, or the verdict where none has to."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from judge.baselines import BaselineRun, run_baseline
from judge.calls import CostSource
from judge.grading import JudgeVerdict, Prepared, Sitting, grade_by_rule, prepare_together, sit
from judge.panel import CascadeJudge, PanelJudge
from judge.rules import Check, load_checks
from judge.runs.members import Said
from judge.runs.plan import FITTED, RunPlan, Unit
from judge.spec import BaselineJudge, ModelJudge, RuleJudge
from rubrics.errors import DeclarationError
from rubrics.item import Item
from rubrics.order import Order

SECRET_BYTES = 32


class Bench(Protocol):
    """A judge that is ready for the units of one run."""

    def ready(self, unit: Unit) -> Prepared | Sequence[JudgeVerdict]:
        """The call of the unit, or its verdicts where they are known without one; none where it must wait."""
        ...


class ModelBench:
    """A model judge; the marks of its fences come from a secret that lives as long as the process."""

    def __init__(self, judge: ModelJudge, plan: RunPlan, *, served_at: str | None) -> None:
        secret = secrets.token_bytes(SECRET_BYTES)
        self.sitting: Sitting = sit(judge, plan.rubric, secret=secret, served_at=served_at)

    def ready(self, unit: Unit) -> Prepared | Sequence[JudgeVerdict]:
        """As the protocol says."""
        order = unit.order or Order.AB
        return prepare_together(
            self.sitting, unit.questions, order=order, repeat=unit.repeat, ask=unit.attempt
        )


class RuleBench:
    """A rule judge, with the code of its code rules."""

    def __init__(self, judge: RuleJudge) -> None:
        self._judge = judge
        self._checks: Mapping[str, Check] = load_checks(judge)

    def ready(self, unit: Unit) -> Sequence[JudgeVerdict]:
        """As the protocol says; a rule judge never calls."""
        return grade_by_rule(self._judge, unit.question, checks=self._checks).verdicts


class BaselineBench:
    """A baseline; a fitted one has judged all items of the run before the first unit is asked for."""

    def __init__(self, judge: BaselineJudge, plan: RunPlan, items: Iterable[Item]) -> None:
        self._judge = judge
        known = list(items)
        self._fitted: dict[str, BaselineRun] = {
            key: run_baseline(judge, known, references) for key, references in plan.references.items()
        }

    @property
    def note(self) -> str:
        """Why some items have no pass or fail; "" where all have."""
        return "; ".join(found.note for found in self._fitted.values() if found.note)

    def ready(self, unit: Unit) -> Sequence[JudgeVerdict]:
        """As the protocol says; a baseline never calls."""
        question = unit.question
        found = self._fitted.get(question.criterion.key) or run_baseline(self._judge, [question.item], {})
        outcome = found.outcomes[question.item.item_id]
        verdict = JudgeVerdict(
            judge=self._judge.digest,
            rubric=question.rubric.digest,
            criterion=question.criterion.key,
            item_id=question.item.item_id,
            order=None,
            repeat=unit.repeat,
            evidence=question.item.content_digest,
            value=outcome.verdict.value if outcome.reason is None else None,
            reason=outcome.reason,
            detail=outcome.detail,
            rationale=found.note if outcome.reason else "",
            called=False,
            cost_micros=0,
            cost_source=CostSource.UNBILLED,
        )
        return (verdict,)


class PanelBench:
    """A panel or cascade: its members have been asked in runs of their own."""

    def __init__(self, judge: PanelJudge | CascadeJudge, said: Said) -> None:
        self._judge, self._said = judge, said
        self._digest = judge.digest

    def ready(self, unit: Unit) -> Sequence[JudgeVerdict]:
        """As the protocol says; none where a vote that matters is still open."""
        question = unit.question
        where = (question.item.item_id, question.criterion.key)
        votes = [self._said.votes(member, *where) for member in self._judge.judges]
        answer = self._judge.decide(votes)
        if answer.reason is not None and answer.reason.is_open:
            return ()
        used = self._judge.used(votes)
        words = [[each.value or str(each.reason) for each in votes[place]] for place in used]
        paid = [self._said.costs.get((self._judge.judges[place].judge, *where)) for place in used]
        verdict = JudgeVerdict(
            judge=self._digest,
            rubric=question.rubric.digest,
            criterion=question.criterion.key,
            item_id=question.item.item_id,
            order=None,
            repeat=unit.repeat,
            evidence=question.item.content_digest,
            value=answer.value,
            reason=answer.reason,
            detail=answer.unknown.detail if answer.unknown else None,
            rationale="votes: " + "; ".join(", ".join(member) for member in words),
            called=False,
            # what the votes cost in their own runs: no call of this run, and so in no sum over runs
            cost_micros=None if None in paid else sum(micros or 0 for micros in paid),
            cost_source=CostSource.UNBILLED,
        )
        return (verdict,)


def needs_items(plan: RunPlan) -> bool:
    """Whether the judge must see all items before it can judge one."""
    return isinstance(plan.judge, BaselineJudge) and plan.judge.name in FITTED


def seat(
    plan: RunPlan,
    *,
    items: Iterable[Item] = (),
    served_at: str | None = None,
    said: Said | None = None,
) -> Bench:
    """The judge of the plan, ready.

    Args:
        plan: of the run.
        items: all of them, where `needs_items` says so.
        served_at: the address of an embedded model.
        said: what the members of a panel or cascade have said.
    """
    judge = plan.judge
    if isinstance(judge, ModelJudge):
        return ModelBench(judge, plan, served_at=served_at)
    if isinstance(judge, RuleJudge):
        return RuleBench(judge)
    if isinstance(judge, BaselineJudge):
        return BaselineBench(judge, plan, items)
    if isinstance(judge, PanelJudge | CascadeJudge) and said is not None:
        return PanelBench(judge, said)
    raise DeclarationError(f"judge {judge.name!r} runs elsewhere")
