"""The small pieces of a page as HTML: headings, chips, keys, progress, notices."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from labeling_ui.escaping import plain, untrusted
from rubrics.criterion import EvidenceSource


def notice(sentence: str, more: str = "") -> Markup:
    """A warning: a mark, a sentence, and what to do."""
    tail = Markup("<span> {}</span>").format(untrusted(more)) if more else Markup("")
    said = Markup(
        '<div class="vd-notice" role="alert"><i class="vd-m vd-m-warn"></i><p><b>{}</b>{}</p></div>'
    )
    return said.format(untrusted(sentence), tail)


def spoken(sentence: str) -> Markup:
    """A line that a screen reader says when it changes, and nobody sees."""
    return Markup('<div class="vd-vh" role="status" aria-live="polite">{}</div>').format(untrusted(sentence))


def eyebrow(words: str, *chips: Markup) -> Markup:
    """A small heading above a text."""
    head = Markup('<div class="vd-lab"><h2 class="vd-eyebrow">{}</h2>{}</div>')
    return head.format(untrusted(words), Markup("").join(chips))


def keycap(key: str, does: str = "") -> Markup:
    """A key as it is drawn on the keyboard, and what it does."""
    return Markup('<span class="vd-key"><kbd>{}</kbd> {}</span>').format(untrusted(key), untrusted(does))


def key_hints(pairs: Iterable[tuple[str, str]], *, remark: str = "") -> Markup:
    """The line of keys under the buttons."""
    keys = Markup("").join(keycap(key, does) for key, does in pairs)
    return Markup('<div class="vd-hint">{}<span>{}</span></div>').format(keys, untrusted(remark))


def progress_line(*, label: str, done: int, of: int, right: str = "") -> Markup:
    """How far a batch is: words, a bar, and a word at the right end."""
    share = 0 if of <= 0 else min(100, round(100 * done / of))
    line = Markup(
        '<div class="vd-prog"><span><b>{}</b> · {} of {}</span><div class="vd-bar" role="progressbar" '
        'aria-label="{}" aria-valuemin="0" aria-valuemax="{}" aria-valuenow="{}">'
        '<i style="width:{}%"></i></div><span>{}</span></div>'
    )
    return line.format(
        untrusted(label),
        f"{done:,}",
        f"{of:,}",
        plain(label),
        of,
        done,
        share,
        untrusted(right),
    )


def source_chip(source: EvidenceSource) -> Markup:
    """Where a text comes from, as a word in a chip."""
    words = {
        EvidenceSource.RECORDED: "recorded",
        EvidenceSource.REFERENCE: "reference",
        EvidenceSource.CANDIDATE: "candidate: untrusted text",
    }
    return Markup('<span class="vd-src">{}</span>').format(words[source])
