"""Rating as people and databases feel it: `python -m tests.benchmarks.labeling --json`.

Three measurements: one rater in a real browser, from a key press to the next item painted; ten clients on
the app's websocket with two seconds of thinking; twenty raters and a judge on one database (labeling_store).
The last line is one JSON object. `lost` counts answers that were acknowledged and are not there, or the
reverse, over all three.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from calibration.store.schema import open_store
from tests.benchmarks.labeling_store import measure, on_postgres
from tests.browser import clients
from tests.browser.rating import RaterTab, answers_of, rows, session_for
from tests.browser.serving import serving
from tests.chromium import FLAGS, chromium

WARM = 3
CLIENTS = tuple(f"client-{number:02d}" for number in range(10))


def percentile(values: Sequence[float], percent: int) -> float:
    """A percentile of at least two values."""
    return round(statistics.quantiles(values, n=100, method="inclusive")[percent - 1], 1)


def keys(folder: Path, presses: int) -> dict[str, float]:
    """Milliseconds from a key press to the next item painted, one rater in Chromium."""
    from playwright.sync_api import sync_playwright

    db = session_for(folder / "keys.db", ("ann",), items=presses + WARM + 1)
    with serving("rate", db=db, name="ann") as served, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
        tab = RaterTab(browser, served).enter()
        answers = 0
        while answers < WARM + presses:
            answers += not (tab.token() or "").startswith("break")  # a slow session is offered a break
            tab.press("1")
        waits = tab.waits()[WARM:]
        browser.close()
    stored = len(answers_of(db, "ann"))
    return {
        "key_p50_ms": percentile(waits, 50),
        "key_p95_ms": percentile(waits, 95),
        "key_min_ms": round(min(waits), 1),
        "key_max_ms": round(max(waits), 1),
        "presses": answers - WARM,
        "lost": abs(answers - stored),
    }


def websockets(folder: Path, presses: int, think: float) -> dict[str, float]:
    """Milliseconds from a press to the next item sent, ten raters at once."""
    db = session_for(folder / "clients.db", CLIENTS, items=presses + 2)
    clients.introduce(db, CLIENTS)
    with serving("rate", db=db, environment=clients.ENVIRONMENT) as served:
        done = clients.crowd(served.address, CLIENTS, presses=presses, think=think)
    waits = [1000 * seconds for each in done for seconds in each.waits]
    pressed = sum(each.presses for each in done)
    ((stored,),) = rows(db, "SELECT COUNT(*) FROM assessment")
    return {
        "clients_p50_ms": percentile(waits, 50),
        "clients_p95_ms": percentile(waits, 95),
        "clients_presses": pressed,
        "lost": abs(pressed - stored),
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print what was found."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--presses", type=int, default=100, help="keys of the rater in the browser")
    options.add_argument("--seconds", type=float, default=20, help="of raters and a judge on one database")
    options.add_argument("--think", type=float, default=2.0, help="seconds of a websocket client")
    options.add_argument("--postgres", action="store_true", help="the database part on PostgreSQL too")
    options.add_argument("--json", action="store_true", help="print nothing but the JSON line")
    given = options.parse_args(argv)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        by_key = keys(folder, given.presses)
        at_once = websockets(folder, max(int(given.seconds / given.think), 2), given.think)
        stores = [asdict(measure(stack.enter_context(open_store(folder / "v.db")), given.seconds))]
        if given.postgres:
            stores.append(asdict(measure(on_postgres(stack), given.seconds)))
    found: dict[str, Any] = {**by_key, **at_once}
    found["write_p95_ms"] = max(each["write_p95_ms"] for each in stores)
    found["failed_writes"] = sum(each["failed_writes"] for each in stores)
    found["lost"] = by_key["lost"] + at_once["lost"] + sum(each["lost"] for each in stores)
    found["stores"] = stores
    found["load_average"] = round(os.getloadavg()[0], 1)
    if not given.json:
        for name, value in found.items():
            sys.stderr.write(f"{name}: {value}\n")
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
