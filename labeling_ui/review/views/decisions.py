"""Decisions: which stand, which lapse soon or have lapsed, and each with its card."""

from __future__ import annotations

from datetime import datetime

import streamlit as st

from calibration.evidence import AdmissionDecision
from calibration.labeling.records import Person
from calibration.registry import missing_of
from calibration.rendering.text import capital
from calibration.rendering.vocabulary import STATUS_WORDS, name_words
from calibration.store.decisions import StoredDecision, iter_decisions
from calibration.store.reports import get_report
from labeling_ui.components import Markup, notice, plain, show, untrusted
from labeling_ui.review import here
from labeling_ui.review.access import require_rated
from labeling_ui.review.pages import heading, plain_page
from labeling_ui.review.pictures import mark
from labeling_ui.review.records import SOON, card_button, signed_panel, state_mark, state_of, until_words
from labeling_ui.review.tables import grid, row
from rubrics.digest import short

_STATUS_MARKS = {"pass": "admit", "fail": "reject", "insufficient": "insufficient", "warning": "warning"}


def page() -> None:
    """List the decisions, and show one."""
    who = here.reviewer()
    show(Markup('<h1 class="vd-claim">Decisions</h1>'))
    every = st.toggle("Replaced decisions too", key="decisions_all")
    at = here.clock()
    with here.store().read() as session:
        found = list(iter_decisions(session=session, standing=not every))[::-1]
    if not found:
        plain_page("No decision was signed yet.", "Sign one on the page Judges, or with: voirdire admit")
        return
    show(_counts(found, at), _table(found, at))
    place = st.selectbox(
        "Decision to read",
        range(len(found)),
        format_func=lambda n: plain(f"{short(found[n].hash)} · {found[n].content.get('judge')}"),
        key="decision_shown",
        width=420,
    )
    _one(found[place], at, who)


def _counts(found: list[StoredDecision], at: datetime) -> Markup:
    """How many stand, lapse soon, or have lapsed."""
    states = [state_of(each, at=at) for each in found]
    soon = [
        each
        for each, state in zip(found, states, strict=True)
        if state == "admit" and each.valid_until is not None and each.valid_until - at <= SOON
    ]
    said = (
        f"{states.count('admit'):,} admit, {states.count('lapsed'):,} lapsed, "
        f"{len(found) - states.count('admit') - states.count('lapsed'):,} admit nobody."
    )
    head = Markup('<p class="vd-under">{}</p>').format(said)
    if soon:
        count = f"{len(soon):,} {'admission lapses' if len(soon) == 1 else 'admissions lapse'}"
        head += notice(f"{count} within {SOON.days} days.", "Calibrate on fresh labels and sign anew.")
    return head


def _table(found: list[StoredDecision], at: datetime) -> Markup:
    rows = [
        row(
            state_mark(each, at=at),
            Markup('<b dir="auto">{}</b>').format(untrusted(str(each.content.get("judge")))),
            untrusted(f"{each.content.get('rubric')} {each.scope.criterion}"),
            untrusted(f"{each.scope.role.replace('_', ' ')}, {each.scope.population}"),
            until_words(each, at=at),
            untrusted(each.signer),
            Markup('<span class="vd-hash">{}</span>').format(short(each.hash)),
        )
        for each in found
    ]
    head = ("State", "Judge", "Rubric and criterion", "Role and outputs", "Until", "Signer", "Record")
    return grid(head, rows, label="Decisions")


def _one(decision: StoredDecision, at: datetime, who: Person) -> None:
    """One decision: signatures, what it rests on, what it lacks; shut to whoever still rates its set."""
    with here.store().read() as session:
        evidence = get_report(session=session, digest_prefix=decision.report_digest).set_digest
    if evidence is not None:
        require_rated(who, evidence)
    content = decision.content
    show(heading(f"Decision {short(decision.hash)}"), signed_panel(decision, at=at))
    recorded = AdmissionDecision.model_validate(content["decision"])
    rows = [
        row(
            capital(name_words(item.name)),
            mark(_STATUS_MARKS[item.status.value]) + Markup(" {}").format(STATUS_WORDS[item.status]),
            f"{item.x}/{item.n}" if item.x is not None and item.n is not None else "-",
            untrusted(item.detail or "-"),
        )
        for item in recorded.items
    ]
    show(grid(("Policy item", "Status", "x/n", "What decided"), rows, label="Policy items"))
    if decision.outcome != "admit":
        lines = Markup("").join(
            Markup("<li>{}</li>").format(untrusted(each)) for each in missing_of(decision)
        )
        show(heading("What is missing for an admission"), Markup('<ul class="vd-said">{}</ul>').format(lines))
    digests = (
        ("Report", decision.report_digest),
        ("Policy", decision.policy_digest),
        ("Judge", decision.scope.judge_digest),
        ("Rubric", decision.scope.rubric_digest),
        ("Record before it", decision.prev_hash),
    )
    shown = Markup("").join(
        Markup('<dt>{}</dt><dd class="vd-hash" title="{}">{}</dd>').format(what, full, short(full))
        for what, full in digests
    )
    show(Markup('<dl class="vd-facts vd-narrow">{}</dl>').format(shown))
    with here.store().read() as session:
        card_button(session, decision, key=f"card_{decision.hash[:16]}")


if __name__ == "__main__":
    page()
