"""Judges against the limit as HTML: marks in their containers, intervals on one scale, words beside them."""

from __future__ import annotations

import re

from calibration.rendering.background import Slices
from calibration.rendering.numbers import RateText
from calibration.rendering.page import Picture, Row
from calibration.rendering.strip import Scale, Strip
from labeling_ui.components import Markup, untrusted

_NOTHING = Markup("")
_COUNT = re.compile(r"(?<![\w.])\d[\d,]*/\d+(?:,\d{3})*(?!\w)")


def mark(kind: str) -> Markup:
    """The mark of an outcome: a filled disc, an open diamond, a filled square; each with its sign."""
    if kind in {"", "none"}:
        return _NOTHING
    return Markup('<i class="vd-o vd-o-{}"></i>').format(kind)


def figures(text: str) -> Markup:
    """Words with each count x/n heavier than the rest."""
    parts, at = [], 0
    for found in _COUNT.finditer(text):
        parts += [untrusted(text[at : found.start()]), Markup("<b>{}</b>").format(found[0])]
        at = found.end()
    return Markup("").join([*parts, untrusted(text[at:])])


def rate_words(rate: RateText) -> Markup:
    """A rate: the count first, then the rate and its interval."""
    said = Markup('<b class="vd-n">{}</b> {} <span class="vd-i">{}</span>')
    return said.format(rate.count, rate.estimate, rate.interval)


def strip(shown: Strip | None, scale: Scale) -> Markup:
    """One interval on its scale; the same in words for who cannot see it."""
    ground = _ground(scale)
    if shown is None:
        return Markup('<div class="vd-strip">{}<em>no failing answer</em></div>').format(ground)
    inner = Markup('<em class="vd-off">{} ▸</em>').format(shown.off) if shown.off else _interval(shown)
    kind = " vd-hollow" if shown.hollow else ""
    made = Markup('<div class="vd-strip{}" role="img" aria-label="{}">{}{}</div>')
    return made.format(kind, shown.words, ground, inner)


def _ground(scale: Scale) -> Markup:
    ticks = [
        Markup('<i class="vd-tick" style="left:{}%"></i>').format(_percent(tick.at)) for tick in scale.ticks
    ]
    if scale.limit_at is None:
        return Markup("").join(ticks)
    zone = Markup('<i class="vd-zone" style="left:{}%"></i>').format(_percent(scale.limit_at))
    limit = Markup('<i class="vd-lim" style="left:{}%"></i>').format(_percent(scale.limit_at))
    return Markup("").join([zone, *ticks, limit])


def _interval(shown: Strip) -> Markup:
    line = Markup('<i class="vd-{}" style="left:{}%;width:{}%"></i>')
    upper = min(1.0, shown.upper)
    parts = [line.format("ci", _percent(shown.lower), _percent(upper - shown.lower))]
    if shown.worst is not None:
        parts.append(line.format("worst", _percent(upper), _percent(min(1.0, shown.worst) - upper)))
    at = Markup('<i class="vd-{}" style="left:{}%"></i>')
    parts.append(at.format("cap", _percent(shown.lower)))
    if shown.upper < 1:
        parts.append(at.format("cap", _percent(shown.upper)))
    if shown.beyond:
        parts.append(Markup('<em class="vd-off">▸</em>'))
    parts.append(at.format("pt", _percent(shown.estimate)))
    return Markup("").join(parts)


def axis(scale: Scale) -> Markup:
    """The numbers over the strips, the limit by name."""
    number = Markup('<span class="{}" style="left:{}%">{}</span>')
    ticks = [number.format(_side(tick.at), _percent(tick.at), tick.words) for tick in scale.ticks]
    if scale.limit_at is not None:
        ticks.append(number.format("vd-mid vd-limit", _percent(scale.limit_at), scale.limit_words))
    return Markup('<div class="vd-axis" aria-hidden="true">{}</div>').format(Markup("").join(ticks))


def _side(at: float) -> str:
    return "vd-first-tick" if at == 0 else "vd-last-tick" if at > 0.999 else "vd-mid"


def _percent(place: float) -> str:
    return f"{100 * place:.2f}"


def picture(shown: Picture, *, rate_title: str, beside_title: str) -> Markup:
    """The judges of a criterion in one table: outcome, interval against the limit, words."""
    head = Markup(
        '<thead><tr><th scope="col">Judge and outcome</th><th scope="col" class="vd-plot">{}</th>'
        '<th scope="col">{}</th><th scope="col">{}</th></tr></thead>'
    ).format(axis(shown.scale), rate_title, beside_title)
    body = Markup("").join(_picture_row(row, shown.scale) for row in shown.rows)
    return Markup(
        '<div class="vd-scroll" tabindex="0"><table class="vd-cmp" aria-label="Judges against the limit">'
        "{}<tbody>{}</tbody></table></div>{}"
    ).format(head, body, _KEY)


def _picture_row(row: Row, scale: Scale) -> Markup:
    about = Markup('<span class="vd-sub">{}</span>').format(untrusted(row.about)) if row.about else _NOTHING
    note = Markup('<span class="vd-sub">{}</span>').format(figures(row.note)) if row.note else _NOTHING
    made = Markup(
        '<tr class="{}"><th scope="row"><div class="vd-jn">{}<div><b dir="auto">{}</b>'
        '<span class="vd-word vd-c-{}">{}</span>{}</div></div></th>'
        '<td class="vd-plot">{}</td><td>{}{}</td><td>{}</td></tr>'
    )
    return made.format(
        "vd-opens" if row.opens_group else "",
        mark(row.mark),
        untrusted(row.name),
        row.mark,
        row.word,
        about,
        strip(row.strip, scale),
        rate_words(row.far),
        note,
        rate_words(row.good),
    )


_KEY = Markup(
    '<div class="vd-legend"><span><i class="vd-k-ci"></i>measured, with its interval</span>'
    '<span><i class="vd-k-worst"></i>what open verdicts and unresolved references could add</span>'
    '<span><i class="vd-o vd-o-admit"></i>admit</span>'
    '<span><i class="vd-o vd-o-insufficient"></i>insufficient evidence</span>'
    '<span><i class="vd-o vd-o-reject"></i>reject</span></div>'
)


def slice_table(shown: Slices, *, rate_title: str) -> Markup:
    """Every slice of every judge on one scale."""
    rows = [
        Markup(
            '<tr><th scope="row"><div class="vd-jn">{}<div><b dir="auto">{}</b><span class="vd-sub">{}</span>'
            '</div></div></th><td class="vd-plot">{}</td><td>{}</td><td>{}</td></tr>'
        ).format(
            mark(block.judge.mark),
            untrusted(line.slice),
            untrusted(block.judge.text),
            strip(line.strip, shown.scale),
            figures(line.far),
            figures(line.good),
        )
        for block in shown.blocks
        for line in block.lines
    ]
    head = Markup(
        '<thead><tr><th scope="col">Slice</th><th scope="col" class="vd-plot">{}</th>'
        '<th scope="col">{}</th><th scope="col">Good answers not accepted</th></tr></thead>'
    ).format(axis(shown.scale), rate_title)
    return Markup(
        '<div class="vd-scroll" tabindex="0"><table class="vd-cmp vd-slices" aria-label="Slices">{}'
        "<tbody>{}</tbody></table></div>"
    ).format(head, Markup("").join(rows))
