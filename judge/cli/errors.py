"""Exit codes, and the one sentence in which an error reaches a person."""

from __future__ import annotations

import shlex
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from enum import IntEnum
from typing import Any

from rubrics.errors import AdmissionError, AdmissionExpired, JudgeCalibrationError, StoreError, TableError


class ExitCode(IntEnum):
    """What a script reads from the command line (ARCHITECTURE §7)."""

    ADMIT = 0
    REJECT = 1
    INSUFFICIENT = 2
    OPERATIONAL = 3
    """A bad file, no database, a provider that is down, or a fault of voirdire itself."""
    NOT_ADMITTED = 4
    """Grading was asked of a judge that may not grade."""
    USAGE = 64
    """The command line library's own 2 would read as insufficient evidence."""
    INTERRUPTED = 130
    BROKEN_PIPE = 141
    """The reader of a pipe went away; the library's own 1 would read as a rejection."""


def code_of(error: Exception) -> ExitCode:
    """The exit code of an error that ends a command; a judge whose admission lapsed is not admitted."""
    return ExitCode.NOT_ADMITTED if isinstance(error, AdmissionError) else ExitCode.OPERATIONAL


def sentence(error: Exception) -> str:
    """The error in one sentence: its own message, or which fault of voirdire it is."""
    if isinstance(error, JudgeCalibrationError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        place = f" {error.filename!r}" if error.filename else ""
        return f"{error.strerror}{place}"
    first = next(iter(str(error).splitlines()), "")
    return (
        f"a fault of voirdire itself ({type(error).__name__}: {first}); run again with --debug and report it"
    )


def ways_out(error: Exception, argv: Sequence[str]) -> tuple[str, ...]:
    """The commands that would work, where the error knows: what was typed and the options that it lacks."""
    diagnosis = getattr(error, "diagnosis", None)
    options = getattr(error, "options", ())
    sets = diagnosis.options if diagnosis is not None else (options,) if options else ()
    return tuple(shlex.join(["voirdire", *argv, *way]) for way in sets)


def error_object(error: Exception, argv: Sequence[str]) -> dict[str, Any]:
    """The error as the JSON that `--json` prints instead of a result."""
    found: dict[str, Any] = {"error": _kind(error), "message": sentence(error), "exit": int(code_of(error))}
    if isinstance(error, TableError):
        found |= {"line": error.line, "field": error.field}
    if isinstance(error, AdmissionError):
        found["missing"] = list(_missing(error))
    if isinstance(error, StoreError) and error.resume:
        found |= {"may_be_paid": list(error.unstored), "resume": error.resume}
    if ways := ways_out(error, argv):
        found["try"] = list(ways)
    if getattr(error, "diagnosis", None) is not None:
        found["columns"] = [asdict(finding) for finding in error.diagnosis.columns]  # type: ignore[attr-defined]
    return found


def _missing(error: Exception) -> tuple[str, ...]:
    """What a judge lacks to grade, a sentence each: the evidence, or an admission that has not lapsed."""
    missing: tuple[str, ...] = getattr(error, "missing", ())
    return ("an admission that has not lapsed",) if isinstance(error, AdmissionExpired) else missing


def _kind(error: Exception) -> str:
    """The error's class as scripts read it: `TableError` is `table_error`, a lapsed admission none at all."""
    if isinstance(error, AdmissionExpired):
        return "judge_not_admitted"
    if not isinstance(error, JudgeCalibrationError | OSError):
        return "internal"
    name = "os_error" if isinstance(error, OSError) else type(error).__name__
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def tell(message: str, *, wrapped: bool = True) -> None:
    """Write one sentence for a person to stderr; whatever cannot be encoded is escaped.

    A terminal gets it wrapped at words, unless it is a command to be copied; a pipe gets one line.
    """
    encoding = sys.stderr.encoding or "ascii"
    line = message.encode(encoding, "backslashreplace").decode(encoding)
    if wrapped and sys.stderr.isatty():
        width = max(40, shutil.get_terminal_size().columns)
        line = textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
    sys.stderr.write(line + "\n")


def show(error: Exception, argv: Sequence[str]) -> None:
    """Tell a person on stderr what is wrong and what to run."""
    diagnosis = getattr(error, "diagnosis", None)
    if diagnosis is not None:
        from judge.cli.doctor import print_diagnosis

        print_diagnosis(diagnosis, argv=argv, to_stderr=True)
    else:
        tell(f"voirdire: {sentence(error)}")
        for line in _missing(error):
            tell(f"  missing: {line}")
        if isinstance(error, StoreError) and error.resume:
            for line in error.unstored:
                tell(f"  {line}")
            tell(f"  go on: {error.resume}", wrapped=False)
        _tell_ways(ways_out(error, argv))


def _tell_ways(ways: Sequence[str]) -> None:
    """Write the commands that would work, and what to replace in them first."""
    from judge.cli.doctor import choices_of

    for way in ways:
        tell(f"  try: {way}", wrapped=False)
    for choice in choices_of(ways) if ways else ():
        tell(f"  {choice}")
