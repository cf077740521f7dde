"""Several criteria in one call: one prompt, one reply, a verdict on each; counted and paid once."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calibration.store.database import Store
from calibration.store.items import Scope
from calibration.store.judges import get_run
from calibration.store.operation import operation_of
from judge.calls import Cost, CostSource, Fault, ModelReply, ModelRequest, Prices, Tokens
from judge.cascading import Escalation, escalation, whole_of
from judge.fake_model import FakeTransport, failed, in_turn, said
from judge.grading import grade, sit
from judge.panel import CascadeJudge
from judge.parsing import Reading
from judge.pricing import spent
from judge.question import asked_together
from judge.runs import RunPlan, StopKind, Tariff, conditions
from judge.runs.answers import ingest_batch
from judge.runs.batch import emit_batch
from judge.runs.estimate import estimate
from judge.runs.replay import replay
from judge.spec_lint import risks
from rubrics.errors import DeclarationError
from rubrics.order import OrderPolicy
from rubrics.rubric import Rubric
from tests.judge.cases import BETTER, PAIRWISE, POINTWISE, SECRET, STATES, TONE, ask, item, judge
from tests.judge.run_world import (
    DATASET,
    NOW,
    adds_up,
    carried_out,
    lay_down,
    number_in,
    numbered,
    planned,
    rows,
    verdicts,
)
from tests.judge.test_probe_guards import rule

ALL = judge(name="all-at-once", criteria_per_call="all", prompt="several@1", order=OrderPolicy.AS_DECLARED)
BOTH_ORDERS = judge(name="both", criteria_per_call=2, prompt="several@1")
KEYS = ("states_terms", "tone")


def of(terms: Any, tone: Any, *, micros: int | None = 10, **changes: Any) -> ModelReply:
    """A reply about both criteria; None leaves one out."""
    given = {"states_terms": terms, "tone": tone}
    content = {key: {"reason": "so", "verdict": word} for key, word in given.items() if word is not None}
    cost = Cost(micros, CostSource.DECLARED) if micros is not None else Cost(None, CostSource.UNKNOWN)
    return replace(said(json.dumps(content), cost=cost, **changes), tokens=Tokens(100, 20, 30))


def right(request: ModelRequest) -> ModelReply:
    """Pass and 3 for an even item, fail and 1 for an odd one."""
    return of("fail", "1") if number_in(request) % 2 else of("pass", "3")


def plan_of(store: Store, spec: Any = ALL, **options: Any) -> RunPlan:
    """The plan over both criteria."""
    return planned(store, spec, **{"criteria": (), **options})


def test_two_criteria_in_one_call_make_half_the_calls(store: Store) -> None:
    """Four items under two criteria: 4 calls and 8 verdicts, where a judge that asks one by one makes 8."""
    lay_down(store, numbered(4), ALL)
    model = FakeTransport(right)
    summary = carried_out(store, plan_of(store), model)
    assert (summary.complete, summary.units, adds_up(summary)) == (True, 8, True)
    assert dict(summary.verdicts) == {"1": 2, "3": 2, "fail": 2, "pass": 2}
    assert len(model.requests) == summary.calls.made == summary.calls.intended == 4
    assert {asked for (asked,) in rows(store, "SELECT criteria FROM judge_call")} == {"states_terms tone"}
    assert len({row["call_key"] for row in verdicts(store)}) == 4


def test_what_a_call_took_is_counted_once(sqlite_store: Store) -> None:
    """Cost and tokens of the run are those of its calls; each criterion's report shows the whole call."""
    lay_down(sqlite_store, numbered(3), ALL)
    summary = carried_out(sqlite_store, plan_of(sqlite_store), right)
    assert (summary.calls.known_micros, summary.calls.unknown_cost) == (30, 0)
    assert (summary.tokens_in, summary.tokens_out) == (360, 90)
    with sqlite_store.read() as session:
        took = spent(session=session, run=get_run(session=session, key=summary.run))
        by_criterion = [
            operation_of(session=session, scope=Scope(dataset=DATASET), run_key=summary.run, criterion=key)
            for key in KEYS
        ]
    assert (took.calls, took.uncached_input, took.cached_input, took.output) == (3, 300, 60, 90)
    assert (took.known_micros, took.verdicts, took.uncounted) == (30, 6, 0)
    assert [found.cost_micros for found in by_criterion if found] == [30, 30]


def test_a_call_of_unknown_cost_is_one(sqlite_store: Store) -> None:
    """Two verdicts without a cost are one call without one, and what was set aside for it counts once."""
    lay_down(sqlite_store, numbered(2), ALL)
    tariff = Tariff(Prices(0.0, 1.0))
    plan = plan_of(sqlite_store)
    summary = carried_out(sqlite_store, plan, lambda _: of("pass", "3", micros=None), tariff=tariff)
    assert (summary.calls.unknown_cost, summary.calls.reserved_micros) == (2, 2 * 1024)


def test_one_bad_criterion_leaves_the_other(sqlite_store: Store) -> None:
    """Missing, off the scale: invalid for that criterion alone; no object at all: for both."""
    lay_down(sqlite_store, numbered(3), ALL)

    def handler(request: ModelRequest) -> ModelReply:
        return [of("pass", None), of("maybe", "2"), said("Fine.")][number_in(request)]

    summary = carried_out(sqlite_store, plan_of(sqlite_store), handler)
    assert (summary.complete, dict(summary.verdicts)) == (True, {"2": 1, "pass": 1})
    assert dict(summary.unknown) == {"invalid (out_of_range)": 1, "invalid (unparsed)": 3}


def test_missing_evidence_is_settled_and_the_others_are_asked(sqlite_store: Store) -> None:
    """The criterion that needs the policy abstains without being asked; the call is about the other one."""
    lay_down(sqlite_store, numbered(2, policy=None), ALL)
    asked: list[str] = []

    def handler(request: ModelRequest) -> ModelReply:
        asked.append(request.messages[0].content)
        return said('{"tone": {"reason": "so", "verdict": "2"}}')

    summary = carried_out(sqlite_store, plan_of(sqlite_store), handler)
    assert (summary.complete, dict(summary.verdicts)) == (True, {"2": 2})
    assert dict(summary.unknown) == {"abstained (evidence_missing)": 2}
    assert len(asked) == 2
    assert not any("states_terms" in each for each in asked)
    blank = judge(name="blank", criteria_per_call="all", prompt="several@1", order=OrderPolicy.AS_DECLARED)
    lay_down(sqlite_store, [item("", item_id="silent")], blank)
    silent = carried_out(sqlite_store, plan_of(sqlite_store, blank), handler)
    assert dict(silent.verdicts) == {"1": 1, "2": 2, "fail": 1}, "a blank output needs no call at all"


def test_both_orders_turn_the_whole_call(sqlite_store: Store) -> None:
    """Two calls an item, every criterion's options turned in the second."""
    lay_down(sqlite_store, numbered(2), BOTH_ORDERS)
    model = FakeTransport(right)
    summary = carried_out(sqlite_store, plan_of(sqlite_store, BOTH_ORDERS), model)
    assert (summary.complete, summary.units, len(model.requests)) == (True, 8, 4)
    systems = {request.messages[0].content for request in model.requests}
    assert sorted(text.index('"1"') < text.index('"3"') for text in systems) == [False, True]
    assert sorted(text.index('"pass"') < text.index('"fail"') for text in systems) == [False, True]


def test_a_failed_call_leaves_every_criterion_open_and_is_asked_again(sqlite_store: Store) -> None:
    """One fault for the call, two open units; the next process asks both again in one call."""
    lay_down(sqlite_store, numbered(2), ALL)

    def broken(request: ModelRequest) -> Any:
        return failed(Fault.TIMEOUT) if number_in(request) == 1 else of("pass", "3")

    plan = plan_of(sqlite_store)
    summary = carried_out(sqlite_store, plan, broken)
    assert (summary.done, dict(summary.errors), summary.pending) == (2, {"timeout": 2}, 0)
    assert adds_up(summary)
    assert rows(sqlite_store, "SELECT COUNT(*) FROM judge_call_fault") == [(1,)]
    model = FakeTransport(right)
    again = carried_out(sqlite_store, plan, model)
    assert (again.complete, len(model.requests), again.calls.intended) == (True, 1, 3)
    assert rows(sqlite_store, "SELECT MAX(attempt) FROM judge_call") == [(2,)]


STRUCK = """
import os, signal, sys
from calibration.store.schema import open_store
from tests.judge.run_world import carried_out
from tests.judge.test_several_criteria import plan_of, right

asked = []

def struck(request):
    asked.append(request)
    if len(asked) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return right(request)

with open_store(sys.argv[1]) as store:
    carried_out(store, plan_of(store), struck, concurrency=1)
"""


def test_a_killed_run_loses_nothing(sqlite_store: Store) -> None:
    """Kill -9 in the third of five calls: two calls are stored, each with both verdicts; one is unresolved.

    The run that goes on makes the three that are left, and never a part of a call.
    """
    lay_down(sqlite_store, numbered(5), ALL)
    command = [sys.executable, "-c", STRUCK, str(sqlite_store.engine.url.database)]
    assert subprocess.run(command, check=False, timeout=120).returncode == -signal.SIGKILL
    calls = Counter(row["call_key"] for row in verdicts(sqlite_store))
    assert list(calls.values()) == [2, 2]
    model = FakeTransport(right)
    summary = carried_out(sqlite_store, plan_of(sqlite_store), model)
    assert (summary.complete, adds_up(summary), len(model.requests)) == (True, True, 3)
    assert dict(summary.verdicts) == {"1": 2, "3": 3, "fail": 2, "pass": 3}
    assert (summary.calls.intended, summary.calls.unresolved, summary.calls.known_micros) == (6, 1, 50)


def test_one_reask_for_a_reply_that_cannot_be_read_under_any_criterion(sqlite_store: Store) -> None:
    """Words are asked for once more, in one call; a reply that only lacks a criterion is not."""
    reasks = ALL.model_copy(update={"reask": True, "name": "reasks"})
    lay_down(sqlite_store, numbered(1), reasks)
    model = FakeTransport(in_turn(said("words"), of("pass", None)))
    summary = carried_out(sqlite_store, plan_of(sqlite_store, reasks), model)
    assert (summary.complete, dict(summary.verdicts), len(model.requests)) == (True, {"pass": 1}, 2)
    assert dict(summary.unknown) == {"invalid (unparsed)": 1}
    assert (summary.calls.made, summary.calls.unresolved) == (2, 0)


def test_the_very_same_call_is_not_paid_twice(sqlite_store: Store) -> None:
    """Another run of the judge takes over both verdicts at cost 0; other company would be another call."""
    lay_down(sqlite_store, numbered(2), ALL)
    first = carried_out(sqlite_store, plan_of(sqlite_store), right)
    lay_down(sqlite_store, [item("Case 8: 8 days.", item_id="n-8")])
    model = FakeTransport(right)
    second = carried_out(sqlite_store, plan_of(sqlite_store), model)
    assert first.run != second.run
    assert (second.complete, len(model.requests), second.calls.known_micros) == (True, 1, 10)
    assert dict(second.verdicts) == {"1": 1, "3": 2, "fail": 1, "pass": 2}


def test_a_cap_holds_by_the_call(sqlite_store: Store) -> None:
    """Money for three calls of 10 that may cost 1,024: spent once a call, not once a criterion."""
    lay_down(sqlite_store, numbered(9), ALL)
    options: dict[str, Any] = {"tariff": Tariff(Prices(0.0, 1.0)), "max_cost_micros": 1050, "concurrency": 1}
    summary = carried_out(sqlite_store, plan_of(sqlite_store), right, **options)
    assert summary.stopped is not None
    assert (summary.stopped.kind, summary.calls.made) == (StopKind.COST_CAP, 3)
    assert carried_out(sqlite_store, plan_of(sqlite_store), right, **options).calls.made == 3


def test_an_estimate_counts_calls_and_not_criteria(sqlite_store: Store) -> None:
    """Four items of which two lack the policy: four calls about six units, two settled without one."""
    lay_down(
        sqlite_store, [*numbered(2), item(item_id="x", policy=None), item(item_id="y", policy=None)], ALL
    )
    with sqlite_store.read() as session:
        found = estimate(
            session=session,
            plan=plan_of(sqlite_store),
            tariff=Tariff(Prices(0.0, 1.0)),
            source=CostSource.DECLARED,
        )
    assert (found.units, found.calls, found.without_call) == (8, 4, 2)
    assert (found.tokens_out, found.tokens_out_at_most) == (6 * 120, 4 * 1024)


def batch_answers(path: Path, texts: dict[int, str]) -> Path:
    """The file that a batch service gives back, an answer for each request."""
    answers = path.with_name("answers.jsonl")
    lines = []
    for line in path.read_text("ascii").splitlines():
        request = json.loads(line)
        number = next(n for n in texts if f"Case {n}:" in request["body"]["messages"][1]["content"])
        body = {
            "model": "test-1",
            "choices": [{"message": {"content": texts[number]}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 50, "completion_tokens": 5},
        }
        reply = {"custom_id": request["custom_id"], "response": {"status_code": 200, "body": body}}
        lines.append(json.dumps(reply))
    answers.write_text("\n".join(lines) + "\n", "utf-8")
    return answers


@pytest.mark.parametrize("reading", [Reading.STRUCTURED, Reading.MARKED])
def test_a_batch_has_a_line_a_call(sqlite_store: Store, tmp_path: Path, reading: Reading) -> None:
    """Two items: two lines, four verdicts, paid by the line; in the marked reading by the line's own mark."""
    spec = ALL.model_copy(update={"reading": reading})
    lay_down(sqlite_store, numbered(2), spec)
    plan, path = plan_of(sqlite_store, spec), tmp_path / "batch.jsonl"
    written = emit_batch(sqlite_store, plan, path, tariff=Tariff(), now=NOW)
    assert (written.requests, written.settled) == (2, 0)
    texts = {0: of("pass", "3").text or "", 1: of("fail", None).text or ""}
    if reading is Reading.MARKED:
        marks = [json.loads(line)["custom_id"].partition("-")[2] for line in path.read_text().splitlines()]
        texts = {n: f"VERDICT {marks[0]} VERDICT {marks[1]}\n{text}" for n, text in texts.items()}
    taken = ingest_batch(sqlite_store, plan, batch_answers(path, texts), prices=Prices(1.0, 1.0), now=NOW)
    assert (taken.verdicts, taken.failed, taken.strange) == (4, 0, 0)
    assert dict(taken.summary.verdicts) == {"3": 1, "fail": 1, "pass": 1}
    assert dict(taken.summary.unknown) == {"invalid (unparsed)": 1}
    assert (taken.summary.calls.known_micros, taken.summary.calls.unresolved) == (2 * 55, 0)


@pytest.mark.parametrize("reading", [Reading.STRUCTURED, Reading.MARKED])
def test_stored_replies_are_read_again_by_criterion(sqlite_store: Store, reading: Reading) -> None:
    """A replay reads the same: each verdict from its own object, whatever was asked with it."""
    spec = ALL.model_copy(update={"reading": reading})
    lay_down(sqlite_store, [*numbered(2), item("Case 2: 2 days.", item_id="n-2", policy=None)], spec)

    def handler(request: ModelRequest) -> ModelReply:
        mark = request.messages[1].content.rpartition("VERDICT ")[2] if reading is Reading.MARKED else ""
        reply = [of("pass", "3"), of("maybe", "1"), of(None, "2")][number_in(request)]
        return said(f"{mark}{reply.text}")

    summary = carried_out(sqlite_store, plan_of(sqlite_store, spec), handler)
    assert summary.complete
    found = replay(sqlite_store, plan_of(sqlite_store, spec), summary.run, now=NOW)
    assert (found.read, found.without_reply, found.changed) == (5, 1, [])


def test_a_criterion_is_always_asked_in_the_same_company(sqlite_store: Store) -> None:
    """Wanted alone it is planned with those that share its call: what is examined is what is asked."""
    lay_down(sqlite_store, numbered(1), ALL)
    assert planned(sqlite_store, ALL, criteria=("tone",)).content == plan_of(sqlite_store).content
    third = STATES.model_copy(update={"key": "third"})
    rubric = Rubric(
        name="three", version=1, title="Three", purpose="Three.", evidence=POINTWISE.evidence,
        criteria=(STATES, TONE, third),
    )  # fmt: skip
    assert asked_together(BOTH_ORDERS, rubric.criteria) == ((STATES, TONE), (third,))
    lay_down(sqlite_store, [], BOTH_ORDERS, rubric=rubric)
    alone = planned(sqlite_store, BOTH_ORDERS, rubric=rubric, criteria=("third",))
    assert (alone.criteria, alone.together) == ((third,), ((third,),))


def test_grading_asks_as_the_run_did() -> None:
    """One criterion of one item is asked with those that share its call, and gets its own verdict."""
    sitting = sit(BOTH_ORDERS, POINTWISE, secret=SECRET)
    model = FakeTransport(lambda _: of("pass", "3"))
    graded = asyncio.run(grade(sitting, ask(item(), TONE), model))
    assert (graded.answer.value, len(model.requests)) == ("3", 2)
    assert all("states_terms" in request.messages[0].content for request in model.requests)
    bare = asyncio.run(grade(sitting, ask(item(policy=None)), model))
    assert (bare.outcome, len(model.requests)) == (bare.verdicts[0].answer.unknown, 2)
    mumbled = sit(ALL.model_copy(update={"reask": True}), POINTWISE, secret=SECRET)
    twice = FakeTransport(in_turn(said("words"), of("fail", "2")))
    graded = asyncio.run(grade(mumbled, ask(item(), TONE), twice))
    assert (graded.answer.value, [each.raw for each in graded.verdicts[0].unread]) == ("2", [b"words"])
    down = FakeTransport(lambda _: failed(Fault.TIMEOUT))
    (verdict,) = asyncio.run(grade(sit(ALL, POINTWISE, secret=SECRET), ask(item(), TONE), down)).verdicts
    assert (verdict.criterion, verdict.reason, verdict.detail) == ("tone", "error", "timeout")


def test_preferences_are_refused_before_anything_is_asked(sqlite_store: Store) -> None:
    """One clear sentence at the plan."""
    pair_item = item().model_copy(update={"output": None, "output_a": "a", "output_b": "b"})
    lay_down(sqlite_store, [pair_item], ALL, rubric=PAIRWISE)
    with pytest.raises(
        DeclarationError, match=rf"'{BETTER.key}' is a preference; declare `criteria_per_call"
    ):
        planned(sqlite_store, ALL, rubric=PAIRWISE, criteria=())


def test_the_second_judge_of_a_cascade_is_refused_unless_it_was_asked_about_everything(
    sqlite_store: Store,
) -> None:
    """Items are sent on under one criterion: no run of parts of calls, one clear sentence instead."""
    cheap = rule("cheap", "days")
    two = CascadeJudge(kind="cascade", name="two", first=cheap.digest, then=ALL.digest, escalate=("pass",))
    lay_down(sqlite_store, numbered(3), cheap, ALL, two)
    assert carried_out(sqlite_store, planned(sqlite_store, cheap), right).complete

    def sent_on() -> Escalation:
        with sqlite_store.read() as session:
            whole = whole_of(
                session=session,
                cascade=two,
                rubric=POINTWISE,
                dataset=DATASET,
                set_digest=None,
                criteria=[KEYS[0]],
            )
            return escalation(session=session, whole=whole, criterion=KEYS[0])

    with pytest.raises(DeclarationError, match="asks several criteria in one call, and items are sent on"):
        sent_on()
    assert carried_out(sqlite_store, plan_of(sqlite_store), right).complete
    assert (sent_on().sent, sent_on().plan) == (3, None)
    assert dict(carried_out(sqlite_store, planned(sqlite_store, two), right).verdicts) == {
        "fail": 1,
        "pass": 2,
    }


def test_the_lint_calls_it_risky() -> None:
    """Halo: one verdict colours the next."""
    assert any("several criteria in one call" in risk and "halo" in risk for risk in risks(ALL))
    assert not any("several" in risk for risk in risks(judge()))


def test_the_plan_says_how_many_criteria_share_a_call(sqlite_store: Store) -> None:
    """Among what is fixed."""
    lay_down(sqlite_store, numbered(1), ALL)
    fixed = [each.what for each in conditions(plan_of(sqlite_store))]
    assert any("up to 2 criteria in one call" in what for what in fixed)
