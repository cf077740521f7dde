"""Adjudicate: an own verdict first, then the raters' answers without names, then the resolution.

Which item comes, and why, is not this page's business: it shows one case after the other in their order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st
from markupsafe import Markup

from calibration.labeling import adjudicating
from calibration.labeling.choices import Choice, answers
from calibration.labeling.people import Role
from calibration.labeling.records import (
    UNKNOWN,
    Case,
    GivenAnswer,
    Nothing,
    Person,
    Revealed,
    Span,
    Task,
)
from labeling_ui.components import eyebrow, prose, show, untrusted
from labeling_ui.rating import here, interludes, reading
from labeling_ui.rating.desk import Desk, as_sentence, keep, load, too_early
from labeling_ui.rating.dock import Bar, Button, draw
from labeling_ui.rating.flow import START, Half, Said, Step, after, choices_at
from labeling_ui.rating.keyboard import Screen, listen
from rubrics.errors import JudgeCalibrationError

_FIRST: Final = "Your own verdict first; the raters' answers come after it."
_FINAL: Final = "The resolution, with the reason in the field (N)."


def page() -> None:
    """Show the next case, or that none is open."""
    me = here.signed_in(Role.ADJUDICATOR)
    case = adjudicating.next_case(store=here.store(), rater=me.handle, now=here.clock())
    if load().overtaken("" if isinstance(case, Nothing) else _token(case)):
        interludes.overtaken(taken_off=False)
        return
    if isinstance(case, Nothing):
        interludes.no_case(me, case)
        return
    desk = load().facing(_token(case))
    _head(me, case.task)
    interludes.sentence(desk.said)
    if case.first is None:
        _first_step(me, case.task, desk)
    else:
        _final_step(me, case.task, case.first)
    keep(desk.sent(here.clock()))


def _token(case: Case) -> str:
    """The step of the case that is on the screen."""
    return f"{'first' if case.first is None else 'final'}-{case.task.key}"


def _head(me: Person, task: Task) -> None:
    found = adjudicating.counts(store=here.store(), rater=me.handle, session=task.session)
    line = Markup(
        '<div class="vd-prog vd-counts"><span><b>Open {}</b> · resolved {} · unresolved {}</span></div>'
    )
    show(line.format(f"{found.open:,}", f"{found.resolved:,}", f"{found.unresolved:,}"))


def _listen(bar: Bar, task: Task, half: Half, note: str) -> None:
    say = f"Case {task.position} of {task.of}. {bar.ask}"
    listen(
        Screen(
            token=f"{bar.token}/{half.step}",
            item=task.assignment,
            say=say,
            keys=bar.keys,
            note=note,
            fresh=half == START,
        )
    )


# -- the own verdict


def _first_step(me: Person, task: Task, desk: Desk) -> None:
    token = f"first-{task.key}"
    left, right = st.columns(reading.COLUMNS, gap="large")
    with left:
        reading.item(task)
    with right, st.container(key="vd_card"):
        if desk.half.step is Step.MODE:
            reading.legend(task, choices_at(desk.half, task.criterion))
        else:
            reading.card(task)
        reading.note(task)
    buttons = [
        Button(each.name, each.label, each.key, choose, (me, task, each), each.icon)
        for each in choices_at(desk.half, task.criterion)
    ]
    if desk.half.step is not Step.ANSWER:
        buttons.append(Button("back", "Back", "Escape", _go_back, (token,), quiet=True))
    bar = Bar(token=token, buttons=buttons, ask=reading.ASKS[desk.half.step] or _FIRST, hints=reading.HINTS)
    draw(bar)
    _listen(bar, task, desk.half, reading.note_key(task))


@here.only(Role.ADJUDICATOR)
def choose(me: Person, task: Task, choice: Choice) -> None:
    """Take a choice of the own verdict: ask on, or record it, which opens the reveal."""
    now = here.clock()
    desk = load()
    if desk.token != f"first-{task.key}" or desk.shown_at is None:
        return
    if desk.half == START and too_early(desk.shown_at, now):
        return
    said = after(desk.half, choice, task.criterion)
    if isinstance(said, Half):
        keep(replace(desk, half=said, said=""))
    elif said is not None:
        _record_first(me, task, said, desk)


def _record_first(me: Person, task: Task, said: Said, desk: Desk) -> None:
    now = here.clock()
    answer = reading.answer_of(task, said, shown_at=desk.shown_at or now, decided_at=now)
    try:
        adjudicating.first_verdict(store=here.store(), rater=me.handle, task=task.key, answer=answer, now=now)
    except JudgeCalibrationError as error:
        keep(replace(desk, half=START, said=as_sentence(error)))
        return
    keep(Desk(token=""))


def _go_back(token: str) -> None:
    desk = load()
    if desk.token == token:
        keep(replace(desk, half=START))


# -- the reveal and the resolution


def _final_step(me: Person, task: Task, first: GivenAnswer) -> None:
    found = adjudicating.reveal(store=here.store(), rater=me.handle, task=task.key, now=here.clock())
    left, right = st.columns(reading.COLUMNS, gap="large")
    with left:
        reading.item(task, _marked(found))
    with right, st.container(key="vd_card"):
        _answers(task, first, found)
        reading.reason(task)
        reading.card(task)
    buttons = [
        Button(
            f"final_{each.value}",
            "Leave unresolved" if each.value == UNKNOWN else each.label,
            each.key,
            resolve,
            (me, task, each.value),
            each.icon,
        )
        for each in answers(task.criterion)
    ]
    bar = Bar(token=f"final-{task.key}", buttons=buttons, ask=_FINAL, hints=reading.HINTS)
    draw(bar)
    _listen(bar, task, START, reading.reason_key(task))


def _marked(found: tuple[Revealed, ...]) -> list[Span]:
    return [span for each in found for span in each.spans]


def _answers(task: Task, first: GivenAnswer, found: tuple[Revealed, ...]) -> None:
    one = Markup('<div class="vd-gd"><i class="vd-m vd-m-{}"></i><b>{}</b><div>{}</div></div>')
    rows = [
        one.format(
            reading.mark(each.value),
            untrusted(f"Rater {each.letter}: {reading.in_words(task, each)}"),
            prose(each.note) if each.note else Markup(""),
        )
        for each in found
    ]
    own = one.format(
        reading.mark(first.value), untrusted(f"You, before: {reading.in_words(task, first)}"), Markup("")
    )
    card = Markup('<section class="vd-revealed" aria-label="Answers in dispute">{}{}{}</section>')
    show(card.format(eyebrow("Answers in dispute"), Markup("").join(rows), own))


@here.only(Role.ADJUDICATOR)
def resolve(me: Person, task: Task, value: str) -> None:
    """Record the resolution; leaving the item unresolved is one too."""
    now = here.clock()
    desk = load()
    if desk.token != f"final-{task.key}" or too_early(desk.shown_at, now):
        return
    reason = str(st.session_state.get(reading.reason_key(task)) or "").strip()
    try:
        adjudicating.resolve(
            store=here.store(), rater=me.handle, task=task.key, value=value, reason=reason, now=now
        )
    except JudgeCalibrationError as error:
        keep(replace(desk, said=as_sentence(error)))
        return
    keep(Desk(token=""))
