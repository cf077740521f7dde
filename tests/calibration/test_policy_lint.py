"""Lint: a policy that nobody can pass is found before it is recorded."""

from __future__ import annotations

import pytest

from calibration.evidence import EvidenceGrade
from calibration.policy import SHIPPED, Guard, Minimum, far_only, shipped_policy
from calibration.policy_lint import lint_policy


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_policies_admit_a_perfect_judge_at_their_own_minimum(name: str) -> None:
    """Nothing is wrong with what ships."""
    assert lint_policy(shipped_policy(name)) == ()


@pytest.mark.parametrize("limit", [0.01, 0.05, 0.2, 0.5])
def test_far_only_is_sound_at_every_limit(limit: float) -> None:
    """The gate alone always has a number of clean failures that pass it."""
    assert lint_policy(far_only(limit)) == ()


def test_a_minimum_below_what_the_looks_need_is_found() -> None:
    """50 failures at three looks cannot admit anyone: 52 are needed."""
    policy = shipped_policy("acceptance").model_copy(
        update={"minimum": shipped_policy("acceptance").minimum.model_copy(update={"fail": 50})}
    )
    (problem,) = lint_policy(policy)
    assert "needs 52 reference failures" in problem


@pytest.mark.parametrize(
    ("change", "item"),
    [
        ({"guards": {"non_acceptance_among_pass": Guard(upper_at_most=0.01)}}, "non_acceptance_among_pass"),
        ({"minimum": Minimum(evidence_grade=EvidenceGrade.PRODUCTION_OUTCOME)}, "evidence_grade"),
        ({"guards": {"rater_kappa": Guard(point_at_least=0.6)}}, "rater_kappa"),
    ],
)
def test_an_item_that_perfection_does_not_meet_is_named(change: dict[str, object], item: str) -> None:
    """A guard or minimum out of a perfect judge's reach is named with its value and limit."""
    problems = lint_policy(far_only(0.10).model_copy(update=change))
    assert len(problems) == 1
    assert f"item {item} is insufficient" in problems[0]
