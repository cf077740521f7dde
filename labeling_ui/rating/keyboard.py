"""The part of the keyboard that Streamlit's shortcuts leave out, as a component without a frame.

The script only ever gets digits, keys and sentences of this module: nothing of an item, a rubric or a
person reaches it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import streamlit as st

from calibration.labeling.records import EARLIEST_MS

_HELP: Final = (
    ("1 – 9", "say what stands on the button"),
    ("U", "undo the last answer; both entries are kept"),
    ("←  →", "look at the answer before; back to the current item"),
    ("N", "write a note"),
    ("Esc", "leave the note; back from a question; close this list"),
    ("S", "go to the next sentence of the text, with Shift to the one before"),
    ("M", "copy that sentence, or what is selected, into the note"),
    ("E", "fold the evidence, unfold it"),
    ("H", "this list"),
    ("Tab", "everything else"),
)
_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Screen:
    """What is on the screen, as far as the keyboard must know."""

    token: str
    """Changes whenever other choices are on the screen."""
    item: str
    """Changes with the item; a new item is shown from its top."""
    say: str
    """What a screen reader hears once the token has changed: places and counts, never texts."""
    keys: Iterable[str]
    """The keys of the choices: held back while nobody can have seen what they would answer."""
    note: str = ""
    """The widget key of the note, if there is one."""
    focus: bool = False
    """True where the page is there to be typed into: the field has the focus from the start."""
    fresh: bool = True
    """True where the question itself is new; a reason or a way to fail may be answered sooner."""


def _help_rows() -> str:
    rows = (f"<dt><kbd>{key}</kbd></dt><dd>{words}</dd>" for key, words in _HELP)
    return "".join(rows)


@cache
def _component() -> st.components.v2.types.ComponentRenderer:
    return st.components.v2.component(
        "voirdire_keys",
        html=(
            '<div role="status" aria-live="polite" class="vd-heard"></div>'
            '<div id="vd-help" role="dialog" aria-label="Keys" tabindex="-1" hidden>'
            f"<p><b>Keys</b></p><dl>{_help_rows()}</dl></div>"
        ),
        css=(_FOLDER / "keyboard.css").read_text("utf-8"),
        js=(_FOLDER / "keyboard.js").read_text("utf-8"),
        isolate_styles=False,
    )


def listen(screen: Screen) -> None:
    """Tell the page's script what is on the screen; call it last, when all of it was sent."""
    run = st.session_state.get("keyboard_run", 0) + 1
    st.session_state["keyboard_run"] = run
    _component()(
        key="keyboard",
        # a list, for of a mapping every value would be looked at as a possible table
        data=[
            {
                "token": screen.token,
                "item": screen.item,
                "say": screen.say,
                "guarded": [key.lower() for key in screen.keys],
                "note": screen.note,
                "focus": screen.focus,
                "fresh": screen.fresh,
                "earliest": EARLIEST_MS,
                "run": run,
            }
        ],
    )
