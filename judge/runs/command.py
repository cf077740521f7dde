"""The work of `voirdire judge run`: the plan in words, the run with its bar, how it ended."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from calibration.store.judges import RunOrigin, run_key
from calibration.store.run_prices import record_prices
from calibration.store.text import stored_json
from judge.calls import Prices
from judge.cli.errors import ExitCode, tell
from judge.cli.lookups import recorded_rubric
from judge.cli.output import console, print_json, print_lines
from judge.cli.stores import actor, now, opened
from judge.recorded import recorded_judge
from judge.runs import RunOptions, RunPlan, RunSummary, StopKind, plan_run, recorded_run, run_judge
from judge.runs.bar import run_bar
from judge.runs.connect import MOST, connected, tariff_of
from judge.runs.estimate import estimate
from judge.runs.pacing import Pace, Pacer, parse_rate
from judge.runs.summary import Stopped, unanswered_words
from judge.runs.words import pace_words, plan_object, plan_words, summary_words, unread_words
from judge.spec import ModelJudge
from rubrics.errors import JudgeCalibrationError, RecordError, StoreError
from rubrics.rubric import Rubric

if TYPE_CHECKING:
    from sqlmodel import Session

    from calibration.store.database import Store
    from calibration.store.items import Scope

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
    def in_flight(self) -> int:
        """Calls of one judge that may be out at once."""
        return self.concurrency or MOST

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
        with how_on_told(store, wanted.command, plan, in_flight=wanted.in_flight):
            summary = ask(store, plan, wanted, done=expected.done, cap_micros=cap)
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


@contextmanager
def how_on_told(store: Store, command: str, *plans: RunPlan, in_flight: int) -> Iterator[None]:
    """Where the block is given up, what may be paid without an answer and the command that goes on.

    That is, by a second Ctrl-C, or by a store that refuses: its error then carries both. `in_flight` calls
    at most are out at once for each of the plans.
    """
    try:
        yield
    except KeyboardInterrupt:
        tell_of_given_up(store, plans[0], command, *plans[1:])
        raise
    except StoreError as error:
        error.resume = command
        try:
            error.unstored = tuple(_given_up(store, plans))
        except JudgeCalibrationError:
            error.unstored = (unread_words(in_flight * len(plans)),)
        raise


def tell_of_given_up(store: Store, plan: RunPlan, command: str, *others: RunPlan) -> None:
    """Say how many calls may have been paid without an answer, and the command that goes on.

    For a second Ctrl-C, which gives calls up.
    """
    for out in _given_up(store, (plan, *others)):
        tell(f"voirdire: stopped at once; {out}")
    tell(f"  go on: {command}", wrapped=False)


def _given_up(store: Store, plans: Sequence[RunPlan]) -> Iterator[str]:
    """Of each plan that calls of its run have no answer, with the judge's name where there are several."""
    with store.read() as session:
        for each in plans:
            named = f"{each.judge.name}: " if len(plans) > 1 else ""
            yield from (f"{named}{out}" for out in _calls_that_are_out(session, each))


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
        anew = wanted.going_on(stopped)
        tell(f"  or ask what is open now, which may be paid twice: {anew}", wrapped=False)
    return ExitCode.INTERRUPTED if stopped.kind is StopKind.INTERRUPTED else ExitCode.OPERATIONAL
