"""Replies through both clients: what is handed on, what goes over the wire, what it cost."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any

import pytest
from pydantic import SecretStr

from judge.calls import EMBEDDED_COST, NO_COST, Cost, CostSource, Fault, Prices, Tokens
from judge.direct_client import DirectTransport, connect_direct
from judge.model_client import LiteLLMTransport, ModelReply, connect
from tests.judge.calling import KEY, OK, PATHS, ask, call, raw
from tests.judge.provider import JSON_TYPE, Answer, Provider, completion, in_turn

SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["pass", "fail"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}


both_paths = pytest.mark.parametrize("path", list(PATHS))


@both_paths
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(
            completion('{"verdict": "pa', finish="length"), ('{"verdict": "pa', "length", None), id="cut"
        ),
        pytest.param(completion(None, refusal="I cannot."), (None, "stop", "I cannot."), id="refusal"),
        pytest.param(completion("", finish="content_filter"), ("", "content_filter", None), id="filtered"),
        pytest.param(completion(None), (None, "stop", None), id="null content"),
    ],
)
def test_what_is_no_finished_answer_is_handed_on_as_such(
    answer: Answer, expected: tuple[str | None, str, str | None], path: str
) -> None:
    """Truncation, refusal and filter are replies, not faults: one hit, and the parser gives the reason."""
    result = call(in_turn(answer), path=path)
    assert result.reply is not None
    assert (result.reply.text, result.reply.finish, result.reply.refusal) == expected
    assert len(result.provider.hits) == 1


@both_paths
def test_a_tool_call_or_a_second_choice_is_no_finished_answer(path: str) -> None:
    """Nothing of them is read as text."""
    tool = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"verdict": "pass"}'}}]
    called = call(in_turn(completion(None, finish="tool_calls", tool_calls=tool)), path=path).reply
    assert called is not None
    assert (called.text, called.finish) == (None, "tool_calls")
    body = json.loads(OK.body)
    body["choices"] *= 2
    twice = call(in_turn(raw(json.dumps(body).encode())), path=path).reply
    assert twice is not None
    assert (twice.text, twice.finish) == (None, "several_choices")


@both_paths
def test_the_request_on_the_wire_is_what_was_declared(path: str) -> None:
    """Model, messages, parameters and a strict schema arrive; what is None is not sent."""

    async def run(base: str) -> None:
        connects = connect_direct if path == "direct" else connect
        client = connects(rng=Random(1), api_key=SecretStr(KEY))
        await client.complete(ask(base, temperature=0.0, seed=7, schema=SCHEMA))
        await client.aclose()

    with Provider(in_turn(OK)) as provider:
        asyncio.run(run(provider.api_base))
        body = provider.hits[0].body
    schema = {"name": "verdict", "strict": True, "schema": SCHEMA}
    assert body == {
        "model": "some-model",
        "messages": [{"role": "user", "content": "Is it so?"}],
        "max_tokens": 20,
        "temperature": 0.0,
        "seed": 7,
        "response_format": {"type": "json_schema", "json_schema": schema},
    }


@both_paths
def test_the_reply_says_who_answered_and_what_it_took(path: str) -> None:
    """Reported model, fingerprint, tokens (cached apart) and latency are kept."""
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 7,
        "total_tokens": 107,
        "prompt_tokens_details": {"cached_tokens": 60},
    }
    reply = call(in_turn(completion("x", usage=usage, delay=0.05)), path=path).reply
    assert reply is not None
    assert (reply.model, reply.fingerprint) == ("served-model-1", "fp_test")
    assert reply.tokens == Tokens(40, 60, 7)
    assert reply.latency_ms >= 50


@both_paths
@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -1, "completion_tokens": 7, "total_tokens": 6},
        {"prompt_tokens": 9, "completion_tokens": -7, "total_tokens": 2},
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    ],
)
def test_counts_that_cannot_be_are_unknown(usage: dict[str, int], path: str) -> None:
    """A negative count, or none at all, is unknown and so is the cost."""
    reply = call(in_turn(completion("x", usage=usage)), prices=Prices(1.0, 1.0), path=path).reply
    assert reply is not None
    assert (reply.tokens, reply.cost) == (Tokens(), NO_COST)


@both_paths
def test_the_cost_has_a_source_or_is_null(path: str) -> None:
    """Declared prices, a free model, and a known name at a foreign address, which the map must not bill."""
    declared = call(in_turn(OK), prices=Prices(uncached_input=0.15, output=0.6), path=path).reply
    free = call(in_turn(OK), free=True, path=path).reply
    borrowed = call(in_turn(OK), model="openai/gpt-4o-mini", path=path).reply
    assert declared is not None
    assert free is not None
    assert borrowed is not None
    # 100 tokens at $0.15 and 7 at $0.60 a million: 15 + 4.2 millionths, rounded up
    assert declared.cost == Cost(20, CostSource.DECLARED)
    assert free.cost == EMBEDDED_COST
    assert borrowed.cost == NO_COST


def test_cached_input_has_its_own_price() -> None:
    """Cached tokens are billed apart where a price is declared for them, else as the others."""
    tokens = Tokens(uncached_input=40, cached_input=60, output=7)
    assert Prices(1.0, 2.0, cached_input=0.5).cost(tokens).micros == 84
    assert Prices(1.0, 2.0).cost(tokens).micros == 114


def test_the_price_map_is_used_at_the_providers_own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """A known model is priced by the map of the installed LiteLLM."""
    with Provider(in_turn(OK)) as provider:
        monkeypatch.setenv("OPENAI_API_BASE", provider.api_base)  # stands in for the provider's own address

        async def run() -> ModelReply:
            transport = LiteLLMTransport(api_key=SecretStr(KEY))
            try:
                return await transport.send(ask(None, "openai/gpt-4o-mini"))
            finally:
                await transport.aclose()

        reply = asyncio.run(run())
    assert reply.cost.source is CostSource.PRICE_MAP
    # $0.15 and $0.60 a million: 15 + 4.2 millionths
    assert reply.cost.micros == 20


ILL_TYPED = pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")


@both_paths
@ILL_TYPED
@pytest.mark.parametrize("said", [5, {"a": 1}, ["a"], True, None])
def test_what_a_provider_says_of_itself_counts_where_it_is_a_text(said: object, path: str) -> None:
    """A model or fingerprint that is a number, an object or a list is none, and the answer is read."""
    sent = json.loads(completion("hello").body) | {"model": said, "system_fingerprint": said}
    answer = Answer(body=json.dumps(sent).encode(), headers={"content-type": JSON_TYPE})
    reply = call(lambda _: answer, path=path).reply
    assert reply is not None
    assert (reply.text, reply.model, reply.fingerprint) == ("hello", None, None)


@both_paths
@ILL_TYPED
@pytest.mark.parametrize("refusal", [5, {"a": 1}, ["a"]])
def test_a_refusal_that_is_no_text_is_a_broken_reply(refusal: Any, path: str) -> None:
    """Nobody can say what it means, so it is neither an answer nor a refusal."""
    outcome = call(lambda _: completion("hello", refusal=refusal), path=path)
    assert outcome.error is not None
    assert outcome.error.fault is Fault.BROKEN_REPLY


@pytest.mark.parametrize("model", ["openai/gpt-5-mini", "openai/o4-mini", "hosted_vllm/some-model"])
def test_both_clients_send_the_same(model: str) -> None:
    """Path, model, messages and the name of the limit are equal, for models that reason too."""
    with Provider(in_turn(OK)) as provider:

        async def run() -> None:
            for transport in (
                LiteLLMTransport(api_key=SecretStr(KEY)),
                DirectTransport(api_key=SecretStr(KEY)),
            ):
                await transport.send(ask(provider.api_base, model, schema=SCHEMA))
                await transport.aclose()

        asyncio.run(run())
        through, direct = provider.hits
    assert (direct.path, direct.body) == (through.path, through.body)
    assert direct.headers["authorization"] == through.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("status", [301, 307])
@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("direct", "openai/m"),
        *(("litellm", f"{provider}/m") for provider in ("openai", "hosted_vllm", "lm_studio", "anthropic")),
    ],
)
def test_a_redirect_is_not_followed(path: str, model: str, status: int) -> None:
    """A key and a prompt go to the declared address or nowhere, and the message says what happened."""
    with Provider(in_turn(OK)) as elsewhere:
        away = Answer(status=status, headers={"location": f"{elsewhere.api_base}/chat/completions"})
        outcome = call(in_turn(away), path=path, model=model)
        assert elsewhere.hits == []
    assert outcome.error is not None
    assert (outcome.error.fault, outcome.error.status) == (Fault.REDIRECTED, status)
    assert "the endpoint redirects" in str(outcome.error)
    assert len(outcome.provider.hits) == 1


@both_paths
@pytest.mark.parametrize("finish", [None, "weird", "absent", "eos", 5])
@pytest.mark.parametrize("provider", ["openai", "hosted_vllm"])
def test_only_a_finish_reason_that_was_sent_finishes_an_answer(path: str, finish: Any, provider: str) -> None:
    """Nothing is filled in where a provider does not say that its model had finished."""
    body = json.loads(OK.body)
    body["choices"][0]["finish_reason"] = finish
    if finish == "absent":
        del body["choices"][0]["finish_reason"]
    outcome = call(in_turn(raw(json.dumps(body).encode())), path=path, model=f"{provider}/m")
    if finish == 5:
        assert outcome.error is not None
        assert outcome.error.fault is Fault.BROKEN_REPLY
        return
    assert outcome.reply is not None
    assert outcome.reply.finish == {"absent": None, "eos": "stop"}.get(finish, finish)


def test_an_answer_without_a_length_is_read_to_its_end_and_a_giant_one_is_not() -> None:
    """A chunked completion is a completion; one that says it is longer than any is broken."""
    size = f"{len(OK.body):x}".encode()
    chunked = Answer(
        body=size + b"\r\n" + OK.body + b"\r\n0\r\n\r\n", headers={"transfer-encoding": "chunked"}
    )
    reply = call(in_turn(chunked), path="direct").reply
    assert reply is not None
    assert reply.text == '{"verdict": "pass"}'
    giant = Answer(body=b"{}", headers={"content-length": str(10**9)})
    outcome = call(in_turn(giant), path="direct")
    assert outcome.error is not None
    assert outcome.error.fault is Fault.BROKEN_REPLY
