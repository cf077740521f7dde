"""voirdire ui: the app is a child that gets every signal once, and its code is the command's."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from judge.cli.ui import run_app
from tests.command_line import run, spawn
from tests.source_tree import ROOT

WAIT = 60
"""Seconds; ends a wait for what never comes."""


@pytest.fixture
def command(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """`voirdire ui review` on an empty store, listening; whatever is left of it is ended."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("VOIRDIRE_")}
    words = ["--db", str(tmp_path / "empty.db"), "ui", "review", "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "judge.cli.main", *words],
        cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "Review app: http://127.0.0.1:" in line, process.stderr.read() if process.stderr else line
        yield process
        process.kill()


def child_of(process: subprocess.Popen[str]) -> psutil.Process:
    """The app that the command started."""
    [child] = psutil.Process(process.pid).children()
    return child


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, id="interrupt"),
        pytest.param(signal.SIGTERM, id="terminate", marks=pytest.mark.slow),
    ],
)
def test_signal_ends_the_app_in_order(command: subprocess.Popen[str], number: signal.Signals) -> None:
    """Told to stop, the command passes it on, the app ends itself, and the code is 0 without a word."""
    child = child_of(command)
    command.send_signal(number)
    said = command.communicate(timeout=WAIT)[1]
    assert (command.returncode, said) == (0, "")
    assert not child.is_running()


def test_app_ends_when_the_command_is_killed(command: subprocess.Popen[str]) -> None:
    """No app stays behind, holding its port, when the command had no time to say goodbye."""
    child = child_of(command)
    command.kill()
    assert psutil.wait_procs([child], timeout=WAIT)[1] == []


def test_port_that_is_taken_is_said(tmp_path: Path) -> None:
    """Code 3, and one sentence that names the port and the way out."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = spawn("ui", "rate", "--port", str(port), "--db", str(tmp_path / "x.db"))
    assert done.returncode == 3
    assert f"port {port}".encode() in done.stderr
    assert b"--port 0" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_local_sign_in_beyond_this_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal of the app is the command's refusal."""
    monkeypatch.setenv("VOIRDIRE_UI_ADDRESS", "0.0.0.0")
    done = spawn("ui", "rate", "--as", "ann")
    assert done.returncode == 3
    assert b"never listens beyond this machine" in done.stderr


def test_store_and_name_reach_the_app(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store goes by the environment, the rest by options; the child's own death by signal is 128 more."""
    seen: dict[str, object] = {}

    class Child:
        def __init__(self, words: list[str], **options: object) -> None:
            seen.update(words=words, **options)

        def __enter__(self) -> Child:
            return self

        def __exit__(self, *_: object) -> None:
            return None

        def wait(self) -> int:
            return -signal.SIGKILL

    monkeypatch.setattr(subprocess, "Popen", Child)
    before = signal.getsignal(signal.SIGTERM)
    assert run_app("rate", name="ann", port=7, db="postgresql://u:secret@h/d") == 128 + signal.SIGKILL
    words = seen["words"]
    assert isinstance(words, list)
    assert words[1:] == [
        "-P",
        "-m",
        "labeling_ui.launcher",
        "rate",
        "--end-with-parent",
        "--as=ann",
        "--port=7",
    ]
    environment = seen["env"]
    assert isinstance(environment, dict)
    assert environment["VOIRDIRE_DB"] == "postgresql://u:secret@h/d"
    assert signal.getsignal(signal.SIGTERM) is before


def test_help_says_where_the_apps_listen() -> None:
    """The help names both ports."""
    said = run("ui", "rate", "--help").output
    assert "8601" in said
    assert "8602" in said


def test_usage_error_is_64() -> None:
    """A port that cannot be is a usage error before anything starts."""
    assert run("ui", "rate", "--port", "70000").exit_code == 64
