"""A run that ends by an error: what may be paid is told, and the command that goes on."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import pytest

import judge.runs.command as commanding
from calibration.store.calls import CallEntry, add_calls
from calibration.store.database import Store
from calibration.store.judges import RunOrigin, add_run
from judge.runs import RunPlan
from judge.runs.command import how_on_told
from rubrics.errors import StoreError
from rubrics.order import OrderPolicy
from tests.judge.cases import judge
from tests.judge.cli.records import address, on
from tests.judge.run_world import DATASET, KEY, NOW, lay_down, numbered, planned

ONE = judge(name="one", order=OrderPolicy.AS_DECLARED)
DISK = "the disk failed: nothing of this step was stored"


class Unreadable(Store):
    """A store that does not answer."""

    def read(self) -> NoReturn:
        """Fails."""
        raise StoreError(DISK)


def refuses(store: Store, plan: RunPlan, *_: Any, **__: Any) -> None:
    """Two calls are intended, and their answers are not taken."""
    with store.write() as session:
        run = add_run(
            session=session, judge_digest=ONE.digest, rubric_digest=plan.rubric.digest, dataset=DATASET,
            origin=RunOrigin.RUN, plan=plan.content, units=plan.units, at=NOW,
        )  # fmt: skip
        calls = [CallEntry(run, key, (KEY,), "ab", 1, 1, "x", 50_000) for key in plan.item_keys]
        add_calls(session=session, calls=calls, at=NOW)
    raise StoreError(DISK, retryable=True)


def test_a_store_that_refuses_leaves_what_may_be_paid_and_how_to_go_on(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the one sentence: calls without an answer, what they may cost, the same command; in JSON too."""
    lay_down(sqlite_store, numbered(2), ONE)
    monkeypatch.setattr(commanding, "ask", refuses)
    words = ("judge", "run", "--judge", "one", "--dataset", DATASET, "--criterion", KEY)
    done = on(address(sqlite_store))(*words)
    assert done.exit_code == 3
    first, *beside = done.stderr.splitlines()[-3:]
    assert first == f"voirdire: {DISK}"
    assert beside[0].startswith("  2 calls of this run have no answer")
    assert beside[0].endswith("may be paid twice (up to $0.10)")
    assert beside[1] == f"  go on: voirdire {' '.join(words)}"


def test_what_scripts_read_of_it(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error's object carries both."""
    lay_down(sqlite_store, numbered(1), ONE)
    monkeypatch.setattr(commanding, "ask", refuses)
    words = ("judge", "run", "--judge", "one", "--dataset", DATASET, "--criterion", KEY)
    told = json.loads(on(address(sqlite_store))(*words, "--json").stdout)
    assert (told["error"], told["message"]) == ("store_error", DISK)
    assert told["may_be_paid"][0].startswith("1 call of this run has no answer")
    assert told["resume"] == f"voirdire {' '.join(words)}"


def test_a_store_that_cannot_be_read_either_leaves_the_most_that_may_be_paid(sqlite_store: Store) -> None:
    """As many as may be in flight, of each judge; the error stays the one that ended the run."""
    lay_down(sqlite_store, numbered(1), ONE)
    plan = planned(sqlite_store, ONE)
    gone = Unreadable(sqlite_store.engine)
    with (
        pytest.raises(StoreError, match="the first") as ended,
        how_on_told(gone, "again", plan, plan, in_flight=8),
    ):
        raise StoreError("the first")
    assert ended.value.resume == "again"
    assert ended.value.unstored == (
        "the store cannot be read either: up to 16 calls in flight may have been paid, and their answers are "
        "not stored",
    )
