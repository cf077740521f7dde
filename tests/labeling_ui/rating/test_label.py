"""The page Label, pressed button by button."""

from __future__ import annotations

from tests.labeling_ui.rating.conftest import Opens


def test_pass_and_fail_store_and_advance(opens: Opens) -> None:
    """One press stores the answer with its moments, and the next item is on the page."""
    room = opens()
    seat = room.sit("ann")
    first = seat.number
    seat.press("Pass")
    second = seat.number
    seat.press("Fail")
    assert len({first, second, seat.number}) == 3
    rows = room.rows("assessment", "value, rater, blind, shown_at < decided_at, rubric_digest IS NOT NULL")
    assert rows == [("pass", "ann", "yes", 1, 1), ("fail", "ann", "yes", 1, 1)]
