"""Whole runs against a provider that fails on purpose, through both clients: none lost, none invented."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

import pytest
from pydantic import SecretStr

from calibration.store.database import Store
from judge.calls import Prices
from judge.fake_model import FakeTransport, said
from judge.retries import RetryingClient
from judge.runs import RunOptions, RunSummary, StopKind, run_judge
from judge.runs.words import summary_words
from judge.spec import Endpoint, ModelJudge
from rubrics.order import OrderPolicy
from tests.judge.calling import KEY, PATHS, raw
from tests.judge.cases import judge
from tests.judge.provider import Answer, Hit, Provider, completion, fault, page
from tests.judge.run_world import adds_up, lay_down, numbered, planned, rows, verdicts

both_paths = pytest.mark.parametrize("path", list(PATHS))
MALFORMED = raw(b'{"choices": [{"message": {"content": ')


def number_of(hit: Hit) -> int:
    """The number of the item that a request asks about."""
    found = re.search(r"Case (\d+):", hit.last_text)
    assert found
    return int(found[1])


def right(number: int) -> str:
    """The verdict of the scripted model: pass for an even item, fail for an odd one."""
    return "fail" if number % 2 else "pass"


def well(number: int) -> Answer:
    """The answer of a provider that works."""
    return completion(json.dumps({"reason": "as asked", "verdict": right(number)}))


@dataclass
class Faulty:
    """Fails the first request about some items, once each, and answers every other request."""

    faults: dict[int, Answer]
    failed: set[int] = field(default_factory=set)

    def __call__(self, hit: Hit) -> Answer:
        """The fault of an item the first time, its answer afterwards."""
        number = number_of(hit)
        if number in self.faults and number not in self.failed:
            self.failed.add(number)
            return self.faults[number]
        return well(number)


def served(address: str) -> ModelJudge:
    """A judge at the address, asked in one order."""
    return judge(
        name="served",
        model="openai/served-1",
        endpoint=Endpoint.COMPATIBLE,
        api_base=address,
        order=OrderPolicy.AS_DECLARED,
    )


def run_against(
    store: Store, handler: Callable[[Hit], Answer], items: int, *, path: str, concurrency: int = 32
) -> tuple[RunSummary, Provider]:
    """A run over so many items; waits between attempts take no time."""

    async def sleep(_: float) -> None:
        await asyncio.sleep(0)

    with Provider(handler) as provider:
        spec = served(provider.api_base)
        lay_down(store, numbered(items), spec)

        def client() -> RetryingClient:
            transport = PATHS[path](api_key=SecretStr(KEY), prices=Prices(1.0, 1.0), deadline_s=10.0)
            return RetryingClient(transport, rng=Random(1), sleep=sleep)

        options = RunOptions(concurrency=concurrency, patience_s=0.0)
        return run_judge(store, planned(store, spec), client, options=options), provider


def mixed(items: int) -> dict[int, Answer]:
    """10 % of the items meet a 429 (half of them with Retry-After), 2 % a 500, 1 % malformed JSON."""
    chosen = Random(20261130).sample(range(items), items * 13 // 100)
    tenth, fiftieth = items // 10, items // 50
    kinds = [fault(429, headers={"retry-after": "1"}), fault(429)] * (tenth // 2)
    kinds += [fault(500)] * fiftieth
    kinds += [MALFORMED] * (len(chosen) - len(kinds))
    return dict(zip(chosen, kinds, strict=True))


def passes_through_the_mix(store: Store, items: int, path: str) -> None:
    """Every item listed with the provider's own answer; requests within 1.02 of what is needed."""
    faults = mixed(items)
    summary, provider = run_against(store, Faulty(faults), items, path=path)
    assert (summary.complete, adds_up(summary)) == (True, True)
    assert summary.verdicts == {"fail": items // 2, "pass": items // 2}
    stored = {int(row[0][2:]): row[1] for row in rows(store, ANSWERS)}
    assert stored == {number: right(number) for number in range(items)}
    assert len(provider.hits) <= 1.02 * (items + len(faults))
    assert summary.calls.made == items


ANSWERS = "SELECT i.item_id, v.value FROM verdict v JOIN item i ON i.key = v.item_key"


def test_a_thousand_items_through_a_mix_of_faults(sqlite_store: Store) -> None:
    """10 % 429, 2 % 500 and 1 % malformed over 1,000 items: 1,000 listed, none lost, none invented."""
    passes_through_the_mix(sqlite_store, 1000, "direct")


def test_the_mix_through_litellm_and_over_postgresql(postgres_store: Store) -> None:
    """The same through the other client and on the other database, with 100 items."""
    passes_through_the_mix(postgres_store, 100, "litellm")


@pytest.mark.slow
@both_paths
def test_a_thousand_items_through_both_clients_on_both_databases(store: Store, path: str) -> None:
    """The full size of the two tests above, crossed."""
    passes_through_the_mix(store, 1000, path)


@both_paths
def test_items_whose_calls_always_fail_are_listed_with_their_reason(sqlite_store: Store, path: str) -> None:
    """Every tenth item fails for good, each in its own way: open units with the reason, none a verdict."""
    lasting = {
        0: (fault(429), "provider_error", 5),
        10: (fault(500), "provider_error", 5),
        20: (MALFORMED, "provider_error", 2),
        30: (page(200), "provider_error", 2),
        40: (raw(well(0).body, cut_at=30), "unreachable", 2),
        50: (Answer(drop=True), "unreachable", 2),
        60: (fault(400), "provider_error", 1),
    }
    summary, provider = run_against(
        sqlite_store, lambda hit: lasting.get(number_of(hit), (well(number_of(hit)),))[0], 70, path=path
    )
    hits = Counter(number_of(hit) for hit in provider.hits)
    assert (summary.complete, adds_up(summary)) == (False, True)
    assert summary.verdicts == {"fail": 35, "pass": 28}
    assert summary.errors == {"provider_error": 5, "unreachable": 2}
    assert {number: hits[number] for number in lasting} == {n: tries for n, (_, _, tries) in lasting.items()}
    assert {hits[number] for number in range(70) if number not in lasting} == {1}
    reasons = rows(
        sqlite_store,
        "SELECT i.item_id, f.detail FROM judge_call_fault f JOIN judge_call c ON c.key = f.call_key "
        "JOIN item i ON i.key = c.item_key",
    )
    assert {int(item[2:]): detail for item, detail in reasons} == {
        number: detail for number, (_, detail, _) in lasting.items()
    }


NO_ANSWERS = (
    (completion(None, refusal="I cannot judge this."), ("abstained", "refusal")),
    (completion("I'm sorry, but I can't help with that."), ("abstained", "refusal")),
    (completion('{"reason": "so", "verdict": "pass"', finish="length"), ("invalid", "truncated")),
    (completion('{"reason": "so", "verdict": "pass"}', finish="length"), ("invalid", "truncated")),
    (
        completion('{"reason": "so", "verdict": "fail"}', finish="content_filter"),
        ("invalid", "content_filter"),
    ),
    (completion('{"reason": "so", "verdict": "pass"}', refusal="No."), ("abstained", "refusal")),
    (completion(""), ("invalid", "unparsed")),
    (completion('{"verdict": "pass"}'), ("invalid", "unparsed")),
)


@pytest.mark.parametrize(
    ("path", "items"),
    [("direct", 200), ("litellm", 40), pytest.param("litellm", 200, marks=pytest.mark.slow)],
)
def test_two_hundred_refusals_and_truncations_are_no_verdict(
    sqlite_store: Store, path: str, items: int
) -> None:
    """Refused, cut off, filtered, empty or of another form: 0 of 200 recorded as pass or fail."""
    summary, _ = run_against(
        sqlite_store, lambda hit: NO_ANSWERS[number_of(hit) % len(NO_ANSWERS)][0], items, path=path
    )
    assert (summary.complete, summary.verdicts) == (True, {})
    expected = Counter(NO_ANSWERS[n % len(NO_ANSWERS)][1] for n in range(items))
    stored = Counter((row["reason"], row["detail"]) for row in verdicts(sqlite_store))
    assert stored == expected
    assert {row["value"] for row in verdicts(sqlite_store)} == {"unknown"}


@both_paths
def test_a_model_that_changes_stops_the_run(sqlite_store: Store, path: str) -> None:
    """Its answer is no verdict, both names are told, and the run goes on with both where asked to."""

    def changing(hit: Hit) -> Answer:
        answer = json.dumps({"reason": "as asked", "verdict": "pass"})
        return completion(answer, model="served-2" if hit.number > 10 else "served-1")

    halted, provider = run_against(sqlite_store, changing, 20, path=path, concurrency=1)
    assert halted.stopped is not None
    assert halted.stopped.kind is StopKind.MODEL_CHANGED
    assert "served-1 has answered so far, and now served-2 does" in halted.stopped.sentence
    assert (halted.models, halted.verdicts, len(provider.hits)) == (("served-1",), {"pass": 10}, 11)
    assert (halted.errors, adds_up(halted)) == ({"model_changed": 1}, True)
    assert halted.calls.known_micros == 11 * 107
    assert (halted.tokens_in, halted.tokens_out) == (11 * 100, 11 * 7)
    options = RunOptions(concurrency=1, patience_s=0.0, any_model=True)
    client = partial(
        FakeTransport, lambda _: said('{"reason": "as asked", "verdict": "pass"}', model="served-2")
    )
    plan = planned(sqlite_store, served(provider.api_base))
    summary = run_judge(sqlite_store, plan, client, options=options)
    assert any("several models answered" in line for line in summary_words(summary))
    assert summary.models == ("served-1", "served-2")
    assert Counter(row["reported_model"] for row in verdicts(sqlite_store)) == {
        "served-1": 10,
        "served-2": 10,
    }


def test_hung_and_slow_calls_end_at_the_deadline(sqlite_store: Store) -> None:
    """One item hangs and one drips: both open with `timeout`, the others have their verdict."""

    def slow(hit: Hit) -> Answer:
        number = number_of(hit)
        body = well(number).body
        return raw(body, delay=30.0) if number == 3 else raw(body, drip=0.2) if number == 5 else well(number)

    with Provider(slow) as provider:
        spec = served(provider.api_base)
        lay_down(sqlite_store, numbered(8), spec)

        def client() -> RetryingClient:
            transport = PATHS["direct"](api_key=SecretStr(KEY), deadline_s=0.4)
            return RetryingClient(transport, rng=Random(1))

        summary = run_judge(sqlite_store, planned(sqlite_store, spec), client)
    assert summary.errors == {"timeout": 2}
    assert summary.done == 6
