"""The work of `voirdire judge run` with several judges: asked in turn, each in a run of its own."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from judge.cli.errors import ExitCode, tell
from judge.cli.output import console, print_json, print_lines
from judge.cli.stores import now, opened
from judge.runs import Asked, Progress, RunOptions, RunPlan, RunSummary, StopKind, in_turn, run_in_turn
from judge.runs.bar import run_bar
from judge.runs.command import Wanted, api_key, how_on_told, planned_run, risks_of
from judge.runs.connect import connected, tariff_of
from judge.runs.estimate import Estimate, estimate
from judge.runs.pacing import Pacer
from judge.runs.summary import Stopped
from judge.runs.words import plan_object, plan_words, summary_words


def carry_in_turn(context: Any, wanted: Wanted, *, dry_run: bool, as_json: bool) -> ExitCode:
    """The exit code of the runs together: 0 once every unit of all has its verdict."""
    each_wanted = [replace(wanted, judge=name, others=()) for name in (wanted.judge, *wanted.others)]
    with opened(context) as store:
        with store.read() as session:
            plans = in_turn([planned_run(session, each) for each in each_wanted])
            expected = []
            for plan in plans:
                tariff, source = tariff_of(plan.judge)
                expected.append(estimate(session=session, plan=plan, tariff=tariff, source=source))
            risky = [risks_of(session, plan) for plan in plans]
        told = [
            {**plan_object(plan, each), "risks": list(risks)}
            for plan, each, risks in zip(plans, expected, risky, strict=True)
        ]
        if not as_json:
            for plan, each, risks in zip(plans, expected, risky, strict=True):
                print_lines(plan_words(plan, each, on=wanted.on, width=console().width))
                print_lines([f"  ! {risk}" for risk in risks])
        if dry_run:
            if as_json:
                print_json({"dry_run": True, "judges": told})
            return ExitCode.ADMIT
        with (
            how_on_told(store, wanted.command, *plans, in_flight=wanted.in_flight),
            _asked(wanted, plans, expected) as asked,
        ):
            summaries = run_in_turn(store, asked)
    return _report(summaries, told, wanted, as_json=as_json)


@contextmanager
def _asked(wanted: Wanted, plans: Sequence[RunPlan], expected: Sequence[Estimate]) -> Iterator[list[Asked]]:
    """The judges, reachable inside the block; what a provider allows is for all of them together."""
    pacer = None if wanted.pace is None else Pacer(wanted.pace)
    names = " and ".join(str(plan.judge.name) for plan in plans)
    done, units = sum(each.done for each in expected), sum(plan.units for plan in plans)
    with ExitStack() as reached, run_bar(names, done=done, units=units) as bar:
        latest: dict[int, Progress] = {
            place: Progress(plan.units, each.done, 0, 0)
            for place, (plan, each) in enumerate(zip(plans, expected, strict=True))
        }
        yield [
            _one(reached, wanted, plan, pacer, on_progress=_adding(latest, place, bar))
            for place, plan in enumerate(plans)
        ]


def _one(
    reached: ExitStack,
    wanted: Wanted,
    plan: RunPlan,
    pacer: Pacer | None,
    *,
    on_progress: Callable[[Progress], None],
) -> Asked:
    connection = reached.enter_context(
        connected(
            plan.judge,
            gguf=None if wanted.gguf is None else Path(wanted.gguf),
            api_key=api_key(),
            direct=wanted.direct,
            adaptive=wanted.concurrency is None,
            turn=None if pacer is None else pacer.turn,
        )
    )
    options = RunOptions(
        concurrency=wanted.concurrency or connection.concurrency,
        tariff=tariff_of(plan.judge)[0],
        any_model=wanted.any_model,
        now=now,
    )
    return Asked(plan, connection.client, connection.served_at, options, on_progress)


def _adding(
    latest: dict[int, Progress], place: int, bar: Callable[[Progress], None]
) -> Callable[[Progress], None]:
    """What is told of one judge's progress; the bar shows all of them together."""

    def told(progress: Progress) -> None:
        latest[place] = progress
        every = latest.values()
        bar(
            Progress(
                units=sum(each.units for each in every),
                done=sum(each.done for each in every),
                failed=sum(each.failed for each in every),
                spent_micros=sum(each.spent_micros for each in every),
                stopping=any(each.stopping for each in every),
                interrupted=any(each.interrupted for each in every),
            )
        )

    return told


def _report(
    summaries: Sequence[RunSummary], told: Sequence[dict[str, Any]], wanted: Wanted, *, as_json: bool
) -> ExitCode:
    stops = [each.stopped for each in summaries if each.stopped is not None]
    if as_json:
        judges = [{**plan, **each.to_json()} for plan, each in zip(told, summaries, strict=True)]
        print_json({"judges": judges, **({"resume": wanted.going_on(_first(stops))} if stops else {})})
    else:
        for each in summaries:
            print_lines([f"{each.judge}:", *summary_words(each)])
    if not stops:
        if not as_json:
            print_lines([f"Next: {_compare(summaries, wanted)}"])
        return ExitCode.ADMIT
    first = _first(stops)
    tell(f"voirdire: {first.sentence}")
    tell(f"  go on{wanted.how_on(first)}: {wanted.going_on(first)}", wrapped=False)
    return ExitCode.INTERRUPTED if first.kind is StopKind.INTERRUPTED else ExitCode.OPERATIONAL


def _first(stops: Sequence[Stopped]) -> Stopped:
    """Why the judges stopped: the reason of the one that stopped the others."""
    return next((each for each in stops if each.kind is not StopKind.PARTNER), stops[0])


def _compare(summaries: Sequence[RunSummary], wanted: Wanted) -> str:
    """What to do with the verdicts of the first two."""
    name, value = ("--set", wanted.set_ref) if wanted.set_ref else ("--dataset", wanted.dataset)
    words = [*(each.judge for each in summaries[:2]), name, value or ""]
    return shlex.join(["voirdire", "judge", "compare", *words, "--criterion", summaries[0].criteria[0]])
