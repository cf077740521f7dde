"""Judges: every judge of a set against the limit, what is behind it, and the decision on one."""

from __future__ import annotations

import streamlit as st

from calibration.rendering.reading import Readings
from labeling_ui.components import plain, show
from labeling_ui.review import here
from labeling_ui.review.access import require_rated
from labeling_ui.review.evidence import Question, answered, questions, unmeasured
from labeling_ui.review.judging import first_screen, one_judge
from labeling_ui.review.pages import plain_page
from labeling_ui.review.tables import three_columns, under_the_picture


def page() -> None:
    """Show the judges of a question, and decide on one."""
    who = here.reviewer()
    with here.store().read() as session:
        asked = questions(session=session)
    if not asked:
        plain_page(
            "No judge was measured yet.",
            "Measure with: voirdire calibrate --set NAME --judge all --criterion NAME --policy NAME",
        )
        return
    question = _chosen(asked)
    require_rated(who, question.set_digest)
    with here.store().read() as session:
        found = answered(session=session, question=question)
        missing = unmeasured(session=session, answered=found)
    readings = Readings.of(found.comparison)
    show(first_screen(readings, found, missing))
    show(three_columns(readings))
    show(under_the_picture(readings))
    one_judge(found, readings, who)


def _chosen(asked: tuple[Question, ...]) -> Question:
    if len(asked) == 1:
        return asked[0]
    place = st.selectbox(
        "Criterion, set, rubric and policy",
        range(len(asked)),
        format_func=lambda at: plain(asked[at].words),
        key="review_question",
        width=620,
    )
    return asked[place]


if __name__ == "__main__":
    page()
