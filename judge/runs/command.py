"""The work of `voirdire judge run`: the plan in words, the run with its bar, how it ended."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from calibration.rendering.text import counted
from calibration.store.judges import RunOrigin, run_key
from calibration.store.run_prices import prices_of, record_prices
from calibration.store.text import stored_json
from judge.calls import Prices
from judge.cli.errors import ExitCode, tell
from judge.cli.lookups import recorded_rubric
from judge.cli.output import console, print_json, print_lines
from judge.cli.stores import actor, now, opened
from judge.recorded import recorded_judge
from judge.runs import RunOptions, RunPlan, RunSummary, StopKind, plan_run, recorded_run, run_judge
from judge.runs.bar import run_bar
from judge.runs.connect import connected, tariff_of
from judge.runs.estimate import estimate
from judge.runs.pacing import Pace, Pacer, parse_rate
from judge.runs.summary import Stopped, unanswered_words
from judge.runs.words import pace_words, plan_object, plan_words, summary_words
from judge.spec import ModelJudge
from rubrics.errors import RecordError
from rubrics.rubric import Rubric

if TYPE_CHECKING:
    from sqlmodel import Session

    from calibration.store.database import Store
    from calibration.store.items import Scope
    from judge.runs.replay import Replayed

API_KEY = "VOIRDIRE_API_KEY"
"""The key of an OpenAI-compatible server; providers have their own variables."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for."""

    judge: str
    dataset: str | None
    set_ref: str | None
    rubric: str | None
    criteria: tuple[str, ...]
    repeats: int
    concurrency: int | None
    max_cost: float | None
    price_input: float | None
    price_output: float | None
    gguf: str | None
    direct: bool | None = None
    """Whether the calls are made without LiteLLM; None where that can be."""
    rate: str | None = None
    """Calls that the provider allows, as given: 500/min."""
    token_rate: str | None = None
    any_model: bool = False
    """Whether a run goes on where the provider says that another model answers."""
    others: tuple[str, ...] = ()
    """Judges that are asked in turn with the first."""

    @property
    def pace(self) -> Pace | None:
        """How fast the provider may be asked; raises DeclarationError for what is no rate."""
        if self.rate is None and self.token_rate is None:
            return None
        given = (None if text is None else parse_rate(text) for text in (self.rate, self.token_rate))
        return Pace(*given)

    @property
    def prices(self) -> Prices | None:
        """What the operator says that tokens cost."""
        if self.price_input is None or self.price_output is None:
            return None
        return Prices(self.price_input, self.price_output)

    @property
    def on(self) -> str:
        """Which items, in words."""
        return f"set {self.set_ref}" if self.set_ref else f"dataset {self.dataset}"

    @property
    def command(self) -> str:
        """The command line that goes on with the run."""
        return shlex.join(["voirdire", "judge", "run", *self.options])

    @property
    def options(self) -> list[str]:
        """What was asked for, as it is typed."""
        named = (
            ("--judge", self.judge),
            *(("--judge", each) for each in self.others),
            ("--dataset", self.dataset),
            ("--set", self.set_ref),
            ("--rubric", self.rubric),
            *(("--criterion", each) for each in self.criteria),
            ("--repeats", self.repeats if self.repeats > 1 else None),
            ("--concurrency", self.concurrency),
            ("--rate", self.rate),
            ("--token-rate", self.token_rate),
            ("--max-cost", None if self.max_cost is None else f"{self.max_cost:g}"),
            ("--price-input", self.price_input),
            ("--price-output", self.price_output),
            ("--gguf", self.gguf),
            ("--client", None if self.direct is None else "direct" if self.direct else "litellm"),
        )
        words = [word for name, value in named if value is not None for word in (name, str(value))]
        return [*words, *(["--allow-model-change"] if self.any_model else [])]

    def going_on(self, stopped: Stopped) -> str:
        """The command line that goes on after this stop; one that would stop at once is none."""
        if stopped.kind is StopKind.COST_CAP:
            return f"{replace(self, max_cost=None).command} --max-cost AMOUNT"
        return replace(self, any_model=self.any_model or stopped.kind is StopKind.MODEL_CHANGED).command

    def how_on(self, stopped: Stopped) -> str:
        """With what that command goes on, in words; "" where with the same."""
        if stopped.kind is StopKind.COST_CAP and self.max_cost is not None:
            return f" with a cap above ${self.max_cost:g}"
        return " with both models" if stopped.kind is StopKind.MODEL_CHANGED else ""

    def next_command(self, summary: RunSummary) -> str:
        """What to do with the verdicts."""
        name, value = ("--set", self.set_ref) if self.set_ref else ("--dataset", self.dataset)
        words = [name or "", value or "", "--judge", summary.judge, "--criterion", summary.criteria[0]]
        return shlex.join(["voirdire", "calibrate", *words])


def carry_out(context: Any, wanted: Wanted, *, dry_run: bool, as_json: bool) -> ExitCode:
    """The exit code of the run: 0 once every unit has its verdict, 3 or 130 where it stopped before."""
    with opened(context) as store:
        if _is_cascade(store, wanted):
            from judge.cascade_command import carry_cascade

            return carry_cascade(store, wanted, dry_run=dry_run, as_json=as_json)
        with store.read() as session:
            plan = planned_run(session, wanted)
            tariff, source = tariff_of(plan.judge, wanted.prices)
            expected = estimate(session=session, plan=plan, tariff=tariff, source=source)
            risky = (*risks_of(session, plan), *_calls_that_are_out(session, plan))
        planned = {**plan_object(plan, expected), "risks": list(risky)}
        if not as_json:
            print_lines(plan_words(plan, expected, on=wanted.on, width=console().width))
            if wanted.pace is not None:
                print_lines([f"  {pace_words(wanted.pace, expected)}"])
            print_lines([f"  ! {risk}" for risk in risky])
        if dry_run:
            if as_json:
                print_json({"dry_run": True, **planned})
            return ExitCode.ADMIT
        cap = None if wanted.max_cost is None else round(wanted.max_cost * 1_000_000)
        try:
            summary = ask(store, plan, wanted, done=expected.done, cap_micros=cap)
        except KeyboardInterrupt:
            tell_of_given_up(store, plan, wanted.command)
            raise
    return report(summary, planned, wanted, as_json=as_json)


def ask(store: Store, plan: RunPlan, wanted: Wanted, *, done: int, cap_micros: int | None) -> RunSummary:
    """How the run stands once its judge was reached and asked, with a bar; `done` units are there already."""
    tariff, _ = tariff_of(plan.judge, wanted.prices)
    keep_prices(store, plan, wanted.prices)
    pacer = None if wanted.pace is None else Pacer(wanted.pace)
    model = connected(
        plan.judge,
        prices=wanted.prices,
        gguf=None if wanted.gguf is None else Path(wanted.gguf),
        api_key=api_key(),
        direct=wanted.direct,
        adaptive=wanted.concurrency is None,
        turn=None if pacer is None else pacer.turn,
    )
    bar = run_bar(str(plan.judge.name), done=done, units=plan.units)
    with model as reached, bar as told:
        options = RunOptions(
            concurrency=wanted.concurrency or reached.concurrency,
            max_cost_micros=cap_micros,
            tariff=tariff,
            any_model=wanted.any_model,
            now=now,
        )
        return run_judge(
            store, plan, reached.client, served_at=reached.served_at, options=options, on_progress=told
        )


def keep_prices(store: Store, plan: RunPlan, prices: Prices | None) -> None:
    """Record by which declared prices the run is paid, so that whoever goes on with it can be told."""
    if prices is None or not isinstance(plan.judge, ModelJudge):
        return
    key = run_key(
        judge_digest=plan.judge.digest,
        rubric_digest=plan.rubric.digest,
        dataset=plan.dataset,
        set_digest=plan.set_digest,
        origin=RunOrigin.RUN,
        plan=stored_json(plan.content),
    )
    given = (prices.uncached_input, prices.output)
    with store.write() as session:
        record_prices(session=session, run=key, prices=given, actor=actor(), at=now())


def tell_of_given_up(store: Store, plan: RunPlan, command: str, *others: RunPlan) -> None:
    """Say how many calls may have been paid without an answer, and the command that goes on.

    For a second Ctrl-C, which gives calls up.
    """
    with store.read() as session:
        for each in (plan, *others):
            for out in _calls_that_are_out(session, each):
                named = f" {each.judge.name}:" if others else ""
                tell(f"voirdire: stopped at once;{named} {out}")
    tell(f"  go on: {command}", wrapped=False)


def _calls_that_are_out(session: Session, plan: RunPlan) -> tuple[str, ...]:
    """That calls of the run which this goes on with have no answer yet, in a sentence."""
    from calibration.store.tallies import tally_calls

    run = recorded_run(session=session, plan=plan)
    out = unanswered_words(tally_calls(session=session, run_key=run.key)) if run else ""
    return (out,) if out else ()


def risks_of(session: Session, plan: RunPlan) -> tuple[str, ...]:
    """What is risky of asking this judge about these items."""
    from calibration.store.items import Scope
    from judge.population_lint import run_risks

    scope = Scope(set_digest=plan.set_digest) if plan.set_digest else Scope(dataset=plan.dataset)
    return run_risks(session=session, judge=plan.judge, criteria=plan.criteria, scope=scope)


def _is_cascade(store: Store, wanted: Wanted) -> bool:
    from judge.panel import CascadeJudge

    with store.read() as session:
        return isinstance(recorded_judge(session=session, judge=wanted.judge), CascadeJudge)


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
    from judge.runs.answers import count_answers, ingest_batch
    from judge.runs.batch import count_batch, emit_batch

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
    stopped = taken.summary.stopped
    changed = stopped is not None and stopped.kind is StopKind.MODEL_CHANGED
    rest = shlex.quote(file) if changed else "REST" if taken.summary.calls.unresolved else None
    resume = f"{wanted.going_on(stopped)} --ingest-batch {rest}" if stopped and rest else None
    return report(taken.summary, {"batch": taken.to_json()}, wanted, as_json=as_json, resume=resume)


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


LISTED = 20
"""Replies that are told one by one where they read otherwise."""


def carry_replay(context: Any, wanted: Wanted, run: str, *, as_json: bool, dry_run: bool = False) -> ExitCode:
    """The exit code of reading stored replies again: 3 where units have none, else 1 where one changed."""
    from judge.runs.replay import replay

    with opened(context) as store:
        with store.read() as session:
            wanted = wanted if wanted.dataset or wanted.set_ref else _as_asked(session, wanted, run)
            plan = planned_run(session, wanted)
        found = replay(store, plan, run, now=now(), dry=dry_run)
        finish = _finishing(store, wanted, found).command if found.left else None
    if as_json:
        tried, on = {"dry_run": True} if dry_run else {}, {"resume": finish} if finish else {}
        print_json({**tried, **found.to_json(), **on})
    else:
        print_lines(list(_replay_words(found)))
    if found.left:
        tell(
            f"voirdire: {found.left:,} of {counted(found.units, 'unit')} "
            f"{'has' if found.left == 1 else 'have'} no verdict in run {found.source[:12]}: finish that run, "
            "then read it again"
        )
        tell(f"  finish it: {finish}", wrapped=False)
        return ExitCode.OPERATIONAL
    return ExitCode.REJECT if found.changed else ExitCode.ADMIT


def _finishing(store: Store, wanted: Wanted, found: Replayed) -> Wanted:
    """What finishes the run that was read, by the prices that were declared for it."""
    with store.read() as session:
        prices = prices_of(session=session, run=found.source)
    if prices is None or wanted.prices is not None:
        return replace(wanted, judge=found.judge)
    return replace(wanted, judge=found.judge, price_input=prices[0], price_output=prices[1])


def _replay_words(found: Replayed) -> Iterator[str]:
    where = "; nothing is stored" if found.run is None else f"; stored as run {found.run[:12]}"
    without = counted(found.without_reply, "verdict")
    yield f"Read {counted(found.read, 'reply', 'replies')} again, {without} without one{where}."
    for each in found.changed[:LISTED]:
        yield f"  {each.item_id}: {each.before} is now {each.after}"
    if len(found.changed) > LISTED:
        yield f"  and {len(found.changed) - LISTED:,} more"
    if not found.changed:
        yield "  all read as before"


def _as_asked(session: Session, wanted: Wanted, run: str) -> Wanted:
    """What is wanted, of the items, the rubric and the criteria that the run was about."""
    from calibration.store.rubrics import get_rubric_by_digest
    from calibration.store.sets import get_set_by_digest
    from judge.runs.replay import run_named

    source = run_named(session=session, source=run)
    plan, of_set = json.loads(source.plan), source.set_digest
    return replace(
        wanted,
        dataset=None if of_set else source.dataset,
        set_ref=get_set_by_digest(session=session, digest=of_set).ref if of_set else None,
        rubric=get_rubric_by_digest(session=session, digest=source.rubric_digest).ref,
        criteria=tuple(wanted.criteria or plan.get("criteria", ())),
        repeats=plan.get("repeats", wanted.repeats),
    )


def api_key() -> SecretStr | None:
    """The key of an OpenAI-compatible server, where the environment holds one."""
    given = os.environ.get(API_KEY)
    return SecretStr(given) if given else None


def asked_for(session: Session, wanted: Wanted) -> tuple[str | None, Rubric]:
    """The digest of the set that is named, and the rubric."""
    from calibration.calibrate.evidence_set import open_set
    from calibration.store.items import Scope

    found = open_set(session=session, ref=wanted.set_ref) if wanted.set_ref else None
    scope = found.scope if found else Scope(dataset=wanted.dataset)
    return found.digest if found else None, _rubric(session, scope, wanted)


def planned_run(session: Session, wanted: Wanted) -> RunPlan:
    """The plan that the command line asks for, of its first judge."""
    judge = recorded_judge(session=session, judge=wanted.judge)
    set_digest, rubric = asked_for(session, wanted)
    return plan_run(
        session=session,
        judge=judge,
        rubric=rubric,
        dataset=wanted.dataset,
        set_digest=set_digest,
        criteria=wanted.criteria,
        repeats=wanted.repeats,
    )


def _rubric(session: Session, scope: Scope, wanted: Wanted) -> Rubric:
    """The rubric that is named, or the one under which the items are labelled, or the only one there is."""
    if wanted.rubric is not None:
        return recorded_rubric(session, wanted.rubric)
    from calibration.store.assessments import rubrics_of_labels
    from calibration.store.rubrics import get_rubric_by_digest, list_rubrics

    labelled = rubrics_of_labels(session=session, scope=scope)
    known = labelled or [digest for _, digest in list_rubrics(session=session)]
    if len(known) == 1:
        return get_rubric_by_digest(session=session, digest=known[0])
    rubrics = [get_rubric_by_digest(session=session, digest=digest).ref for digest in known]
    if not rubrics:
        raise RecordError("no rubric is recorded; run `voirdire rubric add FILE`")
    how = "the items are labelled under" if labelled else "there are the rubrics"
    raise RecordError(f"{how} {', '.join(sorted(rubrics))}; name one with --rubric NAME@V")


def report(
    summary: RunSummary, planned: dict[str, Any], wanted: Wanted, *, as_json: bool, resume: str | None = None
) -> ExitCode:
    """The exit code of a run that was carried out, once it was told how it stands."""
    stopped = summary.stopped
    if as_json:
        next_one = {"resume": resume or wanted.going_on(stopped)} if stopped else {}
        print_json({**planned, **summary.to_json(), **next_one})
    else:
        print_lines(list(summary_words(summary)))
        if stopped is None:
            print_lines([f"Next: {wanted.next_command(summary)}"])
    if stopped is None:
        return ExitCode.ADMIT
    tell(f"voirdire: {stopped.sentence}")
    tell(f"  go on{wanted.how_on(stopped)}: {resume or wanted.going_on(stopped)}", wrapped=False)
    if resume is not None:
        tell(f"  or ask what is open now, which may be paid twice: {wanted.command}", wrapped=False)
    return ExitCode.INTERRUPTED if stopped.kind is StopKind.INTERRUPTED else ExitCode.OPERATIONAL
