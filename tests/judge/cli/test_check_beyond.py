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


def test_length_and_own_family_are_looked_at_where_the_table_tells(tmp_path: Path) -> None:
    """Long outputs and its own family's pass more often; without the columns the report asks for them."""
    rows = [
        {
            "id": f"i{n}",
            "judge": "gpt-4.1",
            "human_label": "fail" if n % 2 else "pass",
            # accepts what is long of its own family, and every sixth of the others
            "judge_label": "pass" if (n % 4 < 2 and n % 5) or n % 6 == 0 else "fail",
            "output": "x" * (200 + n if n % 5 else 50 + n),
            "model_family": "GPT" if n % 4 < 2 else "claude",
        }
        for n in range(240)
    ]
    told = json.loads(run("check", str(tables.write_csv(tmp_path / "t.csv", rows)), "--json").stdout)
    assert told["verbosity"]["odds_per_doubling"]["lower"] > 1
    own, others = told["self_preference"]["own_family"], told["self_preference"]["others"]
    # failures are odd: n % 4 = 1 is its own, and 48 of 60 are no multiple of 5; no odd n is a multiple of 6
    assert [(each["x"], each["n"]) for each in (own, others)] == [(48, 60), (0, 60)]
    assert told["self_preference"]["lower"] > 0
    assert not {"verbosity", "self_preference"} & {gap["name"] for gap in told["not_assessed"]}
    bare = [{key: row[key] for key in ("id", "judge", "human_label", "judge_label")} for row in rows]
    told = json.loads(run("check", str(tables.write_csv(tmp_path / "b.csv", bare)), "--json").stdout)
    gaps = {gap["name"]: gap["reason"] for gap in told["not_assessed"]}
    assert (told.get("verbosity"), told.get("self_preference")) == (None, None)
    assert "not assessable" in gaps["verbosity"]
    assert "output and model_family" in gaps["self_preference"]
