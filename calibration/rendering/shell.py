"""What every page shares: its style, what it may load, how text is set in it, and the template engine."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_COUNT = re.compile(r"(?<![\w/.,])(\d{1,3}(?:,\d{3})*/\d{1,3}(?:,\d{3})*)(?![\w/])")
_DATE = re.compile(r"(?<![\w-])(\d{4}-\d\d-\d\d)(?![\w-])")
_INTERVAL = re.compile(r"(\[[−\d.]+, [−\d.]+\])")


def render_page(template: str, *, styles: tuple[str, ...] = ("report.css",), **values: Any) -> str:
    """The template filled, with its style sheets in it and leave to load nothing else.

    Args:
        template: a file of `templates/`.
        styles: style sheets of `templates/`, in their order.
        values: what the template names; all of it is escaped.
    """
    css = _stylesheet(styles)
    page = _environment().get_template(template)
    return page.render(css=css, policy_for_content=_content_policy(str(css)), **values)


def moment_words(moment: datetime | None) -> str:
    """The minute in UTC; a time without a zone as it is, none as an empty text."""
    if moment is None:
        return ""
    if moment.tzinfo is None:
        return f"{moment:%Y-%m-%d %H:%M}"
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def prose(text: str) -> Markup:
    """The text escaped; each count x/n bold, each interval lighter, these and each date kept on one line."""
    from markupsafe import Markup, escape

    counts = _COUNT.sub(r'<b class="n">\1</b>', str(escape(text)))
    dated = _DATE.sub(r'<span class="n">\1</span>', counts)
    return Markup(_INTERVAL.sub(r'<span class="n mut">\1</span>', dated))


def _template_text(name: str) -> str:
    return resources.files("calibration.rendering").joinpath("templates", name).read_text("utf-8")


@cache
def _stylesheet(names: tuple[str, ...]) -> Markup:
    """The style sheets as they stand in the page; ours, never from data."""
    from markupsafe import Markup

    return Markup("\n".join(_template_text(name).strip() for name in names))


@cache
def _content_policy(css: str) -> str:
    """Nothing may load or run; the one style sheet is allowed by its digest, so data cannot bring another."""
    allowed = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{allowed}'; base-uri 'none'; form-action 'none'"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(_template_text),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., Any]] = {"prose": prose, "pct": _percentage}
    made.filters.update(filters)
    return made


def _percentage(place: float) -> str:
    """A place in [0, 1] as a length for SVG."""
    return f"{100 * place:.2f}%"
