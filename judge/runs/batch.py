"""A run's open calls as a file for a provider's batch service; its answers come back by judge.runs.answers.

OpenAI's batch form, which vLLM's `run-batch` takes too: one request a line, answers in any order, joined by
`custom_id`. Each line is an intent of the run, committed before the file is in place; a line without an
answer leaves its unit open.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from calibration.store.calls import add_calls, begin_run
from calibration.store.database import Store
from calibration.store.judges import RunOrigin, RunState, add_run, move_run
from calibration.store.run_lock import working_on
from calibration.store.tallies import tally_calls
from calibration.store.verdicts import VerdictEntry, add_verdicts
from judge.direct_client import speaks, wire_body
from judge.grading import Prepared
from judge.parsing import Reading
from judge.runs.bench import ModelBench
from judge.runs.budget import Tariff
from judge.runs.entries import answer_entry, call_entry
from judge.runs.plan import RunPlan, Unit, recorded_run
from judge.runs.summary import unanswered_words
from judge.runs.units import chunks, open_units
from judge.spec import Endpoint, ModelJudge
from rubrics.errors import DeclarationError, RecordError

URL = "/v1/chat/completions"
CHUNK = 500


@dataclass(frozen=True, slots=True)
class Emitted:
    """What was written for the batch service."""

    run: str
    requests: int
    settled: int
    """Units that needed no call and have their verdict now."""


def emit_batch(
    store: Store, plan: RunPlan, path: Path, *, tariff: Tariff, now: datetime, again: bool = False
) -> Emitted:
    """Write a request for each open unit of the plan, its intent committed first.

    Raises:
        DeclarationError: the judge is no model that speaks OpenAI's form, or the file cannot be a new one.
        RecordError: another process works on the run, or calls of it have no answer yet and `again` is not
            said.
    """
    judge = batched(plan)
    _require_new(path)
    run_key = run_of(store, plan, now)
    _require_none_out(store, run_key, again=again)
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


def count_batch(store: Store, plan: RunPlan, path: Path, *, again: bool = False) -> tuple[int, int]:
    """How many requests emit_batch() would write, and how many units would need none; nothing is stored.

    Raises what emit_batch() does, but for a run that another process works on.
    """
    bench = ModelBench(batched(plan), plan, served_at=None)
    _require_new(path)
    run_key = recorded_key(store, plan)
    _require_none_out(store, run_key, again=again)
    requests = settled = 0
    for keys in chunks(plan):
        with store.read() as session:
            units = list(open_units(session=session, plan=plan, run_key=run_key, keys=keys))
        for unit in units:
            ready = bench.ready(unit) if isinstance(unit, Unit) else (unit,)
            requests += isinstance(ready, Prepared)
            settled += len(ready.known if isinstance(ready, Prepared) else ready)
    return requests, settled


def _require_new(path: Path) -> None:
    if path.exists():
        raise DeclarationError(f"{str(path)!r} exists; give the name of a new file")
    if not path.absolute().parent.is_dir():
        raise DeclarationError(f"there is no folder {str(path.parent)!r}; give a file in one that exists")


def _require_none_out(store: Store, run_key: str, *, again: bool) -> None:
    with store.read() as session:
        out = unanswered_words(tally_calls(session=session, run_key=run_key))
    if out and not again:
        raise RecordError(f"{out}; take the answers with --ingest-batch, or say --again to ask anew")


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


def batched(plan: RunPlan) -> ModelJudge:
    """The judge of the plan; raises DeclarationError for one that is not asked in OpenAI's form."""
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


def recorded_key(store: Store, plan: RunPlan) -> str:
    """Key of the run that the plan goes on with, "" where there is none: then no record is of it."""
    with store.read() as session:
        run = recorded_run(session=session, plan=plan)
    return run.key if run else ""


def run_of(store: Store, plan: RunPlan, now: datetime) -> str:
    """Key of the plan's run, which is recorded now where it was not."""
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
