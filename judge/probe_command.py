"""`voirdire probe` carried out: what it takes told first, copies judged as a resumable run, effects told."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from calibration.calibrate.probed import probe_figures
from calibration.evidence import ProbeFigure
from calibration.rendering.text import counted
from calibration.store.database import Store
from calibration.store.judges import get_judge
from calibration.store.probe_results import record_probe
from judge.cli.errors import ExitCode, tell
from judge.cli.lookups import evidence_of, rubric_of_labels
from judge.cli.output import print_json, print_lines, print_rows
from judge.cli.stores import actor, now, opened
from judge.probe_effects import Effect, ProbeWord
from judge.probe_words import HEAD, probe_rows, probe_words, standing_words, unbounded_words
from judge.probing import Probe, overall, prepare_probe, probe_object, read_effects
from judge.recorded import recorded_judge
from judge.runs import RunSummary, StopKind, dollars
from judge.runs.command import Wanted, ask, how_on_told
from judge.runs.connect import tariff_of
from judge.runs.estimate import Estimate, estimate
from judge.runs.summary import Stopped
from judge.runs.words import pace_words

CODES = {
    ProbeWord.BOUNDED: ExitCode.ADMIT,
    ProbeWord.BIASED: ExitCode.REJECT,
    ProbeWord.UNDERPOWERED: ExitCode.INSUFFICIENT,
}


@dataclass(frozen=True, slots=True)
class ProbeWanted:
    """What the command line asks for."""

    run: Wanted
    """Whom about which items, and how: as of a run under one criterion."""
    families: tuple[str, ...]
    items: int | None
    """Failures at most; None for as many as show that nothing moves the judge."""
    seed: int
    bound: float

    @property
    def command(self) -> str:
        """The command line that asks for the same."""
        words = [word for family in self.families for word in ("--family", family)]
        words += [] if self.items is None else ["--items", str(self.items)]
        words += ["--seed", str(self.seed), "--bound", f"{self.bound:g}"]
        return shlex.join(["voirdire", "probe", *self.run.options, *words])

    def going_on(self, stopped: Stopped) -> str:
        """The command line that goes on after this stop; one that would stop at once is none."""
        if stopped.kind is StopKind.COST_CAP:
            return f"{replace(self, run=replace(self.run, max_cost=None)).command} --max-cost AMOUNT"
        both = self.run.any_model or stopped.kind is StopKind.MODEL_CHANGED
        return replace(self, run=replace(self.run, any_model=both)).command


def carry_out(context: Any, wanted: ProbeWanted, *, dry_run: bool, as_json: bool) -> ExitCode:
    """The exit code of the probe: 0, 1 or 2 by its word, 3 or 130 where verdicts are still open.

    A dry run leaves the store as it was.
    """
    with opened(context) as store:
        probe, expected, known = _prepared(store, wanted, dry_run=dry_run)
        risks = (*standing_words(known, probe), *unbounded_words(probe, bound=wanted.bound))
        if as_json:
            for risk in risks:
                tell(f"! {risk}")
        else:
            print_lines([*_plan_words(probe, expected, wanted), *(f"  ! {risk}" for risk in risks)])
        if dry_run:
            plan = {"families": list(probe.copies), "items": len(probe.originals), "enough": probe.enough}
            if as_json:
                print_json({"dry_run": True, **plan, "risks": list(risks), "estimate": expected.to_json()})
            return ExitCode.ADMIT
        cap = None if wanted.run.max_cost is None else round(wanted.run.max_cost * 1_000_000)
        with how_on_told(store, wanted.command, probe.plan, in_flight=wanted.run.in_flight):
            summary = ask(store, probe.plan, wanted.run, done=expected.done, cap_micros=cap)
        found, result = _counted(store, probe, wanted.bound)
    if as_json:
        stopped = summary.stopped
        next_one = {"resume": wanted.going_on(stopped)} if stopped else {}
        print_json({**result, "risks": list(risks), "run": summary.to_json(), **next_one})
    else:
        rows = list(probe_rows(found))
        print_rows(HEAD, rows, empty="")
        print_lines([*probe_words(probe, found, bound=wanted.bound), *_silence(summary)])
    return _ended(summary, wanted, found)


def _prepared(
    store: Store, wanted: ProbeWanted, *, dry_run: bool
) -> tuple[Probe, Estimate, tuple[ProbeFigure, ...]]:
    """The probe with what is left to ask, recorded unless it is only tried; what is known from before."""
    run, at = wanted.run, now()
    with store.write() as session:
        evidence = evidence_of(session, dataset=run.dataset, set_ref=run.set_ref, actor=actor(), at=at)
        probe = prepare_probe(
            session=session,
            judge=recorded_judge(session=session, judge=run.judge),
            rubric=rubric_of_labels(session, evidence, run.rubric),
            criterion=run.criteria[0],
            scope=evidence.scope,
            wanted=wanted.families,
            most=wanted.items,
            seed=wanted.seed,
            bound=wanted.bound,
            at=at,
        )
        tariff, source = tariff_of(probe.judge, run.prices)
        expected = estimate(session=session, plan=probe.plan, tariff=tariff, source=source)
        known = probe_figures(
            session=session,
            judge=get_judge(session=session, judge=probe.judge.digest),
            rubric_digest=probe.rubric.digest,
            criterion=probe.criterion.key,
        )
        if dry_run:
            session.rollback()
    return probe, expected, known


def _plan_words(probe: Probe, expected: Estimate, wanted: ProbeWanted) -> Iterator[str]:
    cost = "cost not known" if expected.cost_micros is None else f"about {dollars(expected.cost_micros)}"
    yield (
        f"{probe.judge.name} on {counted(len(probe.originals), 'reference failure')}, "
        f"{counted(len(probe.copies) - 1, 'kind')} of change and an unchanged repeat: "
        f"{counted(expected.calls, 'call')} left, {cost}"
    )
    if wanted.run.pace is not None:
        yield f"  {pace_words(wanted.run.pace, expected)}"


def _silence(summary: RunSummary) -> Iterator[str]:
    """Why copies have no verdict, the unchanged ones among them."""
    if summary.unknown:
        why = ", ".join(f"{reason} {count:,}" for reason, count in summary.unknown.items())
        yield f"replies without a verdict, unchanged copies among them: {why}"


def _ended(summary: RunSummary, wanted: ProbeWanted, found: tuple[Effect, ...]) -> ExitCode:
    stopped = summary.stopped
    if stopped is None:
        return CODES[overall(found)]
    tell(f"voirdire: open verdicts are counted both ways: {stopped.sentence}")
    tell(f"  go on{wanted.run.how_on(stopped)}: {wanted.going_on(stopped)}", wrapped=False)
    return ExitCode.INTERRUPTED if stopped.kind is StopKind.INTERRUPTED else ExitCode.OPERATIONAL


def _counted(store: Store, probe: Probe, bound: float) -> tuple[tuple[Effect, ...], dict[str, Any]]:
    """The effects, and the result as it is recorded for policies that have a guard on it."""
    with store.write() as session:
        found = read_effects(session=session, probe=probe, bound=bound)
        result = probe_object(probe, found, bound=bound)
        record_probe(session=session, result=result, actor=actor(), at=now())
    return found, result
