"""The answers of a batch service back into the run; a line without an answer leaves its unit open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from calibration.rendering.text import listed
from calibration.store.calls import (
    MODEL_CHANGED,
    NO_ORDER,
    FaultEntry,
    StoredCall,
    add_faults,
    failed_calls,
    find_calls,
    settled_units,
    verdicts_of_calls,
)
from calibration.store.database import Store
from calibration.store.inserting import batches
from calibration.store.items import read_items
from calibration.store.judges import RunState, move_run
from calibration.store.run_lock import working_on
from calibration.store.tallies import models_of_run
from calibration.store.verdicts import VerdictEntry, add_verdicts
from judge.calls import ModelReply, Prices
from judge.direct_client import read_completion
from judge.faults import call_error, fault_of
from judge.grading import (
    JudgeVerdict,
    Prepared,
    asked_for_again,
    conclude_all,
    conclude_failed,
    prepare_together,
)
from judge.question import Question
from judge.runs.batch import CHUNK, batched, recorded_key, run_of
from judge.runs.bench import ModelBench
from judge.runs.entries import (
    answer_entries,
    changed_words,
    late_entry,
    of_another_model,
    unread_entry,
)
from judge.runs.plan import RunPlan
from judge.runs.summary import RunSummary, StopKind, Stopped, summarise, without_verdict
from judge.spec import ModelJudge
from rubrics.errors import DeclarationError
from rubrics.item import Item
from rubrics.order import Order


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
    """Answers to calls whose units have their verdict from another call; only what they took is stored."""
    changed: int
    """Answers of another model than the run's, without a verdict where that was not allowed."""
    cut: int
    """1 where the last line is cut off, else 0."""

    def to_json(self) -> dict[str, int]:
        """The lines, counted, as scripts read them."""
        return {key: getattr(self, key) for key in COUNTED}


Said = frozenset[tuple[str, str, str | None]]
Entries = Sequence[VerdictEntry | FaultEntry]
Verdicts = list[VerdictEntry]
Faults = list[FaultEntry]
COUNTED = ("verdicts", "failed", "strange", "repeated", "contradicting", "late", "changed", "cut")


def ingest_batch(
    store: Store,
    plan: RunPlan,
    path: Path,
    *,
    prices: Prices | None,
    now: datetime,
    any_model: bool = False,
) -> Ingested:
    """Store the answers of a batch; the same file again adds nothing.

    An answer of another model than has answered in the run brings no verdict, unless `any_model` is said.

    Raises:
        DeclarationError: the judge is no model that speaks OpenAI's form, or the file cannot be read.
    """
    bench = ModelBench(batched(plan), plan, served_at=None)
    _require_answers(path)
    run_key = run_of(store, plan, now)
    taking = _Taking(run_key, plan, bench, prices, now, any_model)
    with working_on(store, run_key):
        for verdicts, faults in _taken(store, taking, path):
            with store.write() as session:
                add_verdicts(session=session, verdicts=verdicts, at=now, strict=False)
                add_faults(session=session, faults=faults, at=now)
        with store.write() as session:
            summary = summarise(session=session, plan=plan, run_key=run_key, stopped=None)
            if summary.stopped is not None:
                summary = replace(summary, stopped=taking.stopped or _still_open(summary))
            state = RunState.FINISHED if summary.complete else RunState.PAUSED
            move_run(session=session, key=run_key, state=state)
    return Ingested(summary, **taking.counts)


def count_answers(
    store: Store, plan: RunPlan, path: Path, *, prices: Prices | None, now: datetime, any_model: bool = False
) -> dict[str, int]:
    """The lines of a file of answers as ingest_batch() would count them; nothing is stored.

    Raises what ingest_batch() does.
    """
    bench = ModelBench(batched(plan), plan, served_at=None)
    _require_answers(path)
    taking = _Taking(recorded_key(store, plan), plan, bench, prices, now, any_model)
    for _ in _taken(store, taking, path):
        pass
    return taking.counts


@dataclass(slots=True)
class _Taking:
    """A file of answers on its way into a run: what is known of the run, and the lines so far, counted."""

    run_key: str
    plan: RunPlan
    bench: ModelBench
    prices: Prices | None
    now: datetime
    any_model: bool
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    models: set[str] = field(default_factory=set)
    """Which have answered in the run; the first is taken."""
    before: dict[str, Said] = field(default_factory=dict)
    """What calls have brought."""
    settled: set[tuple[str, str, str, int]] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)
    stopped: Stopped | None = None
    """That another model has answered, where it did."""

    def is_other(self, model: str | None) -> bool:
        """Whether this is another model than has answered in the run."""
        if model is None or self.any_model:
            return False
        self.models = self.models or {model}
        return model not in self.models

    def changed(self, model: str) -> str:
        """That this other model has answered, in a sentence; the first such stands."""
        sentence = changed_words(min(self.models), model)
        self.stopped = self.stopped or Stopped(StopKind.MODEL_CHANGED, sentence)
        return sentence

    def sort(self, stored: StoredCall, entries: Entries, verdicts: Verdicts, faults: Faults) -> None:
        """Count what one line holds, and add what is to be stored of it."""
        key = stored.key
        said = [entry for entry in entries if isinstance(entry, VerdictEntry)]
        answer = frozenset((each.criterion, each.answer, each.reason and each.reason.value) for each in said)
        units = {(stored.item_key, each, stored.presentation, stored.repeat) for each in stored.criteria}
        fault: FaultEntry | None = None
        if key in self.before:
            self.counts["repeated" if answer == self.before[key] else "contradicting"] += 1
        elif units <= self.settled:
            self.counts["late"] += 1
            fault = late_entry(key, entries[0])
        elif said:
            place = stored.presentation, stored.repeat
            self.counts["verdicts"] += sum(
                (stored.item_key, each.criterion, *place) not in self.settled for each in said
            )
            verdicts += said
            self.before[key] = answer
            self.settled |= units
        else:
            fault = next(each for each in entries if isinstance(each, FaultEntry))
            changed = "changed" if fault.detail == MODEL_CHANGED else "failed"
            self.counts["repeated" if key in self.failed and changed == "failed" else changed] += 1
        if fault is not None and key not in self.failed:
            faults.append(fault)
            self.failed.add(key)


def _taken(store: Store, taking: _Taking, path: Path) -> Iterator[tuple[Verdicts, Faults]]:
    """What is to be stored of the file, chunk by chunk."""
    plan, run_key = taking.plan, taking.run_key
    with store.read() as session:
        taking.models |= set(models_of_run(session=session, run_key=run_key))
    for lines in batches(_lines(path), CHUNK):
        named = [_name(line) for line in lines]
        with store.read() as session:
            calls = find_calls(session=session, run_key=run_key, keys=[key for key, _ in named if key])
            keys = list({call.item_key for call in calls.values()})
            items = dict(read_items(session=session, keys=keys))
            taking.settled |= settled_units(session=session, run_key=run_key, item_keys=keys)
            taking.before |= verdicts_of_calls(session=session, keys=list(calls))
            taking.failed |= failed_calls(session=session, keys=list(calls))
        verdicts: Verdicts = []
        faults: Faults = []
        for line, (key, mark) in zip(lines, named, strict=True):
            stored = calls.get(key)
            call = _asked(plan, taking.bench, stored, items, mark) if stored is not None else None
            if line is None or isinstance(line, Cut):
                taking.counts["strange" if line is None else "cut"] += 1
            elif stored is None or call is None:
                taking.counts["strange"] += 1
            else:
                taking.sort(stored, _concluded(taking, call, stored, line), verdicts, faults)
        yield verdicts, faults


def _still_open(summary: RunSummary) -> Stopped:
    """Why units are open after answers were taken; answers of another model, in whatever file, before all."""
    changed, missing = summary.errors.get(MODEL_CHANGED, 0), summary.pending
    failed = sum(summary.errors.values()) - changed
    were, have = "was" if changed == 1 else "were", "has" if missing == 1 else "have"
    said = [f"{changed:,} {were} answered by another model and not taken"] if changed else []
    said += [f"{failed:,} failed in the batch"] if failed else []
    said += [f"{missing:,} {have} no answer yet"] if missing else []
    kind = StopKind.MODEL_CHANGED if changed else StopKind.UNANSWERED
    return Stopped(kind, f"{without_verdict(changed + failed + missing)}: {listed(said)}")


def _require_answers(path: Path) -> None:
    """Refuse a file of something else before anything is stored."""
    lines = answers = 0
    for line in _lines(path):
        lines += 1
        if isinstance(line, Cut):
            continue
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


def _concluded(taking: _Taking, call: Prepared, stored: StoredCall, line: Mapping[str, Any]) -> Entries:
    reply, status = _answer(line, taking.prices)
    if reply is None:
        response = line.get("response")
        content = json.dumps(response.get("body") if isinstance(response, Mapping) else None).encode()
        fault = fault_of(status, content) if status >= 300 else fault_of(500, b"")
        verdicts: tuple[JudgeVerdict, ...] = (
            conclude_failed(call, call_error(fault, call.request, status=status or None)),
        )
    elif taking.is_other(reply.model):
        verdicts = (of_another_model(call, reply, taking.changed(reply.model or "")),)
    else:
        verdicts = conclude_all(call, reply)
        judge = taking.plan.judge
        reasks = isinstance(judge, ModelJudge) and judge.reask
        if reasks and stored.attempt == 1 and asked_for_again(verdicts):
            return [unread_entry(stored.key, verdicts[0])]
    return answer_entries(taking.run_key, verdicts, call_key=stored.key, at=taking.now, call=call)


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


@dataclass(frozen=True, slots=True)
class Cut:
    """A last line that ends in its middle."""


Line = Mapping[str, Any] | Cut | None


def _name(line: Line) -> tuple[str, str | None]:
    """The key of the call and the mark of its reply, from the line's name; "" where it has none."""
    name = line.get("custom_id") if isinstance(line, Mapping) else None
    if not isinstance(name, str):
        return "", None
    key, _, mark = name.partition("-")
    return key, mark or None


def _lines(path: Path) -> Iterator[Line]:
    """Each line as an object, None where it is none; the last as cut where it ends in its middle."""
    try:
        # utf-8-sig: a file that went through an editor may begin with a byte order mark
        with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
            for text in file:
                if text.strip():
                    found = _object(text)
                    cut = found is None and not text.endswith("\n") and text.lstrip().startswith("{")
                    yield Cut() if cut else found
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
