"""`voirdire judge run` of a cascade: the first judge, what it sends on, the cascade's own verdicts."""

from __future__ import annotations

from typing import Any

from calibration.rendering.text import counted
from calibration.store.database import Store
from judge.cascading import (
    Escalation,
    Whole,
    escalation,
    escalation_words,
    first_plan,
    saving,
    saving_words,
    whole_of,
)
from judge.cli.errors import ExitCode, tell
from judge.cli.output import print_json, print_lines
from judge.panel import CascadeJudge
from judge.recorded import recorded_judge
from judge.runs import RunPlan, RunSummary, StopKind, plan_run
from judge.runs.budget import dollars
from judge.runs.command import Wanted, ask, asked_for, how_on_told, report
from judge.runs.connect import tariff_of
from judge.runs.estimate import Estimate, estimate
from judge.runs.summary import without_verdict
from judge.runs.words import plan_object, summary_words
from rubrics.errors import DeclarationError


class _Stages:
    """The runs of one cascade, with one cap on what they cost together."""

    def __init__(self, store: Store, wanted: Wanted, *, quiet: bool) -> None:
        self.store, self.wanted, self.quiet = store, wanted, quiet
        self.left = None if wanted.max_cost is None else round(wanted.max_cost * 1_000_000)

    def say(self, *lines: str) -> None:
        """Lines for people."""
        if not self.quiet:
            print_lines(list(lines))

    def expected(self, plan: RunPlan) -> Estimate:
        """What is left of the run."""
        tariff, source = tariff_of(plan.judge, self.wanted.prices)
        with self.store.read() as session:
            return estimate(session=session, plan=plan, tariff=tariff, source=source)

    def run(self, plan: RunPlan) -> RunSummary:
        """How the run stands once carried out; what it cost is taken from the cap of the later ones."""
        done = self.expected(plan).done
        with how_on_told(self.store, self.wanted.command, plan, in_flight=self.wanted.in_flight):
            summary = ask(self.store, plan, self.wanted, done=done, cap_micros=self.left)
        if self.left is not None:
            self.left = max(0, self.left - summary.calls.known_micros)
        return summary


def carry_cascade(store: Store, wanted: Wanted, *, dry_run: bool, as_json: bool) -> ExitCode:
    """The exit code of the three runs: that of the first which stopped, else that of the cascade's own."""
    if wanted.repeats > 1:
        raise DeclarationError(
            "a cascade gives one verdict; leave out --repeats, and declare votes in a panel"
        )
    stages = _Stages(store, wanted, quiet=as_json)
    with store.read() as session:
        cascade = recorded_judge(session=session, judge=wanted.judge)
        if not isinstance(cascade, CascadeJudge):
            raise TypeError(f"{cascade.name} is no cascade")
        set_digest, rubric = asked_for(session, wanted)
        whole = whole_of(
            session=session,
            cascade=cascade,
            rubric=rubric,
            dataset=wanted.dataset,
            set_digest=set_digest,
            criteria=wanted.criteria,
        )
        first = first_plan(session=session, whole=whole)
        names = {
            each.judge: recorded_judge(session=session, judge=each.judge).name for each in cascade.judges
        }
    if first is not None:
        expected = stages.expected(first)
        stages.say(f"{names[cascade.first]}, the first judge: {_effort(expected)}")
        if dry_run:
            stages.say("What goes to the second judge is known once the first has answered.")
            return _dry([plan_object(first, expected)], as_json=as_json)
        summary = stages.run(first)
        if _ends(summary):
            return report(summary, {"stage": "first"}, wanted, as_json=as_json)
    return _second(stages, whole, str(names[cascade.then]), dry_run=dry_run, as_json=as_json)


def _effort(expected: Estimate) -> str:
    """What is left of a run, in words."""
    if not expected.calls:
        return "no call is left"
    cost = "cost not known" if expected.cost_micros is None else f"about {dollars(expected.cost_micros)}"
    return f"about {counted(expected.calls, 'call')} left, {cost}"


def _dry(plans: list[dict[str, Any]], *, as_json: bool) -> ExitCode:
    if as_json:
        print_json({"dry_run": True, "stages": plans})
    return ExitCode.ADMIT


def _ends(summary: RunSummary) -> bool:
    """Whether nothing more is asked: items whose calls failed stay open, and the others go on."""
    return summary.stopped is not None and summary.stopped.kind is not StopKind.UNANSWERED


def _second(stages: _Stages, whole: Whole, second: str, *, dry_run: bool, as_json: bool) -> ExitCode:
    """The second judge and the cascade's own run, criterion by criterion."""
    planned: list[dict[str, Any]] = []
    ended: list[tuple[RunSummary, dict[str, Any]]] = []
    for criterion in whole.on.criteria:
        with stages.store.read() as session:
            found = escalation(session=session, whole=whole, criterion=criterion)
        effort = f": {_effort(stages.expected(found.plan))}" if found.plan else ""
        stages.say(escalation_words(found, second=second) + effort)
        if dry_run:
            planned += [plan_object(found.plan, stages.expected(found.plan))] if found.plan else []
            continue
        if found.plan is not None and _ends(summary := stages.run(found.plan)):
            return report(summary, {"stage": "second"}, stages.wanted, as_json=as_json)
        ended.append(_own(stages, whole, found))
    if dry_run:
        return _dry(planned, as_json=as_json)
    if as_json:
        print_json({"runs": [{**summary.to_json(), "saved": saved} for summary, saved in ended]})
    return _told(stages, ended)


def _told(stages: _Stages, ended: list[tuple[RunSummary, dict[str, Any]]]) -> ExitCode:
    """How each of the cascade's own runs stands, and the exit code of them together."""
    for summary, saved in ended:
        stages.say(*summary_words(summary), saving_words(saved))
    waiting = [summary for summary, _ in ended if summary.stopped is not None]
    if not waiting:
        stages.say(f"Next: {stages.wanted.next_command(ended[0][0])}")
        return ExitCode.ADMIT
    left = sum(summary.units - summary.done for summary in waiting)
    tell(f"voirdire: {without_verdict(left)} because a judge of the cascade has none on them")
    tell(f"  go on: {stages.wanted.command}", wrapped=False)
    return ExitCode.OPERATIONAL


def _own(stages: _Stages, whole: Whole, found: Escalation) -> tuple[RunSummary, dict[str, Any]]:
    """The cascade's own run under one criterion, and what the second judge was spared."""
    with stages.store.read() as session:
        plan = plan_run(
            session=session,
            judge=whole.cascade,
            rubric=whole.rubric,
            dataset=whole.on.dataset,
            set_digest=whole.on.set_digest,
            criteria=(found.criterion,),
        )
    summary = stages.run(plan)
    with stages.store.read() as session:
        return summary, saving(session=session, found=found)
