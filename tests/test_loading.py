"""What a start of Python loads, and whose modules it finds."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.source_tree import LATE_ONLY, PACKAGES, ROOT, cli_files, module_name, product_files, under

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


def test_packages_are_light(tmp_path: Path) -> None:
    """Importing the four packages runs none of the libraries that they use."""
    code = f"import {', '.join(PACKAGES)}"
    assert loaded_after(code, [*HEAVY, "pydantic", "numpy", "scipy", "typer", "rich"], cwd=tmp_path) == []


def test_importing_any_module_loads_no_late_library(tmp_path: Path) -> None:
    """Through no chain of imports does any module load litellm, scikit-learn or scipy.stats."""
    apart = ("labeling_ui", "calibration.store.migrations")  # pages run when imported; Alembic runs these
    modules = [module_name(file) for file in product_files()]
    imports = "\n".join(f"import {name}" for name in modules if not any(under(name, part) for part in apart))
    assert loaded_after(imports, LATE_ONLY, cwd=tmp_path) == []


def test_importing_the_command_line_loads_no_store_and_no_service(tmp_path: Path) -> None:
    """Through no chain of imports does the command line load the store, the service or a page."""
    imports = "\n".join(f"import {module_name(file)}" for file in cli_files())
    assert loaded_after(imports, [*HEAVY, "calibration.store", "judge.api"], cwd=tmp_path) == []


def test_rating_app_and_registry_load_no_model_library(tmp_path: Path) -> None:
    """What raters and the registry need loads neither litellm nor scikit-learn, by any chain."""
    names = ("labeling_ui.rating", "labeling_ui.components", "calibration.registry", "calibration.labeling")
    modules = [module_name(f) for f in product_files() if any(under(module_name(f), name) for name in names)]
    imports = "\n".join(f"import {module}" for module in modules if not module.endswith(".app"))
    assert loaded_after(imports, [*LATE_ONLY, "openai"], cwd=tmp_path) == []


def after_command(arguments: list[str]) -> str:
    """Code that runs the command line and goes on where it ends."""
    return f"""
import sys
from judge.cli.main import main
sys.argv = ["voirdire", *{arguments!r}]
try:
    main()
except SystemExit as ending:
    assert ending.code in (0, 1, 2), ending.code
"""


def test_help_loads_only_the_command_line_library(tmp_path: Path) -> None:
    """`voirdire --help` loads no model, database, page, number or record library."""
    ended = loaded_after(after_command(["--help"]), [*HEAVY, "pydantic", "numpy", "scipy"], cwd=tmp_path)
    assert ended == []


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_check_loads_no_heavy_library(form: str, tmp_path: Path) -> None:
    """`voirdire check` answers without scipy.stats, scikit-learn, litellm, sqlmodel or streamlit."""
    labels = "".join(f"{n},{'pass' if n % 2 else 'fail'},{'pass' if n % 3 else 'fail'}\n" for n in range(200))
    (tmp_path / "labels.csv").write_text(f"id,human_label,judge_label\n{labels}", encoding="utf-8")
    more = {"text": [], "json": ["--json"], "html": ["--html", "report.html"]}[form]
    command = ["check", "labels.csv", "--far-limit", "0.10", *more]
    assert loaded_after(after_command(command), [*HEAVY, "openai", "httpx"], cwd=tmp_path) == []
    assert (tmp_path / "report.html").exists() == (form == "html")


def test_our_modules_are_the_ones_imported(tmp_path: Path) -> None:
    """`calibration` and `judge` are names that other distributions install too: ours are found."""
    code = f"import importlib.util as u\nfor n in {PACKAGES!r}: print(u.find_spec(n).origin)"
    found = run_python(code, cwd=tmp_path).split()
    assert [Path(line).resolve() for line in found] == [ROOT / name / "__init__.py" for name in PACKAGES]


def test_no_other_distribution_provides_our_packages() -> None:
    """No installed distribution but voirdire brings a package of one of our names."""
    providers = importlib.metadata.packages_distributions()
    assert {name: providers.get(name, ["voirdire"]) for name in PACKAGES} == {
        name: ["voirdire"] for name in PACKAGES
    }


def test_no_unknown_start_up_file() -> None:
    """A compromised release of a dependency once ran itself from a .pth file at every start of Python."""
    known = {"_editable_impl_voirdire.pth", "a1_coverage.pth", "distutils-precedence.pth"}
    places = {Path(entry) for entry in sys.path if entry.endswith("site-packages")}
    assert places
    assert {file.name for place in places for file in place.glob("*.pth")} - known == set()
