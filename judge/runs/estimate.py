"""What a run is going to take: calls, tokens and money, before any of it is spent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from calibration.store.items import read_items
from calibration.store.tallies import tally_verdicts
from judge.calls import CostSource, Prices, Tokens
from judge.grading import Prepared, Sitting, prepare_together, sit
from judge.question import Question
from judge.runs.budget import Tariff
from judge.runs.plan import RunPlan, recorded_run
from judge.spec import ModelJudge, ReasonPlace
from rubrics.item import Item
from rubrics.order import Order

SAMPLE = 300
"""Items whose prompts are built to estimate a run; of more items every so manieth."""
CHARACTERS_A_TOKEN = 4
TOKENS_A_REASON = 120
"""Assumed of a reply that gives a reason."""
TOKENS_A_VERDICT = 12
"""Assumed of a reply that does not."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is left of a run, estimated."""

    units: int
    done: int
    calls: int
    """Calls still to be made; estimated where only a sample of the items was looked at."""
    without_call: int
    """Units that are settled without a call: blank outputs, missing evidence, texts that are too long."""
    sampled: int
    """Items that were looked at; 0 for a judge that makes no call."""
    tokens_in: int
    tokens_out: int
    """As assumed; a reply may be longer."""
    tokens_out_at_most: int
    cost_micros: int | None
    """None without a price."""
    cost_at_most_micros: int | None
    cost_source: CostSource

    def to_json(self) -> dict[str, Any]:
        """The estimate as scripts read it."""
        return {
            "units": self.units,
            "done": self.done,
            "calls": self.calls,
            "without_call": self.without_call,
            "items_sampled": self.sampled,
            "tokens": {
                "input": self.tokens_in,
                "output": self.tokens_out,
                "output_at_most": self.tokens_out_at_most,
            },
            "cost": {
                "micros": self.cost_micros,
                "at_most_micros": self.cost_at_most_micros,
                "source": self.cost_source.value,
            },
        }


def estimate(*, session: Session, plan: RunPlan, tariff: Tariff, source: CostSource) -> Estimate:
    """What is left to do of the plan, from the prompts of all its items or of an even sample of them.

    Args:
        session: a reading session.
        plan: of the run.
        tariff: by which prices calls are paid.
        source: where these prices come from.

    Raises:
        DeclarationError: the judge cannot be asked about one of the items.
    """
    run = recorded_run(session=session, plan=plan)
    done = sum(each.units for each in tally_verdicts(session=session, run_key=run.key)) if run else 0
    judge = plan.judge
    if not isinstance(judge, ModelJudge):
        return Estimate(plan.units, done, 0, plan.units - done, 0, 0, 0, 0, 0, 0, CostSource.UNBILLED)
    sample = _sample(session, judge, plan)
    calls, tokens_in, asked = sample.scaled(plan.units - done)
    told = judge.reason is not ReasonPlace.NONE
    longest = judge.parameters.max_output_tokens
    tokens_out = min(asked * (TOKENS_A_REASON if told else TOKENS_A_VERDICT), calls * longest)
    return Estimate(
        units=plan.units,
        done=done,
        calls=calls,
        without_call=plan.units - done - asked,
        sampled=sample.items,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        tokens_out_at_most=calls * longest,
        cost_micros=_cost(tariff, tokens_in, tokens_out),
        cost_at_most_micros=_cost(tariff, tokens_in, calls * longest),
        cost_source=source if tariff.known else CostSource.UNKNOWN,
    )


@dataclass(frozen=True, slots=True)
class _Sample:
    """Some items, each asked about every criterion in one order."""

    items: int
    units: int
    calls: int
    asked: int
    """Of the units, how many these calls ask about."""
    characters: int
    """Of the messages of those calls."""

    def scaled(self, units: int) -> tuple[int, int, int]:
        """Calls, input tokens, and units that are asked about, of so many units."""
        if not self.calls:
            return 0, 0, 0
        calls = math.ceil(units * self.calls / self.units)
        tokens = math.ceil(calls * self.characters / self.calls / CHARACTERS_A_TOKEN)
        return calls, tokens, math.ceil(units * self.asked / self.units)


def _sample(session: Session, judge: ModelJudge, plan: RunPlan) -> _Sample:
    keys = plan.item_keys[:: max(1, math.ceil(len(plan.item_keys) / SAMPLE))]
    items = [item for _, item in read_items(session=session, keys=keys) if isinstance(item, Item)]
    sitting = sit(judge, plan.rubric, secret=_ANY_SECRET, served_at=_ANY_ADDRESS)
    ready = [_ready(sitting, plan, item) for item in items]
    calls = [call for each in ready for call in each]
    return _Sample(
        items=len(items),
        units=len(items) * len(plan.criteria),
        calls=len(calls),
        asked=sum(len(call.criteria) for call in calls),
        characters=sum(len(message.content) for call in calls for message in call.prompt.messages),
    )


_ANY_SECRET = b"of prompts that nobody is sent"
_ANY_ADDRESS = "http://127.0.0.1:1/v1"


def _ready(sitting: Sitting, plan: RunPlan, item: Item) -> Iterator[Prepared]:
    """The calls that ask about the item in one order."""
    order = plan.orders[0] or Order.AB
    for criteria in plan.together:
        questions = [Question(plan.rubric, criterion, item) for criterion in criteria]
        call = prepare_together(sitting, questions, order=order)
        if isinstance(call, Prepared):
            yield call


def _cost(tariff: Tariff, tokens_in: int, tokens_out: int) -> int | None:
    if tariff.free:
        return 0
    prices: Prices | None = tariff.prices
    return prices.cost(Tokens(tokens_in, 0, tokens_out)).micros if prices else None
