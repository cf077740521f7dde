"""What both apps show, and the two ways in which anything reaches a page.

Everything that came from outside (item text, judges' reasons, notes, names, rubrics) becomes HTML in
`untrusted` and nowhere else, and HTML reaches a page in `show` and nowhere else. Text for a widget that
draws its words itself (an option of a list, a cell of a grid) goes through `plain`.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from markupsafe import Markup

from labeling_ui.escaping import Range, plain, untrusted
from labeling_ui.panels import Field, criterion_panel, field_panel, item_panel
from labeling_ui.pieces import eyebrow, key_hints, keycap, notice, progress_line, source_chip, spoken
from labeling_ui.texts import laid_out, prose, trajectory
from labeling_ui.theme import style_sheet

__all__ = [
    "Field",
    "Markup",
    "Range",
    "apologise",
    "criterion_panel",
    "eyebrow",
    "field_panel",
    "item_panel",
    "key_hints",
    "keycap",
    "laid_out",
    "notice",
    "page_style",
    "plain",
    "progress_line",
    "prose",
    "show",
    "source_chip",
    "spoken",
    "trajectory",
    "untrusted",
]


def show(*parts: Markup) -> None:
    """Put HTML on the page. Takes Markup only, so that a bare string cannot slip through."""
    for part in parts:
        if not isinstance(part, Markup):
            raise TypeError(f"{type(part).__name__} is not Markup: text goes through untrusted() first")
    st.html(str(Markup("").join(parts)))


def page_style(*more: Path) -> None:
    """Put the style sheet on the page, and an app's own after it; every page calls it first."""
    sheets = [style_sheet(), *(sheet.read_text(encoding="utf-8") for sheet in more)]
    st.html(f"<style>{''.join(sheets)}</style>")


def apologise() -> None:
    """Say that something went wrong on a page, without a trace of what."""
    page_style()
    show(
        notice(
            "Something went wrong here, and nothing of the last step was stored.",
            "Reload the page to go on. If it happens again, tell whoever runs voirdire: the cause stands in "
            "the terminal where the app was started.",
        )
    )
