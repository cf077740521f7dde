"""How every command ends: exit codes, errors in one sentence, help, pipes and interrupts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from judge.cli import main as command_line
from judge.cli.errors import ExitCode
from rubrics.errors import JudgeNotAdmitted
from tests.command_line import run, spawn
from tests.tables import sixteen_of_eighty, to_csv


def test_the_overview_names_every_command_and_the_exit_codes() -> None:
    """--help lists the commands without loading them and says what the exit codes mean."""
    result = run("--help")
    assert result.exit_code == 0
    for name in command_line.COMMANDS:
        assert name in result.stdout
    assert "2 insufficient evidence" in " ".join(result.stdout.split())


@pytest.mark.parametrize("name", list(command_line.COMMANDS))
def test_every_command_has_help_with_an_example(name: str) -> None:
    """Each command's help shows how it is called."""
    result = run(name, "--help")
    assert result.exit_code == 0
    assert f"voirdire {name} " in result.stdout
    assert "Example" in result.stdout


def test_help_loads_no_numbers() -> None:
    """What a command says of its options is there before numpy and the reports are."""
    modules = [entry.module for entry in command_line.COMMANDS.values()]
    code = (
        f"import importlib, sys\nfor name in {modules!r}:\n    importlib.import_module(name)\n"
        "print({'numpy', 'calibration.report', 'calibration.store'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "set()\n"


def test_version() -> None:
    """--version names the distribution and its version."""
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("voirdire 0.")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("check",), "Missing argument 'FILE'"),
        (("check", "x.csv", "--nonsense"), "No such option: --nonsense"),
        (("chek", "x.csv"), "No such command 'chek'"),
        (("check", "x.csv", "--far-limit", "10"), "0.10 means 10 %"),
        (("check", "x.csv", "--far-limit", "nan"), "not a rate"),
        (("check", "x.csv", "--far-limit", "ten"), "--far-limit"),
        (("check", "x.csv", "--far-limit", "0.1", "--policy", "acceptance"), "not both"),
        (("check", "x.csv", "--map", "pass"), "WORD=MEANING"),
        (("check", "x.csv", "--map", "yes=perhaps"), "WORD=MEANING"),
        (("check", "x.csv", "--column", "score=x"), "PART=COLUMN"),
        (("check", "x.csv", "--column", "id=a", "--column", "id=b"), "given more than once"),
        (("check", "x.csv", "--delimiter", "#"), "--delimiter"),
        (("check", "x.csv", "--min-raters", "0"), "--min-raters"),
        (("check", "x.csv", "y.csv"), "y.csv"),
    ],
)
def test_usage_errors_end_with_64(args: tuple[str, ...], said: str) -> None:
    """A wrong command line is 64, never the 2 that means insufficient evidence."""
    result = run(*args)
    assert result.exit_code == 64
    assert said in result.stderr
    assert "--help" in result.stderr
    assert result.stderr.count("\n") == 1


def test_no_command_at_all_shows_the_overview_and_is_a_usage_error() -> None:
    """`voirdire` alone helps, and is no success to a script."""
    result = run()
    assert result.exit_code == 64
    assert "check" in result.stdout


def test_usage_errors_are_json_where_json_was_asked_for() -> None:
    """--json with a wrong option still prints one object."""
    result = run("check", "x.csv", "--json", "--nonsense")
    assert json.loads(result.stdout)["error"] == "usage"
    assert json.loads(result.stdout)["exit"] == 64


def test_an_unexpected_fault_is_one_sentence_unless_debug(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of our own is exit 3 and one sentence; --debug, wherever it stands, shows the traceback."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("judge.cli.examining.examine_table", broken)
    plain = run("check", "x.csv")
    assert plain.exit_code == 3
    assert "ZeroDivisionError: planted" in plain.stderr
    assert "Traceback" not in plain.stderr
    assert json.loads(run("check", "x.csv", "--json").stdout)["error"] == "internal"
    for args in (("--debug", "check", "x.csv"), ("check", "x.csv", "--debug")):
        assert "Traceback" in run(*args).stderr


def test_what_the_system_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the operating system is its own sentence with the path."""

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "out.html")

    monkeypatch.setattr("judge.cli.examining.examine_table", full)
    result = run("check", "x.csv", "--json")
    assert result.exit_code == 3
    assert result.stderr == "voirdire: No space left on device 'out.html'\n"
    assert json.loads(result.stdout)["error"] == "os_error"


def test_a_judge_that_is_not_admitted_is_exit_4(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal to grade has its own exit code and names what is missing."""

    def refuse(*_: object, **__: object) -> None:
        raise JudgeNotAdmitted("judge 'x' is not admitted", missing=("a live decision",))

    monkeypatch.setattr("judge.cli.examining.examine_table", refuse)
    result = run("check", "x.csv", "--json")
    assert result.exit_code == 4
    assert json.loads(result.stdout)["error"] == "judge_not_admitted"
    assert json.loads(result.stdout)["missing"] == ["a live decision"]


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends with 130 and without a traceback."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("judge.cli.examining.examine_table", interrupted)
    result = run("check", "x.csv")
    assert result.exit_code == 130
    assert "Traceback" not in result.stderr


def test_a_real_interrupt_while_waiting_for_input() -> None:
    """The process itself, stopped by SIGINT while it reads a pipe, ends with 130."""
    command = [sys.executable, "-m", "judge.cli.main", "check", "-"]
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, preexec_fn=heard) as process:
        # it waits for the end of its input: once it sleeps in a read, it is past its start
        _wait_until_reading(process.pid)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert b"Traceback" not in said


def _wait_until_reading(pid: int) -> None:
    """Return when the process has its command's modules open and sleeps."""
    import time

    for _ in range(600):
        maps = Path(f"/proc/{pid}/maps")
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if "_multiarray_umath" in maps.read_text() and state == "S":
            return
        time.sleep(0.05)
    pytest.fail("the process never came to wait for its input")


def test_a_reader_that_goes_away_is_no_rejection() -> None:
    """`voirdire check ... | head -0`: the exit code is 141, not 1, and nothing is complained of."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "judge.cli.main", "check", "-", "--far-limit", "0.10"]
    done = subprocess.run(
        command, input=to_csv(sixteen_of_eighty()).encode(), stdout=write, stderr=subprocess.PIPE,
        timeout=120, check=False,
    )  # fmt: skip
    os.close(write)
    assert done.returncode == ExitCode.BROKEN_PIPE
    assert done.stderr == b""


def test_the_process_itself_ends_with_the_code_of_the_outcome() -> None:
    """The exit code reaches the shell: 1, 3 and 64 as a process of its own."""
    assert (
        spawn("check", "-", "--far-limit", "0.10", stdin=to_csv(sixteen_of_eighty()).encode()).returncode == 1
    )
    assert spawn("check", "-", stdin=b"").returncode == 3
    assert spawn("check", "--nonsense").returncode == 64


def test_a_terminal_without_unicode_still_gets_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """In an ASCII locale what cannot be written is escaped, not a traceback."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    monkeypatch.setenv("PYTHONUTF8", "0")
    done = spawn("check", "-", "--far-limit", "0.10", stdin=to_csv(sixteen_of_eighty()).encode())
    assert done.returncode == 1
    assert b"accepted 16" in done.stdout
    assert b"Traceback" not in done.stderr
    wrong = spawn("check", "-", stdin="id,human_label,judge_label\n1,pass,größe→\n".encode())
    assert wrong.returncode == 3
    assert b"Traceback" not in wrong.stderr


FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="no device that is always full here")
@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("check", "TABLE", "--far-limit", "0.1", "--json"), 3),
        pytest.param(("check", "TABLE", "--far-limit", "0.1"), 3, marks=pytest.mark.slow),
        pytest.param(("check", "none.csv", "--json"), 3, marks=pytest.mark.slow),
        (("check", "--none", "--json"), 64),
        (("check", "--help"), 3),
    ],
)
def test_a_full_device_is_one_sentence_and_never_a_rejection(
    args: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    """Where the result cannot be written nothing was decided: not 1, and no traceback."""
    table = tmp_path / "table.csv"
    table.write_text("id,human_label,judge_label\na,fail,fail\nb,pass,pass\n", encoding="utf-8")
    words = [str(table) if word == "TABLE" else word for word in args]
    command = [sys.executable, "-m", "judge.cli.main", *words]
    with FULL.open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False)
    told = done.stderr.decode()
    assert (done.returncode, told.count("voirdire: "), "Traceback" in told) == (code, 1, False), told


def test_help_whose_reader_goes_away_is_no_rejection() -> None:
    """`voirdire check --help | true` ends as any pipe that closes does, with 141."""
    command = [sys.executable, "-m", "judge.cli.main", "check", "--help"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")
