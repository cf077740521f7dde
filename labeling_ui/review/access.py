"""Who may see what a judge said of a set: nobody who still rates it, and errors only after labeling."""

from __future__ import annotations

from contextlib import AbstractContextManager

from sqlmodel import Session

from calibration.labeling.records import Person
from calibration.store.sessions import list_sessions
from labeling_ui.review import here
from rubrics.errors import RaterRefused


def require_rated(who: Person, set_digest: str) -> None:
    """Refuse whoever still has items of the set to rate or to adjudicate.

    Raises:
        RaterRefused: with the number of items; audited.
    """
    here.require_done(who, set_digest)


def require_labeling_closed(set_digest: str) -> None:
    """Refuse the errors of a judge while people still label the set.

    Raises:
        RaterRefused: naming the session that is open.
    """
    with here.store().read() as session:
        still_open = [
            each.name
            for each in list_sessions(session=session)
            if each.set_digest == set_digest and each.state == "open"
        ]
    if still_open:
        raise RaterRefused(
            f"session {still_open[0]!r} still labels this set: what a judge got wrong opens once that is "
            "closed (voirdire session close)"
        )


def recording() -> AbstractContextManager[Session]:
    """One transaction of the store that writes: all of it is kept, or nothing."""
    begin = here.store().write
    return begin()
