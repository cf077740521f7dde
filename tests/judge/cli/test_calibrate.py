"""`voirdire set` and `voirdire calibrate` as commands: what they write, refuse and exit with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calibration.store.database import Store
from tests.databases import BOTH
from tests.judge.cli.records import Run, address, jsonl, on, told
from tests.judge.cli.worlds import once

FAILURES, PASSES = 40, 20


@pytest.fixture
def filled(store: Store, tmp_path: Path) -> Run:
    """A command line on a store with 60 labelled answers and one judge that accepts the good ones only.

    40 failures, 20 passes, two raters who agree, no policy.
    """
    command = on(address(store))
    once(store, "60 labelled answers", lambda: lay_down(command, tmp_path))
    return command


def lay_down(command: Run, folder: Path) -> None:
    """Items, labels and verdicts by the import commands."""
    word = {True: "fail", False: "pass"}
    failing = {f"i{n:02}": n < FAILURES for n in range(FAILURES + PASSES)}
    items = [{"item_id": i, "input": f"question {i}", "output": f"answer of {i} in full"} for i in failing]
    labels: list[dict[str, Any]] = [
        {"item_id": i, "rater": rater, "criterion": "correct", "label": word[fails], "blind": "yes"}
        for i, fails in failing.items()
        for rater in ("ann", "bob")
    ]
    verdicts = [
        {"item_id": i, "judge": "gpt", "criterion": "correct", "label": word[fails]}
        for i, fails in failing.items()
    ]
    for noun, records in (("items", items), ("labels", labels), ("verdicts", verdicts)):
        stub = () if noun == "items" else ("--stub-rubric",)
        source = jsonl(folder, f"{noun}.jsonl", *records)
        result = command(noun, "import", source, "--dataset", "support", *stub)
        assert result.exit_code == 0, result.stderr


def calibrate(command: Run, *options: str) -> Any:
    """The result of a calibration of the one judge."""
    return command("calibrate", "--judge", "gpt", "--criterion", "correct", *options)


def test_a_set_is_drawn_frozen_and_shown(filled: Run) -> None:
    """Drawn by seed, frozen once, and its design stands in what is shown and listed."""
    drawn = told(filled("set", "draw", "may", "--dataset", "support", "--n", "50", "--seed", "4", "--json"))
    assert (drawn["set"], drawn["items"], drawn["frozen_at"]) == ("may@1", 50, None)
    frozen = told(filled("set", "freeze", "may", "--json"))
    assert frozen["frozen_at"] is not None
    shown = told(filled("set", "show", "may", "--json"))
    assert {key: frozen[key] for key in shown} == shown
    assert "simple random sample" in filled("set", "show", "may@1").stdout
    assert told(filled("set", "list", "--json"))["sets"] == [shown]
    assert "simple_random" in filled("set", "list").stdout


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("draw", "may", "--dataset", "support", "--design", "stratified"), 64, "stratified"),
        (("draw", "may", "--dataset", "support", "--take", "fail"), 64, "is not STRATUM=N, such as fail=100"),
        (("draw", "may", "--dataset", "nowhere", "--n", "5"), 3, "'nowhere' has no calibration item"),
        (("freeze", "june"), 3, "no set 'june' is recorded"),
        (("show", "june@x"), 64, "is not NAME or NAME@VERSION"),
    ],
)
def test_a_set_that_cannot_be_is_refused(filled: Run, args: tuple[str, ...], code: int, words: str) -> None:
    """A design without what it needs, a stratum without its number, an unknown dataset or set."""
    result = filled("set", *args)
    assert (result.exit_code, words in result.stderr.replace("\n", " ")) == (code, True), result.stderr


def test_without_a_limit_nothing_is_decided(filled: Run) -> None:
    """No policy and no limit: figures, a null decision and exit 0; the dataset is frozen as it is."""
    report = told(calibrate(filled, "--dataset", "support", "--json"))
    assert report["decision"] is None
    assert (report["far"]["x"], report["far"]["n"]) == (0, FAILURES)
    assert report["set"].startswith("all-of-support@1")
    assert "convenience" in report["claim"]


@BOTH
def test_the_same_question_costs_one_look(filled: Run) -> None:
    """A frozen set and a policy recorded before: admitted, and asked again the same report, no new look."""
    assert filled("set", "draw", "may", "--dataset", "support", "--n", "60").exit_code == 0
    assert filled("set", "freeze", "may").exit_code == 0
    first = json.loads(calibrate(filled, "--set", "may", "--policy", "far_only", "--json").stdout)
    again = json.loads(calibrate(filled, "--set", "may", "--policy", "far_only", "--json").stdout)
    assert first["decision"]["outcome"] == "admit"
    assert first["decision"]["looks"] == {"used": 1, "allowed": 1, "before": 0}
    assert (again["report"], again["decision"]) == (first["report"], first["decision"])


def test_a_limit_named_after_the_freeze_is_exploratory(filled: Run) -> None:
    """--far-limit is recorded when it is first named: after the set was frozen it cannot admit, exit 2."""
    assert calibrate(filled, "--dataset", "support").exit_code == 0
    result = calibrate(filled, "--dataset", "support", "--far-limit", "0.20", "--json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["decision"]["outcome"]) == (2, "insufficient_evidence")
    assert "after set all-of-support@1 was frozen" in report["exploratory"]


def test_the_page_is_written_and_nobody_elses_is_replaced(filled: Run, tmp_path: Path) -> None:
    """--html writes the report; a file that is no report of ours stays, unless --force is given."""
    page = tmp_path / "report.html"
    page.write_text("mine", encoding="utf-8")
    refused = calibrate(filled, "--dataset", "support", "--html", str(page))
    assert (refused.exit_code, page.read_text("utf-8")) == (3, "mine")
    told_on = calibrate(filled, "--dataset", "support", "--html", str(page), "--force")
    assert told_on.exit_code == 0
    assert "<!doctype html>" in page.read_text("utf-8").lower()


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--dataset", "support", "--policy", "far_only", "--far-limit", "0.1"), 64, "either --policy or"),
        (("--dataset", "nowhere"), 3, "nowhere"),
        (("--set", "june"), 3, "no set 'june' is recorded"),
        (("--dataset", "support", "--policy", "none-such"), 3, "none-such"),
    ],
)
def test_what_cannot_be_examined_is_said(
    filled: Run, options: tuple[str, ...], code: int, words: str
) -> None:
    """Two rules at once, an unknown dataset, set or policy: one sentence and the right exit code."""
    result = calibrate(filled, *options)
    assert (result.exit_code, words in result.stderr.replace("\n", " ")) == (code, True), result.stderr
