"""The review app: its pages for whoever leads. Started by labeling_ui.launcher."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from calibration.labeling.records import Person
from labeling_ui.components import Markup, page_style, show, untrusted
from labeling_ui.review import here
from labeling_ui.review.pages import plain_page
from labeling_ui.review.views import sign_in
from rubrics.errors import JudgeCalibrationError, RaterRefused

_FOLDER = Path(__file__).parent
_VIEWS = _FOLDER / "views"
# the addresses of all pages but the first
_BEHIND = ("judges", "disagreements", "rubrics", "decisions", "audit")


def main() -> None:
    """Run the page that is asked for; whatever is refused is said in one sentence."""
    st.set_page_config(page_title="voirdire: review", layout="wide")
    page_style(_FOLDER / "style.css", _FOLDER / "judges.css")
    try:
        who = here.person()
        pages = (
            [
                st.Page(_VIEWS / "raters.py", title="Raters", default=True),
                st.Page(_VIEWS / "judges.py", title="Judges"),
                st.Page(_VIEWS / "disagreements.py", title="Disagreements"),
                st.Page(_VIEWS / "rubrics.py", title="Rubrics"),
                st.Page(_VIEWS / "decisions.py", title="Decisions"),
                st.Page(_VIEWS / "audit.py", title="Audit trail"),
            ]
            if who is not None
            else [
                st.Page(_VIEWS / "sign_in.py", title="Sign in", default=True),
                # every address leads to the door, and on to its page once somebody has signed in
                *(st.Page(sign_in.page, title="Sign in", url_path=path) for path in _BEHIND),
            ]
        )
        chosen = st.navigation(pages, position="top" if who is not None else "hidden")
        if who is not None:
            show(signed_in(who))
        chosen.run()
    except RaterRefused as error:
        plain_page("Closed to you for now.", sentence(error))
    except JudgeCalibrationError as error:
        plain_page("That did not work.", sentence(error))


def signed_in(who: Person) -> Markup:
    """Who reads and signs here, and who vouches for the name."""
    vouched = f"verified by {who.auth}" if who.verified else "local, unverified"
    said = Markup('<p class="vd-who">Signed in as <b dir="auto">{}</b>, {}</p>')
    return said.format(untrusted(who.handle), vouched)


def sentence(error: JudgeCalibrationError) -> str:
    """The error as a sentence on a page."""
    said = str(error)
    return f"{said[:1].upper()}{said[1:]}{'' if said.endswith('.') else '.'}"


if __name__ == "__main__":
    main()
