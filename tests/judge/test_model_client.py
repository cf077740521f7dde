"""Contract of both clients, LiteLLM and direct, with a provider on 127.0.0.1: faults, hits, reasons, keys."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging
import os
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pydantic import SecretStr

from judge.calls import Fault
from judge.direct_client import connect_direct
from judge.model_client import (
    ModelCallError,
    ModelReply,
    ModelRequest,
    connect,
    missing_key,
)
from judge.retries import RetryingClient
from rubrics.errors import ExecutionError
from rubrics.verdict import Outcome, unknown
from tests.judge.calling import KEY, OK, PATHS, ask, call, raw
from tests.judge.provider import JSON_TYPE, Answer, Provider, completion, fault, in_turn, page

PROVIDER_ERROR = unknown("error", "provider_error")
UNREACHABLE = unknown("error", "unreachable")
AUTH = unknown("error", "auth")
OVERFLOW = (
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
)
NO_CHOICE = Answer(
    body=b'{"id":"x","object":"chat.completion","created":1,"model":"m","choices":[]}',
    headers={"content-type": JSON_TYPE},
)


both_paths = pytest.mark.parametrize("path", list(PATHS))


@both_paths
@pytest.mark.parametrize(
    ("answer", "kind", "outcome", "hits"),
    [
        # rejected before the model ran: five attempts, nothing paid
        pytest.param(
            fault(429, headers={"retry-after": "2"}), Fault.RATE_LIMITED, PROVIDER_ERROR, 5, id="429"
        ),
        pytest.param(fault(500), Fault.SERVER_ERROR, PROVIDER_ERROR, 5, id="500"),
        pytest.param(page(502), Fault.SERVER_ERROR, PROVIDER_ERROR, 5, id="502 with a page"),
        pytest.param(fault(503), Fault.OVERLOADED, PROVIDER_ERROR, 5, id="503"),
        pytest.param(fault(529), Fault.OVERLOADED, PROVIDER_ERROR, 5, id="529"),
        # perhaps paid: one retry
        pytest.param(page(200), Fault.BROKEN_REPLY, PROVIDER_ERROR, 2, id="200 with a page"),
        pytest.param(raw(b""), Fault.BROKEN_REPLY, PROVIDER_ERROR, 2, id="200 without a body"),
        pytest.param(raw(b'{"id": "x", "ob'), Fault.BROKEN_REPLY, PROVIDER_ERROR, 2, id="half a JSON text"),
        pytest.param(raw(b'\xff\xfe{"a":1}'), Fault.BROKEN_REPLY, PROVIDER_ERROR, 2, id="no UTF-8"),
        pytest.param(
            raw(b'{"error":{"message":"x"}}'), Fault.BROKEN_REPLY, PROVIDER_ERROR, 2, id="200 with error"
        ),
        pytest.param(NO_CHOICE, Fault.BROKEN_REPLY, PROVIDER_ERROR, 2, id="no choice"),
        pytest.param(raw(OK.body, cut_at=30), Fault.CONNECTION_LOST, UNREACHABLE, 2, id="cut in the middle"),
        pytest.param(Answer(drop=True), Fault.CONNECTION_LOST, UNREACHABLE, 2, id="dropped"),
        # hopeless: one attempt
        pytest.param(fault(401, f"Incorrect API key provided: {KEY}"), Fault.AUTH, AUTH, 1, id="401"),
        pytest.param(fault(403), Fault.AUTH, AUTH, 1, id="403"),
        pytest.param(fault(402), Fault.QUOTA, PROVIDER_ERROR, 1, id="402"),
        pytest.param(
            fault(429, code="insufficient_quota"), Fault.QUOTA, PROVIDER_ERROR, 1, id="429 no credit"
        ),
        pytest.param(fault(404, code="model_not_found"), Fault.NOT_FOUND, PROVIDER_ERROR, 1, id="404"),
        pytest.param(fault(400), Fault.BAD_REQUEST, PROVIDER_ERROR, 1, id="400"),
        pytest.param(fault(422), Fault.BAD_REQUEST, PROVIDER_ERROR, 1, id="422"),
        # the item's own: final
        pytest.param(
            fault(400, OVERFLOW, code="context_length_exceeded"),
            *(Fault.TOO_LONG, unknown("invalid", "too_long"), 1),
            id="context overflow",
        ),
        pytest.param(
            fault(400, OVERFLOW), Fault.TOO_LONG, unknown("invalid", "too_long"), 1, id="overflow, no code"
        ),
        pytest.param(fault(413), Fault.TOO_LONG, unknown("invalid", "too_long"), 1, id="413"),
        pytest.param(
            fault(400, code="content_filter"),
            *(Fault.CONTENT_FILTER, unknown("invalid", "content_filter"), 1),
            id="content filter",
        ),
    ],
)
def test_each_fault_has_its_class_hits_and_reason(
    answer: Answer, kind: Fault, outcome: Outcome, hits: int, path: str
) -> None:
    """A provider that always fails so: our error, the attempts on the wire, all recorded, and the verdict."""
    result = call(in_turn(answer), path=path)
    error = result.error
    assert isinstance(error, ModelCallError)
    assert isinstance(error, ExecutionError)
    assert (error.fault, error.outcome, len(result.provider.hits)) == (kind, outcome, hits)
    assert [(a.number, a.fault) for a in error.attempts] == [(n + 1, kind) for n in range(hits)]
    assert len(result.waits) == hits - 1
    if answer.status >= 400:
        assert {a.status for a in error.attempts} == {error.status} == {answer.status}
    assert error.stops_run is (kind in {Fault.AUTH, Fault.QUOTA, Fault.NOT_FOUND})


@both_paths
def test_retry_after_is_honoured(path: str) -> None:
    """A 429 that asks for 7 seconds and then answers: two hits, 7 seconds waited, both attempts recorded."""
    result = call(in_turn(fault(429, headers={"retry-after": "7"}), OK), path=path)
    assert result.reply is not None
    assert result.reply.text == '{"verdict": "pass"}'
    assert [(a.fault, a.status) for a in result.reply.attempts] == [(Fault.RATE_LIMITED, 429), (None, None)]
    assert len(result.provider.hits) == 2
    assert 7 <= result.waits[0] <= 7 * 1.1


@both_paths
@pytest.mark.parametrize("status", [500, 503])
def test_a_passing_failure_costs_one_more_attempt(status: int, path: str) -> None:
    """500 or 503 and then an answer: the answer counts, the failed attempt is on record."""
    result = call(in_turn(fault(status), OK), path=path)
    assert result.reply is not None
    assert [a.status for a in result.reply.attempts] == [status, None]


@both_paths
@pytest.mark.parametrize(
    "answer", [completion("{}", delay=3.0), raw(OK.body, drip=0.05)], ids=["silent", "one byte at a time"]
)
def test_the_deadline_counts_from_the_start(answer: Answer, path: str) -> None:
    """A provider that is silent, or drips below any read timeout, is given up at the deadline; one retry."""
    result = call(in_turn(answer), path=path, deadline_s=0.3)
    assert result.error is not None
    assert (result.error.fault, result.outcome) == (Fault.TIMEOUT, unknown("error", "timeout"))
    assert len(result.provider.hits) == 2
    assert all(a.latency_ms >= 300 for a in result.error.attempts)


def _closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _fails(request: ModelRequest, path: str = "litellm", **options: Any) -> ModelCallError:
    async def run() -> None:
        transport = PATHS[path](**options)
        try:
            await transport.send(request)
        finally:
            await transport.aclose()

    with pytest.raises(ModelCallError) as caught:
        asyncio.run(run())
    return caught.value


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("litellm", "openai/some-model"),
        ("litellm", "anthropic/claude-sonnet-4-5"),
        ("litellm", "hosted_vllm/some-model"),
        ("direct", "hosted_vllm/some-model"),
    ],
)
def test_a_refused_connection_is_unreachable_and_unpaid(path: str, model: str) -> None:
    """LiteLLM calls it an internal server error 500; nothing was sent, so it may be tried five times."""
    error = _fails(ask(f"http://127.0.0.1:{_closed_port()}/v1", model), path, api_key=SecretStr(KEY))
    assert (error.fault, error.outcome, error.status) == (Fault.UNREACHABLE, UNREACHABLE, None)
    assert error.retryable


@pytest.fixture
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_AUTH_TOKEN", "_ADMIN_KEY")):
            monkeypatch.delenv(name)


@pytest.mark.usefixtures("_no_keys")
@pytest.mark.parametrize(
    ("path", "provider"), [("litellm", "openai"), ("litellm", "anthropic"), ("direct", "openai")]
)
def test_a_missing_key_is_found_before_any_call(path: str, provider: str) -> None:
    """Without a key nothing is sent, the run stops, and the message names the variable to set."""
    error = _fails(ask(None, f"{provider}/some-model"), path)
    assert (error.fault, error.outcome, error.stops_run) == (Fault.MISSING_KEY, AUTH, True)
    assert f"set {provider.upper()}_API_KEY in the environment" in str(error)
    assert missing_key(f"{provider}/some-model") == (f"{provider.upper()}_API_KEY",)


@pytest.mark.usefixtures("_no_keys")
@pytest.mark.parametrize("model", ["ollama/llama3", "bedrock/anthropic.claude-v2", "vertex_ai/gemini-pro"])
def test_a_provider_without_api_keys_is_not_refused(model: str) -> None:
    """A server of one's own needs none, and a cloud's credentials may come from the machine."""
    assert missing_key(model) == ()


@both_paths
@pytest.mark.usefixtures("_no_keys")
def test_a_key_of_the_environment_is_not_sent_to_a_declared_address(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider's key belongs to the provider; a server of one's own gets its own key or none."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    result = call(in_turn(OK), path=path, api_key=None)
    assert result.reply is not None
    assert [hit.headers["authorization"] for hit in result.provider.hits] == ["Bearer none"]
    assert missing_key("openai/some-model") == ()


@both_paths
def test_an_unknown_provider_is_named_before_any_call(path: str) -> None:
    """A model without a provider that the client knows is a mistake in the spec, not a server error."""
    error = _fails(ask(None, "banana-model"), path, api_key=SecretStr(KEY))
    assert (error.fault, error.stops_run) == (Fault.NOT_FOUND, True)
    assert "'banana-model'" in str(error)
    assert "provider first" in str(error)


def test_a_parameter_that_the_model_does_not_take_is_named() -> None:
    """A reasoning model refuses temperature 0: the sentence says which key of the spec to change."""
    with Provider(in_turn(OK)) as provider:
        request = ask(provider.api_base, "openai/o3-mini", temperature=0.0)
        error = _fails(request, api_key=SecretStr(KEY))
        assert provider.hits == []
    assert (error.fault, error.stops_run) == (Fault.UNSUPPORTED, True)
    assert "set temperature to null in the judge spec" in str(error)


ANTHROPIC = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [{"type": "text", "text": "hello"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 2},
}


@pytest.mark.parametrize(
    ("answer", "kind", "hits"),
    [
        (fault(429, headers={"retry-after": "7"}), Fault.RATE_LIMITED, 5),
        (fault(529), Fault.OVERLOADED, 5),
        (fault(401), Fault.AUTH, 1),
        (fault(404), Fault.NOT_FOUND, 1),
        (page(200), Fault.BROKEN_REPLY, 2),
        (Answer(drop=True), Fault.CONNECTION_LOST, 2),
    ],
)
def test_another_provider_family_is_read_the_same(answer: Answer, kind: Fault, hits: int) -> None:
    """A provider that LiteLLM reaches by other code gives the same faults and hits."""
    result = call(in_turn(answer), model="anthropic/claude-sonnet-4-5")
    assert result.error is not None
    assert (result.error.fault, len(result.provider.hits)) == (kind, hits)
    if kind is Fault.RATE_LIMITED:
        assert all(wait >= 7 for wait in result.waits)
    reply = call(in_turn(raw(json.dumps(ANTHROPIC).encode())), model="anthropic/claude-sonnet-4-5").reply
    assert reply is not None
    assert (reply.text, reply.finish, reply.model) == ("hello", "stop", "claude-x")


@pytest.fixture
def _at_debug() -> Iterator[None]:
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.DEBUG)
    yield
    root.setLevel(before)


@both_paths
@pytest.mark.usefixtures("_at_debug")
@pytest.mark.parametrize(
    "answer", [fault(401, f"Incorrect API key provided: {KEY}"), fault(500, KEY), page(200, KEY)]
)
def test_no_key_and_no_prompt_reach_a_message_log_or_traceback(
    answer: Answer, path: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """A provider that repeats the key in its error: the canary is in nothing that we print, log or raise."""
    error = call(in_turn(answer), path=path).error
    assert error is not None
    written = "".join(
        [str(error), repr(error), *traceback.format_exception(error), caplog.text, *capfd.readouterr()]
    )
    assert KEY not in written
    assert "Is it so?" not in written
    assert error.__context__ is None


CONNECTS: dict[str, Callable[..., RetryingClient]] = {"litellm": connect, "direct": connect_direct}


@both_paths
def test_a_cancelled_call_is_cancelled(path: str) -> None:
    """Ctrl-C during a call ends it at once and is not turned into a verdict."""

    async def run(provider: Provider) -> None:
        client = CONNECTS[path](rng=Random(1), api_key=SecretStr(KEY))
        task = asyncio.create_task(client.complete(ask(provider.api_base)))
        while not provider.hits:  # the first call through LiteLLM takes its time to be sent
            await asyncio.sleep(0.02)
        task.cancel()
        try:
            await task
        finally:
            await client.aclose()

    with Provider(in_turn(completion("x", delay=5.0))) as provider, pytest.raises(asyncio.CancelledError):
        asyncio.run(run(provider))


@both_paths
def test_calls_in_flight_are_as_many_as_are_made(path: str) -> None:
    """Nothing between the caller and the socket limits 32 calls at once."""

    async def run(base: str) -> list[ModelReply]:
        client = CONNECTS[path](rng=Random(1), api_key=SecretStr(KEY))
        try:
            return await asyncio.gather(*(client.complete(ask(base)) for _ in range(32)))
        finally:
            await client.aclose()

    with Provider(in_turn(dataclasses.replace(OK, hold_for=32))) as provider:
        replies = asyncio.run(run(provider.api_base))
        assert (len(replies), provider.in_flight_peak) == (32, 32)


OFFLINE_PROGRAM = """
import socket, sys
real = socket.getaddrinfo
def refuse(host, *rest, **more):
    print("looked up", host)
    raise OSError("no network")
socket.getaddrinfo = refuse
import judge.model_client
assert "litellm" not in sys.modules
judge.model_client.missing_key("openai/gpt-4o-mini")
assert "litellm" in sys.modules
"""


def test_litellm_is_imported_late_and_without_the_network() -> None:
    """Importing our module does not import it, and its import looks up no address and prints nothing."""
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE_PROGRAM],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
