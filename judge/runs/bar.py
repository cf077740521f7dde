"""The bar of a judge run."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from judge.runs import Progress, dollars

AFTER_SECONDS = 1.0
"""A run that is faster shows no bar."""


@contextmanager
def run_bar(what: str, *, done: int, units: int) -> Iterator[Callable[[Progress], None]]:
    """What is told of a run's progress; a bar on a terminal's stderr once the block has taken a second."""
    if not sys.stderr.isatty():
        yield lambda _: None
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
        beside += ["finishing the calls in flight"] if progress.stopping else []
        bar.update(task, total=progress.units, completed=progress.done, beside=", ".join(beside))

    late = threading.Timer(AFTER_SECONDS, bar.start)
    late.start()
    try:
        yield told
    finally:
        late.cancel()
        late.join()
        bar.stop()
