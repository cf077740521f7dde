"""Who sits at the review app and what they may do, and its store: asked anew on every run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import streamlit as st

from calibration.labeling.people import Role
from calibration.labeling.records import Person
from calibration.labeling.sessions import open_items
from calibration.labeling.tasks import refusals_audited
from calibration.store.database import Store
from calibration.store.schema import open_store
from labeling_ui.door import Door
from labeling_ui.settings import AppName
from rubrics.errors import RaterRefused


def store() -> Store:
    """The store, opened once in this process."""
    return _store(_DOOR.settings().db)


@st.cache_resource(show_spinner=False, on_release=Store.close)
def _store(db: str | None) -> Store:
    return open_store(db)


def clock() -> datetime:
    """Now, by the clock of the server."""
    return datetime.now(UTC)


# what labeling_ui.door does, with this app's store and clock
_DOOR: Final = Door(AppName.REVIEW, store=lambda: store(), clock=lambda: clock())
settings = _DOOR.settings
person = _DOOR.person
enter = _DOOR.enter


def reviewer() -> Person:
    """The person, who is a reviewer.

    Raises:
        RaterRefused: nobody is signed in, or they are no reviewer; the latter is audited.
    """
    return _DOOR.holding(Role.REVIEWER)


def require_done(who: Person, set_digest: str) -> None:
    """Refuse whoever still has items of the set to rate or to adjudicate: what others said would bias them.

    Raises:
        RaterRefused: with the number of items; audited.
    """
    with store().read() as session:
        left = open_items(session=session, person=who.handle, set_digest=set_digest)
    if left:
        with refusals_audited(store(), who.handle, clock()):
            raise RaterRefused(
                f"you still have {left:,} {'item' if left == 1 else 'items'} of this set to rate, and what "
                "others said could bias you: finish them in the rating app, or have them reassigned"
            )
