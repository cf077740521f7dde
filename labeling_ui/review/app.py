"""The review app: its pages for whoever leads. Started by labeling_ui.launcher."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from labeling_ui.components import page_style
from labeling_ui.review import here
from labeling_ui.review.pages import plain_page
from rubrics.errors import JudgeCalibrationError, RaterRefused

_FOLDER = Path(__file__).parent
_VIEWS = _FOLDER / "views"


def main() -> None:
    """Run the page that is asked for; whatever is refused is said in one sentence."""
    st.set_page_config(page_title="voirdire: review", layout="wide")
    page_style(_FOLDER / "style.css", _FOLDER / "judges.css")
    try:
        known = here.person() is not None
        pages = (
            [
                st.Page(_VIEWS / "raters.py", title="Raters", default=True),
                st.Page(_VIEWS / "judges.py", title="Judges"),
                st.Page(_VIEWS / "disagreements.py", title="Disagreements"),
                st.Page(_VIEWS / "rubrics.py", title="Rubrics"),
                st.Page(_VIEWS / "decisions.py", title="Decisions"),
                st.Page(_VIEWS / "audit.py", title="Audit trail"),
            ]
            if known
            else [st.Page(_VIEWS / "sign_in.py", title="Sign in", default=True)]
        )
        st.navigation(pages, position="top").run()
    except RaterRefused as error:
        plain_page("Closed to you for now.", sentence(error))
    except JudgeCalibrationError as error:
        plain_page("That did not work.", sentence(error))


def sentence(error: JudgeCalibrationError) -> str:
    """The error as a sentence on a page."""
    said = str(error)
    return f"{said[:1].upper()}{said[1:]}{'' if said.endswith('.') else '.'}"


if __name__ == "__main__":
    main()
