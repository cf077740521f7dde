"""What a start of Python loads, and whose modules it finds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.source_tree import (
    LATE_ONLY,
    PACKAGES,
    ROOT,
    cli_files,
    module_name,
    module_owners,
    product_files,
    under,
)

HEAVY = ("litellm", "sklearn", "scipy.stats", "sqlmodel", "sqlalchemy", "streamlit", "fastapi", "pandas")


def run_python(code: str, *arguments: str, cwd: Path) -> str:
    """What a fresh interpreter prints for the code, run outside the repository."""
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("COVERAGE", "COV_"))
    }
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode:
        pytest.fail(f"ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def loaded_after(code: str, forbidden: Iterable[str], *, cwd: Path) -> list[str]:
    """Which of the forbidden modules a fresh interpreter has loaded after the code."""
    tail = f"\nimport sys; print('|', *[name for name in {list(forbidden)!r} if name in sys.modules])"
    return run_python(code + tail, cwd=cwd).rpartition("|")[2].split()


APART = ("labeling_ui", "calibration.store.migrations")
"""Pages run when they are imported; Alembic runs its revisions."""


def modules_of(*packages: str) -> list[str]:
    """The product's modules in some of its packages."""
    names = map(module_name, product_files())
    return [name for name in names if any(under(name, package) for package in packages)]


STAGES: dict[str, tuple[list[str], list[str]]] = {
    "packages": ([*PACKAGES], [*HEAVY, "pydantic", "numpy", "scipy", "typer", "rich"]),
    "command line": ([module_name(file) for file in cli_files()], [*HEAVY, "calibration.store", "judge.api"]),
    "raters and registry": (
        [
            name
            for name in modules_of(
                "labeling_ui.rating", "labeling_ui.components", "calibration.registry", "calibration.labeling"
            )
            if not name.endswith(".app")
        ],
        [*LATE_ONLY, "openai"],
    ),
    "everything": (
        [name for name in modules_of(*PACKAGES) if not any(under(name, part) for part in APART)],
        [*LATE_ONLY],
    ),
}
"""Modules to import and what none of them may load: no stage loads what a later one may not."""


@pytest.fixture(scope="module")
def loaded_by_stage(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What each stage loaded of what it may not, in one interpreter that imports the lightest first."""
    code = "import importlib, json, sys\nfound = {}\n" + "\n".join(
        f"for module in {modules!r}: importlib.import_module(module)\n"
        f"found[{stage!r}] = [name for name in {forbidden!r} if name in sys.modules]"
        for stage, (modules, forbidden) in STAGES.items()
    )
    found: dict[str, list[str]] = json.loads(
        run_python(f"{code}\nprint(json.dumps(found))", cwd=tmp_path_factory.mktemp("stages"))
    )
    return found


@pytest.mark.parametrize("stage", STAGES)
def test_importing_loads_no_library_that_comes_late(
    stage: str, loaded_by_stage: dict[str, list[str]]
) -> None:
    """Through no chain of imports: the four packages load no library of theirs, the command line neither
    store nor service, what raters and the registry need no model library, and no module at all litellm,
    scikit-learn or scipy.stats.
    """
    assert STAGES[stage][0]
    assert loaded_by_stage[stage] == []


def test_what_is_loaded_is_seen(tmp_path: Path) -> None:
    """The checks here see a library that an import brings along."""
    assert loaded_after("import xml.dom", ["xml", "json.tool"], cwd=tmp_path) == ["xml"]


def after_commands(*commands: list[str]) -> str:
    """Code that runs some command lines and goes on where they end."""
    return f"""
import sys
from judge.cli.main import main
for arguments in {commands!r}:
    sys.argv = ["voirdire", *arguments]
    try:
        main()
    except SystemExit as ending:
        assert ending.code in (0, 1, 2), ending.code
"""


def test_help_loads_only_the_command_line_library(tmp_path: Path) -> None:
    """`voirdire --help` loads no model, database, page, number or record library."""
    ended = loaded_after(after_commands(["--help"]), [*HEAVY, "pydantic", "numpy", "scipy"], cwd=tmp_path)
    assert ended == []


def test_check_loads_no_heavy_library(tmp_path: Path) -> None:
    """`voirdire check` answers in words, JSON and HTML without scipy.stats, litellm, sqlmodel and such."""
    labels = "".join(f"{n},{'pass' if n % 2 else 'fail'},{'pass' if n % 3 else 'fail'}\n" for n in range(200))
    (tmp_path / "labels.csv").write_text(f"id,human_label,judge_label\n{labels}", encoding="utf-8")
    command = ["check", "labels.csv", "--far-limit", "0.10"]
    commands = after_commands(command, [*command, "--json"], [*command, "--html", "report.html"])
    assert loaded_after(commands, [*HEAVY, "openai", "httpx"], cwd=tmp_path) == []
    assert (tmp_path / "report.html").exists()


def test_our_modules_are_the_ones_imported(tmp_path: Path) -> None:
    """`calibration` and `judge` are names that other distributions install too: ours are found."""
    code = f"import importlib.util as u\nfor n in {PACKAGES!r}: print(u.find_spec(n).origin)"
    found = run_python(code, cwd=tmp_path).split()
    assert [Path(line).resolve() for line in found] == [ROOT / name / "__init__.py" for name in PACKAGES]


def test_no_other_distribution_provides_our_packages() -> None:
    """No installed distribution but voirdire brings a package of one of our names."""
    providers = module_owners()
    assert {name: providers.get(name, ["voirdire"]) for name in PACKAGES} == {
        name: ["voirdire"] for name in PACKAGES
    }


def test_no_unknown_start_up_file() -> None:
    """A compromised release of a dependency once ran itself from a .pth file at every start of Python."""
    known = {"_editable_impl_voirdire.pth", "a1_coverage.pth", "distutils-precedence.pth"}
    places = {Path(entry) for entry in sys.path if entry.endswith("site-packages")}
    assert places
    assert {file.name for place in places for file in place.glob("*.pth")} - known == set()
