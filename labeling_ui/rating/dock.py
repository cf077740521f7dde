"""The bar at the bottom that is always in view: buttons with one key each, bound to what they answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import streamlit as st
from markupsafe import Markup

from labeling_ui.components import key_hints, plain, show, untrusted

_ACTED: Final = "dock_acted"
_ROW: Final = 6
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$^=&'\"/@])")


@dataclass(frozen=True, slots=True)
class Button:
    """One thing to press."""

    name: str
    """Tells it from the other buttons of the bar: letters, digits, underscores."""
    label: str
    """Words, taken as words: nothing in them is formatted."""
    key: str | None
    act: Callable[..., None]
    args: tuple[Any, ...] = ()
    icon: str | None = None
    quiet: bool = False
    """True for what is no answer."""
    enabled: bool = True

    def widget_key(self, token: str) -> str:
        """The key of its widget: bound to what it answers, so a late press answers nothing else."""
        return f"{self.name}-{token}"


@dataclass(frozen=True, slots=True)
class Bar:
    """What stands in the bar."""

    token: str
    """What the buttons answer; part of every widget key."""
    buttons: Sequence[Button]
    ask: str = ""
    """The question that they answer, where the card does not ask it."""
    hints: Sequence[tuple[str, str]] = ()
    """Keys beside those on the buttons, and what they do."""
    remark: str = ""
    last_narrow: bool = False
    """True where the last of four buttons is no answer and takes less room."""
    tools: Sequence[Button] = ()
    """Small buttons under the large ones."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys that a press of which does something now."""
        return tuple(each.key for each in (*self.buttons, *self.tools) if each.key and each.enabled)


def words_only(label: str) -> str:
    """The label for a slot that reads Markdown: every sign that could format is written out."""
    return _MARKDOWN.sub(r"\\\1", plain(label, most=60))


def draw(bar: Bar) -> None:
    """Show the bar, and do what was pressed if no callback has done it.

    After a restart of the server a press arrives for a page that the new server never drew: then there is
    no callback, and the button's own return value is all that is left of the press.
    """
    with st.bottom, st.container(key="vd_dock", gap="small"):
        if bar.ask:
            show(Markup('<p class="vd-ask">{}</p>').format(untrusted(bar.ask)))
        with st.container(key=f"vd_answers_{_columns(bar)}", horizontal=True):
            for button in bar.buttons:
                _button(button, bar.token)
        with st.container(key="vd_tools", horizontal=True, gap="small", vertical_alignment="center"):
            for button in bar.tools:
                _button(button, bar.token, width="content")
            if bar.hints or bar.remark:
                show(key_hints(bar.hints, remark=bar.remark))
    st.session_state.pop(_ACTED, None)


def _columns(bar: Bar) -> str:
    """How the style sheet sets the buttons: in so many columns, or with the last one narrower."""
    count = len(bar.buttons)
    rows = max(-(-count // _ROW), 1)
    return "wide" if bar.last_narrow else str(-(-count // rows))


def _button(button: Button, token: str, *, width: Literal["stretch", "content"] = "stretch") -> None:
    kind: Literal["secondary", "tertiary"] = "tertiary" if button.quiet else "secondary"
    pressed = st.button(
        words_only(button.label),
        key=button.widget_key(token),
        icon=button.icon,
        type=kind,
        width=width,
        shortcut=button.key,
        disabled=not button.enabled,
        on_click=_acting,
        args=(button.act, *button.args),
    )
    if pressed and not st.session_state.get(_ACTED):
        button.act(*button.args)
        st.rerun()


def _acting(act: Callable[..., None], *args: Any) -> None:
    st.session_state[_ACTED] = True
    act(*args)
