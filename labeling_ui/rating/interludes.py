"""What stands between two items: a break, a newer rubric, feedback on practice, the end of the queue."""

from __future__ import annotations

from typing import Final

import streamlit as st
from markupsafe import Markup

from calibration.labeling import looking, rating
from calibration.labeling.choices import answers
from calibration.labeling.people import Role
from calibration.labeling.records import (
    EventKind,
    Feedback,
    Nothing,
    NothingWhy,
    Person,
    Progress,
    Task,
    TaskKind,
)
from labeling_ui.components import eyebrow, notice, progress_line, prose, show, untrusted
from labeling_ui.rating import here, memory, reading
from labeling_ui.rating.desk import Desk, keep
from labeling_ui.rating.dock import Bar, Button, draw
from labeling_ui.rating.keyboard import Screen, listen
from rubrics.changes import Change
from rubrics.diff import diff_rubrics
from rubrics.rubric import Rubric
from rubrics.words import Edit

_ENDS: Final = {
    NothingWhy.NO_SESSION: "You rate in no session yet.",
    NothingWhy.ALL_DONE: "Nothing left for you.",
    NothingWhy.CLOSED: "The session {session} is closed. Nothing more is taken for it.",
    NothingWhy.WINDOW_OVER: "The time of the session {session} has ended. Ask whoever leads it.",
    NothingWhy.NOT_YET_OPEN: "The session {session} opens at {opens_at} UTC.",
}


def sentence(said: str) -> None:
    """Show what became of the last press, where that is worth a sentence."""
    if said:
        show(notice(said))


def plain_page(title: str, *paragraphs: str) -> None:
    """Show a page of a few sentences."""
    body = Markup("").join(Markup("<p>{}</p>").format(untrusted(each)) for each in paragraphs if each)
    show(Markup('<section class="vd-plain"><h1>{}</h1>{}</section>').format(untrusted(title), body))


def _bar(token: str, buttons: tuple[Button, ...], say: str) -> None:
    bar = Bar(token=token, buttons=buttons)
    draw(bar)
    listen(Screen(token=token, item=token, say=say, keys=bar.keys))


def nothing(me: Person, found: Nothing) -> None:
    """Say why there is no task."""
    opens = f"{found.opens_at:%d %b %Y, %H:%M}" if found.opens_at else "a time not yet set"
    title = _ENDS[found.why].format(name=me.handle, session=found.session or "", opens_at=opens)
    waiting = found.awaiting_adjudication
    gone = looking.handed_on(store=here.store(), rater=me.handle) if found.why is NothingWhy.ALL_DONE else 0
    cases = _cases_of(me) if found.why is NothingWhy.NO_SESSION else False
    if cases:
        title = "You rate in no session; you adjudicate."
    plain_page(
        title,
        f"{gone:,} of your items {'was' if gone == 1 else 'were'} given to other raters by whoever leads the "
        "session."
        if gone
        else "",
        f"{waiting:,} of your items {'awaits' if waiting == 1 else 'await'} adjudication." if waiting else "",
        "Your cases stand under Adjudicate."
        if cases
        else f"Whoever leads a session adds you by the name {me.handle}."
        if found.why is NothingWhy.NO_SESSION
        else "Your answers stand under My history.",
        "This page looks again when you reload it.",
    )
    _bar(f"nothing-{found.why}", (), title)


def _cases_of(me: Person) -> bool:
    """True where the person has a place as adjudicator."""
    mine = looking.sessions_of(store=here.store(), rater=me.handle, now=here.clock())
    return any(each.role is TaskKind.ADJUDICATE for each in mine)


HANDED_ON: Final = (
    "The item that was here was given to another rater by whoever leads the session; this is the next one."
)


def overtaken(*, taken_off: bool) -> None:
    """Say that a question was overtaken; none of the keys that could have answered it does anything here."""
    title = "This item was given to another rater." if taken_off else "This was answered in another tab."
    more = "" if taken_off else "That answer stands; U at the next item takes it back."
    plain_page(title, f"Your last key stored nothing. {more}".strip(), "Go on with → when you are ready.")
    buttons = (Button("onward", "On to the current item", "Right", _go_on),)
    _bar("overtaken", buttons, title)


def no_case(me: Person, found: Nothing) -> None:
    """Say why there is no case to adjudicate."""
    if found.why is NothingWhy.ALL_DONE:
        title = "No case is open for you."
        more = (
            "Disagreements come here once all raters of an item have answered. Reload the page to look again."
        )
    elif found.why is NothingWhy.NO_SESSION:
        title, more = "You adjudicate in no session.", f"Whoever leads one adds you by the name {me.handle}."
    else:
        nothing(me, found)
        return
    plain_page(title, more)
    _bar(f"no-case-{found.why}", (), title)


def comes_first(me: Person, task: Task, made: Progress, *, new_item: bool) -> bool:
    """True where something was shown instead of the task: a newer rubric, or a break."""
    if new_item:
        newer = memory.unread_rubric(
            store=here.store(), rater=me.handle, session=task.session, own=task.rubric
        )
        if newer is not None:
            _rubric_notice(me, task, newer)
            return True
        if made.break_due:
            _break_card(me, task, made)
            return True
    return False


# -- a break


def _break_card(me: Person, task: Task, made: Progress) -> None:
    full = made.batch_done == made.batch_size
    title = (
        f"Batch {made.batch:,} is done."
        if full
        else f"{made.minutes_since_break:.0f} minutes without a break."
    )
    plain_page(
        title,
        "Look up for a few minutes: judgments drift when people tire. The next item waits, and nobody counts "
        "the time of a break.",
    )
    token = f"break-{made.done}"
    buttons = (
        Button("taken", "I am back from a break", "1", _paused, (me, task.session, EventKind.BREAK)),
        Button("skipped", "Go on without one", "2", _paused, (me, task.session, EventKind.BREAK_SKIPPED)),
    )
    _bar(token, buttons, title)


@here.only(Role.RATER)
def _paused(me: Person, session: str, kind: EventKind) -> None:
    rating.note_event(store=here.store(), rater=me.handle, session=session, kind=kind, now=here.clock())


# -- a newer rubric


def _rubric_notice(me: Person, task: Task, newer: Rubric) -> None:
    title = f"{newer.ref} was published."
    plain_page(
        title,
        f"This session goes on under {task.rubric.ref}: keep to the card beside each item. What you answered "
        "stays under that version. What differs in the new one:",
    )
    changes = diff_rubrics(task.rubric, newer).changes
    show(Markup('<ul class="vd-changes">{}</ul>').format(Markup("").join(_change(each) for each in changes)))
    token = f"rubric-{newer.version}"
    buttons = (Button("read", "I have read this", "1", _read, (me, task.session)),)
    _bar(token, buttons, title)


def _change(change: Change) -> Markup:
    if not (change.before and change.after):
        text = change.after or change.before
        return Markup("<li>{}{}</li>").format(untrusted(str(change)), prose(text) if text else "")
    runs = Markup("").join(
        Markup("<{0}>{1}</{0}>").format(_TAGS[run.edit], untrusted(run.text)) for run in change.words
    )
    return Markup('<li>{}<div class="vd-txt" dir="auto">{}</div></li>').format(untrusted(str(change)), runs)


_TAGS: Final = {Edit.KEPT: "span", Edit.ADDED: "ins", Edit.REMOVED: "del"}


@here.only(Role.RATER)
def _read(me: Person, session: str) -> None:
    rating.note_event(
        store=here.store(), rater=me.handle, session=session, kind=EventKind.RUBRIC_NOTICE, now=here.clock()
    )


# -- practice


def practice_feedback(me: Person, task: Task, answered: Feedback) -> None:
    """Show what the rubric says of the practice case that was just answered, beside its texts."""
    labels = {choice.value: choice.label for choice in answers(task.criterion)}
    expected = labels.get(answered.expected, answered.expected)
    title = f"The rubric says so too: {expected}." if answered.agrees else f"The rubric says: {expected}."
    show(progress_line(label="Practice", done=task.position, of=task.of, right=me.name))
    left, right = st.columns(reading.COLUMNS, gap="large")
    with left:
        reading.item(task)
    with right, st.container(key="vd_card"):
        show(
            Markup('<section class="vd-card" aria-label="Feedback">{}<h1>{}</h1>{}</section>').format(
                eyebrow("Practice: not counted"), untrusted(title), prose(answered.why)
            )
        )
        reading.card(task)
    _bar(f"feedback-{task.key}", (Button("on", "Go on", "1", _go_on),), title)


def _go_on() -> None:
    keep(Desk(token=""))
