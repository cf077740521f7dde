"""A run through a batch service: requests out, answers in, in any order, twice, damaged or missing."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from calibration.store.database import Store
from calibration.store.erasing import erase_item
from calibration.store.judges import get_run
from judge.calls import Prices
from judge.parsing import Reading
from judge.pricing import spent
from judge.runs.answers import count_answers, ingest_batch
from judge.runs.batch import emit_batch
from judge.runs.budget import Tariff
from judge.runs.summary import StopKind
from judge.runs.words import summary_words
from judge.spec import ModelJudge
from rubrics.errors import DeclarationError, RecordError
from tests.judge.cases import item, judge
from tests.judge.cli.records import address, on
from tests.judge.provider import completion, fault
from tests.judge.run_world import (
    DATASET,
    KEY,
    NOW,
    adds_up,
    carried_out,
    even_passes,
    lay_down,
    numbered,
    planned,
    rows,
    state,
    verdicts,
)


def emitted(store: Store, spec: ModelJudge, path: Path) -> list[dict[str, Any]]:
    """The requests of the judge's open calls."""
    emit_batch(store, planned(store, spec), path, tariff=Tariff(Prices(1.0, 1.0)), now=NOW)
    return [json.loads(line) for line in path.read_text("ascii").split("\n") if line]


def answered(request: dict[str, Any], text: str, **how: Any) -> dict[str, Any]:
    """What the service says to a request."""
    body = json.loads(completion(text, **{"model": "fake-1", **how}).body)  # the one of ordinary runs here
    return {
        "id": "b",
        "custom_id": request["custom_id"],
        "response": {"status_code": 200, "body": body},
        "error": None,
    }


def by_number(request: dict[str, Any]) -> str:
    """Pass for an even item, fail for an odd one."""
    text = request["body"]["messages"][1]["content"]
    number = int(text.partition("Case ")[2].partition(":")[0])
    return json.dumps({"reason": "as asked", "verdict": "fail" if number % 2 else "pass"})


def written(path: Path, *lines: Any) -> Path:
    """A file of these lines; a text is written as it is."""
    path.write_text(
        "".join(f"{x if isinstance(x, str) else json.dumps(x)}\n" for x in lines), encoding="utf-8"
    )
    return path


def test_requests_out_answers_in(store: Store, tmp_path: Path) -> None:
    """Every unit has its verdict with tokens and cost, in whatever order it came; twice adds nothing."""
    spec = judge()
    lay_down(store, [*numbered(6), item("  ", item_id="blank")], spec)
    requests = emitted(store, spec, tmp_path / "out.jsonl")
    assert len(requests) == 12
    assert {(each["method"], each["url"]) for each in requests} == {("POST", "/v1/chat/completions")}
    assert {each["body"]["model"] for each in requests} == {"test-1"}
    assert len({each["custom_id"] for each in requests}) == 12
    assert {row["value"] for row in verdicts(store)} == {"fail"}  # the blank item needed no call
    plan = planned(store, spec)
    lines = [answered(each, by_number(each)) for each in requests]
    random.Random(1).shuffle(lines)
    file = written(tmp_path / "in.jsonl", *lines)
    taken = ingest_batch(store, plan, file, prices=Prices(1.0, 2.0), now=NOW)
    assert (taken.verdicts, taken.failed, taken.strange) == (12, 0, 0)
    assert (taken.summary.complete, adds_up(taken.summary)) == (True, True)
    assert taken.summary.verdicts == {"fail": 6 + 2, "pass": 6}
    assert taken.summary.calls.known_micros == 12 * (100 + 2 * 7)
    assert (taken.summary.calls.unresolved, state(store, taken.summary.run)) == (0, "finished")
    before = verdicts(store)
    again = ingest_batch(store, plan, file, prices=Prices(1.0, 2.0), now=NOW)
    assert (again.summary.complete, verdicts(store)) == (True, before)


def test_what_is_damaged_or_missing_leaves_its_unit_open(store: Store, tmp_path: Path) -> None:
    """An error, a filter, a foreign name, half a line, no answer at all: no verdict is lost or invented."""
    spec = judge(order="as_declared")
    lay_down(store, numbered(8), spec)
    requests = emitted(store, spec, tmp_path / "out.jsonl")
    named = {int(each["body"]["messages"][1]["content"].partition("Case ")[2][0]): each for each in requests}
    error = {"status_code": 500, "body": json.loads(fault(500).body)}
    filtered = {"status_code": 400, "body": json.loads(fault(400, code="content_filter").body)}
    file = written(
        tmp_path / "in.jsonl",
        {"custom_id": named[0]["custom_id"], "response": error},
        {"custom_id": named[1]["custom_id"], "response": None, "error": {"code": "batch_expired"}},
        {"custom_id": named[2]["custom_id"], "response": {"status_code": 200, "body": {"choices": []}}},
        {"custom_id": "nobody", "response": {"status_code": 200, "body": {}}},
        '{"custom_id": "half',
        "[1, 2]",
        answered(named[3], by_number(named[3])),
        answered(named[4], by_number(named[4]), finish="length"),
        {"custom_id": named[5]["custom_id"], "response": filtered},
    )
    taken = ingest_batch(store, planned(store, spec), file, prices=None, now=NOW)
    assert (taken.verdicts, taken.failed, taken.strange) == (3, 3, 3)
    assert (taken.summary.complete, adds_up(taken.summary)) == (False, True)
    assert taken.summary.verdicts == {"fail": 1}
    assert taken.summary.unknown == {"invalid (content_filter)": 1, "invalid (truncated)": 1}
    assert taken.summary.errors == {"provider_error": 3}
    assert (taken.summary.pending, taken.summary.calls.unresolved) == (2, 2)
    told = list(summary_words(taken.summary))
    assert "  open: provider_error 3, out in a batch or cut off 2" in told
    done = carried_out(store, planned(store, spec), even_passes)  # an ordinary run goes on with the rest
    assert (done.complete, done.verdicts) == (True, {"fail": 3, "pass": 3})


def test_a_marked_reply_is_read_by_its_own_mark(sqlite_store: Store, tmp_path: Path) -> None:
    """The mark travels in the name of the request, as the secret does not outlive the process."""
    spec = judge(reading=Reading.MARKED, order="as_declared")
    lay_down(sqlite_store, numbered(2), spec)
    requests = emitted(sqlite_store, spec, tmp_path / "out.jsonl")
    lines = []
    for request in requests:
        mark = request["custom_id"].partition("-")[2]
        assert f"VERDICT {mark}" in request["body"]["messages"][1]["content"]
        lines.append(answered(request, f"I think.\nVERDICT {mark}\n{by_number(request)}"))
    lines[1] = answered(requests[1], by_number(requests[1]))  # without its mark it is no verdict
    file = written(tmp_path / "in.jsonl", *lines)
    taken = ingest_batch(sqlite_store, planned(sqlite_store, spec), file, prices=None, now=NOW)
    assert (sum(taken.summary.verdicts.values()), taken.summary.unknown) == (1, {"invalid (unparsed)": 1})


def test_an_answer_to_a_text_that_is_gone_is_not_taken(sqlite_store: Store, tmp_path: Path) -> None:
    """The item was erased meanwhile: nothing is stored for it."""
    spec = judge(order="as_declared")
    lay_down(sqlite_store, numbered(2), spec)
    requests = emitted(sqlite_store, spec, tmp_path / "out.jsonl")
    erase_item(store=sqlite_store, dataset=DATASET, item_id="n-0", signer="lead", reason="asked to", at=NOW)
    file = written(tmp_path / "in.jsonl", *(answered(each, by_number(each)) for each in requests))
    taken = ingest_batch(sqlite_store, planned(sqlite_store, spec), file, prices=None, now=NOW)
    assert (taken.verdicts, taken.strange) == (1, 1)


def test_only_what_speaks_the_form_is_batched(sqlite_store: Store, tmp_path: Path) -> None:
    """Another provider's form, or a file that is there, is refused in one sentence."""
    spec = judge(name="other", model="anthropic/claude-x")
    lay_down(sqlite_store, numbered(1), spec, judge())
    with pytest.raises(DeclarationError, match="OpenAI's form"):
        emitted(sqlite_store, spec, tmp_path / "out.jsonl")
    (tmp_path / "there.jsonl").write_text("mine")
    with pytest.raises(DeclarationError, match="exists"):
        emitted(sqlite_store, judge(), tmp_path / "there.jsonl")
    assert rows(sqlite_store, "SELECT key FROM judge_call") == []


def risks(dry_run: Any) -> list[str]:
    """What a run that was not made would risk."""
    found: list[str] = json.loads(dry_run.stdout)["risks"]
    return found


def test_the_commands(sqlite_store: Store, tmp_path: Path) -> None:
    """Out (0), in with open units (3), in with all (0); meanwhile a run says what it may pay twice."""
    lay_down(sqlite_store, numbered(3), judge(order="as_declared"))
    command = on(address(sqlite_store))
    base = ("judge", "run", "--judge", "test-judge", "--dataset", DATASET, "--criterion", KEY)
    out, back = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    done = command(*base, "--emit-batch", str(out))
    assert (done.exit_code, "Wrote 3 requests" in done.stdout) == (0, True)
    requests = [json.loads(line) for line in out.read_text().split("\n") if line]
    lines = [answered(each, by_number(each)) for each in requests]
    (risk,) = [risk for risk in risks(command(*base, "--dry-run", "--json")) if "no answer" in risk]
    assert "3 calls of this run have no answer" in risk
    assert "may be paid twice" in risk
    assert command(*base, "--ingest-batch", str(written(back, *lines[:2]))).exit_code == 3
    assert any("1 call of this run has" in risk for risk in risks(command(*base, "--dry-run", "--json")))
    final = command(*base, "--ingest-batch", str(written(back, *lines)), "--json")
    assert (final.exit_code, json.loads(final.stdout)["complete"]) == (0, True)
    assert command(*base, "--ingest-batch", str(tmp_path / "none.jsonl")).exit_code == 3
    assert command(*base, "--ingest-batch", "a", "--emit-batch", "b").exit_code == 64


def test_a_file_of_requests_is_refused_and_nothing_is_stored(sqlite_store: Store, tmp_path: Path) -> None:
    """Whoever gives the wrong file of the two is told, and no cost is rewritten."""
    spec = judge(order="as_declared")
    lay_down(sqlite_store, numbered(2), spec)
    emitted(sqlite_store, spec, tmp_path / "out.jsonl")
    plan, before = planned(sqlite_store, spec), rows(sqlite_store, "SELECT * FROM judge_call_fault")
    with pytest.raises(DeclarationError, match="holds requests and no answers"):
        ingest_batch(sqlite_store, plan, tmp_path / "out.jsonl", prices=None, now=NOW)
    other = written(tmp_path / "other.jsonl", {"a": 1}, "[]")
    with pytest.raises(DeclarationError, match="holds no answer of a batch"):
        ingest_batch(sqlite_store, plan, other, prices=None, now=NOW)
    assert (rows(sqlite_store, "SELECT * FROM judge_call_fault"), verdicts(sqlite_store)) == (before, [])


def test_what_is_said_twice_or_otherwise_or_late_is_counted_apart(
    sqlite_store: Store, tmp_path: Path
) -> None:
    """Repeats, contradictions and late answers are no verdicts; the first answer stands."""
    spec = judge(order="as_declared")
    lay_down(sqlite_store, numbered(3), spec)
    first = emitted(sqlite_store, spec, tmp_path / "out.jsonl")
    plan = planned(sqlite_store, spec)
    says = ['{"reason": "as asked", "verdict": "pass"}', '{"reason": "as asked", "verdict": "fail"}']
    lines = [answered(first[0], text) for text in (says[0], says[0], says[1])]
    file = written(tmp_path / "in.jsonl", *lines, {"custom_id": "nobody", "response": None})
    taken = ingest_batch(sqlite_store, plan, file, prices=Prices(1.0, 2.0), now=NOW)
    assert taken.to_json() == {
        "verdicts": 1, "failed": 0, "strange": 1, "repeated": 1, "contradicting": 1, "late": 0, "changed": 0,
        "cut": 0,
    }  # fmt: skip
    assert taken.summary.verdicts == {"pass": 1}
    assert taken.summary.stopped is not None
    assert "2 units have no verdict: 2 have no answer yet" in taken.summary.stopped.sentence
    assert carried_out(sqlite_store, plan, even_passes).complete  # the other two are asked meanwhile
    late = written(tmp_path / "late.jsonl", *(answered(each, says[0]) for each in first[1:]))
    kept = ingest_batch(sqlite_store, plan, late, prices=Prices(1.0, 2.0), now=NOW)
    assert (kept.late, kept.verdicts, kept.summary.calls.unresolved) == (2, 0, 0)
    again = ingest_batch(sqlite_store, plan, late, prices=Prices(1.0, 2.0), now=NOW)
    assert (again.late, again.summary) == (2, kept.summary)
    # one reply taken, two of the fake model, which counts 5 tokens out, two late ones
    assert (kept.summary.tokens_in, kept.summary.tokens_out) == (3 * 100, 3 * 7 + 2 * 5)
    with sqlite_store.read() as session:
        found = spent(session=session, run=get_run(session=session, key=kept.summary.run))
    assert (found.calls, found.lost, found.tokens) == (5, 2, (300, 31))


def test_a_batch_that_is_out_is_remembered(sqlite_store: Store, tmp_path: Path) -> None:
    """A second file is written only where that is said; no sentence says that calls were cut off alone."""
    spec = judge(order="as_declared")
    lay_down(sqlite_store, numbered(2), spec)
    plan, tariff = planned(sqlite_store, spec), Tariff(Prices(1.0, 1.0))
    with pytest.raises(DeclarationError, match="there is no folder"):
        emit_batch(sqlite_store, plan, tmp_path / "none" / "x", tariff=tariff, now=NOW)
    emit_batch(sqlite_store, plan, tmp_path / "one", tariff=tariff, now=NOW)
    with pytest.raises(RecordError, match=r"2 calls of this run have no answer.*paid twice.*--again"):
        emit_batch(sqlite_store, plan, tmp_path / "two", tariff=tariff, now=NOW)
    assert not (tmp_path / "two").exists()
    assert emit_batch(sqlite_store, plan, tmp_path / "two", tariff=tariff, now=NOW, again=True).requests == 2


PASS = '{"reason": "as asked", "verdict": "pass"}'


def test_answers_of_another_model_give_no_verdict_unless_that_is_said(store: Store, tmp_path: Path) -> None:
    """As in an ordinary run: told, counted, paid, open; taken once both models are allowed, and paid once."""
    spec = judge(order="as_declared")
    lay_down(store, numbered(3), spec)
    plan, requests = planned(store, spec), emitted(store, spec, tmp_path / "out.jsonl")
    models = ("m-1", "m-2", "m-2")
    lines = [answered(each, PASS, model=model) for each, model in zip(requests, models, strict=True)]
    file = written(tmp_path / "in.jsonl", *lines)
    prices = Prices(1.0, 2.0)
    counts = count_answers(store, plan, file, prices=prices, now=NOW)
    taken = ingest_batch(store, plan, file, prices=prices, now=NOW)
    assert counts == taken.to_json()
    assert (taken.verdicts, taken.changed, taken.summary.errors) == (1, 2, {"model_changed": 2})
    assert taken.summary.stopped is not None
    assert taken.summary.stopped.kind is StopKind.MODEL_CHANGED
    assert "m-1 has answered so far, and now m-2 does" in taken.summary.stopped.sentence
    paid = (3 * 100, 3 * 7, 3 * 114)
    summary = taken.summary
    assert (summary.tokens_in, summary.tokens_out, summary.calls.known_micros) == paid
    assert ingest_batch(store, plan, file, prices=prices, now=NOW).changed == 2
    both = ingest_batch(store, plan, file, prices=prices, now=NOW, any_model=True).summary
    assert (both.complete, both.models, both.verdicts) == (True, ("m-1", "m-2"), {"pass": 3})
    assert (both.tokens_in, both.tokens_out, both.calls.known_micros) == paid
    with store.read() as session:
        found = spent(session=session, run=get_run(session=session, key=both.run))
    assert (found.calls, found.lost, found.tokens) == (3, 0, (300, 21))


def test_a_price_that_is_not_known_is_not_that_of_an_earlier_error(
    sqlite_store: Store, tmp_path: Path
) -> None:
    """A line that failed, which costs nothing, and later the answer without a price: one unknown cost."""
    spec = judge(order="as_declared")
    lay_down(sqlite_store, numbered(1), spec)
    (request,) = emitted(sqlite_store, spec, tmp_path / "out.jsonl")
    failed = {"custom_id": request["custom_id"], "response": {"status_code": 429, "body": {}}}
    file = written(tmp_path / "in.jsonl", failed, answered(request, PASS))
    done = ingest_batch(sqlite_store, planned(sqlite_store, spec), file, prices=None, now=NOW).summary
    assert (done.complete, done.calls.unknown_cost) == (True, 1)


def test_a_byte_order_mark_is_no_part_of_the_first_answer_and_a_cut_line_is_told(
    sqlite_store: Store, tmp_path: Path
) -> None:
    """The first of two is taken; the last line ends in its middle and is told as that."""
    spec = judge(order="as_declared")
    lay_down(sqlite_store, numbered(2), spec)
    first, second = (
        json.dumps(answered(each, PASS)) for each in emitted(sqlite_store, spec, tmp_path / "out.jsonl")
    )
    (tmp_path / "in.jsonl").write_text(f"\ufeff{first}\n{second[:50]}", encoding="utf-8")
    taken = ingest_batch(
        sqlite_store, planned(sqlite_store, spec), tmp_path / "in.jsonl", prices=None, now=NOW
    )
    assert (taken.verdicts, taken.strange, taken.cut) == (1, 0, 1)


def test_a_dry_run_of_a_batch_stores_and_writes_nothing(sqlite_store: Store, tmp_path: Path) -> None:
    """What would be written or taken is told; no run, no intent, no verdict and no file comes of it."""
    lay_down(sqlite_store, [*numbered(3), item(" ", item_id="blank")], judge(order="as_declared"))
    command = on(address(sqlite_store))
    base = ("judge", "run", "--judge", "test-judge", "--dataset", DATASET, "--criterion", KEY)
    out = tmp_path / "out.jsonl"
    done = command(*base, "--emit-batch", str(out), "--dry-run")
    assert (done.exit_code, out.exists()) == (0, False)
    assert "Would write 3 requests" in done.stdout
    assert "1 unit needs none" in " ".join(done.stdout.split())
    assert rows(sqlite_store, "SELECT key FROM judge_run") == []
    assert command(*base, "--emit-batch", str(out)).exit_code == 0
    lines = [answered(json.loads(line), PASS) for line in out.read_text().split("\n") if line]
    before = verdicts(sqlite_store)
    told = command(*base, "--ingest-batch", str(written(tmp_path / "in", *lines)), "--dry-run", "--json")
    assert (told.exit_code, json.loads(told.stdout)["batch"]["verdicts"]) == (0, 3)
    assert (verdicts(sqlite_store), len(before)) == (before, 1)
