"""A sign of life on stderr while a command works for more than a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def waiting(what: str, *, long: bool) -> Iterator[None]:
    """Show what is being done on a terminal's stderr, and nothing where no person looks or it is quick."""
    if not (long and sys.stderr.isatty()):
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


_AFTER_SECONDS = 1.0
"""A file that is read faster shows no bar."""


@contextmanager
def reading(name: str) -> Iterator[Callable[[int, int], None]]:
    """A callback for the bytes read of how many; shows a bar on a terminal's stderr after a second."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    started = time.monotonic()
    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(name, total=None)

    def told(done: int, total: int) -> None:
        if time.monotonic() - started > _AFTER_SECONDS:
            bar.start()  # again and again is once
        bar.update(task, completed=done, total=total)

    try:
        yield told
    finally:
        bar.stop()
