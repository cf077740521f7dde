"""What a run cost, its tokens apart, by the prices of then or by a versioned map of prices."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StrictInt
from sqlmodel import Session

from calibration.store.inserting import batches
from calibration.store.judges import StoredRun, get_judge, get_run
from calibration.store.operation import answered_span
from calibration.store.payloads import StoredText, read_payloads
from calibration.store.tallies import (
    LostAttempts,
    lost_attempts,
    lost_replies,
    replies_to_calls,
    tally_calls,
    tally_verdicts,
)
from judge.calls import MAYBE_PAID, Prices, round_up
from rubrics.digest import digest
from rubrics.errors import DeclarationError
from rubrics.loader import parse_declaration, read_declaration
from rubrics.record import Frozen, Name

Dollars = Annotated[float, Field(ge=0, le=100_000)]


class ModelPrice(Frozen):
    """US dollars for a million tokens of one model, and for each call."""

    uncached_input: Dollars
    output: Dollars
    cached_input: Dollars | None = None
    """None bills cached input as uncached."""
    per_call: Dollars = 0.0


class PriceMap(Frozen):
    """Prices by model, as somebody recorded them at some time."""

    name: Name
    version: StrictInt = Field(ge=1)
    models: Annotated[Mapping[str, ModelPrice], Field(min_length=1)]
    """By the model as a judge's spec names it."""

    @property
    def ref(self) -> str:
        """name@version, as people write it."""
        return f"{self.name}@{self.version}"

    @property
    def digest(self) -> str:
        """Identity of the map: an amount is of one map and no other."""
        return digest({"schema": "price-map/1", **self.model_dump(mode="json")})

    def of(self, model: str) -> ModelPrice:
        """The price of a model; raises DeclarationError where the map has none."""
        found = self.models.get(model)
        if found is None:
            raise DeclarationError(
                f"the map {self.ref} has no price for {model!r}; it has: {', '.join(sorted(self.models))}"
            )
        return found


def load_prices(path: str | Path) -> PriceMap:
    """The map that a YAML file declares; raises DeclarationError or TableError where it is none."""
    return parse_declaration(read_declaration(path), PriceMap, source=str(path))


@dataclass(frozen=True, slots=True)
class Spent:
    """The tokens and the cost of a run's calls."""

    calls: int
    """Calls of this run that brought a reply, with or without a verdict."""
    lost: int
    """Those of them that brought no verdict: unreadable, of another model, or too late."""
    uncached_input: int
    cached_input: int
    output: int
    uncounted: int
    """Calls whose tokens the provider did not count; they are in no sum."""
    known_micros: int
    """As recorded, failed calls included."""
    unknown_cost: int
    verdicts: int
    """All of the run, those without a call of their own included."""
    per_minute: float | None
    """Verdicts of its calls a minute, from the first to the last; None where there is no such time."""
    lost_attempts: LostAttempts
    """Attempts that may be billed beside the cost of the calls; in no other figure."""

    @property
    def per_dollar(self) -> float | None:
        """Verdicts of the run for each dollar of its calls; None where a cost is not known or none arose."""
        return verdicts_per_dollar(self.verdicts, micros=self.known_micros, unknown_cost=self.unknown_cost)

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """Tokens in and out of all calls, those asked for again included; None where one is not counted."""
        if self.uncounted:
            return None, None
        return self.uncached_input + self.cached_input, self.output

    def by(self, price: ModelPrice | Prices) -> int:
        """Millionths of a dollar of the counted calls at this price, rounded up once."""
        cached = price.uncached_input if price.cached_input is None else price.cached_input
        micros = self.uncached_input * price.uncached_input + self.cached_input * cached
        per_call = price.per_call if isinstance(price, ModelPrice) else 0.0
        return round_up(micros + self.output * price.output + self.calls * per_call * 1_000_000)

    def to_json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "calls": self.calls,
            "calls_without_a_verdict": self.lost,
            "tokens": {
                "uncached_input": self.uncached_input,
                "cached_input": self.cached_input,
                "output": self.output,
            },
            "calls_without_token_count": self.uncounted,
            "recorded_micros": self.known_micros,
            "calls_of_unknown_cost": self.unknown_cost,
            "lost_beside": self.lost_attempts.to_json(),
            "verdicts": self.verdicts,
            "verdicts_per_minute": rounded(self.per_minute),
            "verdicts_per_dollar": rounded(self.per_dollar),
        }


def repriced(found: Spent, source: PriceMap | Prices, *, model: str) -> dict[str, Any]:
    """What the run would cost by other prices, and by which, as scripts read it.

    DeclarationError where a map has no price for the model.
    """
    if isinstance(source, PriceMap):
        return {"map": source.ref, "digest": source.digest, "micros": found.by(source.of(model))}
    given = {"input": source.uncached_input, "output": source.output}
    return {"prices": given, "micros": found.by(source)}


def verdicts_per_dollar(verdicts: int, *, micros: int, unknown_cost: int) -> float | None:
    """Verdicts for each dollar that was paid; None where a call's cost is not known, or nothing was paid.

    >>> verdicts_per_dollar(500, micros=250_000, unknown_cost=0)
    2000.0
    """
    return None if unknown_cost or not micros else verdicts * 1_000_000 / micros


def rounded(rate: float | None) -> float | None:
    """A rate as scripts read it, with one decimal."""
    return None if rate is None else round(rate, 1)


def spent(*, session: Session, run: StoredRun) -> Spent:
    """What the run's calls took, those that were paid for and brought no verdict included."""
    lost = lost_replies(session=session, run_key=run.key)
    counted = {each.call for each in lost if each.unread and each.tokens is not None}
    sums, calls, uncounted, without = [0, 0, 0], 0, 0, 0
    for tokens, judged in chain(
        _tokens(session, run, counted),
        ((each.tokens, False) for each in lost if each.tokens is not None or not each.unread),
    ):
        calls += 1
        without += not judged
        if tokens is None:
            uncounted += 1
            continue
        for place, name in enumerate(("uncached_input", "cached_input", "output")):
            sums[place] += int(tokens.get(name, 0))
    tally = tally_calls(session=session, run_key=run.key)
    said = tally_verdicts(session=session, run_key=run.key)
    return Spent(
        verdicts=sum(each.units for each in said),
        per_minute=answered_span(session=session, run_key=run.key).per_minute,
        calls=calls,
        lost=without,
        uncached_input=sums[0],
        cached_input=sums[1],
        output=sums[2],
        uncounted=uncounted,
        known_micros=tally.known_micros,
        unknown_cost=tally.unknown_cost,
        lost_attempts=lost_attempts(session=session, run_key=run.key, maybe_billed=MAYBE_PAID),
    )


def _tokens(
    session: Session, run: StoredRun, counted: Collection[tuple[str, str, str, int]]
) -> Iterator[tuple[Mapping[str, Any] | None, bool]]:
    """The counts of each call with a verdict, None where the provider gave none; and True.

    With False those of unread replies that stand beside the verdict of the call after them: older runs have
    them there alone. What is in `counted` is left out.
    """
    for batch in batches(list(replies_to_calls(session=session, run_key=run.key)), 500):
        replies = read_payloads(session=session, digests={each.digest for each in batch if each.digest})
        for each in batch:  # equal replies are one text
            reply = replies.get(each.digest or "")
            content = reply.content if isinstance(reply, StoredText) else {}
            kept = content.get("fields") or {} if isinstance(content, Mapping) else {}
            tokens = kept.get("tokens") or {}
            yield tokens if "output" in tokens else each.tokens, True
            if each.call not in counted:
                yield from ((unread.get("tokens") or None, False) for unread in kept.get("unread", ()))


def member_runs(*, session: Session, run: StoredRun) -> tuple[StoredRun, ...]:
    """The models' runs that voted in the run of a panel or cascade, each once; empty for any other judge.

    Of a member that is a panel itself its members; a rule votes without a call.
    """
    found: dict[str, StoredRun] = {}
    for key in (json.loads(run.plan).get("members") or {}).values():
        member = get_run(session=session, key=key)
        within = member_runs(session=session, run=member)
        plain = (member,) if get_judge(session=session, judge=member.judge_digest).kind == "model" else ()
        found |= {each.key: each for each in within or plain}
    return tuple(found.values())


def model_of(*, session: Session, run: StoredRun) -> str:
    """The model of the run's judge; raises DeclarationError for a judge without one."""
    judge = get_judge(session=session, judge=run.judge_digest)
    model = judge.content.get("model")
    if not isinstance(model, str):
        raise DeclarationError(f"judge {judge.name!r} is no model, so that nothing was paid for its verdicts")
    return model
