"""The wheel brings every file of the packages, and starts without the tools of developers."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.source_tree import PACKAGES, PYPROJECT, ROOT, module_name, module_owners, repository_files, under

PROJECT = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by the build backend from this tree."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return next(out.glob("voirdire-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where pip installed the wheel alone."""
    target = tmp_path_factory.mktemp("installed")
    flags = ["--no-deps", "--no-index", "--no-compile", "--quiet", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *flags, str(wheel)], check=True, timeout=120)
    return target


def test_wheel_holds_every_file_of_the_packages_and_no_other(wheel: Path) -> None:
    """Catalog, policies, prompts, demo data, migrations and py.typed are in the wheel; tests are not."""
    listed = {file.relative_to(ROOT).as_posix() for file in repository_files()}
    ours = {name for name in listed if name.split("/")[0] in PACKAGES}
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == ours
    assert {f"{package}/py.typed" for package in PACKAGES} <= packed


def test_wheel_names_command_and_licence(wheel: Path) -> None:
    """The wheel brings the command `voirdire` and the licence text."""
    archive = zipfile.ZipFile(wheel)
    meta = next(name for name in archive.namelist() if name.endswith("entry_points.txt")).rpartition("/")[0]
    assert "voirdire = judge.cli.main:main" in archive.read(f"{meta}/entry_points.txt").decode()
    assert b"Apache License" in archive.read(f"{meta}/licenses/LICENSE")


def distributions_behind(names: set[str]) -> set[str]:
    """The distributions that the named ones need, themselves included, extras of voirdire left out."""
    found: set[str] = set()
    waiting = [Requirement(name) for name in names]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        extras = {"", *requirement.extras}
        if name in found and not requirement.extras:
            continue
        found.add(name)
        try:
            needed = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        for other in map(Requirement, needed):
            if other.marker is None or any(other.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(other)
    return found


def modules_beyond(extras: set[str]) -> list[str]:
    """The importable names that voirdire with these extras does not bring."""
    project = PROJECT["project"]
    names = set(project["dependencies"]).union(*(project["optional-dependencies"][extra] for extra in extras))
    kept = distributions_behind(names)
    return sorted(
        module
        for module, owners in module_owners().items()
        if not any(canonicalize_name(owner) in kept for owner in owners) and module not in PACKAGES
    )


BLOCK = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


def run_installed(
    installed: Path, absent: list[str], code: str, cwd: Path
) -> subprocess.CompletedProcess[str]:
    """Run code on the installed wheel as if the absent modules were not installed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("COV", "PYTEST"))}
    environment["PYTHONPATH"] = str(installed)
    return subprocess.run(
        [sys.executable, "-P", "-c", f"ABSENT = set({absent!r})\n{BLOCK}\n{code}"],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_modules_beyond_knows_tools_from_dependencies() -> None:
    """The list of absent modules has the tools of developers and the extras, and no dependency."""
    absent = modules_beyond(set())
    assert {"pytest", "hypothesis", "mypy", "xllamacpp", "psycopg"} <= set(absent)
    assert not {"numpy", "pydantic", "litellm", "typer", "sqlmodel"} & set(absent)


def test_installed_wheel_imports_without_developers_tools(installed: Path, tmp_path: Path) -> None:
    """Every module of the installed wheel can be imported where no developer's tool is installed."""
    extras = set(PROJECT["project"]["optional-dependencies"]) - {"dev"}
    apart = ("labeling_ui", "calibration.store.migrations")  # pages run when imported; Alembic runs these
    files = [file for package in PACKAGES for file in (installed / package).rglob("*.py")]
    names = [module_name(file, root=installed) for file in files]
    code = "\n".join(f"import {name}" for name in names if not any(under(name, part) for part in apart))
    done = run_installed(installed, modules_beyond(extras), f"{code}\nprint(rubrics.__file__)", tmp_path)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(installed)


def test_installed_command_line_runs_without_any_extra(installed: Path, tmp_path: Path) -> None:
    """The command line of the installed wheel answers where only the plain dependencies are installed."""
    labels = "".join(f"{n},{'pass' if n % 2 else 'fail'},{'pass' if n % 2 else 'fail'}\n" for n in range(200))
    (tmp_path / "labels.csv").write_text(f"id,human_label,judge_label\n{labels}", encoding="utf-8")
    code = "import sys\nfrom judge.cli.main import main\nsys.argv = {!r}\nmain()"
    for arguments, said in ((["--help"], "check"), (["check", "labels.csv", "--far-limit", "0.10"], "Next:")):
        done = run_installed(
            installed, modules_beyond(set()), code.format(["voirdire", *arguments]), tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
