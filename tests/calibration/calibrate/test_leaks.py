"""Leaks and near-duplicates: what the judge's author has seen, and what stands twice."""

from __future__ import annotations

from calibration.calibrate.leaks import Leak, canonical_text, find_leaks, near_duplicates

LONG = "You can return the kettle within thirty days of delivery."


def test_case_and_spacing_do_not_hide_a_leak() -> None:
    """An output that stands in a prompt with other case and line breaks is found with its place."""
    prompt = "Example:\n  YOU can return the kettle\nwithin thirty days   of delivery.\nVerdict: pass"
    assert find_leaks({"i1": LONG, "i2": LONG + " Thanks."}, {"the prompt": prompt}) == (
        Leak("i1", "the prompt"),
    )


def test_a_part_of_a_word_is_no_leak() -> None:
    """Words are compared whole."""
    assert find_leaks({"i1": "one two three four five"}, {"p": "one two three four fives"}) == ()


def test_a_short_output_is_no_leak() -> None:
    """A few words such as "Yes, you can." stand everywhere without having been copied."""
    assert find_leaks({"i1": "Yes, you can."}, {"p": "Yes, you can."}) == ()


def test_near_duplicates_are_paired_most_similar_first() -> None:
    """Equal texts have similarity 1; one changed word of many stays near; others are not listed."""
    words = [f"w{i}" for i in range(60)]
    changed = [*words[:30], "other", *words[31:]]
    found = near_duplicates(
        {"a": " ".join(words), "b": " ".join(changed), "c": " ".join(words).upper(), "d": "something else"}
    )
    assert [(t.first, t.second) for t in found] == [("a", "c"), ("a", "b"), ("b", "c")]
    assert found[0].similarity == 1
    # 58 triples each, three of them differ: 55 shared of 61
    assert round(found[1].similarity, 4) == round(55 / 61, 4)


def test_texts_shorter_than_a_triple_are_compared_whole() -> None:
    """Two equal answers of two words are near-duplicates; different ones are not."""
    assert len(near_duplicates({"a": "no refund", "b": "No  refund", "c": "full refund"})) == 1
    assert canonical_text("  No\n refund ") == "no refund"
