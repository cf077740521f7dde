"""What was noticed of admitted judges in use: alarms and lapses, appended to one stream of the audit trail.

Kept from raters: an alarm tells how a judge does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.chain import AuditEventRow, Event, append_event, events
from calibration.store.columns import in_utc, table_of
from calibration.store.decisions import decision_head

WATCH = "watch"
ALARM, LAPSE, AUDIT, DRAWN = "alarm.raised", "decision.lapsed", "audit.opened", "audit.drawn"


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that calls for recalibration of what a decision admits."""

    decision: str
    """Hash of the decision that it is about."""
    trigger: str
    """One of calibration.policy.TRIGGERS."""
    sentence: str
    """What was noticed."""
    at: datetime
    actor: str


def raise_alarm(
    *, session: Session, decision: str, trigger: str, sentence: str, actor: str, at: datetime
) -> Alarm:
    """The alarm as recorded; the same alarm about the same decision is recorded once."""
    for alarm in alarms(session=session, decisions=(decision,)):
        if (alarm.trigger, alarm.sentence) == (trigger, sentence):
            return alarm
    payload = {"decision": decision, "trigger": trigger, "sentence": sentence}
    event = append_event(session=session, stream=WATCH, kind=ALARM, actor=actor, payload=payload, at=at)
    return _alarm(event)


def alarms(*, session: Session, decisions: Collection[str]) -> tuple[Alarm, ...]:
    """The alarms about any of the decisions, oldest first."""
    return tuple(_alarm(e) for e in _told(session, ALARM) if e.payload["decision"] in decisions)


def record_lapse(*, session: Session, decision: str, actor: str, at: datetime) -> None:
    """Writes down that a decision was found to have lapsed: no clock that is set back revives it."""
    if not any(event.payload["decision"] == decision for event in _told(session, LAPSE)):
        payload = {"decision": decision}
        append_event(session=session, stream=WATCH, kind=LAPSE, actor=actor, payload=payload, at=at)


def lapsed(*, session: Session, decision: str) -> bool:
    """True where the decision was once found to have lapsed."""
    return lapse_of(session=session, decision=decision) is not None


def lapse_of(*, session: Session, decision: str) -> datetime | None:
    """When the decision was found to have lapsed; None where nobody found it so."""
    return next((e.at for e in _told(session, LAPSE) if e.payload["decision"] == decision), None)


def open_audit(*, session: Session, decision: str, system: str, actor: str, at: datetime) -> bool:
    """True if an audit of the system's accepted and rejected outputs is now asked for, False if it was."""
    if (decision, system) in open_audits(session=session):
        return False
    payload: dict[str, Any] = {"decision": decision, "system": system}
    append_event(session=session, stream=WATCH, kind=AUDIT, actor=actor, payload=payload, at=at)
    return True


def open_audits(*, session: Session) -> set[tuple[str, str]]:
    """(decision, system) of every audit that was asked for."""
    return {(e.payload["decision"], e.payload["system"]) for e in _told(session, AUDIT)}


@dataclass(frozen=True, slots=True)
class AuditDraw:
    """Outputs of one system that were drawn to be labelled."""

    decision: str
    system: str
    session_name: str
    set_digest: str
    seed: int
    cells: tuple[Mapping[str, Any], ...]
    """For accepted and other outputs each: `accepted`, `cases` there were, `items` drawn."""
    at: datetime


def record_audit_draw(*, session: Session, draw: AuditDraw, actor: str) -> AuditDraw:
    """The draw, appended to the trail with the ids of every output drawn."""
    payload = {field: getattr(draw, field) for field in _DRAW}
    payload["cells"] = [dict(cell) for cell in draw.cells]
    append_event(session=session, stream=WATCH, kind=DRAWN, actor=actor, payload=payload, at=draw.at)
    return draw


def audit_draws(*, session: Session, decision: str) -> tuple[AuditDraw, ...]:
    """The draws under a decision, oldest first."""
    found = []
    for event in _told(session, DRAWN):
        said = dict(event.payload)
        if said["decision"] == decision:
            cells = tuple(said.pop("cells"))
            found.append(AuditDraw(**said, cells=cells, at=event.at))
    return tuple(found)


_DRAW = ("decision", "system", "session_name", "set_digest", "seed")


def known_moment(*, session: Session, at: datetime) -> datetime:
    """The caller's time, or that of the newest record where it lies later: time does not go back here."""
    newest = session.connection().execute(sa.select(sa.func.max(table_of(AuditEventRow).c.at))).scalar()
    head = decision_head(session=session).at
    return max(in_utc(moment) for moment in (at, newest, head) if moment is not None)


def _told(session: Session, kind: str) -> Iterator[Event]:
    return events(session=session, stream=WATCH, kind=kind)


def _alarm(event: Event) -> Alarm:
    said = event.payload
    return Alarm(said["decision"], said["trigger"], said["sentence"], event.at, event.actor)
