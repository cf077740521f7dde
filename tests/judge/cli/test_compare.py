"""`voirdire compare` and `voirdire judge compare` on recorded labels and verdicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calibration.store.database import Store
from tests.judge.cli.records import Run, address, jsonl, on, told
from tests.judge.cli.worlds import once

KIND = {"fail": "reject", "pass": "accept"}


def laid_down(command: Run, folder: Path, *, per_kind: int = 60) -> None:
    """Inputs with an output of each of two systems, labels, and verdicts of two judges.

    The strict judge accepts no failure and refuses a tenth of the passes; the lax one accepts half of the
    failures and every pass. Of bot-1 every second output fails, of bot-2 every fourth.
    """
    items, labels, verdicts = [], [], []
    for n in range(per_kind * 2):
        for system, every in (("bot-1", 2), ("bot-2", 4)):
            item = f"{system}-{n}"
            label = "fail" if n % every == 0 else "pass"
            strict = "fail" if label == "fail" or n % 10 == 1 else "pass"
            lax = "fail" if label == "fail" and n % 4 == 0 else "pass"
            items.append(
                {
                    "item_id": item,
                    "input": f"q {n}",
                    "output": f"a {item}",
                    "group": f"g{n}",
                    "system": system,
                }
            )
            labels.append({"item_id": item, "rater": "ann", "criterion": "correct", "label": label})
            verdicts += [
                {"item_id": item, "judge": judge, "criterion": "correct", "label": said}
                for judge, said in (("strict", strict), ("lax", lax))
            ]
    for noun, records in (("items", items), ("labels", labels), ("verdicts", verdicts)):
        stub = () if noun == "items" else ("--stub-rubric",)
        done = command(
            noun, "import", jsonl(folder, f"{noun}.jsonl", *records), "--dataset", "support", *stub
        )
        assert done.exit_code == 0, done.stderr


ON = ("--dataset", "support", "--criterion", "correct")


def test_two_judges(store: Store, tmp_path: Path) -> None:
    """Paired rates of the labels, one word, and the same by either name of the command."""
    command = on(address(store))
    once(store, "two systems, two judges", lambda: laid_down(command, tmp_path))
    found = told(command("judge", "compare", "lax", "strict", *ON, "--json"))
    # 240 items: bot-1 60 failures, bot-2 30; the lax judge accepts those of bot-1 with n % 4 == 2
    assert (found["far"]["old"]["x"], found["far"]["new"]["x"], found["far"]["old"]["n"]) == (30, 0, 90)
    assert found["non_acceptance_among_pass"]["new"]["x"] == 12 + 12
    assert found["word"] == "different"
    assert found["bridge"]["accepted_before"]["n"] == 180
    assert told(command("compare", "lax", "strict", *ON, "--json")) == found
    words = command("judge", "compare", "lax", "strict", *ON)
    assert "strict beside lax on 240 items: different" in words.stdout
    assert "agreement is not accuracy" in words.stdout
    looks = told(command("calibrate", *ON, "--judge", "strict", "--json"))
    assert looks["counts"]["reference_fail"] == 90


def test_two_systems_and_a_gate(sqlite_store: Store, tmp_path: Path) -> None:
    """Outputs paired by group, by labels or by a judge; the gate's exit codes."""
    command = on(address(sqlite_store))
    once(sqlite_store, "two systems, two judges", lambda: laid_down(command, tmp_path))
    better = told(command("compare", "bot-1", "bot-2", *ON, "--json"))
    assert (better["pairs"], better["unpaired_groups"], better["word"]) == (120, 0, "better")
    assert (better["not_accepted"]["old"]["x"], better["not_accepted"]["new"]["x"]) == (60, 30)
    assert command("compare", "bot-1", "bot-2", *ON, "--gate").exit_code == 0
    worse = command("compare", "bot-2", "bot-1", *ON, "--gate", "--json")
    assert (worse.exit_code, json.loads(worse.stdout)["gate"]) == (1, "fail")
    judged = command("compare", "bot-1", "bot-2", *ON, "--judge", "strict")
    assert "not corrected for its errors" in judged.stdout


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("lax", "lax"), "one judge"),
        (("bot-1", "nobody"), "has no output of 'nobody'"),
    ],
)
def test_what_cannot_be_compared_is_said(
    sqlite_store: Store, tmp_path: Path, args: tuple[str, str], said: str
) -> None:
    """One sentence, exit 3."""
    command = on(address(sqlite_store))
    once(sqlite_store, "a few of two systems", lambda: laid_down(command, tmp_path, per_kind=4))
    done = command("compare", *args, *ON)
    assert done.exit_code == 3
    assert said in done.stderr
