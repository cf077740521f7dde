"""What importing rubrics costs: pydantic and no more, YAML only where a file is read."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("ruamel", "yaml", "numpy", "scipy", "sqlmodel", "rich", "typer", "hypothesis")


def loaded(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("module", ["rubric", "item", "diff", "loader", "stub"])
def test_importing_a_module_loads_no_yaml_and_nothing_heavy(module: str) -> None:
    """Even the loader loads YAML only when it reads."""
    names = loaded(f"import rubrics.{module}")
    assert "pydantic" in names
    assert names.isdisjoint(HEAVY)


def test_verdicts_and_errors_need_only_the_standard_library() -> None:
    """The words that everything shares do not even load pydantic."""
    assert "pydantic" not in loaded("import rubrics.verdict, rubrics.errors")


def test_reading_a_rubric_loads_yaml() -> None:
    """The check above would see it."""
    assert "ruamel" in loaded("from rubrics.loader import load_catalog\nload_catalog('refund-policy')")
