"""What pages of the review app are made of: sentences, tables, figures."""

from __future__ import annotations

from collections.abc import Sequence

from labeling_ui.components import Markup, show, untrusted


def plain_page(title: str, *paragraphs: str) -> None:
    """Show a page of a few sentences."""
    body = Markup("").join(Markup("<p>{}</p>").format(untrusted(each)) for each in paragraphs if each)
    show(Markup('<section class="vd-plain"><h1>{}</h1>{}</section>').format(untrusted(title), body))


def heading(words: str, *, under: str = "") -> Markup:
    """The heading of a part of a page, and what it is about in a smaller line."""
    line = Markup('<p class="vd-under">{}</p>').format(untrusted(under)) if under else Markup("")
    return Markup('<h2 class="vd-head">{}</h2>{}').format(untrusted(words), line)


def table(head: Sequence[str], rows: Sequence[Sequence[str | Markup]], *, label: str) -> Markup:
    """A table: the first column is a name, the others are figures; text in cells is escaped here."""
    top = Markup("").join(Markup('<th scope="col">{}</th>').format(untrusted(word)) for word in head)
    body = Markup("").join(_row(row) for row in rows)
    made = Markup(
        '<div class="vd-scroll" tabindex="0"><table class="vd-figures" aria-label="{}">'
        "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
    )
    return made.format(label, top, body)


def _row(row: Sequence[str | Markup]) -> Markup:
    name, *cells = (cell if isinstance(cell, Markup) else untrusted(cell) for cell in row)
    rest = Markup("").join(Markup("<td>{}</td>").format(cell) for cell in cells)
    return Markup('<tr><th scope="row" dir="auto">{}</th>{}</tr>').format(name, rest)
