"""Presentations and their reconciliation, against the golden cases and by brute force."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrics.answer import Answer, answered, no_answer
from rubrics.errors import DeclarationError
from rubrics.order import (
    Order,
    OrderPolicy,
    PositionCell,
    position_cell,
    position_cells,
    presentations,
    reconcile,
    shown_in,
    swap_verdict,
)
from rubrics.scale import BINARY, Level, NoClaim, OrdinalScale, PreferenceScale
from rubrics.verdict import FAIL, PASS, UnknownReason, unknown

PAIR = PreferenceScale(kind="preference")
LEVELS = OrdinalScale(
    kind="ordinal", levels=tuple(Level(level=n, anchor=f"step {n}") for n in (1, 2, 3, 4)), accept_at="3"
)
UNKNOWNS = [
    no_answer("invalid", "unparsed"),
    no_answer("abstained", "cannot_tell"),
    no_answer("pending", "running"),
    no_answer("error", "timeout"),
    no_answer("missing"),
]
ANSWERS = [answered("A"), answered("B"), answered("tie"), *UNKNOWNS]

# The rule of STATISTICS §1, written out as a table: what was said by place in order ab and in order ba.
SWAP = {
    ("first", "second"): "A",
    ("second", "first"): "B",
    ("first", "first"): "inconsistent",
    ("second", "second"): "inconsistent",
    ("tie", "tie"): "tie",
    ("tie", "first"): "inconsistent",
    ("second", "tie"): "inconsistent",
    ("abstain", "first"): "abstain",
    ("tie", "abstain"): "abstain",
    ("abstain", "abstain"): "abstain",
    ("invalid", "abstain"): "invalid",
    ("abstain", "invalid"): "invalid",
    ("second", "invalid"): "invalid",
    ("invalid", "invalid"): "invalid",
}


@pytest.mark.parametrize(("said", "verdict"), list(SWAP.items()))
def test_swap_verdict_follows_the_rule(said: tuple[str, str], verdict: str) -> None:
    """Two answers by place give one verdict in source positions, or none."""
    assert swap_verdict(*said) == verdict


def _golden() -> list[dict[str, Any]]:
    shared = Path(os.environ.get("VOIRDIRE_SHARED", "../shared")) / "golden/golden.json"
    bundled = Path(__file__).parents[1] / "golden/golden.json"
    path = bundled if bundled.exists() else shared
    if not path.exists():
        return []
    return [case for case in json.loads(path.read_text()) if case["function"] == "swap_verdict"]


def test_swap_verdict_on_the_golden_cases() -> None:
    """Every golden case of the swap rule is reproduced."""
    cases = _golden()
    if not cases:
        pytest.skip("golden.json is neither bundled nor under VOIRDIRE_SHARED")
    wrong = [c["id"] for c in cases if swap_verdict(**c["inputs"]) != c["expected"]["verdict"]]
    assert (len(cases) >= 9, wrong) == (True, [])


def test_a_word_that_is_no_place_is_refused() -> None:
    """A source position where a place is due is not guessed at."""
    with pytest.raises(ValueError, match="'A' is no place; allowed: first, second"):
        swap_verdict("A", "first")


def test_presentations_of_each_policy() -> None:
    """Both orders are asked as declared first; one order is the declared one."""
    assert presentations(OrderPolicy.BOTH) == (Order.AB, Order.BA)
    assert presentations(OrderPolicy.AS_DECLARED) == (Order.AB,)
    assert shown_in(Order.BA, ("pass", "fail")) == ("fail", "pass")


@pytest.mark.parametrize(("ab", "ba"), list(itertools.product(ANSWERS, ANSWERS)))
def test_reconcile_by_brute_force(ab: Answer, ba: Answer) -> None:
    """Every pair of answers: same content, else the strongest unknown, else inconsistent."""
    result = reconcile((ab, ba))
    reasons = [a.reason for a in (ab, ba)]
    if UnknownReason.INVALID in reasons:
        assert result.reason is UnknownReason.INVALID
    elif UnknownReason.ABSTAINED in reasons:
        assert result.reason is UnknownReason.ABSTAINED
    elif any(r is not None for r in reasons):
        assert result.unknown is not None
        assert result.unknown.is_open
    elif ab == ba:
        assert result == ab
    else:
        assert result == no_answer("inconsistent", "orders")


@given(st.lists(st.sampled_from(ANSWERS), min_size=1, max_size=4))
def test_reconcile_never_invents_an_answer(answers: list[Answer]) -> None:
    """A value comes out only where every presentation gave it, whatever the order of asking."""
    result = reconcile(answers)
    if result.value is not None:
        assert {a.value for a in answers} == {result.value}
    assert reconcile(list(reversed(answers))).reason is result.reason


def test_reconcile_of_nothing_is_refused() -> None:
    """No presentation is a mistake of the caller, not a verdict."""
    with pytest.raises(ValueError, match="no presentation"):
        reconcile(())


@pytest.mark.parametrize(
    ("declared", "ab", "ba", "cell"),
    [
        (PAIR.answers, "A", "A", PositionCell.AA),
        (PAIR.answers, "B", "B", PositionCell.BB),
        (PAIR.answers, "tie", "tie", PositionCell.TT),
        (PAIR.answers, "A", "B", PositionCell.FF),  # A is first in ab, B is first in ba
        (PAIR.answers, "B", "A", PositionCell.SS),
        (PAIR.answers, "tie", "A", PositionCell.X),
        (BINARY.answers, "pass", "pass", PositionCell.AA),
        (BINARY.answers, "fail", "fail", PositionCell.BB),
        (BINARY.answers, "pass", "fail", PositionCell.FF),  # pass is listed first in ab, fail in ba
        (BINARY.answers, "fail", "pass", PositionCell.SS),
        (LEVELS.answers, "2", "2", PositionCell.TT),
        (LEVELS.answers, "1", "3", PositionCell.FF),  # low when low is listed first
        (LEVELS.answers, "4", "3", PositionCell.SS),
    ],
)
def test_position_cell(declared: tuple[str, ...], ab: str, ba: str, cell: PositionCell) -> None:
    """Content and place are told apart on every scale."""
    assert position_cell(declared, answered(ab), answered(ba)) is cell


def test_position_cells_keep_every_item() -> None:
    """Unknowns are counted under X, so the cells add up to the items."""
    pairs = list(itertools.product(ANSWERS, ANSWERS))
    cells = position_cells(PAIR.answers, pairs)
    assert sum(cells.values()) == len(pairs) == 64
    # of the 9 pairs of values: 3 the same, 1 FF, 1 SS, 4 tie against a preference; 55 hold an unknown
    assert cells == {"AA": 1, "BB": 1, "TT": 1, "FF": 1, "SS": 1, "X": 59}


def test_an_answer_reads_as_a_verdict_by_its_scale() -> None:
    """Levels read by accept_at, preferences by the claim, unknowns as they are."""
    assert answered("pass").outcome(BINARY) == PASS
    assert [answered(str(n)).outcome(LEVELS) for n in (2, 3)] == [FAIL, PASS]
    assert answered("B").outcome(PAIR) == PASS
    assert answered("tie").outcome(PAIR) == FAIL
    assert no_answer("abstained").outcome(PAIR) == unknown("abstained")
    assert isinstance(answered("A").outcome(PreferenceScale(kind="preference", candidate=None)), NoClaim)
    with pytest.raises(DeclarationError, match="'maybe'"):
        answered("maybe").outcome(BINARY)


def test_an_answer_is_a_value_or_an_unknown() -> None:
    """Neither, both, or a known verdict in place of an unknown is refused."""
    for given_ in ({}, {"value": "pass", "unknown": unknown("missing")}, {"unknown": PASS}):
        with pytest.raises(ValueError, match=r"answer has a value|is no unknown"):
            Answer(**given_)
