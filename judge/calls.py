"""One call to a model: what is asked, what comes back, what can go wrong, and what it cost.

Everything above this module sees a model only through `ModelClient`. Below it stand the transports: LiteLLM
(judge.model_client) and the shipped fake (judge.fake_model), which tests and dry runs use in its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from rubrics.errors import ExecutionError
from rubrics.verdict import Outcome, unknown


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat: who says it and what."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What is asked of a model, as far as it can move a verdict; a parameter of None is not sent."""

    model: str
    """The model in LiteLLM's words, provider first: `openai/gpt-4.1-mini-2025-04-14`."""
    messages: tuple[Message, ...]
    max_output_tokens: int
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    schema: Mapping[str, Any] | None = None
    """JSON schema that the reply must follow; None asks for plain text."""
    api_base: str | None = None
    """Address of an OpenAI-compatible endpoint; None is the provider's own."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens as the provider counts them; None where it does not say, or says what cannot be."""

    uncached_input: int | None = None
    cached_input: int | None = None
    output: int | None = None
    """Reasoning tokens included: they are billed as output."""

    @property
    def known(self) -> bool:
        """True where input and output are both counted."""
        return self.uncached_input is not None and self.output is not None


class CostSource(StrEnum):
    """Where a cost comes from."""

    DECLARED = "declared"
    """By the prices that the operator gave."""
    PRICE_MAP = "price_map"
    """By the price map inside the installed LiteLLM, for a provider's own address."""
    EMBEDDED = "embedded"
    """The model runs here: nobody bills."""
    UNBILLED = "unbilled"
    """No call was made, or each attempt was refused before a model ran."""
    UNKNOWN = "unknown"
    """No price, or no token count; the cost is null, never 0."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Millionths of a US dollar, rounded up so that a spend is never understated; None where unknown."""

    micros: int | None
    source: CostSource


NO_COST = Cost(None, CostSource.UNKNOWN)
EMBEDDED_COST = Cost(0, CostSource.EMBEDDED)
UNBILLED = Cost(0, CostSource.UNBILLED)


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens, which is also millionths of a dollar for one."""

    uncached_input: float
    output: float
    cached_input: float | None = None
    """None bills cached input as uncached."""

    def cost(self, tokens: Tokens) -> Cost:
        """The cost of the tokens by these prices; unknown where they are not counted."""
        if tokens.uncached_input is None or tokens.output is None:
            return NO_COST
        cached_price = self.uncached_input if self.cached_input is None else self.cached_input
        micros = tokens.uncached_input * self.uncached_input + tokens.output * self.output
        return Cost(round_up(micros + (tokens.cached_input or 0) * cached_price), CostSource.DECLARED)


def round_up(micros: float) -> int:
    """The next whole number of millionths, after the noise of binary fractions is taken off."""
    return math.ceil(round(micros, 6))


class Fault(StrEnum):
    """What went wrong with one attempt."""

    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    """No connection: nothing was sent."""
    CONNECTION_LOST = "connection_lost"
    """The connection broke after the request was sent."""
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    BROKEN_REPLY = "broken_reply"
    """A success status with something else than a completion in it: a page, half a JSON text, no choice."""
    MISSING_KEY = "missing_key"
    AUTH = "auth"
    QUOTA = "quota"
    NOT_FOUND = "not_found"
    UNSUPPORTED = "unsupported"
    """The provider does not take a parameter of the judge's spec."""
    BAD_REQUEST = "bad_request"
    REDIRECTED = "redirected"
    """The address answers that another is meant; a key and a prompt do not go there undeclared."""
    TOO_LONG = "too_long"
    """The prompt does not fit the model's context."""
    CONTENT_FILTER = "content_filter"
    MODEL_CHANGED = "model_changed"
    """The provider says that another model has answered than before in the same run."""


@dataclass(frozen=True, slots=True)
class FaultClass:
    """What a fault means for the call, the run and the verdict."""

    retryable: bool
    outcome: Outcome
    """The verdict of a call that ends so."""
    maybe_paid: bool = False
    """The provider may have done the work and may bill it."""
    stops_run: bool = False
    """Every further call would fail in the same way."""


_PROVIDER = unknown("error", "provider_error")
_UNREACHABLE = unknown("error", "unreachable")
_AUTH = unknown("error", "auth")
FAULTS: dict[Fault, FaultClass] = {
    Fault.TIMEOUT: FaultClass(True, unknown("error", "timeout"), maybe_paid=True),
    Fault.UNREACHABLE: FaultClass(True, _UNREACHABLE),
    Fault.CONNECTION_LOST: FaultClass(True, _UNREACHABLE, maybe_paid=True),
    Fault.RATE_LIMITED: FaultClass(True, _PROVIDER),
    Fault.OVERLOADED: FaultClass(True, _PROVIDER),
    Fault.SERVER_ERROR: FaultClass(True, _PROVIDER),
    Fault.BROKEN_REPLY: FaultClass(True, _PROVIDER, maybe_paid=True),
    Fault.MISSING_KEY: FaultClass(False, _AUTH, stops_run=True),
    Fault.AUTH: FaultClass(False, _AUTH, stops_run=True),
    Fault.QUOTA: FaultClass(False, _PROVIDER, stops_run=True),
    Fault.NOT_FOUND: FaultClass(False, _PROVIDER, stops_run=True),
    Fault.UNSUPPORTED: FaultClass(False, _PROVIDER, stops_run=True),
    Fault.BAD_REQUEST: FaultClass(False, _PROVIDER),
    Fault.REDIRECTED: FaultClass(False, _PROVIDER, stops_run=True),
    Fault.TOO_LONG: FaultClass(False, unknown("invalid", "too_long")),
    Fault.MODEL_CHANGED: FaultClass(
        False, unknown("error", "model_changed"), maybe_paid=True, stops_run=True
    ),
    Fault.CONTENT_FILTER: FaultClass(False, unknown("invalid", "content_filter"), maybe_paid=True),
}
MAYBE_PAID = frozenset(fault.value for fault, kind in FAULTS.items() if kind.maybe_paid)
"""Faults, as they are stored, of attempts that the provider may bill."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a call, in the order made; the last is the one that ended it."""

    number: int
    """From 1."""
    fault: Fault | None
    """None where a reply came."""
    status: int | None
    """The HTTP status of a fault, where there was one."""
    waited_ms: int
    """Waited before the attempt, for back-off or the provider's Retry-After."""
    latency_ms: int


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What came back, with what it took."""

    text: str | None
    finish: str | None
    """The finish reason: `stop`, `length`, `content_filter`; anything else is no finished answer."""
    refusal: str | None = None
    model: str | None = None
    """The model that the provider says has answered."""
    fingerprint: str | None = None
    tokens: Tokens = field(default_factory=Tokens)
    cost: Cost = NO_COST
    attempts: tuple[Attempt, ...] = ()

    @property
    def latency_ms(self) -> int:
        """Milliseconds of the attempt that was answered, waits excluded; 0 where none is recorded."""
        return self.attempts[-1].latency_ms if self.attempts else 0


class ModelCallError(ExecutionError):
    """A call that brought no reply: the fault, the status, every attempt, and what to do next.

    The message never holds text of the provider or of the request, so neither a key nor a prompt.
    """

    def __init__(
        self,
        message: str,
        *,
        fault: Fault,
        status: int | None = None,
        retry_after_s: float | None = None,
        attempts: tuple[Attempt, ...] = (),
    ) -> None:
        super().__init__(message, retryable=FAULTS[fault].retryable)
        self.fault = fault
        self.status = status
        self.retry_after_s = retry_after_s
        self.attempts = attempts

    @property
    def outcome(self) -> Outcome:
        """The verdict of the call: unknown, with the reason that the fault amounts to."""
        return FAULTS[self.fault].outcome

    def add_words(self, words: str) -> None:
        """Go on with the sentence by what else became of the call."""
        self.args = (f"{self}; {words}", *self.args[1:])

    @property
    def cost(self) -> Cost:
        """Nothing where every attempt was refused; unknown where one may be billed."""
        faults = [attempt.fault for attempt in self.attempts if attempt.fault is not None] or [self.fault]
        return NO_COST if any(FAULTS[fault].maybe_paid for fault in faults) else UNBILLED

    @property
    def stops_run(self) -> bool:
        """True where every further call of the run would fail in the same way."""
        return FAULTS[self.fault].stops_run


class Transport(Protocol):
    """One attempt, no retry: what LiteLLM, a direct client and the fake have in common."""

    async def send(self, request: ModelRequest) -> ModelReply:
        """The reply of one attempt, its `attempts` empty.

        Raises ModelCallError.
        """
        ...

    async def aclose(self) -> None:
        """Close what is open; the transport is not used afterwards."""
        ...


class NotSent(Exception):
    """The client was told to finish before the request was sent; never leaves a run."""


MayTryAgain = Callable[[], bool]
"""Asked once before each attempt that follows one which may be billed: whether there is money for it."""


class ModelClient(Protocol):
    """A model as a judge sees it: one call, answered or failed for good."""

    async def complete(self, request: ModelRequest, *, again: MayTryAgain | None = None) -> ModelReply:
        """The reply with every attempt that it took; where `again` says no, the call ends as it has failed.

        Raises ModelCallError, with every attempt, where no attempt brought one; NotSent where the client was
        told to finish before the first.
        """
        ...

    def finish(self) -> None:
        """Send nothing more: a call that waits for a further attempt ends with its last failure."""
        ...

    async def aclose(self) -> None:
        """Close what is open; the client is not used afterwards."""
        ...
