"""Replies of other tools: the public pairwise table is read as it was labelled, what is not is listed."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrics.answer import Answer, answered, no_answer
from rubrics.order import Order, position_cells
from tests.judge.foreign_replies import ForeignForm, read_foreign
from tests.shared_data import shared

UNPARSED = no_answer("invalid", "unparsed")


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("Output (a)", "ab", answered("A")),
        ("Output (a)", "ba", answered("B")),
        ("Output (b) is better. Output (a) is short.", "ab", answered("B")),
        ("output (a) is better? No: Output (b) is the better one.", "ab", answered("B")),
        ("I would take Output (a) over Output (b)", "ab", answered("B")),  # the last one named
        ("Both outputs are equally good.", "ab", no_answer("abstained", "cannot_tell")),
        ("Both Output (a) and Output (b) are equal.", "ab", no_answer("abstained", "cannot_tell")),
        ("The first one.", "ab", UNPARSED),
        ("", "ab", UNPARSED),
        (None, "ab", UNPARSED),
        ("Output (a) " * 20_000, "ab", UNPARSED),
    ],
)
def test_named_outputs(text: str | None, order: str, expected: Answer) -> None:
    """Displayed order is turned into source positions; a sentence that decides goes before mere names."""
    assert read_foreign(text, ForeignForm.OUTPUT_AB, Order(order)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"score_1": "7", "score_2": "6"}', answered("A")),
        ('{"score_1": 6.5, "score_2": 7}', answered("B")),
        ('{"score_1": "7", "score_2": 7.0}', answered("tie")),
        ('{"score_1": null, "score_2": "7"}', UNPARSED),
        ('{"score_1": "seven", "score_2": "7"}', UNPARSED),
        ('{"score_1": 1e999, "score_2": 7}', no_answer("invalid", "out_of_range")),
        ('{"score_1": NaN, "score_2": 7}', no_answer("invalid", "out_of_range")),
        ('{"score_1": 7}', UNPARSED),
        ("[]", UNPARSED),
        ("[" * 100_000, UNPARSED),
    ],
)
def test_scores(text: str, expected: Answer) -> None:
    """Higher wins, in source positions whatever the order; equal scores are a tie, no number is no answer."""
    assert {read_foreign(text, ForeignForm.SCORES, order) for order in Order} == {expected}


@settings(max_examples=150, derandomize=True, deadline=None)
@given(text=st.text(), form=st.sampled_from(ForeignForm), order=st.sampled_from(Order))
def test_no_reply_crashes(text: str, form: ForeignForm, order: Order) -> None:
    """Every text is a preference or a reasoned unknown."""
    found = read_foreign(text, form, order)
    assert found.value in {"A", "B", "tie", None}
    assert (found.value is None) == (found.reason is not None)


# -- the public table

SET = "data/llmbar"
FREE = ("Vanilla", "Vanilla_NoRules", "Metrics_Reference", "CoT")


@pytest.fixture(scope="module")
def llmbar() -> list[dict[str, Any]]:
    """The verdicts of the table."""
    with shared(f"{SET}/verdicts.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_row(row: dict[str, Any]) -> Answer:
    """Our reading of a row's reply."""
    form = ForeignForm.SCORES if row["rubric"] == "Rating" else ForeignForm.OUTPUT_AB
    return read_foreign(row["raw"], form, Order(row["order"]))


@pytest.mark.shared
def test_labelled_replies_are_read_as_they_were_labelled(llmbar: list[dict[str, Any]]) -> None:
    """At least 99 % of the labelled rows of four prompts (without PaLM2's CoT) and of unequal ratings."""
    same: Counter[str] = Counter()
    every: Counter[str] = Counter()
    other: defaultdict[tuple[str, str], int] = defaultdict(int)
    for row in llmbar:
        found = read_row(row)
        if row["label"] is None or (row["rubric"] == "Rating" and found.value == "tie"):
            continue
        if found.value != row["label"]:
            other[row["judge"], row["rubric"]] += 1
        if (row["judge"], row["rubric"]) != ("PaLM2", "CoT"):
            every[row["rubric"]] += 1
            same[row["rubric"]] += found.value == row["label"]
    assert {rubric: same[rubric] / every[rubric] >= 0.99 for rubric in every} == dict.fromkeys(
        (*FREE, "Rating"), True
    )
    assert dict(other) == LISTED


# what is read otherwise, whole: PaLM2 names its choice first and goes on to talk about both outputs; four of
# GPT-4's ratings hold an empty text for one score, which the source took as the higher or lower one by place
LISTED = {("PaLM2", "CoT"): 146, ("GPT-4", "Rating"): 4}


@pytest.mark.shared
def test_the_published_counts_come_out(llmbar: list[dict[str, Any]]) -> None:
    """Counts of the recorded labels equal those published; null in both orders is no consistency."""
    expected = json.loads(shared(f"{SET}/expected.json").read_text(encoding="utf-8"))["recomputed"]
    labels = [
        json.loads(line) for line in shared(f"{SET}/labels.jsonl").read_text("utf-8").split("\n") if line
    ]
    gold = {each["item_id"]: each["label"] for each in labels}
    by_judge: defaultdict[str, dict[str, dict[str, str | None]]] = defaultdict(lambda: defaultdict(dict))
    for row in llmbar:
        by_judge[f"{row['judge']} | {row['rubric']}"][row["item_id"]][row["order"]] = row["label"]
    for name, items in by_judge.items():
        pairs = [(said["ab"], said["ba"], gold[item]) for item, said in items.items()]
        published = expected[name]
        counted = {
            "items": len(items),
            "both_orders": len(pairs),
            "abstain_any": sum(None in pair[:2] for pair in pairs),
            "same_nonnull": sum(ab == ba is not None for ab, ba, _ in pairs),
            "both_correct": sum(ab == ba == right for ab, ba, right in pairs),
            "ab_correct": sum(ab == right for ab, _, right in pairs),
            "ba_correct": sum(ba == right for _, ba, right in pairs),
            "first_shown_wins": sum((ab == "A") + (ba == "B") for ab, ba, _ in pairs),
            "second_shown_wins": sum((ab == "B") + (ba == "A") for ab, ba, _ in pairs),
        }
        assert {key: published[key] for key in counted} == counted
        cells = position_cells(("A", "B", "tie"), [(_answer(ab), _answer(ba)) for ab, ba, _ in pairs])
        assert sum(cells.values()) == len(pairs)
        assert cells["AA"] + cells["BB"] == published["same_nonnull"]
        assert cells["X"] == published["abstain_any"]


def _answer(label: str | None) -> Answer:
    return UNPARSED if label is None else answered(label)


@pytest.mark.shared
def test_equal_ratings_are_ties_and_not_position_flips(llmbar: list[dict[str, Any]]) -> None:
    """The source gave the second output in both orders for 714 items; here each of these replies is a tie."""
    ties = Counter(row["item_id"] + row["judge"] for row in llmbar if read_row(row).value == "tie")
    assert sum(count == 2 for count in ties.values()) > 0
    tied = [row for row in llmbar if row["rubric"] == "Rating" and read_row(row).value == "tie"]
    assert {row["label"] == ("B" if row["order"] == "ab" else "A") for row in tied} == {True}
