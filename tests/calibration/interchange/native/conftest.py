"""The store of these tests: SQLite in `make test`, both databases where it is said and in `make nightly`."""

from __future__ import annotations

import pytest

from calibration.store.database import Store
from tests.databases import MOSTLY_SQLITE


@pytest.fixture(params=MOSTLY_SQLITE)
def store(request: pytest.FixtureRequest) -> Store:
    """An empty store."""
    name = "sqlite_store" if request.param == "sqlite" else "postgres_store"
    opened: Store = request.getfixturevalue(name)
    return opened
