"""`voirdire check`: what is asked beyond the table, and all criteria together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import tables
from tests.command_line import run


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Exercise 3 as a file."""
    return str(tables.write_csv(tmp_path / "t.csv", tables.sixteen_of_eighty()))


def test_a_deployment_a_prevalence_and_rater_errors_are_taken(table: str) -> None:
    """Each option adds its figure to the JSON and its sentence to the words."""
    options = ["--deployed", "700/1000", "--prevalence", "0.05", "--rater-errors", "0.98/0.995"]
    found = json.loads(run("check", table, "--far-limit", "0.1", "--json", *options).stdout)
    assert round(found["corrected"]["estimate"], 4) == 0.6667
    assert found["restated"]["prevalence"] == 0.05
    assert found["rater_error"]["passes_pass"] == 0.995
    assert "corrected for its errors" in run("check", table, *options).stdout


def test_an_audit_of_acceptances_gives_no_far(tmp_path: Path) -> None:
    """Rows sampled from what the judge accepted: insufficient, with the reason."""
    rows = tables.rows(fail={"pass": 5}, passing={"pass": 95})
    path = str(tables.write_csv(tmp_path / "a.csv", rows))
    result = run("check", path, "--far-limit", "0.1", "--accepts-only", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 2
    assert found["far"]["estimate"] is None
    assert found["failure_among_accepted"]["describes"] == "deployment"


@pytest.mark.parametrize(
    "words",
    [
        ["--deployed", "700"],
        ["--deployed", "7.5/10"],
        ["--deployed", "11/10"],
        ["--rater-errors", "a/b"],
        ["--rater-errors", "98/99"],
        ["--prevalence", "5"],
    ],
)
def test_an_option_that_is_no_number_is_usage(table: str, words: list[str]) -> None:
    """A count without its total, a rate over one: usage, 64, with the form that is wanted."""
    assert run("check", table, *words).exit_code == 64


def test_several_criteria_are_examined_together_too(tmp_path: Path) -> None:
    """Two admitted criteria do not move the exit code by their conjunction, which is shown beside."""
    clean = tables.rows(fail={"fail": 60}, passing={"pass": 90})
    rows = [{**row, "criterion": c} for c in ("a", "b") for row in clean]
    path = str(tables.write_csv(tmp_path / "two.csv", rows))
    result = run("check", path, "--far-limit", "0.1", "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert [r["criterion"] for r in found["whole_rubric"]] == ["(whole rubric)"]
    assert found["whole_rubric"][0]["counts"]["reference_fail"] == 60
    assert "All criteria together" in run("check", path, "--far-limit", "0.1").stdout
