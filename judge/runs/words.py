"""A judge run in words and as JSON: what it is going to take, and how it ended."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import Any

from calibration.rendering.text import counted, visible
from judge.calls import CostSource
from judge.runs import RunPlan, RunSummary, conditions, dollars
from judge.runs.estimate import Estimate
from judge.runs.pacing import Pace
from judge.runs.summary import Spread, lost_words, unanswered_words

_INDENT = 16
_SOURCES = {
    CostSource.DECLARED: "by the prices given",
    CostSource.PRICE_MAP: "by the price map of the installed LiteLLM",
    CostSource.EMBEDDED: "the model runs here",
    CostSource.UNBILLED: "no call is made",
}


def plan_object(plan: RunPlan, expected: Estimate) -> dict[str, Any]:
    """The plan with its estimate and conditions, as scripts read it."""
    listed: dict[str, list[str]] = {"fixed": [], "sampled": [], "uncontrolled": []}
    for each in conditions(plan):
        listed[each.control.value].append(each.what)
    content = {key: value for key, value in plan.content.items() if key != "schema"}
    return {"plan": {**content, "item_count": len(plan.item_keys), **listed}, "estimate": expected.to_json()}


def plan_words(plan: RunPlan, expected: Estimate, *, on: str, width: int) -> list[str]:
    """The plan in lines of words, none wider than the terminal; `on` says which items."""
    criteria = ", ".join(criterion.key for criterion in plan.criteria)
    said = [
        (0, "", f"{plan.judge.name} on {visible(on)} under {plan.rubric.ref}: {criteria}"),
        (2, "", f"{_units(plan)}{_done(expected)}"),
        *((2, "", line) for line in _effort(expected)),
    ]
    heading = ""
    for each in conditions(plan):
        name = each.control.value
        said.append((_INDENT, f"{name}:" if name != heading else "", visible(each.what)))
        heading = name
    return [line for indent, name, text in said for line in _wrapped(text, name, indent=indent, width=width)]


def _wrapped(text: str, name: str = "", *, indent: int, width: int) -> list[str]:
    """The text in lines that begin under each other, the name before the first."""
    first = f"{'  ' + name if name else '':<{indent}}"
    return textwrap.wrap(
        text,
        max(width, 2 * _INDENT),
        initial_indent=first,
        subsequent_indent=" " * (indent or 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _units(plan: RunPlan) -> str:
    counts = (
        (len(plan.item_keys), "item", ""),
        (len(plan.criteria), "criterion", "criteria"),
        (len(plan.orders), "order", ""),
        (plan.repeats, "repeat", ""),
    )
    factors = [counted(n, one, many) for n, one, many in counts if n > 1 or one == "item"]
    return counted(plan.units, "unit") + (f": {' x '.join(factors)}" if len(factors) > 1 else "")


def _done(expected: Estimate) -> str:
    if not expected.done:
        return ""
    left = expected.units - expected.done
    have, are = _have_their(expected.done), "is" if left == 1 else "are"
    return f"; {expected.done:,} {have} verdict, {left:,} {are} left"


def _have_their(units: int) -> str:
    return "has its" if units == 1 else "have their"


def _effort(expected: Estimate) -> Iterator[str]:
    if not expected.sampled:
        yield "no call to a model"
        return
    settled, are = expected.without_call, "is" if expected.without_call == 1 else "are"
    yield (
        f"about {counted(expected.calls, 'call')}, {counted(expected.tokens_in, 'token')} in, "
        f"{expected.tokens_out:,} out (at most {expected.tokens_out_at_most:,}), by the prompts of "
        + counted(expected.sampled, "item")
        + (f"; {counted(settled, 'unit')} {are} settled without a call" if settled else "")
    )
    if expected.cost_micros is None or expected.cost_at_most_micros is None:
        yield "cost: not known; no price is known for this model (--price-input, --price-output)"
        return
    amount = dollars(expected.cost_micros)
    if expected.cost_at_most_micros:
        amount = f"about {amount}, at most {dollars(expected.cost_at_most_micros)}"
    yield f"cost: {amount} ({_SOURCES[expected.cost_source]})"


def pace_words(pace: Pace, expected: Estimate) -> str:
    """How fast the judge is asked, and how long that takes at least."""
    allowed = ((pace.requests, "calls"), (pace.tokens, "tokens"))
    said = " and ".join(f"{rate.count:,} {what}/{rate.span}" for rate, what in allowed if rate is not None)
    least = pace.takes_s(expected.calls, expected.tokens_in + expected.tokens_out_at_most)
    return f"at most {said}" + (f": {_lasting(least)} at least" if least >= 1 else "")


def _lasting(seconds: float) -> str:
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{math.ceil(seconds)} s"


def summary_words(summary: RunSummary) -> Iterator[str]:
    """How the run stands, in lines of words."""
    have = _have_their(1 if summary.units == 1 else summary.done)
    yield (
        f"Run {summary.run[:12]}: {summary.done:,} of {counted(summary.units, 'unit')} {have} verdict"
        + (f", {summary.done - summary.done_before:,} of them new." if summary.done_before else ".")
    )
    said = [f"{visible(word)} {count:,}" for word, count in summary.verdicts.items()]
    unknown = [f"{word} {count:,}" for word, count in summary.unknown.items()]
    if said or unknown:
        yield "  " + ", ".join([*said, *(f"unknown: {each}" for each in unknown)])
    if open_ := list(_open(summary)):
        yield "  open: " + ", ".join(open_)
    if summary.calls.made:
        yield f"  {_spent(summary)}"
        if lost := lost_words(summary.lost):
            yield f"  {lost}"
        yield f"  {_rates(summary)}"
    if summary.timing is not None:
        timing = summary.timing
        waited = f"; waited before {_times(timing.queue)}" if timing.queue.p99 else ""
        yield f"  an answer took {_times(timing.answer)}{waited}"
    if summary.calls.unresolved:
        yield f"  {unanswered_words(summary.calls)}"
    if summary.models:
        yield "  answered by " + ", ".join(visible(model) for model in summary.models)
    if len(summary.models) > 1:
        yield "  ! several models answered: a report on this run is about their mixture, not about one judge"
    if summary.note:
        yield f"  {summary.note}"


def unread_words(in_flight: int) -> str:
    """What may be paid where the store does not even say which calls have no answer."""
    return (
        f"the store cannot be read either: up to {counted(in_flight, 'call')} in flight may have been paid, "
        "and their answers are not stored"
    )


def _open(summary: RunSummary) -> Iterator[str]:
    """Why units have no verdict, each with how many."""
    from calibration.store.calls import MODEL_CHANGED, NOT_MADE

    words = {MODEL_CHANGED: "answered by another model, not taken"}
    yield from (f"{words.get(word, word)} {n:,}" for word, n in summary.errors.items() if word != NOT_MADE)
    if summary.unanswered:
        yield f"out in a batch or cut off {summary.unanswered:,}"
    if not_asked := summary.pending - summary.unanswered + summary.errors.get(NOT_MADE, 0):
        yield f"not asked {not_asked:,}"


def _rates(summary: RunSummary) -> str:
    """Verdicts a minute and a dollar; a cost that is not known makes no rate."""
    minute = "not known" if summary.per_minute is None else f"{summary.per_minute:,.0f}"
    dollar = "not known" if summary.per_dollar is None else f"{summary.per_dollar:,.0f}"
    if summary.per_dollar is None and not summary.calls.unknown_cost:
        return f"verdicts a minute: {minute}; nothing was billed"
    return f"verdicts a minute: {minute}; verdicts a dollar: {dollar}"


def _times(spread: Spread) -> str:
    return (
        " / ".join(f"{each / 1000:.2g}" for each in (spread.p50, spread.p95, spread.p99)) + " s (p50/95/99)"
    )


def _spent(summary: RunSummary) -> str:
    calls = summary.calls
    tokens = [
        f"{counted(count, 'token')} {way}"
        for count, way in ((summary.tokens_in, "in"), (summary.tokens_out, "out"))
        if count is not None
    ]
    cost = dollars(calls.known_micros)
    if calls.unknown_cost == calls.made:
        cost = "cost not known"
    elif calls.unknown_cost:
        cost += f" and {counted(calls.unknown_cost, 'call')} of unknown cost"
    return ", ".join([counted(calls.made, "call"), *tokens, cost])
