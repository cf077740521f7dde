"""`voirdire probe` carried out: copies recorded, judged as a resumable run, effects told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibration.rendering.text import counted
from calibration.store.database import Store
from calibration.store.probe_results import record_probe
from judge.calls import Prices
from judge.cli.lookups import evidence_of, rubric_of_labels
from judge.cli.stores import actor, now
from judge.probe_effects import Effect, ProbeWord
from judge.probing import (
    Probe,
    checked_families,
    overall,
    prepare_probe,
    probe_object,
    probe_rows,
    probe_words,
    read_effects,
)
from judge.recorded import recorded_judge
from judge.runs import RunOptions, dollars, run_judge
from judge.runs.bar import run_bar
from judge.runs.command import api_key
from judge.runs.connect import connected, tariff_of
from judge.runs.estimate import estimate

CODES = {ProbeWord.BOUNDED: 0, ProbeWord.BIASED: 1, ProbeWord.UNDERPOWERED: 2}
OPEN = 3


@dataclass(frozen=True, slots=True)
class ProbeWanted:
    """What the command line asks for."""

    judge: str
    criterion: str
    dataset: str | None
    set_ref: str | None
    rubric: str | None
    families: tuple[str, ...]
    items: int
    seed: int
    bound: float
    concurrency: int | None
    max_cost: float | None
    price_input: float | None
    price_output: float | None
    gguf: str | None
    direct: bool | None

    @property
    def prices(self) -> Prices | None:
        """What the operator says that tokens cost."""
        if self.price_input is None or self.price_output is None:
            return None
        return Prices(self.price_input, self.price_output)


@dataclass(frozen=True, slots=True)
class ProbeEnded:
    """What is printed, and the exit code."""

    told: dict[str, Any]
    before: Sequence[str]
    rows: Sequence[tuple[str, ...]]
    after: Sequence[str]
    code: int


def carry_out(store: Store, wanted: ProbeWanted, *, dry_run: bool) -> ProbeEnded:
    """The probe's effects; 3 where verdicts are still open."""
    at = now()
    with store.write() as session:
        evidence = evidence_of(session, dataset=wanted.dataset, set_ref=wanted.set_ref, actor=actor(), at=at)
        probe = prepare_probe(
            session=session,
            judge=recorded_judge(session=session, judge=wanted.judge),
            rubric=rubric_of_labels(session, evidence, wanted.rubric),
            criterion=wanted.criterion,
            scope=evidence.scope,
            wanted=checked_families(wanted.families),
            most=wanted.items,
            seed=wanted.seed,
            at=at,
        )
    tariff, source = tariff_of(probe.judge, wanted.prices)
    with store.read() as session:
        expected = estimate(session=session, plan=probe.plan, tariff=tariff, source=source)
    cost = "cost not known" if expected.cost_micros is None else f"about {dollars(expected.cost_micros)}"
    before = [
        f"{probe.judge.name} on {counted(len(probe.originals), 'reference failure')}, "
        f"{counted(len(probe.copies) - 1, 'kind')} of change and an unchanged repeat: "
        f"{counted(expected.calls, 'call')} left, {cost}"
    ]
    if dry_run:
        plan = {"families": list(probe.copies), "items": len(probe.originals)}
        return ProbeEnded({"dry_run": True, **plan, "estimate": expected.to_json()}, before, (), (), 0)
    gguf = None if wanted.gguf is None else Path(wanted.gguf)
    model = connected(probe.judge, prices=wanted.prices, gguf=gguf, api_key=api_key(), direct=wanted.direct)
    with (
        model as reached,
        run_bar(f"probing {probe.judge.name}", done=expected.done, units=expected.units) as bar,
    ):
        options = RunOptions(
            concurrency=wanted.concurrency or reached.concurrency,
            max_cost_micros=None if wanted.max_cost is None else round(wanted.max_cost * 1_000_000),
            tariff=tariff,
            now=now,
        )
        summary = run_judge(
            store, probe.plan, reached.client, served_at=reached.served_at, options=options, on_progress=bar
        )
    found, result = _counted(store, probe, wanted.bound)
    told = {**result, "run": summary.to_json()}
    after = [*probe_words(probe, found, bound=wanted.bound)]
    code = CODES[overall(found)]
    if summary.stopped is not None:
        after.append(f"open verdicts are counted both ways: {summary.stopped.sentence}")
        code = OPEN
    return ProbeEnded(told, before, tuple(probe_rows(found)), after, code)


def _counted(store: Store, probe: Probe, bound: float) -> tuple[tuple[Effect, ...], dict[str, Any]]:
    """The effects, and the result as it is recorded for policies that have a guard on it."""
    with store.write() as session:
        found = read_effects(session=session, probe=probe, bound=bound)
        result = probe_object(probe, found, bound=bound)
        record_probe(session=session, result=result, actor=actor(), at=now())
    return found, result
