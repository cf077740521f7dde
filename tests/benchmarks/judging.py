"""`python -m tests.benchmarks.judging --json`: what a judge run costs beside the calls themselves.

A provider on 127.0.0.1 that answers after a fixed delay runs in a process of its own; every run is another
process, so that processor time and memory are its own. Runs that are compared take turns within each round;
lines show minimum, median and maximum. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from judge.spec import Endpoint, ModelJudge
from rubrics.order import OrderPolicy

IN_FLIGHT = 64
DELAY_S = 0.1
REPLY = json.dumps({"reason": "Every figure stands in the policy.", "verdict": "pass"})


class Answering(asyncio.Protocol):
    """One connection of a provider that answers each request after the delay, and counts."""

    delay = DELAY_S
    in_flight = peak = hits = 0
    body = json.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "served-1",
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": REPLY}, "finish_reason": "stop"}
            ],
            "usage": {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420},
        }
    ).encode()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to read."""
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.unread = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        self.unread += data
        while (end := self.unread.find(b"\r\n\r\n")) >= 0:
            head = self.unread[:end].lower()
            if head.startswith(b"get /counts"):
                self.unread = self.unread[end + 4 :]
                self._send(json.dumps({"peak": Answering.peak, "hits": Answering.hits}).encode())
                Answering.peak = Answering.hits = 0
                continue
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
            if len(self.unread) < end + 4 + length:
                return
            self.unread = self.unread[end + 4 + length :]
            Answering.hits += 1
            Answering.in_flight += 1
            Answering.peak = max(Answering.peak, Answering.in_flight)
            asyncio.get_running_loop().call_later(self.delay, self._answer)

    def _answer(self) -> None:
        Answering.in_flight -= 1
        self._send(self.body)

    def _send(self, body: bytes) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        self.transport.write(head % len(body) + body)


async def serve(delay: float) -> None:
    """Answer until the process is ended."""
    Answering.delay = delay
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def provider(delay: float) -> Iterator[str]:
    """The address of a provider with this delay."""
    command = [sys.executable, "-m", "tests.benchmarks.judging", "--serve", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        finally:
            process.kill()


def counts(address: str) -> dict[str, int]:
    """Requests and the most in flight at once since the last question."""
    from urllib.request import urlopen

    with urlopen(address.removesuffix("/v1") + "/counts") as answer:
        return dict(json.load(answer))


def work(kind: str, address: str, items: int, database: str) -> dict[str, float]:
    """What one piece of work took: wall and processor seconds, and the most memory of its process in MiB."""
    took = _raw(address, items) if kind == "raw" else _run(kind, address, items, database)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"wall": took[0], "cpu": took[1], "rss_mib": peak}


def spec_at(address: str) -> ModelJudge:
    """The judge whose model is at the address, asked in one order."""
    return ModelJudge(
        kind="model",
        name="served",
        model="openai/served-1",
        endpoint=Endpoint.COMPATIBLE,
        api_base=address,
        order=OrderPolicy.AS_DECLARED,
    )


def set_up(address: str, items: int, database: str) -> None:
    """Record what a run needs, in a process of its own, whose memory is nobody's."""
    from calibration.store.schema import open_store
    from tests.judge.run_world import lay_down, numbered

    with open_store(database) as store:
        lay_down(store, numbered(items), spec_at(address))


def _run(kind: str, address: str, items: int, database: str) -> tuple[float, float]:
    """A run that stores everything, over the direct client or LiteLLM; imports not counted as time."""
    from calibration.store.schema import open_store
    from judge.direct_client import connect_direct
    from judge.runs import RunOptions, plan_run, run_judge
    from tests.judge.cases import POINTWISE

    connects: Any = connect_direct
    import_module("aiohttp")  # by the first call else
    if kind == "litellm":
        from judge.model_client import connect, map_prices

        map_prices("any")  # imports LiteLLM
        connects = connect
    with open_store(database) as store:
        with store.read() as session:
            plan = plan_run(
                session=session,
                judge=spec_at(address),
                rubric=POINTWISE,
                dataset="support",
                criteria=("states_terms",),
            )
        began, cpu = time.perf_counter(), time.process_time()
        options = RunOptions(concurrency=IN_FLIGHT)
        summary = run_judge(store, plan, lambda: connects(rng=Random(1)), options=options)
        took = time.perf_counter() - began, time.process_time() - cpu
        assert (summary.complete, summary.verdicts) == (True, {"pass": items})
    return took


def _raw(address: str, items: int) -> tuple[float, float]:
    """The same requests by a plain loop: a semaphore round LiteLLM's function, nothing stored."""
    from judge.grading import Prepared, prepare, sit
    from judge.model_client import LiteLLMTransport
    from judge.question import Question
    from judge.runs.run import in_own_loop
    from rubrics.order import Order
    from tests.judge.cases import POINTWISE, STATES
    from tests.judge.run_world import numbered

    sitting = sit(spec_at(address), POINTWISE, secret=bytes(16))
    calls = [prepare(sitting, Question(POINTWISE, STATES, item), order=Order.AB) for item in numbered(items)]
    transport = LiteLLMTransport()
    arguments = [transport._arguments(call.request) for call in calls if isinstance(call, Prepared)]
    acompletion = sys.modules["litellm"].acompletion

    async def loop() -> None:
        room = asyncio.Semaphore(IN_FLIGHT)

        async def one(given: dict[str, Any]) -> None:
            async with room:
                answer = await acompletion(**given)
                assert answer.choices[0].message.content == REPLY

        await asyncio.gather(*(one(given) for given in arguments))

    began, cpu = time.perf_counter(), time.process_time()
    in_own_loop(loop())  # the loop that a run has, so that it is no advantage of ours
    return time.perf_counter() - began, time.process_time() - cpu


def measured(kind: str, address: str, items: int) -> dict[str, float]:
    """`work` in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        database = str(Path(folder) / "voirdire.db")
        said = ""
        for task in ("set-up", kind) if kind != "raw" else (kind,):
            command = [sys.executable, "-m", "tests.benchmarks.judging", "--work"]
            command += [task, address, str(items), database]
            said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(json.loads(said.splitlines()[-1]))


def spread(name: str, values: list[float]) -> float:
    """The median, after a line with minimum, median and maximum."""
    low, middle, high = min(values), statistics.median(values), max(values)
    print(f"{name:52} {low:9.3f} {middle:9.3f} {high:9.3f}", flush=True)
    return middle


def figures(rounds: int, *, items: int, many: int) -> dict[str, float]:
    """The figures by the keys that scripts read; `items` and `many` stand for 1,000 and 10,000."""
    print(f"{'':52} {'minimum':>9} {'median':>9} {'maximum':>9}")
    ideal = math.ceil(items / IN_FLIGHT) * DELAY_S
    few: list[dict[str, float]] = []
    peaks: list[float] = []
    ratios: list[float] = []
    with provider(DELAY_S) as address:
        for _ in range(rounds):
            counts(address)
            few.append(measured("direct", address, items))
            peaks.append(counts(address)["peak"])
            through, raw = (measured(kind, address, items)["cpu"] for kind in ("litellm", "raw"))
            ratios.append(through / raw)
    with provider(DELAY_S / 5) as address:
        long = [measured("direct", address, many) for _ in range(rounds)]
    return {
        "wall_over_ideal_direct": spread(
            f"wall / ideal, {items:,} items", [each["wall"] / ideal for each in few]
        ),
        "cpu_ms_direct": spread(
            f"processor ms a judgment, {many:,} items", [1000 * each["cpu"] / many for each in long]
        ),
        "litellm_over_raw": spread("LiteLLM path / raw loop, processor time", ratios),
        "in_flight_peak": spread("calls in flight at the provider", peaks),
        "rss_mib_1000": spread(f"memory, MiB, {items:,} items", [each["rss_mib"] for each in few]),
        "rss_mib_10000": spread(f"memory, MiB, {many:,} items", [each["rss_mib"] for each in long]),
    }


def main() -> None:
    """Measure, or be one of the processes that are measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default 3)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full number of items")
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        asyncio.run(serve(options.serve))
    elif options.work is not None:
        kind, address, count, database = options.work
        if kind == "set-up":
            set_up(address, int(count), database)
        else:
            print(json.dumps(work(kind, address, int(count), database)))
    else:
        items, many = (round(n * options.scale) for n in (1000, 10_000))
        found = figures(options.rounds, items=items, many=many)
        print(json.dumps(found) if options.json else "\n".join(f"{k}: {v:.4g}" for k, v in found.items()))


if __name__ == "__main__":
    main()
