"""Prompts about several criteria at once; and prompts about one, which stay as they were."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from pydantic import ValidationError

from judge.parsing import Reading, SeveralForm, parse_several
from judge.prompt import Prompt, build, fill, frame_several, marks
from judge.question import material
from judge.spec import Labels, ReasonPlace
from judge.templates import PromptSet, SeveralTemplate, load_prompt
from rubrics.answer import answered
from rubrics.digest import digest
from rubrics.errors import DeclarationError
from rubrics.order import Order
from tests.judge.cases import PAIRWISE, POINTWISE, SECRET, STATES, TONE, ask, item, judge, pair

MARKS = marks(SECRET, "i-1", "states_terms", "ab", 1, 1)
ONE_BY_ONE = "6b16607c6231080bdc8a80ad923cbc3f0b1086e717f33565bcf3f30fe97a8c50"
"""Of every message and schema below, as they were before a call could ask about several criteria."""


def test_prompts_about_one_criterion_are_what_they_were_byte_for_byte() -> None:
    """Every shipped set, reading, kind of label, place of the reason, order and scale."""
    questions = (ask(item()), ask(item(), TONE), ask(pair()))
    refs = ("brief@1", "reference@1", "standard@1", "trajectory@1")
    readings = (Reading.STRUCTURED, Reading.MARKED)
    sent = []
    for ref, reading, labels, reason in product(refs, readings, Labels, ReasonPlace):
        spec = judge(prompt=ref, reading=reading, labels=labels, reason=reason)
        for question, order in product(questions, Order):
            built = build(spec, question, material(spec, question), order=order, call_marks=MARKS)
            sent.append([[(m.role, m.content) for m in built.messages], built.schema, spec.digest])
    assert digest(sent) == ONE_BY_ONE


def several(order: Order = Order.AB, **changes: Any) -> Prompt:
    """The prompt that asks both criteria of the rubric at once."""
    spec = judge(**{"criteria_per_call": "all", "prompt": "several@1", **changes})
    about = ask(item())
    return fill(frame_several(spec, POINTWISE.criteria, order), material(spec, about), MARKS)


def test_one_prompt_asks_about_several_criteria() -> None:
    """Each with key, question, options and examples, in the order of the rubric, whatever the order shown."""
    for order in Order:
        system, user = several(order).messages
        for criterion in (STATES, TONE):
            assert f"Key: {criterion.key}\nQuestion: {criterion.question}\nVerdicts\n" in system.content
            assert user.content.index("You have 30 days.") < user.content.index(criterion.question)
        assert system.content.index("Key: states_terms") < system.content.index("Key: tone")
        assert "the policy says 30" in system.content
        assert "{{" not in system.content + user.content
        assert '{"states_terms": {"reason": ' in system.content
    firsts = [[word for word, _ in _forms(several(order))["tone"][:3]] for order in Order]
    assert firsts == [["1", "2", "3"], ["3", "2", "1"]]


def _forms(built: Prompt) -> dict[str, Any]:
    assert isinstance(built.form, SeveralForm)
    return {key: form.options for key, form in built.form.forms}


def test_the_reply_about_several_criteria_has_an_object_for_each() -> None:
    """The schema asks for every criterion and nothing else; a reply that it allows is read."""
    built = several(reason=ReasonPlace.NONE)
    assert built.schema is not None
    assert isinstance(built.form, SeveralForm)
    assert built.schema["required"] == ["states_terms", "tone"]
    assert built.schema["additionalProperties"] is False
    own = built.schema["properties"]["tone"]
    assert own["properties"]["verdict"]["enum"][:3] == ["1", "2", "3"]
    said = parse_several(
        '{"states_terms": {"verdict": "pass"}, "tone": {"verdict": 2}}', built.form, finish="stop"
    )
    assert [each.answer for each in said.values()] == [answered("pass"), answered("2")]


def test_a_marked_reading_of_several_criteria_has_the_mark_of_the_call() -> None:
    """No schema, and the line to be written stands after the texts."""
    built = several(reading=Reading.MARKED)
    assert (built.schema, built.form.mark) == (None, MARKS.reply)
    assert f"VERDICT {MARKS.reply}" in built.messages[1].content


def test_a_preference_is_not_asked_among_several_criteria() -> None:
    """One clear sentence, with the key."""
    with pytest.raises(DeclarationError, match=r"'more_helpful' asks for a preference.*criteria_per_call: 1"):
        frame_several(judge(criteria_per_call="all", prompt="several@1"), PAIRWISE.criteria, Order.AB)


def test_a_prompt_of_ones_own_for_several_criteria() -> None:
    """Its placeholders are checked as those of any other; a set without it cannot ask about several."""
    own = SeveralTemplate(system="{{criteria}} {{answer}}", user="{{material}} {{answer_now}}")
    mine = PromptSet(name="mine", version=1, several=own)
    assert several(prompt=mine).messages[0].content.startswith("Criterion 1: Terms are those of the policy")
    with pytest.raises(ValidationError, match=r"lacks the placeholder \{\{criteria\}\}"):
        SeveralTemplate(system="{{answer}}", user="{{material}} {{answer_now}}")
    with pytest.raises(ValidationError, match="has no placeholder 'question'"):
        SeveralTemplate(system="{{criteria}} {{answer}} {{question}}", user="{{material}} {{answer_now}}")
    with pytest.raises(DeclarationError, match="brief@1 has no template for several criteria"):
        load_prompt("brief@1").for_several()
