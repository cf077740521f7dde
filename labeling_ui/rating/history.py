"""My history: one's own answers, newest first; nobody else's."""

from __future__ import annotations

from typing import Final

import streamlit as st
from markupsafe import Markup

from calibration.labeling import looking
from calibration.labeling.choices import REASONS, words
from calibration.labeling.looking import EXCERPT
from calibration.labeling.people import Role
from calibration.labeling.records import Past
from labeling_ui.components import plain, show, untrusted
from labeling_ui.rating import here, interludes, reading
from labeling_ui.rating.desk import Desk, keep, load
from labeling_ui.rating.dock import Bar, Button, draw
from labeling_ui.rating.keyboard import Screen, listen
from labeling_ui.rating.lookback import place_of

_PAGE: Final = 20
_SHOWN: Final = "history_shown"
_KEYS: Final = "123456789"
_ANSWERS: Final = {
    "pass": "Pass",
    "fail": "Fail",
    "unknown": "Cannot decide",
    "left": "Left is better",
    "right": "Right is better",
    "tie": "Tie",
}


def page() -> None:
    """Show the newest answers, and lead to each of them."""
    me = here.signed_in(Role.RATER)
    if load().looking is not None:
        st.switch_page("views/label.py")
    shown = int(st.session_state.get(_SHOWN, _PAGE))
    past = looking.history(store=here.store(), rater=me.handle, limit=shown + 1, now=here.clock())
    if not past:
        interludes.plain_page("No answers yet.", "What you answer under Label stands here, newest first.")
        return
    show(Markup('<h1 class="vd-title">My history</h1>'))
    for place, each in enumerate(past[:shown]):
        _line(place, each)
    older = (
        (Button("older", "Older answers", "O", _older, (shown,), quiet=True),) if len(past) > shown else ()
    )
    bar = Bar(token=f"history-{shown}", buttons=older)
    draw(bar)
    keys = (*_KEYS[: min(len(past), shown)], *bar.keys)
    listen(Screen(token=bar.token, item="history", say=f"{min(len(past), shown)} answers", keys=keys))


def _line(place: int, past: Past) -> None:
    with st.container(key=f"vd_past_{place}", horizontal=True, vertical_alignment="center"):
        show(_words(past))
        st.button(
            "Open",
            key=f"open-{past.given.digest[:16]}-{place}",
            shortcut=_KEYS[place] if place < len(_KEYS) else None,
            on_click=_open,
            args=(past,),
            disabled=past.given.retracted,
        )


def _words(past: Past) -> Markup:
    given = past.given
    reasons = {choice.value: choice.label.lower() for choice in REASONS}
    more = [reasons.get(given.reason or "", given.reason or ""), words(given.failure_mode or "").lower()]
    detail = ", ".join(each for each in more if each)
    answer = _ANSWERS.get(given.value, given.value) + (f": {detail}" if detail else "")
    state = "taken back" if given.retracted else "" if past.changeable else "session closed"
    line = Markup(
        '<div class="vd-past{}"><i class="vd-m vd-m-{}"></i><div><p><b>{}</b> <span>{}</span></p>'
        '<p class="vd-excerpt" dir="auto">{}</p><p class="vd-when">{}</p></div></div>'
    )
    when = " · ".join(
        part
        for part in (past.session, f"item {past.position}", f"{given.decided_at:%d %b %Y, %H:%M} UTC", state)
        if part
    )
    return line.format(
        " vd-back" if given.retracted else "",
        reading.mark(given.value),
        untrusted(answer),
        untrusted(past.criterion_title),
        untrusted(
            plain(f"{past.excerpt}…" if len(past.excerpt) >= EXCERPT else past.excerpt, most=EXCERPT + 1)
        ),
        untrusted(when + (f" · note: {plain(given.note, most=80)}" if given.note else "")),
    )


def _open(past: Past) -> None:
    keep(Desk(token="", looking=place_of(past)))


def _older(shown: int) -> None:
    st.session_state[_SHOWN] = shown + _PAGE
