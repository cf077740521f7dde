"""From a key to the next item: measured at full length at night; the benchmark holds it to its limits."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.benchmarks.labeling import keys
from tests.chromium import chromium

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_every_key_is_clocked_to_the_next_item(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Browser list 1: a hundred presses, none lost; how long they took stands in the report of the tests."""
    chromium()
    with ThreadPoolExecutor(1) as aside:  # the other browser tests have Playwright in this thread
        found = aside.submit(keys, tmp_path, 100).result()
    for name in ("key_p50_ms", "key_p95_ms"):
        record_property(name, found[name])
    assert (found["presses"], found["lost"]) == (100, 0)
    assert 0 < found["key_min_ms"] <= found["key_p50_ms"] <= found["key_p95_ms"] <= found["key_max_ms"]
