"""Use cases of the registry: sign a decision, suspend one, and ask whether a judge may grade.

Append-only: what stands for a scope is the decision that no other supersedes. Expiry is read against the
caller's clock at every question, so a decision lapses without anybody writing a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from calibration.evidence import AdmissionDecision, AdmissionOutcome, CalibrationReport, PolicyItem
from calibration.policy import AdmissionPolicy
from calibration.rendering.items import limit_words
from calibration.rendering.vocabulary import name_words
from calibration.store.decisions import DecisionScope, StoredDecision, add_decision, current_decision
from rubrics.digest import short
from rubrics.errors import AdmissionExpired, DeclarationError, JudgeNotAdmitted, RecordError

ANY_POPULATION = "as calibrated"
"""The population of a decision that names none: that of its calibration set."""
LOCAL = "local, unverified"
"""How a signer on this machine is established."""
SUSPENDED = "suspended"
MIN_REASON = 10


@dataclass(frozen=True, slots=True)
class Signature:
    """Who signs, and why."""

    signer: str
    reason: str
    established: str = LOCAL

    def checked(self) -> Signature:
        """The signature, if it says something.

        Raises:
            DeclarationError: a blank signer, or a reason of fewer than ten characters.
        """
        if not self.signer.strip():
            raise DeclarationError("the signer is blank; give a name with --sign")
        if len(self.reason.strip()) < MIN_REASON:
            raise DeclarationError(
                f"the reason {self.reason!r} is under {MIN_REASON} characters; say with --reason what was "
                "read and why it suffices"
            )
        return self


def sign(
    *,
    session: Session,
    scope: DecisionScope,
    report: CalibrationReport,
    decision: AdmissionDecision,
    policy: AdmissionPolicy,
    signature: Signature,
    at: datetime,
) -> StoredDecision:
    """The outcome of the policy, signed and appended to the chain; it replaces what stood for the scope.

    Args:
        session: a writing session in which the report is recorded.
        scope: judge, rubric, criterion, population and role.
        report: what it rests on.
        decision: what the policy says of the report; signed as it is.
        policy: that policy.
        signature: who and why.
        at: now.

    Raises:
        DeclarationError: the role is not the policy's, or the signature says nothing.
    """
    if scope.role != policy.role:
        raise DeclarationError(
            f"{policy.label} serves the role {policy.role!r} and the decision is for {scope.role!r}; "
            f"use a policy for {scope.role!r}, or --role {policy.role}"
        )
    signed = signature.checked()
    standing = current_decision(session=session, scope=scope)
    admitted = decision.outcome is AdmissionOutcome.ADMIT
    return add_decision(
        session=session,
        scope=scope,
        report_digest=report.report,
        policy_digest=policy.digest,
        outcome=decision.outcome.value,
        content={
            "decision": decision.model_dump(mode="json", by_alias=True),
            "judge": report.judge,
            "rubric": report.rubric,
            "far": report.far_gate.model_dump(mode="json"),
            "constructed": report.constructed,
            "warnings": list(report.warnings),
            "reason": signed.reason.strip(),
            "signer_established": signed.established,
            "deployments": policy.expiry.deployments,
        },
        signer=signed.signer.strip(),
        valid_until=at + timedelta(days=policy.expiry.days) if admitted else None,
        supersedes=standing.hash if standing else None,
        at=at,
    )


def suspend(
    *, session: Session, standing: StoredDecision, signature: Signature, at: datetime
) -> StoredDecision:
    """The suspension of an admission: it no longer holds, without a judgment on the judge.

    Raises:
        RecordError: the decision does not stand, or admits nobody.
        DeclarationError: the signature says nothing.
    """
    current = current_decision(session=session, scope=standing.scope)
    if current is None or current.hash != standing.hash:
        raise RecordError(
            f"decision {short(standing.hash)} was replaced by {short(current.hash) if current else 'none'}; "
            "suspend the one that stands"
        )
    if current.outcome != AdmissionOutcome.ADMIT.value:
        raise RecordError(
            f"decision {short(standing.hash)} is {current.outcome}; only an admission is suspended"
        )
    signed = signature.checked()
    content: dict[str, Any] = {
        **current.content,
        "reason": signed.reason.strip(),
        "signer_established": signed.established,
    }
    return add_decision(
        session=session,
        scope=current.scope,
        report_digest=current.report_digest,
        policy_digest=current.policy_digest,
        outcome=SUSPENDED,
        content=content,
        signer=signed.signer.strip(),
        valid_until=None,
        supersedes=current.hash,
        at=at,
    )


def require_admission(
    *, session: Session, scope: DecisionScope, judge: str, rubric: str, at: datetime
) -> StoredDecision:
    """The live admission for the scope; the one question that grading asks.

    Args:
        session: a reading session.
        scope: what is about to be done; every field must be the decision's.
        judge: its name, for the message.
        rubric: its name@version, for the message.
        at: now.

    Raises:
        JudgeNotAdmitted: no decision, or one that does not admit; `missing` says what would be needed.
        AdmissionExpired: it admitted, and its validity has ended.
    """
    standing = current_decision(session=session, scope=scope)
    what = f"judge {judge!r} may not grade {rubric} {scope.criterion!r} ({scope.role}, {scope.population})"
    if standing is None:
        raise JudgeNotAdmitted(
            f"{what}: no decision covers it; run `voirdire calibrate`, then `voirdire admit`",
            missing=(
                f"a decision for {judge}, {rubric}, {scope.criterion}, {scope.population}, {scope.role}",
            ),
        )
    if standing.outcome != AdmissionOutcome.ADMIT.value:
        raise JudgeNotAdmitted(
            f"{what}: decision {short(standing.hash)} is {standing.outcome}", missing=missing_of(standing)
        )
    if standing.valid_until is not None and at >= standing.valid_until:
        raise AdmissionExpired(
            f"{what}: decision {short(standing.hash)} lapsed on {standing.valid_until:%Y-%m-%d %H:%M} UTC; "
            "calibrate on fresh labels and sign anew"
        )
    return standing


def missing_of(decision: StoredDecision) -> tuple[str, ...]:
    """What keeps a decision from admitting: its broken and unmet items, in the policy's words."""
    if decision.outcome == SUSPENDED:
        return (f"a new decision: suspended by {decision.signer} ({decision.content.get('reason', '')})",)
    recorded = AdmissionDecision.model_validate(decision.content["decision"])
    items = [item for item in recorded.items if item.status in {"fail", "insufficient"}]
    needed = recorded.more_failures_needed
    missing = [_unmet(item) for item in items]
    if any(item.name == "far" and item.status == "insufficient" for item in items) and needed.clean:
        missing.append(f"{needed.clean} more reference failures, all rejected")
    return tuple(missing)


def _unmet(item: PolicyItem) -> str:
    """A broken or unmet item: by name and in words, the number that was compared to three digits."""
    value = f"{item.value:.3g}" if isinstance(item.value, float) else item.value
    found = "" if value is None else f", found {value}"
    return f"{item.name} is {item.status.value} ({name_words(item.name)}{found}; asked: {limit_words(item)})"


def expiring(
    decisions: Sequence[StoredDecision], *, within: timedelta, at: datetime
) -> tuple[StoredDecision, ...]:
    """The admissions among standing decisions that lapse within the time, soonest first."""
    soon = [
        decision
        for decision in decisions
        if decision.outcome == AdmissionOutcome.ADMIT.value
        and decision.valid_until is not None
        and decision.valid_until <= at + within
    ]
    return tuple(sorted(soon, key=lambda decision: decision.valid_until or at))
