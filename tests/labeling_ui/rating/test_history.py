"""My history, and looking back from Label."""

from __future__ import annotations

from labeling_ui.rating import lookback
from tests.calibration.labeling import world
from tests.labeling_ui.rating.conftest import Opens
from tests.labeling_ui.rating.test_label import shortcuts


def test_history_is_empty_at_first(opens: Opens) -> None:
    """Before the first answer the page says what will stand there."""
    assert "No answers yet." in opens().sit("ann").go("history").html


def test_history_lists_ones_own_newest_first(opens: Opens) -> None:
    """Only the person's own answers, newest first, one that was taken back marked and closed."""
    room = opens()
    room.sit("ben").press("Fail")
    seat = room.sit("ann").press("Pass").press("Cannot decide").press("Other").press("Fail").press("Undo")
    seat.go("history")
    words = seat.html
    assert words.index("Fail") < words.index("Cannot decide: other") < words.index("<b>Pass</b>")
    assert words.count("vd-past ") + words.count('vd-past"') == 3
    assert "taken back" in words
    assert [each.disabled for each in seat.app.button] == [True, False, False]
    assert shortcuts(seat) == ["2", "3"]


def test_older_answers_are_a_press_away(opens: Opens) -> None:
    """Twenty lines first, more on demand."""
    room = opens(items=23)
    world.rate_all(room.store, "ann")
    room.clock.wait(600)
    seat = room.sit("ann").go("history")
    assert seat.labels == ["Open"] * 20 + ["Older answers"]
    assert seat.press("Older answers").labels == ["Open"] * 23
    assert shortcuts(seat) == list("123456789")


def test_opened_answer_is_read_only_until_changed(opens: Opens) -> None:
    """An answer is looked at as it was given; Change takes it back and asks again, both entries kept."""
    room = opens()
    seat = room.sit("ann")
    first = seat.number
    seat.write("because").press("Pass").press("Fail")
    seat.press("Previous").press("The one before")
    assert seat.number == first
    assert "Your answer" in seat.html
    assert "because" in seat.html
    assert seat.labels == ["Change this answer", "The one before", "Back to the current item"]
    seat.press("Change this answer")
    assert seat.number == first
    seat.press("Fail")
    assert room.rows("assessment", "value, revision") == [("pass", 0), ("fail", 0), ("fail", 1)]


def test_back_to_the_current_item_changes_nothing(opens: Opens) -> None:
    """Looking back and returning leaves everything as it was."""
    room = opens()
    seat = room.sit("ann").press("Pass")
    now = seat.number
    seat.press("Previous")
    assert seat.number != now
    seat.press("The one before").press("Back to the current item")
    assert seat.number == now
    assert len(room.rows("assessment")) == 1


def test_old_answer_changes_only_with_a_reason(opens: Opens) -> None:
    """An answer of an earlier day is not changed without a word on why."""
    room = opens()
    seat = room.sit("ann").press("Pass")
    room.clock.wait(25 * 3600)
    seat.reload()
    if "Go on without one" in seat.labels:
        seat.press("Go on without one")
    seat.press("Previous").press("Change this answer")
    assert "say why it changes" in seat.html
    seat.write("I misread the date").press("Change this answer")
    assert "Pass" in seat.labels
    assert len(room.rows("retraction")) == 1


def test_opened_from_the_list(opens: Opens) -> None:
    """A line of the history leads to its item on the page Label."""
    room = opens()
    seat = room.sit("ann")
    first = seat.number
    seat.press("Pass").go("history").press("Open")
    assert seat.number == first
    assert "Change this answer" in seat.labels


def test_undo_goes_back_as_far_as_there_are_answers(opens: Opens) -> None:
    """Pressed again and again, undo leads back item by item, past lines that were taken back before."""
    room = opens()
    room.patch.setattr(lookback, "_UNDO", (1, 4))
    seat = room.sit("ann")
    seen = []
    for _ in range(3):
        seen.append(seat.number)
        seat.press("Pass")
    for number in reversed(seen):
        assert seat.press("Undo").number == number
    assert seat.button("Undo").disabled
    assert len(room.rows("retraction")) == 3
