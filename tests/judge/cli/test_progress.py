"""The sign of life: on a person's terminal, and only there."""

from __future__ import annotations

import io
import sys

import pytest

from judge.cli.progress import waiting


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
    """A pipe gets nothing, a quick command neither."""
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with waiting("Examining 7 MB", long=long):
        pass
    assert ("Examining 7 MB" in stream.getvalue()) == drawn
