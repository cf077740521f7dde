"""How a run stands: every unit counted once, what it cost, and why it stopped."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from sqlmodel import Session

from calibration.rendering.text import counted
from calibration.store.calls import OpenUnit, open_units, unanswered_units
from calibration.store.judges import get_run
from calibration.store.operation import AnsweredSpan, answered_span
from calibration.store.tallies import (
    CallTally,
    LostAttempts,
    VerdictTally,
    lost_attempts,
    lost_replies,
    models_of_run,
    tally_calls,
    tally_verdicts,
)
from judge.calls import MAYBE_PAID, Attempt
from judge.pricing import rounded, spent, verdicts_per_dollar
from judge.runs.budget import dollars
from judge.runs.plan import RunPlan


class StopKind(StrEnum):
    """Why a run has units without a verdict."""

    INTERRUPTED = "interrupted"
    """Somebody stopped this process."""
    CANCELLED = "cancelled"
    """Somebody asked the run to stop, from elsewhere."""
    COST_CAP = "cost_cap"
    """The next call might have cost more than was left."""
    FAULT = "fault"
    """Every further call would fail in the same way: no key, no such model, no credit."""
    PROVIDER = "provider"
    """Too many calls in a row failed."""
    MODEL_CHANGED = "model_changed"
    """The provider says that another model answers than did before in this run."""
    PARTNER = "partner"
    """A judge that is asked in turn with this one stopped."""
    UNANSWERED = "unanswered"
    """Everything was asked and some calls failed."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why the run stopped before every unit had its verdict."""

    kind: StopKind
    sentence: str
    """What happened and what to do next."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, while it works."""

    units: int
    done: int
    """Units with a verdict, those of earlier processes included."""
    failed: int
    """Calls of this process that brought no verdict."""
    spent_micros: int
    """Of the whole run; what was set aside for calls of unknown cost included."""
    stopping: bool = False
    """Whether the run only waits for the calls in flight."""
    interrupted: bool = False
    """Whether it does so because somebody asked for it at the keyboard."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds: nearest-rank percentiles."""

    p50: int
    p95: int
    p99: int


@dataclass(frozen=True, slots=True)
class Timing:
    """How long the calls of this process took, those that brought an answer."""

    calls: int
    answer: Spread
    """From sending to the whole answer."""
    queue: Spread
    """Waited before that: back-off, a provider's Retry-After, and for room."""
    seconds: float
    """Of the whole process."""
    tried_again: bool = False
    """Whether one of them took more than one attempt."""

    @property
    def per_minute(self) -> float:
        """Answers a minute."""
        return 60 * self.calls / self.seconds if self.seconds > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """The times as scripts read them."""
        return {
            "calls": self.calls,
            "answer_ms": asdict(self.answer),
            "queue_ms": asdict(self.queue),
            "answers_per_minute": round(self.per_minute, 1),
        }


class Clocked:
    """Collects the times of calls; four bytes each."""

    def __init__(self) -> None:
        self._answer, self._queue = array("I"), array("I")
        self._tried_again = False

    def add(self, attempts: Sequence[Attempt]) -> None:
        """Take the attempts of one answered call."""
        self._answer.append(min(attempts[-1].latency_ms, _LONGEST_MS))
        self._queue.append(min(sum(each.waited_ms for each in attempts), _LONGEST_MS))
        self._tried_again |= len(attempts) > 1

    def timing(self, seconds: float) -> Timing | None:
        """The percentiles so far; None without a call."""
        if not self._answer:
            return None
        spreads = _spread(self._answer), _spread(self._queue)
        return Timing(len(self._answer), *spreads, seconds, self._tried_again)


_LONGEST_MS = 2**31 - 1


def _spread(values: array[int]) -> Spread:
    ordered = sorted(values)
    return Spread(*(ordered[max(0, math.ceil(share * len(ordered)) - 1)] for share in (0.5, 0.95, 0.99)))


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run after one process has worked on it."""

    run: str
    """Key of the run."""
    judge: str
    judge_digest: str
    rubric: str
    dataset: str
    set_digest: str | None
    criteria: tuple[str, ...]
    units: int
    verdicts: Mapping[str, int]
    """Units by the answer given: pass, fail, a level, a preference."""
    unknown: Mapping[str, int]
    """Units with a final unknown, by reason and detail."""
    errors: Mapping[str, int]
    """Open units whose newest call failed, by detail."""
    pending: int
    """Open units that were never asked, or whose call was interrupted."""
    done_before: int
    """Units that had their verdict when this process began."""
    calls: CallTally
    tokens_in: int | None
    """Tokens of all replies, with or without a verdict; None where one of them is not counted."""
    tokens_out: int | None
    models: tuple[str, ...]
    """What the provider said has answered."""
    first_error: str
    """What the first failed unit met, "" where none did."""
    note: str
    """Why a baseline left items unknown, "" where it did not."""
    answered: AnsweredSpan
    """How many verdicts came from calls of the run, and over what time: pauses between processes count."""
    stopped: Stopped | None
    """None where every unit has its verdict."""
    timing: Timing | None = None
    """Of this process; None where it made no call."""
    unanswered: int = 0
    """Of the pending units those that were asked: their call is out in a batch, or was cut off."""
    lost: LostAttempts = field(default_factory=LostAttempts)
    """Attempts that may be billed beside the cost of the calls; in no other figure."""

    @property
    def done(self) -> int:
        """Units that have their verdict."""
        return sum(self.verdicts.values()) + sum(self.unknown.values())

    @property
    def per_minute(self) -> float | None:
        """Verdicts of the run's calls a minute, from the first to the last; None without such a time."""
        return self.answered.per_minute

    @property
    def per_dollar(self) -> float | None:
        """Verdicts of the run for each dollar that it cost; None where a cost is not known or none arose."""
        calls = self.calls
        return verdicts_per_dollar(self.done, micros=calls.known_micros, unknown_cost=calls.unknown_cost)

    @property
    def complete(self) -> bool:
        """Whether every unit has its verdict."""
        return self.done == self.units

    def to_json(self) -> dict[str, Any]:
        """The summary as scripts read it."""
        calls = self.calls
        return {
            "schema": "judge-run/1",
            "run": self.run,
            "judge": self.judge,
            "judge_digest": self.judge_digest,
            "rubric": self.rubric,
            "dataset": self.dataset,
            "set": self.set_digest,
            "criteria": list(self.criteria),
            "complete": self.complete,
            "units": self.units,
            "done": self.done,
            "done_before": self.done_before,
            "verdicts": dict(self.verdicts),
            "unknown": dict(self.unknown),
            "errors": dict(self.errors),
            "pending": self.pending,
            "unanswered": self.unanswered,
            "calls": {
                "made": calls.made,
                "intended": calls.intended,
                "unresolved": calls.unresolved,
            },
            "tokens": {"input": self.tokens_in, "output": self.tokens_out},
            "cost": {
                "known_micros": calls.known_micros,
                "calls_of_unknown_cost": calls.unknown_cost,
                "set_aside_for_unknown_micros": calls.reserved_micros,
                "lost_beside": self.lost.to_json(),
            },
            "verdicts_per_minute": rounded(self.per_minute),
            "verdicts_per_dollar": rounded(self.per_dollar),
            "timing": self.timing.to_json() if self.timing else None,
            "models": list(self.models),
            "note": self.note,
            "stopped": {"kind": self.stopped.kind.value, "sentence": self.stopped.sentence}
            if self.stopped
            else None,
        }


def summarise(
    *,
    session: Session,
    plan: RunPlan,
    run_key: str,
    stopped: Stopped | None,
    done_before: int = 0,
    note: str = "",
    timing: Timing | None = None,
) -> RunSummary:
    """The run as the store has it, with why this process stopped.

    Where nothing stopped it and units are still open, the calls of those have failed.
    """
    said = tally_verdicts(session=session, run_key=run_key)
    failed = open_units(session=session, run_key=run_key)
    done = sum(each.units for each in said)
    left = plan.units - done
    tokens = _tokens(session, run_key, said)
    calls = tally_calls(session=session, run_key=run_key)
    return RunSummary(
        run=run_key,
        judge=str(plan.judge.name),
        judge_digest=plan.judge.digest,
        rubric=plan.rubric.ref,
        dataset=plan.dataset,
        set_digest=plan.set_digest,
        criteria=tuple(criterion.key for criterion in plan.criteria),
        units=plan.units,
        verdicts=_counted({each.value: each.units} for each in said if each.reason is None),
        unknown=_counted({_reason(each): each.units} for each in said if each.reason is not None),
        errors=dict(sorted(Counter(each.detail for each in failed).items())),
        pending=left - len(failed),
        done_before=done_before,
        calls=calls,
        unanswered=unanswered_units(session=session, run_key=run_key) if calls.unresolved else 0,
        tokens_in=tokens[0],
        tokens_out=tokens[1],
        answered=answered_span(session=session, run_key=run_key),
        models=models_of_run(session=session, run_key=run_key),
        first_error=failed[0].sentence if failed else "",
        note=note,
        timing=timing,
        lost=lost_attempts(
            session=session,
            run_key=run_key,
            maybe_billed=MAYBE_PAID,
            answered=bool(done_before) or timing is None or timing.tried_again,
        ),
        stopped=stopped or (_unanswered(plan, failed, left) if left else None),
    )


def _tokens(session: Session, run_key: str, said: list[VerdictTally]) -> tuple[int | None, int | None]:
    """Tokens in and out of all replies, those that brought no verdict included."""
    lost = lost_replies(session=session, run_key=run_key)
    if any(each.unread and each.tokens is None for each in lost):  # then beside the verdict, if anywhere
        return spent(session=session, run=get_run(session=session, key=run_key)).tokens
    known = [each.counts for each in lost]
    went_in = [_total(said, "tokens_in"), *(count for count, _ in known)]
    came_out = [_total(said, "tokens_out"), *(count for _, count in known)]
    return _sum(went_in), _sum(came_out)


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None


def unanswered_words(calls: CallTally) -> str:
    """How many calls of a run have no answer stored and what they may cost twice, "" where none."""
    if not calls.unresolved:
        return ""
    what = "call of this run has" if calls.unresolved == 1 else "calls of this run have"
    paid = f" (up to {dollars(calls.reserved_micros)})" if calls.reserved_micros else ""
    return (
        f"{calls.unresolved:,} {what} no answer stored: they are out in a batch or were cut off, and what "
        f"is asked again may be paid twice{paid}"
    )


def lost_words(lost: LostAttempts) -> str:
    """How many attempts may be billed beside the cost of the calls, and how much at most, "" where none."""
    if not lost.attempts:
        return ""
    what = "attempt was" if lost.attempts == 1 else "attempts were"
    most = "" if lost.at_most_micros is None else f" (at most {dollars(lost.at_most_micros)})"
    return f"{lost.attempts:,} {what} lost and made again, and may be billed too{most}"


def _unanswered(plan: RunPlan, failed: list[OpenUnit], left: int) -> Stopped:
    if plan.members:
        return Stopped(
            StopKind.UNANSWERED,
            f"{without_verdict(left)} because a member of {plan.judge.name} has none on them: "
            "go on with its members' runs first",
        )
    if not failed:
        return Stopped(StopKind.UNANSWERED, f"{without_verdict(left)}: no answer has come yet")
    calls = "its call" if left == 1 else "their calls"
    first = "" if left == 1 else "the first: "
    return Stopped(
        StopKind.UNANSWERED, f"{without_verdict(left)} because {calls} failed ({first}{failed[0].sentence})"
    )


def without_verdict(left: int) -> str:
    """That so many units have no verdict: the beginning of a sentence that says why."""
    return f"{counted(left, 'unit')} {'has' if left == 1 else 'have'} no verdict"


def _reason(said: VerdictTally) -> str:
    return f"{said.reason} ({said.detail})" if said.detail else f"{said.reason}"


def _counted(each: Any) -> dict[str, int]:
    summed: Counter[str] = Counter()
    for one in each:
        summed.update(one)
    return dict(sorted(summed.items()))


def _total(said: list[VerdictTally], name: str) -> int | None:
    return _sum([getattr(each, name) for each in said])
