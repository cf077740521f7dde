"""Several judges asked about the same items in turn: nobody runs ahead, one that stops stops the others."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.store.database import Store
from calibration.store.judges import get_run
from judge.calls import Fault, ModelReply, ModelRequest
from judge.fake_model import FakeTransport
from judge.faults import call_error
from judge.runs import Asked, RunOptions, StopKind, conditions, in_turn, run_in_turn
from judge.runs.turns import Turns
from judge.runs.units import CHUNK
from judge.spec import BaselineJudge
from rubrics.errors import DeclarationError, StoreError
from rubrics.order import OrderPolicy
from tests.judge.cases import judge
from tests.judge.run_world import answer, carried_out, lay_down, number_in, numbered, planned, state

OLD = judge(name="old", order=OrderPolicy.AS_DECLARED)
NEW = judge(name="new", model="openai/test-2", order=OrderPolicy.AS_DECLARED)
BOTH = judge(name="both-orders", model="openai/test-3", order=OrderPolicy.BOTH)


class Watched(FakeTransport):
    """A fake model that writes down, in one list for all, who was asked about which item."""

    def __init__(self, name: str, seen: list[tuple[str, int]], handler: Any = None) -> None:
        super().__init__(handler or (lambda _: answer("pass", micros=1)))
        self.name, self.seen = name, seen

    async def send(self, request: ModelRequest) -> ModelReply:
        """The handler's reply."""
        self.seen.append((self.name, number_in(request)))
        await asyncio.sleep(0)
        return await super().send(request)


def asked(store: Store, seen: list[tuple[str, int]], *specs: Any, **handlers: Any) -> list[Asked]:
    """The judges, each with its watched model and one call at a time."""
    plans = in_turn([planned(store, spec) for spec in specs])
    models = [Watched(spec.name, seen, handlers.get(spec.name)) for spec in specs]
    return [
        Asked(plan, lambda model=model: model, options=RunOptions(concurrency=1, patience_s=0.0))  # type: ignore[misc]
        for plan, model in zip(plans, models, strict=True)
    ]


def leads(names: Iterable[str]) -> Iterator[int]:
    """After each call, by how many the judge that was asked most often is ahead."""
    counted = Counter({OLD.name: 0, NEW.name: 0})
    for name in names:
        counted[name] += 1
        yield max(counted.values()) - min(counted.values())


def test_judges_are_asked_item_by_item(sqlite_store: Store) -> None:
    """Over more items than are read at once, none ahead by more than the calls in flight; what another run
    has answered is asked again, at this time.
    """
    count = CHUNK + 5
    lay_down(sqlite_store, numbered(count), OLD, NEW)
    before = carried_out(sqlite_store, planned(sqlite_store, OLD), lambda _: answer("fail"))
    seen: list[tuple[str, int]] = []
    runs = run_in_turn(sqlite_store, asked(sqlite_store, seen, OLD, NEW))
    assert [each.complete for each in runs] == [True, True]
    assert before.run not in {each.run for each in runs}
    assert len(seen) == 2 * count
    assert max(leads(name for name, _ in seen)) <= 2
    assert [number for name, number in seen if name == "old"] == [n for name, n in seen if name == "new"]
    plans = in_turn([planned(sqlite_store, OLD), planned(sqlite_store, NEW)])
    assert any("asked in turn with new, item by item" in each.what for each in conditions(plans[0]))


def test_a_judge_with_more_units_is_not_left_behind_by_a_hundred_items(sqlite_store: Store) -> None:
    """Both orders against one: the one with less to do waits before the next items."""
    lay_down(sqlite_store, numbered(CHUNK + 3), OLD, BOTH)
    seen: list[tuple[str, int]] = []
    runs = run_in_turn(sqlite_store, asked(sqlite_store, seen, OLD, BOTH))
    assert [each.complete for each in runs] == [True, True]
    assert len({number for _, number in seen[: 3 * CHUNK - 4]}) == CHUNK


@pytest.mark.parametrize("place", [0, 1])
def test_one_that_stops_stops_the_other(sqlite_store: Store, place: int) -> None:
    """A refused key: both runs are paused, each says why, and going on finishes both."""
    lay_down(sqlite_store, numbered(9), OLD, NEW)
    name = (OLD, NEW)[place].name

    def refused(request: ModelRequest) -> ModelReply:
        raise call_error(Fault.AUTH, request)

    seen: list[tuple[str, int]] = []
    runs = run_in_turn(sqlite_store, asked(sqlite_store, seen, OLD, NEW, **{name: refused}))
    kinds = [each.stopped.kind for each in runs if each.stopped is not None]
    assert kinds[place] is StopKind.FAULT
    assert kinds[1 - place] is StopKind.PARTNER
    assert len(seen) <= 4
    assert {state(sqlite_store, each.run) for each in runs} == {"paused"}
    again = run_in_turn(sqlite_store, asked(sqlite_store, [], OLD, NEW))
    assert [each.complete for each in again] == [True, True]
    assert [each.run for each in again] == [each.run for each in runs]


def test_an_error_of_one_is_raised_once_the_other_has_stored_what_it_has(sqlite_store: Store) -> None:
    """A client that breaks: its error, both runs paused, no answer lost."""
    lay_down(sqlite_store, numbered(9), OLD, NEW)

    def breaks(request: ModelRequest) -> ModelReply:
        if number_in(request) == 4:
            raise StoreError("the model of the test broke")
        return answer("pass")

    seen: list[tuple[str, int]] = []
    these = asked(sqlite_store, seen, OLD, NEW, new=breaks)
    with pytest.raises(StoreError, match="the model of the test broke"):
        run_in_turn(sqlite_store, these)
    assert 9 <= len(seen) <= 12
    again = run_in_turn(sqlite_store, asked(sqlite_store, [], OLD, NEW))
    assert all(each.complete for each in again)
    assert all(each.done_before >= 4 for each in again)
    with sqlite_store.read() as session:
        assert all(get_run(session=session, key=each.run).state == "finished" for each in again)


def test_who_cannot_be_asked_in_turn_is_told(sqlite_store: Store) -> None:
    """One judge alone or twice, one without a model, other items."""
    always = BaselineJudge(kind="baseline", name="always_accept")
    lay_down(sqlite_store, numbered(3), OLD, NEW, always)
    old, new = planned(sqlite_store, OLD), planned(sqlite_store, NEW)
    for plans in ([old], [old, old]):
        with pytest.raises(DeclarationError, match="at least two, each named once"):
            in_turn(plans)
    with pytest.raises(DeclarationError, match="makes no call, so it cannot be asked in turn"):
        in_turn([old, planned(sqlite_store, always)])
    lay_down(sqlite_store, numbered(4))
    with pytest.raises(DeclarationError, match="about the same items"):
        in_turn([old, planned(sqlite_store, NEW)])
    assert new.in_turn_with == {}


@settings(max_examples=50, derandomize=True)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=8).map(sorted),
        min_size=1,
        max_size=4,
    )
)
def test_nobody_runs_ahead_and_nobody_waits_for_ever(ways: list[list[tuple[int, int]]]) -> None:
    """Whatever the places of each: the order of asking is that of the places, and all come to their end."""
    told: list[tuple[tuple[int, int], int]] = []

    async def walk(turns: Turns, number: int, way: list[tuple[int, int]]) -> None:
        turn = turns.of(number)
        for place in way:
            await turn.wait(place)
            told.append((place, number))
        turn.leave()

    async def all_walk() -> None:
        turns = Turns(len(ways))
        walking = (walk(turns, number, way) for number, way in enumerate(ways))
        await asyncio.wait_for(asyncio.gather(*walking), 10)

    asyncio.run(all_walk())
    assert told == sorted(told)
    assert len(told) == sum(len(way) for way in ways)
