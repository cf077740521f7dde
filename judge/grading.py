"""One item through one judge: prepare the call, make it, and conclude; nothing here stores anything.

A run takes the three steps apart, so that it can commit its intent between the first and the second; `grade`
takes them together, in every order that the judge declares. What cannot be answered is never left out: it is
an unknown with its reason, and it stays in every denominator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pydantic import ConfigDict

from judge.calls import (
    UNBILLED,
    Attempt,
    Cost,
    CostSource,
    ModelCallError,
    ModelClient,
    ModelReply,
    ModelRequest,
    Tokens,
)
from judge.fence import Flag
from judge.parsing import Parsed, SeveralForm, parse, parse_several
from judge.prompt import Frame, Prompt, fill, frame, frame_several, marks
from judge.question import Material, Question, asked_together, material, settled
from judge.rules import Check, judge_item
from judge.spec import Endpoint, ModelJudge, RuleJudge
from rubrics.answer import Answer, answered
from rubrics.criterion import Criterion, EvidenceField
from rubrics.errors import DeclarationError
from rubrics.order import Order, PositionCell, position_cell, presentations, reconcile
from rubrics.record import Frozen, ItemText, raw_bytes
from rubrics.rubric import Rubric
from rubrics.scale import BinaryScale, NoClaim
from rubrics.verdict import Outcome, UnknownReason, unknown


class UnreadReply(Frozen):
    """A reply that was not of the agreed form; it was paid for."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    raw: bytes | None
    tokens: Tokens
    cost_micros: int | None
    cost_source: CostSource


class JudgeVerdict(Frozen):
    """What one presentation of one item came to, with everything that it took."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    judge: str
    """Digest of the judge."""
    rubric: str
    """Digest of the rubric."""
    criterion: str
    item_id: str
    order: Order | None
    """None for a judge to which nothing is presented in an order."""
    repeat: int
    evidence: str
    """Digest of the item's texts as rendered."""
    value: str | None = None
    """The answer on the criterion's scale, in source positions; null where it is unknown."""
    reason: UnknownReason | None = None
    detail: str | None = None
    rationale: ItemText = ""
    """What the judge gave as its reason, or why no call was made, or what failed."""
    raw: bytes | None = None
    """The reply's text as it came, in UTF-8; null where none came."""
    flags: tuple[Flag, ...] = ()
    """What the item's texts tried, or happened to hold."""
    called: bool = True
    """False where the answer was settled without a call."""
    tokens: Tokens = Tokens()
    cost_micros: int | None = None
    """Millionths of a US dollar; null where unknown."""
    cost_source: CostSource = CostSource.UNKNOWN
    latency_ms: int = 0
    attempts: tuple[Attempt, ...] = ()
    reported_model: str | None = None
    """The model that the provider says has answered; a change of it calls for recalibration."""
    fingerprint: str | None = None
    finish: str | None = None
    """The provider's finish reason, so that a stored reply can be read again."""
    refusal: str | None = None
    """The provider's refusal text, where it has one."""
    unread: tuple[UnreadReply, ...] = ()
    """The replies before this one that were not of the agreed form and were asked for again."""

    @property
    def may_be_asked_again(self) -> bool:
        """True for a reply that is not of the agreed form: the only one that a re-ask is for."""
        return self.called and (self.reason, self.detail) == (UnknownReason.INVALID, "unparsed")

    @property
    def answer(self) -> Answer:
        """The answer, or the unknown with its reason."""
        if self.reason is None:
            return answered(str(self.value))
        return Answer(unknown=unknown(self.reason, self.detail))


@dataclass(frozen=True, slots=True)
class Graded:
    """One item judged in every order that its judge declares."""

    verdicts: tuple[JudgeVerdict, ...]
    """One a presentation, in the order of asking."""
    answer: Answer
    """What they amount to together."""
    outcome: Outcome | NoClaim
    """The answer as a verdict; NoClaim for a preference without a declared candidate."""
    position: PositionCell | None
    """Where the item falls by content and place; None where not both orders were asked of the model."""


@dataclass(frozen=True, slots=True)
class Sitting:
    """A model judge before one rubric, as one run has it; digests are computed once."""

    judge: ModelJudge
    rubric: Rubric
    model: str
    """The model's name on the wire."""
    api_base: str | None
    secret: bytes = field(repr=False)
    judge_digest: str
    rubric_digest: str
    parameters: Mapping[str, Any] = field(repr=False)
    """What is sent beside the messages."""
    fields: tuple[EvidenceField, ...] = field(repr=False)
    """The rubric's, read once."""
    frames: dict[tuple[tuple[str, ...], Order], Frame] = field(
        default_factory=dict, repr=False, compare=False
    )
    """What the calls about the same criteria in an order have in common, once one was prepared."""

    def frame(self, criteria: Sequence[Criterion], order: Order) -> Frame:
        """What the calls about these criteria in this order have in common."""
        keys = tuple(criterion.key for criterion in criteria)
        known = self.frames.get((keys, order))
        if known is None:
            made = (
                frame_several(self.judge, criteria, order)
                if self.judge.several
                else frame(self.judge, criteria[0], order)
            )
            known = self.frames[keys, order] = made
        return known


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that is ready to be made."""

    sitting: Sitting
    questions: tuple[Question, ...]
    """What the call asks of the item, in the order asked; one unless the judge declares more to a call."""
    order: Order
    repeat: int
    texts: Material
    shown: str
    """Digest of the texts as rendered."""
    prompt: Prompt
    request: ModelRequest
    known: tuple[JudgeVerdict, ...] = ()
    """The verdicts of criteria that would be asked in this call and need none."""

    @property
    def criteria(self) -> tuple[str, ...]:
        """Keys of the criteria that the call asks about."""
        return tuple(question.criterion.key for question in self.questions)


def sit(judge: ModelJudge, rubric: Rubric, *, secret: bytes, served_at: str | None = None) -> Sitting:
    """The judge ready for the items of a rubric.

    `secret` is random and private to the run: the marks of the fences come from it. `served_at` is the
    address of an embedded model. Raises DeclarationError for an embedded model that is not served, ValueError
    for a secret that could be guessed.
    """
    if len(secret) < 16:
        raise ValueError(f"a secret of {len(secret)} bytes can be guessed; give at least 16 random ones")
    model, api_base = judge.model, judge.api_base
    if judge.endpoint is Endpoint.EMBEDDED:
        if served_at is None:
            raise DeclarationError(f"the model of judge {judge.name!r} is not served; start it first")
        model, api_base = f"openai/{judge.model}", served_at
    parameters = judge.parameters.model_dump()
    return Sitting(
        judge, rubric, model, api_base, secret, judge.digest, rubric.digest, parameters, rubric.fields
    )


def prepare(
    sitting: Sitting, question: Question, *, order: Order, repeat: int = 1, ask: int = 1
) -> Prepared | JudgeVerdict:
    """The call for one presentation, or its verdict where that is known without a call.

    It asks about this criterion alone; `prepare_together` is for judges that ask about several. `ask` numbers
    the calls for one unit, so that a re-ask has marks of its own. Raises ValueError where the question is of
    another rubric than the judge sits over.
    """
    ready = prepare_together(sitting, (question,), order=order, repeat=repeat, ask=ask)
    return ready if isinstance(ready, Prepared) else ready[0]


def prepare_together(
    sitting: Sitting, questions: Sequence[Question], *, order: Order, repeat: int = 1, ask: int = 1
) -> Prepared | tuple[JudgeVerdict, ...]:
    """The one call that asks these criteria of an item, or their verdicts where no call is needed.

    Criteria that are settled without a call are not asked about; their verdicts stand in `known`. `ask` as
    for `prepare`. Raises ValueError where a question is of another rubric than the judge sits over.
    """
    for question in questions:
        if question.rubric is not sitting.rubric and question.rubric != sitting.rubric:
            raise ValueError(f"the judge sits over {sitting.rubric.ref}, not over {question.rubric.ref}")
    texts = material(sitting.judge, questions[0], fields=sitting.fields)
    shown = texts.digest
    asked: list[Question] = []
    known: list[JudgeVerdict] = []
    for question in questions:
        found = settled(sitting.judge, question, texts)
        if found is None:
            asked.append(question)
        else:
            verdict = _verdict(
                sitting, question, texts, found.answer, order=order, repeat=repeat, evidence=shown,
                rationale=found.rationale, called=False, **_cost(UNBILLED),
            )  # fmt: skip
            known.append(verdict)
    if not asked:
        return tuple(known)
    keys = [question.criterion.key for question in asked]
    call = (questions[0].item.item_id, " ".join(keys), order.value, repeat, ask)
    around = sitting.frame([question.criterion for question in asked], order)
    prompt = fill(around, texts, marks(sitting.secret, *call, with_reply=around.marked))
    request = ModelRequest(
        model=sitting.model,
        messages=prompt.messages,
        schema=prompt.schema,
        api_base=sitting.api_base,
        **sitting.parameters,
    )
    return Prepared(sitting, tuple(asked), order, repeat, texts, shown, prompt, request, tuple(known))


def conclude(call: Prepared, reply: ModelReply) -> JudgeVerdict:
    """The verdict in the reply to a call about one criterion; also reads a stored reply again."""
    return conclude_all(call, reply)[0]


def conclude_all(call: Prepared, reply: ModelReply) -> tuple[JudgeVerdict, ...]:
    """The verdict in a reply on each criterion that the call asks about, in the order asked.

    Each carries what the whole call took: whoever adds up counts the call once.
    """
    took = {
        "raw": None if reply.text is None else raw_bytes(reply.text),
        "tokens": reply.tokens,
        "latency_ms": reply.latency_ms,
        "attempts": reply.attempts,
        "reported_model": reply.model,
        "fingerprint": reply.fingerprint,
        "finish": reply.finish,
        "refusal": reply.refusal,
        **_cost(reply.cost),
    }
    return tuple(
        _verdict(
            call.sitting, question, call.texts, parsed.answer, order=call.order, repeat=call.repeat,
            evidence=call.shown, rationale=parsed.rationale, **took,
        )
        for question, parsed in zip(call.questions, _read(call, reply), strict=True)
    )  # fmt: skip


def _read(call: Prepared, reply: ModelReply) -> Sequence[Parsed]:
    form = call.prompt.form
    if isinstance(form, SeveralForm):
        found = parse_several(reply.text, form, finish=reply.finish, refusal=reply.refusal)
        return tuple(found.values())
    return (parse(reply.text, form, finish=reply.finish, refusal=reply.refusal),)


def conclude_failed(call: Prepared, error: ModelCallError) -> JudgeVerdict:
    """The verdict of a call that brought no reply: unknown, with the reason that the fault amounts to.

    It is that of the first criterion; the others failed in the same way.
    """
    return _failed(call, call.questions[0], error)


def _failed(call: Prepared, question: Question, error: ModelCallError) -> JudgeVerdict:
    return _verdict(
        call.sitting, question, call.texts, Answer(unknown=error.outcome), order=call.order,
        repeat=call.repeat, evidence=call.shown, rationale=str(error), attempts=error.attempts,
        **_cost(error.cost),
    )  # fmt: skip


async def ask_once(
    sitting: Sitting, question: Question, client: ModelClient, *, order: Order, repeat: int = 1
) -> JudgeVerdict:
    """The verdict of one presentation, asked together with the criteria that share its call.

    Raises ModelCallError where every further call would fail in the same way (no key, unknown model): then
    nothing is to be concluded about the item.
    """
    together = _together(sitting.judge, question)
    first = prepare_together(sitting, together, order=order, repeat=repeat)
    known = first.known if isinstance(first, Prepared) else first
    for verdict in known:
        if verdict.criterion == question.criterion.key:
            return verdict
    if not isinstance(first, Prepared):  # pragma: no cover  one verdict a question
        raise ValueError(f"{question.criterion.key!r} is neither asked nor settled")
    verdicts = await _answered(first, client)
    place = first.criteria.index(question.criterion.key)
    if not (sitting.judge.reask and asked_for_again(verdicts)):
        return verdicts[place]
    second = prepare_together(sitting, together, order=order, repeat=repeat, ask=2)
    if not isinstance(second, Prepared):  # pragma: no cover  what needs a call needed one the first time
        return second[0]
    return after_unread((await _answered(second, client))[place], verdicts[place])


def _together(judge: ModelJudge, question: Question) -> tuple[Question, ...]:
    """What is asked of the item in the call that asks this."""
    if not judge.several:
        return (question,)
    rubric, item = question.rubric, question.item
    groups = asked_together(judge, rubric.criteria)
    group = next(group for group in groups if question.criterion in group)
    return tuple(Question(rubric, criterion, item) for criterion in group)


def asked_for_again(verdicts: Sequence[JudgeVerdict]) -> bool:
    """Whether a judge that re-asks does so: the reply is not of the agreed form under any criterion."""
    return all(verdict.may_be_asked_again for verdict in verdicts)


async def _answered(call: Prepared, client: ModelClient) -> tuple[JudgeVerdict, ...]:
    try:
        reply = await client.complete(call.request)
    except ModelCallError as error:
        if error.stops_run:
            raise
        return tuple(_failed(call, question, error) for question in call.questions)
    return conclude_all(call, reply)


def after_unread(verdict: JudgeVerdict, unread: JudgeVerdict) -> JudgeVerdict:
    """The verdict of a re-ask with the reply before it, which was not of the agreed form, kept beside it."""
    before = UnreadReply(
        raw=unread.raw,
        tokens=unread.tokens,
        cost_micros=unread.cost_micros,
        cost_source=unread.cost_source,
    )
    return verdict.model_copy(update={"unread": (*unread.unread, before)})


async def grade(sitting: Sitting, question: Question, client: ModelClient, *, repeat: int = 1) -> Graded:
    """The item judged in every order that the judge declares, one call after the other.

    Raises ModelCallError as `ask_once` does.
    """
    verdicts = [
        await ask_once(sitting, question, client, order=order, repeat=repeat)
        for order in presentations(sitting.judge.order)
    ]
    return settle(question, verdicts)


def settle(question: Question, verdicts: list[JudgeVerdict]) -> Graded:
    """What the verdicts of one item amount to together; one for each order that was asked."""
    answers = [verdict.answer for verdict in verdicts]
    answer = reconcile(answers)
    scale = question.criterion.scale
    both = len(verdicts) == 2 and all(verdict.called for verdict in verdicts)
    cell = position_cell(scale.answers, answers[0], answers[1]) if both else None
    return Graded(tuple(verdicts), answer, answer.outcome(scale), cell)


def grade_by_rule(
    judge: RuleJudge, question: Question, *, checks: Mapping[str, Check] = MappingProxyType({})
) -> Graded:
    """The verdict of a rule judge on the item, in the same form as a model's and without a call.

    Raises DeclarationError where the rules are for another criterion, or the criterion is not pass or fail.
    """
    criterion = question.criterion
    if judge.criterion != criterion.key or not isinstance(criterion.scale, BinaryScale):
        raise DeclarationError(
            f"judge {judge.name!r} has rules for the pass or fail criterion {judge.criterion!r}, not for "
            f"{criterion.key!r} on its {criterion.scale.kind} scale"
        )
    found = judge_item(judge, question.item, checks=checks)
    known = found.outcome.reason is None
    verdict = JudgeVerdict(
        judge=judge.digest,
        rubric=question.rubric.digest,
        criterion=criterion.key,
        item_id=question.item.item_id,
        order=None,
        repeat=1,
        evidence=question.item.content_digest,
        value=found.outcome.verdict.value if known else None,
        reason=found.outcome.reason,
        detail=found.outcome.detail,
        rationale=found.rationale,
        called=False,
        **_cost(UNBILLED),
    )
    return settle(question, [verdict])


def _verdict(
    sitting: Sitting,
    question: Question,
    texts: Material,
    answer: Answer,
    *,
    order: Order,
    repeat: int,
    evidence: str,
    **taken: Any,
) -> JudgeVerdict:
    return JudgeVerdict(
        judge=sitting.judge_digest,
        rubric=sitting.rubric_digest,
        criterion=question.criterion.key,
        item_id=question.item.item_id,
        order=order,
        repeat=repeat,
        evidence=evidence,
        value=answer.value,
        reason=answer.reason,
        detail=answer.unknown.detail if answer.unknown else None,
        flags=texts.flags,
        **taken,
    )


def _cost(cost: Cost) -> dict[str, Any]:
    return {"cost_micros": cost.micros, "cost_source": cost.source}
