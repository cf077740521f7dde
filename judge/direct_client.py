"""OpenAI-compatible endpoints without LiteLLM: one POST an attempt, over aiohttp.

The same request, faults and reply as through LiteLLM, at a tenth of its processor time; aiohttp, because the
pool of httpx is quadratic in the connections that are open. Redirects are not followed: a key and a prompt go
to the declared address or nowhere. Nothing that a provider says reaches a message or a log.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from random import Random
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from judge.calls import (
    EMBEDDED_COST,
    NO_COST,
    Cost,
    CostSource,
    Fault,
    ModelReply,
    ModelRequest,
    Prices,
    Tokens,
)
from judge.faults import call_error, fault_of
from judge.retries import Gate, RetryingClient, RetryPolicy, Turn, retry_after_seconds, utc_now

if TYPE_CHECKING:
    import aiohttp

SPOKEN = frozenset({"openai", "custom_openai", "openai_like", "hosted_vllm", "lm_studio", "llamafile"})
"""Providers, in LiteLLM's words, whose models are asked in OpenAI's form."""
OPENAI = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"
NO_KEY = "none"
"""Sent to a declared address without a key of its own: a key from the environment belongs to the provider."""
MAX_BODY = 16 << 20
"""Bytes of an answer that are read; no completion is longer."""
CONNECT_S = 30.0
"""A connection that takes longer counts as none."""
MAX_ENVELOPES = 64
"""Beginnings and ends of requests that are kept: one for each criterion and order that is asked at a time."""
_PLACE = "\0the last text\0"
# these refuse max_tokens, and their own limit counts the reasoning too, as ours does
_REASONING = ("o1", "o3", "o4", "gpt-5")
FINISHES = {
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "max_tokens": "length",
}
"""Finish reasons of servers that are nearly compatible, in OpenAI's words."""


def speaks(model: str) -> bool:
    """Whether the model is one of an OpenAI-compatible endpoint, so that it can be asked without LiteLLM."""
    return model.partition("/")[0] in SPOKEN


def connect_direct(
    *,
    rng: Random,
    api_key: SecretStr | None = None,
    prices: Prices | None = None,
    prices_by: CostSource = CostSource.DECLARED,
    deadline_s: float = 120.0,
    policy: RetryPolicy | None = None,
    gate: Gate | None = None,
    turn: Turn | None = None,
) -> RetryingClient:
    """A client for OpenAI-compatible endpoints, with retries; close it with `aclose`."""
    transport = DirectTransport(api_key=api_key, prices=prices, prices_by=prices_by, deadline_s=deadline_s)
    return RetryingClient(transport, rng=rng, policy=policy, gate=gate, turn=turn)


class DirectTransport:
    """One attempt by one POST to `/chat/completions`; used from one event loop."""

    def __init__(
        self,
        *,
        api_key: SecretStr | None = None,
        prices: Prices | None = None,
        prices_by: CostSource = CostSource.DECLARED,
        free: bool = False,
        deadline_s: float = 120.0,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """Take the key and prices of one endpoint, and who says them; `free` says that nobody bills.

        Without `api_key` OpenAI's own address gets the key from the environment, a declared address none.
        """
        self._api_key = api_key
        self._prices, self._prices_by, self._free = prices, prices_by, free
        self._deadline_s = deadline_s
        self._now = now
        self._session: aiohttp.ClientSession | None = None
        self._targets: dict[str | None, tuple[Any, dict[str, str]]] = {}
        self._usual: dict[str, str] = {}
        self._envelopes = Envelopes()

    async def send(self, request: ModelRequest) -> ModelReply:
        """The reply of one attempt; raises ModelCallError with the fault."""
        url, headers = self._target(request)
        found: tuple[int, str | None, bytes] | None = None
        fault = Fault.BROKEN_REPLY
        try:
            found = await self._post(url, headers, self._envelopes.encoded(request))
        except Exception as raised:  # noqa: BLE001  told apart by its class, and told without its text
            fault = _fault_of_error(raised)
        if found is None:
            raise call_error(fault, request)  # out of the handler: no traceback carries what was said
        status, retry_after, content = found
        if status >= 300:
            seconds = retry_after_seconds(retry_after, now=self._now())
            raise call_error(fault_of(status, content), request, status=status, retry_after_s=seconds)
        reply = self._reply(content)
        if reply is None:
            raise call_error(Fault.BROKEN_REPLY, request)
        return reply

    async def aclose(self) -> None:
        """Close the connections that are open."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _post(
        self, url: Any, headers: dict[str, str], body: bytes
    ) -> tuple[int, str | None, bytes] | None:
        """Status, Retry-After and body of the answer; None where the body is longer than any completion."""
        if self._session is None:
            self._session, self._usual = self._opened(headers), headers
        # an address other than the first has its own key in place of the usual one
        other = None if headers is self._usual else headers
        async with self._session.post(url, data=body, headers=other, allow_redirects=False) as answer:
            if answer.content_length is not None:
                if answer.content_length > MAX_BODY:
                    return None
                content = await answer.read()
            else:
                content = await answer.content.read(MAX_BODY)
                while not answer.content.at_eof():
                    content += await answer.content.read(MAX_BODY)
                    if len(content) > MAX_BODY:
                        return None
            return answer.status, answer.headers.get("retry-after"), content

    def _opened(self, headers: dict[str, str]) -> aiohttp.ClientSession:
        """A session whose requests carry the headers: put together once, not for each."""
        import aiohttp

        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # how many calls are in flight is the run's business
            timeout=aiohttp.ClientTimeout(total=self._deadline_s, sock_connect=CONNECT_S, ceil_threshold=1e9),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"content-type": "application/json", "accept": "application/json", **headers},
        )

    def _target(self, request: ModelRequest) -> tuple[Any, dict[str, str]]:
        """Where the request goes and with which key; told once an address."""
        known = self._targets.get(request.api_base)
        if known is not None:
            return known
        from yarl import URL

        key = self._key(request)
        base = (request.api_base or OPENAI).rstrip("/")
        target = (URL(f"{base}/chat/completions"), {"authorization": f"Bearer {key}"})
        self._targets[request.api_base] = target
        return target

    def _key(self, request: ModelRequest) -> str:
        if not speaks(request.model) or (
            request.api_base is None and not request.model.startswith("openai/")
        ):
            raise call_error(Fault.NOT_FOUND, request)
        if self._api_key is not None:
            return self._api_key.get_secret_value()
        if request.api_base is not None:
            return NO_KEY
        given = os.environ.get(OPENAI_KEY)
        if not given:
            raise call_error(Fault.MISSING_KEY, request, hint=f"set {OPENAI_KEY} in the environment")
        return given

    def _reply(self, content: bytes) -> ModelReply | None:
        """What a success status carries; None where it is no completion."""
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            return None
        return read_completion(answer, cost_of=self._cost)

    def _cost(self, tokens: Tokens) -> Cost:
        if self._free:
            return EMBEDDED_COST
        cost = self._prices.cost(tokens) if self._prices else NO_COST
        return NO_COST if cost.micros is None else Cost(cost.micros, self._prices_by)


def encoded(request: ModelRequest) -> bytes:
    """The request on the wire, byte for byte the same for the same request."""
    return json.dumps(wire_body(request)).encode("ascii")


def wire_body(request: ModelRequest) -> dict[str, Any]:
    """The request as OpenAI's chat completions take it; a parameter of None is not sent."""
    name = request.model.partition("/")[2]
    longest = "max_completion_tokens" if name.startswith(_REASONING) else "max_tokens"
    body: dict[str, Any] = {
        "model": name,
        "messages": [{"role": each.role, "content": each.content} for each in request.messages],
        longest: request.max_output_tokens,
    }
    for key in ("temperature", "top_p", "seed"):
        value = getattr(request, key)
        if value is not None:
            body[key] = value
    if request.schema is not None:
        schema = {"name": "verdict", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    return body


class Envelopes:
    """Requests on the wire, where all but the last message is the same for many: encoded once for them."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[Any, list[bytes]]] = {}

    def encoded(self, request: ModelRequest) -> bytes:
        """The bytes of a request: the very ones that the function of this name gives."""
        if not request.messages:
            return encoded(request)
        last = request.messages[-1]
        key = (
            *(request.model, request.messages[:-1], last.role, request.max_output_tokens),
            *(request.temperature, request.top_p, request.seed, id(request.schema)),
        )
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MAX_ENVELOPES:
                self._known.clear()
            known = self._known[key] = (request.schema, _around(request))  # the schema kept, so is its id
        if len(known[1]) != 2:  # the rest of the request holds what marks the place
            return encoded(request)
        return json.dumps(last.content).encode("ascii").join(known[1])


def _around(request: ModelRequest) -> list[bytes]:
    """What stands before and after the text of the last message."""
    last = replace(request.messages[-1], content=_PLACE)
    whole = encoded(replace(request, messages=(*request.messages[:-1], last)))
    return whole.split(json.dumps(_PLACE).encode("ascii"))


def read_completion(
    answer: Any, *, cost_of: Callable[[Tokens], Cost] = lambda _: NO_COST
) -> ModelReply | None:
    """The reply in a chat completion with what its tokens cost; None where it is no completion."""
    try:
        choices = answer["choices"]
        messages = [choice["message"] for choice in choices]
        one = choices[0] if len(choices) == 1 else None
        text = messages[0].get("content") if one else None
        refusal = messages[0].get("refusal") if one else None
        finish = one.get("finish_reason") if one else "several_choices"
    except (KeyError, TypeError, AttributeError, IndexError):
        return None
    if not choices or not all(isinstance(said, str | None) for said in (text, refusal, finish)):
        return None
    tokens = _tokens(answer.get("usage"))
    return ModelReply(
        text=text,
        finish=FINISHES.get(finish or "", finish),
        refusal=refusal,
        model=_text(answer.get("model")),
        fingerprint=_text(answer.get("system_fingerprint")),
        tokens=tokens,
        cost=cost_of(tokens),
    )


def _fault_of_error(error: Exception) -> Fault:
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return Fault.UNREACHABLE
    if isinstance(error, asyncio.TimeoutError):
        return Fault.TIMEOUT
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ClientConnectionError | OSError):
        return Fault.CONNECTION_LOST
    return Fault.BROKEN_REPLY


def _text(said: Any) -> str | None:
    """What a provider says of itself, where it is a text."""
    return said if isinstance(said, str) else None


def _count(said: Any) -> int | None:
    """A count of tokens, where it is one."""
    return said if isinstance(said, int) and not isinstance(said, bool) and said >= 0 else None


def _tokens(usage: Any) -> Tokens:
    """The counts of a usage record; no prompt has no token, so that 0 says that nothing was counted."""
    if not isinstance(usage, dict):
        return Tokens()
    prompt, output = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if not prompt or output is None:
        return Tokens()
    details = usage.get("prompt_tokens_details")
    cached = min(prompt, _count(details.get("cached_tokens")) or 0) if isinstance(details, dict) else 0
    return Tokens(prompt - cached, cached, output)
