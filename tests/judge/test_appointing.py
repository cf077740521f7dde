"""Who may grade: whoever is admitted, all criteria or none, and what is missing by name."""

from __future__ import annotations

import pytest

from calibration.store.database import Store
from judge.appointing import GradeRequest, appoint, require_known_people
from rubrics.errors import DeclarationError, JudgeNotAdmitted
from tests.judge.grading_world import NOW, RUBRIC, lay_down

BOTH = ("true", "kind")


def test_a_criterion_for_people_is_one_that_is_asked() -> None:
    """A slip of the pen would otherwise leave it to a judge."""
    with pytest.raises(DeclarationError, match="--human 'tone' is not among"):
        require_known_people(GradeRequest(RUBRIC, BOTH, people=frozenset({"tone"})))


def test_all_that_is_missing_is_named(sqlite_store: Store) -> None:
    """Two criteria without an admission: both stand in the refusal."""
    with sqlite_store.write() as session:
        lay_down(session)
        with pytest.raises(JudgeNotAdmitted) as caught:
            appoint(session=session, request=GradeRequest(RUBRIC, BOTH), at=NOW)
    assert len(caught.value.missing) == 2
