"""What is signed: the outcome of a policy, an override of it, a suspension; each replaces what stood."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from calibration.calibrate.persons import alphabets, same_name, skeleton
from calibration.calibrate.rivals import rival_reports
from calibration.evidence import AdmissionDecision, AdmissionOutcome, CalibrationReport
from calibration.policy import AdmissionPolicy
from calibration.registry.basis import basis_of
from calibration.registry.renewing import withheld
from calibration.store.decisions import SUSPENDED as SUSPENDED
from calibration.store.decisions import DecisionScope, StoredDecision, add_decision, current_decision
from calibration.store.judges import get_judge
from calibration.store.seals import seal_evidence
from calibration.store.watching import known_moment
from rubrics.digest import short
from rubrics.errors import DeclarationError, DifferentRecord, RecordError

ANY_POPULATION = "as calibrated"
"""The population of a decision that names none: that of its calibration set."""
LOCAL = "local, unverified"
"""How a signer on this machine is established."""
MIN_REASON = 10


@dataclass(frozen=True, slots=True)
class Signature:
    """Who signs, and why."""

    signer: str
    reason: str
    established: str = LOCAL
    replaces: str | None = None
    """First digits of the decision that the signer has read and replaces; None takes the one that stands."""
    seen: int | None = None
    """Number of the newest decision when the signer began; what was signed since was not read."""

    def checked(self) -> Signature:
        """The signature, if it says something.

        Raises:
            DeclarationError: a blank signer, one of several alphabets, or a reason under ten characters.
        """
        if len(scripts := alphabets(self.signer)) > 1:
            raise DeclarationError(
                f"the signer {self.signer!r} mixes letters of {' and '.join(scripts)}, as nobody's name "
                "does; write it in one alphabet"
            )
        if not skeleton(self.signer):
            raise DeclarationError("the signer is blank; give a name with --sign")
        if len(self.reason.strip()) < MIN_REASON:
            raise DeclarationError(
                f"the reason {self.reason!r} is under {MIN_REASON} characters; say with --reason what was "
                "read and why it suffices"
            )
        return self

    def same_person(self, other: str) -> bool:
        """True where the other name looks like this one, in whatever case, spacing and characters."""
        return same_name(self.signer, other)


@dataclass(frozen=True, slots=True)
class Override:
    """An admission against the policy: a second person signs it, and it holds for less time."""

    second: Signature
    days: int


def sign(
    *,
    session: Session,
    scope: DecisionScope,
    report: CalibrationReport,
    decision: AdmissionDecision,
    policy: AdmissionPolicy,
    signature: Signature,
    at: datetime,
    override: Override | None = None,
) -> StoredDecision:
    """The outcome of the policy, signed and appended to the chain; it replaces what stood for the scope.

    All evidence that is not sealed yet is sealed with it, so that whatever it rests on can be verified. Where
    an alarm, a suspension or a lapse ended an admission and no evidence came since, an admission by the
    policy is signed as insufficient, with what to collect: one signature revives nothing.

    Args:
        session: a writing session in which the report is recorded.
        scope: judge, rubric, criterion, population and role.
        report: what it rests on.
        decision: what the policy says of the report; signed as it is.
        policy: that policy.
        signature: who and why.
        at: now.
        override: admit although the policy does not; only with a second signer and a shorter validity.

    Raises:
        DeclarationError: the role is not the policy's, the signature says nothing, the decision leaves out a
            judge that the policy compares with this one, or the override is none that may be signed.
        DifferentRecord: another decision than the one named stands.
    """
    if scope.role != policy.role:
        raise DeclarationError(
            f"{policy.label} serves the role {policy.role!r} and the decision is for {scope.role!r}; "
            f"use a policy for {scope.role!r}, or --role {policy.role}"
        )
    signed = signature.checked()
    _require_all_compared(session, report, decision, policy)
    standing = current_decision(session=session, scope=scope)
    _require_read(standing, signed.replaces)
    _require_none_meanwhile(standing, signed)
    seal_evidence(session=session, actor=signed.signer.strip(), at=at)
    content = {
        "decision": decision.model_dump(mode="json", by_alias=True),
        "judge": report.judge,
        "rubric": report.rubric,
        "far": report.far_gate.model_dump(mode="json"),
        "constructed": report.constructed,
        "warnings": list(report.warnings),
        "reason": signed.reason.strip(),
        "signer_established": signed.established,
        "deployments": policy.expiry.deployments,
        "most_attempts": policy.most_attempts,
        **basis_of(session=session, scope=scope, report=report),
    }
    old = _withheld(session, scope, decision, report, at)
    outcome = AdmissionOutcome.INSUFFICIENT if old else decision.outcome
    if old:
        content["withheld"] = old
    admitted, days = outcome is AdmissionOutcome.ADMIT, policy.expiry.days
    if override is not None:
        content["override"] = _overridden(outcome, report, policy, signed, override)
        admitted, days, outcome = True, override.days, AdmissionOutcome.ADMIT
    return add_decision(
        session=session,
        scope=scope,
        report_digest=report.report,
        policy_digest=policy.digest,
        outcome=outcome.value,
        content=content,
        signer=signed.signer.strip(),
        valid_until=at + timedelta(days=days) if admitted else None,
        supersedes=standing.hash if standing else None,
        at=at,
    )


def _withheld(
    session: Session,
    scope: DecisionScope,
    decision: AdmissionDecision,
    report: CalibrationReport,
    at: datetime,
) -> str:
    """Why the policy's admission is not signed by one person; empty where it is, or there is none."""
    if decision.outcome is not AdmissionOutcome.ADMIT:
        return ""
    moment = known_moment(session=session, at=at)
    return withheld(session=session, scope=scope, report_digest=report.report, at=moment)


def _require_all_compared(
    session: Session, report: CalibrationReport, decision: AdmissionDecision, policy: AdmissionPolicy
) -> None:
    """Refuse a decision among fewer judges than were examined: the luckiest of many would be admitted."""
    found = rival_reports(session=session, report_digest=report.report, policy=policy)
    left_out = [each for each in found if each.digest not in decision.rivals]
    if not left_out:
        return
    names = sorted(get_judge(session=session, judge=each.judge_digest).name for each in left_out)
    raise DeclarationError(
        f"{policy.label} has all judges that were examined on a set share its error, and this decision "
        f"leaves out {', '.join(names)}: decide among all of them, by `voirdire admit` or on the page, "
        "reloaded"
    )


def _require_read(standing: StoredDecision | None, replaces: str | None) -> None:
    """Refuse a signer who has read another decision than the one that stands."""
    if replaces is None or (standing is not None and standing.hash.startswith(replaces)):
        return
    there = f"decision {short(standing.hash)} ({standing.outcome})" if standing else "no decision"
    raise DifferentRecord(
        f"{there} stands for this scope, not {replaces!r}: read what stands, then sign one that replaces it"
    )


def _require_none_meanwhile(standing: StoredDecision | None, signed: Signature) -> None:
    """Refuse a signer who took what stands as it is, while another was signing for the same scope."""
    if signed.seen is None or signed.replaces is not None or standing is None or standing.seq <= signed.seen:
        return
    raise DifferentRecord(
        f"{standing.signer!r} signed decision {short(standing.hash)} ({standing.outcome}) for this scope "
        f"meanwhile: read it, then sign with --replaces {standing.hash[:8]}"
    )


def _overridden(
    outcome: AdmissionOutcome,
    report: CalibrationReport,
    policy: AdmissionPolicy,
    first: Signature,
    override: Override,
) -> dict[str, Any]:
    """What the record says of an override.

    Raises:
        DeclarationError: it is not needed, not signed by two people, not shorter, or nothing could be known.
    """
    second = override.second.checked()
    if outcome is AdmissionOutcome.ADMIT:
        raise DeclarationError(f"{policy.label} admits; nothing is to be overridden, so leave --override out")
    if second.same_person(first.signer):
        raise DeclarationError(
            f"{second.signer!r} signs twice, or looks like {first.signer!r}; an admission against the policy "
            "takes a second, different signer"
        )
    if not 1 <= override.days < policy.expiry.days:
        raise DeclarationError(
            f"an admission against {policy.label} holds for 1 to {policy.expiry.days - 1} days, less than "
            f"the policy's own {policy.expiry.days}, not for {override.days}"
        )
    _require_better_than_chance(report)
    return {
        "policy_outcome": outcome.value,
        "second_signer": second.signer.strip(),
        "second_reason": second.reason.strip(),
        "second_established": second.established,
        "days": override.days,
    }


def _require_better_than_chance(report: CalibrationReport) -> None:
    """Nobody can sign for a judge without a known failure, or that accepts failures as often as passes."""
    if not report.headline.n:
        raise DeclarationError("no reference failure is known: no signature opens a gate on that")
    fail, passing = report.table.fail, report.table.passing
    if report.far is not None and passing.accepted * fail.total <= fail.accepted * passing.total:
        raise DeclarationError(
            f"the judge accepts {fail.accepted} of {fail.total} failures and {passing.accepted} of "
            f"{passing.total} passes: it is no better than chance, and no signature opens a gate on that"
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
