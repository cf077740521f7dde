"""Runs that are killed or interrupted, against a real HTTP provider through the real LiteLLM."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from calibration.store.database import Store
from calibration.store.integrity import check
from calibration.store.tallies import tally_calls
from judge.runs import RunSummary, plan_run
from judge.runs.summary import summarise
from tests.judge.cases import POINTWISE
from tests.judge.provider import Answer, Hit, Provider, completion
from tests.judge.run_world import DATASET, KEY, adds_up, lay_down, numbered, rows, verdicts
from tests.judge.runner import spec_at

ITEMS = 60
UNITS = 2 * ITEMS
CONCURRENCY = 4
DELAY = 0.03
Asked = tuple[int, str]


def asked_in(hit: Hit) -> Asked:
    """The item and the order of a request as it arrived."""
    system, user = (str(message["content"]) for message in hit.messages)
    found = re.search(r"Case (\d+):", user)
    assert found
    return int(found[1]), "ab" if system.index('"pass"') < system.index('"fail"') else "ba"


def by_number(hit: Hit) -> Answer:
    """Pass for an even item, fail for an odd one, after a while."""
    word = "fail" if asked_in(hit)[0] % 2 else "pass"
    return completion(json.dumps({"reason": "as asked", "verdict": word}), delay=DELAY)


@dataclass
class Worker:
    """The process that forks a child for each line; what it says is read in a thread."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def send(self, line: str) -> int:
        """The process id of the child that works on the line."""
        assert self.process.stdin
        at = len(self.lines)
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return int(self.wait("child", at).split()[1])

    def wait(self, word: str, at: int) -> str:
        """The first line from `at` on that begins with the word."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            found = [line for line in self.lines[at:] if line.startswith(word)]
            if found:
                return found[0]
            time.sleep(0.002)
        raise AssertionError(f"no {word!r} in {self.lines}")


@pytest.fixture(scope="module")
def forked() -> Iterator[Worker]:
    """A process that has imported everything already, for all tests of this module."""
    command = [sys.executable, "-m", "tests.judge.runner"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        made = Worker(process)
        thread = threading.Thread(target=lambda: _collect(process, made.lines), daemon=True)
        thread.start()
        made.wait("ready", 0)
        yield made
        assert process.stdin
        process.stdin.close()
        thread.join(30)


def _collect(process: subprocess.Popen[str], lines: list[str]) -> None:
    assert process.stdout
    for line in process.stdout:
        lines.append(line.rstrip("\n"))


def address_of(store: Store) -> str:
    """What `--db` would be for the store."""
    url = store.engine.url
    return str(url.database) if store.dialect == "sqlite" else url.render_as_string(hide_password=False)


def stands(store: Store, address: str) -> RunSummary:
    """How the run stands."""
    with store.read() as session:
        plan = plan_run(
            session=session, judge=spec_at(address), rubric=POINTWISE, dataset=DATASET, criteria=(KEY,)
        )
        ((key,),) = session.connection().exec_driver_sql("SELECT key FROM judge_run").fetchall()
        return summarise(session=session, plan=plan, run_key=key, stopped=None)


def killed(
    store: Store, forked: Worker, kills: int, *, seed: int, items: int = ITEMS, at_once: int = CONCURRENCY
) -> None:
    """Kill a run so often at random moments, finish it, and account for every call and verdict."""
    chance = random.Random(seed)
    with Provider(by_number) as provider:
        spec = spec_at(provider.api_base)
        lay_down(store, numbered(items), spec)
        line = f"{address_of(store)} {provider.api_base} {at_once}"
        in_flight = struck = 0
        kept: set[str] = set()
        for _ in range(kills):
            at, before = len(forked.lines), len(provider.hits)
            child = forked.send(line)
            until = time.monotonic() + 60
            while len(provider.hits) == before and time.monotonic() < until:
                if any(said.startswith("dead") for said in forked.lines[at:]):
                    break
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 2 * items * DELAY / at_once / kills * 1.5))
            if not any(said.startswith("dead") for said in forked.lines[at:]):
                os.kill(child, signal.SIGKILL)
            if forked.wait("dead", at) == f"dead -{int(signal.SIGKILL)}":
                struck, in_flight = struck + 1, in_flight + at_once
            there = {row["digest"] for row in verdicts(store)}
            assert kept <= there, "an answer that was stored is gone"
            kept = there
            if rows(store, "SELECT key FROM judge_run"):
                assert adds_up(stands(store, provider.api_base))
        at = len(forked.lines)
        forked.send(line)
        assert forked.wait("dead", at) == "dead 0"
        summary = stands(store, provider.api_base)
        hits = Counter(map(asked_in, provider.hits))
    assert struck >= kills / 2, "most kills must strike while the run works"
    account(store, summary, hits, in_flight, items=items)


def account(
    store: Store, summary: RunSummary, hits: Counter[Asked], in_flight: int, *, items: int = ITEMS
) -> None:
    """Every unit has the provider's answer; calls made twice are few, and unresolved intents cover them."""
    units = 2 * items
    assert (summary.complete, summary.verdicts) == (True, {"fail": items, "pass": items})
    numbers = {key: int(item_id[2:]) for key, item_id in rows(store, "SELECT key, item_id FROM item")}
    assert all((row["value"] == "fail") == numbers[row["item_key"]] % 2 for row in verdicts(store))
    assert len(hits) == units
    paid_twice = sum(hits.values()) - units
    assert paid_twice <= in_flight
    assert paid_twice <= summary.calls.unresolved
    assert summary.calls.made - summary.calls.unresolved == units
    assert sum(hits.values()) <= summary.calls.intended
    with store.read() as session:
        assert tally_calls(session=session, run_key=summary.run) == summary.calls
    assert check(address_of(store)) == ()


def test_killed_at_five_random_moments_nothing_is_lost(sqlite_store: Store, forked: Worker) -> None:
    """Kill -9 at 5 random moments: 120 right verdicts, repeats within the calls in flight."""
    killed(sqlite_store, forked, 5, seed=20261130)


def test_killed_over_a_postgresql_store_nothing_is_lost(postgres_store: Store, forked: Worker) -> None:
    """The same on PostgreSQL, twice: its run lock falls with the process that held it."""
    killed(postgres_store, forked, 2, seed=7)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_twenty_random_moments_nothing_is_lost(store: Store, forked: Worker) -> None:
    """Kill -9 at 20 random moments of 1,000 units, 16 in flight, on both databases."""
    killed(store, forked, 20, seed=1, items=500, at_once=16)


def interrupted(store: Store, forked: Worker, presses: int) -> tuple[str, list[Asked], Store]:
    """How a run ended on which Ctrl-C was pressed so often, and what had been asked by then."""
    seen = threading.Event()

    def slow(hit: Hit) -> Answer:
        if hit.number >= 12:
            seen.set()
        answer = by_number(hit)
        return Answer(body=answer.body, headers=answer.headers, delay=0.4)

    with Provider(slow) as provider:
        lay_down(store, numbered(ITEMS), spec_at(provider.api_base))
        at = len(forked.lines)
        child = forked.send(f"{address_of(store)} {provider.api_base} {CONCURRENCY}")
        assert seen.wait(60)
        for _ in range(presses):
            os.kill(child, signal.SIGINT)
            time.sleep(0.1)
        ended = forked.wait("dead", at)
        asked = [asked_in(hit) for hit in provider.hits]
        summary = stands(store, provider.api_base)
    assert adds_up(summary)
    assert summary.calls.unresolved == (0 if presses == 1 else len(asked) - summary.done)
    return ended, asked, store


def test_ctrl_c_finishes_the_calls_in_flight(sqlite_store: Store, forked: Worker) -> None:
    """One Ctrl-C: every call that was made has its verdict, no further one is made, the run is paused."""
    ended, asked, store = interrupted(sqlite_store, forked, 1)
    assert ended == "dead 0"
    assert len(verdicts(store)) == len(asked) < UNITS
    assert rows(store, "SELECT state FROM judge_run") == [("paused",)]


def test_a_second_ctrl_c_gives_up_the_calls_in_flight(sqlite_store: Store, forked: Worker) -> None:
    """Two: the process ends at once, and the calls that it gave up are unresolved."""
    ended, asked, store = interrupted(sqlite_store, forked, 2)
    assert ended == "dead 130"
    assert 0 < len(asked) - len(verdicts(store)) <= CONCURRENCY
    assert rows(store, "SELECT state FROM judge_run") == [("paused",)]
