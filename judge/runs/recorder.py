"""One writer for all calls in flight: intents and answers are committed in groups.

A group holds so many intents at most: calls that start together end together, and all would wait for one long
commit. It is stored in the event loop where that is short, else in a thread. An intent is durable before its
call may start. Where the database fails for a while, the group is tried again under the same keys, so that
nothing is stored twice; no call starts meanwhile.
"""

from __future__ import annotations

import asyncio
import math
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Self

from sqlmodel import Session

from calibration.store.calls import (
    CallEntry,
    FaultEntry,
    add_calls,
    add_faults,
    cancel_requested,
)
from calibration.store.database import KeptWriter, Store
from calibration.store.verdicts import KnownRuns, VerdictEntry, add_verdicts
from rubrics.errors import StoreError

PATIENCE_S = 20.0
"""How long a database that may come back is waited for."""
FIRST_WAIT_S = 0.2
BEHIND = 4
"""Full groups in a row in the thread after which one takes all that waits: large ones cost least, and all
wait by then."""
FULL_LOAD = 0.6
"""Of a core: a process that takes more is short of processor time, and groups take all that waits too."""
LOOKED_AT_S = 0.25
"""Over how long that is looked at."""
GATHER_S = 0.003
"""How long a group gathers: a commit costs as much as eight judgments, and a call takes far longer."""
LONGEST_S = 0.25
"""A group that takes longer holds up the calls, so that the next ones go to a thread for a while."""
ASIDE_S = 2.0
"""How long."""
ASKED_EVERY_S = 0.25
"""How often a run looks whether somebody asked it to stop."""
CACHE_KIB = 2048
"""Of SQLite's pages, for each of the two connections of a run: memory that does not grow with the run."""
LOG_PAGES = 4096
"""After which SQLite's log is written back: sixteen MiB; keys lie all over the indexes, and every 1,000 pages
would write the same ones again and again."""
_BOUND = "voirdire_bound_cache"
Answered = VerdictEntry | FaultEntry
Entry = CallEntry | Answered
SPARE_BYTES = 1 << 20
SPARE_BYTES_A_CALL = 64 << 10
"""Free space without which no call starts: room for the answers in flight."""


@dataclass(slots=True)
class _Group:
    """What is committed together."""

    calls: list[CallEntry] = field(default_factory=list)
    verdicts: list[VerdictEntry] = field(default_factory=list)
    faults: list[FaultEntry] = field(default_factory=list)
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    """Of those that wait until it is committed, one each: one that is given up leaves the others alone."""

    def committed(self, error: Exception | None = None) -> None:
        """Tell whoever waits."""
        for each in self.waiting:
            if each.done():  # given up
                continue
            if error is None:
                each.set_result(None)
            else:
                each.set_exception(error)

    def add(self, entry: Entry) -> None:
        """Take one thing into the group."""
        if isinstance(entry, CallEntry):
            self.calls.append(entry)
        elif isinstance(entry, VerdictEntry):
            self.verdicts.append(entry)
        else:
            self.faults.append(entry)


class Load:
    """How much of a core this process takes."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, processor: Callable[[], float] = time.process_time
    ) -> None:
        self._clock, self._processor = clock, processor
        self._since, self._taken = clock(), processor()
        self._full = False

    def is_full(self) -> bool:
        """Whether it was short of processor time when that was looked at last."""
        now = self._clock()
        if now - self._since >= LOOKED_AT_S:
            taken = self._processor()
            self._full = taken - self._taken >= FULL_LOAD * (now - self._since)
            self._since, self._taken = now, taken
        return self._full


class Recorder:
    """The writer of one run; an async context manager that has stored everything when its block ends.

    Raises StoreError from any of its methods, and at the end of the block, once the database has failed for
    good.
    """

    def __init__(
        self,
        store: Store,
        run_key: str,
        *,
        now: Callable[[], datetime],
        backlog: int,
        at_once: int,
        patience_s: float = PATIENCE_S,
        load: Load | None = None,
    ) -> None:
        """Take so many intents a group at most, and let who answers wait behind so many answers."""
        self._store = store
        self._run_key = run_key
        self._now = now
        self._backlog = backlog
        self._known = KnownRuns()
        self._patience_s = patience_s
        self._thread = ThreadPoolExecutor(1, "voirdire-recorder")
        self._wake = asyncio.Event()
        self._closing = threading.Event()
        self._at_once = at_once
        self._handed: deque[tuple[tuple[Entry, ...], asyncio.Future[None] | None]] = deque()
        """What is not in a group yet, oldest first: stored together or not at all, and who waits for it."""
        self._intents = self._answers = 0
        """How many of these there are in it."""
        self._full_in_a_row = 0
        """Groups that went to the thread, since one was not full."""
        self._load = load or Load()
        self._kept: KeptWriter | None = None
        """By which groups are stored in the event loop; None where the database may be waited for."""
        self._open = ExitStack()
        self._aside_until = -math.inf
        """Until when groups are stored in the thread all the same."""
        self._task: asyncio.Task[None] | None = None
        self.failure: Exception | None = None
        self._ask_at = 0.0
        self.cancelled = False
        """Whether somebody asked the run to stop, as of the last time that this was looked up."""

    async def __aenter__(self) -> Self:
        if self._store.dialect == "sqlite":
            self._kept = self._open.enter_context(self._store.kept_writer())
        self._task = asyncio.create_task(self._work(), name="recorder")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        self._wake.set()
        if self._task is not None:
            await self._task
        self._thread.shutdown(wait=True)
        self._open.close()

    async def intend(self, call: CallEntry) -> None:
        """Return once the intent is durable; the call may start then."""
        self._check()
        self._intents += 1
        await self._stored((call,))

    def put(self, *answers: Answered) -> None:
        """Hand over answers without waiting; they go into the next group, while the database holds."""
        self._answers += len(answers)
        self._handed.append((answers, None))
        self._wake.set()

    async def keep(self, *answers: Answered) -> None:
        """Hand over the answers of one call, stored together or not at all.

        Waits only where as many are waiting as may be in flight.
        """
        self._check()
        if self._answers + len(answers) < self._backlog:
            self.put(*answers)
            return
        self._answers += len(answers)
        await self._stored(answers)

    async def _stored(self, entries: tuple[Entry, ...]) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._handed.append((entries, turn))
        self._wake.set()
        await turn

    def _next_group(self) -> _Group:
        """The oldest of what was handed over, up to the last intent that it may hold."""
        group = _Group()
        behind = self._load.is_full() or self._full_in_a_row >= BEHIND
        most = len(self._handed) if behind else self._at_once
        while self._handed and len(group.calls) < most:
            entries, turn = self._handed.popleft()
            for entry in entries:
                group.add(entry)
            if turn is not None:
                group.waiting.append(turn)
        self._intents -= len(group.calls)
        self._answers -= len(group.verdicts) + len(group.faults)
        return group

    def _check(self) -> None:
        if self.failure is not None:
            raise self.failure

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            if self._handed:
                full = self._intents >= self._at_once or self._answers >= self._backlog
                if not (full or self._closing.is_set()):
                    await asyncio.sleep(GATHER_S)
                group = self._next_group()
                try:
                    if self._stored_here(group):
                        self._full_in_a_row = 0
                    else:
                        full = len(group.calls) >= self._at_once
                        self._full_in_a_row = self._full_in_a_row + 1 if full else 0
                        await loop.run_in_executor(self._thread, self._commit, group)
                except Exception as error:  # noqa: BLE001  whoever waits for the group is told
                    self._fail(error, group)
                    return
                group.committed()
                await asyncio.sleep(0)  # those that waited for the group go on before the next one is stored
                self._wake.set()  # what has gathered meanwhile
            elif self._closing.is_set():
                return

    def _stored_here(self, group: _Group) -> bool:
        """Whether the group was stored in the event loop itself; False where that could hold up the calls.

        In a thread each row waits for the interpreter while replies are read, so that a group takes three
        times as long. What may wait goes there all the same: a server, a locked file, a slow disk.
        """
        began = time.monotonic()
        if self._kept is None or began < self._aside_until:
            return False
        try:
            self._store_once(group, self._kept)
        except StoreError as error:
            if not error.retryable:
                raise
            self._aside_until = began + ASIDE_S
            return False
        ended = time.monotonic()
        if ended - began > LONGEST_S:
            self._aside_until = ended + ASIDE_S
        return True

    def _fail(self, error: Exception, group: _Group) -> None:
        self.failure = error
        group.committed(error)
        while self._handed:
            self._next_group().committed(error)

    def _commit(self, group: _Group) -> None:
        """Store the group, in the thread; try again for a while where the database may come back."""
        waited, wait = 0.0, FIRST_WAIT_S
        while True:
            try:
                self._store_once(group, self._store)
            except StoreError as error:
                if not error.retryable or waited >= self._patience_s:
                    raise
            else:
                return
            self._closing.wait(wait)
            waited, wait = waited + wait, min(2 * wait, 5.0)

    def _store_once(self, group: _Group, writer: Store | KeptWriter) -> None:
        at = self._now()
        with writer.write() as session:
            bound_cache(session)
            add_calls(session=session, calls=group.calls, at=at)
            # not strict: whatever was stored first for a unit stands
            add_verdicts(session=session, verdicts=group.verdicts, at=at, strict=False, known=self._known)
            add_faults(session=session, faults=group.faults, at=at)
            if time.monotonic() >= self._ask_at:
                self.cancelled = cancel_requested(session=session, key=self._run_key)
                self._ask_at = time.monotonic() + ASKED_EVERY_S


def bound_cache(session: Session) -> None:
    """Keep the session's connection from holding, and from writing back, more pages than a run needs."""
    connection = session.connection()
    if connection.dialect.name == "sqlite" and _BOUND not in connection.info:
        connection.exec_driver_sql(f"PRAGMA cache_size=-{CACHE_KIB}")
        connection.exec_driver_sql(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
        connection.info[_BOUND] = True  # lives as long as the driver's connection


def require_space(store: Store, *, in_flight: int) -> None:
    """Refuse to go on where the disk has no room for the answers in flight.

    Raises:
        StoreError: too little is free; nothing is lost.
    """
    if store.dialect != "sqlite":
        return
    needed = SPARE_BYTES + in_flight * SPARE_BYTES_A_CALL
    free = shutil.disk_usage(Path(store.where).resolve().parent).free
    if free < needed:
        raise StoreError(
            f"the disk of {store.where} has {free / 1e6:.1f} MB free and {needed / 1e6:.1f} MB are kept for"
            " answers on their way, so no call is made: free some space and run the same command again",
            retryable=True,
        )
