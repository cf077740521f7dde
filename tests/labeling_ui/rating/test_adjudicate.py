"""The page Adjudicate: own verdict, reveal, resolution."""

from __future__ import annotations

from tests.calibration.labeling import world
from tests.labeling_ui.rating.conftest import Opens
from tests.labeling_ui.rating.seat import Room, Seat, everything
from tests.labeling_ui.rating.test_label import shortcuts


def disputed(opens: Opens, **how: object) -> Room:
    """A session whose two raters disagree on every item, each with a word on it."""
    room = opens(**{"items": 2, **how})
    for who, label, note in (("ann", "Pass", "canary-for"), ("ben", "Fail", "canary-against")):
        seat = room.sit(who)
        for _ in range(2):
            seat.write(note).press(label)
    return room


def at_work(room: Room) -> Seat:
    """The adjudicator before the first case."""
    return room.sit("zoe").go("adjudicate")


def test_own_verdict_comes_before_the_reveal(opens: Opens) -> None:
    """Nothing of the raters' answers is on the page before the own verdict; then both are, without names."""
    seat = at_work(disputed(opens))
    assert "Open 2" in seat.html
    assert "canary" not in everything(seat)
    assert "Leave unresolved" not in seat.labels
    seat.press("Pass")
    assert "canary-for" in seat.html
    assert "canary-against" in seat.html
    assert "You, before: Pass" in seat.html
    for name in ("ann", "ben"):
        assert f">{name}<" not in seat.html
    assert "Rater A" in seat.html
    assert "Rater B" in seat.html


def test_reason_key_after_another_tab_went_on_is_no_verdict(opens: Opens) -> None:
    """Another tab gave the own verdict while a reason was asked for: its keys do nothing here."""
    room = disputed(opens)
    one, two = at_work(room), at_work(room)
    one.press("Pass")
    two.press("Cannot decide")
    assert "answered in another tab" in two.html
    assert two.labels == ["On to the current item"]


def test_resolution_needs_a_reason(opens: Opens) -> None:
    """Without a reason nothing is resolved; with one the next case comes, and both verdicts are kept."""
    room = disputed(opens)
    seat = at_work(room).press("Pass").press("Fail")
    assert "needs a reason" in seat.html
    assert room.rows("adjudication") == []
    seat.write("the sum is wrong").press("Fail")
    assert room.rows("adjudication", "value, adjudicator") == [("fail", "zoe")]
    assert "resolved 1" in seat.html
    kinds = [row[0] for row in room.rows("rater_event", "kind")]
    assert kinds.count("first_verdict") == 1
    assert kinds.count("resolved") == 1


def test_unresolved_is_a_result(opens: Opens) -> None:
    """A case may be left unresolved, which is recorded and counted as such."""
    room = disputed(opens)
    seat = at_work(room).press("Fail").write("both readings hold").press("Leave unresolved")
    assert room.rows("adjudication", "value") == [("unknown",)]
    assert "unresolved 1" in seat.html
    seat.press("Fail").write("too").press("Fail")
    assert "No case is open for you." in seat.html


def test_half_done_case_resumes_after_the_reveal(opens: Opens) -> None:
    """A new tab goes on at the resolution: the own verdict is the store's."""
    room = disputed(opens)
    at_work(room).press("Cannot decide").press("Other")
    seat = at_work(room)
    assert "You, before: Cannot decide: other" in seat.html
    assert "Leave unresolved" in seat.labels


def test_keys_are_unique_on_both_steps(opens: Opens) -> None:
    """Each step has its own keys, none twice, none of the framework's."""
    seat = at_work(disputed(opens))
    first = shortcuts(seat)
    final = shortcuts(seat.press("Pass"))
    assert first == final == ["1", "2", "3"]
    assert all(str(each.key).startswith("final") for each in seat.app.button)


def test_press_too_soon_is_ignored(opens: Opens) -> None:
    """As on Label: what nobody can have seen is not answered, nor resolved."""
    room = disputed(opens)
    seat = at_work(room).press("Pass", after=0.1)
    assert "canary" not in seat.html
    seat.press("Pass").write("so").press("Pass", after=0.1)
    assert room.rows("adjudication") == []


def test_rater_of_the_session_has_nothing_to_adjudicate(opens: Opens) -> None:
    """Who rates is not asked to adjudicate: the page is empty and says how one would be added."""
    seat = disputed(opens).sit("ann").go("adjudicate")
    assert "You adjudicate in no session." in seat.html


def test_pair_is_resolved_by_side(opens: Opens) -> None:
    """The adjudicator meets sides of their own; the source position is what is stored."""
    room = opens(items=1, asked=world.pairs(), make=world.pair)
    for who in ("ann", "ben"):
        seat = room.sit(who)
        a_is_left = seat.html.index("source A") < seat.html.index("source B")
        seat.press("Left is better" if a_is_left == (who == "ann") else "Right is better")
    seat = at_work(room)
    left = "A" if seat.html.index("source A") < seat.html.index("source B") else "B"
    seat.press("Tie").write("it answers").press("Left is better")
    assert room.rows("adjudication", "value") == [(left,)]
