"""Replies of other tools' pairwise judges in the public tables, read into a preference in source positions.

Only for replies that were stored elsewhere: our own judges answer in one agreed object (judge.parsing), as
words like these can be supplied by the item. What cannot be read is unknown with its reason, never a guess.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from rubrics.answer import Answer, answered, no_answer
from rubrics.order import Order, shown_in

MAX_REPLY = 100_000
_BETTER = re.compile(r"\boutput \(([ab])\) is (?:the )?better\b", re.IGNORECASE)
_NAMED = re.compile(r"\boutput \(([ab])\)", re.IGNORECASE)
_NEITHER = re.compile(r"\b(?:both|neither|equally good|tie)\b[^.]*\bequal(?:ly)?\b", re.IGNORECASE)
_SIDES = ("A", "B")


class ForeignForm(StrEnum):
    """How a stored reply says which output is better."""

    OUTPUT_AB = "output_ab"
    """`Output (a)` or `Output (b)` in displayed order: the last "... is better", else the last one named."""
    SCORES = "scores"
    """`{"score_1": .., "score_2": ..}`, already in source positions; equal scores are a tie."""


def read_foreign(text: str | None, form: ForeignForm, order: Order) -> Answer:
    """The preference in a stored reply, in source positions, or unknown with its reason. Never raises.

    `order` is the presentation that was shown: `ab` with output A first.
    """
    if not text or len(text) > MAX_REPLY:
        return no_answer("invalid", "unparsed")
    return _scores(text) if form is ForeignForm.SCORES else _named(text, order)


def _named(text: str, order: Order) -> Answer:
    said = _BETTER.findall(text)
    if not said:
        if _NEITHER.search(text):
            return no_answer("abstained", "cannot_tell")
        said = _NAMED.findall(text)
    if not said:
        return no_answer("invalid", "unparsed")
    first, second = shown_in(order, _SIDES)
    return answered(first if said[-1].lower() == "a" else second)


def _scores(text: str) -> Answer:
    try:
        found = json.loads(text)
        first, second = (Decimal(str(found[key]).strip()) for key in ("score_1", "score_2"))
    except (ValueError, KeyError, TypeError, RecursionError, InvalidOperation):
        return no_answer("invalid", "unparsed")
    if not (first.is_finite() and second.is_finite()):
        return no_answer("invalid", "out_of_range")
    return answered("tie" if first == second else "A" if first > second else "B")
