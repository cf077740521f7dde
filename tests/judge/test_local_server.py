"""What the server process is told, reports and returns, with a runtime that only records."""

from __future__ import annotations

import io
import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from judge.local_server import EXIT_NO_MODEL, EXIT_NO_RUNTIME, main

ORDER = {"path": "/m.gguf", "name": "m", "key": "k", "threads": 1, "parallel": 2, "context": 2048}


def runtime(monkeypatch: pytest.MonkeyPatch, server: Any) -> None:
    """Put a module in place of xllamacpp whose server is this."""
    module = ModuleType("xllamacpp")
    parts = {"model": SimpleNamespace, "cpuparams": SimpleNamespace, "cpuparams_batch": SimpleNamespace}
    module.CommonParams = lambda: SimpleNamespace(**{name: kind() for name, kind in parts.items()})  # type: ignore[attr-defined]
    module.Server = server  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "xllamacpp", module)


def test_it_serves_as_told_until_its_input_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback only, a key, no pages, room for each slot; the address is the one line reported."""
    served: list[Any] = []

    def server(parameters: Any) -> Any:
        served.append(parameters)
        return SimpleNamespace(listening_address="http://127.0.0.1:7")

    runtime(monkeypatch, server)
    report = io.StringIO()
    assert main(io.StringIO(json.dumps(ORDER) + "\n"), report) == 0
    assert report.getvalue() == '{"address": "http://127.0.0.1:7"}\n'
    (told,) = served
    assert (told.model.path, told.model_alias, told.api_keys) == ("/m.gguf", {"m"}, ["k"])
    assert (told.hostnames, told.port, told.ui, told.endpoint_slots) == (["127.0.0.1"], 0, False, False)
    assert (told.n_parallel, told.n_ctx, told.cpuparams.n_threads) == (2, 4096, 1)
    assert told.cpuparams_batch.n_threads == 1
    assert told.offline is True


def test_a_file_that_cannot_be_loaded_has_its_own_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is reported, and llama.cpp's words go to the log."""

    def server(_: Any) -> Any:
        raise RuntimeError("bad magic")

    runtime(monkeypatch, server)
    report = io.StringIO()
    assert main(io.StringIO(json.dumps(ORDER) + "\n"), report) == EXIT_NO_MODEL
    assert (report.getvalue(), capsys.readouterr().err) == ("", "bad magic\n")


def test_an_absent_runtime_has_its_own_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent tells the person what to install."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert main(io.StringIO(json.dumps(ORDER) + "\n"), io.StringIO()) == EXIT_NO_RUNTIME
