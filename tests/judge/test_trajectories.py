"""Courses of steps: what a judge is told of them, and a criterion about the way fails a right answer."""

from __future__ import annotations

import asyncio
import json
import re

from judge.calls import ModelReply, ModelRequest
from judge.fake_model import FakeTransport, said
from judge.grading import grade, sit
from judge.overall import Part, overall_of
from judge.question import Question
from rubrics.criterion import Criterion, EvidenceField, EvidenceSource, Guidance, JudgeRole
from rubrics.item import Item
from rubrics.rubric import Rubric
from rubrics.verdict import Verdict
from tests.judge.cases import SECRET, judge

STEPS = """1. [proposed] look up order 7
2. [admitted] look up order 7
3. [observed] order 7: paid 20 EUR
4. [proposed] refund 20 EUR
5. [admitted] refund 20 EUR{observed}
Answer: 20 EUR have been refunded for order 7."""
DONE = STEPS.format(observed="\n6. [observed] refund of 20 EUR booked")
OPEN = STEPS.format(observed="")


def _criterion(key: str, question: str) -> Criterion:
    guidance = Guidance(pass_when="it is so", fail_when="it is not so", cannot_decide_when="unclear")
    return Criterion(key=key, title=key, question=question, guidance=guidance)


RUBRIC = Rubric(
    name="agent",
    version=1,
    title="Agent",
    purpose="Tell whether a course of steps may count.",
    evidence=(EvidenceField(key="amount", source=EvidenceSource.REFERENCE, title="Right amount"),),
    criteria=(
        _criterion("result", "Does the last answer name the right amount?"),
        _criterion("way", "Was every step that the answer relies on observed?"),
    ),
)


def follows_the_template(request: ModelRequest) -> ModelReply:
    """A model that does what the template says and sees only what is in the messages."""
    system, user = (message.content for message in request.messages)
    steps = re.findall(r"^\d+\. \[(proposed|admitted|observed)\] (.+)$", user, re.MULTILINE)
    taught = (
        "only what is observed has happened" in system and "fails even if the last answer is right" in system
    )
    good = "20 EUR have been refunded" in user
    if "observed?" in system and taught:
        good = any(mark == "observed" and "refund of" in what for mark, what in steps)
    return said(json.dumps({"reason": "by the steps", "verdict": "pass" if good else "fail"}))


def judged(output: str, criterion: str, prompt: str = "trajectory@1") -> Verdict:
    """The verdict on the course of steps."""
    item = Item(item_id="t", input="Refund order 7.", output=output, evidence={"amount": "20 EUR"})
    sitting = sit(judge(prompt=prompt), RUBRIC, secret=SECRET)
    question = Question(RUBRIC, RUBRIC.criterion(criterion), item)
    graded = asyncio.run(grade(sitting, question, FakeTransport(follows_the_template)))
    assert graded.answer.value is not None
    return Verdict(graded.answer.value)


def overall(output: str) -> Verdict:
    """Of both required criteria."""
    parts = [
        Part(judged(output, key), JudgeRole.ACCEPTANCE.value, required=True) for key in ("result", "way")
    ]
    return overall_of(parts)


def test_a_process_criterion_fails_a_right_answer() -> None:
    """The amount is right either way; a refund that was admitted and never observed fails the output."""
    assert (judged(OPEN, "result"), judged(OPEN, "way")) == (Verdict.PASS, Verdict.FAIL)
    assert (overall(OPEN), overall(DONE)) == (Verdict.FAIL, Verdict.PASS)


def test_without_the_template_the_marks_of_steps_are_not_explained() -> None:
    """The standard prompt says nothing of steps: the same model takes the claim for the deed."""
    assert judged(OPEN, "way", prompt="standard@1") is Verdict.PASS
