"""The direct client's requests: the same bytes, however they are put together."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge import direct_client
from judge.calls import Message, ModelRequest
from judge.direct_client import MAX_ENVELOPES, DirectTransport, Envelopes, encoded
from tests.judge.calling import KEY
from tests.judge.provider import Provider, completion

SCHEMAS = (None, {"type": "object"}, {"type": "string", "enum": ["pass", "\0the last text\0"]})
TEXT = st.text(st.characters() | st.sampled_from('"\\\0\ud800{}'))


def request(text: str, *, system: str = "Judge.", number: int = 0, schema: object = None) -> ModelRequest:
    """A request with these texts."""
    return ModelRequest(
        model=f"openai/served-{number}",
        messages=(Message("system", system), Message("user", text)),
        max_output_tokens=100 + number,
        temperature=0.5 if number else None,
        schema=schema,  # type: ignore[arg-type]  # None or a mapping
    )


@settings(max_examples=60, derandomize=True)
@given(st.lists(st.tuples(TEXT, TEXT, st.integers(0, 2), st.sampled_from(SCHEMAS)), max_size=6))
def test_a_request_has_the_same_bytes_whoever_was_asked_before(
    asked: list[tuple[str, str, int, object]],
) -> None:
    """Encoding a beginning once for many requests changes no byte of any."""
    envelopes = Envelopes()
    for text, system, number, schema in asked * 2:
        one = request(text, system=system, number=number, schema=schema)
        assert envelopes.encoded(one) == encoded(one)


def test_more_beginnings_than_are_kept_are_told_apart_all_the_same() -> None:
    """The oldest beginnings are forgotten, and none is taken for another."""
    envelopes = Envelopes()
    for turn, number in product(range(2), range(MAX_ENVELOPES + 5)):
        one = request(f"text {turn}", number=number, schema={"title": f"schema {number}"})
        assert envelopes.encoded(one) == encoded(one)


def test_a_request_without_messages_is_written_as_it_is() -> None:
    """Nothing is there to be put between beginning and end."""
    bare = ModelRequest(model="openai/any", messages=(), max_output_tokens=1)
    assert Envelopes().encoded(bare) == encoded(bare)


def test_each_address_gets_its_own_key_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A declared address never sees the key of OpenAI's own, whichever is asked first."""
    reply = json.dumps({"reason": "", "verdict": "pass"})
    with Provider(lambda _: completion(reply)) as own, Provider(lambda _: completion(reply)) as declared:
        monkeypatch.setenv(direct_client.OPENAI_KEY, KEY)
        monkeypatch.setattr(direct_client, "OPENAI", own.api_base)

        async def ask() -> None:
            transport = DirectTransport()
            for base in (None, declared.api_base, None, declared.api_base):
                await transport.send(replace(request("?"), api_base=base))
            await transport.aclose()
            await transport.send(replace(request("?"), api_base=declared.api_base))
            await transport.aclose()

        asyncio.run(ask())
    assert [hit.headers["authorization"] for hit in own.hits] == [f"Bearer {KEY}"] * 2
    assert [hit.headers["authorization"] for hit in declared.hits] == [f"Bearer {direct_client.NO_KEY}"] * 3
    assert {hit.headers["content-type"] for hit in (*own.hits, *declared.hits)} == {"application/json"}
