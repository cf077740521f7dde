"""Two judges on the same items: counts by hand, one word, and what open verdicts may still change."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.paired import PairedTable, newcombe_paired
from calibration.values import Estimate, Interval, Undefined
from judge.comparing import judge_words
from judge.comparison import Word, compare_judges, paired, word_of


def test_counts_by_hand() -> None:
    """Four failures, four passes, two items without a reference."""
    reference = {"f1": False, "f2": False, "f3": False, "f4": False} | {f"p{n}": True for n in range(1, 5)}
    old = {"f1": True, "f2": True, "f3": False, "f4": False, "p1": True, "p2": True, "p3": False, "p4": True}
    new = {"f1": True, "f2": False, "f3": False, "f4": False, "p1": True, "p2": True, "p3": True, "p4": False}
    found = compare_judges(
        old | {"u1": True, "u2": False}, new | {"u1": True, "u2": True}, reference, margin=0.05
    )
    assert (found.items, found.open_items) == (10, 0)
    # failures: old accepts f1 f2, new f1; passes not accepted: old p3, new p4
    assert (found.far.old.x, found.far.new.x, found.far.old.n) == (2, 1, 4)
    assert (found.non_acceptance.old.x, found.non_acceptance.new.x, found.non_acceptance.old.n) == (1, 1, 4)
    # old accepted f1 f2 p1 p2 p4 u1, of these new accepts f1 p1 p2 u1; of f3 f4 p3 u2 it accepts p3 u2
    assert (found.kept.x, found.kept.n, found.gained.x, found.gained.n) == (4, 6, 2, 4)
    # agreement 6/10: accepted by both 4, by neither 2; margins old 6/10, new 6/10; pe .36 + .16
    assert not isinstance(found.kappa, Undefined)
    assert found.kappa.kappa == pytest.approx((0.6 - 0.52) / 0.48)
    # both wrong on f1: phi = (1*2 - 1*0) / sqrt(2*2*1*3)
    assert found.both_wrong == 1
    assert found.shared_errors == pytest.approx(2 / 12**0.5)
    assert found.far.p_value == 1.0
    assert found.word is Word.CANNOT_TELL
    assert found.to_json()["word"] == "cannot tell"


def judged(accepted: int, of: int, name: str) -> dict[str, bool]:
    """The first so many items of a kind accepted."""
    return {f"{name}{n}": n < accepted for n in range(of)}


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ((60, 190), (10, 190), Word.BETTER),
        ((10, 190), (60, 190), Word.WORSE),
        ((60, 190), (10, 100), Word.DIFFERENT),
        ((20, 190), (20, 190), Word.EQUIVALENT),
        ((60, 190), (10, 175), Word.DIFFERENT),
    ],
)
def test_one_word(old: tuple[int, int], new: tuple[int, int], word: Word) -> None:
    """Of 200 failures and 200 passes so many accepted by each judge."""
    reference = dict.fromkeys(judged(0, 200, "f"), False) | dict.fromkeys(judged(0, 200, "p"), True)
    sides = [judged(fail, 200, "f") | judged(passing, 200, "p") for fail, passing in (old, new)]
    assert compare_judges(sides[0], sides[1], reference, margin=0.05).word is word


def test_a_rise_that_was_found_is_told_however_little_is_known_of_the_rest() -> None:
    """FAR 0/13 to 13/13 with 13 passes: worse, though the passes show nothing within the margin."""
    reference = dict.fromkeys(judged(0, 13, "f"), False) | dict.fromkeys(judged(0, 13, "p"), True)
    careful, lax = (judged(fail, 13, "f") | judged(9, 13, "p") for fail in (0, 13))
    found = compare_judges(careful, lax, reference, margin=0.05)
    assert found.far.p_value < 0.001
    assert found.word is Word.WORSE
    back = compare_judges(lax, careful, reference, margin=0.05)
    assert back.word is Word.CANNOT_TELL
    assert "one error fell" in next(iter(judge_words(back, "a", "b")))


def test_a_difference_that_may_be_none_or_too_much_cannot_be_told() -> None:
    """Three failures of 200 more: too few to be a rise, too many to be within 1 %."""
    reference = dict.fromkeys(judged(0, 200, "f"), False) | dict.fromkeys(judged(0, 200, "p"), True)
    sides = [judged(fail, 200, "f") | judged(190, 200, "p") for fail in (20, 23)]
    assert compare_judges(sides[0], sides[1], reference, margin=0.01).word is Word.CANNOT_TELL


def test_open_verdicts_widen_the_interval_to_what_they_may_become() -> None:
    """Ten open verdicts of the new judge: the ends are those of all accepted and of none."""
    pairs: list[tuple[bool | None, bool | None]] = (
        [(False, False)] * 80 + [(True, True)] * 10 + [(False, None)] * 10
    )
    found = paired(pairs, confidence=0.95)
    worst = newcombe_paired(PairedTable(10, 0, 10, 80))
    best = newcombe_paired(PairedTable(10, 0, 0, 90))
    assert isinstance(worst, Estimate)
    assert isinstance(best, Estimate)
    assert isinstance(worst.interval, Interval)
    assert isinstance(best.interval, Interval)
    assert (found.lower, found.upper) == (best.interval.lower, worst.interval.upper)
    assert (found.open_pairs, found.old.n) == (10, 100)


def test_without_a_failure_nothing_is_told() -> None:
    """No case in one respect leaves everything possible there."""
    found = compare_judges(
        judged(5, 9, "p"), judged(6, 9, "p"), dict.fromkeys(judged(0, 9, "p"), True), margin=0.05
    )
    assert (found.far.lower, found.far.upper, found.word) == (-1.0, 1.0, Word.CANNOT_TELL)
    assert found.to_json()["far"]["difference"] is None


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from([True, False, None])] * 2), min_size=1, max_size=40))
def test_turning_the_sides_round_turns_the_difference_round(
    pairs: list[tuple[bool | None, bool | None]],
) -> None:
    """Old against new is minus new against old, ends exchanged; better becomes worse."""
    there = paired(pairs, confidence=0.95)
    back = paired([(b, a) for a, b in pairs], confidence=0.95)
    assert (there.lower, there.upper) == pytest.approx((-back.upper, -back.lower))
    assert there.p_value == pytest.approx(back.p_value)
    turned = {Word.BETTER: Word.WORSE, Word.WORSE: Word.BETTER}
    word = word_of([there], margin=0.05)
    assert word_of([back], margin=0.05) is turned.get(word, word)


def test_items_of_one_group_are_not_read_as_independent() -> None:
    """Forty groups of five that change together: the same counts, wider ends, p of groups, a weaker word."""
    reference = dict.fromkeys(judged(0, 200, "f"), False) | dict.fromkeys(judged(0, 200, "p"), True)
    old, new = judged(20, 200, "f") | judged(190, 200, "p"), judged(0, 200, "f") | judged(190, 200, "p")
    fives = {item: f"{item[0]}-{int(item[1:]) // 5}" for item in reference}
    plain = compare_judges(old, new, reference, margin=0.05)
    alone = compare_judges(old, new, reference, margin=0.05, groups={item: item for item in reference})
    grouped = compare_judges(old, new, reference, margin=0.05, groups=fives)
    assert alone == plain
    assert (plain.far.groups, plain.far.n_effective, plain.far.grouped) == (200, 200.0, False)
    assert (grouped.far.old.x, grouped.far.new.x, grouped.far.groups) == (20, 0, 40)
    assert grouped.far.grouped
    assert grouped.far.n_effective == pytest.approx(40.0)
    assert grouped.far.lower < plain.far.lower < plain.far.upper < 0 < grouped.far.upper
    # twenty flips in four groups: 2 / 2^20 against 2 / 2^4
    assert [plain.far.p_value, grouped.far.p_value] == pytest.approx([2 / 2**20, 0.125])
    assert (plain.word, grouped.word) == (Word.BETTER, Word.CANNOT_TELL)
    assert grouped.kept.interval.upper - grouped.kept.interval.lower > (
        plain.kept.interval.upper - plain.kept.interval.lower
    )
    assert grouped.to_json()["far"]["groups"] == 40
