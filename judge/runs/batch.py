"""A run's open calls as a file for a provider's batch service, and its answers back into the run.

OpenAI's batch form, which vLLM's `run-batch` takes too: one request a line, answers in any order, joined by
`custom_id`. Each line is an intent of the run, committed before the file is in place; a line without an
answer leaves its unit open.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from calibration.store.calls import (
    NO_ORDER,
    FaultEntry,
    StoredCall,
    add_calls,
    add_faults,
    begin_run,
    failed_calls,
    find_calls,
    settled_units,
    verdicts_of_calls,
)
from calibration.store.database import Store
from calibration.store.inserting import batches
from calibration.store.items import read_items
from calibration.store.judges import RunOrigin, RunState, add_run, move_run
from calibration.store.run_lock import working_on
from calibration.store.tallies import tally_calls
from calibration.store.verdicts import VerdictEntry, add_verdicts
from judge.calls import ModelReply, Prices
from judge.direct_client import read_completion, speaks, wire_body
from judge.faults import call_error, fault_of
from judge.grading import (
    JudgeVerdict,
    Prepared,
    asked_for_again,
    conclude_all,
    conclude_failed,
    prepare_together,
)
from judge.parsing import Reading
from judge.question import Question
from judge.runs.bench import ModelBench
from judge.runs.budget import Tariff
from judge.runs.entries import answer_entries, answer_entry, call_entry, late_entry, unread_entry
from judge.runs.plan import RunPlan, Unit
from judge.runs.summary import RunSummary, StopKind, Stopped, summarise, unanswered_words, without_verdict
from judge.runs.units import chunks, open_units
from judge.spec import Endpoint, ModelJudge
from rubrics.errors import DeclarationError, RecordError
from rubrics.item import Item
from rubrics.order import Order

URL = "/v1/chat/completions"
CHUNK = 500


@dataclass(frozen=True, slots=True)
class Emitted:
    """What was written for the batch service."""

    run: str
    requests: int
    settled: int
    """Units that needed no call and have their verdict now."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What came of a file of answers."""

    summary: RunSummary
    verdicts: int
    """Verdicts that were stored now."""
    failed: int
    """Lines that hold an error; their units stay open."""
    strange: int
    """Lines that are no answer to a call of this run, or whose item reads otherwise now; not stored."""
    repeated: int
    """Lines that say what was taken before, from this file or an earlier one."""
    contradicting: int
    """Lines that say otherwise than what was taken before for the same call; the first stands."""
    late: int
    """Answers to calls whose units have their verdict from another call; only what they cost is stored."""

    def to_json(self) -> dict[str, int]:
        """The lines, counted, as scripts read them."""
        return {key: getattr(self, key) for key in COUNTED}


COUNTED = ("verdicts", "failed", "strange", "repeated", "contradicting", "late")


def emit_batch(
    store: Store, plan: RunPlan, path: Path, *, tariff: Tariff, now: datetime, again: bool = False
) -> Emitted:
    """Write a request for each open unit of the plan, its intent committed first.

    Raises:
        DeclarationError: the judge is no model that speaks OpenAI's form, or the file cannot be a new one.
        RecordError: another process works on the run, or calls of it have no answer yet and `again` is not
            said.
    """
    judge = _batched(plan)
    if path.exists():
        raise DeclarationError(f"{str(path)!r} exists; give the name of a new file")
    if not path.absolute().parent.is_dir():
        raise DeclarationError(f"there is no folder {str(path.parent)!r}; give a file in one that exists")
    run_key = _record(store, plan, now)
    with store.read() as session:
        out = unanswered_words(tally_calls(session=session, run_key=run_key))
    if out and not again:
        raise RecordError(f"{out}; take the answers with --ingest-batch, or say --again to ask anew")
    bench = ModelBench(judge, plan, served_at=None)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    requests = settled = 0
    with working_on(store, run_key):
        with store.write() as session:
            begin_run(session=session, key=run_key)
        try:
            with draft.open("w", encoding="ascii", newline="\n") as file:
                for keys in chunks(plan):
                    lines, known = _written(store, plan, run_key, bench, keys, tariff=tariff, now=now)
                    file.writelines(lines)
                    requests, settled = requests + len(lines), settled + known
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
            with store.write() as session:
                move_run(session=session, key=run_key, state=RunState.PAUSED)
    return Emitted(run_key, requests, settled)


def _written(
    store: Store,
    plan: RunPlan,
    run_key: str,
    bench: ModelBench,
    keys: Sequence[str],
    *,
    tariff: Tariff,
    now: datetime,
) -> tuple[list[str], int]:
    """The lines of these items' open units, and how many units were settled without one."""
    with store.read() as session:
        units = list(open_units(session=session, plan=plan, run_key=run_key, keys=keys))
    calls, verdicts, lines = [], [], []
    for unit in units:
        ready = bench.ready(unit) if isinstance(unit, Unit) else (unit,)
        if isinstance(unit, Unit) and isinstance(ready, Prepared):
            aside = tariff.at_most(ready.request)
            entry = call_entry(run_key, unit, ready, reserved_micros=aside)
            calls.append(entry)
            lines.append(_line(entry.key, ready))
        known = ready.known if isinstance(ready, Prepared) else ready
        verdicts += [answer_entry(run_key, each, call_key=None, at=now) for each in known]
    with store.write() as session:
        add_calls(session=session, calls=calls, at=now)
        stored = [each for each in verdicts if isinstance(each, VerdictEntry)]
        add_verdicts(session=session, verdicts=stored, at=now, strict=False)
    return lines, len(verdicts)


def _line(key: str, call: Prepared) -> str:
    mark = call.prompt.form.mark  # a marked reply can be read only by whoever knows its mark
    name = key if mark is None else f"{key}-{mark}"
    request = {"custom_id": name, "method": "POST", "url": URL, "body": wire_body(call.request)}
    return json.dumps(request) + "\n"


def ingest_batch(
    store: Store, plan: RunPlan, path: Path, *, prices: Prices | None, now: datetime
) -> Ingested:
    """Store the answers of a batch; the same file again adds nothing.

    Raises:
        DeclarationError: the judge is no model that speaks OpenAI's form, or the file cannot be read.
    """
    judge = _batched(plan)
    _require_answers(path)
    run_key = _record(store, plan, now)
    bench = ModelBench(judge, plan, served_at=None)
    counts = dict.fromkeys(COUNTED, 0)
    with working_on(store, run_key):
        for lines in batches(_lines(path), CHUNK):
            _take(store, plan, run_key, bench, lines, prices=prices, now=now, counts=counts)
        with store.write() as session:
            summary = summarise(session=session, plan=plan, run_key=run_key, stopped=None)
            if summary.stopped is not None:
                summary = replace(summary, stopped=_still_open(summary))
            state = RunState.FINISHED if summary.complete else RunState.PAUSED
            move_run(session=session, key=run_key, state=state)
    return Ingested(summary, **counts)


def _take(
    store: Store,
    plan: RunPlan,
    run_key: str,
    bench: ModelBench,
    lines: Sequence[Mapping[str, Any] | None],
    *,
    prices: Prices | None,
    now: datetime,
    counts: dict[str, int],
) -> None:
    named = [_name(line) for line in lines]
    with store.read() as session:
        calls = find_calls(session=session, run_key=run_key, keys=[key for key, _ in named if key])
        keys = list({call.item_key for call in calls.values()})
        items = dict(read_items(session=session, keys=keys))
        settled = set(settled_units(session=session, run_key=run_key, item_keys=keys))
        before: dict[str, Said] = dict(verdicts_of_calls(session=session, keys=list(calls)))
        failed = set(failed_calls(session=session, keys=list(calls)))
    verdicts: list[VerdictEntry] = []
    faults: list[FaultEntry] = []
    for line, (key, mark) in zip(lines, named, strict=True):
        stored = calls.get(key)
        call = _asked(plan, bench, stored, items, mark) if stored is not None else None
        if line is None or stored is None or call is None:
            counts["strange"] += 1
            continue
        entries = _concluded(run_key, plan, call, stored, line, prices=prices, now=now)
        said = [entry for entry in entries if isinstance(entry, VerdictEntry)]
        answer = frozenset((each.criterion, each.answer, each.reason and each.reason.value) for each in said)
        units = {(stored.item_key, each, stored.presentation, stored.repeat) for each in stored.criteria}
        if key in before:
            counts["repeated" if answer == before[key] else "contradicting"] += 1
        elif units <= settled:
            counts["late"] += 1
            faults += [] if key in failed else [late_entry(key, entries[0])]
            failed.add(key)
        elif said:
            open_ = [
                each for each in said if (stored.item_key, each.criterion, *_place(stored)) not in settled
            ]
            counts["verdicts"] += len(open_)
            verdicts += said
            before[key] = answer
            settled |= units
        else:
            counts["repeated" if key in failed else "failed"] += 1
            faults += [] if key in failed else [each for each in entries if isinstance(each, FaultEntry)]
            failed.add(key)
    with store.write() as session:
        add_verdicts(session=session, verdicts=verdicts, at=now, strict=False)
        add_faults(session=session, faults=faults, at=now)


Said = frozenset[tuple[str, str, str | None]]


def _place(stored: StoredCall) -> tuple[Any, int]:
    return stored.presentation, stored.repeat


def _still_open(summary: RunSummary) -> Stopped:
    """Why units are open after answers were taken."""
    failed, missing = sum(summary.errors.values()), summary.pending
    said = [f"{failed:,} failed in the batch"] if failed else []
    said += [f"{missing:,} {'has' if missing == 1 else 'have'} no answer yet"] if missing else []
    return Stopped(StopKind.UNANSWERED, f"{without_verdict(failed + missing)}: {' and '.join(said)}")


def _require_answers(path: Path) -> None:
    """Refuse a file of something else before anything is stored."""
    lines = answers = 0
    for line in _lines(path):
        lines += 1
        if line is not None and "response" not in line and {"method", "body"} & line.keys():
            raise DeclarationError(
                f"{str(path)!r} holds requests and no answers; give the file that the batch service wrote"
            )
        answers += line is not None and bool({"response", "error"} & line.keys())
    if lines and not answers:
        raise DeclarationError(
            f"{str(path)!r} holds no answer of a batch; give the file that the batch service wrote"
        )


def _asked(
    plan: RunPlan, bench: ModelBench, stored: StoredCall, items: Mapping[str, Any], mark: str | None
) -> Prepared | None:
    """The call as it was asked; None where the item reads otherwise now."""
    item = items.get(stored.item_key)
    if not isinstance(item, Item):
        return None
    questions = [Question(plan.rubric, plan.rubric.criterion(key), item) for key in stored.criteria]
    order = Order.AB if stored.presentation == NO_ORDER else Order(stored.presentation)
    call = prepare_together(bench.sitting, questions, order=order, repeat=stored.repeat, ask=stored.attempt)
    if not isinstance(call, Prepared) or (call.shown, call.criteria) != (
        stored.shown_digest,
        stored.criteria,
    ):
        return None
    if mark is None:
        return call
    return replace(call, prompt=replace(call.prompt, form=replace(call.prompt.form, mark=mark)))


def _concluded(
    run_key: str,
    plan: RunPlan,
    call: Prepared,
    stored: StoredCall,
    line: Mapping[str, Any],
    *,
    prices: Prices | None,
    now: datetime,
) -> list[VerdictEntry | FaultEntry]:
    reply, status = _answer(line, prices)
    if reply is None:
        response = line.get("response")
        content = json.dumps(response.get("body") if isinstance(response, Mapping) else None).encode()
        fault = fault_of(status, content) if status >= 300 else fault_of(500, b"")
        verdicts: tuple[JudgeVerdict, ...] = (
            conclude_failed(call, call_error(fault, call.request, status=status or None)),
        )
    else:
        verdicts = conclude_all(call, reply)
        judge = plan.judge
        if (
            isinstance(judge, ModelJudge)
            and judge.reask
            and stored.attempt == 1
            and asked_for_again(verdicts)
        ):
            return [unread_entry(stored.key, verdicts[0])]
    return answer_entries(run_key, verdicts, call_key=stored.key, at=now, call=call)


def _answer(line: Mapping[str, Any], prices: Prices | None) -> tuple[ModelReply | None, int]:
    response = line.get("response")
    if not isinstance(response, Mapping):
        return None, 0
    status = response.get("status_code", 200)
    if not isinstance(status, int) or isinstance(status, bool):
        return None, 0
    reply = read_completion(response.get("body")) if status == 200 else None
    if reply is not None and prices is not None:
        reply = replace(reply, cost=prices.cost(reply.tokens))
    return reply, status


def _name(line: Mapping[str, Any] | None) -> tuple[str, str | None]:
    """The key of the call and the mark of its reply, from the line's name; "" where it has none."""
    name = line.get("custom_id") if line is not None else None
    if not isinstance(name, str):
        return "", None
    key, _, mark = name.partition("-")
    return key, mark or None


def _lines(path: Path) -> Iterator[Mapping[str, Any] | None]:
    """Each line as an object, None where it is none."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
            for text in file:
                if text.strip():
                    yield _object(text)
    except OSError as error:
        raise DeclarationError(
            f"cannot read {str(path)!r} ({error.strerror}); give the file of answers"
        ) from error


def _object(text: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _batched(plan: RunPlan) -> ModelJudge:
    judge = plan.judge
    if (
        isinstance(judge, ModelJudge)
        and judge.endpoint is not Endpoint.EMBEDDED
        and judge.reading is not Reading.DECISION
        and speaks(judge.model)
    ):
        return judge
    raise DeclarationError(
        f"judge {str(plan.judge.name)!r} is no model that is asked in OpenAI's form; run it without a batch"
    )


def _record(store: Store, plan: RunPlan, now: datetime) -> str:
    with store.write() as session:
        return add_run(
            session=session,
            judge_digest=plan.judge.digest,
            rubric_digest=plan.rubric.digest,
            dataset=plan.dataset,
            set_digest=plan.set_digest,
            origin=RunOrigin.RUN,
            plan=plan.content,
            units=plan.units,
            at=now,
        )
