"""Many raters at once on one app: every press is an answer of its own rater, and none is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.browser import clients
from tests.browser.rating import rows, session_for
from tests.browser.serving import serving


@pytest.mark.parametrize(
    ("many", "presses", "think"),
    [(5, 3, 0.4), pytest.param(10, 10, 2.0, marks=pytest.mark.slow)],
    ids=["reduced", "ten"],
)
def test_every_press_of_a_crowd_is_stored_once(
    migrated_sqlite: Path, tmp_path: Path, many: int, presses: int, think: float
) -> None:
    """Rows are presses; each rater's are their own, in the order of their own queue."""
    raters = tuple(f"client-{number}" for number in range(many))
    db = session_for(Path(shutil.copy(migrated_sqlite, tmp_path / "crowd.db")), raters, items=presses + 2)
    clients.introduce(db, raters)
    with serving("rate", db=db, environment=clients.ENVIRONMENT) as served:
        done = clients.crowd(served.address, raters, presses=presses, think=think)
    assert [each.presses for each in done] == [presses] * many
    stored = rows(db, "SELECT rater, COUNT(*) FROM assessment GROUP BY rater ORDER BY rater")
    assert stored == sorted((rater, presses) for rater in raters)
    places = rows(
        db,
        "SELECT a.rater, c.position FROM assessment_context c"
        " JOIN assignment a ON a.key = c.assignment_key ORDER BY a.rater, c.recorded_at",
    )
    assert places == [(rater, place) for rater in sorted(raters) for place in range(1, presses + 1)]
