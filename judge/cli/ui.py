"""voirdire ui: start the rating app or the review app, each as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

_EPILOG = """
[bold]Examples[/bold]

voirdire ui rate --as rater-07

voirdire ui review --port 9000
"""

app = typer.Typer(
    rich_markup_mode="rich",
    help="Start the apps in which people rate items and look at what came out.",
    no_args_is_help=True,
    epilog=_EPILOG,
)

Name = Annotated[
    str | None,
    typer.Option("--as", metavar="NAME", help="Who sits here, so that nobody is asked (local sign-in only)."),
]
Port = Annotated[
    int | None,
    typer.Option(
        min=0, max=65535, help="Where to listen; 0 takes any free port. Default: 8601 rate, 8602 review."
    ),
]
Db = Annotated[
    str | None,
    typer.Option("--db", metavar="PATH|URL", help="The evidence store; the same as voirdire --db."),
]
PASSED_ON = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


@app.command()
def rate(context: typer.Context, name: Name = None, port: Port = None, db: Db = None) -> None:
    """Start the rating app: raters label and adjudicators resolve, and nothing there could bias them."""
    raise typer.Exit(run_app("rate", name=name, port=port, db=db or context.obj))


@app.command()
def review(context: typer.Context, name: Name = None, port: Port = None, db: Db = None) -> None:
    """Start the review app: how sessions stand and how far raters agree. Not for people who still rate."""
    raise typer.Exit(run_app("review", name=name, port=port, db=db or context.obj))


def run_app(which: str, *, name: str | None, port: int | None, db: str | None) -> int:
    """The exit code of the app, which runs as a child until it ends or this process is told to end it."""
    # -P: a file of the folder in which the command is typed never stands in for a library
    command = [sys.executable, "-P", "-m", "labeling_ui.launcher", which, "--end-with-parent"]
    command += [f"--as={name}"] if name is not None else []
    command += [f"--port={port}"] if port is not None else []
    # the address may hold a password, which a command line would show to everybody on the machine
    environment = {**os.environ, "VOIRDIRE_DB": db} if db else None
    # a group of its own: Ctrl-C reaches this process alone and is passed on exactly once
    child = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, start_new_session=True)
    with child, _passed_on(child):
        code = child.wait()
    return code if code >= 0 else 128 - code


@contextmanager
def _passed_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass the signals that mean stop on to the child for as long as the block runs."""

    def pass_on(number: int, frame: Any) -> None:  # noqa: ARG001 -- the signature of a handler
        child.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in PASSED_ON}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
