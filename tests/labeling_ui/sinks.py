"""Where the apps let words onto a page other than through `untrusted` and `show`: a look at syntax trees.

Everything of `st` is refused unless it is listed here with what may stand in its words. A word that is a
literal is ours; so is a name in capitals, the spelling of a constant. Whatever else may carry text
from outside: it goes through `untrusted` or `plain`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

OWN_WORDS: Final = {
    # what reads Markdown or HTML in its label: our own words only
    "button", "checkbox", "dialog", "download_button", "expander", "form", "form_submit_button", "page_link",
    "pills", "popover", "radio", "segmented_control", "selectbox", "set_page_config", "spinner", "status",
    "tabs", "text_area", "text_input", "toggle", "number_input", "subheader", "title", "header", "metric",
    "multiselect", "Page", "caption", "toast",
}  # fmt: skip
WITHOUT_WORDS: Final = {
    "altair_chart", "App", "bottom", "cache_data", "cache_resource", "columns", "container", "context",
    "dataframe", "divider", "empty", "fragment", "login", "logout", "navigation", "query_params", "rerun",
    "secrets", "session_state", "sidebar", "space", "stop", "switch_page", "user", "logo",
}  # fmt: skip
"""What shows no words, or draws them on a canvas; a chart's words are checked where charts are made."""
SHEETS_AND_SHOW: Final = "labeling_ui/components.py"
"""The one file that may call `st.html`."""
READ_AS_MARKDOWN: Final = {"label", "help", "title", "body", "caption", "captions", "header"}
NOT_WORDS_FIRST: Final = {"Page", "page_link"}
"""Whose first argument is a file."""
WRITES: Final = {
    "markdown", "write", "html", "iframe", "latex", "write_stream", "code", "text", "json", "error",
    "warning", "info", "success", "exception", "image", "link_button", "table", "chat_message", "help",
    "echo", "badge",
}  # fmt: skip
"""What a page never calls, on `st` or on a container."""
MADE_SAFE: Final = {"words_only"}
"""Functions whose result a slot that reads Markdown may have: every sign that formats is written out."""


def sinks(tree: ast.Module, file: str) -> Iterator[str]:
    """Each place in the file where words could reach a page unseen to, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imports(node)
        elif isinstance(node, ast.Call):
            yield from _call(node, file)
        elif isinstance(node, ast.Expr) and not isinstance(
            node.value, ast.Call | ast.Yield | ast.YieldFrom | ast.Await | ast.Constant
        ):
            yield f"{node.lineno}: a bare value, which magic would show"


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("streamlit"):
        if not (node.module or "").startswith("streamlit.runtime") and node.module != "streamlit.errors":
            yield f"{node.lineno}: from {node.module} import: write st.name, so that it can be looked at"
    elif isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.startswith("streamlit") and (alias.name, alias.asname) != ("streamlit", "st"):
                yield f"{node.lineno}: import {alias.name}: write import streamlit as st"


def _call(node: ast.Call, file: str) -> Iterator[str]:
    for keyword in node.keywords:
        if keyword.arg in {"unsafe_allow_html", "unsafe_allow_javascript"}:
            yield f"{node.lineno}: {keyword.arg}"
    path = _path(node.func)
    if (path and path[0] == "Markup") or path[-1:] == ("Markup",):
        yield from _markup(node)
    if len(path) < 2:
        return
    name = path[-1]
    if path[0] == "sys" or (path == ("st", "html") and file == SHEETS_AND_SHOW):
        return
    if name in WRITES:
        yield f"{node.lineno}: {'.'.join(path)}"
    elif name in OWN_WORDS:
        if not _own_words(node, name):
            yield f"{node.lineno}: {'.'.join(path)} with words that are not ours"
    elif path[0] == "st" and path[1] not in WITHOUT_WORDS and path[1:] != ("components", "v2", "component"):
        yield f"{node.lineno}: {'.'.join(path)} is not among what pages may use"


def _own_words(node: ast.Call, name: str) -> bool:
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    words = [value for key, value in given.items() if key in READ_AS_MARKDOWN]
    if name not in NOT_WORDS_FIRST and ast.unparse(given.get("label_visibility", node.func)) != "'collapsed'":
        words += node.args[:1]
    return all(_ours(value) for value in words)


def _ours(value: ast.expr) -> bool:
    """Whether words are literals, constants by their spelling, or chosen among such."""
    if isinstance(value, ast.Constant):
        return True
    if isinstance(value, ast.Name | ast.Attribute):
        return _path(value)[-1].isupper()
    if isinstance(value, ast.Call):
        return _path(value.func)[-1] in MADE_SAFE
    if isinstance(value, ast.Subscript):
        return _ours(value.value)
    if isinstance(value, ast.IfExp):
        return _ours(value.body) and _ours(value.orelse)
    if isinstance(value, ast.List | ast.Tuple):
        return all(_ours(each) for each in value.elts)
    return isinstance(value, ast.JoinedStr) and all(_number_or_word(part) for part in value.values)


def _number_or_word(part: ast.expr) -> bool:
    """A literal part of an f-string, or a number written with thousands marks, as in {count:,}."""
    if isinstance(part, ast.Constant):
        return True
    spec = part.format_spec if isinstance(part, ast.FormattedValue) else None
    return isinstance(spec, ast.JoinedStr) and ast.unparse(spec).endswith((",'", "d'", ',"', 'd"'))


def _markup(node: ast.Call) -> Iterator[str]:
    """Markup of anything but a literal makes HTML of a text that was not escaped."""
    for arg in [*node.args, *(keyword.value for keyword in node.keywords)]:
        if not (isinstance(arg, ast.Constant) or _implicit(arg)):
            yield f"{node.lineno}: Markup of what is not a literal"


def _implicit(arg: ast.expr) -> bool:
    return isinstance(arg, ast.IfExp) and all(isinstance(v, ast.Constant) for v in (arg.body, arg.orelse))


def _path(func: ast.expr) -> tuple[str, ...]:
    """The dotted path of what is called: ("st", "button") of st.button."""
    if isinstance(func, ast.Name):
        return (func.id,)
    if isinstance(func, ast.Attribute):
        return (*_path(func.value), func.attr)
    return ("",)
