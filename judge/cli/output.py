"""How a result leaves a command: words or JSON on stdout, an HTML file, an exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.cli.errors import ExitCode, tell
from rubrics.errors import DeclarationError

if TYPE_CHECKING:
    from rich.console import Console

    from calibration.evidence import AdmissionOutcome, Comparison, Examination

_MARK = '<meta name="generator" content="voirdire">'
"""What every page that we write carries near its top; a page with it is ours to replace."""
_HEAD = '<meta charset="utf-8">'
_LOOKED_AT = 4096


def exit_code(outcomes: Sequence[AdmissionOutcome]) -> ExitCode:
    """0 if all admit or nothing was decided, else 1 if any rejects, else 2."""
    words = {outcome.value for outcome in outcomes}
    if words <= {"admit"}:
        return ExitCode.ADMIT
    return ExitCode.REJECT if "reject" in words else ExitCode.INSUFFICIENT


def print_json(value: Mapping[str, Any]) -> None:
    """Write one JSON object to stdout; ASCII only, so that no line separator or encoding can break it."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def console(*, to_stderr: bool = False) -> Console:
    """A console for words; a reader that goes away is left to the command line to answer."""
    from rich.console import Console

    class PipeAware(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # the library would end the process with 1, which reads as a rejection

    return PipeAware(stderr=to_stderr, highlight=False)


def print_words(shown: Examination | Comparison, *, explain: bool) -> None:
    """Write the report in words to stdout, as wide as the terminal."""
    from judge.cli.terminal import print_report

    print_report(console(), shown, explain=explain)


def require_replaceable(path: Path, *, force: bool) -> None:
    """Refuse a path that holds something else than one of our reports.

    Raises:
        DeclarationError: the file is not ours and `force` was not given, or the path is a directory.
    """
    if path.is_dir():
        raise DeclarationError(f"--html {str(path)!r} is a directory: give the name of a file in it")
    if force or not path.exists():
        return
    with path.open("rb") as file:
        if _MARK.encode() not in file.read(_LOOKED_AT):
            raise DeclarationError(
                f"--html {str(path)!r} exists and is no voirdire report: "
                "give another name, or --force to replace it"
            )


def write_html(path: Path, page: str) -> None:
    """Put the page at the path in one step, so that nobody ever reads half a report.

    Raises:
        DeclarationError: the folder is not there or may not be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_text(page.replace(_HEAD, f"{_HEAD}\n{_MARK}", 1), encoding="utf-8", newline="\n")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise DeclarationError(
            f"cannot write --html {str(path)!r} ({error.strerror}): "
            "give a file in a folder that exists and may be written"
        ) from error


def print_lines(lines: Sequence[str]) -> None:
    """Write lines of words to stdout, wrapped at the width of the terminal; markup in them is text.

    A command to copy stays one line, which the terminal breaks where it must: copied, it is whole.
    """
    shown = console()
    for line in lines:
        command = line.strip().removeprefix("Next: ").startswith("voirdire ")
        shown.print(line, markup=False, soft_wrap=command)


def print_rows(head: Sequence[str], rows: Sequence[Sequence[str]], *, empty: str) -> None:
    """Write a plain table to stdout, or the sentence where there is nothing to list."""
    if not rows:
        print_lines([empty])
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in head:
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console().print(table)


def show_report(shown: Examination | Comparison, *, as_json: bool, explain: bool, page: Path | None) -> None:
    """Write a report as JSON or words to stdout, and as a page where a path is given."""
    if page is not None:
        from calibration.rendering.html import render_html

        write_html(page, render_html(shown, made_at=datetime.now(UTC)))
    if as_json:
        print_json(shown.to_json())
    else:
        print_words(shown, explain=explain)
    if page is not None:
        tell(f"Wrote {page}")
