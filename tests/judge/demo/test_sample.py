"""The demo sample, re-read from its files by a second route: what is promised of it holds."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import judge.demo
from judge.demo.sample import (
    CRITERIA,
    ORIGIN,
    demo_adjudications,
    demo_assessments,
    demo_clauses,
    demo_items,
    demo_references,
)
from rubrics.verdict import Verdict

FOLDER = Path(judge.demo.__file__).parent


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file of the sample, read here and not by the package."""
    return [json.loads(line) for line in (FOLDER / name).read_bytes().decode("utf-8").splitlines()]


ITEMS = rows("items.jsonl")
LABELS = rows("labels.jsonl")
KEY = {row["item_id"]: row["failure_modes"] for row in rows("key.jsonl")}
CLAUSES = re.findall(r"(?m)^\d+\. .+$", (FOLDER / "policy.md").read_text(encoding="utf-8"))


def reference(item_id: str, criterion: str) -> str | None:
    """The reference label, by the words of ABOUT.md: what both raters say, else what the adjudicator says."""
    said = [row for row in LABELS if (row["item_id"], row["criterion"]) == (item_id, criterion)]
    raters = {row["label"] for row in said if "kind" not in row}
    (label,) = raters if len(raters) == 1 else {row["label"] for row in said if "kind" in row}
    return None if label is None else str(label)


REFERENCES = {c: {row["item_id"]: reference(row["item_id"], c) for row in ITEMS} for c in CRITERIA}


def words(text: str) -> set[str]:
    """The distinct words of a text."""
    return set(re.findall(r"\w+", text.lower()))


def test_there_are_170_items_in_three_slices() -> None:
    """A third is adversarial, and at least 20 ask for restraint."""
    assert len(ITEMS) == 170
    assert Counter(row["tags"]["slice"] for row in ITEMS) == {"plain": 77, "adversarial": 61, "restraint": 32}


def test_every_row_says_that_it_is_constructed() -> None:
    """Whoever takes a row out of its file still sees where it comes from; files for people say so on top."""
    assert {row["tags"]["origin"] for row in ITEMS} == {ORIGIN} == {"constructed"}
    assert {row["origin"] for row in (*LABELS, *rows("key.jsonl"))} == {ORIGIN}
    for name in ("ABOUT.md", "policy.md"):
        assert "constructed" in (FOLDER / name).read_text(encoding="utf-8").splitlines()[0]


def test_each_item_is_its_own_prompt_and_evidence_of_its_kind() -> None:
    """Ids, groups and questions are distinct; all are for calibration, written by one of two systems."""
    assert len({row["item_id"] for row in ITEMS}) == len({row["input"] for row in ITEMS}) == len(ITEMS)
    assert all(row["group"] == row["item_id"] for row in ITEMS)
    assert {row["split"] for row in ITEMS} == {"calibration"}
    assert set(Counter(row["system"] for row in ITEMS)) == {"desk-a", "desk-b"}


@pytest.mark.parametrize(("field", "most"), [("input", 0.5), ("output", 0.8)])
def test_no_two_texts_are_near_copies(field: str, most: float) -> None:
    """Word Jaccard stays below the bound for every pair; answers that quote one clause come nearest."""
    texts = [(row["item_id"], words(row[field])) for row in ITEMS]
    near = [
        (a, b)
        for (a, one), (b, other) in combinations(texts, 2)
        if len(one & other) / len(one | other) >= most
    ]
    assert near == []


def test_answers_are_short() -> None:
    """Between 15 and 60 words each."""
    lengths = [len(row["output"].split()) for row in ITEMS]
    assert min(lengths) >= 15
    assert max(lengths) <= 60


def test_the_evidence_is_the_policy_word_for_word() -> None:
    """Each item records between one and three clauses, as policy.md has them and in its order."""
    for row in ITEMS:
        recorded = row["policy"].split("\n")
        assert 1 <= len(recorded) <= 3
        assert [clause for clause in CLAUSES if clause in recorded] == recorded
    assert len(CLAUSES) == 12


def test_every_clause_is_asked_about() -> None:
    """No clause is decoration: each is the evidence of at least five items."""
    seen = Counter(clause for row in ITEMS for clause in row["policy"].split("\n"))
    assert min(seen[clause] for clause in CLAUSES) >= 5


@pytest.mark.parametrize(
    ("criterion", "passes", "failures", "unresolved"),
    [("states_terms", 95, 70, 5), ("resolves_request", 99, 66, 5)],
)
def test_both_classes_are_large_enough(criterion: str, passes: int, failures: int, unresolved: int) -> None:
    """At least 60 failures and passes in each criterion after adjudication, some unresolved."""
    counts = Counter(REFERENCES[criterion].values())
    assert counts == {"pass": passes, "fail": failures, None: unresolved}
    assert min(passes, failures) >= 60


def test_the_criteria_fail_different_answers() -> None:
    """Neither criterion stands for the other: most failures are of one alone."""
    pairs = Counter(
        zip(REFERENCES["states_terms"].values(), REFERENCES["resolves_request"].values(), strict=True)
    )
    assert pairs["fail", "pass"] == 47
    assert pairs["pass", "fail"] == 43
    assert pairs["fail", "fail"] == 21


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_slice_has_passes_and_failures(criterion: str) -> None:
    """A figure per slice needs both; no slice gives the answer away."""
    for name in ("plain", "adversarial", "restraint"):
        labels = Counter(
            REFERENCES[criterion][row["item_id"]] for row in ITEMS if row["tags"]["slice"] == name
        )
        assert min(labels["pass"], labels["fail"]) >= 10


@pytest.mark.parametrize("criterion", CRITERIA)
def test_two_blind_raters_disagree_on_a_tenth_and_only_there_somebody_adjudicates(criterion: str) -> None:
    """17 of 170 differ, kappa is above .6, each difference is adjudicated once and five stay open."""
    rows_here = [row for row in LABELS if row["criterion"] == criterion]
    by_rater = {
        rater: {row["item_id"]: row["label"] for row in rows_here if row["rater"] == rater}
        for rater in ("rater-a", "rater-b")
    }
    first, second = by_rater["rater-a"], by_rater["rater-b"]
    assert len(first) == len(second) == len(ITEMS)
    assert {row["blind"] for row in rows_here if "kind" not in row} == {"declared"}
    differ = {item_id for item_id in first if first[item_id] != second[item_id]}
    adjudicated = [row for row in rows_here if "kind" in row]
    assert len(differ) == 17
    assert sorted(row["item_id"] for row in adjudicated) == sorted(differ)
    assert sum(row["label"] is None for row in adjudicated) == 5
    assert all(row["note"] and row["rater"] == "adjudicator" for row in adjudicated)
    # Cohen (1960) over pass, fail and cannot decide
    observed = 1 - len(differ) / len(ITEMS)
    margins = Counter(first.values()), Counter(second.values())
    expected = sum(margins[0][k] * margins[1][k] for k in margins[0]) / len(ITEMS) ** 2
    assert (observed - expected) / (1 - expected) == pytest.approx(0.797, abs=0.001)


def test_the_key_names_a_failure_exactly_where_the_reference_does_not_pass() -> None:
    """What is not a pass has a mode under that criterion; the open ones are named as such."""
    for criterion in CRITERIA:
        for item_id, label in REFERENCES[criterion].items():
            mode = KEY[item_id].get(criterion)
            assert (mode is None) == (label == "pass")
            assert (mode == "judgment_call") == (label is None)


def test_nothing_that_a_judge_sees_tells_the_answer() -> None:
    """The key stands in its own file; the item's id, tags and fields hold no label and no mode."""
    modes = {mode for by_criterion in KEY.values() for mode in by_criterion.values()}
    for row in ITEMS:
        assert set(row) == {"item_id", "input", "output", "policy", "group", "tags", "system", "split"}
        assert set(row["tags"]) == {"slice", "origin"}
        assert not modes & words(json.dumps([row["item_id"], row["tags"], row["system"]]))


NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "thirty": 30,
    "sixty": 60,
}


def numbers(text: str) -> set[float]:
    """The numbers of a text by a plain search: digits, and some words; thousands by comma."""
    digits = re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", text)
    return {float(found.replace(",", "")) for found in digits} | {
        float(NUMBERS[word]) for word in words(text) & set(NUMBERS)
    }


def modes(criterion: str, mode: str) -> list[dict[str, Any]]:
    """The items that were made wrong in one way."""
    return [row for row in ITEMS if KEY[row["item_id"]].get(criterion) == mode]


def test_wrong_numbers_are_in_no_clause_and_not_the_customer_s() -> None:
    """Each answer with a wrong number states one that neither its clauses nor the question hold."""
    wrong = modes("states_terms", "wrong_number")
    assert len(wrong) == 59
    for row in wrong:
        clauses = re.sub(r"(?m)^\d+\. ", "", row["policy"])
        stated = numbers(row["output"]) - numbers(clauses) - numbers(row["input"])
        assert stated, row["item_id"]


def test_right_answers_state_no_foreign_number_but_what_was_worked_out() -> None:
    """In answers right on both, digits come from clauses or question; two are sums and one is a date."""
    foreign: dict[str, set[float]] = {}
    for row in ITEMS:
        if not KEY[row["item_id"]]:
            clauses = re.sub(r"(?m)^\d+\. ", "", row["policy"])
            known = numbers(clauses) | numbers(row["input"])
            stated = {float(n.replace(",", "")) for n in re.findall(r"\d+(?:\.\d+)?", row["output"])} - known
            foreign |= {row["item_id"]: stated} if stated else {}
    assert sorted(foreign.values(), key=sorted) == [{1.0}, {8.0}, {12.0}]


def test_wrong_units_keep_the_number_and_change_its_unit() -> None:
    """The number is the clause's, the words of number and unit together are not."""
    found = modes("states_terms", "wrong_unit")
    assert len(found) == 3
    for row in found:
        pairs = set(re.findall(r"(\d+) (business days|calendar days|days|weeks|months|hours)", row["output"]))
        clause = set(
            re.findall(r"(\d+) (business days|calendar days|days|weeks|months|hours)", row["policy"])
        )
        assert {number for number, _ in pairs} <= {number for number, _ in clause}
        assert pairs - clause


def test_false_successes_say_that_money_went_out() -> None:
    """An agent can only file a request, and these say fluently that they have paid."""
    claims = re.compile(r"issued|refunded you|sent the|paid|transferred", re.IGNORECASE)
    found = modes("resolves_request", "false_success")
    assert len(found) >= 8
    for row in found:
        assert claims.search(row["output"]), row["item_id"]


def test_adversarial_answers_are_near_when_wrong_and_far_when_right() -> None:
    """Wrong terms stand in the policy's own words, right ones share few: by the share of words in common."""
    shares: dict[str | None, list[float]] = {"pass": [], "fail": []}
    for row in ITEMS:
        if row["tags"]["slice"] == "adversarial" and REFERENCES["resolves_request"][row["item_id"]] == "pass":
            share = len(words(row["output"]) & words(row["policy"])) / len(words(row["output"]))
            shares.setdefault(REFERENCES["states_terms"][row["item_id"]], []).append(share)
    assert max(shares["pass"]) < 0.35
    assert min(shares["fail"]) > 0.45


def test_the_package_reads_what_the_files_say() -> None:
    """Items, labels, references and clauses through the package equal the second reading."""
    assert [item.item_id for item in demo_items()] == [row["item_id"] for row in ITEMS]
    assert [item.evidence["policy"] for item in demo_items()] == [row["policy"] for row in ITEMS]
    assert list(demo_clauses().values()) == CLAUSES
    assert len(demo_assessments()) == 2 * 2 * len(ITEMS)
    assert len(demo_adjudications()) == 34
    for criterion in CRITERIA:
        through = {key: label.verdict for key, label in demo_references(criterion).items()}
        expected = {key: Verdict(label or "unknown") for key, label in REFERENCES[criterion].items()}
        assert through == expected


def test_files_are_plain_utf_8_lines() -> None:
    """One object a line, line feeds only, no byte-order mark, and no line separator inside a text."""
    for name in ("items.jsonl", "labels.jsonl", "key.jsonl"):
        data = (FOLDER / name).read_bytes()
        assert data.endswith(b"}\n")
        assert not data.startswith(b"\xef\xbb\xbf")
        assert not set("\r\u2028\u2029") & set(data.decode("utf-8"))
