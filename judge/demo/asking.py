"""The demo's judges asked about its sets; a judge that has answered everything is not asked again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from random import Random
from typing import Protocol

from calibration.policy import AdmissionPolicy
from calibration.store.database import Store
from calibration.store.judges import RunState
from judge.calls import ModelClient
from judge.demo.records import Sample
from judge.local_model import serve
from judge.runs import Progress, RunOptions, RunPlan, StopKind, plan_run, recorded_run, run_judge
from judge.spec import JudgeSpec, ModelJudge, RuleJudge
from rubrics.errors import DeclarationError, ExecutionError

OnProgress = Callable[[Progress], None]


class Served(Protocol):
    """A model that is being served."""

    @property
    def api_base(self) -> str:
        """Its address."""
        ...

    @property
    def parallel(self) -> int:
        """Calls that it works on at once."""
        ...

    def client(self, *, rng: Random) -> ModelClient:
        """A client for it."""
        ...


@dataclass(frozen=True, slots=True)
class ModelStep:
    """The model judge that the demo examines under the criterion of judgment, or why there is none."""

    judge: ModelJudge | None
    absent: str = ""
    """Why there is none and what to run; empty where there is one."""
    served: Callable[[ModelJudge], AbstractContextManager[Served]] = serve
    on_progress: OnProgress | None = None
    """Told after every answer."""


def ask(store: Store, sample: Sample, judge: JudgeSpec, policy: AdmissionPolicy) -> None:
    """Have a judge without a model answer every item of the set of each criterion that it can answer.

    A fitted baseline learns from the policy's references, and no item is judged by a fit that saw its label.
    """
    for criterion in sample.sets:
        if isinstance(judge, RuleJudge) and judge.criterion != criterion:
            continue
        plan = _plan(store, sample, judge, policy, criterion)
        if not _finished(store, plan):
            run_judge(store, plan, None)


def ask_model(
    store: Store, sample: Sample, step: ModelStep, policy: AdmissionPolicy, *, criterion: str
) -> ModelStep:
    """Have the model judge answer every item of the criterion's set, in both orders.

    Gives the step without its judge, and why, where the model cannot be served; calls that fail leave open
    verdicts. A run that was stopped goes on when it is asked for again.

    Raises:
        ExecutionError: somebody stopped it.
    """
    if step.judge is None:
        return step
    plan = _plan(store, sample, step.judge, policy, criterion)
    if _finished(store, plan):
        return step
    try:
        with step.served(step.judge) as model:
            summary = run_judge(
                store,
                plan,
                lambda: model.client(rng=Random()),
                served_at=model.api_base,
                options=RunOptions(concurrency=model.parallel),
                on_progress=step.on_progress,
            )
    except (DeclarationError, ExecutionError) as error:
        return ModelStep(None, f"No model judge was examined: {error}.")
    if summary.stopped is not None and summary.stopped.kind in {StopKind.INTERRUPTED, StopKind.CANCELLED}:
        raise ExecutionError(
            f"the model judge has {summary.done} of {summary.units} verdicts ({summary.stopped.sentence}); "
            "run the demo again to go on",
            retryable=True,
        )
    return step


def _plan(store: Store, sample: Sample, judge: JudgeSpec, policy: AdmissionPolicy, criterion: str) -> RunPlan:
    with store.read() as session:
        return plan_run(
            session=session,
            judge=judge,
            rubric=sample.rubric,
            set_digest=sample.sets[criterion].digest,
            criteria=(criterion,),
            rule=policy.reference.label_rule,
        )


def _finished(store: Store, plan: RunPlan) -> bool:
    with store.read() as session:
        run = recorded_run(session=session, plan=plan)
    return run is not None and run.state is RunState.FINISHED
