"""Typed decision endpoints: the model picks a verdict; the same faults, retries and runs as any reading."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any

import pytest
from pydantic import SecretStr

from calibration.store.database import Store
from judge.calls import Fault, Message, ModelCallError, ModelReply, ModelRequest, Tokens
from judge.model_client import DecisionTransport, connect
from judge.parsing import Reading
from judge.runs import RunOptions, run_judge
from judge.runs.batch import emit_batch
from judge.runs.budget import Tariff
from judge.runs.connect import connected
from judge.spec import Endpoint, ModelJudge, ReasonPlace
from rubrics.errors import DeclarationError
from rubrics.order import OrderPolicy
from tests.judge.calling import KEY
from tests.judge.cases import judge
from tests.judge.provider import JSON_TYPE, Answer, Handler, Hit, Provider, fault
from tests.judge.run_world import NOW, lay_down, number_in, numbered, planned, verdicts

UNSENT = {"temperature": None}


def decides(**changes: Any) -> ModelJudge:
    """A judge that is asked at a decision endpoint."""
    given = {"name": "decider", "reading": Reading.DECISION, "reason": ReasonPlace.NONE, "parameters": UNSENT}
    return judge(**{**given, **changes})


def decision(choice: Any = "pass", *, kind: str = "choice", **changes: Any) -> Answer:
    """What an endpoint answers: one choice, with its probabilities."""
    chosen = {"type": kind, "name": "verdict", "choice": choice, "confidence": 0.9}
    said = {**chosen, "probabilities": [{"value": choice, "probability": 0.9}]}
    usage = {"input_tokens": 100, "output_tokens": 1, "total_tokens": 101}
    usage |= {"input_tokens_details": {"cached_tokens": 40}}  # type: ignore[dict-item]
    answer = {"object": "decision", "model": "decider-1", "answers": [said], "usage": usage, **changes}
    return Answer(200, json.dumps(answer).encode(), {"content-type": JSON_TYPE})


def asked(handler: Handler, **changes: Any) -> tuple[ModelReply | ModelCallError, list[Hit]]:
    """One attempt at a provider, and what it saw."""

    async def ask(base: str) -> ModelReply | ModelCallError:
        schema = {"properties": {"verdict": {"enum": ["pass", "fail"]}}}
        messages = (Message("system", "Is it so?"), Message("user", "It is."))
        request = ModelRequest("openai/any", messages, 20, api_base=base, schema=schema)
        transport = DecisionTransport(api_key=SecretStr(KEY), **{"deadline_s": 20.0, **changes})
        try:
            return await transport.send(request)
        except ModelCallError as error:
            return error
        finally:
            await transport.aclose()

    with Provider(handler) as provider:
        return asyncio.run(ask(provider.api_base)), provider.hits


def test_the_verdicts_are_the_choices_and_the_choice_is_the_reply() -> None:
    """One POST with question, texts and choices; the tokens are counted, cached ones apart."""
    reply, hits = asked(lambda _: decision("fail"))
    assert isinstance(reply, ModelReply)
    assert (reply.text, reply.finish, reply.model) == ('{"verdict": "fail"}', "stop", "decider-1")
    assert reply.tokens == Tokens(60, 40, 1)
    assert [hit.path for hit in hits] == ["/v1/decisions"]
    (question,) = hits[0].body["questions"]
    assert (hits[0].body["input"], question["instructions"]) == ("It is.", "Is it so?")
    assert [each["value"] for each in question["choices"]] == ["pass", "fail"]


@pytest.mark.parametrize(
    "answers",
    [
        [{"type": "refusal", "name": "verdict"}],
        [],
        [{"type": "predicate", "name": "verdict", "probability": 0.4}],
    ],
)
def test_a_model_that_declines_is_a_refusal(answers: list[dict[str, Any]]) -> None:
    """No choice is made up for it. LiteLLM tells a missing or mistyped answer as a refusal too."""
    reply, _ = asked(lambda _: decision(answers=answers))
    assert isinstance(reply, ModelReply)
    assert (reply.text, bool(reply.refusal)) == (None, True)


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (lambda _: fault(401), Fault.AUTH),
        (lambda _: fault(404), Fault.NOT_FOUND),
        (lambda _: fault(429), Fault.RATE_LIMITED),
        (lambda _: fault(500), Fault.SERVER_ERROR),
        (lambda _: Answer(200, b'{"some": "thing"}', {"content-type": JSON_TYPE}), Fault.BROKEN_REPLY),
        (lambda _: Answer(200, b"<html>", {"content-type": "text/html"}), Fault.BROKEN_REPLY),
    ],
)
def test_faults_are_those_of_every_client_and_nothing_is_tried_twice(
    handler: Handler, expected: Fault
) -> None:
    """Retries are ours; no key and no word of the provider stands in the error."""
    error, hits = asked(handler)
    assert isinstance(error, ModelCallError)
    assert (error.fault, len(hits)) == (expected, 1)
    assert KEY not in str(error)
    assert "the provider says no" not in str(error)


def test_a_deadline_ends_a_call() -> None:
    """It counts from the start."""
    error, _ = asked(lambda _: Answer(200, b"{}", delay=5.0), deadline_s=0.3)
    assert isinstance(error, ModelCallError)
    assert error.fault is Fault.TIMEOUT


def test_a_run_by_decisions_stores_the_choices(sqlite_store: Store) -> None:
    """Every choice in its source position, another word out of range, and no question about JSON."""

    def chosen(hit: Hit) -> Answer:
        number = number_in(ModelRequest("", (Message("user", hit.body["input"]),), 1))
        return decision("maybe" if number == 3 else "fail" if number % 2 else "pass")

    with Provider(chosen) as provider:
        at = {"endpoint": Endpoint.COMPATIBLE, "api_base": provider.api_base}
        spec = decides(model="openai/decider-1", order=OrderPolicy.AS_DECLARED, **at)
        lay_down(sqlite_store, numbered(5), spec)
        with connected(spec, adaptive=False) as reached:
            summary = run_judge(
                sqlite_store, planned(sqlite_store, spec), reached.client, options=RunOptions(concurrency=2)
            )
    assert summary.complete
    assert (dict(summary.verdicts), dict(summary.unknown)) == (
        {"fail": 1, "pass": 3},
        {"invalid (out_of_range)": 1},
    )
    assert {row["reported_model"] for row in verdicts(sqlite_store)} == {"decider-1"}
    said = json.dumps([hit.body for hit in provider.hits])
    assert "Choose one of the verdicts above." in said
    assert "JSON" not in said


def test_a_call_that_failed_is_tried_again() -> None:
    """A 500 and then a choice."""
    answers = iter([fault(500), decision("pass")])

    async def ask(base: str) -> ModelReply:
        async def no_wait(_seconds: float) -> None:
            await asyncio.sleep(0)

        client = connect(rng=Random(1), api_key=SecretStr(KEY), decisions=True)
        client._sleep = no_wait
        schema = {"properties": {"verdict": {"enum": ["pass", "fail"]}}}
        request = ModelRequest("openai/any", (Message("user", "?"),), 20, api_base=base, schema=schema)
        try:
            return await client.complete(request)
        finally:
            await client.aclose()

    with Provider(lambda _: next(answers)) as provider:
        reply = asyncio.run(ask(provider.api_base))
    assert [attempt.fault for attempt in reply.attempts] == [Fault.SERVER_ERROR, None]


def test_neither_the_direct_client_nor_a_batch_asks_for_decisions(sqlite_store: Store, tmp_path: Any) -> None:
    """Both are told in one sentence, before anything is asked."""
    spec = decides()
    lay_down(sqlite_store, numbered(1), spec)
    with pytest.raises(DeclarationError, match="leave out --client direct"), connected(spec, direct=True):
        pytest.fail("nothing is connected")
    with pytest.raises(DeclarationError, match="run it without a batch"):
        emit_batch(sqlite_store, planned(sqlite_store, spec), tmp_path / "x.jsonl", tariff=Tariff(), now=NOW)
