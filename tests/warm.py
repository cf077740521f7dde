"""A process that has the product loaded and forks itself for each command: many commands at one start.

`python -P tests/warm.py SOCKET` waits there. A caller sends its command, folder, environment and standard
streams (`tests/warm_command.py`); the fork takes them over, runs the command and answers its exit code.
Nothing of one command reaches the next: each is a process of its own.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

LOADED = (
    "judge.cli.main", "judge.cli.reports", "judge.service", "calibration.store.schema",
    "calibration.interchange", "calibration.registry", "calibration.calibrate", "calibration.report",
    "calibration.rendering.html", "calibration.simulating.running", "rubrics.loader", "sqlmodel",
    "scipy.special", "rich.table", "jinja2",
)  # fmt: skip
"""What most commands load, where it is there."""


def load() -> None:
    """Load what most commands load."""
    for name in LOADED:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:  # a name that moved costs time, and no more
            continue


def run(asked: dict[str, Any]) -> None:
    """Run the command line, or the code of a block, as a fresh process would."""
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = ["voirdire", *asked["arguments"]]
    if asked["code"] is None:
        from judge.cli.main import main

        main()
    else:
        sys.argv = ["-c"]
        exec(compile(asked["code"], "<string>", "exec"), {"__name__": "__main__"})


def open_streams() -> None:
    """Give Python its standard streams anew: of this process's own it knows whether they can seek."""
    sys.stdin = open(0, encoding=sys.stdin.encoding, errors=sys.stdin.errors, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors, closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1, closefd=False
    )


def code_of(work: Callable[[], None]) -> int:
    """The exit code with which an interpreter would end."""
    try:
        work()
    except SystemExit as ending:
        if isinstance(ending.code, str):
            print(ending.code, file=sys.stderr)
        return ending.code if isinstance(ending.code, int) else int(ending.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        return 1
    return 0


def answer(caller: socket.socket) -> NoReturn:
    """In the fork: take over the caller's streams, run its command and say how it ended."""
    first, streams, _, _ = socket.recv_fds(caller, 65_536, 3)
    parts = [first]
    while part := caller.recv(65_536):
        parts.append(part)
    for stream, place in zip(streams, (0, 1, 2), strict=True):
        os.dup2(stream, place)
        os.close(stream)
    open_streams()
    ended = code_of(lambda: run(json.loads(b"".join(parts))))
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()  # what an interpreter does at its end, and os._exit does not
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        ended = ended or 120
    for place in (0, 1, 2):
        os.close(place)  # whoever reads our output sees its end before our code
    caller.sendall(str(ended).encode())
    os._exit(0)


def reap() -> None:
    """Let go of the forks that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main() -> None:
    """Load, say so by listening, and fork for each caller until stopped."""
    load()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen()
        Path(f"{sys.argv[1]}.ready").touch()
        while True:
            caller, _ = listener.accept()
            reap()
            with caller:
                if os.fork() == 0:
                    listener.close()
                    answer(caller)


if __name__ == "__main__":
    main()
