"""kill -9 during an import, at random moments: all of the file is stored, or nothing of it."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from calibration.store.integrity import check
from calibration.store.schema import open_store
from tests.calibration.interchange.native.files import item, rows, take, verdict, write

ITEMS = 200
JUDGES = 10
CHILD = """
import sys, time
from calibration.interchange.native.core import By
from calibration.store.schema import open_store
from tests.calibration.interchange.native.files import NOW, options
from calibration.interchange.native.verdicts import import_verdicts
store = open_store(sys.argv[1])
print("open", flush=True)
start = time.monotonic()
import_verdicts(store=store, source=sys.argv[2], options=options(), by=By("lead", NOW))
print(time.monotonic() - start, flush=True)
"""


@contextmanager
def importing(address: str, source: str) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that imports the file, once its store is open."""
    command = [sys.executable, "-c", CHILD, address, source]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "open\n"
        yield child


def prepared(address: str, folder: Path) -> str:
    """A store with items; the path of a file of verdicts on them."""
    store = open_store(address)
    take(store, "items", write(folder, *(item(n) for n in range(ITEMS)), name="items.jsonl"))
    store.close()
    records = (verdict(n, judge=f"judge-{j}", raw="r" * 40) for j in range(JUDGES) for n in range(ITEMS))
    return write(folder, *records, name="verdicts.jsonl")


def duration(address: str, source: str) -> float:
    """Seconds that the import takes when nobody disturbs it."""
    with importing(address, source) as child:
        assert child.stdout is not None
        return float(child.stdout.readline())


def killed_once(address: str, source: str, delay: float) -> int:
    """How many verdicts are stored after an import was killed so long after its start."""
    with importing(address, source) as child:
        time.sleep(delay)
        child.send_signal(signal.SIGKILL)
        child.wait()
    store = open_store(address)
    try:
        found = rows(store)
    finally:
        store.close()
    assert (found["verdict"] == 0) == (found["judge_run"] == 0) == (found["import_file"] == 1)
    return found["verdict"]


def kill_loop(addresses: list[str], folder: Path, seed: int) -> None:
    """One address is timed; on each other one import is killed at a random moment, then run to its end."""
    source = prepared(addresses[0], folder)
    whole = duration(addresses[0], source)
    rng = random.Random(seed)
    for address in addresses[1:]:
        prepared(address, folder)
        assert killed_once(address, source, rng.uniform(0, 1.2 * whole)) in {0, ITEMS * JUDGES}
        store = open_store(address)
        take(store, "verdicts", source)
        assert rows(store)["verdict"] == ITEMS * JUDGES
        store.close()
        assert check(address) == ()


def sqlite_addresses(migrated: Path, folder: Path, count: int) -> list[str]:
    """Empty stores in files of their own."""
    paths = [folder / f"{n}.db" for n in range(count)]
    for path in paths:
        path.write_bytes(migrated.read_bytes())
    return [str(path) for path in paths]


def test_killed_imports_on_sqlite(migrated_sqlite: Path, tmp_path: Path) -> None:
    """Twice: all or nothing, and the next import completes it."""
    kill_loop(sqlite_addresses(migrated_sqlite, tmp_path, 3), tmp_path, seed=1)


@pytest.mark.slow
def test_many_killed_imports_on_sqlite(migrated_sqlite: Path, tmp_path: Path) -> None:
    """Twenty times."""
    kill_loop(sqlite_addresses(migrated_sqlite, tmp_path, 21), tmp_path, seed=2)


@contextmanager
def postgres_addresses(server: object, count: int) -> Iterator[list[str]]:
    """Empty stores in databases of their own."""
    from tests.conftest import PostgresServer

    assert isinstance(server, PostgresServer)
    names = [server.create(server.migrated()) for _ in range(count)]
    try:
        yield [server.url(name) for name in names]
    finally:
        for name in names:
            server.drop(name)


def test_killed_imports_on_postgresql(postgres_server: object, tmp_path: Path) -> None:
    """Once: the server undoes what the killed process had begun."""
    with postgres_addresses(postgres_server, 2) as addresses:
        kill_loop(addresses, tmp_path, seed=3)


@pytest.mark.slow
def test_many_killed_imports_on_postgresql(postgres_server: object, tmp_path: Path) -> None:
    """Twenty times."""
    with postgres_addresses(postgres_server, 21) as addresses:
        kill_loop(addresses, tmp_path, seed=4)
