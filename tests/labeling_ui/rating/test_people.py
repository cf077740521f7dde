"""Who gets in, and which pages exist for them."""

from __future__ import annotations

import pytest

from calibration.labeling.people import Role, grant, sign_in
from labeling_ui.rating import here
from rubrics.errors import RaterRefused
from tests.labeling_ui.rating.conftest import Opens
from tests.labeling_ui.rating.seat import Room, Seat

NOT_THERE = ["history", "adjudicate"]


def vouched(room: Room, email: str, *roles: Role) -> Seat:
    """A tab of someone for whom the proxy vouches, with the roles."""
    room.patch.setenv("VOIRDIRE_UI_SIGN_IN", "proxy")
    sign_in(store=room.store, handle=email, auth="proxy", subject=email, now=room.clock())
    for role in roles:
        grant(store=room.store, handle=email, role=role, given=True, actor="admin", now=room.clock())
    return Seat(room, None, user={"email": email})


def pages(seat: Seat) -> set[str]:
    """The pages that exist for whoever sits there."""
    return {info["page_name"] for info in seat.app._registered_pages.values()}


@pytest.mark.parametrize(
    ("roles", "found"),
    [
        ((), {"No role yet"}),
        ((Role.RATER,), {"Label", "My history"}),
        ((Role.ADJUDICATOR,), {"Adjudicate"}),
        ((Role.RATER, Role.ADJUDICATOR), {"Label", "My history", "Adjudicate"}),
        ((Role.REVIEWER, Role.GRADER), {"No role yet"}),
    ],
    ids=["none", "rater", "adjudicator", "both", "reviewer"],
)
def test_pages_follow_the_roles(opens: Opens, roles: tuple[Role, ...], found: set[str]) -> None:
    """Only what the roles of a verified person allow is there; the rest does not exist."""
    assert pages(vouched(opens(raters=("a@x", "b@x")), "a@x", *roles)) == found


def test_role_taken_away_closes_the_page(opens: Opens) -> None:
    """A role is asked for on every run: taken away, the next press stores nothing."""
    room = opens(raters=("a@x", "b@x"))
    seat = vouched(room, "a@x", Role.RATER)
    seat.press("Pass")
    grant(store=room.store, handle="a@x", role=Role.RATER, given=False, actor="admin", now=room.clock())
    seat.press("Fail")
    assert len(room.rows("assessment")) == 1
    assert "Nothing for you here yet." in seat.html


def test_nobody_vouched_for_sees_no_item(opens: Opens) -> None:
    """A proxy that names nobody leads to a sentence, not to an item."""
    room = opens()
    room.patch.setenv("VOIRDIRE_UI_SIGN_IN", "proxy")
    seat = Seat(room, None, user={})
    assert "Nobody is signed in." in seat.html
    assert "question" not in seat.html


def test_typed_name_signs_in(opens: Opens) -> None:
    """On this machine a name is typed once, or taken from those known here; it is kept as local."""
    room = opens()
    seat = room.sit(None)
    assert "Who is rating?" in seat.html
    seat.type_name("ann").press("Go on")
    assert seat.number >= 0
    assert room.rows("person", "handle, auth") == [("ann", "local")]
    again = room.sit(None)
    assert again.labels == ["Go on", "ann"]
    assert again.press("ann").number == seat.number


def test_every_address_leads_to_the_door_and_on(opens: Opens) -> None:
    """The address of Adjudicate asks who is there while nobody has signed in, and then leads to its page."""
    room = opens()
    seat = room.sit(None)
    paths = {info["url_pathname"] for info in seat.app._registered_pages.values()}
    assert paths == {"", "history", "adjudicate"}
    seat.app._page_hash = next(
        key for key, info in seat.app._registered_pages.items() if info["url_pathname"] == "adjudicate"
    )
    assert "Who is rating?" in seat.reload().html
    seat.type_name("zoe").press("Go on")
    assert "No case is open for you." in seat.html


def test_empty_name_is_refused(opens: Opens) -> None:
    """Without a name the page stays and says what is missing."""
    seat = opens().sit(None).press("Go on")
    assert "vd-notice" in seat.html
    assert "Who is rating?" in seat.html


def test_name_of_somebody_verified_is_refused(opens: Opens) -> None:
    """A name that belongs to someone who signs in another way is not taken by typing it."""
    room = opens()
    sign_in(store=room.store, handle="eve", auth="oidc", subject="issuer eve", now=room.clock())
    seat = room.sit(None).type_name("eve").press("Go on")
    assert "another name" in seat.html
    assert "Who is rating?" in seat.html


def test_name_is_taken_only_where_names_are(opens: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a proxy no name is taken from a page."""
    opens()
    monkeypatch.setenv("VOIRDIRE_UI_SIGN_IN", "proxy")
    with pytest.raises(RaterRefused, match="a name alone is not taken here"):
        here.enter("ann")
