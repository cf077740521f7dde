"""Raters: how a session stands, and how far its raters agree."""

from __future__ import annotations

import streamlit as st

from calibration.labeling.agreement import session_agreement
from calibration.labeling.sessions import session_status
from calibration.store.sessions import StoredSession, list_sessions
from labeling_ui.components import plain, show
from labeling_ui.review import here
from labeling_ui.review.agreeing import criterion_section, pace_section
from labeling_ui.review.pages import plain_page
from labeling_ui.review.standing import broken_list, head_of, item_ids, people_table


def _chosen(sessions: list[StoredSession]) -> StoredSession:
    """The session to look at: the newest, or the one that was picked."""
    if len(sessions) == 1:
        return sessions[0]
    with st.container(width=420):
        place = st.selectbox(
            "Session",
            range(len(sessions)),
            format_func=lambda at: plain(sessions[at].name),
            key="review_session",
        )
    return sessions[place]


def page() -> None:
    """Show a session: who does what, and how far its raters agree."""
    who = here.reviewer()
    with here.store().read() as session:
        sessions = sorted(list_sessions(session=session), key=lambda each: each.opens_at, reverse=True)
    if not sessions:
        plain_page("There is no session yet.", "Open one with: voirdire session open")
        return
    stored = _chosen(sessions)
    here.require_done(who, stored.set_digest)
    with here.store().read() as session:
        status = session_status(session=session, name=stored.name, now=here.clock())
        found = session_agreement(session=session, name=stored.name)
        ids = item_ids(session, [each.item_key for each in status.broken])
    show(head_of(status))
    show(people_table(status), broken_list(status, ids))
    for each in found.criteria:
        show(criterion_section(each))
    show(pace_section(found.paces))


if __name__ == "__main__":
    page()
