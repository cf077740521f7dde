"""The doctor's answer on a terminal: a table of columns, the problem, the commands that would work."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from calibration.interchange.doctor import ColumnFinding, Diagnosis

_WORDS = 4
_WIDEST_CELL = 32


def commands_of(diagnosis: Diagnosis, argv: Sequence[str]) -> list[str]:
    """The command lines that would read the table: what was typed, and the options that it lacks."""
    return [shlex.join(["voirdire", *argv, *options]) for options in diagnosis.options]


def choices_of(commands: Sequence[str]) -> tuple[str, ...]:
    """What a person must replace in the commands before they can run, one sentence each."""
    from calibration.interchange.words import choices_in

    return tuple(dict.fromkeys(choice for command in commands for choice in choices_in(command)))


def diagnosis_object(diagnosis: Diagnosis, argv: Sequence[str]) -> dict[str, Any]:
    """The doctor's answer for scripts."""
    return {
        "schema": "voirdire.doctor/1",
        "table": diagnosis.name,
        "problem": diagnosis.problem,
        "columns": [asdict(finding) for finding in diagnosis.columns],
        "try": commands_of(diagnosis, argv),
    }


def print_diagnosis(diagnosis: Diagnosis, *, argv: Sequence[str], to_stderr: bool) -> None:
    """Write what is wrong, what each column is or could be, and the commands that would read the table."""
    from rich.table import Table
    from rich.text import Text

    from judge.cli.output import console

    page = console(to_stderr=to_stderr)
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("Column", "Part", "Filled", "Values", "For example"):
        right = head in {"Filled", "Values"}
        grid.add_column(head, justify="right" if right else "left", no_wrap=True, overflow="ellipsis")
    for finding in diagnosis.columns:
        grid.add_row(*(Text(cell) for cell in _cells(finding)))
    page.print(Text(diagnosis.problem or f"{diagnosis.name} can be read as it is"), soft_wrap=True)
    page.print()
    page.print(grid)
    for text in _ways_out(commands_of(diagnosis, argv)):
        page.print(Text(text), soft_wrap=True)


def _cells(finding: ColumnFinding) -> tuple[str, ...]:
    """One column's line."""
    examples = ", ".join(_short(sample) for sample in finding.samples)
    if finding.unmapped:
        words = ", ".join(f"{_short(word)} ({count})" for word, count in finding.unmapped[:_WORDS])
        more = len(finding.unmapped) - _WORDS
        examples = f"not read: {words}{f' and {more} more' if more > 0 else ''}"
    filled = f"{finding.filled}/{finding.rows}"
    return (_short(finding.name), _part(finding), filled, str(finding.distinct), examples)


def _part(finding: ColumnFinding) -> str:
    """The part that a column plays or could play."""
    if finding.plays:
        return finding.plays
    return " or ".join(finding.could_play) + "?" if finding.could_play else "tag"


def _short(text: str) -> str:
    """The text on one line, control characters escaped, cut where it is long."""
    plain = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: _WIDEST_CELL + 1])
    return plain if len(plain) <= _WIDEST_CELL else plain[: _WIDEST_CELL - 1] + "…"


def _ways_out(commands: Sequence[str]) -> list[str]:
    """The commands, and what to mind before running one."""
    if not commands:
        return []
    one = "This command would read it, if its words mean what it says:"
    several = "Each of these would read it; take the one that says what the columns and words mean:"
    choices = choices_of(commands)
    if choices:
        one, several = "This command reads it, once you", "Each of these reads it, once you"
        one, several = (f"{start} {' and '.join(choices)}:" for start in (one, several))
    return ["", several if len(commands) > 1 else one, *(f"  {command}" for command in commands)]
