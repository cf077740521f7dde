"""Command lines of voirdire, in this process or as one of their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner, Result

from judge.cli.main import app


def run(*args: str, stdin: str | bytes | None = None) -> Result:
    """The result of a command line, run in this process."""
    return CliRunner().invoke(app, [*args], input=stdin, prog_name="voirdire")


def spawn(*args: str, stdin: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """The result of a command line, run as a process of its own."""
    command = [sys.executable, "-m", "judge.cli.main", *args]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, timeout=120, check=False)
