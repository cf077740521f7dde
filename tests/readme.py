"""Run the code blocks of a README, as its reader would.

The convention. Every fenced block names its language, one of:
- `python`: runs in an interpreter of its own;
- `sh`: runs as one script that stops at the first failure;
- `console`: each line after `$ ` runs as a command, in order; the lines below it are what it prints
  on standard output, where a line `...` stands for any lines and ` ...` at a line's end for its rest;
- `json`, `yaml`, `toml`: is read as such;  `text`, `csv`, `jsonl`, `mermaid`: is looked at only.
The blocks of a README run from top to bottom in one empty folder, so that a later block finds the
files of an earlier one. A comment on the line before a block says what differs:
`<!-- exit 1 -->` the block ends with that code; `<!-- not run: why -->` it is not run.
Given a warm process (tests/warm.py), `voirdire` and the interpreters of blocks are forks of it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML

RUN = {"python", "sh", "console"}
READ: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "yaml": YAML(typ="safe").load,
    "toml": tomllib.loads,
}
SHOWN = {"text", "csv", "jsonl", "mermaid"}
FENCE = re.compile(
    r"^(?:<!-- (?P<note>[^\n]*?) -->\n)?^```(?P<language>[^\n]*)\n(?P<body>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
TIMEOUT = 180
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block with the line it opens on and the comment before it."""

    line: int
    language: str
    body: str
    note: str

    @property
    def exit_code(self) -> int:
        """The code that the block is to end with."""
        found = re.fullmatch(r"exit (\d+)", self.note)
        return int(found[1]) if found else 0

    @property
    def is_run(self) -> bool:
        """Whether the block runs: its language does and no reason against it is given."""
        return self.language in RUN and not re.fullmatch(r"not run: \S.*", self.note)


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a Markdown text, from top to bottom."""
    return [
        Block(
            line=text.count("\n", 0, found.start("language")) + 1,
            language=found["language"],
            body=found["body"],
            note=found["note"] or "",
        )
        for found in FENCE.finditer(text)
    ]


@dataclass(frozen=True, slots=True)
class Warm:
    """A process that has the product loaded and forks for each command."""

    socket: Path
    bin: Path
    """The folder of a `voirdire` that runs there."""

    def code(self, body: str) -> list[str]:
        """The command that runs the code there."""
        return [*self.command("code"), body]

    def command(self, kind: str) -> list[str]:
        """How a caller is started: without site-packages, which takes no time."""
        return [sys.executable, "-I", "-S", str(HERE / "warm_command.py"), str(self.socket), kind]


@contextmanager
def warm_process(folder: Path) -> Iterator[Warm]:
    """A warm process with its socket in `folder`, whose path must be short."""
    warm = Warm(folder / "socket", folder / "bin")
    warm.bin.mkdir()
    shim = warm.bin / "voirdire"
    shim.write_text(f'#!/bin/sh\nexec {shlex.join(warm.command("command"))} "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-P", str(HERE / "warm.py"), str(warm.socket)],
        cwd=folder, env=_environment(folder), stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        ready, until = Path(f"{warm.socket}.ready"), time.monotonic() + TIMEOUT
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError("the warm process did not start")
            time.sleep(0.02)
        yield warm
    finally:
        process.terminate()
        process.wait()


def failures(text: str, folder: Path, warm: Warm | None = None) -> list[str]:
    """What is wrong with the blocks of a README, run in `folder`; empty when all is well."""
    found = []
    if text.count("\n```") % 2 and not text.startswith("```"):
        found.append("a fence is not closed")
    if re.search(r"^(?:[ \t]+```|[ \t]*~~~|````)", text, flags=re.MULTILINE):
        found.append("a fence is three backticks at the start of a line, else its block would not be found")
    for block in blocks(text):
        if wrong := _failure(block, folder, warm):
            found.append(f"line {block.line}, {block.language or 'no language'}: {wrong}")
    return found


def _failure(block: Block, folder: Path, warm: Warm | None) -> str:
    if block.language in READ:
        try:
            READ[block.language](block.body)
        except Exception as error:  # noqa: BLE001 - whatever the reader objects to is the finding
            return f"cannot be read: {error}"
        return ""
    if block.language not in RUN | SHOWN:
        return f"name one of {', '.join(sorted(RUN | SHOWN | set(READ)))} after the fence"
    if not block.is_run:
        return ""
    if block.language == "console":
        return _console(block, folder, warm)
    if block.language == "python":
        command = warm.code(block.body) if warm else [sys.executable, "-P", "-c", block.body]
    else:
        command = ["bash", "-euo", "pipefail", "-c", block.body]
    done = _run(command, folder, warm)
    return _wrong_exit(done, block.exit_code)


def _console(block: Block, folder: Path, warm: Warm | None) -> str:
    """The first command that ends or prints other than shown; the exit code is that of the last."""
    parts = re.split(r"^\$ ", block.body, flags=re.MULTILINE)
    if parts[0].strip() or len(parts) == 1:
        return "begin with a line `$ command`"
    for number, part in enumerate(parts[1:], start=1):
        command, shown = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*)\n(.*)", part, flags=re.DOTALL).groups()  # type: ignore[union-attr]
        done = _run(["bash", "-euo", "pipefail", "-c", command], folder, warm)
        if wrong := _wrong_exit(done, block.exit_code if number == len(parts) - 1 else 0):
            return wrong
        if shown.strip() and not _printed(shown, done.stdout):
            return f"`{command}` printed\n{done.stdout}\nand not\n{shown}"
    return ""


def _environment(folder: Path, warm: Warm | None = None) -> dict[str, str]:
    keep = {key: os.environ[key] for key in ("LANG", "LC_ALL", "TMPDIR") if key in os.environ}
    first = [str(warm.bin)] if warm else []
    return keep | {
        "PATH": ":".join([*first, str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(folder),
        "VOIRDIRE_DB": str(folder / "voirdire.db"),
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }


def _run(command: list[str], folder: Path, warm: Warm | None) -> subprocess.CompletedProcess[str]:
    environment = _environment(folder, warm)
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def _wrong_exit(done: subprocess.CompletedProcess[str], wanted: int) -> str:
    if done.returncode == wanted:
        return ""
    return f"ended with {done.returncode} and not {wanted}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def _printed(shown: str, printed: str) -> bool:
    """Whether the lines shown are the lines printed, spaces at line ends aside."""
    pattern = ""
    for line in shown.rstrip("\n").split("\n"):
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        elif line.endswith(" ..."):
            pattern += re.escape(line.removesuffix("...")) + r".*\n"
        else:
            pattern += re.escape(line.rstrip()) + "\n"
    text = "".join(f"{line.rstrip()}\n" for line in printed.rstrip("\n").split("\n"))
    return re.fullmatch(pattern, text) is not None
