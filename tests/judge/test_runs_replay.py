"""Stored replies read again: no call, the same verdicts, and a changed reading told or stored apart."""

from __future__ import annotations

import json
from typing import Any

import pytest

import judge.runs.replay as replaying
from calibration.store.database import Store
from calibration.store.judges import get_run
from calibration.store.operation import reported_models
from judge.calls import Fault, ModelCallError, ModelReply, ModelRequest, Prices
from judge.fake_model import said
from judge.parsing import AnswerForm, Parsed, Reading, parse
from judge.pricing import spent
from judge.runs.command import keep_prices
from judge.runs.replay import replay
from rubrics.answer import answered
from rubrics.errors import DeclarationError, RecordError
from rubrics.order import OrderPolicy
from tests.judge.cases import item, judge
from tests.judge.cli.records import address, on
from tests.judge.run_world import (
    DATASET,
    KEY,
    NOW,
    answer,
    carried_out,
    lay_down,
    number_in,
    numbered,
    planned,
    rows,
    state,
    verdicts,
)

ONE = judge(name="one", order=OrderPolicy.AS_DECLARED)
REPLIES = [
    answer("pass"),
    answer("fail"),
    said('{"reason": "x", "verdict": "pa', finish="length"),
    said("words"),
    said("", refusal="No."),
    answer("maybe"),
]


def each_its_own(request: ModelRequest) -> ModelReply:
    """A pass, a fail, a truncated, an unreadable, a refused and an out-of-range reply."""
    return REPLIES[number_in(request) % len(REPLIES)]


def test_every_stored_reply_reads_as_before(store: Store) -> None:
    """Cut off, refused and off the scale included; nothing is written."""
    lay_down(store, [*numbered(6), item(" ", item_id="blank")], ONE)
    run = carried_out(store, planned(store, ONE), each_its_own).run
    before = verdicts(store)
    found = replay(store, planned(store, ONE), run[:8], now=NOW)
    assert (found.read, found.without_reply, found.changed, found.run) == (6, 1, [], None)
    assert verdicts(store) == before
    assert len(rows(store, "SELECT key FROM judge_run")) == 1


def test_marked_replies_are_read_by_the_mark_that_is_kept(sqlite_store: Store) -> None:
    """The run's secret is gone; the mark stands beside the reply."""
    spec = judge(name="marked", reading=Reading.MARKED, order=OrderPolicy.AS_DECLARED)
    lay_down(sqlite_store, numbered(3), spec)

    def marked(request: ModelRequest) -> ModelReply:
        mark = request.messages[-1].content.rpartition("VERDICT ")[2]
        return said(f'Thinking.\nVERDICT {mark}\n{{"reason": "x", "verdict": "pass"}}')

    run = carried_out(sqlite_store, planned(sqlite_store, spec), marked).run
    found = replay(sqlite_store, planned(sqlite_store, spec), run, now=NOW)
    assert (found.read, found.changed) == (3, [])


def test_another_reading_is_told_and_stored_for_another_judge_only(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reading that takes `maybe` for a fail: told for the judge itself, stored for one of another name."""
    other = judge(name="other", order=OrderPolicy.AS_DECLARED)
    lay_down(store, numbered(6), ONE, other)
    run = carried_out(store, planned(store, ONE), each_its_own).run

    def lenient(text: str | None, form: AnswerForm, **how: Any) -> Parsed:
        return Parsed(answered("fail")) if text and "maybe" in text else parse(text, form, **how)

    monkeypatch.setattr(replaying, "parse", lenient)
    found = replay(store, planned(store, ONE), run, now=NOW)
    assert [(each.item_id, each.before, each.after) for each in found.changed] == [
        ("n-5", "unknown (invalid, out_of_range)", "fail")
    ]
    assert found.run is None
    kept = replay(store, planned(store, other), run, now=NOW)
    assert kept.run is not None
    mine = verdicts(store, kept.run)
    assert sorted(row["value"] for row in mine) == ["fail", "fail", "pass", "unknown", "unknown", "unknown"]
    assert {row["cost_micros"] for row in mine} == {0}
    assert {row["call_key"] for row in mine} == {None}
    with store.read() as session:  # what was paid was paid by the run whose replies these are
        assert spent(session=session, run=get_run(session=session, key=kept.run)).calls == 0
    again = replay(store, planned(store, other), run, now=NOW)
    assert (again.run, verdicts(store, kept.run)) == (kept.run, mine)


def test_who_answered_is_kept(store: Store) -> None:
    """Two models answered the run, so the copy is of both and its report warns as the run's own does."""
    other = judge(name="other", order=OrderPolicy.AS_DECLARED)
    lay_down(store, numbered(4), ONE, other)

    def two(request: ModelRequest) -> ModelReply:
        return answer("pass", model=f"m-{number_in(request) % 2}")

    run = carried_out(store, planned(store, ONE), two, any_model=True).run
    copied = replay(store, planned(store, other), run, now=NOW).run
    assert copied is not None
    with store.read() as session:
        assert reported_models(session=session, run_key=run) == ("m-0", "m-1")
        assert reported_models(session=session, run_key=copied) == ("m-0", "m-1")


@pytest.mark.parametrize(
    ("changes", "said_of_it"), [({"labels": "letters"}, "labels"), ({"model": "openai/x"}, "model")]
)
def test_a_judge_that_would_have_asked_otherwise_reads_no_reply(
    sqlite_store: Store, changes: dict[str, Any], said_of_it: str
) -> None:
    """Other options or another model: these replies are no answers of that judge."""
    other = judge(name="other", order=OrderPolicy.AS_DECLARED, **changes)
    lay_down(sqlite_store, numbered(2), ONE, other)
    run = carried_out(sqlite_store, planned(sqlite_store, ONE), each_its_own).run
    with pytest.raises(DeclarationError, match=f"differs from the run's judge in {said_of_it}"):
        replay(sqlite_store, planned(sqlite_store, other), run, now=NOW)
    with pytest.raises(RecordError, match="no such run begins with 'zz'"):
        replay(sqlite_store, planned(sqlite_store, ONE), "zz", now=NOW)


def test_the_command(sqlite_store: Store) -> None:
    """Exit 0 and a sentence where all read as before."""
    lay_down(sqlite_store, numbered(3), ONE)
    run = carried_out(sqlite_store, planned(sqlite_store, ONE), each_its_own).run
    base = ("judge", "run", "--judge", "one", "--dataset", DATASET, "--criterion", KEY, "--replay", run)
    done = on(address(sqlite_store))(*base)
    assert done.exit_code == 0
    assert "Read 3 replies again" in done.stdout
    assert "all read as before" in done.stdout
    assert json.loads(on(address(sqlite_store))(*base, "--json").stdout)["read"] == 3


def test_a_part_of_a_run_read_again_says_what_is_left(sqlite_store: Store) -> None:
    """Two of five units have a verdict: exit 3, the rest told with the prices of the first part, the copy not
    finished.
    """
    other = judge(name="other", order=OrderPolicy.AS_DECLARED)
    lay_down(sqlite_store, numbered(5), ONE, other)
    failed = ModelCallError("refused", fault=Fault.BAD_REQUEST)
    plan = planned(sqlite_store, ONE)
    run = carried_out(sqlite_store, plan, lambda r: answer("pass") if number_in(r) < 2 else failed).run
    base = ("judge", "run", "--judge", "other", "--dataset", DATASET, "--criterion", KEY, "--replay", run)
    done = on(address(sqlite_store))(*base)
    assert done.exit_code == 3
    assert "3 of 5 units have no verdict" in done.stderr
    assert "judge run --judge one" in done.stderr
    assert "--price" not in done.stderr
    for prices in (Prices(0.4, 2), Prices(1, 2.5), Prices(1, 2.5)):
        keep_prices(sqlite_store, plan, prices)
    assert len(rows(sqlite_store, "SELECT 1 FROM audit_event WHERE stream = 'runs'")) == 2
    told = json.loads(on(address(sqlite_store))(*base, "--json").stdout)
    assert told["resume"].endswith(f"--criterion {KEY} --price-input 1.0 --price-output 2.5")
    assert told["resume"] in on(address(sqlite_store))(*base).stderr
    own = on(address(sqlite_store))(*base, "--price-input", "3", "--price-output", "4", "--json")
    assert json.loads(own.stdout)["resume"].endswith("--price-input 3.0 --price-output 4.0")
    assert (told["units"], told["without_verdict"]) == (5, 3)
    assert state(sqlite_store, told["run"]) == "paused"
    carried_out(sqlite_store, plan, lambda _: answer("fail"))
    assert on(address(sqlite_store))(*base).exit_code == 0
    assert state(sqlite_store, told["run"]) == "finished"


def test_a_run_names_its_own_items_and_a_dry_run_stores_none(sqlite_store: Store) -> None:
    """Without --dataset items, rubric, criteria and repeats are those of the run; --dry-run only reads."""
    other = judge(name="other", order=OrderPolicy.AS_DECLARED)
    lay_down(sqlite_store, numbered(3), ONE, other)
    run = carried_out(sqlite_store, planned(sqlite_store, ONE, repeats=2), each_its_own).run
    base = ("judge", "run", "--judge", "other", "--replay", run)
    dry = json.loads(on(address(sqlite_store))(*base, "--dry-run", "--json").stdout)
    assert (dry["dry_run"], dry["read"], dry["run"]) == (True, 6, None)
    assert len(rows(sqlite_store, "SELECT key FROM judge_run")) == 1
    kept = on(address(sqlite_store))(*base, "--json")
    assert (kept.exit_code, json.loads(kept.stdout)["without_verdict"]) == (0, 0)
    assert len(verdicts(sqlite_store, json.loads(kept.stdout)["run"])) == 6
    assert on(address(sqlite_store))("judge", "run", "--judge", "other").exit_code == 64
