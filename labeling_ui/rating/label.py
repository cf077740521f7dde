"""Label: one criterion of one item at a time, answered by one key, and never a list to pick from."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st

from calibration.labeling import looking, rating
from calibration.labeling.choices import Choice
from calibration.labeling.people import Role
from calibration.labeling.records import (
    IgnoredWhy,
    Nothing,
    Person,
    Progress,
    Task,
    TaskKind,
)
from labeling_ui.rating import here, interludes, lookback, memory, reading
from labeling_ui.rating.desk import Desk, as_sentence, keep, load, too_early
from labeling_ui.rating.dock import Bar, Button, draw
from labeling_ui.rating.flow import START, Half, Said, Step, after, choices_at
from labeling_ui.rating.keyboard import Screen, listen
from rubrics.errors import JudgeCalibrationError

_OTHER_TAB: Final = (
    "This was answered in another tab, and that answer stands. Undo it with U to give another one."
)


def page() -> None:
    """Show what is next: a task, something in between, or that nothing is left."""
    me = here.signed_in(Role.RATER)
    now = here.clock()
    desk = load()
    if desk.looking is not None:
        lookback.page(me, desk.looking)
        return
    if desk.practised is not None:
        interludes.practice_feedback(me, *desk.practised)
        return
    task = rating.next_task(store=here.store(), rater=me.handle, now=now)
    if desk.overtaken("" if isinstance(task, Nothing) else str(task.key)):
        interludes.overtaken(taken_off=_taken_off(me, desk))
        return
    if isinstance(task, Nothing):
        interludes.nothing(me, task)
        return
    made = looking.progress(store=here.store(), rater=me.handle, session=task.session, now=now)
    if interludes.comes_first(
        me, task, made, new_item=desk.token != str(task.key) and task.criterion_no == 1
    ):
        return
    _ask(me, task, made, desk)


def _taken_off(me: Person, desk: Desk) -> bool:
    """True where what this tab showed last was given to somebody else."""
    assignment = (desk.token or "").partition("-")[0]
    return looking.handed_on(store=here.store(), rater=me.handle, assignment=assignment) > 0


def _ask(me: Person, task: Task, made: Progress, desk: Desk) -> None:
    token = str(task.key)
    if desk.token and desk.token != token and not desk.said and _taken_off(me, desk):
        desk = replace(desk, said=interludes.HANDED_ON)
    desk = desk.facing(token)
    reading.progress(made, task, me.name)
    interludes.sentence(desk.said)
    left, right = st.columns(reading.COLUMNS, gap="large")
    with left:
        reading.item(task)
    with right, st.container(key="vd_card"):
        if desk.half.step is Step.MODE:
            reading.legend(task, choices_at(desk.half, task.criterion))
        else:
            reading.card(task)
        reading.note(task)
    bar = aside_bar(me, task) if desk.setting_aside else answer_bar(me, task, made, desk.half)
    draw(bar)
    listen(
        Screen(
            token=f"{token}/{desk.half.step}/{desk.setting_aside}",
            item=task.assignment,
            say=reading.heard(task) if not bar.ask else bar.ask,
            keys=bar.keys,
            note=reading.note_key(task),
            fresh=not bar.ask,
        )
    )
    keep(desk.sent(here.clock()))


# -- the bar


def answer_bar(me: Person, task: Task, made: Progress, half: Half) -> Bar:
    """The choices on the screen, undo at the first of them, a way back at the others."""
    choices = tuple(
        Button(each.name, each.label, each.key, choose, (me, task, each), each.icon)
        for each in choices_at(half, task.criterion)
    )
    token = str(task.key)
    if half.step is not Step.ANSWER:
        back = Button("back", "Back", "Escape", go_back, (token,), quiet=True)
        return Bar(token=token, buttons=(*choices, back), ask=reading.ASKS[half.step])
    practice = task.kind is TaskKind.PRACTICE
    said_something = not practice and (made.done > 0 or task.criterion_no > 1)
    undo = Button(
        "undo", "Undo", "U", take_back, (me, task), ":material/undo:", quiet=True, enabled=said_something
    )
    before = Button(
        "before",
        "Previous",
        "Left",
        lookback.step_back,
        (me, task.session, None),
        quiet=True,
        enabled=said_something,
    )
    broken = Button("broken", "Item is broken", "B", ask_aside, (token,), quiet=True, enabled=not practice)
    return Bar(
        token=token,
        buttons=(*choices, undo),
        tools=(before, broken),
        hints=reading.HINTS,
        remark="Stored at once; undo keeps both entries.",
        last_narrow=len(choices) == 3,
    )


def aside_bar(me: Person, task: Task) -> Bar:
    """The question whether the item is broken."""
    token = str(task.key)
    return Bar(
        token=token,
        ask="Set this item aside as broken? Say in the note what is wrong with it (N), then press 1.",
        buttons=(
            Button("aside", "Set it aside", "1", set_aside, (me, task)),
            Button("back", "Back", "Escape", go_back, (token,), quiet=True),
        ),
    )


# -- what a press does


@here.only(Role.RATER)
def choose(me: Person, task: Task, choice: Choice) -> None:
    """Take a choice: ask on, or store the whole answer at once."""
    now = here.clock()
    desk = _desk_of(me, task)
    if desk.token != str(task.key):
        return
    if desk.half == START and too_early(desk.shown_at, now):
        return
    said = after(desk.half, choice, task.criterion)
    if isinstance(said, Half):
        keep(replace(desk, half=said, said=""))
    elif said is not None and desk.shown_at is not None:
        _store(me, task, said, desk)


def _desk_of(me: Person, task: Task) -> Desk:
    """The desk of this tab; after a restart, of which the tab knows nothing, as the store remembers it."""
    desk = load()
    if desk.token is not None:
        return desk
    shown_at = memory.last_shown(
        store=here.store(), rater=me.handle, session=task.session, task=task.key, now=here.clock()
    )
    return Desk(token=str(task.key), shown_at=shown_at)


def _store(me: Person, task: Task, said: Said, desk: Desk) -> None:
    now = here.clock()
    answer = reading.answer_of(task, said, shown_at=desk.shown_at or now, decided_at=now)
    try:
        done = rating.answer(store=here.store(), rater=me.handle, task=task.key, answer=answer, now=now)
    except JudgeCalibrationError as error:
        keep(replace(desk, half=START, said=as_sentence(error)))
        return
    if done.feedback is not None:
        keep(Desk(token="", practised=(task, done.feedback)))
    elif done.ignored is IgnoredWhy.ALREADY_ANSWERED:
        keep(Desk(token="", said=_OTHER_TAB))
    elif done.ignored is None:
        keep(Desk(token=""))


def go_back(token: str) -> None:
    """From a further question to the first one; nothing was stored."""
    desk = load()
    if desk.token == token:
        keep(replace(desk, half=START, setting_aside=False))


@here.only(Role.RATER)
def take_back(me: Person, task: Task) -> None:
    """Undo the last answer: it is taken back, both entries stay, and its item is next again."""
    lookback.retract_last(me, task.session)


def ask_aside(token: str) -> None:
    """Ask whether the item is broken."""
    desk = load()
    if desk.token == token:
        keep(replace(desk, setting_aside=True, said=""))


@here.only(Role.RATER)
def set_aside(me: Person, task: Task) -> None:
    """Flag the item as broken, with the note as the reason."""
    note = reading.noted(task)
    try:
        rating.flag_broken(store=here.store(), rater=me.handle, task=task.key, why=note, now=here.clock())
    except JudgeCalibrationError as error:
        keep(replace(load(), said=as_sentence(error)))
        return
    keep(Desk(token=""))
