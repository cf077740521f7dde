"""What one browser tab has open: view state only, so that a lost tab loses nothing that was said.

Which item is next is never kept here; the database says so on every run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple, cast

import streamlit as st

from calibration.labeling.records import EARLIEST_MS, IDLE_MINUTES, Feedback, Task
from labeling_ui.rating.flow import START, Half

_KEY: Final = "desk"


class Looking(NamedTuple):
    """Which of one's own answers is looked at."""

    session: str
    assignment: str
    criterion: str


@dataclass(frozen=True, slots=True)
class Desk:
    """The state of the page between two runs."""

    token: str | None = None
    """The task whose choices were shown last; None where this tab has shown none yet."""
    half: Half = START
    """What was said of it so far."""
    shown_at: datetime | None = None
    """When the page with the task was sent."""
    looking: Looking | None = None
    """An earlier answer that is looked at instead of the current task."""
    setting_aside: bool = False
    """True while the page asks whether the item is broken."""
    practised: tuple[Task, Feedback] | None = None
    """The practice case that was just answered, and what the rubric says of it."""
    said: str = ""
    """One sentence for the person: a refusal, or what became of a press."""

    def facing(self, token: str) -> Desk:
        """The desk with this task on it: untouched if it was there already."""
        if self.token == token:
            return self
        return replace(self, token=token, half=START, shown_at=None, setting_aside=False)

    def overtaken(self, token: str) -> bool:
        """True where a further question was open and what it was about has left the screen.

        Its keys are still under the fingers of whoever was asked: nothing may be answered by them now.
        """
        return bool(self.token) and self.token != token and (self.half != START or self.setting_aside)

    def sent(self, at: datetime) -> Desk:
        """The desk once the page has been sent: the task counts as shown from its first whole sending."""
        return self if self.shown_at else replace(self, shown_at=at)


def load() -> Desk:
    """The desk of this tab."""
    return cast(Desk, st.session_state.get(_KEY, Desk()))


def keep(desk: Desk) -> None:
    """Keep the desk for the next run."""
    st.session_state[_KEY] = desk


def too_early(shown_at: datetime | None, now: datetime) -> bool:
    """True where nobody can have read what is on the screen yet, or it was never sent as a whole."""
    return shown_at is None or now - shown_at < timedelta(milliseconds=EARLIEST_MS)


def idle(shown_at: datetime, now: datetime) -> bool:
    """True where so much time has passed that it says nothing of the person's speed."""
    return now - shown_at > timedelta(minutes=IDLE_MINUTES)


def as_sentence(error: Exception) -> str:
    """What an error says, as a sentence of its own."""
    said = str(error).rstrip(".")
    return f"{said[:1].upper()}{said[1:]}."
