"""One process works on a run at a time: two would pay for the same calls."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from calibration.store.database import Store
from rubrics.errors import RecordError


@contextmanager
def working_on(store: Store, run_key: str) -> Iterator[None]:
    """Hold the run for the time of the block; a process that dies lets go of it.

    Raises:
        RecordError: another process holds it.
    """
    held = _file_held if store.dialect == "sqlite" else _server_held
    with held(store, run_key) as free:
        if not free:
            raise RecordError(
                f"another process is working on the run {run_key[:12]}: wait for it, or stop it"
            )
        yield


@contextmanager
def _file_held(store: Store, run_key: str) -> Iterator[bool]:
    """A lock on a file beside the database, which the system drops with its process."""
    path = Path(f"{store.where}.run-{run_key[:12]}.lock")
    descriptor = _locked(path)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            path.unlink(missing_ok=True)  # while it is held, so that nobody waits on a file that is gone
            os.close(descriptor)


def _locked(path: Path) -> int | None:
    while True:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        try:
            if os.stat(path).st_ino == os.fstat(descriptor).st_ino:
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)  # its holder has just deleted it: take the new one


@contextmanager
def _server_held(store: Store, run_key: str) -> Iterator[bool]:
    """An advisory lock of PostgreSQL, which the server drops with its connection."""
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        number = sa.text("SELECT pg_try_advisory_lock(hashtextextended(:key, 0))")
        free = bool(connection.execute(number, {"key": f"voirdire:run:{run_key}"}).scalar())
        try:
            yield free
        finally:
            connection.invalidate()  # closes it, and with it the lock
