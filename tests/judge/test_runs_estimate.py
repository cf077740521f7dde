"""What a run is expected to take, from its prompts."""

from __future__ import annotations

import math

from calibration.store.database import Store
from judge.calls import CostSource, Prices
from judge.fake_model import FakeTransport
from judge.runs import Tariff
from judge.runs.estimate import CHARACTERS_A_TOKEN, TOKENS_A_REASON, estimate
from judge.spec import Parameters
from rubrics.order import OrderPolicy
from tests.judge.cases import item, judge
from tests.judge.run_world import carried_out, even_passes, lay_down, numbered, planned

CHEAP = judge(name="cheap", order=OrderPolicy.AS_DECLARED, parameters=Parameters(max_output_tokens=100))


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
