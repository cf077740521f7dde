"""How fast a run asks: so many requests and tokens a minute, evenly spread, by pyrate-limiter."""

from __future__ import annotations

import asyncio
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from judge.calls import ModelRequest
from rubrics.errors import DeclarationError

if TYPE_CHECKING:
    from pyrate_limiter import AbstractClock

CHARACTERS_A_TOKEN = 4
_SPANS = {"s": 1, "min": 60, "h": 3600}
_RATE = re.compile(r"(?P<count>[1-9][0-9_,]{0,14})\s*/\s*(?P<span>s|min|h)")


@dataclass(frozen=True, slots=True)
class Rate:
    """So many in any span of so many seconds."""

    count: int
    span: str
    """`s`, `min` or `h`."""

    def __str__(self) -> str:
        return f"{self.count}/{self.span}"

    @property
    def seconds(self) -> int:
        """Of the span."""
        return _SPANS[self.span]

    @property
    def at_once(self) -> int:
        """How many may come together, so that a moment's delay is caught up with.

        A second's worth, and at most a twentieth of the span's.
        """
        return max(1, min(self.count // self.seconds, self.count // 20))

    def takes_s(self, count: int) -> float:
        """The least seconds in which so many may come."""
        return max(0, count - self.at_once) * self.seconds / self.count


def parse_rate(text: str) -> Rate:
    """The rate as people write it; raises DeclarationError for anything else.

    >>> str(parse_rate("1,000 / min"))
    '1000/min'
    """
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise DeclarationError(
            f"{text!r} is no rate; write a whole number and a span, such as 500/min or 8/s"
        )
    return Rate(int(re.sub("[_,]", "", found["count"])), found["span"])


@dataclass(frozen=True, slots=True)
class Pace:
    """What a provider allows, as the operator says; None for any number."""

    requests: Rate | None = None
    tokens: Rate | None = None
    """A call counts as its prompt and the longest reply that it may give, as providers count it."""

    def takes_s(self, calls: int, tokens: int) -> float:
        """The least seconds that so many calls take."""
        rates = ((self.requests, calls), (self.tokens, tokens))
        return max((rate.takes_s(count) for rate, count in rates if rate is not None), default=0.0)


class Pacer:
    """Gives the calls of one run their turn, in the order asked; used from one event loop."""

    def __init__(self, pace: Pace, *, clock: AbstractClock | None = None) -> None:
        """Take the pace, and the clock that it is kept by."""
        self.pace = pace
        self._requests = None if pace.requests is None else _limiter(pace.requests, clock)
        self._tokens = None if pace.tokens is None else _limiter(pace.tokens, clock)
        self._in_order = asyncio.Lock()

    async def turn(self, request: ModelRequest) -> None:
        """Wait until the request may be sent."""
        async with self._in_order:
            await self._taken(request)

    async def _taken(self, request: ModelRequest) -> None:
        if self.pace.tokens is not None and self._tokens is not None:
            left, piece = tokens_of(request), self.pace.tokens.at_once
            while left > 0:  # in pieces: the limiter never admits more than may come at once
                await self._tokens.try_acquire_async("tokens", min(left, piece))
                left -= piece
        if self._requests is not None:
            await self._requests.try_acquire_async("requests")


def tokens_of(request: ModelRequest) -> int:
    """Tokens that the request counts as against a provider's limit; never 0."""
    characters = sum(len(message.content) for message in request.messages)
    return max(1, math.ceil(characters / CHARACTERS_A_TOKEN) + request.max_output_tokens)


def _limiter(rate: Rate, clock: AbstractClock | None) -> Any:
    """Evenly spaced turns, and never more than the rate's count in any span of its length."""
    from pyrate_limiter import GCRA, Limiter, MonotonicClock, SingleBucketFactory, StateBucket
    from pyrate_limiter import Rate as Limit

    # what may come at once comes on top of what the even spacing admits in a span
    spaced = Limit(rate.count - rate.at_once + 1, rate.seconds * 1000, rate.at_once)
    bucket = StateBucket([spaced], GCRA(), clock=clock or MonotonicClock())
    return Limiter(SingleBucketFactory(bucket, schedule_leak=False), buffer_ms=0)
