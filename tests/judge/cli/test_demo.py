"""`voirdire demo`: what a person reads, the files it leaves, and the commands that it hands on."""

from __future__ import annotations

import json
import re
import shlex
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from judge.cli.demo import DEFAULT_OUT
from judge.demo.sample import CRITERIA
from tests.command_line import run, spawn
from tests.source_tree import ROOT


@dataclass(frozen=True, slots=True)
class Shown:
    """One run of the demo with its folder, and the bytes of its files."""

    result: Result
    out: Path

    @property
    def lines(self) -> list[str]:
        """What it printed, without colour, each paragraph on one line."""
        return self.result.stdout.split("\n")

    @property
    def text(self) -> str:
        """What it printed, line breaks as spaces."""
        return re.sub(r"\s+", " ", self.result.stdout)

    def files(self) -> dict[str, bytes]:
        """The page and the answers."""
        return {name: (self.out / name).read_bytes() for name in ("report.html", "new-answers.jsonl")}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Shown:
    """The demo without a model."""
    out = tmp_path_factory.mktemp("demo") / "here"
    return Shown(run("demo", "--out", str(out), "--no-model"), out)


@dataclass(frozen=True, slots=True)
class Again:
    """Two further runs into the same folder, and the files before and after each."""

    told: list[dict[str, Any]]
    files: list[dict[str, bytes]]


@pytest.fixture(scope="module")
def again(shown: Shown) -> Again:
    """The demo twice more, as JSON."""
    asked = ("demo", "--out", str(shown.out), "--no-model", "--json")
    found = Again([], [shown.files()])
    for _ in range(2):
        found.told.append(json.loads(run(*asked).stdout))
        found.files.append(shown.files())
    return found


def test_it_ends_well_and_leaves_its_files(shown: Shown) -> None:
    """Exit 0 whatever was decided; store, page and answers are there, and nothing else."""
    assert shown.result.exit_code == 0, shown.result.output
    assert {path.name for path in shown.out.iterdir()} - {"voirdire.db-shm", "voirdire.db-wal"} == {
        "voirdire.db",
        "report.html",
        "new-answers.jsonl",
    }


def test_the_first_words_say_what_it_is(shown: Shown) -> None:
    """A constructed sample of 170 answers, and evidence about no judge."""
    assert shown.text.startswith("The demo examines judges on a constructed sample: 170 answers")
    assert "It is evidence about no judge." in shown.text


@pytest.mark.parametrize(
    ("criterion", "counts", "outcome"),
    [
        ("states_terms", "Of 63 answers that the constructed labels fail, the judge accepted 1,", "admit"),
        ("resolves_request", "Of 43 answers that the constructed labels fail, the judge accepted", "reject"),
    ],
)
def test_each_criterion_has_its_block(shown: Shown, criterion: str, counts: str, outcome: str) -> None:
    """Its name, the counts in words, and the outcome, in this order."""
    start = shown.text.index(f"{criterion} ─")
    assert start < shown.text.index(counts) < shown.text.index(f"{outcome} (constructed): ")


def test_every_line_that_states_a_decision_is_stamped(shown: Shown) -> None:
    """No outcome, signature, grade or refusal without the word."""
    states = re.compile(r"^[✔✘?] (admit|reject|insufficient)|^(Signed|Graded|Refused)")
    stating = [line for line in shown.lines if states.search(line)]
    assert len(stating) == 5
    assert [line for line in stating if "(constructed)" not in line and "Signed" not in line] == []
    assert "Signed by demo: refund-terms-by-rule on states_terms: admit (constructed)" in shown.text


def test_baselines_stand_in_both_blocks(shown: Shown) -> None:
    """Four beside the rule judge, three beside the baseline that stands in for a model."""
    for name, times in (("always-accept", 4), ("always-reject", 4), ("length", 4), ("word_overlap", 4)):
        assert len(re.findall(rf"^[–✘] {name} ", shown.result.stdout, re.MULTILINE)) == times


def test_without_a_model_it_says_so(shown: Shown) -> None:
    """The reader learns why there is none."""
    assert "No model judge was examined: --no-model leaves it out." in shown.text


def test_the_commands_that_it_prints_do_what_it_says(shown: Shown) -> None:
    """Grading by the admitted judge ends with 0, by anybody else with 4 and what is missing."""
    unbroken = shown.result.stdout.replace(" \\\n   ", "")
    printed = re.findall(r"^  voirdire (--db .*?)(  # exit 4)?$", unbroken, re.MULTILINE)
    assert [bool(refused) for _, refused in printed] == [False, True]
    allowed, refused = (run(*shlex.split(command)) for command, _ in printed)
    assert allowed.exit_code == 0, allowed.output
    assert "20 items under refund-policy@1: 7 fail, 13 pass." in allowed.stdout
    assert "Constructed evidence" in allowed.stdout
    assert refused.exit_code == 4
    assert "no judge is admitted for refund-policy@1 'resolves_request'" in refused.stderr
    assert "missing: a decision for refund-policy@1, resolves_request" in refused.stderr


def test_every_required_criterion_at_once_is_refused(shown: Shown) -> None:
    """One admitted judge is not enough for the whole rubric."""
    store, answers = str(shown.out / "voirdire.db"), str(shown.out / "new-answers.jsonl")
    found = run("--db", store, "grade", answers, "--rubric", "refund-policy@1", "--json")
    assert found.exit_code == 4
    assert json.loads(found.stdout)["error"] == "judge_not_admitted"


def test_all_judges_are_those_that_answer_the_criterion(shown: Shown) -> None:
    """Neither a baseline nor a rule judge of the other criterion is a candidate."""
    store = str(shown.out / "voirdire.db")
    asked = ("--db", store, "calibrate", "--judge", "all", "--json")
    terms = run(*asked, "--criterion", "states_terms", "--set", "states_terms")
    assert [report["judge"] for report in json.loads(terms.stdout)["reports"]] == ["refund-terms-by-rule"]
    request = run(*asked, "--criterion", "resolves_request", "--set", "resolves_request")
    assert request.exit_code == 3
    assert "no judge has a verdict on set resolves_request@1" in request.stderr


def test_the_last_line_is_the_command_for_ones_own_file(shown: Shown) -> None:
    """After the columns that such a file needs."""
    assert shown.lines[-2:] == ["  voirdire check yours.csv --far-limit 0.10", ""]
    assert "the columns id, human_label and judge_label" in shown.text


def test_the_page_is_stamped_and_holds_both_criteria(shown: Shown) -> None:
    """One page; constructed in its header."""
    page = shown.files()["report.html"].decode()
    assert "constructed: written for demonstration" in page
    assert all(criterion in page for criterion in CRITERIA)


def test_a_second_run_writes_the_same_files(again: Again) -> None:
    """Byte for byte, and the same digests; no look is new."""
    before, *after = again.files
    assert after == [before, before]
    first, second = again.told
    assert first == second
    assert second["new_looks"] == 0


def test_json_holds_all_that_is_told(shown: Shown, again: Again) -> None:
    """Reports with their decisions, what is signed, what was graded and refused, and the files."""
    found = again.told[0]
    assert found["constructed"] is True
    assert [(r["criterion"], r["decision"]["outcome"]) for r in found["reports"]] == [
        ("states_terms", "admit"),
        ("resolves_request", "reject"),
    ]
    assert [d["outcome"] for d in found["decisions"]] == ["admit"]
    graded, refused = found["grading"]
    assert (graded["graded"], graded["refused"]) == (20, None)
    assert (refused["graded"], bool(refused["refused"])) == (0, True)
    assert found["files"]["report"] == str(shown.out / "report.html")


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """A file of that name is in the way."""
    (tmp_path / "here").write_text("mine")
    found = run("demo", "--out", str(tmp_path / "here"), "--no-model")
    assert found.exit_code == 3
    assert "cannot be a folder" in found.stderr


def test_a_page_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    """Nor is anything else written then."""
    (tmp_path / "report.html").write_text("mine")
    found = run("demo", "--out", str(tmp_path), "--no-model")
    assert found.exit_code == 3
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_the_folder_of_make_demo_is_no_part_of_the_repository() -> None:
    """The default folder is ignored by git."""
    assert f"{DEFAULT_OUT}/" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()


def test_narrow_terminals_and_pipes_need_no_colour(shown: Shown, tmp_path: Path) -> None:
    """As a process of its own, in a pipe with ASCII only: still stamped, still ending with the command."""
    store = tmp_path / "x" / "voirdire.db"
    store.parent.mkdir()
    with closing(sqlite3.connect(shown.out / store.name)) as made, closing(sqlite3.connect(store)) as copy:
        made.backup(copy)
    done = spawn("demo", "--out", str(store.parent), "--no-model")
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout
    assert done.stdout.decode().rstrip().endswith("check yours.csv --far-limit 0.10")
