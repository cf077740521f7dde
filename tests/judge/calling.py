"""One call through the retries and a real client to a provider on 127.0.0.1, and what came of it."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any, NamedTuple

from pydantic import SecretStr

from judge.calls import Transport
from judge.direct_client import DirectTransport
from judge.model_client import (
    LiteLLMTransport,
    Message,
    ModelCallError,
    ModelReply,
    ModelRequest,
    RetryingClient,
)
from rubrics.verdict import Outcome
from tests.judge.provider import JSON_TYPE, Answer, Handler, Provider, completion

KEY = "sk-canary-5f1c0de5f1c0de5f1c0de"


PATHS: dict[str, type[LiteLLMTransport] | type[DirectTransport]] = {
    "litellm": LiteLLMTransport,
    "direct": DirectTransport,
}
"""The two clients behind one protocol; what is asked of one is asked of both."""


class Call(NamedTuple):
    """What one call came to, and what the provider saw of it."""

    reply: ModelReply | None
    error: ModelCallError | None
    provider: Provider
    waits: list[float]

    @property
    def outcome(self) -> Outcome:
        """The verdict of a failed call."""
        assert self.error is not None
        return self.error.outcome


def ask(base: str | None, model: str = "openai/some-model", **changes: Any) -> ModelRequest:
    """A small request to the address."""
    return ModelRequest(model, (Message("user", "Is it so?"),), 20, api_base=base, **changes)


def call(
    handler: Handler,
    *,
    path: str = "litellm",
    deadline_s: float = 20.0,
    model: str = "openai/some-model",
    **options: Any,
) -> Call:
    """One call through retries and the client of a path, its waits recorded and not waited."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def run(base: str) -> ModelReply:
        given = {"api_key": SecretStr(KEY), "deadline_s": deadline_s, **options}
        transport: Transport = PATHS[path](**given)
        client = RetryingClient(transport, rng=Random(1), sleep=sleep)
        try:
            return await client.complete(ask(base, model))
        finally:
            await client.aclose()

    with Provider(handler) as provider:
        try:
            return Call(asyncio.run(run(provider.api_base)), None, provider, waits)
        except ModelCallError as error:
            return Call(None, error, provider, waits)


OK = completion('{"verdict": "pass"}')


def raw(body: bytes, **how: Any) -> Answer:
    """A success status with this body."""
    return Answer(body=body, headers={"content-type": JSON_TYPE}, **how)
