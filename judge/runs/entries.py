"""A judge's verdict as the store takes it; nothing of a model's or provider's text can make it refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from calibration.rendering.text import visible
from calibration.store.calls import (
    LATE,
    NO_ORDER,
    NOT_MADE,
    UNPARSED,
    CallEntry,
    FaultEntry,
    Presentation,
    SameCall,
)
from calibration.store.items import ItemRef
from calibration.store.text import NAME_LIMIT
from calibration.store.verdicts import VerdictEntry
from judge.calls import Attempt, Fault, ModelCallError, ModelReply, Tokens
from judge.grading import JudgeVerdict, Prepared, conclude_failed
from judge.runs.plan import Unit
from rubrics.order import Order
from rubrics.record import normalise_text
from rubrics.verdict import UnknownReason, Verdict

_PRESENTATIONS: Mapping[Order | None, Presentation] = {Order.AB: "ab", Order.BA: "ba", None: NO_ORDER}
_LARGEST = 2**31 - 1
"""Of a whole number column; what a provider counts beyond it is no count."""
_LARGEST_COST = 2**62
NAME_SHOWN = 80
"""Characters of a model's name that a sentence repeats."""


def presentation(order: Order | None) -> Presentation:
    """The order as the store spells it."""
    return _PRESENTATIONS[order]


def call_entry(run_key: str, unit: Unit, call: Prepared, *, reserved_micros: int | None = None) -> CallEntry:
    """The intent of the unit's next call."""
    return CallEntry(
        run_key=run_key,
        item_key=unit.item.key,
        criteria=call.criteria,
        presentation=presentation(unit.order),
        repeat=unit.repeat,
        attempt=unit.attempt,
        shown_digest=call.shown,
        reserved_micros=_fits(reserved_micros, _LARGEST_COST),
    )


def answer_entries(
    run_key: str,
    verdicts: Sequence[JudgeVerdict],
    *,
    call_key: str | None,
    at: datetime,
    call: Prepared | None = None,
    item: ItemRef | None = None,
) -> list[VerdictEntry | FaultEntry]:
    """What to store of one call: a verdict a criterion, or one fault where it brought none."""
    entries = [
        answer_entry(run_key, each, call_key=call_key, at=at, call=call, item=item) for each in verdicts
    ]
    faults = [entry for entry in entries if isinstance(entry, FaultEntry)]
    return [faults[0]] if faults else entries


def answer_entry(
    run_key: str,
    verdict: JudgeVerdict,
    *,
    call_key: str | None,
    at: datetime,
    call: Prepared | None = None,
    item: ItemRef | None = None,
) -> VerdictEntry | FaultEntry:
    """The verdict to store; a fault where the unit is still open, so that it is asked again."""
    if verdict.reason is not None and verdict.reason.is_open and call_key is not None:
        return FaultEntry(
            call_key=call_key,
            reason=verdict.reason,
            detail=verdict.detail or verdict.reason.value,
            sentence=verdict.rationale,
            attempts=_attempts(verdict),
            cost_micros=_fits(verdict.cost_micros, _LARGEST_COST),
        )
    return VerdictEntry(
        run_key=run_key,
        item_id=verdict.item_id,
        criterion=verdict.criterion,
        answer=Verdict.UNKNOWN.value if verdict.value is None else verdict.value,
        reason=verdict.reason,
        detail=verdict.detail,
        order=verdict.order.value if verdict.order else None,
        repeat=verdict.repeat,
        raw=_written(verdict.raw),
        rationale=verdict.rationale or None,
        fields=_fields(verdict, call),
        reported_model=normalise_text(verdict.reported_model or "")[:NAME_LIMIT] or None,
        tokens_in=_fits(_input(verdict.tokens), _LARGEST),
        tokens_out=_fits(verdict.tokens.output, _LARGEST),
        cost_micros=_fits(verdict.cost_micros, _LARGEST_COST),
        latency_ms=_fits(verdict.latency_ms, _LARGEST) if verdict.called else None,
        call_key=call_key,
        decided_at=at,
        item=item,
    )


def reused_entry(run_key: str, unit: Unit, criterion: str, same: SameCall) -> VerdictEntry:
    """The verdict of a call that another run has made: the same in everything, at cost 0."""
    return VerdictEntry(
        run_key=run_key,
        item_id=unit.question.item.item_id,
        criterion=criterion,
        answer=same.value,
        reason=same.reason,
        detail=same.detail,
        order=unit.order.value if unit.order else None,
        repeat=unit.repeat,
        fields={"reused": same.verdict, "reused_run": same.run_key, "shown": same.shown_digest},
        reported_model=same.reported_model,
        cost_micros=0,
        decided_at=same.decided_at,
        item=unit.item,
    )


def not_sent(call_key: str, why: str) -> FaultEntry:
    """What becomes of an intent whose call was never made."""
    return FaultEntry(call_key, UnknownReason.ERROR, NOT_MADE, why, cost_micros=0)


def unread_entry(call_key: str, verdict: JudgeVerdict) -> FaultEntry:
    """What becomes of a call whose reply was not of the agreed form, where the unit is asked once more."""
    return FaultEntry(
        call_key=call_key,
        reason=UnknownReason.INVALID,
        detail=UNPARSED,
        sentence="the reply was not of the agreed form; the judge was asked once more",
        attempts=_attempts(verdict),
        cost_micros=_fits(verdict.cost_micros, _LARGEST_COST),
    )


def late_entry(call_key: str, entry: VerdictEntry | FaultEntry) -> FaultEntry:
    """What is kept of an answer that came after another call's: that it came, and what it took."""
    why = "the answer came when the unit had its verdict from another call"
    attempts = entry.attempts if isinstance(entry, FaultEntry) else ()
    if isinstance(entry, VerdictEntry) and (tokens := (entry.fields or {}).get("tokens")):
        attempts = ({"number": 1, "tokens": tokens},)
    return FaultEntry(call_key, UnknownReason.ERROR, LATE, why, attempts, entry.cost_micros)


def of_another_model(call: Prepared, reply: ModelReply, sentence: str) -> JudgeVerdict:
    """What a reply of another model than the run's comes to: no verdict, and what it cost and took."""
    error = ModelCallError(sentence, fault=Fault.MODEL_CHANGED, attempts=reply.attempts)
    took = {
        "cost_micros": reply.cost.micros,
        "cost_source": reply.cost.source,
        "tokens": reply.tokens,
        "reported_model": reply.model,
    }
    return conclude_failed(call, error).model_copy(update=took)


def changed_words(before: str, after: str) -> str:
    """That another model answers than did before in the run, and what to do."""
    first, second = (visible(name)[:NAME_SHOWN] for name in (before, after))
    return (
        f"the model changed within the run: {first} has answered so far, and now {second} does; declare "
        "a judge with a dated model, or go on with both by --allow-model-change"
    )


def _attempts(verdict: JudgeVerdict) -> list[dict[str, Any]]:
    """Each attempt of a call without a verdict; the last with the tokens of the reply, where one came."""
    made = [_attempt(attempt) for attempt in verdict.attempts]
    if tokens := _tokens(verdict.tokens):
        last = made.pop() if made else {"number": 1}
        made.append({**last, "tokens": tokens})
    return made


def _written(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "surrogatepass")


def _fields(verdict: JudgeVerdict, call: Prepared | None) -> Mapping[str, Any] | None:
    """What else is needed to read the reply again, to price it again, and to tell what it took."""
    found: dict[str, Any] = {"flags": [flag.value for flag in verdict.flags]}
    if call is not None:
        found |= {
            "shown": verdict.evidence,
            "mark": call.prompt.form.mark,
            "finish": None if verdict.finish == "stop" else verdict.finish,
            "refusal": verdict.refusal,
            "asked": list(call.criteria) if call.sitting.judge.several else None,
        }
    # what a call took is kept once
    if call is not None and verdict.criterion == call.questions[0].criterion.key:
        found |= {
            "tokens": _tokens(verdict.tokens),
            "cost_source": verdict.cost_source.value,
            "attempts": [_known(_attempt(attempt)) for attempt in verdict.attempts],
            "fingerprint": (verdict.fingerprint or "")[:NAME_LIMIT],
            "unread": [
                _known({"raw": _written(each.raw), "tokens": _tokens(each.tokens), "cost": each.cost_micros})
                for each in verdict.unread
            ],
        }
    return _known(found) or None


# by name: dataclasses.asdict copies deeply, which costs as much as parsing the reply
def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "fault": attempt.fault,
        "status": attempt.status,
        "waited_ms": attempt.waited_ms,
        "latency_ms": attempt.latency_ms,
    }


def _tokens(tokens: Tokens) -> dict[str, Any]:
    counts = {
        "uncached_input": tokens.uncached_input,
        "cached_input": tokens.cached_input,
        "output": tokens.output,
    }
    return _known({key: _fits(count, _LARGEST) for key, count in counts.items()})


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value not in (None, "", [], {})}


def _input(tokens: Tokens) -> int | None:
    return None if tokens.uncached_input is None else tokens.uncached_input + (tokens.cached_input or 0)


def _fits(number: int | None, largest: int) -> int | None:
    return number if number is not None and 0 <= number <= largest else None
