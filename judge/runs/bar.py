"""The bar of a judge run."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from judge.cli.errors import tell
from judge.runs import Progress, dollars

FINISHING = "finishing the calls in flight"
AFTER_SECONDS = 1.0
"""A run that is faster shows no bar."""


class _Once:
    """Says to whoever interrupts, where no bar is shown, that the run waits for the calls in flight; once."""

    def __init__(self) -> None:
        self._said = False

    def __call__(self, progress: Progress) -> None:
        """Take in how far the run is."""
        if progress.interrupted and not self._said:
            self._said = True
            tell(f"{FINISHING}; Ctrl-C stops at once.")


@contextmanager
def run_bar(what: str, *, done: int, units: int) -> Iterator[Callable[[Progress], None]]:
    """What is told of a run's progress; a bar on a terminal's stderr once the block has taken a second."""
    if not sys.stderr.isatty():
        yield _Once()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[beside]}"),
    )
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=units, completed=done, beside="")

    def told(progress: Progress) -> None:
        beside = [dollars(progress.spent_micros)] if progress.spent_micros else []
        beside += [f"{progress.failed:,} failed"] if progress.failed else []
        beside += [FINISHING] if progress.stopping else []
        bar.update(task, total=progress.units, completed=progress.done, beside=", ".join(beside))

    late = threading.Timer(AFTER_SECONDS, bar.start)
    late.start()
    try:
        yield told
    finally:
        late.cancel()
        late.join()
        bar.stop()
