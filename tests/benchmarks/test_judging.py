"""The benchmark of judge runs measures what it says, at a size at which no figure means anything."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.benchmarks.judging import IN_FLIGHT, counts, measured, provider

KEYS = {
    *("wall_over_ideal_direct", "cpu_ms_direct", "litellm_over_raw"),
    *("in_flight_peak", "rss_mib_1000", "rss_mib_10000"),
}


def test_a_measured_run_asks_once_an_item_and_many_at_a_time() -> None:
    """Twenty items are twenty requests; all but the first, which goes alone, are in flight together."""
    with provider(0.5) as address:
        took = measured("direct", address, 20)
        seen = counts(address)
    assert seen["hits"] == 20
    assert 10 <= seen["peak"] <= 19
    assert set(took) == {"wall", "cpu", "rss_mib"}
    assert min(took.values()) > 0


@pytest.mark.slow
def test_the_command_ends_with_the_keys_that_scripts_read() -> None:
    """The last line is one JSON object, with LiteLLM's part in it."""
    command = [sys.executable, "-m", "tests.benchmarks.judging", "--json", "--scale", "0.1", "--rounds", "1"]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = json.loads(said.splitlines()[-1])
    assert set(found) == KEYS
    assert all(value > 0 for value in found.values())
    assert found["in_flight_peak"] == IN_FLIGHT
