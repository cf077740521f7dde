"""Mutants of the statistics, the report and the decision: a uniform sample of them, or all, run by mutmut."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from calibration.statistics.proportions import wilson_interval
from tests.source_tree import ROOT

PARTS: Final[Mapping[str, str]] = {
    "statistics": "calibration/statistics/*",
    "report": "calibration/report/*",
    "admission": "calibration/admission/*",
}
"""What is mutated, by the name of its part."""
TESTS: Final = (
    "tests/calibration/statistics",
    "tests/calibration/report",
    "tests/calibration/admission",
    "tests/golden",
)
"""The tests that have to notice."""
_PACKAGES: Final = ("rubrics", "calibration", "judge", "labeling_ui")
_BESIDE: Final = ("tests", "pyproject.toml", "README.md", "CHANGELOG.md", "Makefile", "LICENSE")

# how mutmut ends a mutant that a test noticed: by a failure, by pytest's own error, by its time running out
_KILLED: Final = frozenset({1, 3, 24, 36, 152, 255, -24})
_UNNOTICED: Final = frozenset({0, 5, 33})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the mutants that were run."""

    of: int
    """Mutants that there are."""
    killed: tuple[str, ...]
    survived: tuple[str, ...]
    """Mutants that no test noticed, those that no test reaches included, by mutmut's name."""

    @property
    def run(self) -> int:
        """Mutants that were run."""
        return len(self.killed) + len(self.survived)

    def share(self, part: str = "") -> str:
        """Killed of run in words, of all or of one part, with a Wilson interval where not all were run."""
        prefix = f"calibration.{part}." if part else ""
        killed = sum(name.startswith(prefix) for name in self.killed)
        n = killed + sum(name.startswith(prefix) for name in self.survived)
        if not n:
            return f"{part or 'all'}: none run"
        words = f"{part or 'all'}: {killed} of {n} killed, {100 * killed / n:.1f} %"
        if self.run == self.of:
            return words
        interval = wilson_interval(killed, n)
        return f"{words} [{100 * interval.lower:.1f}, {100 * interval.upper:.1f}]"


def prepare(folder: Path, *, mutate: Iterable[str], tests: Sequence[str]) -> None:
    """A copy of the sources in the folder, with the settings of mutmut beside it.

    Args:
        folder: empty.
        mutate: patterns of the files that are mutated.
        tests: files or folders of tests that have to notice.
    """
    skipped = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in (*_PACKAGES, *_BESIDE):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=skipped)
        else:
            shutil.copy(source, folder / name)
    settings = {
        "source_paths": _PACKAGES,
        "only_mutate": tuple(mutate),
        "pytest_add_cli_args": ("-q", "-x", "-n0", "--no-cov", "-p", "no:cacheprovider", "-m", "not slow"),
        "pytest_add_cli_args_test_selection": tuple(tests),
        "also_copy": _BESIDE,
        "use_setproctitle": ("false",),
    }
    lines = [f"{key} =\n" + "".join(f"    {value}\n" for value in values) for key, values in settings.items()]
    (folder / "setup.cfg").write_text("[mutmut]\n" + "".join(lines), encoding="utf-8")


def mutants(folder: Path, *, processes: int) -> tuple[str, ...]:
    """The names of all mutants, sorted, written into the prepared folder."""
    make = f"from mutmut.__main__ import create_mutants; create_mutants({processes})"
    _mutmut(folder, [sys.executable, "-c", make])
    return tuple(sorted(_exit_codes(folder)))


def run(folder: Path, names: Sequence[str], *, of: int, processes: int) -> Outcome:
    """What became of the named mutants.

    Raises:
        RuntimeError: a mutant has no result, or mutmut ended in a way that says neither.
    """
    for start in range(0, len(names), 500):  # a command line holds so many
        chosen = names[start : start + 500]
        command = [sys.executable, "-m", "mutmut", "run", "--max-children", str(processes), *chosen]
        _mutmut(folder, command)
    codes = _exit_codes(folder)
    odd = {name: codes.get(name) for name in names if codes.get(name) not in _UNNOTICED | _KILLED}
    if odd:
        raise RuntimeError(f"{len(odd)} mutants without a verdict, the first: {next(iter(odd.items()))}")
    killed = tuple(name for name in names if codes[name] in _KILLED)
    return Outcome(of, killed, tuple(name for name in names if codes[name] not in _KILLED))


def sample(names: Sequence[str], size: int, *, seed: int) -> tuple[str, ...]:
    """So many of the names, every one as likely as the other; all of them where there are no more."""
    return tuple(random.Random(seed).sample(sorted(names), min(size, len(names))))


def shown(folder: Path, name: str) -> str:
    """The change that a mutant makes, as a diff."""
    return _mutmut(folder, [sys.executable, "-m", "mutmut", "show", name])


def _mutmut(folder: Path, command: list[str]) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"mutmut ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def _exit_codes(folder: Path) -> dict[str, int | None]:
    """The exit code that mutmut noted for each mutant; None where it was not run."""
    found: dict[str, int | None] = {}
    for meta in sorted((folder / "mutants").rglob("*.meta")):
        found |= json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
    return found
