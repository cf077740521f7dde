"""Sign in to the review app: a name on this machine, or whoever vouches for people here."""

from __future__ import annotations

import streamlit as st

from calibration.labeling.people import NAME_LIMIT
from labeling_ui.components import notice, show
from labeling_ui.review import here
from labeling_ui.review.pages import plain_page
from labeling_ui.settings import SignIn
from rubrics.errors import JudgeCalibrationError

_NAME = "review_name"
_REFUSED = "review_refused"


def _go_on() -> None:
    try:
        here.enter(str(st.session_state.get(_NAME) or ""))
    except JudgeCalibrationError as error:
        st.session_state[_REFUSED] = f"{error}."


def _by_name() -> None:
    plain_page(
        "Who looks?",
        "Whoever still rates sees nothing here of the sets that they rate. Signatures under a name that is "
        "only typed say “local, unverified”.",
    )
    if refused := st.session_state.pop(_REFUSED, ""):
        show(notice(refused))
    with st.form("review_sign_in", border=False, width=420):
        st.text_input("Name", key=_NAME, max_chars=NAME_LIMIT, autocomplete="off")
        st.form_submit_button("Go on", on_click=_go_on)


def page() -> None:
    """Ask who is there."""
    how = here.settings().sign_in
    if how is SignIn.LOCAL:
        _by_name()
    elif how is SignIn.OIDC:
        plain_page("Sign in", "Your organisation says who you are; the app keeps a name, no password.")
        st.button("Sign in", key="review_oidc", type="primary", on_click=st.login)
    else:
        plain_page(
            "Nobody is signed in.",
            "This address is reached through a proxy that says who you are, and it said nothing. "
            "Tell whoever runs it.",
        )


if __name__ == "__main__":
    page()
