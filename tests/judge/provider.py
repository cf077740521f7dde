"""A real HTTP provider on 127.0.0.1 that answers like an OpenAI-compatible endpoint, with faults on demand.

Nothing is patched: the client under test opens sockets to it. It runs an event loop in one thread, so a
test may be synchronous or asynchronous, and it counts every request that arrived (`hits`).

    with Provider(in_turn(fault(429, headers={"retry-after": "2"}), completion("hello"))) as provider:
        ...  # call provider.api_base; provider.hits lists what came in
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class Hit:
    """One request as it arrived: its number from 1, path, headers in lower case, and the JSON body."""

    number: int
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The chat messages of the request."""
        return list(self.body.get("messages", []))

    @property
    def last_text(self) -> str:
        """The text of the last message."""
        return str(self.messages[-1]["content"])


@dataclass(frozen=True, slots=True)
class Answer:
    """What the provider sends back, and how badly."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds of silence before the first byte."""
    drip: float = 0.0
    """Seconds between single bytes of the body; 0 sends it whole."""
    cut_at: int | None = None
    """Bytes of the body after which the connection is closed."""
    drop: bool = False
    """Close the connection without a byte."""
    hold_for: int = 0
    """Wait until so many requests are in flight at once (at most 30 s)."""


Handler = Callable[[Hit], Answer]


def completion(
    text: str | None,
    *,
    finish: str | None = "stop",
    refusal: str | None = None,
    model: str = "served-model-1",
    usage: dict[str, Any] | None = None,
    fingerprint: str | None = "fp_test",
    delay: float = 0.0,
    **message: Any,
) -> Answer:
    """A chat completion in the usual shape, with one choice."""
    content: dict[str, Any] = {"role": "assistant", "content": text, **message}
    if refusal is not None:
        content["refusal"] = refusal
    body: dict[str, Any] = {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [{"index": 0, "message": content, "finish_reason": finish}],
        "usage": usage or {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107},
    }
    if fingerprint is not None:
        body["system_fingerprint"] = fingerprint
    return Answer(body=json.dumps(body).encode(), headers={"content-type": JSON_TYPE}, delay=delay)


def fault(
    status: int,
    message: str = "the provider says no",
    *,
    code: str | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """An error answer in the usual shape."""
    error = {"message": message, "type": "error", "param": None, "code": code}
    sent = {"content-type": JSON_TYPE, **(headers or {})}
    return Answer(status=status, body=json.dumps({"error": error}).encode(), headers=sent)


def page(status: int = 200, text: str = "<html><body>Sign in to continue</body></html>") -> Answer:
    """An HTML page where JSON was due, as a captive portal or a broken gateway sends it."""
    return Answer(status=status, body=text.encode(), headers={"content-type": "text/html"})


def in_turn(*answers: Answer) -> Handler:
    """A handler that gives the answers one after the other and then repeats the last."""
    return lambda hit: answers[min(hit.number, len(answers)) - 1]


class Provider:
    """The server; a context manager that is listening inside its block and gone after it."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.hits: list[Hit] = []
        self.in_flight = 0
        self.in_flight_peak = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="provider", daemon=True)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    @property
    def api_base(self) -> str:
        """The address that a client is given, ending in /v1."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Provider:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await self._exchange(reader, writer):
                pass
        writer.close()
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request, *lines = head.strip().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        hit = Hit(
            number=len(self.hits) + 1,
            path=request.split(" ")[1],
            headers=headers,
            body=json.loads(raw) if raw else {},
            at=time.monotonic(),
        )
        self.hits.append(hit)
        self.in_flight += 1
        self.in_flight_peak = max(self.in_flight_peak, self.in_flight)
        try:
            answer = self.handler(hit)
            await self._hold(answer.hold_for)
            return await _send(answer, writer)
        finally:
            self.in_flight -= 1

    async def _hold(self, wanted: int) -> None:
        for _ in range(3000):
            if self.in_flight_peak >= wanted:
                return
            await asyncio.sleep(0.01)


async def _send(answer: Answer, writer: asyncio.StreamWriter) -> bool:
    """Write the answer; true where the connection stays usable."""
    if answer.delay:
        await asyncio.sleep(answer.delay)
    if answer.drop:
        return False
    head = [f"HTTP/1.1 {answer.status} -"]
    if not {"content-length", "transfer-encoding"} & answer.headers.keys():
        head.append(f"content-length: {len(answer.body)}")
    head += [f"{name}: {value}" for name, value in answer.headers.items()]
    writer.write(("\r\n".join(head) + "\r\n\r\n").encode())
    for piece in _pieces(answer):
        writer.write(piece)
        await writer.drain()
        if answer.drip:
            await asyncio.sleep(answer.drip)
    return answer.cut_at is None


def _pieces(answer: Answer) -> Iterator[bytes]:
    body = answer.body if answer.cut_at is None else answer.body[: answer.cut_at]
    if not answer.drip:
        yield body
        return
    yield from (body[i : i + 1] for i in range(len(body)))
