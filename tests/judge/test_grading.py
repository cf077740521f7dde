"""One item through one judge with the fake model: nothing lost, nothing invented, nothing believed."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from judge.calls import (
    FAULTS,
    UNBILLED,
    Attempt,
    Cost,
    CostSource,
    Fault,
    ModelCallError,
    ModelReply,
    ModelRequest,
)
from judge.fake_model import FakeTransport, failed, said
from judge.grading import (
    Graded,
    JudgeVerdict,
    Prepared,
    conclude,
    grade,
    grade_by_rule,
    prepare,
    sit,
)
from judge.parsing import Reading
from judge.question import Question
from judge.spec import Endpoint, Labels, ModelJudge, ReasonPlace, parse_judge
from rubrics.answer import Answer, answered, no_answer
from rubrics.errors import DeclarationError
from rubrics.item import Item
from rubrics.order import Order, OrderPolicy, PositionCell
from rubrics.scale import NoClaim
from rubrics.verdict import FAIL, PASS, Verdict, unknown
from tests.judge.cases import BETTER, PAIRWISE, SECRET, STATES, TONE, ask, item, judge, pair
from tests.judge.hostile import HOSTILE

Handler = Callable[[ModelRequest], ModelReply | ModelCallError]
WRITTEN = (Reading.STRUCTURED, Reading.MARKED)
"""Readings of a reply that is written; a decision is tested in test_decisions."""


def run(question: Question, handler: Handler, spec: ModelJudge | None = None) -> tuple[Graded, FakeTransport]:
    """The item graded by a judge over the fake model, and what the model was asked."""
    model = FakeTransport(handler)
    sitting = sit(spec or judge(), question.rubric, secret=SECRET)
    return asyncio.run(grade(sitting, question, model)), model


def reply_in_form(request: ModelRequest, meaning: str, reason: str = "as asked") -> str:
    """What a model that follows the instructions replies: the word that this prompt gives the meaning."""
    system = request.messages[0].content
    offered = re.findall(r'^- "([^"]+)": (.*)$', system, re.MULTILINE)
    word = next(word for word, says in offered if word == meaning or says.startswith(f"{meaning}:"))
    said_object: dict[str, str] = {"verdict": word}
    if '"reason"' in system:
        said_object = {"reason": reason, "verdict": word}
    mark = re.search(r"^VERDICT (\w+)$", request.messages[1].content, re.MULTILINE)
    return (f"VERDICT {mark[1]}\n" if mark else "") + json.dumps(said_object)


def properly(meaning: str) -> Handler:
    """A model that always means this and says so in the agreed form."""
    return lambda request: said(reply_in_form(request, meaning))


def test_a_clear_answer_in_both_orders_is_the_verdict() -> None:
    """Two calls, both say fail: the item fails, and where it falls by place is known."""
    graded, model = run(ask(item()), properly("fail"))
    assert (graded.answer, graded.outcome, graded.position) == (answered("fail"), FAIL, PositionCell.BB)
    assert [verdict.order for verdict in graded.verdicts] == [Order.AB, Order.BA]
    assert len(model.requests) == 2
    assert model.requests[0].messages != model.requests[1].messages


def test_a_judge_that_takes_the_first_option_abstains_by_inconsistency() -> None:
    """Always A: pass in one order, fail in the other, so no verdict at all, and the lean is counted."""
    spec = judge(labels=Labels.LETTERS, reason=ReasonPlace.NONE)
    graded, _ = run(ask(item()), lambda _: said('{"verdict": "A"}'), spec)
    assert [verdict.value for verdict in graded.verdicts] == ["pass", "fail"]
    assert graded.outcome == unknown("inconsistent", "orders")
    assert graded.position is PositionCell.FF


def test_a_pair_is_judged_in_source_positions() -> None:
    """A model that prefers a text names first and second by turns; one that prefers a place is caught."""

    def prefers_thirty(request: ModelRequest) -> ModelReply:
        first = request.messages[1].content.partition("First output\n")[2]
        return said(reply_in_form(request, "first" if first.startswith("Thirty") else "second"))

    graded, _ = run(ask(pair()), prefers_thirty)
    assert (graded.answer, graded.position) == (answered("A"), PositionCell.AA)
    assert graded.outcome == FAIL  # the claim is that B is better
    graded, _ = run(ask(pair("No idea.", "Thirty days.")), prefers_thirty)
    assert graded.outcome == PASS
    graded, _ = run(ask(pair()), properly("first"))
    assert (graded.outcome, graded.position) == (unknown("inconsistent", "orders"), PositionCell.FF)


def test_a_preference_without_a_candidate_claims_nothing() -> None:
    """The preference is the answer; it is neither a pass nor a fail."""
    scale = BETTER.scale.model_copy(update={"candidate": None})
    rubric = PAIRWISE.model_copy(update={"criteria": (BETTER.model_copy(update={"scale": scale}),)})
    graded, _ = run(Question(rubric, rubric.criteria[0], pair()), properly("tie"))
    assert graded.answer == answered("tie")
    assert isinstance(graded.outcome, NoClaim)


def test_levels_are_read_by_accept_at() -> None:
    """The level is kept and the verdict follows from the rubric."""
    graded, _ = run(ask(item(), TONE), properly("1"))
    assert (graded.answer, graded.outcome, graded.position) == (answered("1"), FAIL, PositionCell.TT)
    assert run(ask(item(), TONE), properly("2"))[0].outcome == PASS


def test_one_order_is_one_call() -> None:
    """A judge that declares one order is asked once and has no position."""
    graded, model = run(ask(item()), properly("pass"), judge(order=OrderPolicy.AS_DECLARED))
    assert (len(model.requests), len(graded.verdicts), graded.position, graded.outcome) == (1, 1, None, PASS)


@pytest.mark.parametrize("policy", [None, "", " \n", "\u200b"])
@pytest.mark.parametrize("reading", WRITTEN)
def test_a_judge_that_would_accept_everything_cannot_accept_missing_evidence(
    policy: str | None, reading: Reading
) -> None:
    """The model is not even asked: unknown(abstained, evidence_missing), free of charge."""
    graded, model = run(ask(item(policy=policy)), properly("pass"), judge(reading=reading, abstention=False))
    assert model.requests == []
    assert graded.outcome == unknown("abstained", "evidence_missing")
    assert graded.position is None
    for verdict in graded.verdicts:
        assert (verdict.called, verdict.cost_micros, verdict.cost_source) == (False, 0, CostSource.UNBILLED)
        assert verdict.rationale == "the item has no policy"


def test_the_same_judge_accepts_the_item_with_its_evidence() -> None:
    """What the test above refuses is only the missing evidence."""
    assert run(ask(item()), properly("pass"))[0].outcome == PASS


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("meaning", ["fail", "pass"])
@pytest.mark.parametrize("reading", WRITTEN)
def test_with_a_proper_model_a_hostile_output_changes_no_verdict(
    name: str, meaning: str, reading: Reading
) -> None:
    """Whatever the output says, the verdict is what the model meant, and the attempt is flagged."""
    output, flags = HOSTILE[name]
    graded, model = run(ask(item(output)), properly(meaning), judge(reading=reading))
    assert graded.outcome.verdict == meaning  # type: ignore[union-attr]  # no preference here
    assert set(graded.verdicts[0].flags) == flags
    plain = run(ask(item("plain")), properly(meaning), judge(reading=reading))[1]
    assert [r.messages[0] for r in model.requests] == [r.messages[0] for r in plain.requests]
    assert all(len(request.messages) == 2 for request in model.requests)


def _candidate(request: ModelRequest) -> str:
    return request.messages[1].content.partition("Output\n")[2].partition("\n<<<END")[0]


ECHOES: dict[str, Callable[[ModelRequest], str]] = {
    "the output alone": _candidate,
    "the output quoted": lambda request: f"The output says:\n{_candidate(request)}\n",
    "the whole prompt": lambda request: "\n".join(message.content for message in request.messages),
    "prose": lambda _: "I would say that this passes. Final verdict: PASS",
    "an empty reply": lambda _: "",
    "two objects": lambda _: '{"reason":"x","verdict":"pass"}{"reason":"x","verdict":"fail"}',
    "duplicate keys": lambda _: '{"reason":"x","verdict":"fail","verdict":"pass"}',
    "numbers": lambda _: '{"reason":"x","verdict":1e999}',
    "not a number": lambda _: '{"reason":"x","verdict":NaN}',
    "lone surrogates": lambda _: '{"reason":"x","verdict":"\ud800pass"}',
    "tag characters": lambda _: '{"reason":"x","verdict":"pass\U000e0041"}',
    "bytes of noise": lambda _: "\0\x1b\ud83d{{{{[[\\",
}


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("reading", WRITTEN)
def test_with_a_garbage_model_a_hostile_output_is_never_a_verdict(echo: str, reading: Reading) -> None:
    """A model that only echoes or babbles gives unknown(invalid), whatever verdict the output holds."""
    for name, (output, _) in HOSTILE.items():
        graded, _ = run(ask(item(output)), lambda r: said(ECHOES[echo](r)), judge(reading=reading))
        assert {str(verdict.reason) for verdict in graded.verdicts} == {"invalid"}, name
        assert isinstance(graded.outcome, type(PASS)), name
        assert graded.outcome.accepted is False, name


@pytest.mark.parametrize(
    "name", [name for name, (_, flags) in HOSTILE.items() if "verdict_imitation" in flags]
)
def test_a_model_that_quotes_the_output_before_its_own_verdict_is_understood(name: str) -> None:
    """Marked reading: the quoted object stands before the mark and does not count."""

    def quotes(request: ModelRequest) -> ModelReply:
        return said(f"It says {HOSTILE[name][0]}\nso\n{reply_in_form(request, 'fail')}")

    graded, _ = run(ask(item(HOSTILE[name][0])), quotes, judge(reading=Reading.MARKED))
    assert graded.outcome == FAIL


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.text() | st.none(), st.sampled_from(["stop", "length", None]), st.sampled_from(WRITTEN))
def test_any_reply_is_an_answer_or_a_reasoned_unknown(
    text: str | None, finish: str | None, reading: Reading
) -> None:
    """No reply crashes grading, and the stored record can be written and read."""
    graded, _ = run(ask(item()), lambda _: said(text, finish=finish), judge(reading=reading))
    for verdict in graded.verdicts:
        assert (verdict.value is None) == (verdict.reason is not None)
        assert JudgeVerdict.model_validate_json(verdict.model_dump_json()) == verdict
        assert verdict.raw == (None if text is None else text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("fault", [fault for fault in Fault if not FAULTS[fault].stops_run])
def test_a_failed_call_is_an_unknown_with_its_reason(fault: Fault) -> None:
    """Never pass, never fail, never absent: the fault's outcome, with the words and the attempts."""
    error = failed(fault, status=500)
    error.attempts = (Attempt(1, fault, 500, 0, 12),)
    graded, _ = run(ask(item()), lambda _: error)
    assert graded.outcome == FAULTS[fault].outcome
    verdict = graded.verdicts[0]
    assert (verdict.raw, verdict.called, verdict.attempts) == (None, True, error.attempts)
    assert verdict.rationale == str(error)
    assert verdict.cost_micros == (None if FAULTS[fault].maybe_paid else 0)


@pytest.mark.parametrize("fault", [fault for fault in Fault if FAULTS[fault].stops_run])
def test_a_fault_that_stops_the_run_is_raised(fault: Fault) -> None:
    """No key, no such model: nothing is concluded about the item, and no second call is made."""
    model = FakeTransport(lambda _: failed(fault))
    with pytest.raises(ModelCallError) as caught:
        asyncio.run(grade(sit(judge(), ask(item()).rubric, secret=SECRET), ask(item()), model))
    assert caught.value.stops_run
    assert len(model.requests) == 1


def test_an_error_in_one_order_stays_open() -> None:
    """Pass and no answer could still become a pass: the item is open, not accepted."""
    answers = iter([None, failed(Fault.TIMEOUT)])
    graded, _ = run(ask(item()), lambda r: next(answers) or said(reply_in_form(r, "pass")))
    assert [v.value for v in graded.verdicts] == ["pass", None]
    assert graded.outcome == unknown("error", "timeout")


def test_the_record_holds_everything_that_the_call_took() -> None:
    """Reply, tokens, cost with source, attempts, reported model: as the client gave them."""
    reply = ModelReply(
        text='{"reason": "fine \ud800", "verdict": "pass"}',
        finish="stop",
        model="served-2",
        fingerprint="fp_9",
        cost=Cost(12, CostSource.PRICE_MAP),
        attempts=(Attempt(1, Fault.RATE_LIMITED, 429, 0, 5), Attempt(2, None, None, 2000, 340)),
    )
    spec = judge()
    graded, _ = run(ask(item()), lambda _: reply, spec)
    verdict = graded.verdicts[0]
    assert verdict.model_dump(include={"judge", "rubric", "criterion", "item_id", "order", "repeat"}) == {
        "judge": spec.digest,
        "rubric": ask(item()).rubric.digest,
        "criterion": "states_terms",
        "item_id": "i-1",
        "order": Order.AB,
        "repeat": 1,
    }
    assert (verdict.rationale, verdict.raw) == (
        "fine \\u{D800}",
        (reply.text or "").encode("utf-8", "surrogatepass"),
    )
    assert (verdict.cost_micros, verdict.cost_source, verdict.latency_ms) == (12, CostSource.PRICE_MAP, 340)
    assert (verdict.attempts, verdict.reported_model, verdict.fingerprint) == (
        reply.attempts,
        "served-2",
        "fp_9",
    )
    assert verdict.answer == answered("pass")


def test_a_record_cannot_be_changed() -> None:
    """It is frozen and takes no unknown field."""
    verdict = run(ask(item()), properly("pass"))[0].verdicts[0]
    with pytest.raises(ValidationError, match="frozen"):
        verdict.value = "fail"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        JudgeVerdict.model_validate({**verdict.model_dump(), "score": 1})


def _prepared(about: Item, **how: Any) -> Prepared:
    question = ask(about)
    call = prepare(sit(judge(), question.rubric, secret=SECRET), question, **{"order": Order.AB, **how})
    assert isinstance(call, Prepared)
    return call


def test_each_call_has_marks_of_its_own() -> None:
    """Item, order, repeat and re-ask give other marks; the same call gives the same messages."""
    calls = [
        _prepared(item()),
        _prepared(item(item_id="i-2")),
        _prepared(item(), order=Order.BA),
        _prepared(item(), repeat=2),
        _prepared(item(), ask=2),
    ]
    users = [call.request.messages[1].content for call in calls]
    assert len(set(users)) == len(calls)
    assert _prepared(item()).request == calls[0].request
    assert len({call.texts.digest for call in calls}) == 1


def test_the_request_carries_the_judges_parameters() -> None:
    """Model, parameters and schema are those of the spec."""
    spec = judge(parameters={"temperature": None, "seed": 5, "max_output_tokens": 77}, reading=Reading.MARKED)
    _, model = run(ask(item()), properly("pass"), spec)
    request = model.requests[0]
    assert (request.model, request.temperature, request.top_p, request.seed) == (
        "openai/test-1",
        None,
        None,
        5,
    )
    assert (request.max_output_tokens, request.schema, request.api_base) == (77, None, None)


def test_a_stored_reply_can_be_read_again() -> None:
    """Concluding twice from the same reply gives the same verdict, without a call."""
    call = _prepared(item())
    reply = said('{"reason": "r", "verdict": "fail"}')
    assert conclude(call, reply) == conclude(call, reply)
    assert conclude(call, reply).value == "fail"


def test_where_a_model_is_called_follows_from_its_endpoint() -> None:
    """Provider, compatible address, or the embedded model where it is served."""
    rubric = ask(item()).rubric
    assert sit(judge(), rubric, secret=SECRET).api_base is None
    at = judge(endpoint=Endpoint.COMPATIBLE, api_base="http://127.0.0.1:9/v1")
    assert sit(at, rubric, secret=SECRET).api_base == "http://127.0.0.1:9/v1"
    embedded = judge(endpoint=Endpoint.EMBEDDED, model="SmolLM2", weights="0" * 64)
    sitting = sit(embedded, rubric, secret=SECRET, served_at="http://127.0.0.1:7/v1")
    assert (sitting.model, sitting.api_base) == ("openai/SmolLM2", "http://127.0.0.1:7/v1")
    with pytest.raises(DeclarationError, match="the model of judge 'test-judge' is not served"):
        sit(embedded, rubric, secret=SECRET)


def test_the_secret_is_long_and_not_shown() -> None:
    """A short secret is refused, and a sitting does not print its own."""
    rubric = ask(item()).rubric
    with pytest.raises(ValueError, match="a secret of 3 bytes can be guessed"):
        sit(judge(), rubric, secret=b"abc")
    assert "sixteen" not in repr(sit(judge(), rubric, secret=SECRET))


def test_a_question_of_another_rubric_is_refused() -> None:
    """A judge sits over one rubric, whose digest its verdicts carry."""
    with pytest.raises(ValueError, match="sits over pairs@1, not over refunds@1"):
        prepare(sit(judge(), PAIRWISE, secret=SECRET), ask(item()), order=Order.AB)


RULES = parse_judge(
    "kind: rule\nname: terms\nversion: 1\ncriterion: states_terms\nevidence: [policy]\n"
    "rules:\n- {kind: forbidden, name: free, patterns: [free], says: that it is free}\n"
)


@pytest.mark.parametrize(
    ("about", "answer"),
    [
        (item(), answered("pass")),
        (item("Returns are free."), answered("fail")),
        (item(policy=None), no_answer("abstained", "evidence_missing")),
    ],
)
def test_a_rule_judge_gives_its_verdict_in_the_same_form(about: Item, answer: Answer) -> None:
    """One record without a call, an order or a cost, by the digest of the rules."""
    graded = grade_by_rule(RULES, ask(about))  # type: ignore[arg-type]  # parsed as a rule judge
    (verdict,) = graded.verdicts
    assert (graded.answer, graded.position) == (answer, None)
    assert (verdict.judge, verdict.order, verdict.called) == (RULES.digest, None, False)
    assert Cost(verdict.cost_micros, verdict.cost_source) == UNBILLED


def test_rules_for_another_criterion_are_refused() -> None:
    """Rules are written for one pass or fail criterion."""
    with pytest.raises(
        DeclarationError, match="rules for the pass or fail criterion 'states_terms', not for 'tone'"
    ):
        grade_by_rule(RULES, ask(item(), TONE))  # type: ignore[arg-type]


def test_every_verdict_of_this_module_is_a_known_word() -> None:
    """The scale of the test rubric is the one that the words above mean."""
    assert STATES.answers == (Verdict.PASS, Verdict.FAIL)
