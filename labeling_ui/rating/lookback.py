"""Earlier answers of one's own: looked at, taken back, changed. Nothing of them is ever overwritten."""

from __future__ import annotations

from typing import Final

import streamlit as st
from markupsafe import Markup

from calibration.labeling import looking, rating
from calibration.labeling.people import Role
from calibration.labeling.records import Past, Person, Task
from labeling_ui.components import keycap, show, untrusted
from labeling_ui.rating import here, interludes, reading
from labeling_ui.rating.desk import Desk, Looking, as_sentence, keep, load
from labeling_ui.rating.dock import Bar, Button, draw
from labeling_ui.rating.keyboard import Screen, listen
from rubrics.errors import JudgeCalibrationError

_FAR: Final = 50
"""How many answers back the arrow goes; older ones stand under My history."""
_UNDO: Final = (8, 64, 512)
"""How many of the newest lines are looked through for one that stands, a few first."""


def answers_before(me: Person, session: str, *, limit: int = _FAR) -> list[Past]:
    """The answers that stand, newest first."""
    past = looking.history(
        store=here.store(), rater=me.handle, session=session, limit=limit, now=here.clock()
    )
    return [each for each in past if not each.given.retracted]


def place_of(past: Past) -> Looking:
    """Where a line of the history leads."""
    return Looking(past.session, past.assignment, past.criterion)


@here.only(Role.RATER)
def step_back(me: Person, session: str, at: Looking | None) -> None:
    """Look at the answer before the one that is looked at, or at the newest one."""
    places = [place_of(each) for each in answers_before(me, session)]
    following = places.index(at) + 1 if at in places else 0
    if following < len(places):
        keep(Desk(token="", looking=places[following]))


def retract_last(me: Person, session: str) -> None:
    """Take the newest answer back; its item is next again."""
    for limit in _UNDO:  # the newest lines may all have been taken back before
        standing = answers_before(me, session, limit=limit)
        if standing:
            _retract(me, place_of(standing[0]), standing[0].given.note, "")
            return
    keep(Desk(token="", said="There is no answer to take back."))


def _retract(me: Person, at: Looking, note: str, why: str, *, stay: bool = False) -> None:
    """Take the answer back; its note stands in the field again, for words are not to be typed twice."""
    try:
        task = rating.retract(
            store=here.store(),
            rater=me.handle,
            assignment=at.assignment,
            criterion=at.criterion,
            why=why,
            now=here.clock(),
        )
    except JudgeCalibrationError as error:
        keep(Desk(token="", said=as_sentence(error), looking=at if stay else None))
        return
    st.session_state[reading.note_key(task)] = note
    keep(Desk(token=""))


def page(me: Person, at: Looking) -> None:
    """Show an earlier answer as it was given, and the way to change it."""
    try:
        task = rating.task_at(
            store=here.store(),
            rater=me.handle,
            assignment=at.assignment,
            criterion=at.criterion,
            now=here.clock(),
        )
    except JudgeCalibrationError as error:
        keep(Desk(token="", said=as_sentence(error)))
        st.rerun()
    interludes.sentence(load().said)
    changeable = _changeable(me, task, at)
    _show(task, changeable)
    token = f"look-{task.key}"
    bar = Bar(
        token=token,
        buttons=(
            Button("change", "Change this answer", "X", change, (me, at, task), enabled=changeable),
            Button("before", "The one before", "Left", step_back, (me, at.session, at), quiet=True),
            Button("now", "Back to the current item", "Right", back, (), quiet=True),
        ),
    )
    draw(bar)
    say = (
        f"Your answer to item {task.position} of {task.of}, criterion {task.criterion_no} of {task.criteria}"
    )
    listen(Screen(token=token, item=token, say=say, keys=bar.keys, note=_why_key(task)))


def _changeable(me: Person, task: Task, at: Looking) -> bool:
    """True while there is an answer that stands and its session takes answers."""
    mine = looking.sessions_of(store=here.store(), rater=me.handle, now=here.clock())
    return task.given is not None and any(each.name == at.session and each.open for each in mine)


def _show(task: Task, changeable: bool) -> None:
    """Show the item and the answer beside it, and ask why it should change where it may."""
    left, right = st.columns(reading.COLUMNS, gap="large")
    with left:
        reading.item(task, task.given.spans if task.given else ())
    with right, st.container(key="vd_card"):
        if task.given is not None:
            reading.given_answer(task, task.given)
        reading.card(task)
        if changeable:
            _why_field(task)


def _why_field(task: Task) -> None:
    label = "Why it changes; an answer of an earlier day needs it"
    keys = keycap("N", "write") + keycap("Esc", "leave")
    show(Markup('<div class="vd-note"><span>{}</span><span>{}</span></div>').format(untrusted(label), keys))
    st.text_area(
        label,
        key=_why_key(task),
        height=68,
        max_chars=reading.LONGEST_NOTE,
        label_visibility="collapsed",
        on_change="ignore",
    )


@here.only(Role.RATER)
def change(me: Person, at: Looking, task: Task) -> None:
    """Take the answer back, so that its item is next; the answer and that it was taken back both stay."""
    note = task.given.note if task.given else ""
    _retract(me, at, note, str(st.session_state.get(_why_key(task)) or ""), stay=True)


def _why_key(task: Task) -> str:
    return f"why-{task.key}"


def back() -> None:
    """Leave the earlier answer."""
    keep(Desk(token=""))
