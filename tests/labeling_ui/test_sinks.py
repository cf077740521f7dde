"""Item text has one way onto a page; the code of the apps knows no other."""

from __future__ import annotations

import ast

import pytest

from tests.labeling_ui.sinks import sinks
from tests.source_tree import ROOT, parsed, product_files

FILES = [file for file in product_files() if file.is_relative_to(ROOT / "labeling_ui")]
ESCAPING = "labeling_ui/escaping.py"
"""Where escaped text becomes Markup; tests/labeling_ui/test_escaping.py holds it to its word."""


def test_the_files_are_found() -> None:
    """The walk would be idle without files."""
    assert {"components.py", "escaping.py", "launcher.py"} <= {file.name for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_no_other_way_onto_a_page(file: object) -> None:
    """No page calls what could read Markdown, HTML or anything else out of a text."""
    path = next(each for each in FILES if each == file)
    name = str(path.relative_to(ROOT))
    found = [each for each in sinks(parsed(path), name) if not (name == ESCAPING and "Markup of" in each)]
    assert found == []


def test_only_one_function_makes_html_of_text() -> None:
    """In the one file that may, Markup of a text stands once."""
    found = list(sinks(parsed(ROOT / ESCAPING), ESCAPING))
    assert [each.split(": ")[1] for each in found] == ["Markup of what is not a literal"]


@pytest.mark.parametrize(
    "code",
    [
        "st.markdown(text)",
        "st.write(text)",
        "st.error(text)",
        "st.warning('x')",
        "st.exception(error)",
        "st.html(text)",
        "st.text(text)",
        "st.image(text)",
        "st.iframe(text)",
        "st.link_button('x', text)",
        "st.caption(text)",
        "st.button(text)",
        "st.button(label=text)",
        "st.button(f'Pass {name}')",
        "st.button('x', help=note)",
        "st.button('a' + name)",
        "st.expander(title)",
        "st.tabs(names)",
        "st.Page(file, title=name)",
        "st.text_area(label)",
        "st.text_area(label, label_visibility=shown)",
        "st.radio('x', names, captions=notes)",
        "left.markdown(text)",
        "left.html(text)",
        "left.button(text)",
        "st.sidebar.markdown(text)",
        "st.columns(2)[0].write(text)",
        "st.markdown('x', unsafe_allow_html=True)",
        "st.html('x', unsafe_allow_javascript=True)",
        "Markup(text)",
        "Markup(f'<b>{text}</b>')",
        "Markup('<b>' + text)",
        "markupsafe.Markup(text)",
        "st.components.v1.html(text)",
        "from streamlit import markdown",
        "from streamlit.components.v1 import html",
        "import streamlit",
        "text",
        "f'{text}'",
    ],
)
def test_a_sink_is_noticed(code: str) -> None:
    """The walk sees each way in which a text could slip through."""
    assert list(sinks(ast.parse(code), "labeling_ui/rating/app.py"))


@pytest.mark.parametrize(
    "code",
    [
        "show(untrusted(text))",
        "Markup('<b>{}</b>').format(untrusted(text))",
        "st.button('Pass', icon=':material/check:', shortcut='1')",
        "st.button(LABELS[answer])",
        "st.button('A' if x else 'B')",
        "st.selectbox('Who', [plain(name) for name in names])",
        "left.button('Pass')",
        "st.dataframe(table)",
        "st.caption(f'{count:,} items')",
        "st.button(words_only(mode.key))",
        "st.text_area(label, label_visibility='collapsed', placeholder=hint)",
        "st.Page(FOLDER / name, title='Label')",
        "sys.stderr.write(text)",
        "'''a docstring'''",
        "st.session_state.setdefault('x', 1)",
    ],
)
def test_a_safe_way_is_let_through(code: str) -> None:
    """What goes through the one way, or is our own word, is no finding."""
    assert list(sinks(ast.parse(code), "labeling_ui/rating/app.py")) == []
