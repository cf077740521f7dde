"""Judge runs: plan the units, commit each intent before its call, store every answer, resume by reading.

    with store.read() as session:
        plan = plan_run(session=session, judge=spec, rubric=rubric, dataset="support")
    summary = run_judge(store, plan, client_factory, served_at=None, options=RunOptions(concurrency=8))

- `plan_run(*, session, judge, rubric, dataset=None, set_digest=None, criteria=(), repeats=1) -> RunPlan`:
  `judge` is a JudgeSpec that is recorded (calibration.store.judges.add_judge), `rubric` a published one; the
  items are the members of a frozen set, or the calibration items of a dataset; `criteria` are keys, by
  default all that this judge can answer. The same arguments over the same items give the same run.
- `run_judge(store, plan, client_factory, *, served_at=None, options=None, on_progress=None) -> RunSummary`:
  `client_factory` is called without arguments inside the run's event loop and gives a ModelClient (None for
  a rule judge or a baseline, which make no call); `served_at` is the address of an embedded model. It
  returns for every orderly end and says why in `summary.stopped` (None when every unit has its verdict).
  Calling it again goes on where it stopped.

An embedded model:

    with serve(judge) as model:
        run_judge(store, plan, lambda: model.client(rng=Random()), served_at=model.api_base)
"""

from judge.runs.budget import Tariff, dollars
from judge.runs.conditions import Condition, Control, conditions
from judge.runs.engine import RunOptions
from judge.runs.plan import RunPlan, plan_run, recorded_run
from judge.runs.run import Asked, ClientFactory, run_in_turn, run_judge, run_judge_async
from judge.runs.summary import Progress, RunSummary, StopKind, Stopped
from judge.runs.turns import in_turn

__all__ = [
    "Asked",
    "ClientFactory",
    "Condition",
    "Control",
    "Progress",
    "RunOptions",
    "RunPlan",
    "RunSummary",
    "StopKind",
    "Stopped",
    "Tariff",
    "conditions",
    "dollars",
    "in_turn",
    "plan_run",
    "recorded_run",
    "run_in_turn",
    "run_judge",
    "run_judge_async",
]
