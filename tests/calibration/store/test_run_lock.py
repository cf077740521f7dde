"""One process at a time works on a run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from calibration.store.database import Store
from calibration.store.run_lock import working_on
from rubrics.errors import RecordError

RUN, OTHER = "a" * 32, "b" * 32
HOLDER = """
import sys
from calibration.store.run_lock import working_on
from calibration.store.schema import open_store
with open_store(sys.argv[1]) as store, working_on(store, sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_run_is_held_by_one_at_a_time(store: Store) -> None:
    """A second holder is refused, another run is not; afterwards it is free and no file is left behind."""
    with working_on(store, RUN), working_on(store, OTHER):
        with pytest.raises(RecordError, match="another process is working on the run aaaaaaaaaaaa"):
            working_on(store, RUN).__enter__()
        with pytest.raises(RecordError, match="another process"):
            working_on(store, OTHER).__enter__()
    with working_on(store, RUN):
        pass
    if store.dialect == "sqlite":
        assert list(Path(store.where).parent.glob("*.lock")) == []


def test_a_process_that_is_killed_lets_go(store: Store) -> None:
    """Held in another process: refused; that process killed: free at once."""
    url = store.engine.url
    address = str(url.database) if store.dialect == "sqlite" else url.render_as_string(hide_password=False)
    command = [sys.executable, "-c", HOLDER, address, RUN]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        with pytest.raises(RecordError, match="another process"):
            working_on(store, RUN).__enter__()
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)
    _until_free(store)


def _until_free(store: Store) -> None:
    """PostgreSQL notices a moment later that the connection is gone."""
    for _ in range(200):
        try:
            with working_on(store, RUN):
                return
        except RecordError:
            with store.read() as session:
                if store.dialect == "postgresql":
                    session.connection().exec_driver_sql("SELECT pg_sleep(0.05)")
    pytest.fail("the lock of a dead process is still held")
