"""The embedded engine: asyncio in one process, the verdict table as the checkpoint.

Units are read in chunks, the next one while this one is asked about; those that have their verdict are left
out. As many askers as calls may be in flight take one after the other: the call is prepared, its cost set
aside, the intent committed, the call made, its answer handed to the recorder. Only then does an asker take
its next unit, in the same step, and the commit that makes that intent durable stores the answer too: so
never more calls than may be in flight have an answer that is not stored, and after a kill at most those are
made again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sqlmodel import Session

from calibration.rendering.text import counted
from calibration.store.database import Store
from calibration.store.tallies import (
    CallTally,
    lost_attempts,
    models_of_run,
    tally_calls,
    tally_verdicts,
)
from judge.calls import (
    MAYBE_PAID,
    Fault,
    MayTryAgain,
    ModelCallError,
    ModelClient,
    ModelReply,
    NotSent,
    Tokens,
)
from judge.grading import (
    JudgeVerdict,
    Prepared,
    after_unread,
    asked_for_again,
    conclude_all,
    conclude_failed,
)
from judge.retries import wait_unless
from judge.runs.bench import BaselineBench, Bench, needs_items, seat
from judge.runs.budget import Budget, Hold, Tariff, dollars
from judge.runs.entries import (
    answer_entries,
    call_entry,
    changed_words,
    not_sent,
    of_another_model,
    reused_entry,
    unread_entry,
)
from judge.runs.members import read_members
from judge.runs.plan import RunPlan, Unit
from judge.runs.provider_watch import ProviderWatch
from judge.runs.reading import Reader
from judge.runs.recorder import PATIENCE_S, Recorder, bound_cache
from judge.runs.summary import Clocked, Progress, StopKind, Stopped
from judge.runs.turns import Place, Turn
from judge.runs.units import CHUNK, all_items
from judge.spec import ModelJudge
from rubrics.errors import DeclarationError

GROUPS_A_ROUND = 16
"""Commits among which the intents of all calls in flight are spread: else they start and end all at once."""
LEAST_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is carried out; none of it moves a verdict."""

    concurrency: int = 8
    """Calls in flight at most."""
    max_cost_micros: int | None = None
    """What the run may cost over all its processes, in millionths of a dollar; None for any amount."""
    tariff: Tariff = field(default_factory=Tariff)
    """By which prices money is set aside before a call."""
    any_model: bool = False
    """Whether the run goes on where the provider says that another model answers."""
    patience_s: float = PATIENCE_S
    """How long a database that fails is waited for."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Due:
    """A call that is ready to be made."""

    unit: Unit
    call: Prepared
    money: Hold
    """What is set aside for it."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a call came to, and the key of its intent."""

    verdicts: tuple[JudgeVerdict, ...]
    """One a criterion that was asked."""
    call_key: str


class Engine:
    """One process working on one run; made inside its event loop."""

    def __init__(
        self,
        store: Store,
        plan: RunPlan,
        run_key: str,
        *,
        client: ModelClient | None,
        options: RunOptions,
        served_at: str | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        turn: Turn | None = None,
    ) -> None:
        self._store, self._plan, self._run_key, self._options = store, plan, run_key, options
        self._client, self._served_at = client, served_at
        self._on_progress = on_progress
        self._turn = turn
        self._door = asyncio.Lock()
        """One asker at a time takes its call, so that they start in the order of the units."""
        self._provider = ProviderWatch(options.concurrency)
        self._models: set[str] = set()
        self._ending = asyncio.Event()
        self._reader = Reader(store, plan, run_key, in_flight=options.concurrency)
        self._askers: list[asyncio.Task[None]] = []
        self._crash: Exception | None = None
        self._done = 0
        self._fresh = False
        self.budget = Budget(options.max_cost_micros)
        self.clocked = Clocked()
        self.done_before = 0
        self.note = ""
        self.stopped: Stopped | None = None
        self.on_stop: Callable[[], None] = lambda: None
        """Called once it makes no further call, before those in flight have landed."""
        self.abandoned = False

    async def work(self) -> None:
        """Ask every open unit; `stopped` says afterwards why some are still open.

        Raises StoreError where the database fails for good, DeclarationError where an item cannot be asked;
        the calls in flight are finished and stored before, as far as the database takes them.
        """
        with self._reader:
            await self._work()
        failure = self._crash or self._recorder.failure
        if failure is not None:
            raise failure

    async def _work(self) -> None:
        options = self._options
        self.budget = await self._reader.aside(self._open_budget)
        self._bench = await self._reader.aside(self._seat)
        self._recorder = Recorder(
            self._store,
            self._run_key,
            now=options.now,
            backlog=max(options.concurrency, CHUNK),
            at_once=max(LEAST_AT_ONCE, options.concurrency // GROUPS_A_ROUND),
            patience_s=options.patience_s,
        )
        async with self._recorder, aclosing(self._units()) as units:
            self._askers = [asyncio.create_task(self._ask_on(units)) for _ in range(options.concurrency)]
            try:
                await asyncio.wait(self._askers)
            except BaseException:
                self._end()
                raise
            finally:
                await asyncio.wait(self._askers)

    def stop(self, kind: StopKind, sentence: str) -> None:
        """Make no further call; those in flight are waited for. The first reason stands."""
        if self.stopped is None:
            self.stopped = Stopped(kind, sentence)
            self._end()
        self._tell()

    def _end(self) -> None:
        self._ending.set()
        if self._client is not None:
            self._client.finish()
        self.on_stop()

    def _fail(self, error: Exception) -> None:
        """End the run by an error; the first one is raised by `work`."""
        self._crash = self._crash or error
        self._end()

    def abandon(self) -> None:
        """Stop at once: calls in flight are given up, and their intents stay unresolved."""
        self.abandoned = True
        for asker in self._askers:
            asker.cancel()

    def _open_budget(self) -> Budget:
        with self._store.read() as session:
            bound_cache(session)
            said = tally_verdicts(session=session, run_key=self._run_key)
            calls = tally_calls(session=session, run_key=self._run_key)
            self._models = set(models_of_run(session=session, run_key=self._run_key))
            self._fresh = not (said or calls.intended)
            spent = self._spent_before(session, calls)
        self.done_before = self._done = sum(each.units for each in said)
        self._provider.answered_before = bool(self.done_before)
        return Budget(self._options.max_cost_micros, spent_micros=spent)

    def _spent_before(self, session: Session, calls: CallTally) -> int:
        """What earlier processes of the run may have spent at most; lost attempts are looked for under a cap.

        Calls that were made without a price are counted by their tokens and the prices of now. Raises
        DeclarationError where a cap is to be kept over calls of which neither is recorded.
        """
        spent, prices = calls.known_micros + calls.reserved_micros, self._options.tariff.prices
        if self._fresh or self._options.max_cost_micros is None or prices is None:
            return spent
        lost = lost_attempts(session=session, run_key=self._run_key, maybe_billed=MAYBE_PAID)
        if untold := calls.unpriced_uncounted + lost.unpriced:
            raise DeclarationError(
                f"{counted(untold, 'call or attempt', 'calls or attempts')} of this run may have been paid "
                "when no price was known, and how much is not recorded, so no cap over the whole run can be "
                "kept: go on without --max-cost"
            )
        unpriced = prices.cost(Tokens(calls.unpriced_in, 0, calls.unpriced_out))
        return spent + lost.micros + (unpriced.micros or 0)

    def _seat(self) -> Bench:
        with self._store.read() as session:
            items = all_items(session=session, plan=self._plan) if needs_items(self._plan) else ()
            said = read_members(session=session, plan=self._plan) if self._plan.members else None
            bench = seat(self._plan, items=items, served_at=self._served_at, said=said)
        self.note = bench.note if isinstance(bench, BaselineBench) else ""
        return bench

    async def _units(self) -> AsyncGenerator[tuple[Place, Unit | JudgeVerdict]]:
        """The open units of the run, each with its place in it."""
        number = 0
        async with aclosing(self._reader.chunks(fresh=self._fresh)) as parts:
            async for part in parts:
                for place, unit in enumerate(part):
                    yield (number, place), unit
                number += 1

    async def _reuse(self, unit: Unit, call: Prepared) -> None:
        """Take over what the very same call has answered in another run."""
        taken = [reused_entry(self._run_key, unit, key, unit.same[key]) for key in call.criteria]
        await self._recorder.keep(*taken)
        self._done += len(taken)
        self._tell()

    async def _ask_on(self, units: AsyncGenerator[tuple[Place, Unit | JudgeVerdict]]) -> None:
        """Make one call after the other, until all are made or the run stops."""
        try:
            while (due := await self._next(units)) is not None:
                await self._ask(due.unit, due.call, due.money)
        except Exception as error:  # noqa: BLE001  raised by `work`, once the other calls have landed
            self._fail(error)

    async def _next(self, units: AsyncGenerator[tuple[Place, Unit | JudgeVerdict]]) -> _Due | None:
        """The next call, its cost set aside; None where none is left or the run stops."""
        async with self._door:
            async for place, unit in units:
                if self._halted():
                    return None
                call = await self._call_of(unit)
                if call is not None and isinstance(unit, Unit):
                    return await self._taken(place, unit, call)
            if self._turn is not None:
                self._turn.leave()
            return None

    async def _call_of(self, unit: Unit | JudgeVerdict) -> Prepared | None:
        """The call of the unit; None where it needs none, after what is known without one was stored."""
        ready = self._bench.ready(unit) if isinstance(unit, Unit) else (unit,)
        for known in ready.known if isinstance(ready, Prepared) else ready:
            await self._keep((known,))
        if not (isinstance(unit, Unit) and isinstance(ready, Prepared)):
            return None
        others = (self._is_other(each.reported_model) for each in unit.same.values())
        if not _is_same(unit, ready) or any(others):
            return ready
        await self._reuse(unit, ready)
        return None

    async def _taken(self, place: Place, unit: Unit, call: Prepared) -> _Due | None:
        """The call once it is its turn and its cost is set aside; None where the run stops before."""
        if not await self._has_turn(place):
            return None
        money = await self._set_aside(call)
        return None if money is None else _Due(unit, call, money)

    async def _set_aside(self, call: Prepared) -> Hold | None:
        """The money for the call; None where the run stops by its cap."""
        at_most = self._options.tariff.at_most(call.request)
        money = await self.budget.set_aside(at_most)
        if money is None:
            self.stop(StopKind.COST_CAP, self._cap_reached(at_most or 0))
        return money

    async def _has_turn(self, place: Place) -> bool:
        """Wait for the judge's turn where several are asked; False where the run ends before it comes."""
        return self._turn is None or await self._unless_ending(self._turn.wait(place))

    async def _unless_ending(self, waiting: Coroutine[Any, Any, None]) -> bool:
        """Wait; False where the run ends before that is over."""
        await wait_unless(self._ending, waiting)
        return not self._halted()

    async def _ask(self, unit: Unit, call: Prepared, money: Hold) -> None:
        """The calls of one unit: one, and a second where the judge asks again for what cannot be read."""
        answer = await self._made(unit, call, money)
        if answer is not None and self._asks_again(unit, answer.verdicts):
            await self._ask_again(unit, answer)
        elif answer is not None:
            await self._keep(answer.verdicts, unit=unit, call=call, call_key=answer.call_key)

    def _asks_again(self, unit: Unit, verdicts: Sequence[JudgeVerdict]) -> bool:
        judge = self._plan.judge
        reasks = isinstance(judge, ModelJudge) and judge.reask
        return reasks and not unit.asked_again and asked_for_again(verdicts)

    async def _ask_again(self, unit: Unit, unread: _Answer) -> None:
        """The second and last call of a unit whose reply cannot be read; the first stays counted and paid."""
        second = replace(unit, attempt=unit.attempt + 1, asked_again=True)
        call = self._bench.ready(second)
        self._recorder.put(unread_entry(unread.call_key, unread.verdicts[0]))
        if not isinstance(call, Prepared):
            raise DeclarationError(f"item {unit.question.item.item_id!r} changed while it was judged")
        money = await self._set_aside(call)
        answer = None if money is None else await self._made(second, call, money)
        if answer is not None:
            verdicts = [
                after_unread(each, before)
                for each, before in zip(answer.verdicts, unread.verdicts, strict=False)
            ]
            await self._keep(verdicts, unit=second, call=call, call_key=answer.call_key)

    async def _made(self, unit: Unit, call: Prepared, money: Hold) -> _Answer | None:
        """What one call came to, after its intent; None where the run was stopped before the call."""
        entry = call_entry(self._run_key, unit, call, reserved_micros=money.at_most)
        made = False
        verdicts: tuple[JudgeVerdict, ...] = ()
        try:
            await self._recorder.intend(entry)
            await self._provider.enter()
            try:
                made = not self._halted()
                if made:
                    verdicts = await self._call(call, money)
            except NotSent:
                made = False
            finally:
                self._provider.leave()
        finally:
            if not made:
                self._recorder.put(not_sent(entry.key, "the run was stopped before the call was made"))
                money.give_back()
            else:
                attempts, cost = (verdicts[0].attempts, verdicts[0].cost_micros) if verdicts else ((), None)
                money.settle(attempts, cost)
        return _Answer(verdicts, entry.key) if verdicts else None

    async def _call(self, call: Prepared, money: Hold) -> tuple[JudgeVerdict, ...]:
        """The verdicts of a call that is made now; of one that failed its failure alone."""
        if self._client is None:
            raise DeclarationError(f"judge {self._plan.judge.name!r} is a model and no client was given")
        self._provider.begin()
        fault: Fault | None = None
        try:
            reply = await self._client.complete(call.request, again=self._again(money))
            verdicts = self._concluded(call, reply)
        except ModelCallError as error:
            verdicts, fault = (conclude_failed(call, error),), error.fault
            if error.stops_run:
                self.stop(StopKind.FAULT, str(error))
        finally:
            self._provider.end()
        verdict = verdicts[0]  # whether there is a reply at all is the same for every criterion
        if verdict.attempts and not (verdict.reason is not None and verdict.reason.is_open):
            self.clocked.add(verdict.attempts)
        if silent := self._provider.heard(verdict, fault):
            self.stop(StopKind.PROVIDER, silent)
        return verdicts

    def _again(self, money: Hold) -> MayTryAgain | None:
        """What sets money aside for a further attempt; None where any amount may be spent."""
        return None if self._options.max_cost_micros is None else money.another

    def _concluded(self, call: Prepared, reply: ModelReply) -> tuple[JudgeVerdict, ...]:
        """The verdicts in a reply; of one by another model none: its unit stays open, and the run stops."""
        if not self._is_other(reply.model):
            return conclude_all(call, reply)
        sentence = changed_words(min(self._models), reply.model or "")
        self.stop(StopKind.MODEL_CHANGED, sentence)
        return (of_another_model(call, reply, sentence),)

    def _is_other(self, model: str | None) -> bool:
        """Whether this is another model than the one that has answered in this run; the first is taken."""
        if model is None or self._options.any_model:
            return False
        self._models = self._models or {model}
        return model not in self._models

    async def _keep(
        self,
        verdicts: Sequence[JudgeVerdict],
        *,
        unit: Unit | None = None,
        call: Prepared | None = None,
        call_key: str | None = None,
    ) -> None:
        at, item = self._options.now(), unit.item if unit else None
        entries = answer_entries(self._run_key, verdicts, call=call, call_key=call_key, at=at, item=item)
        await self._recorder.keep(*entries)
        self._done += sum(each.reason is None or not each.reason.is_open for each in verdicts)
        self._tell()

    def _tell(self) -> None:
        if self._on_progress is not None:
            why = self.stopped.kind if self.stopped else None
            spent = self.budget.spent_micros
            stopping, interrupted = why is not None, why is StopKind.INTERRUPTED
            failed = self._provider.failed
            self._on_progress(
                Progress(self._plan.units, self._done, failed, spent, stopping, interrupted=interrupted)
            )

    def _halted(self) -> bool:
        if self._recorder.cancelled:
            self.stop(StopKind.CANCELLED, "the run was asked to stop")
        return self.stopped is not None or self._crash is not None or self._recorder.failure is not None

    def _cap_reached(self, needed: int) -> str:
        cap, spent = self._options.max_cost_micros or 0, self.budget.spent_micros
        return (
            f"the next call may cost up to {dollars(needed)}, and {dollars(spent)} of {dollars(cap)} are "
            "spent: raise the cap to go on"
        )


def _is_same(unit: Unit, call: Prepared) -> bool:
    """Whether another run has made this very call: same judge, units and texts as rendered."""
    if not unit.same:
        return False
    same = [unit.same.get(key) for key in call.criteria]
    return all(
        each is not None and (each.shown_digest, each.criteria) == (call.shown, call.criteria)
        for each in same
    )
