"""What of a run is fixed, what is sampled, and what nobody controls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from calibration.rendering.text import counted
from judge.panel import CascadeJudge, PanelJudge, panel_words
from judge.rule_spec import CodeRule
from judge.runs.plan import FITTED, RunPlan
from judge.spec import BaselineJudge, Endpoint, JudgeSpec, ModelJudge, RuleJudge
from rubrics.digest import short

_DATED = re.compile(r"\d{4}-?\d{2}-?\d{2}|-\d{4}\Z|\d{3}\Z")
"""A model name that says which state of the model is meant."""


class Control(StrEnum):
    """How far something that can move a verdict is in our hands."""

    FIXED = "fixed"
    SAMPLED = "sampled"
    UNCONTROLLED = "uncontrolled"


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that can move a verdict."""

    control: Control
    what: str


def conditions(plan: RunPlan) -> tuple[Condition, ...]:
    """What is fixed, what is sampled and what nobody controls, in words."""
    labels = ("the reference labels that it learns from, by digest",) if plan.labels else ()
    their = "its" if len(plan.item_keys) == 1 else "their"
    fixed = (
        f"judge {plan.judge.name} {short(plan.judge.digest)}: {_declared(plan.judge)}",
        f"rubric {plan.rubric.ref} {short(plan.rubric.digest)}: {_listed(c.key for c in plan.criteria)}",
        f"{counted(len(plan.item_keys), 'item')} with {their} texts, {_asked(plan)}",
        *labels,
        *_in_turn(plan),
    )
    return (
        *(Condition(Control.FIXED, what) for what in fixed),
        *(Condition(Control.SAMPLED, what) for what in _sampled(plan.judge)),
        *(Condition(Control.UNCONTROLLED, what) for what in _uncontrolled(plan.judge)),
    )


def _in_turn(plan: RunPlan) -> Iterator[str]:
    if plan.in_turn_with:
        others = _listed(plan.in_turn_with.values())
        yield f"asked in turn with {others}, item by item: the same moments for all"


def _asked(plan: RunPlan) -> str:
    if len(plan.orders) > 1:
        words = "both orders of the options or outputs"
    else:
        words = "asked once each" if plan.orders == (None,) else "options in one order"
    if isinstance(plan.judge, ModelJudge) and plan.judge.several:
        words += f", up to {counted(max(map(len, plan.together)), 'criterion', 'criteria')} in one call"
    return words if plan.repeats == 1 else f"{words}, {plan.repeats} repeats"


def _declared(judge: JudgeSpec) -> str:
    if isinstance(judge, PanelJudge | CascadeJudge):
        return panel_words(judge)
    if isinstance(judge, ModelJudge):
        sent = {name: value for name, value in judge.parameters.model_dump().items() if value is not None}
        return _listed([judge.model, f"prompt {judge.prompt.ref}", *(f"{k} {v:g}" for k, v in sent.items())])
    if isinstance(judge, BaselineJudge):
        return f"seed {judge.seed}, {judge.folds} folds" if judge.name in FITTED else "looks at nothing"
    return "the rules of its file"


def _sampled(judge: JudgeSpec) -> Iterator[str]:
    if not isinstance(judge, ModelJudge):
        return
    yield "the random marks around the texts, new in every process"
    temperature = judge.parameters.temperature
    if temperature is None:
        yield "the model's answer, at the provider's own temperature"
    elif temperature > 0:
        seed = judge.parameters.seed
        yield f"the model's answer, at temperature {temperature:g}" + (
            "" if seed is None else f", seed {seed}"
        )


def _uncontrolled(judge: JudgeSpec) -> Iterator[str]:
    if isinstance(judge, RuleJudge):
        for rule in judge.rules:
            if isinstance(rule, CodeRule):
                yield f"the code behind rule {rule.name!r}, beyond the version of its package"
    if not isinstance(judge, ModelJudge):
        return
    if judge.endpoint is Endpoint.EMBEDDED:
        yield "rounding, which depends on the processor and on which calls are worked on together"
        return
    if not _DATED.search(judge.model):
        yield f"which model stands behind the undated name {judge.model!r}; what it reports is recorded"
    yield "the provider's machines and their rounding: temperature 0 does not make answers repeatable"
    yield "the moment of each call"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words)
