"""What changed between two policies, and whether each change lets more judges in. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from calibration.policy import AdmissionPolicy

_IDENTITY = frozenset({"name", "version", "description"})
_LESS_IS_LOOSER = ("_at_least", "minimum.", "required.", ".min_n", "planning_icc", "primary.confidence")
_MORE_IS_LOOSER = ("_at_most", "_not_above", "_micros", "_ms", "expiry.", "most_attempts")
_DEMANDS = frozenset({"reference.blind", "informative", "gate"})
"""True asks for more."""


class Direction(StrEnum):
    """What a change does to who is admitted."""

    LOOSENS = "loosens"
    TIGHTENS = "tightens"
    CHANGES = "changes"
    """Neither by itself."""


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """One field that differs; None where one of the policies does not have it."""

    field: str
    before: Any
    after: Any
    direction: Direction


def diff_policies(old: AdmissionPolicy, new: AdmissionPolicy) -> tuple[PolicyChange, ...]:
    """The fields that differ, in the order of the policy; name, version and description aside."""
    before, after = dict(_fields(old)), dict(_fields(new))
    names = [*before, *(name for name in after if name not in before)]
    return tuple(
        PolicyChange(
            name, before.get(name), after.get(name), _direction(name, before.get(name), after.get(name))
        )
        for name in names
        if before.get(name) != after.get(name)
    )


def _fields(policy: AdmissionPolicy) -> Iterator[tuple[str, Any]]:
    content = policy.model_dump(mode="json", by_alias=True)
    for name, value in content.items():
        if name not in _IDENTITY:
            yield from _flat(name, value)


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every leaf that says something, by its path."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(f"{name}.{key}", each)
    elif value is not None and value != []:
        yield name, value


def _direction(name: str, before: Any, after: Any) -> Direction:
    if name in _DEMANDS:
        return Direction.TIGHTENS if after else Direction.LOOSENS
    if name == "reference.allow_constructed":
        return Direction.LOOSENS if after else Direction.TIGHTENS
    limit = name.startswith("minimum.") or any(part in name for part in (*_LESS_IS_LOOSER, *_MORE_IS_LOOSER))
    if not limit:
        return Direction.CHANGES
    if before is None or after is None:
        return Direction.LOOSENS if after is None else Direction.TIGHTENS
    at_most = any(name.endswith(part) or part in name for part in _MORE_IS_LOOSER)
    looser = after > before if at_most else after < before
    return Direction.LOOSENS if looser else Direction.TIGHTENS
