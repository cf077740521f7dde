"""Who rates what in which order depends on the seed and the names alone, and repeats are far apart."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from calibration.labeling.plan import SessionPlan, queue_of, repeats_of, share_out

PLAN = SessionPlan(seed=3)


def queue(
    items: int, rater: str = "ann", plan: SessionPlan = PLAN, session: str = "s"
) -> list[tuple[str, int]]:
    """Item and repeat of each place."""
    mine = [(f"i{n:04d}", 0) for n in range(items)]
    return [(place.item, place.repeat) for place in queue_of(mine, plan, session=session, rater=rater)]


@pytest.mark.parametrize(
    ("items", "repeats"),
    [(0, 0), (10, 0), (29, 0), (30, 1), (35, 6), (39, 10), (40, 10), (200, 10), (400, 20), (1000, 50)],
)
def test_repeats_are_five_percent_at_least_ten_where_the_set_has_room(items: int, repeats: int) -> None:
    """5 %, at least 10, at most as many as can lie 30 items apart."""
    assert repeats_of(items, PLAN) == repeats
    assert sum(repeat for _, repeat in queue(items)) == repeats


@settings(derandomize=True, max_examples=60, deadline=None)
@given(items=st.integers(0, 250), seed=st.integers(0, 10**6), distance=st.integers(1, 60))
def test_a_repeat_lies_at_the_distance_after_its_item(items: int, seed: int, distance: int) -> None:
    """Every item comes once, a repeat at most once, at least so many places after its item."""
    plan = SessionPlan(seed=seed, repeat_distance=distance)
    found = queue(items, plan=plan)
    first = {item: place for place, (item, repeat) in enumerate(found) if not repeat}
    again = {item: place for place, (item, repeat) in enumerate(found) if repeat}
    assert len(first) == items
    assert len(first) + len(again) == len(found)
    assert all(place - first[item] >= distance for item, place in again.items())


def test_repeats_are_not_only_at_the_end() -> None:
    """Repeats are mixed in: a rater cannot tell them by their place."""
    places = [place for place, (_, repeat) in enumerate(queue(400)) if repeat]
    assert min(places) < 200 < max(places)


def test_the_order_is_the_seeds_and_each_raters_own() -> None:
    """The same seed gives the same queue; another rater, session or seed another one."""
    assert queue(50) == queue(50)
    others = [queue(50, rater="ben"), queue(50, session="t"), queue(50, plan=SessionPlan(seed=4))]
    assert all(other != queue(50) for other in others)
    assert all(
        sorted(other[:0]) == [] and {i for i, _ in other} == {i for i, _ in queue(50)} for other in others
    )


def test_sides_are_about_half_and_half() -> None:
    """Pairs are shown either way round, by the seed."""
    mine = [(f"i{n}", 0) for n in range(400)]
    swapped = sum(place.swapped for place in queue_of(mine, PLAN, session="s", rater="ann"))
    assert 160 < swapped < 260


@settings(derandomize=True, max_examples=40, deadline=None)
@given(items=st.integers(1, 60), raters=st.integers(1, 6), per_item=st.integers(1, 6))
def test_each_item_gets_its_raters_and_loads_are_even(items: int, raters: int, per_item: int) -> None:
    """Each item has so many different raters in slots of their own; loads differ by one at most."""
    names = [f"r{n}" for n in range(raters)]
    keys = [f"i{n}" for n in range(items)]
    plan = SessionPlan(raters_per_item=per_item)
    if per_item > raters:
        with pytest.raises(ValueError, match="name as many raters"):
            share_out(keys, names, plan, session="s")
        return
    shares = share_out(keys, names, plan, session="s")
    assert Counter(item for mine in shares.values() for item, _ in mine) == dict.fromkeys(keys, per_item)
    assert len({(i, slot) for mine in shares.values() for i, slot in mine}) == items * per_item
    loads = [len(mine) for mine in shares.values()]
    assert max(loads) - min(loads) <= 1


def test_a_plan_that_contradicts_itself_is_refused() -> None:
    """A minimum of repeats without any share says two things at once."""
    with pytest.raises(ValidationError, match="repeats_at_least needs"):
        SessionPlan(repeat_share=0)
