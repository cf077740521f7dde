"""A transport without a network: a function answers each request. Shipped, so that users can test with it.

>>> import asyncio
>>> from judge.calls import Message, ModelRequest
>>> transport = FakeTransport(lambda request: said('{"verdict": "fail"}'))
>>> asyncio.run(transport.send(ModelRequest("any", (Message("user", "?"),), 50))).text
'{"verdict": "fail"}'
"""

from __future__ import annotations

from collections.abc import Callable

from judge.calls import NO_COST, Cost, Fault, MayTryAgain, ModelCallError, ModelReply, ModelRequest, Tokens

Handler = Callable[[ModelRequest], ModelReply | ModelCallError]


def said(
    text: str | None,
    *,
    finish: str | None = "stop",
    refusal: str | None = None,
    model: str = "fake-1",
    cost: Cost = NO_COST,
) -> ModelReply:
    """A reply with this text; its tokens are words, so that sums can be checked by hand."""
    words = len((text or "").split())
    return ModelReply(text, finish, refusal=refusal, model=model, tokens=Tokens(0, 0, words), cost=cost)


def failed(fault: Fault, *, status: int | None = None, retry_after_s: float | None = None) -> ModelCallError:
    """An attempt that ends in this fault."""
    message = f"the fake model answers with the fault {fault.value}"
    return ModelCallError(message, fault=fault, status=status, retry_after_s=retry_after_s)


def in_turn(*answers: ModelReply | ModelCallError) -> Handler:
    """A handler that gives the answers one after the other, and then the last one again and again."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


class FakeTransport:
    """Answers from a function and keeps every request; as ModelClient it makes no retry."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.requests: list[ModelRequest] = []
        self.closed = False

    async def send(self, request: ModelRequest) -> ModelReply:
        """The handler's reply; raises the handler's error."""
        self.requests.append(request)
        answer = self._handler(request)
        if isinstance(answer, ModelCallError):
            raise answer
        return answer

    async def complete(self, request: ModelRequest, *, again: MayTryAgain | None = None) -> ModelReply:
        """As `send`; nothing is tried again."""
        del again
        return await self.send(request)

    def finish(self) -> None:
        """Nothing to do: it waits for nothing."""

    async def aclose(self) -> None:
        """Note that it was closed."""
        self.closed = True
