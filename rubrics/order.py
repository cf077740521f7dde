"""Which presentations of a question to ask, and what their answers amount to together.

A presentation shows the two outputs of a pair, or the options of a pointwise question, in one order. A
judge that is asked in both orders answers only where both answers have the same content (STATISTICS §1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TypeVar

from rubrics.answer import Answer, answered, no_answer
from rubrics.scale import Preference
from rubrics.verdict import UnknownReason

T = TypeVar("T")


class Order(StrEnum):
    """The order of one presentation."""

    AB = "ab"
    """As declared: output A first, or the options as the scale lists them."""
    BA = "ba"
    """The other way round."""


class OrderPolicy(StrEnum):
    """Which orders a judge is asked in; part of its digest, so declared before anything is judged."""

    AS_DECLARED = "as_declared"
    BOTH = "both"


class PositionCell(StrEnum):
    """Where an item asked in both orders falls, by content (A, B, tie) and by place (first, second)."""

    AA = "AA"
    """Output A both times; pointwise: the option declared first both times."""
    BB = "BB"
    TT = "TT"
    """Tie both times, or the same level of an ordinal scale both times."""
    FF = "FF"
    """Leans to whatever is shown first."""
    SS = "SS"
    """Leans to whatever is shown second."""
    X = "X"
    """An unknown, or a tie against a preference."""


def presentations(policy: OrderPolicy) -> tuple[Order, ...]:
    """The orders to ask in, in the order of asking."""
    return (Order.AB, Order.BA) if policy is OrderPolicy.BOTH else (Order.AB,)


def shown_in(order: Order, declared: Sequence[T]) -> tuple[T, ...]:
    """The declared sequence as this order shows it."""
    return tuple(declared) if order is Order.AB else tuple(reversed(declared))


def reconcile(answers: Sequence[Answer]) -> Answer:
    """The one answer of a judge from its answers per presentation, all in source positions.

    Invalid if any is invalid; else abstained if any abstains; else the open reason if any is open; else the
    common content; else unknown(inconsistent, orders). So an unknown of one order is never outvoted, and an
    answer is never made of an order that was not asked. Raises ValueError for no answer at all.
    """
    if not answers:
        raise ValueError("no presentation to reconcile")
    for reason in _STRONGEST_FIRST:
        for answer in answers:
            if answer.reason is reason:
                return answer
    values = {answer.value for answer in answers}
    return answers[0] if len(values) == 1 else no_answer(UnknownReason.INCONSISTENT, "orders")


_STRONGEST_FIRST = (
    UnknownReason.INVALID,
    UnknownReason.ABSTAINED,
    UnknownReason.INCONSISTENT,  # votes within one order that disagree
    UnknownReason.PENDING,
    UnknownReason.ERROR,
    UnknownReason.MISSING,
)


def position_cell(declared: Sequence[str], ab: Answer, ba: Answer) -> PositionCell:
    """The cell of one item from its answers in both orders; `declared` is the scale's `answers`.

    On an ordinal scale a lower level when the levels are listed upwards than when they are listed
    downwards is a lean to what is shown first.
    """
    if ab.value is None or ba.value is None:
        return PositionCell.X
    if ab.value == ba.value:
        return _same(declared, ab.value)
    if Preference.TIE in (ab.value, ba.value):
        return PositionCell.X
    return PositionCell.FF if declared.index(ab.value) < declared.index(ba.value) else PositionCell.SS


def _same(declared: Sequence[str], value: str) -> PositionCell:
    sides = [word for word in declared if word != Preference.TIE]
    if value == Preference.TIE or len(sides) != 2:
        return PositionCell.TT
    return PositionCell.AA if value == sides[0] else PositionCell.BB


def position_cells(declared: Sequence[str], pairs: Iterable[tuple[Answer, Answer]]) -> dict[str, int]:
    """The number of items in each cell, every cell named; the input of the position figures.

    The denominator of those figures is the sum of all cells: unknowns stay in it.
    """
    counts = {cell.value: 0 for cell in PositionCell}
    for ab, ba in pairs:
        counts[position_cell(declared, ab, ba).value] += 1
    return counts


def swap_verdict(ab: str, ba: str) -> str:
    """The pair's verdict in source positions from what was said by place in each order.

    `first`, `second`, `tie`, `abstain` or `invalid` in; `A`, `B`, `tie`, `abstain`, `invalid` or
    `inconsistent` out. A table-driven form of `reconcile`, for files that hold displayed positions.

    >>> swap_verdict("first", "second"), swap_verdict("first", "first")
    ('A', 'inconsistent')
    """
    answer = reconcile((_by_place(ab, Order.AB), _by_place(ba, Order.BA)))
    return answer.value or _WORD_OF_REASON[answer.reason or UnknownReason.INVALID]


_REASON_OF_WORD = {"abstain": UnknownReason.ABSTAINED, "invalid": UnknownReason.INVALID}
_WORD_OF_REASON = {
    UnknownReason.ABSTAINED: "abstain",
    UnknownReason.INVALID: "invalid",
    UnknownReason.INCONSISTENT: "inconsistent",
}


def _by_place(word: str, order: Order) -> Answer:
    if word in _REASON_OF_WORD:
        return no_answer(_REASON_OF_WORD[word])
    if word == Preference.TIE:
        return answered(word)
    sides = shown_in(order, (Preference.A.value, Preference.B.value))
    places = dict(zip(("first", "second"), sides, strict=True))
    if word not in places:
        raise ValueError(f"{word!r} is no place; allowed: first, second, tie, abstain, invalid")
    return answered(places[word])
