"""Sign in: a name on this machine, or whoever vouches for people here."""

from __future__ import annotations

from typing import Final

import streamlit as st

from calibration.labeling.people import LOCAL, NAME_LIMIT, known_people
from labeling_ui.rating import here, interludes
from labeling_ui.rating.desk import Desk, as_sentence, keep, load
from labeling_ui.rating.dock import Bar, Button, draw
from labeling_ui.rating.keyboard import Screen, listen
from labeling_ui.settings import SignIn
from rubrics.errors import JudgeCalibrationError

_FIELD: Final = "sign_in_name"
_MOST: Final = 9
"""Names that get a key; all others are typed."""


def page() -> None:
    """Ask who is there."""
    how = here.settings().sign_in
    if how is SignIn.LOCAL:
        _by_name()
    elif how is SignIn.OIDC:
        interludes.plain_page(
            "Sign in", "Your organisation says who you are; the app keeps a name, no password."
        )
        st.button("Sign in", key="sign_in", type="primary", on_click=st.login)
    else:
        interludes.plain_page(
            "Nobody is signed in.",
            "A proxy says who you are here, and it said nothing. Tell whoever runs it.",
        )


def _by_name() -> None:
    interludes.sentence(load().said)
    interludes.plain_page(
        "Who is rating?",
        "Take the name under which you were added to a session. It stands beside your answers, and "
        "in the list below for whoever uses this computer; no rater sees who gave which answer.",
    )
    with st.form("sign_in", border=False, width=420):
        st.text_input("Name", key=_FIELD, max_chars=NAME_LIMIT, autocomplete="off")
        st.form_submit_button("Go on", on_click=_typed, key="go_on")
    known = [each for each in known_people(store=here.store()) if each.auth == LOCAL]
    buttons = tuple(
        Button(f"known_{place}", person.handle, str(place), _chosen, (person.handle,))
        for place, person in enumerate(known[:_MOST], start=1)
    )
    bar = Bar(token="sign_in", buttons=buttons, ask="Known here" if buttons else "")
    draw(bar)
    listen(
        Screen(token="sign_in", item="sign_in", say="Who is rating?", keys=bar.keys, note=_FIELD, focus=True)
    )


def _typed() -> None:
    _chosen(str(st.session_state.get(_FIELD) or ""))


def _chosen(handle: str) -> None:
    try:
        here.enter(handle)
    except JudgeCalibrationError as error:
        keep(Desk(said=as_sentence(error)))
        return
    keep(Desk())
