"""Twenty raters and a running judge write into one store at once: nothing fails, nothing is lost."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from calibration.store.assessments import add_labels, iter_labels
from calibration.store.database import Store
from calibration.store.integrity import check
from calibration.store.items import Scope
from calibration.store.verdicts import add_verdicts, iter_verdicts
from tests.calibration.store.evidence import DATASET, NOW, World, label, lay_down, verdict

RATERS = 20
VERDICTS_A_SECOND = 200
GROUP = 20
ITEMS = 50


def rate(store: Store, world: World, rater: int, stop: threading.Event) -> int:
    """How many labels this rater was told are stored, one transaction each, until the run has ended."""
    acknowledged = 0
    while not stop.wait(0.1):
        entry = label(
            acknowledged % ITEMS, f"rater-{rater}", repeat=acknowledged // ITEMS, note=f"{acknowledged}"
        )
        with store.write() as session:
            add_labels(
                session=session, dataset=DATASET, rubric_digest=world.rubric.digest, labels=[entry], at=NOW
            )
        acknowledged += 1
    return acknowledged


def judge(store: Store, world: World, seconds: float, stop: threading.Event) -> int:
    """How many verdicts were stored: 200 a second in groups, then the raters are told to stop."""
    start, done = time.monotonic(), 0
    try:
        for group in range(int(seconds * VERDICTS_A_SECOND / GROUP)):
            time.sleep(max(0.0, start + group * GROUP / VERDICTS_A_SECOND - time.monotonic()))
            numbers = range(done, done + GROUP)
            entries = [
                verdict(world.run_key, n % ITEMS, repeat=n // ITEMS, raw=f"reply {n}") for n in numbers
            ]
            with store.write() as session:
                done += add_verdicts(session=session, verdicts=entries, at=NOW).added
    finally:
        stop.set()
    return done


def write_together(store: Store, seconds: float) -> None:
    """Raters and judge in threads; every acknowledged row is there, and nothing else."""
    with store.write() as session:
        world = lay_down(session, items=ITEMS)
    stop = threading.Event()
    with ThreadPoolExecutor(RATERS + 1) as pool:
        raters = [pool.submit(rate, store, world, number, stop) for number in range(RATERS)]
        verdicts = pool.submit(judge, store, world, seconds, stop).result()
        labels = {f"rater-{number}": rater.result() for number, rater in enumerate(raters)}
    assert verdicts == int(seconds * VERDICTS_A_SECOND)
    assert all(labels.values())
    scope = Scope(dataset=DATASET)
    with store.read() as session:
        assert len(list(iter_verdicts(session=session, scope=scope))) == verdicts
        stored = dict.fromkeys(labels, 0)
        for each in iter_labels(session=session, scope=scope, rubric_digest=world.rubric.digest):
            stored[each.rater] += 1
    assert stored == labels


def test_raters_and_a_judge_write_together(store: Store) -> None:
    """3 seconds of 20 raters and 200 verdicts a second: 0 failed, 0 lost."""
    write_together(store, 3)


@pytest.mark.slow
def test_raters_and_a_judge_write_together_for_long(store: Store) -> None:
    """30 seconds of the same on both databases; every digest of the SQLite file holds afterwards."""
    write_together(store, 30)
    if store.dialect == "sqlite":
        assert check(store.where) == ()


def test_the_same_file_imported_twice_at_once_is_there_once(store: Store) -> None:
    """Two imports of the same verdicts at the same time: together they add each verdict once."""
    with store.write() as session:
        world = lay_down(session, items=ITEMS)
    start = threading.Barrier(2)

    def one(_number: int) -> tuple[int, int]:
        entries = [verdict(world.run_key, n % ITEMS, repeat=n // ITEMS, raw="same") for n in range(2500)]
        start.wait()
        with store.write() as session:
            outcome = add_verdicts(session=session, verdicts=entries, at=NOW)
        return outcome.added, outcome.present

    with ThreadPoolExecutor(2) as pool:
        outcomes = sorted(pool.map(one, range(2)))
    assert outcomes == [(0, 2500), (2500, 0)]
