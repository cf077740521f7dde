"""What differs between two policies, and which changes let more judges in."""

from __future__ import annotations

from typing import Any

import pytest

from calibration.admission.policy_diff import Direction, diff_policies
from calibration.policy import (
    Expiry,
    Guard,
    Minimum,
    ReferenceRequirement,
    SeverityLimit,
    far_only,
    shipped_policy,
)

BASE = shipped_policy("acceptance")


def test_a_policy_decides_like_itself_whatever_it_is_called() -> None:
    """Name, version and description are no difference."""
    other = BASE.model_copy(update={"name": "mine", "version": 7, "description": "said otherwise"})
    assert diff_policies(BASE, other) == ()


@pytest.mark.parametrize(
    ("change", "field", "direction"),
    [
        ({"expiry": Expiry(days=900, deployments=50_000)}, "expiry.days", "loosens"),
        ({"expiry": Expiry(days=90, deployments=1)}, "expiry.deployments", "tightens"),
        ({"expiry": Expiry(days=90)}, "expiry.deployments", "loosens"),
        ({"minimum": Minimum(**{**BASE.minimum.model_dump(), "fail": 80})}, "minimum.fail", "tightens"),
        (
            {"guards": {**BASE.guards, "frr": Guard(upper_at_most=0.3)}},
            "guards.frr.upper_at_most",
            "tightens",
        ),
        (
            {"guards": {**BASE.guards, "coverage": Guard(point_at_least=0.5)}},
            "guards.coverage.point_at_least",
            "loosens",
        ),
        (
            {"reference": ReferenceRequirement(blind=False, label_rule=BASE.reference.label_rule)},
            "reference.blind",
            "loosens",
        ),
        (
            {"severities": {"severe": SeverityLimit(upper_at_most=0.01)}},
            "severities.severe.upper_at_most",
            "tightens",
        ),
        (
            {"reference": BASE.reference.model_copy(update={"allow_constructed": True})},
            "reference.allow_constructed",
            "loosens",
        ),
        ({"judges_compared": "none"}, "judges_compared", "changes"),
        ({"informative": True}, "informative", "tightens"),
        ({"most_attempts": 3}, "most_attempts", "tightens"),
    ],
)
def test_a_change_is_named_with_its_direction(change: dict[str, Any], field: str, direction: str) -> None:
    """One field, and whether it lets more judges in."""
    found = {c.field: c.direction for c in diff_policies(BASE, BASE.model_copy(update=change))}
    assert found[field] == direction


def test_directions_turn_round_with_the_comparison() -> None:
    """What loosens one way tightens the other way."""
    turned = {Direction.LOOSENS: Direction.TIGHTENS, Direction.TIGHTENS: Direction.LOOSENS}
    there = {c.field: c.direction for c in diff_policies(far_only(0.05), BASE)}
    back = {c.field: c.direction for c in diff_policies(BASE, far_only(0.05))}
    assert there == {field: turned.get(direction, direction) for field, direction in back.items()}
    assert there["primary.upper_at_most"] is Direction.LOOSENS
