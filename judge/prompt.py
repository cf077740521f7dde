"""The messages of one call: the criterion's question around an item's texts, everything of the item fenced.

The system message depends on judge, criterion and order alone, so that a provider or local server can keep it
cached over all items; marks and texts stand in the user message, shared evidence first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from judge.calls import Message
from judge.fence import REPLY_MARK_LENGTH, Block, Fenced, fence, mark
from judge.parsing import REASON, VERDICT, AnswerForm, Form, Reading, SeveralForm
from judge.question import Material, Piece, Question
from judge.spec import Labels, ModelJudge, ReasonPlace, TextOrder
from judge.templates import Template, filled, pieces
from rubrics.answer import Answer, answered, no_answer
from rubrics.criterion import ALL_OUTPUTS, Criterion, EvidenceSource, Example
from rubrics.errors import DeclarationError
from rubrics.order import Order, shown_in
from rubrics.scale import OrdinalScale, PreferenceScale
from rubrics.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Marks:
    """The random marks of one call, derived from the run's secret."""

    run: str
    """Around recorded evidence and references: the same for the run, so that shared evidence stays cached."""
    call: str
    """Around the outputs: this call's own."""
    reply: str
    """Written by the model before its verdict, where the reading is `marked`; else it may be ""."""


def marks(secret: bytes, *call: str | int, with_reply: bool = True) -> Marks:
    """The marks of the call that the parts name (item, criterion, order, repeat, ...)."""
    reply = mark(secret, "reply", *call, length=REPLY_MARK_LENGTH) if with_reply else ""
    return Marks(_run_mark(secret), mark(secret, "call", *call), reply)


@lru_cache(maxsize=8)
def _run_mark(secret: bytes) -> str:
    return mark(secret, "run")


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent, and the form in which the reply is due."""

    messages: tuple[Message, ...]
    form: Form
    schema: Mapping[str, Any] | None
    """JSON schema of the reply, where the reading is structured."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What the calls of one judge, criteria and order have in common: everything but the item's texts."""

    form: Form
    """Of the reply, without the mark of a call."""
    marked: bool
    system: str
    user: tuple[tuple[str, str], ...]
    """The user message cut at what differs between items: a text, and the name of what follows it."""
    order: Order
    candidate_first: bool
    schema: Mapping[str, Any] | None
    decides: bool = False
    """Whether the model picks a verdict instead of writing a reply."""


def frame(judge: ModelJudge, criterion: Criterion, order: Order) -> Frame:
    """The part of a prompt that does not depend on the item.

    Raises DeclarationError where the judge's prompt has no template for the criterion's scale.
    """
    options = tuple(_options(judge, criterion, order))
    form = _form(judge, options)
    values = {
        "title": criterion.title,
        "question": criterion.question,
        "options": _listed(options),
        "examples": _examples(criterion, options),
        "answer": _answer_rule(judge, _object(judge)),
    }
    template = judge.prompt.for_scale(criterion.scale.kind)
    return _framed(judge, order, template, values, form, _schema(judge, form))


def frame_several(judge: ModelJudge, criteria: Sequence[Criterion], order: Order) -> Frame:
    """The part of a prompt about several criteria that does not depend on the item.

    The criteria stand in the order given, in either order of the presentation.

    Raises DeclarationError where the judge's prompt has no template for several criteria, or one of them is
    a preference between two outputs.
    """
    forms, parts = [], []
    for number, criterion in enumerate(criteria, 1):
        if isinstance(criterion.scale, PreferenceScale):
            raise DeclarationError(
                f"{criterion.key!r} asks for a preference, and several criteria in one call are pass or fail "
                "or have levels; declare `criteria_per_call: 1`"
            )
        options = tuple(_options(judge, criterion, order))
        forms.append((criterion.key, _form(judge, options)))
        head = f"Criterion {number}: {criterion.title}\nKey: {criterion.key}\nQuestion: {criterion.question}"
        examples = _examples(criterion, options).rstrip("\n")
        parts.append(f"{head}\nVerdicts\n{_listed(options)}" + (f"\n{examples}" if examples else ""))
    keys = ", ".join(f'"{key}": {_object(judge)}' for key, _ in forms)
    values = {
        "criteria": "\n\n".join(parts),
        "questions": "\n".join(f"{criterion.key}: {criterion.question}" for criterion in criteria),
        "answer": _answer_rule(judge, "{" + keys + "}"),
    }
    schema = _object_schema({key: _schema(judge, form) for key, form in forms})
    shared = SeveralForm(Reading.STRUCTURED, tuple(forms))
    return _framed(judge, order, judge.prompt.for_several(), values, shared, schema)


def _framed(
    judge: ModelJudge,
    order: Order,
    template: Template,
    values: Mapping[str, str],
    form: Form,
    schema: Mapping[str, Any],
) -> Frame:
    marked = judge.reading is Reading.MARKED
    first = judge.texts is TextOrder.CANDIDATE_FIRST
    turned = judge.texts is TextOrder.SWAPPED and order is Order.BA
    return Frame(
        form=form,
        marked=marked,
        system=filled(template.system, values),
        user=pieces(template.user, values),
        order=order,
        candidate_first=first or turned,
        schema=None if marked else schema,
        decides=judge.reading is Reading.DECISION,
    )


def _form(judge: ModelJudge, options: Iterable[_Option]) -> AnswerForm:
    words = tuple((option.word, option.answer) for option in options)
    return AnswerForm(Reading.STRUCTURED, words, with_reason=judge.reason is not ReasonPlace.NONE)


def _listed(options: Iterable[_Option]) -> str:
    return "\n".join(f'- "{option.word}": {option.meaning}' for option in options)


def fill(around: Frame, texts: Material, call_marks: Marks) -> Prompt:
    """The messages of one call: the frame with the item's texts in it."""
    reply = call_marks.reply if around.marked else None
    form = around.form if reply is None else replace(around.form, reading=Reading.MARKED, mark=reply)
    values = {
        "material": fence(tuple(_blocks(texts, around, call_marks)), end_mark=call_marks.call),
        "answer_now": "Choose the verdict." if around.decides else _answer_now(reply),
        "": "",
    }
    user = "".join(text + values[name] for text, name in around.user)
    messages = (Message("system", around.system), Message("user", user))
    return Prompt(messages, form, around.schema)


def build(
    judge: ModelJudge, question: Question, texts: Material, *, order: Order, call_marks: Marks
) -> Prompt:
    """The messages that ask the question in this order, with the form of the reply.

    Raises DeclarationError where the judge's prompt has no template for the criterion's scale.
    """
    return fill(frame(judge, question.criterion, order), texts, call_marks)


@dataclass(frozen=True, slots=True)
class _Option:
    word: str
    """As it stands in prompt and reply."""
    answer: Answer
    meaning: str
    name: str
    """What an example's verdict calls it."""


def _options(judge: ModelJudge, criterion: Criterion, order: Order) -> Iterator[_Option]:
    """The options in the order shown; what cannot be told comes last in either order."""
    listed = [*_scale_options(criterion, order), *(_abstentions(criterion) if judge.abstention else ())]
    words = [option.word for option in listed]
    if len(words) != len(set(words)):
        clash = next(word for word in words if words.count(word) > 1)
        raise DeclarationError(
            f"a level of {criterion.key!r} is called {clash!r}, which means an abstention here"
        )
    if judge.labels is Labels.WORDS:
        yield from listed
        return
    if len(listed) > 26:
        raise DeclarationError(
            f"{criterion.key!r} has {len(listed)} options and there are 26 letters; use words"
        )
    for place, option in enumerate(listed):
        letter = chr(ord("A") + place)
        yield _Option(letter, option.answer, f"{option.word}: {option.meaning}", option.name)


def _scale_options(criterion: Criterion, order: Order) -> Iterator[_Option]:
    scale, guidance = criterion.scale, criterion.guidance
    if isinstance(scale, PreferenceScale):
        better = f": {guidance.prefer_when}" if guidance.prefer_when else ""
        sides = shown_in(order, ("A", "B"))
        for place, name, side in (("first", "A", sides[0]), ("second", "B", sides[1])):
            yield _Option(place, answered(side), f"the {place} output is the better one{better}", name)
        tie = guidance.tie_when or "neither is better than the other"
        yield _Option("tie", answered("tie"), tie, "tie")
        return
    if isinstance(scale, OrdinalScale):
        meanings = {level.level: level.anchor for level in scale.levels}
    else:
        meanings = {
            "pass": guidance.pass_when or "the answer to the question is yes",
            "fail": guidance.fail_when or "the answer to the question is no",
        }
    for value in shown_in(order, scale.answers):
        yield _Option(value, answered(value), meanings[value], value)


def _abstentions(criterion: Criterion) -> Iterator[_Option]:
    unsure = criterion.guidance.cannot_decide_when or "the texts do not allow a decision"
    for detail, meaning, name in (
        ("cannot_tell", unsure, Verdict.UNKNOWN.value),
        ("not_applicable", "the question does not apply to this case", ""),
        ("evidence_missing", "a text that is needed to decide is not shown", ""),
    ):
        yield _Option(detail, no_answer("abstained", detail), meaning, name)


def _examples(criterion: Criterion, options: tuple[_Option, ...]) -> str:
    """The criterion's examples in words; one whose verdict is not offered is left out."""
    words = {option.name: option.word for option in options}
    shown_examples = [
        _example(example, words[example.verdict])
        for example in criterion.examples
        if example.verdict in words
    ]
    return "\n".join(("", "Examples", "\n\n".join(shown_examples), "")) if shown_examples else ""


def _example(example: Example, word: str) -> str:
    outputs = {"Output": example.output, "First output": example.output_a, "Second output": example.output_b}
    texts = {"Input": example.input or None, **dict(example.evidence), **outputs}
    lines = [f"{title}: {text}" for title, text in texts.items() if text is not None]
    return "\n".join((*lines, f'Verdict: "{word}", because {example.why}'))


_KINDS = {
    EvidenceSource.RECORDED: Block.RECORDED,
    EvidenceSource.REFERENCE: Block.REFERENCE,
    EvidenceSource.CANDIDATE: Block.CANDIDATE,
}


def _blocks(texts: Material, around: Frame, call_marks: Marks) -> Iterator[Fenced]:
    """Evidence that items may share first, then the input, then the outputs in the order shown.

    Where the judge declares it, input and outputs come first.
    """
    inputs: list[Piece] = []
    outputs: list[Piece] = []
    evidence: list[Piece] = []
    for piece in texts.pieces:
        key = piece.field.key
        (inputs if key == "input" else outputs if key in ALL_OUTPUTS else evidence).append(piece)
    yield from _beside(inputs if around.candidate_first else (*evidence, *inputs), call_marks)
    titles = ("First output", "Second output") if len(outputs) == 2 else ("Output",)
    shown = shown_in(around.order, outputs) if len(outputs) == 2 else outputs
    for title, piece in zip(titles, shown, strict=True):
        yield Fenced(Block.CANDIDATE, title, piece.shown.text, call_marks.call)
    if around.candidate_first:
        yield from _beside(evidence, call_marks)


def _beside(beside: Iterable[Piece], call_marks: Marks) -> Iterator[Fenced]:
    """The texts beside the outputs, each in a fence of its kind."""
    for piece in beside:
        kind = _KINDS[piece.field.source]
        own = call_marks.call if kind is Block.CANDIDATE else call_marks.run
        yield Fenced(kind, _one_line(piece.field.title), piece.shown.text, own)


@lru_cache(maxsize=256)
def _one_line(title: str) -> str:
    return " ".join(title.split())


def _object(judge: ModelJudge) -> str:
    keys = {REASON: '"reason": "<one sentence>"', VERDICT: '"verdict": "<one of the verdicts above>"'}
    return "{" + ", ".join(keys[key] for key in _keys(judge)) + "}"


def _keys(judge: ModelJudge) -> tuple[str, ...]:
    places = {
        ReasonPlace.BEFORE: (REASON, VERDICT),
        ReasonPlace.AFTER: (VERDICT, REASON),
        ReasonPlace.NONE: (VERDICT,),
    }
    return places[judge.reason]


def _answer_rule(judge: ModelJudge, form: str) -> str:
    if judge.reading is Reading.DECISION:
        return "Choose one of the verdicts above."
    if judge.reading is Reading.STRUCTURED:
        return f"Reply with one JSON object and nothing else: {form}"
    return (
        "Think step by step. Then write the line that you are given after the texts, and after it one JSON "
        f"object and nothing more: {form}"
    )


def _answer_now(reply_mark: str | None) -> str:
    if reply_mark is None:
        return "Reply with the JSON object."
    return f"Judge, then write this line and the JSON object after it:\nVERDICT {reply_mark}"


def _schema(judge: ModelJudge, form: AnswerForm) -> dict[str, Any]:
    kinds = {
        REASON: {"type": "string"},
        VERDICT: {"type": "string", "enum": [word for word, _ in form.options]},
    }
    return _object_schema({key: kinds[key] for key in _keys(judge)})


def _object_schema(kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Of an object with exactly these keys, in this order."""
    return {
        "type": "object",
        "properties": dict(kinds),
        "required": list(kinds),
        "additionalProperties": False,
    }
