"""kill -9 during an import, at random moments: all of the file is stored, or nothing of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from calibration.store.integrity import check
from calibration.store.schema import open_store
from tests.calibration.interchange.native.files import item, rows, take, verdict, write

ITEMS = 200
JUDGES = 10
CHILD = """
import os, sys, time
from calibration.interchange.native.core import By
from calibration.store.schema import open_store
from tests.calibration.interchange.native.files import NOW, options
from calibration.interchange.native.verdicts import import_verdicts
for line in sys.stdin:
    address, source = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if child == 0:
        store = open_store(address)
        print(os.getpid(), flush=True)
        start = time.monotonic()
        import_verdicts(store=store, source=source, options=options(), by=By("lead", NOW))
        print(time.monotonic() - start, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""
"""It forks for each import: loading the modules takes longer than being killed."""


class Importer:
    """A process that forks one of its own for each file."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def begin(self, address: str, source: str) -> int:
        """The process that imports the file, once its store is open."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{address}\t{source}\n")
        self._process.stdin.flush()
        return int(self.line())

    def line(self) -> str:
        """What is said next."""
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def end(self) -> None:
        """Wait until the import's process is gone."""
        while self.line() != "ended\n":
            pass


@pytest.fixture(scope="module")
def importer() -> Iterator[Importer]:
    """One for all tests, which take turns."""
    command = [sys.executable, "-c", CHILD]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Importer(process)
        assert process.stdin is not None
        process.stdin.close()


def prepared(address: str, folder: Path) -> str:
    """A store with items; the path of a file of verdicts on them."""
    store = open_store(address)
    take(store, "items", write(folder, *(item(n) for n in range(ITEMS)), name="items.jsonl"))
    store.close()
    records = (verdict(n, judge=f"judge-{j}", raw="r" * 40) for j in range(JUDGES) for n in range(ITEMS))
    return write(folder, *records, name="verdicts.jsonl")


def duration(importer: Importer, address: str, source: str) -> float:
    """Seconds that the import takes when nobody disturbs it."""
    importer.begin(address, source)
    seconds = float(importer.line())
    importer.end()
    return seconds


def killed_once(importer: Importer, address: str, source: str, delay: float) -> int:
    """How many verdicts are stored after an import was killed so long after its start."""
    child = importer.begin(address, source)
    time.sleep(delay)
    with suppress(ProcessLookupError):  # it was quicker
        os.kill(child, signal.SIGKILL)
    importer.end()
    store = open_store(address)
    try:
        found = rows(store)
    finally:
        store.close()
    assert (found["verdict"] == 0) == (found["judge_run"] == 0) == (found["import_file"] == 1)
    return found["verdict"]


def kill_loop(importer: Importer, addresses: list[str], folder: Path, seed: int) -> None:
    """One address is timed; on each other one import is killed at a random moment, then run to its end."""
    source = prepared(addresses[0], folder)
    whole = duration(importer, addresses[0], source)
    rng = random.Random(seed)
    for address in addresses[1:]:
        prepared(address, folder)
        stored = killed_once(importer, address, source, rng.uniform(0, 1.2 * whole))
        assert stored in {0, ITEMS * JUDGES}
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


def test_killed_imports_on_sqlite(importer: Importer, migrated_sqlite: Path, tmp_path: Path) -> None:
    """Twice: all or nothing, and the next import completes it."""
    kill_loop(importer, sqlite_addresses(migrated_sqlite, tmp_path, 3), tmp_path, seed=1)


@pytest.mark.slow
def test_many_killed_imports_on_sqlite(importer: Importer, migrated_sqlite: Path, tmp_path: Path) -> None:
    """Twenty times."""
    kill_loop(importer, sqlite_addresses(migrated_sqlite, tmp_path, 21), tmp_path, seed=2)


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


def test_killed_imports_on_postgresql(importer: Importer, postgres_server: object, tmp_path: Path) -> None:
    """Once: the server undoes what the killed process had begun."""
    with postgres_addresses(postgres_server, 2) as addresses:
        kill_loop(importer, addresses, tmp_path, seed=3)


@pytest.mark.slow
def test_many_killed_imports_on_postgresql(
    importer: Importer, postgres_server: object, tmp_path: Path
) -> None:
    """Twenty times."""
    with postgres_addresses(postgres_server, 21) as addresses:
        kill_loop(importer, addresses, tmp_path, seed=4)
