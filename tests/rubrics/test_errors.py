"""The exception tree."""

from __future__ import annotations

import inspect
import re

import pytest

from rubrics import errors
from rubrics.errors import (
    AdmissionError,
    AdmissionExpired,
    DeclarationError,
    DifferentRecord,
    ExecutionError,
    JudgeCalibrationError,
    JudgeNotAdmitted,
    RecordError,
    StoreError,
    TableError,
)

CLASSES = {name: each for name, each in vars(errors).items() if inspect.isclass(each)}


def test_tree_is_the_one_drawn() -> None:
    """Every class stands in the drawing at the top of the module, below its own parent."""
    drawn = {"": "JudgeCalibrationError"}
    path: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"([│├└─ ]*)(\w+)", line if line[:1] in {"│", "├", "└"} else ""):
            path[len(found[1]) // 4 - 1 :] = [found[2]]
            drawn[found[2]] = path[-2] if len(path) > 1 else drawn[""]
    del drawn[""]
    parents = {name: each.__mro__[1].__name__ for name, each in CLASSES.items()}
    assert drawn | {"JudgeCalibrationError": "Exception"} == parents


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_one_class_catches_all(name: str) -> None:
    """Whoever catches the root catches every error of voirdire."""
    assert issubclass(CLASSES[name], JudgeCalibrationError)


def test_errors_carry_what_their_reader_needs() -> None:
    """The line and field of a table, whether a retry may help, which evidence is missing."""
    table = TableError("no", line=3, field="label")
    assert (str(table), table.line, table.field) == ("no", 3, "label")
    assert (TableError("no").line, TableError("no").field) == (None, None)
    assert ExecutionError("slow", retryable=True).retryable
    assert JudgeNotAdmitted("no", missing=("report",)).missing == ("report",)
    assert AdmissionExpired("no", decision="abc").decision == "abc"
    assert DifferentRecord("taken", position=2).position == 2
    assert DifferentRecord("taken").position is None
    assert [StoreError("no").retryable, StoreError("no", retryable=True).retryable] == [False, True]


def test_readers_are_kept_apart() -> None:
    """A wrong input is not an operational failure, and neither is a refusal to grade."""
    assert not issubclass(DeclarationError, ExecutionError | AdmissionError | RecordError)
    assert issubclass(AdmissionExpired, AdmissionError)
    assert not issubclass(AdmissionExpired, JudgeNotAdmitted)
