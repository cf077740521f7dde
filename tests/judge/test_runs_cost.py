"""The money of a run: set aside before each call, never beyond the cap, counted over all its processes."""

from __future__ import annotations

import asyncio
import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.store.database import Store
from judge.calls import Cost, CostSource, Fault, ModelCallError, ModelReply, ModelRequest, Prices
from judge.fake_model import FakeTransport, failed, said
from judge.retries import RetryingClient
from judge.runs import RunOptions, StopKind, Tariff, dollars, run_judge
from judge.runs.budget import Budget
from judge.runs.connect import tariff_of
from judge.runs.estimate import CHARACTERS_A_TOKEN, TOKENS_A_REASON, estimate
from judge.spec import BaselineJudge, Endpoint, Parameters
from rubrics.errors import DeclarationError
from rubrics.order import OrderPolicy
from tests.judge.cases import item, judge
from tests.judge.run_world import (
    Slow,
    adds_up,
    answer,
    carried_out,
    even_passes,
    lay_down,
    number_in,
    numbered,
    planned,
)

CHEAP = judge(name="cheap", order=OrderPolicy.AS_DECLARED, parameters=Parameters(max_output_tokens=100))
TARIFF = Tariff(Prices(uncached_input=0.0, output=1.0))
"""One millionth of a dollar for an output token: a call costs 100 at most."""


def costs(micros: int) -> FakeTransport:
    """A model whose every call costs so much."""
    return FakeTransport(lambda request: answer("pass", micros=micros))


def test_the_cap_is_never_passed_and_the_run_goes_on_under_a_higher_one(store: Store) -> None:
    """Calls of 60 that may cost 100, a cap of 1,000: the 16th could pass it (900 + 100 fits, 960 + 100 not).

    The cap is the run's: started again with the same one it makes no call, with a higher one it goes on.
    """
    lay_down(store, numbered(40), CHEAP)
    plan = planned(store, CHEAP)
    model = costs(60)
    summary = carried_out(store, plan, model, tariff=TARIFF, max_cost_micros=1_000, concurrency=4)
    assert len(model.requests) == 16
    assert (summary.calls.known_micros, summary.done, adds_up(summary)) == (960, 16, True)
    assert summary.stopped is not None
    assert summary.stopped.kind is StopKind.COST_CAP
    assert summary.stopped.sentence == (
        "the next call may cost up to $0.0001, and $0.00096 of $0.001 are spent: raise the cap to go on"
    )
    assert summary.calls.unresolved == 0
    again = costs(60)
    assert carried_out(store, plan, again, tariff=TARIFF, max_cost_micros=1_000).done == 16
    assert again.requests == []
    finished = carried_out(store, plan, again, tariff=TARIFF, max_cost_micros=10_000)
    assert (finished.complete, finished.calls.known_micros, len(again.requests)) == (True, 2_400, 24)


def test_what_is_in_flight_counts_at_its_most(sqlite_store: Store) -> None:
    """A cap of 250 and calls of up to 100: never three at once, though eight are allowed."""
    lay_down(sqlite_store, numbered(20), CHEAP)
    model = Slow(lambda request: answer("pass", micros=10), company=2)
    options = {"tariff": TARIFF, "max_cost_micros": 250, "concurrency": 8}
    summary = carried_out(sqlite_store, planned(sqlite_store, CHEAP), model, **options)
    assert model.peak == 2
    assert summary.calls.known_micros <= 250
    assert summary.done == 16, "150 spent leave room for one call of up to 100, 160 do not"


def test_a_call_of_unknown_cost_counts_as_what_was_set_aside(sqlite_store: Store) -> None:
    """Replies without a token count, and a time-out that may have been billed: 100 each against the cap."""
    lay_down(sqlite_store, numbered(9), CHEAP)
    plan = planned(sqlite_store, CHEAP)

    def unknown_cost(request: ModelRequest) -> ModelReply | ModelCallError:
        return failed(Fault.TIMEOUT) if number_in(request) == 0 else answer("pass")

    summary = carried_out(sqlite_store, plan, unknown_cost, tariff=TARIFF, max_cost_micros=450, concurrency=1)
    assert (summary.calls.made, summary.calls.unknown_cost, summary.calls.reserved_micros) == (4, 4, 400)
    assert (summary.done, summary.errors, summary.pending) == (3, {"timeout": 1}, 5)
    more = carried_out(sqlite_store, plan, unknown_cost, tariff=TARIFF, max_cost_micros=450)
    assert more.calls.made == 4


def test_a_lost_attempt_counts_beside_the_one_that_is_answered(sqlite_store: Store) -> None:
    """Each first attempt is lost after it was sent, each second costs 60: 160 a call, 1,000 are six calls."""
    lay_down(sqlite_store, numbered(20), CHEAP)
    tried: set[int] = set()

    def lost_at_first(request: ModelRequest) -> ModelReply | ModelCallError:
        if number_in(request) in tried:
            return answer("pass", micros=60)
        tried.add(number_in(request))
        return failed(Fault.CONNECTION_LOST)

    async def no_wait(_seconds: float) -> None:
        await asyncio.sleep(0)

    provider = FakeTransport(lost_at_first)
    summary = run_judge(
        sqlite_store,
        planned(sqlite_store, CHEAP),
        lambda: RetryingClient(provider, rng=Random(1), sleep=no_wait),
        options=RunOptions(concurrency=1, tariff=TARIFF, max_cost_micros=1_000),
    )
    assert (summary.done, len(provider.requests)) == (6, 12)
    assert summary.stopped is not None
    assert "$0.00096 of $0.001 are spent" in summary.stopped.sentence


def test_a_refused_call_costs_nothing(sqlite_store: Store) -> None:
    """An overloaded provider bills nothing: the money set aside comes back."""
    lay_down(sqlite_store, numbered(4), CHEAP)
    options = {"tariff": TARIFF, "max_cost_micros": 100, "concurrency": 1}
    summary = carried_out(
        sqlite_store, planned(sqlite_store, CHEAP), lambda _: failed(Fault.OVERLOADED), **options
    )
    assert (summary.calls.made, summary.calls.known_micros, summary.calls.unknown_cost) == (3, 0, 0)


def test_a_cap_without_a_price_is_refused_and_a_free_model_needs_none(sqlite_store: Store) -> None:
    """Nobody can keep a cap on unknown prices; a model that runs here costs nothing, so any cap holds."""
    lay_down(sqlite_store, numbered(2), CHEAP)
    plan = planned(sqlite_store, CHEAP)
    with pytest.raises(DeclarationError, match=r"no price is known for 'openai/test-1'.*--price-input"):
        carried_out(sqlite_store, plan, even_passes, max_cost_micros=10**9)
    summary = carried_out(sqlite_store, plan, even_passes, max_cost_micros=0, tariff=Tariff(free=True))
    assert summary.complete


def test_what_is_set_aside_is_stored_with_the_intent(sqlite_store: Store) -> None:
    """Bytes of the prompt by three, and the longest reply, at the prices given."""
    lay_down(sqlite_store, numbered(1), CHEAP)
    tariff = Tariff(Prices(uncached_input=3.0, output=2.0))
    model = FakeTransport(even_passes)
    summary = carried_out(sqlite_store, planned(sqlite_store, CHEAP), model, tariff=tariff)
    (request,) = model.requests
    size = sum(len(message.content.encode()) for message in request.messages)
    assert summary.calls.reserved_micros == math.ceil(size / 3) * 3 + 100 * 2


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    cap=st.integers(0, 500),
    calls=st.lists(st.tuples(st.integers(0, 120), st.one_of(st.none(), st.integers(0, 120))), max_size=20),
)
def test_a_budget_is_never_overspent(cap: int, calls: list[tuple[int, int | None]]) -> None:
    """Whatever calls may cost and do cost, as long as none costs more than was set aside for it."""

    async def spend() -> Budget:
        budget = Budget(cap)
        for most, cost in calls:
            if await budget.set_aside(most):
                assert budget.spent_micros + budget.set_aside_micros <= cap
                budget.settle(most, None if cost is None else min(cost, most))
        return budget

    budget = asyncio.run(spend())
    assert 0 <= budget.spent_micros <= cap
    assert budget.set_aside_micros == 0


def test_a_call_waits_for_the_change_of_those_in_flight() -> None:
    """60 of 100 set aside: a call of 50 waits, and goes once the first turns out to cost 10."""

    async def wait() -> list[str]:
        budget, order = Budget(100), ["first"]
        assert await budget.set_aside(60)

        async def second() -> None:
            assert await budget.set_aside(50)
            order.append("second")

        task = asyncio.create_task(second())
        await asyncio.sleep(0)
        order.append("settled")
        budget.settle(60, 10)
        await task
        assert not await Budget(100).set_aside(101)
        return order

    assert asyncio.run(wait()) == ["first", "settled", "second"]


@pytest.mark.parametrize(
    ("micros", "shown"),
    [
        (0, "$0"),
        (1, "$0.000001"),
        (960, "$0.00096"),
        (1_234, "$0.0012"),
        (99_000, "$0.099"),
        (1_500_000, "$1.50"),
        (2_000_000_000, "$2,000.00"),
    ],
)
def test_amounts_are_read_at_a_glance(micros: int, shown: str) -> None:
    """Cents from ten cents on, two digits below; nothing that was spent is shown as nothing."""
    assert dollars(micros) == shown


def test_prices_come_from_the_operator_the_map_or_nowhere() -> None:
    """An embedded model and a baseline are free; a compatible server's names are never looked up."""
    prices = Prices(1.0, 2.0)
    embedded = judge(model="m", endpoint=Endpoint.EMBEDDED, weights="0" * 64)
    compatible = judge(
        model="openai/gpt-4.1-mini", endpoint=Endpoint.COMPATIBLE, api_base="http://127.0.0.1:1/v1"
    )
    assert tariff_of(embedded) == (Tariff(free=True), CostSource.EMBEDDED)
    assert tariff_of(BaselineJudge(kind="baseline", name="length")) == (
        Tariff(free=True),
        CostSource.UNBILLED,
    )
    assert tariff_of(compatible) == (Tariff(), CostSource.UNKNOWN)
    assert tariff_of(compatible, prices) == (Tariff(prices), CostSource.DECLARED)
    found, source = tariff_of(judge(model="openai/gpt-4.1-mini"))
    assert found.prices is not None
    assert (found.prices.uncached_input, found.prices.output, source) == (0.4, 1.6, CostSource.PRICE_MAP)
    assert tariff_of(judge(model="openai/no-such-model")) == (Tariff(), CostSource.UNKNOWN)


def test_an_estimate_counts_prompts_and_what_is_left(sqlite_store: Store) -> None:
    """Tokens from the prompts' characters and the assumed reply, the price of both; then what is left."""
    items = [*numbered(3), item("", item_id="blank")]
    lay_down(sqlite_store, items, CHEAP)
    plan, tariff = planned(sqlite_store, CHEAP), Tariff(Prices(2.0, 4.0))
    with sqlite_store.read() as session:
        before = estimate(session=session, plan=plan, tariff=tariff, source=CostSource.DECLARED)
        unpriced = estimate(session=session, plan=plan, tariff=Tariff(), source=CostSource.UNKNOWN)
    model = FakeTransport(even_passes)
    carried_out(sqlite_store, plan, model)
    characters = sum(len(message.content) for request in model.requests for message in request.messages)
    assert (before.units, before.done, before.calls, before.without_call) == (4, 0, 3, 1)
    assert before.tokens_in == math.ceil(characters / CHARACTERS_A_TOKEN)
    assert (before.tokens_out, before.tokens_out_at_most) == (3 * min(TOKENS_A_REASON, 100), 300)
    assert before.cost_micros == before.tokens_in * 2 + before.tokens_out * 4
    assert before.cost_at_most_micros == before.tokens_in * 2 + 300 * 4
    assert (unpriced.cost_micros, unpriced.cost_at_most_micros) == (None, None)
    with sqlite_store.read() as session:
        after = estimate(session=session, plan=plan, tariff=tariff, source=CostSource.DECLARED)
    assert (after.done, after.calls, after.cost_micros) == (4, 0, 0)


def test_of_many_items_an_even_sample_is_looked_at(sqlite_store: Store) -> None:
    """1,000 items of which every second is blank: 250 are looked at, and 500 calls expected."""
    items = [item("" if n // 4 % 2 else f"Case {n}: yes", item_id=f"n-{n}") for n in range(1000)]
    lay_down(sqlite_store, items, CHEAP)
    with sqlite_store.read() as session:
        found = estimate(
            session=session, plan=planned(sqlite_store, CHEAP), tariff=Tariff(), source=CostSource.UNKNOWN
        )
    assert (found.sampled, found.calls, found.without_call) == (250, 500, 500)


def test_a_reply_that_costs_more_than_expected_ends_the_run_at_the_next_call(sqlite_store: Store) -> None:
    """A provider that bills ten times the most: what it says is spent, and no further call is made."""
    lay_down(sqlite_store, numbered(5), CHEAP)
    model = FakeTransport(
        lambda _: said('{"reason": "x", "verdict": "pass"}', cost=Cost(1_000, CostSource.DECLARED))
    )
    options = {"tariff": TARIFF, "max_cost_micros": 150, "concurrency": 1}
    summary = carried_out(sqlite_store, planned(sqlite_store, CHEAP), model, **options)
    assert (len(model.requests), summary.calls.known_micros) == (1, 1_000)
