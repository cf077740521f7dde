"""A small rubric for each scale and items to ask about, made for these tests."""

from __future__ import annotations

from typing import Any

from judge.question import Question
from judge.spec import ModelJudge
from rubrics.criterion import Criterion, EvidenceField, EvidenceSource, Example, Guidance
from rubrics.item import Item
from rubrics.rubric import Rubric
from rubrics.scale import BINARY, Level, OrdinalScale, PreferenceScale

SECRET = b"sixteen bytes and a few more"

POLICY = EvidenceField(key="policy", source=EvidenceSource.RECORDED, title="Refund policy")
ANSWER_KEY = EvidenceField(key="answer_key", source=EvidenceSource.REFERENCE, title="Reference answer")
STATES = Criterion(
    key="states_terms",
    title="Terms are those of the policy",
    question="Does the answer state only terms that stand in the policy?",
    scale=BINARY,
    guidance=Guidance(
        pass_when="every figure and condition stands in the policy",
        fail_when="a figure or condition is changed or invented",
        cannot_decide_when="the policy is silent",
    ),
    requires=("policy",),
    examples=(
        Example(input="How long?", output="90 days.", verdict="fail", why="the policy says 30"),
        Example(input="Pets?", output="Bring them.", verdict="unknown", why="the policy is silent"),
    ),
)
TONE = Criterion(
    key="tone",
    title="Tone",
    question="How polite is the answer?",
    scale=OrdinalScale(
        kind="ordinal",
        levels=tuple(Level(level=n, anchor=a) for n, a in ((1, "rude"), (2, "curt"), (3, "kind"))),
        accept_at="2",
    ),
    guidance=Guidance(cannot_decide_when="the answer is in a language that you do not read"),
)
BETTER = Criterion(
    key="more_helpful",
    title="More helpful",
    question="Which output helps the customer more?",
    scale=PreferenceScale(kind="preference"),
    guidance=Guidance(prefer_when="it solves the request", cannot_decide_when="neither can be read"),
    examples=(Example(output_a="Yes.", output_b="No.", verdict="A", why="it solves the request"),),
)
POINTWISE = Rubric(
    name="refunds",
    version=1,
    title="Refund answers",
    purpose="Tell whether an answer about refunds may go out.",
    evidence=(POLICY, ANSWER_KEY),
    criteria=(STATES, TONE),
)
PAIRWISE = Rubric(
    name="pairs",
    version=1,
    title="Pairs of answers",
    purpose="Tell which of two answers helps more.",
    criteria=(BETTER,),
)


def item(
    output: str = "You have 30 days.", *, item_id: str = "i-1", policy: str | None = "Returns: 30 days."
) -> Item:
    """An item with one output."""
    evidence = {} if policy is None else {"policy": policy}
    return Item(item_id=item_id, input="How long do I have?", output=output, evidence=evidence)


def pair(first: str = "Thirty days.", second: str = "No idea.", *, item_id: str = "p-1") -> Item:
    """An item with two outputs."""
    return Item(item_id=item_id, input="How long do I have?", output_a=first, output_b=second)


def ask(about: Item, criterion: Criterion | None = None) -> Question:
    """The question of the item's mode, or the one given."""
    if about.output is None:
        return Question(PAIRWISE, BETTER, about)
    return Question(POINTWISE, criterion or STATES, about)


def judge(**changes: Any) -> ModelJudge:
    """A model judge with these fields changed."""
    return ModelJudge(**{"kind": "model", "name": "test-judge", "model": "openai/test-1", **changes})
