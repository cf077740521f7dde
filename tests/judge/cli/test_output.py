"""What every command writes: words at the terminal's width, commands whole."""

from __future__ import annotations

import pytest

from judge.cli.output import print_lines


def test_a_command_to_copy_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prose is wrapped at the width; a command is not, so that what is copied is whole."""
    monkeypatch.setenv("COLUMNS", "40")
    command = "voirdire judge run --judge support-judge --dataset support --criterion states_terms"
    print_lines(
        ["A sentence of more than forty columns is wrapped by us.", f"Next: {command}", f"  {command}"]
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["A sentence of more than forty columns is", "wrapped by us."]
    assert lines[2:] == [f"Next: {command}", f"  {command}"]
