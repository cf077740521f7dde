"""Models of every provider through LiteLLM: the one module, beside judge.local_model, that knows it.

LiteLLM is imported when a transport is made and never before: its import takes seconds. Of it only
`acompletion` is used, with its own retries off. Its exceptions are told apart by the HTTP answer that caused
them, because its classes are not enough: a refused connection, a missing key and an HTML page all come as
InternalServerError.
Nothing that it says reaches a message or a log: providers repeat keys and prompts in their errors.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from functools import cache
from random import Random
from typing import Any

from pydantic import SecretStr

from judge.answered import UNSAID, finish_said
from judge.calls import (
    NO_COST,
    Cost,
    CostSource,
    Fault,
    Message,
    ModelCallError,
    ModelClient,
    ModelReply,
    ModelRequest,
    Prices,
    Tokens,
    Transport,
    round_up,
)
from judge.fake_model import FakeTransport
from judge.faults import call_error, read_failure
from judge.parsing import VERDICT
from judge.retries import Gate, RetryingClient, RetryPolicy, Turn, retry_after_seconds, utc_now

__all__ = [
    "DecisionTransport",
    "FakeTransport",
    "Fault",
    "LiteLLMTransport",
    "Message",
    "ModelCallError",
    "ModelClient",
    "ModelReply",
    "ModelRequest",
    "RetryPolicy",
    "RetryingClient",
    "Transport",
    "connect",
    "map_prices",
    "missing_key",
]

# Without these LiteLLM fetches a price map and more from the network when it is imported.
OFFLINE = {
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",
}
NO_KEY = "none"
"""Sent to a declared address without a key of its own: a key from the environment belongs to the provider."""
GRACE_S = 5.0
"""LiteLLM's own timeout ends this much after ours, which counts from the start and not from the last byte."""


_heard: ContextVar[list[bytes]] = ContextVar("heard")
"""Bodies of the answers to the attempt that is being made; LiteLLM puts words of its own in their place."""


async def _overhear(response: Any) -> None:
    """Keep what the provider sent, before LiteLLM reads it."""
    heard = _heard.get(None)
    if heard is not None:
        heard.append(await response.aread())


def _closer(make: Callable[..., Any]) -> Callable[..., Any]:
    """A maker of httpx clients whose clients follow no redirect and are overheard."""

    def made(*args: Any, **given: Any) -> Any:
        client = make(*args, **given)
        client.follow_redirects = False
        hooks = client.event_hooks
        client.event_hooks = {**hooks, "response": [*hooks.get("response", []), _overhear]}
        return client

    return made


@contextmanager
def _uncollected() -> Iterator[None]:
    """No garbage collection in the block: over an import of classes by the thousand it takes a third."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


@cache
def _litellm() -> Any:
    for name, value in OFFLINE.items():
        os.environ.setdefault(name, value)
    with _uncollected():
        import litellm

    litellm.suppress_debug_info = True
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler
    from litellm.llms.openai.common_utils import BaseOpenAILLM

    # where its clients are made: its arguments for a client reach some providers and break others
    AsyncHTTPHandler.create_client = _closer(AsyncHTTPHandler.create_client)
    BaseOpenAILLM._get_async_http_client = staticmethod(_closer(BaseOpenAILLM._get_async_http_client))
    # an ill-typed answer would be quoted on stderr
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(
            logging.CRITICAL
        )  # it logs prompts, and warns about every unknown model
    return litellm


def connect(
    *,
    rng: Random,
    api_key: SecretStr | None = None,
    prices: Prices | None = None,
    deadline_s: float = 120.0,
    policy: RetryPolicy | None = None,
    gate: Gate | None = None,
    turn: Turn | None = None,
    decisions: bool = False,
) -> RetryingClient:
    """A client for models of every provider, with retries; close it with `aclose`.

    With `decisions` it asks typed decision endpoints.
    """
    through = DecisionTransport if decisions else LiteLLMTransport
    transport = through(api_key=api_key, prices=prices, deadline_s=deadline_s)
    return RetryingClient(transport, rng=rng, policy=policy, gate=gate, turn=turn)


def missing_key(model: str) -> tuple[str, ...]:
    """The environment variables that hold the provider's API key and are not set; empty where none is needed.

    Asked before a run, because LiteLLM reports a missing key as a server error. Providers that are reached
    by other credentials (a cloud's own) are not asked about: those may come from the machine.
    """
    found = _litellm().validate_environment(model=model)
    return tuple(name for name in found["missing_keys"] if name.endswith("_API_KEY"))


def map_prices(model: str) -> Prices | None:
    """The prices that the map inside the installed LiteLLM has for a provider's model; None where none."""
    try:
        found = _litellm().get_model_info(model)
    except Exception:  # noqa: BLE001  its error for a model that it does not know has no class of its own
        return None
    uncached, cached, output = (
        None if found.get(key) is None else round(found[key] * 1_000_000, 9)
        for key in ("input_cost_per_token", "cache_read_input_token_cost", "output_cost_per_token")
    )
    if uncached is None or output is None:
        return None
    return Prices(uncached, output, cached)


class LiteLLMTransport:
    """One attempt through `litellm.acompletion`."""

    def __init__(
        self,
        *,
        api_key: SecretStr | None = None,
        prices: Prices | None = None,
        free: bool = False,
        deadline_s: float = 120.0,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """Take the key and prices of one provider; `free` says that nobody bills (the embedded model).

        Without `api_key` a provider's own address gets the key from the environment, a declared address none.
        """
        _litellm()  # here: its import takes seconds, which no deadline and no latency should count
        self._api_key = api_key
        self._cost = _free_cost if free else _declared_cost(prices) if prices else _map_cost
        self._deadline_s = deadline_s
        self._now = now
        self._keyed: set[str] = set()

    async def send(self, request: ModelRequest) -> ModelReply:
        """The reply of one attempt; raises ModelCallError with the fault."""
        self._check_key(request)
        answer, error = None, None
        heard: list[bytes] = []
        _heard.set(heard)
        try:
            async with asyncio.timeout(self._deadline_s):
                answer = await self._asked(request)
        except Exception as raised:  # noqa: BLE001  it raises IndexError, JSONDecodeError and more of its own
            error = self._failure(raised, request)
        if error is not None:
            raise error  # out of the handler, so that no traceback carries what the provider said
        reply = self._reply(answer, request)
        return self._finished(reply, heard[-1], request) if heard else reply

    def _finished(self, reply: ModelReply, content: bytes, request: ModelRequest) -> ModelReply:
        """The reply with the finish reason that was sent: LiteLLM says `stop` for what it does not know."""
        if reply.finish != "stop":
            return reply
        said = finish_said(content)
        if said is UNSAID:
            return reply
        if not isinstance(said, str | None):
            raise call_error(Fault.BROKEN_REPLY, request)
        return replace(reply, finish=said)

    async def _asked(self, request: ModelRequest) -> Any:
        return await _litellm().acompletion(**self._arguments(request))

    async def aclose(self) -> None:
        """Close the connections that LiteLLM keeps open, if it was ever used."""
        if _litellm.cache_info().currsize:
            await _litellm().close_litellm_async_clients()

    def _check_key(self, request: ModelRequest) -> None:
        if self._api_key is not None or request.api_base is not None or request.model in self._keyed:
            return
        missing = missing_key(request.model)
        if missing:
            hint = f"set {' and '.join(missing)} in the environment"
            raise call_error(Fault.MISSING_KEY, request, hint=hint)
        self._keyed.add(request.model)

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        optional = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "seed": request.seed,
            "api_base": request.api_base,
            "response_format": _response_format(request.schema),
            "api_key": self._key(request),
        }
        return {
            "model": request.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "max_tokens": request.max_output_tokens,
            "num_retries": 0,  # its default hides two retries, which nobody would count or pay knowingly
            "timeout": self._deadline_s + GRACE_S,
            "drop_params": False,
            **{name: value for name, value in optional.items() if value is not None},
        }

    def _key(self, request: ModelRequest) -> str | None:
        if self._api_key is not None:
            return self._api_key.get_secret_value()
        return NO_KEY if request.api_base is not None else None

    def _failure(self, raised: Exception, request: ModelRequest) -> ModelCallError:
        failure = read_failure(raised)
        seconds = retry_after_seconds(failure.retry_after, now=self._now())
        return call_error(
            failure.fault, request, status=failure.status, retry_after_s=seconds, hint=failure.hint
        )

    def _reply(self, answer: Any, request: ModelRequest) -> ModelReply:
        choices = answer.choices
        if not choices:
            raise call_error(Fault.BROKEN_REPLY, request)
        tokens = _tokens(getattr(answer, "usage", None))
        one = choices[0] if len(choices) == 1 else None
        refusal = getattr(one.message, "refusal", None) if one else None
        if not isinstance(refusal, str | None):
            raise call_error(Fault.BROKEN_REPLY, request)
        return ModelReply(
            text=one.message.content if one else None,
            finish=one.finish_reason if one else "several_choices",
            refusal=refusal,
            model=_text(answer.model),
            fingerprint=_text(getattr(answer, "system_fingerprint", None)),
            tokens=tokens,
            cost=self._cost(answer, tokens, request),
        )


class DecisionTransport(LiteLLMTransport):
    """One attempt through `litellm.adecisions`: the model picks one of the verdicts and writes nothing.

    The system message is the question, the user message what is judged, the words of the schema the choices.
    """

    async def _asked(self, request: ModelRequest) -> Any:
        given = {"api_base": request.api_base, "api_key": self._key(request)}
        question = {
            "type": "choice",
            "name": VERDICT,
            "instructions": "\n\n".join(m.content for m in request.messages if m.role == "system"),
            "choices": [{"value": word} for word in _choices(request)],
        }
        return await _litellm().adecisions(
            model=request.model,
            input="\n\n".join(m.content for m in request.messages if m.role != "system"),
            questions=[question],
            num_retries=0,
            timeout=self._deadline_s + GRACE_S,
            **{name: value for name, value in given.items() if value is not None},
        )

    def _reply(self, answer: Any, request: ModelRequest) -> ModelReply:
        answers = getattr(answer, "answers", None)
        if not isinstance(answers, list | tuple) or len(answers) != 1:
            raise call_error(Fault.BROKEN_REPLY, request)
        one = answers[0]
        if one.type not in {"choice", "refusal"}:
            raise call_error(Fault.BROKEN_REPLY, request)
        tokens = _decision_tokens(getattr(answer, "usage", None))
        return ModelReply(
            text=json.dumps({VERDICT: one.choice}) if one.type == "choice" else None,
            finish="stop",
            refusal=None if one.type == "choice" else "the model declined to decide",
            model=_text(answer.model),
            tokens=tokens,
            cost=self._cost(answer, tokens, request),
        )


def _choices(request: ModelRequest) -> list[str]:
    """The verdicts that the request allows; a request without a schema of them cannot be decided."""
    allowed = (request.schema or {}).get("properties", {}).get(VERDICT, {}).get("enum")
    if not allowed:
        raise call_error(Fault.UNSUPPORTED, request)
    return list(allowed)


def _decision_tokens(usage: Any) -> Tokens:
    """The counts of a decision's usage; no prompt has none."""
    if usage is None or usage.input_tokens <= 0 or usage.output_tokens < 0:
        return Tokens()
    details = getattr(usage, "input_tokens_details", None)
    cached = min(usage.input_tokens, max(0, getattr(details, "cached_tokens", 0)))
    return Tokens(usage.input_tokens - cached, cached, usage.output_tokens)


def _text(said: Any) -> str | None:
    """What a provider says of itself, where it is a text; LiteLLM hands on whatever it was sent."""
    return said if isinstance(said, str) else None


def _response_format(schema: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if schema is None:
        return None
    return {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": dict(schema)}}


CostRule = Callable[[Any, Tokens, ModelRequest], Cost]


def _free_cost(_answer: Any, _tokens: Tokens, _request: ModelRequest) -> Cost:
    return Cost(0, CostSource.EMBEDDED)


def _declared_cost(prices: Prices) -> CostRule:
    return lambda _answer, tokens, _request: prices.cost(tokens)


def _map_cost(answer: Any, tokens: Tokens, request: ModelRequest) -> Cost:
    """The cost by the price map; unknown at a declared address, whose models only borrow a known name."""
    dollars = answer._hidden_params.get("response_cost")
    if request.api_base is not None or dollars is None or not tokens.known:
        return NO_COST
    return Cost(round_up(dollars * 1_000_000), CostSource.PRICE_MAP)


def _tokens(usage: Any) -> Tokens:
    """The counts of a usage record; LiteLLM fills a missing one with zeros, and no prompt has none."""
    if usage is None or not usage.prompt_tokens or usage.prompt_tokens < 0 or usage.completion_tokens < 0:
        return Tokens()
    details = getattr(usage, "prompt_tokens_details", None)
    cached = min(usage.prompt_tokens, max(0, getattr(details, "cached_tokens", None) or 0))
    return Tokens(usage.prompt_tokens - cached, cached, usage.completion_tokens)
