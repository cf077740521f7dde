"""`voirdire check` on 39,600 public verdicts of eleven judges, against the figures published with them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run
from tests.shared_data import shared
from tests.tables import flatten, write_csv

pytestmark = pytest.mark.shared

FAILED = {"GPT-4", "Llama3-70B", "Mistral-7B", "Llama-7B", "Llama3-8B", "Llama-70B", "Gemma-2B"}
FAR_ONLY = {
    "EM": "admit", "Contains": "admit", "JudgeLM": "admit", "Llama-13B": "insufficient_evidence",
    **dict.fromkeys(FAILED, "reject"),
}  # fmt: skip
ACCEPTANCE = {
    "EM": ("reject", "non_acceptance_among_pass"),
    "JudgeLM": ("reject", "non_acceptance_among_pass"),
    "Llama-13B": ("reject", "non_acceptance_among_pass"),
    "Contains": ("insufficient_evidence", "non_acceptance_among_pass"),
    **dict.fromkeys(FAILED, ("reject", "far")),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The public table with one row per verdict."""
    found = flatten(shared("data/judges_triviaqa"))
    return write_csv(tmp_path_factory.mktemp("triviaqa") / "judges.csv", found)


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """What its publisher's helper computed for every judge."""
    found: dict[str, Any] = json.loads(shared("data/judges_triviaqa/expected.json").read_text("utf-8"))
    return found["recomputed"]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def far_only(table: Path) -> dict[str, Any]:
    """The comparison of all judges under a FAR limit of 10 %."""
    result = run("check", str(table), "--judge", "all", "--rank", "--far-limit", "0.10", "--json")
    assert result.exit_code == 1, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def reports(found: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(judge, report) of a comparison."""
    return ((report["judge"], report) for report in found["reports"])


def test_every_published_figure_to_five_decimals(far_only: dict[str, Any], expected: dict[str, Any]) -> None:
    """FAR and kappa of decided verdicts, denominators, bounds, failure among accepted: all eleven judges."""
    seen = set()
    for judge, report in reports(far_only):
        want = expected[judge]
        decided = report["far_decided"]
        assert (decided["x"], decided["n"]) == (want["false_accept"], want["ref_fail_judged"])
        assert decided["estimate"] == pytest.approx(want["far"], abs=1e-5)
        assert [decided["lower"], decided["upper"]] == pytest.approx(want["wilson95"], abs=1e-5)
        assert report["far"]["n"] == want["ref_fail_all"]
        bounds = [report["far_bounds"]["low"], report["far_bounds"]["high"]]
        assert bounds == pytest.approx(want["far_bounds_abstain"], abs=1e-5)
        assert report["kappa_decided"]["estimate"] == pytest.approx(want["kappa"], abs=1e-5)
        assert report["kappa_decided"]["po"] == pytest.approx(want["agree"], abs=1e-5)
        accepted = report["failure_among_accepted"]["estimate"]
        assert accepted == pytest.approx(want["failure_among_accepted"], abs=1e-5)
        assert report["counts"]["missing"] == want["abstained"]
        seen.add(judge)
    assert seen == set(expected)


def test_the_gate_sees_the_264_questions_that_hold_a_failure(far_only: dict[str, Any]) -> None:
    """400 questions with nine answers each; 264 of them have a failing one."""
    for _, report in reports(far_only):
        assert report["counts"]["clusters"] == 400
        assert report["counts"]["clusters_fail"] == 264
        assert report["far_gate"]["clusters"] == 264


def test_outcomes_under_a_limit_of_ten_percent(far_only: dict[str, Any]) -> None:
    """Three pass the gate, Llama-13B is insufficient by clusters, seven are rejected."""
    assert {judge: report["decision"]["outcome"] for judge, report in reports(far_only)} == FAR_ONLY
    gates = {judge: report["far_gate"] for judge, report in reports(far_only)}
    upper = {judge: round(100 * gate["upper"], 1) for judge, gate in gates.items()}
    assert (upper["EM"], upper["Contains"], upper["JudgeLM"], upper["Llama-13B"]) == (1.5, 2.7, 9.2, 11.0)
    assert [gates[j]["x"] for j in ("EM", "Contains", "JudgeLM", "Llama-13B")] == [4, 13, 71, 83]


def test_ranks_are_ranges_over_all_judges(far_only: dict[str, Any]) -> None:
    """Every judge has a place; the strict string match is first, Gemma last."""
    places = {r["judge"]: (r["low"], r["high"]) for r in far_only["rank"]}
    assert set(places) == set(FAR_ONLY)
    assert places["EM"][0] == 1
    assert places["Gemma-2B"] == (11, 11)


@pytest.mark.parametrize(
    "judges",
    [("EM", "Contains", "Llama3-8B"), pytest.param(tuple(ACCEPTANCE), marks=pytest.mark.slow)],
    ids=["one of each outcome", "all eleven"],
)
def test_nobody_is_admitted_under_the_acceptance_policy(
    table: Path, tmp_path: Path, judges: tuple[str, ...]
) -> None:
    """Seven fall by FAR, three by what they turn away, Contains stays insufficient."""
    with table.open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if row["judge"] in judges]
    asked = write_csv(tmp_path / "asked.csv", found)
    result = run("check", str(asked), "--judge", "all", "--policy", "acceptance", "--json")
    assert result.exit_code == 1
    outcomes = {
        judge: (report["decision"]["outcome"], report["decision"]["binding"])
        for judge, report in reports(json.loads(result.stdout))
    }
    assert outcomes == {judge: ACCEPTANCE[judge] for judge in judges}
