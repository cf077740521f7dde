"""The Judges page from its first screen to the decision on one judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st
from sqlmodel import Session

from calibration.evidence import AdmissionOutcome
from calibration.labeling.records import Person
from calibration.registry import changes_since
from calibration.registry.renewing import withheld
from calibration.rendering import page as shown_page
from calibration.rendering.next_step import next_step
from calibration.rendering.reading import Reading, Readings
from calibration.rendering.sentences import decision_sentence, headline
from calibration.rendering.text import sentence
from calibration.store.decisions import StoredDecision
from calibration.store.watching import known_moment
from labeling_ui.components import Markup, notice, plain, show, untrusted
from labeling_ui.review import deciding, here
from labeling_ui.review.deciding import Desk
from labeling_ui.review.evidence import Answered, Examined, scope_of, standing
from labeling_ui.review.pages import heading
from labeling_ui.review.pictures import figures, picture
from labeling_ui.review.power import power, power_table
from labeling_ui.review.records import changes_table, show_decision
from rubrics.digest import short


def first_screen(readings: Readings, found: Answered, unmeasured: Sequence[str]) -> Markup:
    """What the policy says of the judges, in words and as a picture."""
    claim = Markup(
        '<section class="vd-judges"><p class="vd-eyebrow">{}</p><h1 class="vd-claim">{}</h1>'
        '<p class="vd-lede">{}</p><p class="vd-under">{}</p></section>'
    ).format(
        untrusted(f"{found.question.words} · what the policy says; nothing here is signed"),
        figures(decision_sentence(readings)),
        figures(headline(readings.comparison)),
        untrusted(shown_page.rule_sentence(readings)),
    )
    warned = Markup("").join(notice(sentence(text)) for text in shown_page.report_warnings(readings))
    what = "take the wrong side of a pair" if readings.all[0].pairs else "accept a failing answer"
    pictures = Markup("").join(
        heading(f"How often does each judge {what}?")
        + picture(each, rate_title=readings.rate_title, beside_title=readings.beside_title)
        for each in shown_page.pictures(readings)
    )
    return claim + warned + pictures + _unmeasured(unmeasured) + _next(readings)


def _unmeasured(names: Sequence[str]) -> Markup:
    if not names:
        return Markup("")
    said = Markup('<p class="vd-under">Answered here, and not measured under this policy yet: {}.</p>')
    return said.format(untrusted(", ".join(names)))


def _next(readings: Readings) -> Markup:
    return Markup('<p class="vd-next">{}</p>').format(figures(next_step(readings.comparison)))


def one_judge(found: Answered, readings: Readings, who: Person) -> None:
    """What stands for one judge, what changed, what more labels would buy, and the decision."""
    if found.policy is None:
        show(heading("Decide", under="These reports were made without a policy: nothing can be signed."))
        return
    show(Markup('<h2 class="vd-one">One judge: what stands, and the decision</h2>'))
    examined = _chosen(found)
    decision = examined.examination.decision
    if decision is None:
        return
    reading = next(each for each in readings.all if each.report.report == examined.stored.digest)
    scope = scope_of(found, examined)
    with here.store().read() as session:
        there = standing(session=session, scope=scope)
        show(heading("What stands"))
        _standing(session, there, examined)
        since = _since(session, there, found, examined)
        old = ""
        if decision.outcome is AdmissionOutcome.ADMIT:
            moment = known_moment(session=session, at=here.clock())
            old = withheld(session=session, scope=scope, report_digest=examined.stored.digest, at=moment)
    if found.policy.gate:
        bought = power(reading, found.policy)
        limit = found.policy.primary.upper_at_most
        show(since, _numbers(reading), power_table(bought, limit=limit, clustered=reading.clustered))
    else:
        show(since, Markup('<p class="vd-under">This policy has no gate: nothing rests on its figures.</p>'))
    deciding.draw(Desk(who, found, examined, found.policy, decision, there, old))


def _chosen(found: Answered) -> Examined:
    """The judge to decide on: the only one, or the one that was picked."""
    if len(found.judges) == 1:
        return found.judges[0]
    place = st.selectbox(
        "Judge to decide on",
        range(len(found.judges)),
        format_func=lambda at: plain(found.judges[at].judge),
        key=f"review_judge_{found.question.set_digest[:12]}_{found.question.criterion}",
        width=420,
    )
    return found.judges[place]


def _standing(session: Session, there: StoredDecision | None, examined: Examined) -> None:
    if there is None:
        said = Markup('<p class="vd-under">No decision was signed for {} here: it may accept nothing.</p>')
        show(said.format(untrusted(examined.judge)))
        return
    show_decision(session, there, at=here.clock(), title=f"Decision {short(there.hash)} on {examined.judge}")


def _since(session: Session, there: StoredDecision | None, found: Answered, examined: Examined) -> Markup:
    """What changed since the last decision: item by item, or of judge and rubric."""
    decision = examined.examination.decision
    if there is not None and decision is not None:
        now = replace(
            there, content={**there.content, "decision": decision.model_dump(mode="json", by_alias=True)}
        )
        return heading("Changed since that decision") + changes_table(there, now)
    changed = changes_since(
        session=session,
        scope=scope_of(found, examined),
        judge=examined.judge,
        rubric=found.question.rubric_ref,
    )
    if not changed:
        return Markup("")
    lines = Markup("").join(Markup("<li>{}</li>").format(untrusted(each)) for each in changed)
    return heading("Changed since the last admission") + Markup('<ul class="vd-said">{}</ul>').format(lines)


def _numbers(reading: Reading) -> Markup:
    """Looks, what is missing, and the level at which it is read."""
    decision = reading.decision
    if decision is None:
        return Markup("")
    needed = decision.more_failures_needed
    rows = [("Looks used", f"{decision.looks.used} of {decision.looks.allowed}")]
    things, none = (
        ("pairs", "none on the wrong side") if reading.pairs else ("failures", "none of them accepted")
    )
    rows.append((f"More {things} needed, {none}", _count(needed.clean)))
    rows.append((f"More {things} needed at the rate seen", _count(needed.at_observed_rate)))
    facts = Markup("").join(
        Markup("<dt>{}</dt><dd>{}</dd>").format(term, untrusted(value)) for term, value in rows
    )
    return Markup('<dl class="vd-facts vd-narrow">{}</dl>').format(facts)


def _count(number: int | None) -> str:
    return "no number would do" if number is None else f"{number:,}"
