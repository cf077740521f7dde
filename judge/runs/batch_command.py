"""The work of `voirdire judge run --emit-batch` and `--ingest-batch`: a file written, its answers taken."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from calibration.rendering.text import counted
from judge.cli.errors import ExitCode
from judge.cli.output import print_json, print_lines
from judge.cli.stores import now, opened
from judge.runs import StopKind
from judge.runs.answers import Ingested, count_answers, ingest_batch
from judge.runs.batch import count_batch, emit_batch
from judge.runs.command import Wanted, keep_prices, planned_run, report
from judge.runs.connect import tariff_of


def carry_batch(
    context: Any,
    wanted: Wanted,
    file: str,
    *,
    emit: bool,
    as_json: bool,
    again: bool = False,
    dry_run: bool = False,
) -> ExitCode:
    """The exit code of writing a batch or of taking its answers; 3 where units are still open after it."""
    path = Path(file)
    with opened(context) as store:
        with store.read() as session:
            plan = planned_run(session, wanted)
            tariff, _ = tariff_of(plan.judge, wanted.prices)
        if not dry_run:
            keep_prices(store, plan, wanted.prices)
        if emit and dry_run:
            return _would_write(*count_batch(store, plan, path, again=again), file, as_json=as_json)
        if emit:
            written = emit_batch(store, plan, path, tariff=tariff, now=now(), again=again)
            if as_json:
                print_json({"run": written.run, "requests": written.requests, "settled": written.settled})
            else:
                needs = "needs" if written.settled == 1 else "need"
                print_lines(
                    [
                        f"Wrote {counted(written.requests, 'request')} to {file}; "
                        f"{counted(written.settled, 'unit')} {needs} none",
                        f"Next: have them answered, then {wanted.command} --ingest-batch ANSWERS",
                    ]
                )
            return ExitCode.ADMIT
        take = count_answers if dry_run else ingest_batch
        taken = take(store, plan, path, prices=tariff.prices, now=now(), any_model=wanted.any_model)
    if isinstance(taken, dict):
        return _would_take(taken, file, as_json=as_json)
    if not as_json:
        print_lines([f"Took {_lines_words(taken.to_json(), file)}."])
        print_lines([f"  {line}" for line in _not_taken(taken.to_json())])
    resume = _resume(taken, wanted, file)
    return report(taken.summary, {"batch": taken.to_json()}, wanted, as_json=as_json, resume=resume)


def _resume(taken: Ingested, wanted: Wanted, file: str) -> str | None:
    """The command that takes the answers which are missing; None where only asking anew brings any.

    Those of another model are in this file, or in one that was taken before it.
    """
    stopped = taken.summary.stopped
    if stopped is None:
        return None
    if stopped.kind is StopKind.MODEL_CHANGED:
        rest = shlex.quote(file) if taken.changed else "ANSWERS"
    elif taken.summary.calls.unresolved:
        rest = "REST"
    else:
        return None
    return f"{wanted.going_on(stopped)} --ingest-batch {rest}"


def _would_write(requests: int, settled: int, file: str, *, as_json: bool) -> ExitCode:
    """What a batch would hold, told; it is not written."""
    if as_json:
        print_json({"dry_run": True, "requests": requests, "settled": settled})
    else:
        units = f"{counted(settled, 'unit')} {'needs' if settled == 1 else 'need'} none"
        would = f"Would write {counted(requests, 'request')} to {file}; {units}."
        print_lines([would, "  nothing is written or stored"])
    return ExitCode.ADMIT


def _would_take(counts: Mapping[str, int], file: str, *, as_json: bool) -> ExitCode:
    """What would be taken of a file of answers, told; nothing is stored."""
    if as_json:
        print_json({"dry_run": True, "batch": dict(counts)})
    else:
        print_lines([f"Would take {_lines_words(counts, file)}."])
        print_lines([f"  {line}" for line in (*_not_taken(counts), "nothing is stored")])
    return ExitCode.ADMIT


def _lines_words(counts: Mapping[str, int], file: str) -> str:
    return (
        f"{counted(counts['verdicts'], 'verdict')} from {file}; {counted(counts['failed'], 'line')} "
        f"with an error, {counts['strange']:,} with no answer to a call of this run"
    )


def _not_taken(counts: Mapping[str, int]) -> Iterator[str]:
    repeated, contradicting, late = counts["repeated"], counts["contradicting"], counts["late"]
    if changed := counts["changed"]:
        answers, give = ("answer", "gives") if changed == 1 else ("answers", "give")
        yield f"{changed:,} {answers} of another model {give} no verdict"
    if repeated:
        yield f"{repeated:,} {'says' if repeated == 1 else 'say'} what was taken before"
    if contradicting:
        contradict = "contradicts" if contradicting == 1 else "contradict"
        yield f"{contradicting:,} {contradict} what was taken before for that call: the first stands"
    if late:
        units = "its unit" if late == 1 else "their units"
        yield f"{late:,} came when {units} had a verdict from another call: only what that took is kept"
    if counts["cut"]:
        yield "the last line is cut off: get the whole file and take it again"
