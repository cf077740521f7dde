"""The rubric that stands for labels made elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from rubrics.errors import DeclarationError
from rubrics.rubric import publishing_problems
from rubrics.scale import NoClaim
from rubrics.stub import stub_rubric
from rubrics.verdict import Verdict


@pytest.mark.parametrize(
    ("options", "answers"),
    [
        ({}, ("pass", "fail")),
        ({"levels": range(1, 5), "accept_at": 3}, ("1", "2", "3", "4")),
        ({"pairwise": True}, ("A", "B", "tie")),
        ({"pairwise": True, "candidate": None}, ("A", "B", "tie")),
    ],
)
def test_stub_can_be_published_and_says_what_it_is(options: dict[str, Any], answers: tuple[str, ...]) -> None:
    """One required criterion, marked imported, on the scale asked for."""
    made = stub_rubric("llm-rubric", "Q0", **options)
    (criterion,) = made.criteria
    assert (made.ref, criterion.key, criterion.answers) == ("llm-rubric@1", "Q0", answers)
    assert criterion.imported
    assert publishing_problems(made) == ()
    assert "guidance that their raters had is not recorded" in made.does_not_establish[0]


def test_stub_reads_by_its_claim() -> None:
    """accept_at and the claim of the import decide, as on any other scale."""
    levels = stub_rubric("r", "q", levels=[1, 2, 3, 4], accept_at=3).criteria[0]
    assert [levels.read(level) for level in (2, 3)] == [Verdict.FAIL, Verdict.PASS]
    ties = stub_rubric("r", "q", pairwise=True, candidate="A", tie_accepts=True).criteria[0]
    assert [ties.read(answer) for answer in ("A", "B", "tie")] == [Verdict.PASS, Verdict.FAIL, Verdict.PASS]
    none = stub_rubric("r", "q", pairwise=True, candidate=None).criteria[0]
    assert isinstance(none.read("A"), NoClaim)


def test_same_import_gives_the_same_rubric() -> None:
    """A second import finds the stub of the first."""
    assert stub_rubric("r", "q").digest == stub_rubric("r", "q").digest
    assert stub_rubric("r", "q").digest != stub_rubric("r", "q", levels=[1, 2], accept_at=2).digest


@pytest.mark.parametrize(
    ("name", "criterion", "options", "said"),
    [
        ("a b", "q", {}, "name: 'a b' is not a name"),
        ("r", "a b", {}, "criterion 'a b', key: 'a b' is not a key"),
        ("r", "q", {"levels": [1, 2]}, "accept_at: has no value"),
        ("r", "q", {"levels": [1, 2], "accept_at": 9}, "'9' is not one of the levels; allowed: 2"),
        ("r", "q", {"accept_at": 9}, "holds 0 of at least two levels"),
        ("r", "q", {"pairwise": True, "candidate": "C"}, "'C' is not allowed; allowed: 'A' or 'B'"),
    ],
)
def test_impossible_stub_is_refused(name: str, criterion: str, options: dict[str, Any], said: str) -> None:
    """As a declaration error, for the options come from a person."""
    with pytest.raises(DeclarationError, match=said):
        stub_rubric(name, criterion, **options)
