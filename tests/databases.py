"""On which databases a test runs in `make test`; `make nightly` runs each on both."""

from __future__ import annotations

import pytest

MOSTLY_SQLITE = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]
"""Parameters of `store` where the SQL is that of the store's own tests, which run on both every time."""

BOTH = pytest.mark.parametrize("store", ["sqlite", "postgresql"], indirect=True)
"""Marks what `make test` runs on both: what locks, what only one of them does, one way through each part."""
