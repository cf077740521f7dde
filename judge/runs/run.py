"""The use case: carry out a plan, or go on with it, and say how the run stands."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from calibration.store.calls import begin_run
from calibration.store.database import Store
from calibration.store.judges import RunOrigin, RunState, add_run, move_run
from calibration.store.run_lock import working_on
from judge.calls import ModelClient
from judge.runs.engine import Engine, RunOptions
from judge.runs.plan import RunPlan
from judge.runs.recorder import bound_cache
from judge.runs.summary import Progress, RunSummary, StopKind, Stopped, summarise
from judge.runs.turns import Turns
from judge.spec import ModelJudge
from rubrics.errors import DeclarationError, StoreError

COLLECT_AFTER = 20_000
"""New objects after which garbage is looked for during a run."""

ClientFactory = Callable[[], ModelClient]
T = TypeVar("T")


def run_judge(
    store: Store,
    plan: RunPlan,
    client_factory: ClientFactory | None,
    *,
    served_at: str | None = None,
    options: RunOptions | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> RunSummary:
    """How the run stands after this process has worked on it; what is done already is not done again.

    In the main thread the first Ctrl-C (or SIGTERM) stops after the calls in flight, the second at once.

    Args:
        store: where verdicts and intents go.
        plan: from plan_run().
        client_factory: gives the model, inside the run's event loop; None for a judge without one.
        served_at: the address of an embedded model.
        options: how it is carried out.
        on_progress: told after every answer; must be quick.

    Raises:
        DeclarationError: no client for a model judge, no price to keep a cap by, or an item that the judge
            cannot be asked about. What was stored before stays.
        RecordError: another process works on the run.
        StoreError: the database failed for good; what was stored before stays.
        KeyboardInterrupt: a second Ctrl-C.
    """
    return in_own_loop(
        run_judge_async(
            store, plan, client_factory, served_at=served_at, options=options, on_progress=on_progress
        )
    )


async def run_judge_async(
    store: Store,
    plan: RunPlan,
    client_factory: ClientFactory | None,
    *,
    served_at: str | None = None,
    options: RunOptions | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> RunSummary:
    """As run_judge(), for a caller that has an event loop."""
    one = Asked(plan, client_factory, served_at, options or RunOptions(), on_progress)
    return (await _carry_out(store, [one]))[0]


@dataclass(frozen=True, slots=True)
class Asked:
    """One judge of those that are asked: its plan, how it is reached and how it is asked."""

    plan: RunPlan
    client_factory: ClientFactory | None
    served_at: str | None = None
    options: RunOptions = field(default_factory=RunOptions)
    on_progress: Callable[[Progress], None] | None = None


def run_in_turn(store: Store, asked: Sequence[Asked]) -> list[RunSummary]:
    """How the runs stand, their judges asked about the same items in turn; one that stops stops the others.

    Each plan is of turns.in_turn(). Raises what run_judge() does.
    """
    return in_own_loop(_carry_out(store, asked))


def in_own_loop(work: Coroutine[Any, Any, T]) -> T:
    """What the work comes to in an event loop of its own: uvloop's, where that can be had."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    with suppress(ImportError):  # there is none for Windows
        from uvloop import new_event_loop as factory
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)


async def _carry_out(store: Store, asked: Sequence[Asked]) -> list[RunSummary]:
    for each in asked:
        _check(each.plan, each.client_factory, each.options)
    keys = [_record(store, each.plan, each.options) for each in asked]
    with ExitStack() as locks:
        for key in keys:
            locks.enter_context(working_on(store, key))
            with store.write() as session:
                begin_run(session=session, key=key)
        clients = [each.client_factory() if each.client_factory else None for each in asked]
        engines = _engines(store, asked, keys, clients)
        began = time.monotonic()
        try:
            with _interruptible(engines), _fewer_collections():
                await _work(engines)
        except BaseException:
            _pause(store, keys)
            raise
        finally:
            for client in clients:
                if client is not None:
                    await client.aclose()
        if any(engine.abandoned for engine in engines):
            _pause(store, keys)
            raise KeyboardInterrupt
        seconds = time.monotonic() - began
        return [
            _conclude(store, each.plan, key, engine, seconds=seconds)
            for each, key, engine in zip(asked, keys, engines, strict=True)
        ]


def _engines(
    store: Store, asked: Sequence[Asked], keys: Sequence[str], clients: Sequence[ModelClient | None]
) -> list[Engine]:
    turns = Turns(len(asked)) if len(asked) > 1 else None
    engines = [
        Engine(
            store,
            each.plan,
            key,
            client=client,
            served_at=each.served_at,
            options=each.options,
            on_progress=each.on_progress,
            turn=turns.of(place) if turns else None,
        )
        for place, (each, key, client) in enumerate(zip(asked, keys, clients, strict=True))
    ]
    for each, engine in zip(asked, engines, strict=True):
        engine.on_stop = partial(_stop_others, engines, engine, str(each.plan.judge.name))
    return engines


def _stop_others(engines: Sequence[Engine], stopped: Engine, name: str) -> None:
    why = stopped.stopped
    if why is None or why.kind is not StopKind.INTERRUPTED:
        why = Stopped(StopKind.PARTNER, f"judge {name!r} stopped, and it is asked in turn with this one")
    for each in engines:
        if each is not stopped:
            each.stop(why.kind, why.sentence)


async def _work(engines: Sequence[Engine]) -> None:
    """Let all work; the first error is raised once all have stored what they have."""
    if len(engines) == 1:
        await engines[0].work()
        return

    async def work(engine: Engine) -> None:
        try:
            await engine.work()
        except BaseException:
            engine.on_stop()
            raise

    ends = await asyncio.gather(*(work(engine) for engine in engines), return_exceptions=True)
    for end in ends:
        if end is not None:
            raise end


def _pause(store: Store, keys: Sequence[str]) -> None:
    for key in keys:
        with suppress(StoreError):  # the first error is the one to tell
            _leave(store, key, RunState.PAUSED)


def _check(plan: RunPlan, client_factory: ClientFactory | None, options: RunOptions) -> None:
    if options.concurrency < 1:
        raise DeclarationError(f"a concurrency of {options.concurrency} makes no call; give 1 or more")
    if not isinstance(plan.judge, ModelJudge):
        return
    if client_factory is None:
        raise DeclarationError(f"judge {plan.judge.name!r} is a model and no client was given")
    if options.max_cost_micros is not None and not options.tariff.known:
        raise DeclarationError(
            f"no price is known for {plan.judge.model!r}, so no cap on the cost can be kept; give "
            "--price-input and --price-output, or leave out --max-cost"
        )


def _record(store: Store, plan: RunPlan, options: RunOptions) -> str:
    with store.write() as session:
        return add_run(
            session=session,
            judge_digest=plan.judge.digest,
            rubric_digest=plan.rubric.digest,
            dataset=plan.dataset,
            set_digest=plan.set_digest,
            origin=RunOrigin.RUN,
            plan=plan.content,
            units=plan.units,
            at=options.now(),
        )


def _leave(store: Store, key: str, state: RunState) -> None:
    with store.write() as session:
        move_run(session=session, key=key, state=state)


def _conclude(store: Store, plan: RunPlan, key: str, engine: Engine, *, seconds: float) -> RunSummary:
    with store.read() as session:
        bound_cache(session)
        summary = summarise(
            session=session,
            plan=plan,
            run_key=key,
            stopped=engine.stopped,
            done_before=engine.done_before,
            note=engine.note,
            timing=engine.clocked.timing(seconds),
        )
    _leave(store, key, _state(summary))
    return summary


def _state(summary: RunSummary) -> RunState:
    if summary.complete:
        return RunState.FINISHED
    asked = summary.stopped is not None and summary.stopped.kind is StopKind.CANCELLED
    return RunState.CANCELLED if asked else RunState.PAUSED


@contextmanager
def _fewer_collections() -> Iterator[None]:
    """Look for garbage in cycles less often and not among what was there before.

    A run makes none, and looking took a tenth of its time.
    """
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], COLLECT_AFTER), *before[1:])
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)


@contextmanager
def _interruptible(engines: Sequence[Engine]) -> Iterator[None]:
    """Let Ctrl-C stop the run in an orderly way, where this is the thread that hears it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def heard() -> None:
        again = any(each.stopped for each in engines)  # whatever it stops for, it waits for calls by then
        for engine in engines:
            if again:
                engine.abandon()
            engine.stop(StopKind.INTERRUPTED, "interrupted; the calls in flight were finished")

    for each in before:
        loop.add_signal_handler(each, heard)
    try:
        yield
    finally:
        for each, handler in before.items():
            loop.remove_signal_handler(each)
            signal.signal(each, handler)
