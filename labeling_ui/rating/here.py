"""Who sits here, what they may do, and the store: asked anew on every run and in every callback."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Concatenate, Final, ParamSpec

import streamlit as st

from calibration.labeling.people import Role, require, roles, sign_in
from calibration.labeling.records import Person
from calibration.store.blind import open_rating_store
from calibration.store.database import Store
from labeling_ui.identity import claimed
from labeling_ui.rating.desk import Desk, as_sentence, keep
from labeling_ui.settings import AppName, Settings, SignIn, current
from rubrics.errors import RaterRefused

_PERSON: Final = "person"
Arguments = ParamSpec("Arguments")
SIGN_IN_FIRST: Final = "sign in first: reload the page"


def settings() -> Settings:
    """How this process was started."""
    return current(AppName.RATE)


def store() -> Store:
    """The rating app's own store: it can read no judge's table."""
    return _store(settings().db)


@st.cache_resource(show_spinner=False, on_release=Store.close)
def _store(db: str | None) -> Store:
    return open_rating_store(db)


def clock() -> datetime:
    """Now, by the clock of the server."""
    return datetime.now(UTC)


def person() -> Person | None:
    """Who sits here; None where nobody has said or proved it yet.

    A local name is kept in this tab only, never in the address, where anybody could write another one.
    """
    known = st.session_state.get(_PERSON)
    if isinstance(known, Person):
        return known
    claim = claimed(settings(), st.user.to_dict())
    if claim is None:
        return None
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


def enter(handle: str) -> None:
    """Sign in by a name, where the settings allow that.

    Raises:
        RaterRefused: the name belongs to someone who signs in another way, or names are not taken here.
        DeclarationError: no name.
    """
    if settings().sign_in is not SignIn.LOCAL:
        raise RaterRefused("a name alone is not taken here: sign in as the page says")
    st.session_state[_PERSON] = sign_in(store=store(), handle=handle.strip(), now=clock())


def may(who: Person, role: Role) -> bool:
    """Whether the person holds the role now."""
    return role in roles(store=store(), person=who)


def signed_in(role: Role) -> Person:
    """The person, who holds the role.

    Raises:
        RaterRefused: nobody is signed in, or they do not hold the role; the latter is audited.
    """
    who = person()
    if who is None:
        raise RaterRefused(SIGN_IN_FIRST)
    require(store=store(), person=who, role=role, now=clock())
    return who


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
