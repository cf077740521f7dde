"""Is a file of grades what was recorded with it? A line that was changed, added or deleted is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlmodel import Session

from calibration.store.grades import StoredGrade, get_grade, grade_events, grades_of_run
from judge.gating import Judged
from rubrics.errors import DifferentRecord


def require_recorded(*, session: Session, judged: Judged, criterion: str, file: str) -> None:
    """Refuse a batch of grades that differs from the grades that the database holds of it.

    A batch that was graded by an exported decision is in no database; its lines bear no grade, and its run is
    unknown here.

    Raises:
        DifferentRecord: a recorded grade is not in the file, or a line is not as it was recorded.
        RecordError: a line names a grade that is not recorded.
    """
    run = str((judged.header or {}).get("run") or "")
    recorded = grades_of_run(session=session, run=run) if run else {}
    named = {str(line["grade"]): line for line in judged.grades if line.get("grade")}
    if gone := set(recorded) - set(named):
        raise DifferentRecord(
            f"{file} lacks {len(gone):,} grades that were recorded with it (item "
            f"{recorded[min(gone)].item_id!r} first): grade the items again into another file"
        )
    if recorded and len(judged.grades) > len(named):
        raise DifferentRecord(f"{file} holds lines that were never recorded: grade into another file")
    events = grade_events(session=session, keys=list(named))
    for key, line in named.items():
        stored = recorded.get(key) or get_grade(session=session, key_prefix=key)
        given = {event.verdict for event in events.get(key, ()) if event.criterion == criterion}
        if not _same(line, stored, criterion, {verdict for verdict in given if verdict}):
            raise DifferentRecord(
                f"{file}: the grade of item {line.get('item_id')!r} is not the one that was recorded; "
                "grade the items again into another file"
            )


def _same(line: Mapping[str, Any], stored: StoredGrade, criterion: str, given: set[str]) -> bool:
    """True where the line says what was recorded, or what a person said of it later."""
    if (line["item_id"], line["content_digest"]) != (stored.item_id, stored.content_digest):
        return False
    mine = _said(line["criteria"], criterion)
    own = _said(stored.content["criteria"], criterion)
    if mine.get("verdict") not in {own.get("verdict"), *given} or mine.get("decision") != own.get("decision"):
        return False
    return _triggers(line["flags"]) == _triggers(stored.content.get("flags", ()))


def _said(criteria: Any, criterion: str) -> Mapping[str, Any]:
    return next((each for each in criteria if each["criterion"] == criterion), {})


def _triggers(flags: Any) -> set[tuple[str, str]]:
    return {(flag["criterion"], flag["trigger"]) for flag in flags}
