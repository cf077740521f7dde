"""`voirdire calibrate` on public tables, against the figures published with them or worked out beside."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from tests.judge.cli.records import Run, jsonl, on, told
from tests.shared_data import shared

pytestmark = pytest.mark.shared

MAJORITY = {"A": 422, "B": 472, "tie": 105}


@pytest.fixture
def command(tmp_path: Path) -> Run:
    """A command line on a store of its own."""
    return on(str(tmp_path / "evidence.db"))


def take(command: Run, name: str, kind: str, *options: str) -> dict[str, Any]:
    """What an import of one file of a public table told."""
    source = str(shared(f"data/{name}/{kind}.jsonl"))
    return told(command(kind, "import", source, "--dataset", name, "--json", *options))


def lines(name: str, kind: str) -> list[dict[str, Any]]:
    """The records of a file of a public table."""
    text = shared(f"data/{name}/{kind}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


@pytest.fixture(scope="module")
def pandalm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the items of pandalm and what its three raters said."""
    path = tmp_path_factory.mktemp("pandalm") / "evidence.db"
    take(on(str(path)), "pandalm", "items")
    take(on(str(path)), "pandalm", "labels", "--stub-rubric")
    return path


@pytest.mark.parametrize(
    ("options", "agreement", "decided", "invalid", "missing"),
    [
        (("--null-as", "invalid"), 0.6977, (0.7156, 974), 25, 0),
        ((), 0.6977, (0.7156, 974), 0, 25),
        (("--map", "null=tie"), 0.7107, (0.7107, 999), 0, 0),
    ],
    ids=["as-invalid", "as-missing", "as-a-tie"],
)
def test_pandalm_by_three_treatments_of_unusable_verdicts(
    pandalm: Path,
    tmp_path: Path,
    options: tuple[str, ...],
    agreement: float,
    decided: tuple[float, int],
    invalid: int,
    missing: int,
) -> None:
    """The 25 unusable verdicts: wrong .6977, left out .7156, a tie .7107; in n as invalid, or open."""
    command = on(str(shutil.copy(pandalm, tmp_path / "copy.db")))
    take(command, "pandalm", "verdicts", "--rubric", "pandalm-imported@1", *options)
    asked = ("--dataset", "pandalm", "--judge", "gpt-3.5-turbo", "--criterion", "preference")
    report = told(command("calibrate", *asked, "--min-raters", "3", "--json"))
    found = report["answer_agreement"]
    # majority of three: as many of each as the authors of the table print
    assert dict(zip(found["answers"], map(sum, found["counts"]), strict=True)) == MAJORITY
    assert found["agreement"]["n"] == 999
    assert found["agreement"]["estimate"] == pytest.approx(agreement, abs=5e-5)
    assert (round(found["agreement_decided"]["estimate"], 4), found["agreement_decided"]["n"]) == decided
    assert (report["counts"]["invalid"], report["counts"]["missing"]) == (invalid, missing)
    assert report["far"] is None
    assert ("far", "no candidate declared: the wrong-side rate stands in its place") in [
        (gap["name"], gap["reason"]) for gap in report["not_assessed"]
    ]
    wrong = report["wrong_side"]
    assert (wrong["x"], wrong["n"]) == (157, 894)  # 86 + 71 sides turned round; 422 + 472 preferences
    assert [wrong["lower"], wrong["upper"]] == pytest.approx([0.15208, 0.20193], abs=1e-5)


def by_majority(accept_at: int) -> dict[str, tuple[str, str | None]]:
    """Verdict and level of each dialogue on Q0 by strict majority, worked out from the file alone."""
    said: dict[str, dict[str, set[str | None]]] = defaultdict(lambda: defaultdict(set))
    for line in lines("llm_rubric", "labels"):
        if line["criterion"] == "Q0":
            said[line["item_id"]][line["rater"]].add(line["label"])
    found = {}
    for item, raters in said.items():
        answers = [next(iter(each)) if len(each) == 1 else None for each in raters.values()]
        words = ["unknown" if a is None else "pass" if int(a) >= accept_at else "fail" for a in answers]
        verdict = next((w for w in ("pass", "fail") if 2 * words.count(w) > len(words)), "unknown")
        level = next((a for a in set(answers) if a and 2 * answers.count(a) > len(answers)), None)
        found[item] = (verdict, level)
    return found


def test_llm_rubric_has_ordinal_references_and_a_weighted_kappa(command: Run) -> None:
    """81 repeated keys, 28 conflicting; references at level 3; quadratic kappa as scikit-learn has it."""
    take(command, "llm_rubric", "items", "--cluster", "none")
    levels = ("--stub-rubric", "--on-repeat", "unresolved", "--levels", "1-4", "--accept-at", "3")
    labels = take(command, "llm_rubric", "labels", *levels)
    assert (labels["repeated_keys"], labels["conflicting_keys"]) == (81, 28)
    take(command, "llm_rubric", "verdicts", "--rubric", "llm_rubric-imported@1")
    asked = ("--dataset", "llm_rubric", "--judge", "gpt-3.5-turbo-16k", "--criterion", "Q0")
    report = told(command("calibrate", *asked, "--json"))
    reference = by_majority(3)
    words = [verdict for verdict, _ in reference.values()]
    counts = report["counts"]
    assert (counts["reference_fail"], counts["reference_pass"]) == (words.count("fail"), words.count("pass"))
    assert counts["clusters"] == 473
    judged = {v["item_id"]: v["label"] for v in lines("llm_rubric", "verdicts") if v["criterion"] == "Q0"}
    both = [(level, judged[item]) for item, (_, level) in reference.items() if level and item in judged]
    expected = cohen_kappa_score(*zip(*both, strict=True), weights="quadratic")
    found = report["answer_agreement"]
    assert found["kappa_weights"] == "quadratic"
    assert found["kappa_decided"] == pytest.approx(expected, abs=1e-12)
    text = command("calibrate", *asked).stdout
    assert f"{expected:.2f} of levels, weighted" in text


def test_unknown_blindness_is_insufficient_where_the_policy_wants_it(command: Run) -> None:
    """Nothing is said of blindness there: the item of the acceptance policy is insufficient evidence."""
    take(command, "pandalm", "items")
    take(command, "pandalm", "labels", "--stub-rubric", "--candidate", "B")
    take(command, "pandalm", "verdicts", "--rubric", "pandalm-imported@1", "--null-as", "invalid")
    asked = ("--dataset", "pandalm", "--judge", "PandaLM-7B-v1", "--criterion", "preference")
    result = command("calibrate", *asked, "--policy", "acceptance", "--json")
    report = json.loads(result.stdout)
    assert {item["name"]: item["status"] for item in report["decision"]["items"]}["blind"] == "insufficient"
    assert report["raters"]["blind"] == {"unknown": 2997}
    assert result.exit_code != 0


@pytest.mark.parametrize(
    "judges",
    [("GPT-4", "Llama-13B"), pytest.param((), marks=pytest.mark.slow)],
    ids=["two judges", "all eleven"],
)
def test_triviaqa_through_the_store_gives_the_figures_of_the_table(
    command: Run, tmp_path: Path, judges: tuple[str, ...]
) -> None:
    """The judges by rank: far_decided, kappa_decided, denominators and clusters as published."""
    expected = json.loads(shared("data/judges_triviaqa/expected.json").read_text("utf-8"))["recomputed"]
    take(command, "judges_triviaqa", "items")
    take(command, "judges_triviaqa", "labels", "--stub-rubric")
    verdicts = [v for v in lines("judges_triviaqa", "verdicts") if not judges or v["judge"] in judges]
    expected = {judge: expected[judge] for judge in judges or expected}
    source = jsonl(tmp_path, "verdicts.jsonl", *verdicts)
    stub = ("--dataset", "judges_triviaqa", "--rubric", "judges_triviaqa-imported@1")
    assert told(command("verdicts", "import", source, *stub, "--json"))["added"] == len(verdicts)
    criterion = verdicts[0]["criterion"]
    asked = ("--dataset", "judges_triviaqa", "--judge", "all", "--criterion", criterion)
    found = told(command("calibrate", *asked, "--rank", "--json"))
    assert {r["judge"] for r in found["reports"]} == set(expected) == {r["judge"] for r in found["rank"]}
    for report in found["reports"]:
        want = expected[report["judge"]]
        decided = report["far_decided"]
        assert (decided["x"], decided["n"]) == (want["false_accept"], want["ref_fail_judged"])
        assert report["kappa_decided"]["estimate"] == pytest.approx(want["kappa"], abs=1e-5)
        assert report["far"]["n"] == want["ref_fail_all"]
        assert report["far_gate"]["clusters"] == 264
