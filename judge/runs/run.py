"""The use case: carry out a plan, or go on with it, and say how the run stands."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from calibration.store.calls import begin_run
from calibration.store.database import Store
from calibration.store.judges import RunOrigin, RunState, add_run, move_run
from calibration.store.run_lock import working_on
from judge.calls import ModelClient
from judge.runs.engine import Engine, RunOptions
from judge.runs.plan import RunPlan
from judge.runs.recorder import bound_cache
from judge.runs.summary import Progress, RunSummary, StopKind, summarise
from judge.spec import ModelJudge
from rubrics.errors import DeclarationError, StoreError

COLLECT_AFTER = 20_000
"""New objects after which garbage is looked for during a run."""

ClientFactory = Callable[[], ModelClient]


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
    return asyncio.run(
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
    chosen = options or RunOptions()
    _check(plan, client_factory, chosen)
    key = _record(store, plan, chosen)
    with working_on(store, key):
        with store.write() as session:
            begin_run(session=session, key=key)
        client = client_factory() if client_factory else None
        engine = Engine(
            store, plan, key, client=client, served_at=served_at, options=chosen, on_progress=on_progress
        )
        began = time.monotonic()
        try:
            with _interruptible(engine), _fewer_collections():
                await engine.work()
        except BaseException:
            with suppress(StoreError):  # the first error is the one to tell
                _leave(store, key, RunState.PAUSED)
            raise
        finally:
            if client is not None:
                await client.aclose()
        if engine.abandoned:
            _leave(store, key, RunState.PAUSED)
            raise KeyboardInterrupt
        return _conclude(store, plan, key, engine, seconds=time.monotonic() - began)


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
    """Look for garbage in cycles less often: a run makes none, and looking took a tenth of its time."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], COLLECT_AFTER), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _interruptible(engine: Engine) -> Iterator[None]:
    """Let Ctrl-C stop the run in an orderly way, where this is the thread that hears it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def heard() -> None:
        if engine.stopped is not None and engine.stopped.kind is StopKind.INTERRUPTED:
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
