"""The rating app: its pages by the role of whoever sits here. Started by labeling_ui.launcher."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from calibration.labeling.people import Role
from labeling_ui.components import page_style
from labeling_ui.rating import here, interludes, sign_in
from labeling_ui.rating.desk import as_sentence
from rubrics.errors import JudgeCalibrationError

_VIEWS = Path(__file__).parent / "views"


def pages() -> list[st.Page]:
    """The pages that whoever sits here may open; the others do not exist for them."""
    who = here.person()
    if who is None:
        # every address leads to the door, and on to its page once somebody has signed in
        behind = [st.Page(sign_in.page, title="Sign in", url_path=path) for path in ("history", "adjudicate")]
        return [st.Page(_VIEWS / "sign_in.py", title="Sign in", default=True), *behind]
    held = here.roles_of(who)
    found = []
    if Role.RATER in held:
        found += [
            st.Page(_VIEWS / "label.py", title="Label", default=True),
            st.Page(_VIEWS / "history.py", title="My history"),
        ]
    if Role.ADJUDICATOR in held:
        found.append(st.Page(_VIEWS / "adjudicate.py", title="Adjudicate"))
    return found or [st.Page(_VIEWS / "no_role.py", title="No role yet", default=True)]


def main() -> None:
    """Run the page that is asked for; whatever is refused is said in one sentence."""
    st.set_page_config(page_title="voirdire: rating", layout="wide")
    page_style(Path(__file__).parent / "style.css")
    try:
        st.navigation(pages(), position="hidden" if here.person() is None else "top").run()
    except JudgeCalibrationError as error:
        interludes.plain_page("That did not work.", as_sentence(error))


if __name__ == "__main__":
    main()
