"""A process that works on a run until it is killed; run by test_runs_killed.

It reads `database address concurrency` a line, forks a child that goes on with the run over the real LiteLLM,
prints the child's process id, and `dead CODE` once it has ended. It forks for each kill: importing LiteLLM
and what its first call imports takes longer than being killed.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from random import Random

from calibration.store.schema import open_store
from judge.calls import ModelCallError
from judge.model_client import LiteLLMTransport, connect
from judge.runs import RunOptions, plan_run, run_judge
from judge.spec import Endpoint, ModelJudge
from tests.judge.calling import ask
from tests.judge.cases import POINTWISE, judge
from tests.judge.run_world import DATASET, KEY


def spec_at(address: str) -> ModelJudge:
    """The judge whose model is served at the address."""
    return judge(name="served", model="openai/served-model-1", endpoint=Endpoint.COMPATIBLE, api_base=address)


def go_on(database: str, address: str, concurrency: int) -> None:
    """Work on the run until it is finished or the process is gone."""
    with open_store(database) as store:
        with store.read() as session:
            plan = plan_run(
                session=session,
                judge=spec_at(address),
                rubric=POINTWISE,
                dataset=DATASET,
                criteria=(KEY,),
            )
        options = RunOptions(concurrency=concurrency)
        summary = run_judge(store, plan, lambda: connect(rng=Random()), options=options)
        print("done", summary.done, flush=True)


async def first_call() -> None:
    """A call that reaches nobody, so that everything is imported once for all children."""
    transport = LiteLLMTransport(deadline_s=20.0)
    try:
        await transport.send(ask("http://127.0.0.1:9/v1"))
    except ModelCallError:
        return
    finally:
        await transport.aclose()


def main() -> None:
    """Fork a worker for each line."""
    asyncio.run(first_call())
    gc.freeze()
    print("ready", flush=True)
    for line in sys.stdin:
        database, address, concurrency = line.split()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                go_on(database, address, int(concurrency))
                code = 0
            except KeyboardInterrupt:
                code = 130
            finally:
                os._exit(code)
        print("child", child, flush=True)
        _, status = os.waitpid(child, 0)
        print("dead", os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
