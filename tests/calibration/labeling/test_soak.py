"""Twenty raters and a judge with 200 verdicts a second on one store: nothing fails, nothing is lost."""

from __future__ import annotations

import pytest

from calibration.store.database import Store
from calibration.store.integrity import check
from tests.benchmarks.labeling_store import VERDICTS_A_SECOND, measure, next_at
from tests.databases import BOTH


def soak(store: Store, seconds: float) -> None:
    """Raters rate through their blind session while the judge writes; then everything is counted."""
    found = measure(store, seconds)
    assert found.errors == []
    assert (found.failed_writes, found.lost) == (0, 0)
    assert found.verdicts == int(seconds * VERDICTS_A_SECOND)
    assert found.labels > 20


@BOTH
def test_raters_and_a_judge_work_together(store: Store) -> None:
    """Four seconds of it, on both databases."""
    soak(store, 4)


@pytest.mark.slow
def test_raters_and_a_judge_work_together_for_long(store: Store) -> None:
    """Thirty seconds of it; afterwards every digest and chain of the SQLite file holds."""
    soak(store, 30)
    if store.dialect == "sqlite":
        assert check(store.where) == ()


def test_the_next_task_is_found_in_a_long_queue() -> None:
    """With a cursor the next task of a rater who has done 900 of 1,000 is there, and costs a moment."""
    assert next_at(1_000, 900, times=3) > 0
