"""What went wrong with an attempt: the fault behind it, and the sentence for whoever runs the judge.

Of an exception of LiteLLM the HTTP answer that caused it is asked first, then the transport's error, then
LiteLLM's class, which is told by its name so that LiteLLM is not imported here. Of the provider's own text
only known codes and phrases are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judge.calls import Fault, ModelCallError, ModelRequest

if TYPE_CHECKING:
    import httpx

_BY_STATUS = {
    401: Fault.AUTH,
    402: Fault.QUOTA,
    403: Fault.AUTH,
    404: Fault.NOT_FOUND,
    408: Fault.TIMEOUT,
    413: Fault.TOO_LONG,
    429: Fault.RATE_LIMITED,
    503: Fault.OVERLOADED,
    504: Fault.TIMEOUT,
    529: Fault.OVERLOADED,
}
_BY_CODE = {
    "insufficient_quota": Fault.QUOTA,
    "content_filter": Fault.CONTENT_FILTER,
    "content_policy_violation": Fault.CONTENT_FILTER,
    "context_length_exceeded": Fault.TOO_LONG,
    "exceed_context_size_error": Fault.TOO_LONG,
}
_BY_CLASS = {
    "ContextWindowExceededError": Fault.TOO_LONG,
    "ContentPolicyViolationError": Fault.CONTENT_FILTER,
    "UnsupportedParamsError": Fault.UNSUPPORTED,
}
# what servers without codes of their own say in an error 400
_PHRASES = (
    ("maximum context length", Fault.TOO_LONG),
    ("context length exceeded", Fault.TOO_LONG),
    ("exceeds the available context size", Fault.TOO_LONG),
    ("prompt is too long", Fault.TOO_LONG),
    ("content management policy", Fault.CONTENT_FILTER),
)
_READ = 20_000
"""Bytes of an error answer in which a phrase is looked for."""
_PARAMETERS = ("temperature", "top_p", "seed", "response_format", "max_tokens")


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed attempt as it could be told from the exception."""

    fault: Fault
    status: int | None = None
    retry_after: str | None = None
    """The Retry-After header as sent."""
    hint: str = ""


def read_failure(error: Exception) -> Failure:
    """The fault behind an exception of LiteLLM, with the HTTP status and header that came with it."""
    import httpx

    causes = tuple(_causes(error))
    answers = [cause.response for cause in causes if isinstance(cause, httpx.HTTPStatusError)]
    classes = {cls.__name__ for cls in type(error).__mro__}
    named = next((fault for name, fault in _BY_CLASS.items() if name in classes), None)
    if not answers:
        hint = _named_parameters(error) if named is Fault.UNSUPPORTED else ""
        return Failure(named or _without_answer(causes, classes), hint=hint)
    answer = answers[-1]
    fault = _BY_CODE.get(_code(_content(answer))) or named or _by_status(answer.status_code)
    return Failure(fault, answer.status_code, answer.headers.get("retry-after"))


def fault_of(status: int, content: bytes) -> Fault:
    """The fault of an error answer, by its code, its phrase or its status."""
    coded = _BY_CODE.get(_code(content))
    if coded is not None or status != 400:
        return coded or _by_status(status)
    said = content[:_READ].decode("utf-8", "replace").lower()
    return next((fault for phrase, fault in _PHRASES if phrase in said), Fault.BAD_REQUEST)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _by_status(status: int) -> Fault:
    if 300 <= status < 400:
        return Fault.REDIRECTED
    return _BY_STATUS.get(status, Fault.SERVER_ERROR if status >= 500 else Fault.BAD_REQUEST)


def _content(answer: httpx.Response) -> bytes:
    """The body of an answer, b"" where it was not read."""
    import httpx

    try:
        return answer.content
    except httpx.StreamError:
        return b""


def _code(content: bytes) -> str:
    """The provider's own code in an error answer, "" where it has none that can be read."""
    try:
        error: dict[str, Any] = json.loads(content)["error"]
        return next((str(error[key]) for key in ("code", "type") if error.get(key) in _BY_CODE), "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""


def _without_answer(causes: tuple[BaseException, ...], classes: set[str]) -> Fault:
    import httpx

    if any(isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout) for cause in causes):
        return Fault.UNREACHABLE
    if any(isinstance(cause, TimeoutError | httpx.TimeoutException) for cause in causes):
        return Fault.TIMEOUT
    if any(isinstance(cause, httpx.TransportError) for cause in causes):
        return Fault.CONNECTION_LOST
    if "AuthenticationError" in classes:
        return Fault.MISSING_KEY  # without an answer: it was refused before anything was sent
    if len(causes) == 1 and "BadRequestError" in classes:
        return Fault.NOT_FOUND  # no provider of this name is known; nothing was sent
    return Fault.BROKEN_REPLY


def _named_parameters(error: Exception) -> str:
    """Which of our parameters a local refusal names; its text comes from LiteLLM, before any call."""
    named = [name for name in _PARAMETERS if name in str(error)]
    return f"set {' or '.join(named)} to null in the judge spec" if named else ""


_WORDS = {
    Fault.TIMEOUT: ("did not answer in time", "try again, or allow a longer deadline"),
    Fault.UNREACHABLE: ("cannot be reached", "check the address and that its server runs"),
    Fault.CONNECTION_LOST: ("broke the connection before its answer was complete", "try again"),
    Fault.RATE_LIMITED: ("refuses more calls for now", "use less concurrency or wait"),
    Fault.OVERLOADED: ("is overloaded", "try again later"),
    Fault.SERVER_ERROR: ("failed on its side", "try again later"),
    Fault.BROKEN_REPLY: ("answered with something that is no completion", "check that the address is an API"),
    Fault.MISSING_KEY: ("needs a key and none was given", "set the provider's key in the environment"),
    Fault.AUTH: ("refuses the key", "check the key and what it may use"),
    Fault.QUOTA: ("says that the account has no credit left", "add credit or use another key"),
    Fault.NOT_FOUND: ("is not known there", "check its name, provider first: openai/gpt-4.1-mini"),
    Fault.UNSUPPORTED: ("does not take a parameter of this judge", "set it to null in the judge spec"),
    Fault.BAD_REQUEST: ("refuses the request", "check the parameters of the judge spec"),
    Fault.REDIRECTED: (
        "is not served there: the endpoint redirects, and redirects are not followed",
        "declare the address that it redirects to as api_base, if it is yours to trust",
    ),
    Fault.TOO_LONG: ("cannot hold a prompt of this length", "use a model with a larger context"),
    Fault.MODEL_CHANGED: ("was changed for another by its provider", "name a dated model"),
    Fault.CONTENT_FILTER: ("filtered the content", "the item stays unknown(invalid, content_filter)"),
}


def call_error(
    fault: Fault,
    request: ModelRequest,
    *,
    status: int | None = None,
    retry_after_s: float | None = None,
    hint: str = "",
) -> ModelCallError:
    """The error of a failed attempt in words: which model, where, what happened, what to do next."""
    what, advice = _WORDS[fault]
    place = f" at {request.api_base}" if request.api_base else ""
    answer = f" (HTTP {status})" if status else ""
    sentence = f"the model {request.model!r}{place} {what}{answer}; {hint or advice}"
    return ModelCallError(sentence, fault=fault, status=status, retry_after_s=retry_after_s)
