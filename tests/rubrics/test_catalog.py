"""The rubrics that ship, read as a rater and a measurement person would read them."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from rubrics.loader import catalog, load_catalog
from rubrics.rubric import Criterion, Rubric, publishing_problems
from rubrics.verdict import Verdict

RUBRICS = [load_catalog(name) for name in catalog()]
CRITERIA = [
    pytest.param(criterion, id=f"{rubric.name}-{criterion.key}")
    for rubric in RUBRICS
    for criterion in rubric.criteria
]


@pytest.mark.parametrize("rubric", RUBRICS, ids=lambda rubric: rubric.name)
def test_shipped_rubric_can_be_published(rubric: Rubric) -> None:
    """And says what it establishes and what it does not."""
    assert publishing_problems(rubric) == ()
    assert rubric.establishes
    assert len(rubric.does_not_establish) >= 2


@pytest.mark.parametrize("criterion", CRITERIA)
def test_examples_show_an_acceptance_and_a_failure(criterion: Criterion) -> None:
    """At least one of each, with the evidence that the criterion needs."""
    verdicts = Counter(criterion.read(example.verdict) for example in criterion.examples)
    assert verdicts[Verdict.PASS]
    assert verdicts[Verdict.FAIL]
    for example in criterion.examples:
        needed = set(criterion.requires) - {"input"}
        assert needed <= set(example.evidence)
        assert example.input or "input" not in criterion.requires


@pytest.mark.parametrize("criterion", CRITERIA)
def test_question_is_one_question(criterion: Criterion) -> None:
    """One sentence, one question mark, and no two properties joined by `and`."""
    assert criterion.question.count("?") == 1
    assert criterion.question.endswith("?")
    assert not re.search(r"\band\b|;|/", criterion.question)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_card_fits_beside_the_text(criterion: Criterion) -> None:
    """The rating page shows title and guidance in one column: a short title, paragraphs that are read."""
    assert len(criterion.title) <= 60
    for text in criterion.guidance.model_dump().values():
        assert len(text) <= 500
    assert not criterion.failure_modes or len(criterion.failure_modes) <= 9


def test_refund_policy_is_the_demo_s_rubric() -> None:
    """Two required binary criteria on the recorded policy text; the output is the candidate's."""
    rubric = load_catalog("refund-policy")
    assert [(each.key, each.scale.kind, each.required) for each in rubric.criteria] == [
        ("states_terms", "binary", True),
        ("resolves_request", "binary", True),
    ]
    assert {field.key: field.source.value for field in rubric.fields} == {
        "policy": "recorded",
        "input": "recorded",
        "output": "candidate",
    }


def test_summary_faithfulness_has_levels() -> None:
    """Main points on levels 1 to 4, passing from 3 on, beside a binary criterion."""
    levels = load_catalog("summary-faithfulness").criterion("main_points")
    assert levels.answers == ("1", "2", "3", "4")
    assert [levels.read(level) for level in levels.answers] == [Verdict.FAIL] * 2 + [Verdict.PASS] * 2
