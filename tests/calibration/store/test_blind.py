"""What a rater's process may import reaches no verdict, set design, report or decision."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import calibration.store
from tests.test_architecture import CONTRACTS

SECRET = {
    name.removeprefix("calibration.store.")
    for name in CONTRACTS["blind"]["forbidden_modules"]
    if name.startswith("calibration.store.")
}
"""As the import contract says."""
OPEN = (
    "items",
    "references",
    "assessments",
    "assignments",
    "payloads",
    "rubrics",
    "imports",
    "schema",
    "database",
    "chain",
    "people",
    "sessions",
    "retractions",
    "rater_records",
    "blind",
)


def test_open_modules_load_no_secret_one() -> None:
    """Importing the modules of the open class, one after the other, leaves every secret one unloaded."""
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    importlib.import_module(f'calibration.store.{name}')\n"
        "    print(name, *sorted(each for each in sys.modules if each.startswith('calibration')))"
    )
    said = subprocess.run([sys.executable, "-c", code, *OPEN], capture_output=True, text=True, check=True)
    loads = {line.split()[0]: set(line.split()[1:]) for line in said.stdout.splitlines()}
    assert tuple(loads) == OPEN
    secret = {f"calibration.store.{name}" for name in SECRET}
    secret |= {"calibration.evidence", "calibration.report"}
    assert {name: sorted(loaded & secret) for name, loaded in loads.items() if loaded & secret} == {}


def test_the_secret_modules_are_all_listed() -> None:
    """A module of the store belongs to one of the two classes."""
    helpers = {"__init__", "columns", "inserting", "reading", "text", "triggers"}
    files = {path.stem for path in Path(calibration.store.__file__).parent.glob("*.py")}
    assert files <= {*SECRET, *OPEN, *helpers}


def test_opening_a_current_store_loads_no_migration_tool() -> None:
    """Starting up on a current store costs no Alembic, and the store no LiteLLM, Streamlit or SciPy."""
    code = (
        "import sys, tempfile, pathlib; from calibration.store.schema import open_store;"
        "path = pathlib.Path(tempfile.mkdtemp()) / 'v.db'; open_store(path).close();"
        "[sys.modules.pop(name) for name in list(sys.modules) if name.split('.')[0] == 'alembic'];"
        "open_store(path).close();"
        "heavy = ('alembic', 'litellm', 'streamlit', 'sklearn', 'scipy', 'fastapi');"
        "print(*[name for name in heavy if name in sys.modules]); path.unlink()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
