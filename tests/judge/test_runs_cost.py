"""The money of a run: set aside before each call, never beyond the cap, counted over all its processes."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.store.database import Store
from calibration.store.tallies import LostAttempts
from judge.calls import (
    Attempt,
    Cost,
    CostSource,
    Fault,
    ModelCallError,
    ModelReply,
    ModelRequest,
    Prices,
    Tokens,
    Transport,
)
from judge.fake_model import FakeTransport, failed, said
from judge.retries import NO_MONEY, RetryingClient
from judge.runs import RunOptions, RunSummary, StopKind, Tariff, dollars, run_judge
from judge.runs.batch import run_of
from judge.runs.budget import Budget
from judge.runs.connect import tariff_of
from judge.runs.engine import Engine
from judge.runs.words import summary_words
from judge.spec import BaselineJudge, Endpoint, Parameters
from rubrics.errors import DeclarationError
from rubrics.order import OrderPolicy
from tests.judge.cases import judge
from tests.judge.cli.records import address, on, told
from tests.judge.run_world import (
    NOW,
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


def five_then_refused(reply: ModelReply) -> FakeTransport:
    """A model that gives the reply five times and then no more."""
    replies = iter([reply] * 5)
    return FakeTransport(lambda request: next(replies, None) or failed(Fault.AUTH))


def test_calls_of_earlier_processes_without_prices_count_by_their_tokens(store: Store) -> None:
    """Five of 40 tokens each were made before a price was given: 200 of the cap of 450 are spent."""
    lay_down(store, numbered(9), CHEAP)
    plan = planned(store, CHEAP)
    first = five_then_refused(replace(answer("pass"), tokens=Tokens(7, 3, 40)))
    assert carried_out(store, plan, first, concurrency=1).done == 5
    more = carried_out(store, plan, costs(100), tariff=TARIFF, max_cost_micros=450, concurrency=1)
    assert (more.done, more.calls.known_micros, more.stopped and more.stopped.kind) == (
        *(7, 200),
        StopKind.COST_CAP,
    )


def test_a_cap_over_calls_of_which_nothing_is_recorded_is_refused(sqlite_store: Store) -> None:
    """Neither price nor tokens: nothing is asked, and without a cap the run goes on."""
    uncounted = five_then_refused(replace(answer("pass"), tokens=Tokens()))
    lay_down(sqlite_store, numbered(9), CHEAP)
    plan = planned(sqlite_store, CHEAP)
    assert carried_out(sqlite_store, plan, uncounted, concurrency=1).done == 5
    again = costs(10)
    with pytest.raises(DeclarationError, match="5 calls or attempts of this run may have been paid when no"):
        carried_out(sqlite_store, plan, again, tariff=TARIFF, max_cost_micros=10_000)
    assert again.requests == []
    assert carried_out(sqlite_store, plan, again, tariff=TARIFF).complete


@pytest.mark.parametrize("end", ["stop", "abandon"])
def test_what_was_set_aside_is_settled_however_a_run_ends(sqlite_store: Store, end: str) -> None:
    """Stopped or given up while four calls are tried again and again: nothing stays set aside."""
    lay_down(sqlite_store, numbered(60), CHEAP)
    provider = Lossy(0.3, 5)

    async def ended() -> Budget:
        plan = planned(sqlite_store, CHEAP)
        options = RunOptions(concurrency=4, tariff=TARIFF, max_cost_micros=10_000, patience_s=0.0)
        client = RetryingClient(provider, rng=Random(1), sleep=no_wait)
        engine = Engine(sqlite_store, plan, run_of(sqlite_store, plan, NOW), client=client, options=options)
        work = asyncio.create_task(engine.work())
        while provider.peak < 4 or provider.in_flight < 2:
            await asyncio.sleep(0)
        assert engine.budget.set_aside_micros > 0
        if end == "abandon":
            engine.abandon()
        engine.stop(StopKind.INTERRUPTED, "enough")
        await asyncio.wait_for(work, 30)
        return engine.budget

    budget = asyncio.run(ended())
    assert budget.set_aside_micros == 0
    assert budget.spent_micros >= provider.bill.micros > 0
    assert (end == "abandon") == (budget.spent_micros > provider.bill.micros)


async def no_wait(_seconds: float) -> None:
    """Waits between attempts take no time."""
    await asyncio.sleep(0)


def lossy(store: Store, transport: Transport, *, cap: int | None, at_once: int = 1) -> RunSummary:
    """The run over a transport whose lost attempts are made again; each call may cost 100."""
    return run_judge(
        store,
        planned(store, CHEAP),
        lambda: RetryingClient(transport, rng=Random(1), sleep=no_wait),
        options=RunOptions(concurrency=at_once, tariff=TARIFF, max_cost_micros=cap),
    )


def lost_at_first() -> FakeTransport:
    """A provider of which each item's first attempt is lost and each other one costs 60."""
    tried: set[int] = set()

    def handle(request: ModelRequest) -> ModelReply | ModelCallError:
        if number_in(request) in tried:
            return answer("pass", micros=60)
        tried.add(number_in(request))
        return failed(Fault.CONNECTION_LOST)

    return FakeTransport(handle)


def test_a_lost_attempt_counts_beside_the_one_that_is_answered(sqlite_store: Store) -> None:
    """Each first attempt is lost after it was sent, each second costs 60: 160 a call, 1,000 are six calls."""
    lay_down(sqlite_store, numbered(20), CHEAP)
    provider = lost_at_first()
    summary = lossy(sqlite_store, provider, cap=1_000)
    assert (summary.done, len(provider.requests)) == (6, 12)
    assert summary.stopped is not None
    assert "$0.00096 of $0.001 are spent" in summary.stopped.sentence
    assert (summary.calls.known_micros, summary.calls.unknown_cost) == (360, 0)
    assert summary.lost == LostAttempts(6, 600)
    assert summary.to_json()["cost"]["lost_beside"] == {"attempts": 6, "at_most_micros": 600}
    words = "\n".join(summary_words(summary))
    assert "  6 attempts were lost and made again, and may be billed too (at most $0.0006)\n" in words


def test_a_later_process_counts_the_lost_attempts_of_earlier_ones(store: Store) -> None:
    """960 of 1,000 may be billed: a second process makes no call; under 1,150 there is room for one more.

    That one is lost, and a second attempt would pass the cap: it is not made, and the failure says why.
    """
    lay_down(store, numbered(20), CHEAP)
    lossy(store, lost_at_first(), cap=1_000)
    provider = lost_at_first()
    assert lossy(store, provider, cap=1_000).done == 6
    assert provider.requests == []
    more = lossy(store, provider, cap=1_150)
    assert (more.done, len(provider.requests)) == (6, 1)
    assert more.errors == {"unreachable": 1}
    assert more.first_error.endswith(NO_MONEY)
    assert (more.calls.unknown_cost, more.calls.reserved_micros, more.lost) == (1, 100, LostAttempts(6, 600))
    finished = lossy(store, lost_at_first(), cap=None)
    assert (finished.complete, finished.lost) == (True, LostAttempts(20, 2_000))
    shown = told(on(address(store))("judge", "cost", finished.run[:10], "--json"))
    assert shown["lost_beside"] == {"attempts": 20, "at_most_micros": 2_000}
    assert shown["recorded_micros"] == 20 * 60
    words = on(address(store))("judge", "cost", finished.run[:10]).stdout
    assert "  20 attempts were lost and made again, and may be billed too (at most $0.002)\n" in words


class Lossy:
    """A provider that loses a share of its replies, and what it may bill at most."""

    def __init__(self, share: float, seed: int) -> None:
        self._share, self._rng = share, Random(seed)
        self.bill, self.in_flight, self.peak = Bill(), 0, 0

    async def send(self, _request: ModelRequest) -> ModelReply:
        """An answer that costs 60, or none for a call of up to 100."""
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        for _turn in range(self._rng.randrange(1, 40)):
            await asyncio.sleep(0)
        self.in_flight -= 1
        if self._rng.random() < self._share:
            self.bill.add(100)
            raise failed(self._rng.choice([Fault.TIMEOUT, Fault.CONNECTION_LOST, Fault.BROKEN_REPLY]))
        self.bill.add(60)
        return answer("pass", micros=60)

    async def aclose(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(("share", "seed"), [(0.6, 1), (0.6, 2), (0.6, 3), (1.0, 4)])
def test_no_lost_attempts_pass_the_cap(sqlite_store: Store, share: float, seed: int) -> None:
    """Four at once, most replies lost, one process after the other: never billed beyond the cap."""
    lay_down(sqlite_store, numbered(60), CHEAP)
    provider = Lossy(share, seed)
    for _process in range(6):
        summary = lossy(sqlite_store, provider, cap=2_050, at_once=4)
        assert provider.bill.micros <= 2_050
        calls, lost = summary.calls, summary.lost
        assert calls.known_micros + calls.reserved_micros + lost.micros == provider.bill.micros
        assert adds_up(summary)
    assert provider.bill.micros > 2_050 - 100, "what is left is less than one call may cost"
    assert provider.peak == (4 if share < 1 else 1)


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


class Bill:
    """What a provider may bill at most, in millionths of a dollar."""

    def __init__(self) -> None:
        self.micros = 0

    def add(self, micros: int) -> None:
        """Count one attempt."""
        self.micros += micros


@settings(max_examples=80, derandomize=True, deadline=None)
@given(
    cap=st.integers(0, 500),
    calls=st.lists(
        st.tuples(
            st.integers(0, 120),
            st.lists(st.sampled_from(["lost", "refused"]), max_size=4),
            st.one_of(st.none(), st.just("cut off"), st.just("uncounted"), st.integers(0, 120)),
        ),
        max_size=9,
    ),
)
def test_a_budget_is_never_overspent(cap: int, calls: list[tuple[int, list[str], str | int | None]]) -> None:
    """Calls at once whose attempts are lost, refused, answered, cut off: never billed beyond the cap.

    As long as none costs more than its most. What is spent is what may be billed; nothing stays set aside.
    """
    budget, bill = Budget(cap), Bill()

    async def call(most: int, before: list[str], end: str | int | None) -> None:
        money = await budget.set_aside(most)
        if money is None:
            return
        attempts: list[Attempt] = []
        for word in before:
            bill.add(most if word == "lost" else 0)
            attempts.append(attempt(Fault.TIMEOUT if word == "lost" else Fault.OVERLOADED))
            await asyncio.sleep(0)
            assert bill.micros <= budget.spent_micros + budget.set_aside_micros <= cap
            if word == "lost" and not money.another():
                end = None
                break
        if end is None:  # it has failed, or was never sent
            lost = "lost" in before[: len(attempts)]
            money.settle(attempts, None if lost else 0) if attempts else money.give_back()
            return
        cost = min(most, end) if isinstance(end, int) else most
        bill.add(cost)
        await asyncio.sleep(0)
        if end == "cut off":
            money.settle((), None)
        else:
            money.settle([*attempts, attempt(None)], cost if isinstance(end, int) else None)

    async def all_at_once() -> None:
        await asyncio.gather(*(call(*each) for each in calls))

    asyncio.run(all_at_once())
    assert budget.spent_micros == bill.micros <= cap
    assert budget.set_aside_micros == 0


def attempt(fault: Fault | None) -> Attempt:
    """An attempt that ended so."""
    return Attempt(1, fault, None, 0, 0)


def test_a_call_waits_for_the_change_of_those_in_flight() -> None:
    """60 of 100 set aside: a call of 50 waits, and goes once the first turns out to cost 10.

    A further attempt does not wait: where there is no room for it now it is not made.
    """

    async def wait() -> list[str]:
        budget, order = Budget(100), ["first"]
        money = await budget.set_aside(60)
        assert money is not None
        assert not money.another()

        async def second() -> None:
            other = await budget.set_aside(50)
            assert other is not None
            assert not other.another()
            order.append("second")

        task = asyncio.create_task(second())
        await asyncio.sleep(0)
        order.append("settled")
        money.settle([attempt(None)], 10)
        await task
        assert (budget.spent_micros, budget.set_aside_micros) == (10, 50)
        assert await Budget(100).set_aside(101) is None
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


def test_a_reply_that_costs_more_than_expected_ends_the_run_at_the_next_call(sqlite_store: Store) -> None:
    """A provider that bills ten times the most: what it says is spent, and no further call is made."""
    lay_down(sqlite_store, numbered(5), CHEAP)
    model = FakeTransport(
        lambda _: said('{"reason": "x", "verdict": "pass"}', cost=Cost(1_000, CostSource.DECLARED))
    )
    options = {"tariff": TARIFF, "max_cost_micros": 150, "concurrency": 1}
    summary = carried_out(sqlite_store, planned(sqlite_store, CHEAP), model, **options)
    assert (len(model.requests), summary.calls.known_micros) == (1, 1_000)
