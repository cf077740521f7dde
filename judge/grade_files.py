"""Grades in the form that consumers read, and the file of a batch that can be gone on with.

The first line of a file says what was asked; every further line is one grade. The form is stable: keys may be
added, never renamed or dropped.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibration.store.decisions import StoredDecision
from judge.appointing import Grader, GradeRequest
from judge.grade_records import GradeState
from judge.service import CriterionGrade, Flag, Grade
from rubrics.digest import digest
from rubrics.errors import DeclarationError

GRADE_SCHEMA = "voirdire.grade/1"
BATCH_SCHEMA = "voirdire.grades/1"


def grade_object(
    grade: Grade, graders: Sequence[Grader] = (), *, attempt: int = 1, key: str | None = None
) -> dict[str, Any]:
    """One grade as JSON; the format that consumers read."""
    decisions = {g.decision.hash: g.decision for g in graders if g.decision}
    return {
        "schema": GRADE_SCHEMA,
        "grade": key,
        "item_id": grade.item_id,
        "overall": grade.overall.value,
        "attempt": attempt,
        "content_digest": grade.content_digest,
        "criteria": [criterion_object(c, decisions.get(c.decision), attempt) for c in grade.criteria],
        "flags": [flag_object(flag) for flag in grade.flags],
    }


def criterion_object(
    each: CriterionGrade, decision: StoredDecision | None, attempt: int = 1
) -> dict[str, Any]:
    """The verdict on one criterion with the error rate that its judge was admitted with."""
    return {
        "criterion": each.criterion,
        "verdict": each.outcome.verdict.value,
        "reason": each.outcome.reason.value if each.outcome.reason else None,
        "detail": each.outcome.detail,
        "rationale": each.rationale,
        "judge": each.judge,
        "decision": each.decision,
        "role": each.role,
        "queued": each.queued,
        "cost_micros": each.cost_micros,
        "report": decision.report_digest if decision else None,
        "far": far_object(decision, attempt) if decision else None,
    }


def far_object(decision: StoredDecision, attempt: int) -> dict[str, Any]:
    """The false-acceptance rate of a decision: x of n, its interval, and the bound after so many attempts."""
    far = decision.content.get("far", {})
    upper = far.get("upper")
    return {
        "x": far.get("x"),
        "n": far.get("n"),
        "lower": far.get("lower"),
        "upper": upper,
        "bound_after_attempts": resubmission_bound(upper, attempt) if upper is not None else None,
    }


def resubmission_bound(upper: float, attempts: int) -> float:
    """The most probable acceptance of a failing item within so many independent attempts (STATISTICS §13)."""
    return float(1 - (1 - upper) ** attempts)


def flag_object(flag: Flag) -> dict[str, Any]:
    """A flag as JSON."""
    return {
        "criterion": flag.criterion,
        "trigger": flag.trigger,
        "field": flag.field,
        "sentence": flag.sentence,
        "suspends": flag.suspends,
    }


def state_object(state: GradeState, decisions: Mapping[str, StoredDecision] | None = None) -> dict[str, Any]:
    """A recorded grade as it stands, with everything that people did about it.

    Args:
        state: the grade.
        decisions: by hash, those whose report and error rate are shown; none where they are not asked for.
    """
    known = decisions or {}
    stored = state.stored
    return {
        "schema": GRADE_SCHEMA,
        "grade": stored.key,
        "item_id": stored.item_id,
        "overall": state.overall.value,
        "first_overall": stored.overall,
        "attempt": stored.attempt,
        "content_digest": stored.content_digest,
        "criteria": [
            {
                **criterion_object(each.grade, known.get(each.grade.decision), stored.attempt),
                "by": each.by,
                "appealed": each.appealed,
            }
            for each in state.criteria
        ],
        "waiting": list(state.waiting),
        "flags": list(stored.content.get("flags", ())),
        "events": [
            {
                "number": event.seq,
                "criterion": event.criterion,
                "kind": event.kind.value,
                "verdict": event.verdict,
                "reason": event.note,
                "by": event.actor,
                "at": event.recorded_at.isoformat(),
            }
            for event in state.events
        ],
        "graded_at": stored.graded_at.isoformat(),
        "graded_by": stored.actor,
    }


@dataclass(frozen=True, slots=True)
class Batch:
    """A file of grades, opened to go on with."""

    path: Path
    run: str
    """Makes the keys under which the grades of this file are recorded."""
    done: Mapping[str, str]
    """Content digest by id of every item that is in the file."""

    def key_of(self, item_id: str) -> str:
        """The idempotency key of an item of this batch."""
        return f"{self.run}:{digest(item_id)[:32]}"

    def append(self, found: Sequence[Mapping[str, Any]]) -> None:
        """Add lines to the file, whole ones only."""
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write("".join(json.dumps(each, allow_nan=False) + "\n" for each in found))


def open_batch(path: Path, request: GradeRequest, graders: Sequence[Grader]) -> Batch:
    """The batch file, new or as far as it came; a line that was cut off in the middle is removed.

    Raises:
        DeclarationError: the file is no batch of grades, or of another request or other decisions.
    """
    header = {
        "schema": BATCH_SCHEMA,
        "rubric": request.rubric.ref,
        "rubric_digest": request.rubric.digest,
        "criteria": list(request.criteria),
        "population": request.population,
        "role": request.role,
        "graders": {
            g.criterion: {
                "judge": g.judge.digest if g.judge else None,
                "decision": g.decision.hash if g.decision else None,
            }
            for g in graders
        },
    }
    if not path.exists() or not path.stat().st_size:
        batch = Batch(path, secrets.token_hex(16), {})
        batch.append([{**header, "run": batch.run}])
        return batch
    lines = list(_whole_lines(path, repair=True))
    first = lines[0] if lines else {}
    if first.get("schema") != BATCH_SCHEMA or not isinstance(first.get("run"), str):
        raise DeclarationError(f"{path} exists and is no batch of grades; give another --out")
    for field, value in header.items():
        if first.get(field) != value:
            raise DeclarationError(
                f"{path} was begun with another {field} ({first.get(field)!r}, now {value!r}); "
                "give another --out"
            )
    done = {
        line["item_id"]: line["content_digest"] for line in lines[1:] if line.get("schema") == GRADE_SCHEMA
    }
    return Batch(path, first["run"], done)


def _whole_lines(path: Path, *, repair: bool = False) -> Iterator[dict[str, Any]]:
    """The objects of the file's whole lines; with `repair` what stands after the last line end is cut off."""
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    if repair and end < len(data):
        with path.open("r+b") as file:
            file.truncate(end)
    for number, line in enumerate(data[:end].decode("utf-8").split("\n")[:-1], start=1):
        try:
            found = json.loads(line)
        except ValueError as error:
            raise DeclarationError(f"{path}, line {number}: no JSON object; give another --out") from error
        if not isinstance(found, dict):
            raise DeclarationError(f"{path}, line {number}: no JSON object; give another --out")
        yield found


def read_header(path: Path) -> dict[str, Any]:
    """What the first line of a batch file says that was asked; empty where it says nothing."""
    first = next(_whole_lines(path), {})
    return first if first.get("schema") == BATCH_SCHEMA else {}


def read_grades(path: Path) -> list[dict[str, Any]]:
    """The grades of a batch file, its header left out.

    Raises:
        DeclarationError: a line is no JSON object.
    """
    return [line for line in _whole_lines(path) if line.get("schema") == GRADE_SCHEMA]
