"""What a run reads from the store, in one thread: its open units, the next ones while these are asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Self, TypeVar

from calibration.store.database import Store
from judge.grading import JudgeVerdict
from judge.runs.plan import RunPlan, Unit
from judge.runs.recorder import bound_cache, require_space
from judge.runs.units import chunks, open_units

T = TypeVar("T")


class Reader:
    """The one thread that reads for a run: each further one would keep memory. A context manager."""

    def __init__(self, store: Store, plan: RunPlan, run_key: str, *, in_flight: int) -> None:
        """Take the run, and how many calls may be in flight: their answers need room on the disk."""
        self._store, self._plan, self._run_key, self._in_flight = store, plan, run_key, in_flight
        self._thread = ThreadPoolExecutor(1, "voirdire-reader")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(wait=True)

    async def aside(self, read: Callable[[], T]) -> T:
        """What the function gives, called in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, read)

    async def chunks(self, *, fresh: bool) -> AsyncGenerator[list[Unit | JudgeVerdict]]:
        """The open units; the next chunk is read while this one is handed out. `fresh`: see open_units()."""
        keys = chunks(self._plan)
        ahead = self._reads(next(keys, None), fresh)
        try:
            while ahead is not None:
                part = await ahead
                ahead = self._reads(next(keys, None), fresh)
                yield part
        finally:
            if ahead is not None:
                ahead.cancel()

    def _reads(self, keys: list[str] | None, fresh: bool) -> asyncio.Future[list[Unit | JudgeVerdict]] | None:
        if keys is None:
            return None
        return asyncio.get_running_loop().run_in_executor(self._thread, self._read, keys, fresh)

    def _read(self, keys: list[str], fresh: bool) -> list[Unit | JudgeVerdict]:
        require_space(self._store, in_flight=self._in_flight)
        with self._store.read() as session:
            bound_cache(session)
            return list(
                open_units(session=session, plan=self._plan, run_key=self._run_key, keys=keys, fresh=fresh)
            )
