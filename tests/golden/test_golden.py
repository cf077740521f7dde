"""The golden pack: independent references computed every value; ours must agree within its tolerance."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.golden.registry import ADAPTERS
from tests.golden.runner import Mismatch, check, load, run, same
from tests.source_tree import ROOT

PACK = ROOT / "tests" / "golden" / "golden.json"
CASES: dict[str, list[dict[str, Any]]] = defaultdict(list)
for _given in load(PACK):
    CASES[_given["function"]].append(_given)


def test_pack_is_whole() -> None:
    """The pack has its 524 cases of 71 functions, and each function has an adapter."""
    assert sum(map(len, CASES.values())) == 524
    assert len(CASES) == 71
    assert set(CASES) == set(ADAPTERS)


@pytest.mark.parametrize("function", sorted(CASES))
def test_golden(function: str) -> None:
    """Every golden value of the function is ours within the tolerance."""
    assert [str(mismatch) for case in CASES[function] for mismatch in check(case)] == []


def _case(expected: dict[str, Any], *, function: str = "wilson", **inputs: Any) -> dict[str, Any]:
    return {"id": "one", "function": function, "inputs": inputs, "expected": expected, "tolerance": 1e-8}


def test_a_wrong_value_is_found() -> None:
    """A value beyond its tolerance, and one that we do not give, are named; one within is not."""
    case = _case({"lower": 0.0, "upper": 0.5, "width": 1.0}, x=0, n=50, z=1.96)
    found = check(case)
    assert [(each.key, each.expected) for each in found] == [("upper", 0.5), ("width", 1.0)]
    assert str(found[1]) == "MISMATCH one (wilson) width: got 'no such value', expected 1.0"


def test_an_unknown_function_and_an_error_are_mismatches() -> None:
    """A function without an adapter and a case that raises fail, each with its reason."""
    assert check(_case({"a": 1}, function="of another pack"))[0].got == "no function of ours answers it"
    refused = check(_case({"value": 1}, function="pass_at_k", n=3, c=1, k=4))
    assert "ValueError: k is 4 of n 3 runs" in refused[0].got


@pytest.mark.parametrize(
    ("got", "expected", "equal"),
    [
        (0.0, None, False),
        (None, 0.0, False),
        (None, None, True),
        (True, 1, False),
        (1, True, False),
        (1.0, 1, True),
        (float("nan"), 1.0, False),
        ("pass", "pass", True),
        ("1", 1, False),
        ([1.0, 2.0], [1.0, 2.0], True),
        ([1.0], [1.0, 2.0], False),
        (1.0, [1.0], False),
        ({"a": 1.0, "b": 2}, {"a": 1.0}, True),
        ({"b": 2}, {"a": 1.0}, False),
        (1.0, {"a": 1.0}, False),
    ],
)
def test_comparison_is_strict(got: Any, expected: Any, equal: bool) -> None:
    """Undefined is not zero, a truth value is no number, and nested values are compared one by one."""
    assert same(got, expected, 1e-9) is equal


def test_any_file_of_the_shape_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two files are run together; the count and the exit status say what failed."""
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps([_case({"upper": 1.0}, x=3, n=3, z=1.96)]), encoding="utf-8")
    bad.write_text(json.dumps([_case({"upper": 0.9}, x=3, n=3, z=1.96)]), encoding="utf-8")
    assert run([good]) == 0
    assert capsys.readouterr().out == "1 passed, 0 failed\n"
    assert run([good, bad]) == 1
    assert capsys.readouterr().out == (
        "MISMATCH one (wilson) upper: got 1.0, expected 0.9\n1 passed, 1 failed\n"
    )


def test_command_line_counts_the_pack() -> None:
    """`python -m tests.golden FILE` prints the count and exits 0; without a file it says what to give."""
    command = [sys.executable, "-m", "tests.golden"]
    whole = subprocess.run(
        [*command, str(PACK)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (whole.stdout, whole.returncode) == ("524 passed, 0 failed\n", 0)
    none = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert none.returncode != 0
    assert "give one or more files" in none.stderr


def test_mismatch_names_everything() -> None:
    """A mismatch prints the case, the function, the key and both values."""
    assert str(Mismatch("c", "f", "k", 1, 2)) == "MISMATCH c (f) k: got 1, expected 2"
