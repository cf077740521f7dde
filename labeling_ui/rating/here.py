"""Who sits here, what they may do, and the store: asked anew on every run and in every callback."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Concatenate, Final, ParamSpec

import streamlit as st

from calibration.labeling.people import Role
from calibration.labeling.records import Person
from calibration.store.blind import open_rating_store
from calibration.store.database import Store
from labeling_ui.door import SIGN_IN_FIRST, Door
from labeling_ui.rating.desk import Desk, as_sentence, keep
from labeling_ui.settings import AppName
from rubrics.errors import RaterRefused

Arguments = ParamSpec("Arguments")


def store() -> Store:
    """The rating app's own store: it can read no judge's table."""
    return _store(_DOOR.settings().db)


@st.cache_resource(show_spinner=False, on_release=Store.close)
def _store(db: str | None) -> Store:
    return open_rating_store(db)


def clock() -> datetime:
    """Now, by the clock of the server."""
    return datetime.now(UTC)


# what labeling_ui.door does, with this app's store and clock
_DOOR: Final = Door(AppName.RATE, store=lambda: store(), clock=lambda: clock())
settings = _DOOR.settings
person = _DOOR.person
enter = _DOOR.enter
roles_of = _DOOR.roles_of
signed_in = _DOOR.holding

Acting = Callable[Concatenate[Person, Arguments], None]


def only(role: Role) -> Callable[[Acting[Arguments]], Acting[Arguments]]:
    """Lets an action through for whoever still holds the role in the moment of the press.

    A page was drawn before; a role may have been taken since. What is refused is audited and said.
    """

    def guarded(act: Acting[Arguments]) -> Acting[Arguments]:
        @wraps(act)
        def acting(me: Person, /, *args: Arguments.args, **more: Arguments.kwargs) -> None:
            try:
                if signed_in(role).id != me.id:
                    raise RaterRefused(SIGN_IN_FIRST)
            except RaterRefused as refused:
                keep(Desk(said=as_sentence(refused)))
                return
            act(me, *args, **more)

        return acting

    return guarded
