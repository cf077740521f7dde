"""Signed decisions as the pages show them: what holds, until when, by whom, under which hash."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import streamlit as st
from sqlmodel import Session

from calibration.registry.carded import decision_card, further_words
from calibration.registry.standing import side_by_side
from calibration.store.decisions import StoredDecision
from labeling_ui.components import Markup, show, untrusted
from labeling_ui.review import here
from labeling_ui.review.pictures import mark
from labeling_ui.review.tables import grid, row
from rubrics.digest import short

SOON: Final = timedelta(days=14)
_MARKS: Final = {"admit": "admit", "reject": "reject", "insufficient_evidence": "insufficient"}


def state_of(decision: StoredDecision, *, at: datetime) -> str:
    """What the decision is worth at the time: its outcome, or that it has lapsed."""
    if decision.outcome == "admit" and decision.valid_until is not None and at >= decision.valid_until:
        return "lapsed"
    return decision.outcome.replace("_", " ")


def state_mark(decision: StoredDecision, *, at: datetime) -> Markup:
    """The mark and the words of what the decision is worth."""
    words = state_of(decision, at=at)
    kind = "lapsed" if words in {"lapsed", "suspended"} else _MARKS[decision.outcome]
    said = Markup('<span class="vd-jn">{}<span class="vd-word vd-c-{}">{}</span></span>')
    return said.format(mark(kind), kind, words)


def until_words(decision: StoredDecision, *, at: datetime) -> str:
    """Until when it holds, and whether that is soon."""
    if decision.outcome != "admit":
        return "-"
    if decision.valid_until is None:
        return "until it is replaced"
    said = f"{decision.valid_until:%d %b %Y}"
    left = decision.valid_until - at
    if timedelta(0) < left <= SOON:
        said += f", in {max(1, left.days):,} {'day' if left.days <= 1 else 'days'}"
    return said


def signed_panel(decision: StoredDecision, *, at: datetime, title: str = "") -> Markup:
    """A decision in a box: state, signatures with reasons, hash."""
    content = decision.content
    lines = [
        f"Signed by {decision.signer} ({content.get('signer_established')}) on "
        f"{decision.decided_at:%d %b %Y, %H:%M} UTC: “{content.get('reason')}”",
        *further_words(content),
    ]
    if override := content.get("override"):
        lines.append(f"Against the policy, which says {override['policy_outcome'].replace('_', ' ')}.")
    if decision.outcome == "admit":
        lines.append(f"Holds until: {until_words(decision, at=at)}.")
    body = Markup("").join(Markup("<p>{}</p>").format(untrusted(line)) for line in lines)
    head = Markup("<p><b>{}</b></p>").format(untrusted(title)) if title else Markup("")
    return Markup(
        '<section class="vd-signed" role="status">{}{}{}<p class="vd-hash" title="SHA-256 of the record">'
        "record {} · sha256 {}</p></section>"
    ).format(head, state_mark(decision, at=at), body, f"{decision.seq:,}", decision.hash)


def card_button(session: Session, decision: StoredDecision, *, key: str) -> None:
    """The button that gives the printable card."""
    page = decision_card(session=session, decision=decision, at=here.clock(), made_at=here.clock())
    st.download_button(
        "Printable card",
        data=page.encode(),
        file_name=f"decision-{decision.hash[:12]}.html",
        mime="text/html",
        key=key,
        on_click="ignore",
    )


def changes_table(before: StoredDecision, after: StoredDecision) -> Markup:
    """The policy items in which two decisions differ, side by side."""
    differing = [each for each in side_by_side(before, after) if each.incumbent != each.challenger]
    if not differing:
        return Markup('<p class="vd-under">Every policy item is as it was in decision {}.</p>').format(
            short(before.hash)
        )
    rows = [
        row(each.name.replace("_", " "), each.incumbent or "-", each.challenger or "-") for each in differing
    ]
    return grid(("Item", f"Decision {short(before.hash)}", "Now"), rows, label="What changed")


def show_decision(session: Session, decision: StoredDecision, *, at: datetime, title: str = "") -> None:
    """The box of a decision, and its card."""
    show(signed_panel(decision, at=at, title=title))
    card_button(session, decision, key=f"card_{decision.hash[:16]}")
