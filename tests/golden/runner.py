"""Run files of golden cases through our functions and say what differs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.golden import designs, rates, runs
from tests.golden.registry import ADAPTERS, plain

MODULES = (rates, designs, runs)
"""Importing them fills the table of adapters."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One expected value that we do not give."""

    case: str
    function: str
    key: str
    got: Any
    expected: Any

    def __str__(self) -> str:
        return (
            f"MISMATCH {self.case} ({self.function}) {self.key}: got {self.got!r}, expected {self.expected!r}"
        )


def load(path: Path) -> list[dict[str, Any]]:
    """The cases of one file."""
    cases: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return cases


def check(case: dict[str, Any]) -> list[Mismatch]:
    """What differs between our answer to a case and what it expects; every expected key is compared."""
    name, function, expected = str(case.get("id")), str(case["function"]), case["expected"]
    adapter = ADAPTERS.get(function)
    if adapter is None:
        return [Mismatch(name, function, "function", "no function of ours answers it", "an answer")]
    try:
        got = plain(adapter(case["inputs"]))
    except Exception as error:  # noqa: BLE001 - one broken case must not hide the others
        return [Mismatch(name, function, "error", f"{type(error).__name__}: {error}", expected)]
    tolerance = case.get("tolerance", 1e-8)
    absent = "no such value"
    return [
        Mismatch(name, function, key, got.get(key, absent), wanted)
        for key, wanted in expected.items()
        if key not in got or not same(got[key], wanted, tolerance)
    ]


def same(got: Any, expected: Any, tolerance: float) -> bool:
    """Whether our value is the expected one: numbers within the tolerance, everything else exactly."""
    if isinstance(expected, dict):
        return isinstance(got, dict) and all(
            key in got and same(got[key], wanted, tolerance) for key, wanted in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(got, list)
            and len(got) == len(expected)
            and all(same(part, wanted, tolerance) for part, wanted in zip(got, expected, strict=True))
        )
    if expected is None or isinstance(expected, str | bool):
        return type(got) is type(expected) and bool(got == expected)
    if isinstance(got, bool) or not isinstance(got, int | float):
        return False
    return math.isfinite(got) and abs(got - expected) <= tolerance


def run(paths: Sequence[Path]) -> int:
    """Print each mismatch and the count of cases that pass and fail; 0 when none fails, else 1."""
    passed = failed = 0
    for path in paths:
        for case in load(path):
            mismatches = check(case)
            for mismatch in mismatches:
                print(mismatch)
            failed += bool(mismatches)
            passed += not mismatches
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
