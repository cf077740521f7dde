"""Trivial baselines: fair to every judge they stand beside, so never fitted on the label they judge."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.labels import ReferenceLabel, UnresolvedReason
from judge.baselines import BaselineName, BaselineSpec, judge_all, run_baseline
from rubrics.item import Item
from rubrics.verdict import FAIL, PASS, Verdict, unknown

FITTED = [BaselineName.LENGTH, BaselineName.WORD_OVERLAP]
CANNOT_TELL = unknown("abstained", "cannot_tell")
WORDS = ("return", "refund", "days", "parcel", "lamp", "claim", "desk", "photo", "credit", "month", "order")


def label(passes: bool | None) -> ReferenceLabel:
    """A reference of two raters; unresolved for None."""
    if passes is None:
        return ReferenceLabel(Verdict.UNKNOWN, 2, unresolved=UnresolvedReason.DISAGREEMENT)
    return ReferenceLabel(Verdict.PASS if passes else Verdict.FAIL, 2)


def made(number: int, output: str, *, group: str = "", evidence: str = "return refund days") -> Item:
    """An item by its number."""
    return Item(
        item_id=f"i{number:03d}", input="what now", output=output, evidence={"policy": evidence}, group=group
    )


def noise(size: int, seed: int = 1) -> tuple[list[Item], dict[str, ReferenceLabel]]:
    """Items whose texts say nothing about their labels."""
    rng = random.Random(seed)
    items = [made(i, " ".join(rng.choices(WORDS, k=rng.randint(3, 30)))) for i in range(size)]
    return items, {item.item_id: label(rng.random() < 0.5) for item in items}


def by_length(size: int) -> tuple[list[Item], dict[str, ReferenceLabel]]:
    """Items of which the long ones pass."""
    items = [made(i, "word " * (30 + i % 7 if i % 2 else 5 + i % 7)) for i in range(size)]
    return items, {item.item_id: label(i % 2 == 1) for i, item in enumerate(items)}


def test_the_constant_ones_look_at_nothing() -> None:
    """Every item has the one outcome, without any reference; pairs too."""
    items = [made(1, "x"), Item(item_id="p", input="?", output_a="a", output_b="b")]
    assert judge_all(BaselineSpec(name=BaselineName.ALWAYS_ACCEPT), items, {}) == {"i001": PASS, "p": PASS}
    assert judge_all(BaselineSpec(name=BaselineName.ALWAYS_REJECT), items, {}) == {"i001": FAIL, "p": FAIL}


def test_the_constant_ones_load_no_heavy_library() -> None:
    """`check` shows them for every judge, so they must not load scikit-learn, scipy or numpy."""
    code = (
        "import sys\n"
        "from judge.baselines import BaselineName, BaselineSpec, judge_all\n"
        "from rubrics.item import Item\n"
        "item = Item(item_id='i', input='?', output='x')\n"
        "assert judge_all(BaselineSpec(name=BaselineName.ALWAYS_ACCEPT), [item], {})['i'].accepted\n"
        "print(sorted({'sklearn', 'scipy', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_length_finds_length() -> None:
    """Where long outputs pass and short ones fail, the length baseline is right on every item."""
    items, references = by_length(40)
    outcomes = judge_all(BaselineSpec(name=BaselineName.LENGTH), items, references)
    assert outcomes == {item.item_id: PASS if i % 2 else FAIL for i, item in enumerate(items)}


def test_word_overlap_finds_overlap() -> None:
    """Where outputs that repeat the evidence pass, the overlap baseline is right on every item."""
    items = [made(i, "return refund days now" if i % 2 else "lamp desk photo credit") for i in range(40)]
    references = {item.item_id: label(i % 2 == 1) for i, item in enumerate(items)}
    outcomes = judge_all(BaselineSpec(name=BaselineName.WORD_OVERLAP), items, references)
    assert outcomes == {item.item_id: PASS if i % 2 else FAIL for i, item in enumerate(items)}


@pytest.mark.parametrize("name", FITTED)
def test_no_item_is_judged_by_its_own_label(name: BaselineName) -> None:
    """Turning an item's label over never moves its own outcome, and does move somebody else's."""
    items, references = noise(30)
    judged = BaselineSpec(name=name)
    before = judge_all(judged, items, references)
    moved_another = False
    for item in items[::8]:
        own = references[item.item_id].verdict is Verdict.PASS
        after = judge_all(judged, items, references | {item.item_id: label(not own)})
        assert after[item.item_id] == before[item.item_id]
        moved_another |= after != before
    assert moved_another


@pytest.mark.parametrize("name", FITTED)
def test_no_item_is_judged_by_a_label_of_its_group(name: BaselineName) -> None:
    """Turning over all labels of a group never moves an outcome in it."""
    items, references = noise(40)
    items = [item.model_copy(update={"group": f"g{i // 4}"}) for i, item in enumerate(items)]
    judged = BaselineSpec(name=name)
    before = judge_all(judged, items, references)
    for start in (0, 36):
        own = [item.item_id for item in items[start : start + 4]]
        turned = {key: label(references[key].verdict is not Verdict.PASS) for key in own}
        after = judge_all(judged, items, references | turned)
        assert [after[key] for key in own] == [before[key] for key in own]


@pytest.mark.parametrize("name", FITTED)
def test_fitting_says_nothing_where_there_is_nothing_to_say(name: BaselineName) -> None:
    """On texts without a bearing on the labels, accuracy stays near one half (here within .15 of it)."""
    items, references = noise(200, seed=7)
    outcomes = judge_all(BaselineSpec(name=name), items, references)
    right = sum(outcomes[i.item_id].verdict is references[i.item_id].verdict for i in items)
    assert 0.35 < right / len(items) < 0.65


@pytest.mark.parametrize("name", FITTED)
def test_the_order_of_the_items_is_no_matter(name: BaselineName) -> None:
    """A shuffled set has the same outcomes, and a second run too."""
    items, references = noise(40)
    shuffled = random.Random(3).sample(items, len(items))
    judged = BaselineSpec(name=name)
    assert judge_all(judged, shuffled, references) == judge_all(judged, items, references)


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([True] * 8, "every reference is a pass: with one class there is nothing to learn"),
        ([False] * 7 + [None], "every reference is a fail: with one class there is nothing to learn"),
        ([None] * 8, "no item has a pass or fail as reference, so there is nothing to learn from"),
    ],
)
def test_one_class_abstains_with_the_reason(
    name: BaselineName, labels: list[bool | None], reason: str
) -> None:
    """A set with nothing to learn from gives abstentions and a sentence, never a crash or an acceptance."""
    items = [made(i, "x y z") for i in range(8)]
    references = {item.item_id: label(passes) for item, passes in zip(items, labels, strict=True)}
    run = run_baseline(BaselineSpec(name=name), items, references)
    assert run.outcomes == dict.fromkeys((item.item_id for item in items), CANNOT_TELL)
    assert run.note == reason


def test_one_group_abstains_with_the_reason() -> None:
    """Items of one group could only be judged by their own group's labels."""
    items = [made(i, "x", group="g") for i in range(6)]
    references = {item.item_id: label(i % 2 == 0) for i, item in enumerate(items)}
    run = run_baseline(BaselineSpec(name=BaselineName.LENGTH), items, references)
    assert set(run.outcomes.values()) == {CANNOT_TELL}
    assert run.note.startswith("all items are of one group")


def test_a_fold_without_both_classes_abstains_alone() -> None:
    """The one failure's own fold has no model, for the others hold passes only; the rest is judged."""
    items = [made(i, "x " * (i + 1)) for i in range(10)]
    references = {item.item_id: label(i != 4) for i, item in enumerate(items)}
    run = run_baseline(BaselineSpec(name=BaselineName.LENGTH), items, references)
    assert run.outcomes["i004"] == CANNOT_TELL
    assert sum(outcome == CANNOT_TELL for outcome in run.outcomes.values()) == 2
    assert run.note == "2 items have no model: the other folds hold one class only"


def test_no_items_no_outcomes() -> None:
    """An empty set is no error."""
    for name in BaselineName:
        assert judge_all(BaselineSpec(name=name), [], {}) == {}


def test_unresolved_items_are_judged_and_teach_nothing() -> None:
    """An unresolved item, or one without any reference, gets an outcome from the others' models."""
    items, references = by_length(40)
    more = [made(100, "word " * 33), made(101, "word " * 6)]
    outcomes = judge_all(
        BaselineSpec(name=BaselineName.LENGTH), [*items, *more], references | {"i100": label(None)}
    )
    assert (outcomes["i100"], outcomes["i101"]) == (PASS, FAIL)


def test_items_without_what_a_baseline_looks_at_are_unknown_with_a_detail() -> None:
    """A pair has no one output; an item without evidence and input has nothing to overlap with."""
    items, references = by_length(20)
    odd = [
        Item(item_id="pair", input="?", output_a="a", output_b="b"),
        Item(item_id="alone", input=" ", output="word"),
    ]
    outcomes = judge_all(BaselineSpec(name=BaselineName.WORD_OVERLAP), [*items, *odd], references)
    assert outcomes["pair"] == unknown("abstained", "not_applicable")
    assert outcomes["alone"] == unknown("abstained", "evidence_missing")
    lengths = judge_all(BaselineSpec(name=BaselineName.LENGTH), [*items, *odd], references)
    assert lengths["alone"] == FAIL


def test_texts_without_a_word_break_nothing() -> None:
    """Empty outputs and punctuation have no word; both baselines still give an outcome."""
    items = [made(i, "" if i % 2 else "?!", evidence="...") for i in range(10)]
    items = [item.model_copy(update={"input": "??"}) for item in items]
    references = {item.item_id: label(i % 2 == 0) for i, item in enumerate(items)}
    for name in FITTED:
        outcomes = judge_all(BaselineSpec(name=name), items, references)
        assert set(outcomes) == {item.item_id for item in items}


def test_word_overlap_counts_what_it_says() -> None:
    """The shares are of distinct words: by hand, 2 of 3 of the output in the evidence, and 2 of 4 back."""
    from judge.baselines import _overlap_features

    one = made(1, "Return the refund, return!", evidence="return refund days later")
    features = _overlap_features([one], [one])
    # distinct words of the output: return, the, refund; of the evidence: return, refund, days, later
    assert features[0][2:].tolist() == pytest.approx([2 / 3, 2 / 4])
    same = made(2, "what now", evidence="what now")
    assert _overlap_features([same], [same])[0].tolist() == pytest.approx([1, 1, 1, 1])


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "length"},
        {"folds": 4},
        {"seed": 1},
        {"inverse_penalty": 2.0},
        {"accept_from": 0.6},
    ],
)
def test_every_changed_field_is_another_judge(changed: dict[str, object]) -> None:
    """The digest moves with every setting."""
    base = BaselineSpec(name=BaselineName.WORD_OVERLAP)
    assert BaselineSpec.model_validate(base.model_dump() | changed).digest != base.digest


@pytest.mark.parametrize(
    "wrong", [{"folds": 1}, {"accept_from": 0}, {"inverse_penalty": 0}, {"inverse_penalty": float("nan")}]
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, object]) -> None:
    """A fold count of one would fit on the item itself."""
    with pytest.raises(ValueError, match="Input should be"):
        BaselineSpec.model_validate({"name": "length"} | wrong)


@settings(max_examples=20, derandomize=True, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=20), st.sampled_from([True, False, None])), max_size=14),
    st.sampled_from(FITTED),
)
def test_any_set_gives_each_item_one_outcome(rows: list[tuple[str, bool | None]], name: BaselineName) -> None:
    """Whatever the texts and labels, nothing crashes and no item is lost."""
    items = [made(i, text) for i, (text, _) in enumerate(rows)]
    references = {item.item_id: label(rows[i][1]) for i, item in enumerate(items)}
    assert set(judge_all(BaselineSpec(name=name), items, references)) == {item.item_id for item in items}
