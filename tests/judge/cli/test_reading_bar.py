"""The bar of a long import: on a person's terminal after a second, and only there."""

from __future__ import annotations

import io
import sys

import pytest

from judge.cli import progress
from judge.cli.progress import reading


class Terminal(io.StringIO):
    """A stderr that a person looks at."""

    def isatty(self) -> bool:
        """True: rich draws on it."""
        return True


@pytest.mark.parametrize(
    ("terminal", "long", "drawn"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_it_is_drawn_for_a_person_who_waits(
    terminal: bool, long: bool, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pipe gets nothing, a quick file neither; what is drawn goes away at the end."""
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_AFTER_SECONDS", 0.0 if long else 60.0)
    monkeypatch.setenv("TERM", "xterm")
    with reading("Importing x.jsonl") as told:
        told(0, 100)
        told(50, 100)
    assert ("Importing x.jsonl" in stream.getvalue()) == drawn
