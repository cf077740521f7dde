"""Exceptions told apart: what the contract tests with a provider cannot easily bring about."""

from __future__ import annotations

import httpx
import pytest

from judge.calls import FAULTS, Fault, Message, ModelRequest
from judge.faults import Failure, call_error, read_failure
from rubrics.verdict import UnknownReason

REQUEST = ModelRequest("openai/x", (Message("user", "a secret prompt"),), 10)


class AuthenticationError(Exception):
    """Named as LiteLLM's."""


class BadRequestError(Exception):
    """Named as LiteLLM's."""


class ContentPolicyViolationError(BadRequestError):
    """Named as LiteLLM's."""


class UnsupportedParamsError(BadRequestError):
    """Named as LiteLLM's."""


def answered(status: int, body: bytes = b"", *, retry_after: str | None = None) -> httpx.HTTPStatusError:
    """An error answer of a provider."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    request = httpx.Request("POST", "http://h/")
    response = httpx.Response(status, content=body, headers=headers, request=request)
    return httpx.HTTPStatusError("canary", request=request, response=response)


def caused_by(outer: Exception, cause: BaseException) -> Exception:
    """The outer exception as LiteLLM raises it, from its cause."""
    outer.__cause__ = cause
    return outer


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (AuthenticationError("no key"), Failure(Fault.MISSING_KEY)),
        (BadRequestError("no such provider"), Failure(Fault.NOT_FOUND)),
        (caused_by(BadRequestError("x"), KeyError("choices")), Failure(Fault.BROKEN_REPLY)),
        (ContentPolicyViolationError("x"), Failure(Fault.CONTENT_FILTER)),
        (UnsupportedParamsError("something odd"), Failure(Fault.UNSUPPORTED)),
        (
            UnsupportedParamsError("no seed, no top_p"),
            Failure(Fault.UNSUPPORTED, hint="set top_p or seed to null in the judge spec"),
        ),
        (TimeoutError(), Failure(Fault.TIMEOUT)),
        (caused_by(RuntimeError("x"), httpx.ConnectTimeout("x")), Failure(Fault.UNREACHABLE)),
        (caused_by(RuntimeError("x"), httpx.ReadTimeout("x")), Failure(Fault.TIMEOUT)),
        (caused_by(RuntimeError("x"), httpx.RemoteProtocolError("x")), Failure(Fault.CONNECTION_LOST)),
        (caused_by(BadRequestError("x"), answered(418)), Failure(Fault.BAD_REQUEST, 418)),
        (answered(599), Failure(Fault.SERVER_ERROR, 599)),
        (answered(429, retry_after="3"), Failure(Fault.RATE_LIMITED, 429, "3")),
        (answered(400, b'{"error": {"type": "exceed_context_size_error"}}'), Failure(Fault.TOO_LONG, 400)),
        (
            answered(400, b'{"error": {"code": 400, "type": "content_filter"}}'),
            Failure(Fault.CONTENT_FILTER, 400),
        ),
        (answered(400, b'{"error": "context_length_exceeded"}'), Failure(Fault.BAD_REQUEST, 400)),
        (answered(400, b"[1"), Failure(Fault.BAD_REQUEST, 400)),
        (answered(400, b'{"error": {"code": ["content_filter"]}}'), Failure(Fault.BAD_REQUEST, 400)),
        (answered(400, b"\xff\xfe"), Failure(Fault.BAD_REQUEST, 400)),
    ],
)
def test_the_fault_behind_an_exception(error: Exception, failure: Failure) -> None:
    """By the provider's code, the class, the status or the cause, in that order."""
    assert read_failure(error) == failure


def test_an_answer_that_was_not_read_is_judged_by_its_status() -> None:
    """A streamed error body that nobody read is no reason to crash."""
    response = httpx.Response(503, stream=httpx.ByteStream(b"x"), request=httpx.Request("POST", "http://h/"))
    error = httpx.HTTPStatusError("x", request=response.request, response=response)
    assert read_failure(error) == Failure(Fault.OVERLOADED, 503)


def test_a_circle_of_causes_ends() -> None:
    """Exceptions that name each other as cause are read once."""
    one, two = RuntimeError("one"), RuntimeError("two")
    one.__cause__, two.__cause__ = two, one
    assert read_failure(one) == Failure(Fault.BROKEN_REPLY)


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_has_a_sentence_and_an_outcome(fault: Fault) -> None:
    """Which model, what happened, what to do; a reason that is an unknown's; and nothing of the prompt."""
    error = call_error(fault, REQUEST, status=418)
    assert str(error).startswith("the model 'openai/x' ")
    assert "(HTTP 418); " in str(error)
    assert "secret" not in str(error)
    assert error.retryable is FAULTS[fault].retryable
    assert error.outcome.reason in {UnknownReason.ERROR, UnknownReason.INVALID}
    assert not (error.stops_run and error.retryable)
