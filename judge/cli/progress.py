"""A sign of life on stderr while a command works for more than a moment."""

from __future__ import annotations

import sys
from collections.abc import Iterator
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
