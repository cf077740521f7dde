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
    widths: Sequence[int] = ()
    """Relative widths of one row; () makes rows of equal ones."""
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
        for row in _rows(bar):
            columns = st.columns(bar.widths or len(row), gap="small", vertical_alignment="center")
            for column, button in zip(columns, row, strict=False):
                _button(column, button, bar.token)
        with st.container(key="vd_tools", horizontal=True, gap="small", vertical_alignment="center"):
            for button in bar.tools:
                _button(st, button, bar.token, width="content")
            if bar.hints or bar.remark:
                show(key_hints(bar.hints, remark=bar.remark))
    st.session_state.pop(_ACTED, None)


def _rows(bar: Bar) -> list[Sequence[Button]]:
    if bar.widths:
        return [bar.buttons]
    count = -(-len(bar.buttons) // _ROW)
    wide = -(-len(bar.buttons) // max(count, 1))
    return [bar.buttons[at : at + wide] for at in range(0, len(bar.buttons), max(wide, 1))]


def _button(
    column: Any, button: Button, token: str, *, width: Literal["stretch", "content"] = "stretch"
) -> None:
    kind: Literal["secondary", "tertiary"] = "tertiary" if button.quiet else "secondary"
    pressed = column.button(
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
