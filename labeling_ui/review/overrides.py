"""An admission against the policy as two people sign it: one proposes, another who signs in agrees.

A proposal is an event of the audit trail and admits nobody. It names the report that was read: once another
report stands in its place, the proposal is void.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session

from calibration.registry import Override, Signature
from calibration.store.chain import append_event, events
from calibration.store.decisions import DecisionScope

STREAM = "overrides"
PROPOSED, WITHDRAWN, SIGNED = "override.proposed", "override.withdrawn", "override.signed"
_SCOPE = ("judge_digest", "rubric_digest", "criterion", "population", "role")


@dataclass(frozen=True, slots=True)
class Proposal:
    """The first signature of an override."""

    number: int
    """Its place in the stream."""
    signature: Signature
    days: int
    report_digest: str
    policy_digest: str
    population: str
    at: datetime

    def seconded(self, second: Signature) -> Override:
        """The override, once another person signs."""
        return Override(second, self.days)


def propose(
    *,
    session: Session,
    scope: DecisionScope,
    report_digest: str,
    policy_digest: str,
    signature: Signature,
    days: int,
    at: datetime,
) -> None:
    """Record the first signature.

    Raises:
        DeclarationError: the signature says nothing.
    """
    signed = signature.checked()
    payload: dict[str, Any] = {field: getattr(scope, field) for field in _SCOPE}
    payload |= {"report": report_digest, "policy": policy_digest, "days": days}
    payload |= {"reason": signed.reason.strip(), "established": signed.established}
    append_event(
        session=session, stream=STREAM, kind=PROPOSED, actor=signed.signer.strip(), payload=payload, at=at
    )


def withdraw(*, session: Session, proposal: Proposal, actor: str, reason: str, at: datetime) -> None:
    """Record that a proposal was taken back, or refused by somebody else, and why."""
    payload = {"proposal": proposal.number, "reason": reason.strip()}
    append_event(session=session, stream=STREAM, kind=WITHDRAWN, actor=actor, payload=payload, at=at)


def close(*, session: Session, proposal: Proposal, decision: str, actor: str, at: datetime) -> None:
    """Record that a proposal became a signed decision."""
    payload = {"proposal": proposal.number, "decision": decision}
    append_event(session=session, stream=STREAM, kind=SIGNED, actor=actor, payload=payload, at=at)


def open_proposal(
    *, session: Session, judge_digest: str, report_digest: str, policy_digest: str
) -> Proposal | None:
    """The newest proposal about the report that still is open; None where there is none."""
    found: dict[int, Proposal] = {}
    for event in events(session=session, stream=STREAM):
        said = event.payload
        if event.kind != PROPOSED:
            found.pop(said["proposal"], None)
        elif (said["judge_digest"], said["report"], said["policy"]) == (
            judge_digest,
            report_digest,
            policy_digest,
        ):
            found[event.seq] = Proposal(
                number=event.seq,
                signature=Signature(event.actor, said["reason"], said["established"]),
                days=said["days"],
                report_digest=report_digest,
                policy_digest=policy_digest,
                population=said["population"],
                at=event.at,
            )
    return found[max(found)] if found else None
