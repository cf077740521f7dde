"""Drawing a calibration set: who is drawn, with what probability, and what cannot be drawn."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from calibration.sampling import Candidate, DesignKind, Member, SamplingDesign, draw, expected_failures
from rubrics.errors import DeclarationError

POOL = [Candidate(f"i{i:03d}", f"c{i // 4}", "fail" if i % 5 == 0 else "pass") for i in range(200)]


def simple(n: int, **fields: object) -> SamplingDesign:
    """A simple random design."""
    return SamplingDesign(kind=DesignKind.SIMPLE_RANDOM, n=n, seed=1, **fields)


def strata(**fields: object) -> SamplingDesign:
    """A failure-oversampled design by a screening judge."""
    return SamplingDesign(kind=DesignKind.FAILURE_OVERSAMPLED, by="screen", seed=1, **fields)


def test_a_simple_random_draw_has_n_distinct_items_of_equal_probability() -> None:
    """50 of 200: each member has probability 1/4, and a repeat with the seed draws the same."""
    members = draw(POOL, simple(50), rng=Random(3))
    assert len({m.item_id for m in members}) == 50
    assert {m.inclusion_probability for m in members} == {0.25}
    assert members == draw(list(reversed(POOL)), simple(50), rng=Random(3))
    assert members != draw(POOL, simple(50), rng=Random(4))


def test_every_item_is_drawn_as_often_as_its_probability_says() -> None:
    """Over 2,000 draws of 5 of 20 each item comes up near a quarter of the time (4 standard errors)."""
    pool = POOL[:20]
    rng = Random(5)
    seen = Counter(m.item_id for _ in range(2000) for m in draw(pool, simple(5), rng=rng))
    error = (0.25 * 0.75 / 2000) ** 0.5
    assert all(abs(n / 2000 - 0.25) < 4 * error for n in seen.values())
    assert len(seen) == 20


def test_one_per_cluster_multiplies_both_probabilities() -> None:
    """50 clusters of four, 25 drawn: one item each, probability 1/4 times 1/2."""
    members = draw(POOL, simple(25, one_per_cluster=True), rng=Random(1))
    assert len({m.cluster for m in members}) == 25
    assert {m.inclusion_probability for m in members} == {0.125}


def test_failures_are_oversampled_by_allocation() -> None:
    """30 of the 40 screened failures and 20 of the 160 passes, each with its own probability."""
    members = draw(POOL, strata(allocation={"fail": 30, "pass": 20}), rng=Random(1))
    assert Counter(m.stratum for m in members) == {"fail": 30, "pass": 20}
    assert {(m.stratum, m.inclusion_probability) for m in members} == {("fail", 0.75), ("pass", 0.125)}


def test_a_proportional_draw_follows_the_strata() -> None:
    """51 of 200 in strata of 40 and 160: 10.2 and 40.8 round to 10 and 41."""
    members = draw(POOL, strata(n=51), rng=Random(1))
    assert Counter(m.stratum for m in members) == {"fail": 10, "pass": 41}


@settings(max_examples=40, deadline=None, derandomize=True)
@given(first=st.integers(1, 60), more=st.integers(0, 60), seed=st.integers(0, 99))
def test_a_top_up_keeps_the_earlier_members(first: int, more: int, seed: int) -> None:
    """Earlier members stay; all carry the probability of the larger draw."""
    earlier = draw(POOL, simple(first), rng=Random(seed))
    both = draw(POOL, simple(first + more), rng=Random(seed + 1), already=earlier)
    assert {m.item_id for m in earlier} <= {m.item_id for m in both}
    assert len(both) == first + more
    assert {m.inclusion_probability for m in both} == {(first + more) / 200}


def test_a_top_up_by_cluster_keeps_the_earlier_item_of_its_cluster() -> None:
    """Under one_per_cluster the earlier output stays its cluster's output."""
    earlier = draw(POOL, simple(20, one_per_cluster=True), rng=Random(1))
    both = draw(POOL, simple(40, one_per_cluster=True), rng=Random(2), already=earlier)
    assert {m.item_id for m in earlier} <= {m.item_id for m in both}


@pytest.mark.parametrize(
    ("design", "words"),
    [
        (simple(201), "201 items are wanted and 200 can be drawn"),
        (strata(allocation={"fail": 41}), "stratum 'fail' has 40 items to draw from and 41 are wanted"),
        (strata(allocation={"other": 1}), "stratum 'other' has 0 items"),
        (SamplingDesign(kind=DesignKind.CONVENIENCE), "a convenience set is not drawn"),
    ],
)
def test_what_cannot_be_drawn_is_said_with_the_number(design: SamplingDesign, words: str) -> None:
    """Too few items, in all or in a stratum, are refused with how many there are."""
    with pytest.raises(DeclarationError, match=words):
        draw(POOL, design, rng=Random(1))


def test_a_top_up_from_another_population_is_refused() -> None:
    """An earlier member that is gone, or more members than wanted, is refused."""
    with pytest.raises(DeclarationError, match="'gone' was drawn before"):
        draw(POOL, simple(50), rng=Random(1), already=[Member("gone", "c", "", 0.1)])
    with pytest.raises(DeclarationError, match="a top-up only adds"):
        draw(POOL, simple(5), rng=Random(1), already=draw(POOL, simple(9), rng=Random(1)))


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "simple_random", "seed": 1},
        {"kind": "simple_random", "n": 5},
        {"kind": "stratified", "n": 5, "seed": 1},
        {"kind": "stratified", "by": "tag", "seed": 1},
        {"kind": "stratified", "by": "tag", "seed": 1, "n": 5, "allocation": {"a": 5}},
    ],
)
def test_an_incomplete_design_is_refused(fields: dict[str, object]) -> None:
    """n, seed, strata and allocation must fit the kind."""
    with pytest.raises(ValidationError):
        SamplingDesign.model_validate(fields)


@pytest.mark.parametrize("kind", list(DesignKind))
def test_each_design_says_what_it_describes(kind: DesignKind) -> None:
    """Every kind has its claim; only the convenience set describes its own items alone."""
    fields = {"n": 5, "seed": 1, "by": "tag"}
    design = SamplingDesign(kind=kind, **fields)
    assert ("these items only" in design.claim) == (kind is DesignKind.CONVENIENCE)


def test_expected_failures_say_how_many_are_short() -> None:
    """30 screened failures at 80 % and 20 passes at 5 % give 25 of 52 needed: 27 short."""
    members = draw(POOL, strata(allocation={"fail": 30, "pass": 20}), rng=Random(1))
    expected = expected_failures(members, {"fail": 0.8, "pass": 0.05}, needed=52)
    assert expected.expected == pytest.approx(25)
    assert expected.short_by == 27
    assert expected_failures(members, {"fail": 1, "pass": 1}, needed=50).short_by == 0
    with pytest.raises(DeclarationError, match="stratum 'pass' has the failure prevalence None"):
        expected_failures(members, {"fail": 0.8}, needed=52)
