"""`voirdire policy`: record, lint, list, show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.judge.cli.records import address, on, told

STRICT = "name: strict\nversion: 1\nprimary: {upper_at_most: 0.05}\nminimum: {fail: 80}\n"


def policy(folder: Path, text: str = STRICT) -> str:
    """A file with a policy."""
    path = folder / "strict.yaml"
    path.write_text(text)
    return str(path)


def test_record_list_and_show(store: Any, tmp_path: Path) -> None:
    """Those that ship are there already; another one joins them, and the first moment counts."""
    db = on(address(store))
    assert len(told(db("policy", "list", "--json"))["policies"]) >= 2
    first = told(db("policy", "add", policy(tmp_path), "--json"))
    assert (first["policy"], first["new"]) == ("strict@1", True)
    assert told(db("policy", "add", policy(tmp_path), "--json")) == {**first, "new": False}
    shown = told(db("policy", "show", "strict", "--json"))
    assert (shown["digest"], shown["content"]["primary"]["upper_at_most"]) == (first["digest"], 0.05)
    names = [each["policy"] for each in told(db("policy", "list", "--json"))["policies"]]
    assert names == sorted(names)
    assert "strict@1" in names


def test_other_content_under_the_same_version_is_refused(sqlite_store: Any, tmp_path: Path) -> None:
    """A policy that is recorded is not replaced by one of the same name and version."""
    db = on(sqlite_store.where)
    assert db("policy", "add", policy(tmp_path)).exit_code == 0
    other = db("policy", "add", policy(tmp_path, STRICT.replace("fail: 80", "fail: 90")))
    said = " ".join(other.stderr.split())
    assert (other.exit_code, "strict@1 is recorded with other content" in said) == (3, True), said
    second = STRICT.replace("fail: 80", "fail: 90").replace("version: 1", "version: 2")
    assert db("policy", "add", policy(tmp_path, second)).exit_code == 0


def test_the_words_of_a_policy(sqlite_store: Any, tmp_path: Path) -> None:
    """Gate, minimum, guards, and since when it may decide."""
    db = on(sqlite_store.where)
    assert db("policy", "add", policy(tmp_path)).stdout.startswith("Recorded strict@1 (")
    assert db("policy", "add", policy(tmp_path)).stdout.startswith("Already recorded: strict@1 (")
    said = db("policy", "show", "strict@1").stdout
    assert "upper end of the two-sided 95% interval at most 0.05" in " ".join(said.split())
    assert "at least 80 reference failures" in said
    acceptance = db("policy", "show", "acceptance").stdout
    assert "evidence at least: several" in acceptance
    assert "blind raters" in acceptance
    assert "FAR at most" in db("policy", "list").stdout


def test_a_policy_that_nobody_could_pass_is_refused(sqlite_store: Any, tmp_path: Path) -> None:
    """Lint says so with exit 1, add with exit 3, and it is not recorded."""
    db = on(sqlite_store.where)
    source = policy(tmp_path, STRICT.replace("fail: 80", "fail: 5"))
    linted = db("policy", "lint", source, "--json")
    assert linted.exit_code == 1
    assert "minimum.fail is 5" in linted.stdout
    assert db("policy", "lint", source).exit_code == 1
    result = db("policy", "add", source)
    assert result.exit_code == 3
    assert "strict@1 cannot do its work and is not recorded: minimum.fail is 5" in result.stderr
    assert "no policy 'strict' is recorded" in db("policy", "show", "strict").stderr


def test_lint_of_a_good_policy(sqlite_store: Any) -> None:
    """Nothing wrong, exit 0; it needs no store."""
    result = on("none/none.db")("policy", "lint", "acceptance")
    assert (result.exit_code, result.stdout) == (0, "acceptance@1: nothing wrong is found.\n")


def test_what_is_no_policy_is_refused(sqlite_store: Any, tmp_path: Path) -> None:
    """Neither a name that ships nor a file, or a file that is none."""
    db = on(sqlite_store.where)
    assert "neither a shipped policy" in db("policy", "add", "none").stderr
    assert db("policy", "add", policy(tmp_path, "name: x\n")).exit_code == 3


def test_two_policies_are_compared(sqlite_store: Any, tmp_path: Path) -> None:
    """Names that ship, recorded ones and files; each changed field with what it does."""
    db = on(sqlite_store.where)
    found = told(db("policy", "diff", "far_only", policy(tmp_path), "--json"))
    changes = {each["field"]: each["direction"] for each in found["changes"]}
    assert changes["primary.upper_at_most"] == "tightens"
    assert changes["minimum.fail"] == "tightens"
    assert changes["informative"] == "loosens"
    said = db("policy", "diff", "far_only", policy(tmp_path)).stdout
    assert "far_only@1 -> strict@1" in said
    assert "tightens" in said
    assert "They decide alike." in db("policy", "diff", "acceptance", "acceptance@1").stdout
    assert db("policy", "diff", "acceptance", "none").exit_code == 3


PARTS = """severities: {severe: {upper_at_most: 0.02}}
required: {failure_modes: {invented: 10}, slices: {attack=inject: 20}}
operation: {cost_per_item_micros: 2500, latency_p95_ms: 4000}
recalibrate_on: [population, cusum]
warn_on: [cusum]
expiry: {days: 9, deployments: 1000}
"""


def test_the_words_of_parts_cost_and_triggers(sqlite_store: Any, tmp_path: Path) -> None:
    """Everything that a policy asks for is said when it is shown."""
    db = on(sqlite_store.where)
    assert (
        db("policy", "add", policy(tmp_path, STRICT.replace("fail: 80", "fail: 200") + PARTS)).exit_code == 0
    )
    said = " ".join(db("policy", "show", "strict").stdout.split())
    for words in (
        "false acceptance of severity severe: upper end at most 0.02",
        "at least 10 failures of failure mode invented",
        "at least 20 failures of slice attack=inject",
        "an item costs at most 0.0025 US dollars",
        "95 % of verdicts take at most 4,000 ms",
        "a decision holds for 9 days or 1,000 grades",
        "suspended by a change of: population",
        "warned of a change of: cusum",
    ):
        assert words in said
    assert "no gate: both error rates are shown" in " ".join(
        db("policy", "show", "diagnostic").stdout.split()
    )
