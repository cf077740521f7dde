"""Who sits at the review app and what they may do, and its store: asked anew on every run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import streamlit as st

from calibration.labeling.people import Role, require, sign_in
from calibration.labeling.records import Person
from calibration.labeling.sessions import open_items
from calibration.labeling.tasks import refusals_audited
from calibration.store.database import Store
from calibration.store.schema import open_store
from calibration.store.sessions import StoredSession
from labeling_ui.identity import Claim, claimed
from labeling_ui.settings import AppName, Settings, SignIn, current
from rubrics.errors import RaterRefused

_PERSON: Final = "reviewer"


def settings() -> Settings:
    """How this process was started."""
    return current(AppName.REVIEW)


def store() -> Store:
    """The store, opened once in this process."""
    return _store(settings().db)


@st.cache_resource(show_spinner=False, on_release=Store.close)
def _store(db: str | None) -> Store:
    return open_store(db)


def clock() -> datetime:
    """Now, by the clock of the server."""
    return datetime.now(UTC)


def person() -> Person | None:
    """Who sits here; None where nobody has said or proved it yet."""
    known = st.session_state.get(_PERSON)
    if isinstance(known, Person):
        return known
    claim = claimed(settings(), st.user.to_dict())
    return _known(claim) if claim is not None else None


def enter(handle: str) -> None:
    """Sign in by a name, where the settings allow that.

    Raises:
        RaterRefused: names are not taken here, or this one belongs to someone who signs in another way.
        DeclarationError: no name, or one that cannot be stored.
    """
    if settings().sign_in is not SignIn.LOCAL:
        raise RaterRefused("a name alone is not taken here: sign in as the page says")
    _known(Claim(handle.strip(), "local", handle.strip(), handle.strip()))


def _known(claim: Claim) -> Person:
    found = sign_in(
        store=store(),
        handle=claim.handle,
        auth=claim.auth,
        subject=claim.subject,
        display=claim.display,
        now=clock(),
    )
    st.session_state[_PERSON] = found
    return found


def reviewer() -> Person:
    """The person, who is a reviewer.

    Raises:
        RaterRefused: nobody is signed in, or they are no reviewer; the latter is audited.
    """
    who = person()
    if who is None:
        raise RaterRefused("sign in first: reload the page")
    require(store=store(), person=who, role=Role.REVIEWER, now=clock())
    return who


def require_done(who: Person, labeling: StoredSession) -> None:
    """Refuse whoever still rates items of the session's set: what others said would bias them.

    Raises:
        RaterRefused: with the number of items; audited.
    """
    with store().read() as session:
        left = open_items(session=session, person=who.handle, set_digest=labeling.set_digest)
    if left:
        with refusals_audited(store(), who.handle, clock()):
            raise RaterRefused(
                f"you still have {left:,} {'item' if left == 1 else 'items'} of this set to rate, and what "
                "others said could bias you: finish them in the rating app, or have them reassigned"
            )
