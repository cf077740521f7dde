"""How a session stands, as a page shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlmodel import Session

from calibration.labeling.sessions import PersonStatus, SessionStatus
from calibration.store.items import ref_of_key
from labeling_ui.components import Markup, untrusted
from labeling_ui.review.pages import heading, table

_KINDS = {"rate": "rater", "adjudicate": "adjudicator"}


def state_words(status: SessionStatus) -> str:
    """Open, closed or over, with the time, in words."""
    stored = status.stored
    if stored.state == "closed":
        when = f" on {stored.closed_at:%d %b %Y, %H:%M} UTC" if stored.closed_at else ""
        return f"closed{when}"
    if status.over:
        return f"window ended on {stored.window_ends_at:%d %b %Y, %H:%M} UTC: voirdire session close"
    until = f" until {stored.window_ends_at:%d %b %Y, %H:%M} UTC" if stored.window_ends_at else ""
    return f"open{until}"


def head_of(status: SessionStatus) -> Markup:
    """The session's name, what it asks, and how it stands."""
    whole = status.done + status.open
    share = 0 if not whole else round(100 * status.done / whole)
    made = Markup(
        '<section class="vd-session"><h1>{}</h1><p class="vd-under">{} · {} · opened by {}</p>'
        '<div class="vd-prog"><span><b>{}</b> of {} ratings done</span><div class="vd-bar" '
        'role="progressbar" aria-label="Ratings done" aria-valuemin="0" aria-valuemax="{}" '
        'aria-valuenow="{}"><i style="width:{}%"></i></div></div></section>'
    )
    stored = status.stored
    return made.format(
        untrusted(stored.name),
        untrusted(status.rubric),
        state_words(status),
        untrusted(stored.opened_by),
        f"{status.done:,}",
        f"{whole:,}",
        whole,
        status.done,
        share,
    )


def people_table(status: SessionStatus) -> Markup:
    """One row for each person and what they do; a column without a single entry is left out."""
    optional = {
        "broken": "Called broken",
        "reassigned": "Handed on",
        "window_closed": "Unanswered at the close",
    }
    shown = [name for name in optional if any(getattr(each, name) for each in status.people)]
    head = ("Person", "Does", "Done", "Open", *(optional[name] for name in shown))
    rows = [
        (
            untrusted(each.person)
            + (Markup(' <span class="vd-src">absent</span>') if each.absent else Markup("")),
            _KINDS[each.kind],
            f"{each.done:,} of {_all(each):,}",
            f"{each.open:,}",
            *(f"{getattr(each, name):,}" for name in shown),
        )
        for each in status.people
    ]
    return heading("Who does what") + table(head, rows, label="People of the session")


def _all(each: PersonStatus) -> int:
    return each.done + each.open + each.broken + each.window_closed


def item_ids(session: Session, keys: Sequence[str]) -> dict[str, str]:
    """The ids of items by their keys in the store."""
    return {key: ref_of_key(session=session, key=key)[0] for key in set(keys)}


def broken_list(status: SessionStatus, ids: Mapping[str, str]) -> Markup:
    """The items that raters called broken, and why."""
    if not status.broken:
        return Markup("")
    lines = Markup("").join(
        Markup('<li dir="auto"><b>{}</b> <span>by {}</span> {}</li>').format(
            untrusted(ids[each.item_key]), untrusted(each.rater), untrusted(each.why)
        )
        for each in status.broken
    )
    return heading("Items called broken") + Markup('<ul class="vd-said">{}</ul>').format(lines)
