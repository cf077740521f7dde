"""Evaluations of a gate: which count together, what opens the count anew, and who may open it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from calibration.calibrate.evidence_set import EvidenceSet
from calibration.calibrate.persons import same_name
from calibration.evidence import AdmissionOutcome
from calibration.policy import AdmissionPolicy
from calibration.store.decisions import iter_decisions
from calibration.store.reports import Look, get_policy, list_looks
from calibration.store.steering import Reopening, reopen_looks, reopenings, sharing_sets
from rubrics.errors import DeclarationError

MIN_REASON = 10


@dataclass(frozen=True, slots=True)
class LooksSpent:
    """The place of a look in the count that it belongs to."""

    used: int
    """Evaluations of the gate so far in this count, the look itself included."""
    before: int
    """Evaluations in counts that were closed before, without an admission; printed on the decision."""


@dataclass(frozen=True, slots=True)
class _Opening:
    """A moment from which looks are counted anew."""

    at: datetime
    by_admission: bool


def looks_spent(
    *, session: Session, judge_digest: str, rubric_digest: str, criterion: str, input_digest: str
) -> LooksSpent:
    """What the judge had spent when this look was taken.

    Counted per judge, rubric and criterion over all sets. A signed admission by a policy of the same role
    opens the count anew, and so does a second signer with a fresh set; a rejection, an override, a carry-over
    and an admission in another role do not. A look without a policy, or by one without a gate, evaluates
    nothing: it is in the ledger and is not counted.
    """
    policies: dict[str, AdmissionPolicy] = {}
    looks = list(_gate_looks(session, judge_digest, rubric_digest, criterion, policies))
    this = next((look for look in looks if look.input_digest == input_digest), None)
    if this is None:
        return LooksSpent(1, 0)
    role = policies[this.policy_digest or ""].role
    openings = [*_admissions(session, judge_digest, rubric_digest, criterion, role)]
    openings += [
        _Opening(each.at, False)
        for each in reopenings(session=session)
        if each.about == (judge_digest, rubric_digest, criterion)
    ]
    past = sorted((each for each in openings if each.at <= this.at), key=lambda each: each.at)
    since = past[-1].at if past else None
    admitted = max((each.at for each in past if each.by_admission), default=None)
    counted = [look for look in looks if since is None or look.at >= since]
    before = [
        look
        for look in looks
        if since is not None and look.at < since and (admitted is None or look.at >= admitted)
    ]
    return LooksSpent(counted.index(this) + 1, len(before))


def looks_used(
    *, session: Session, judge_digest: str, rubric_digest: str, criterion: str, input_digest: str
) -> int:
    """Evaluations of a gate that the judge had spent when this look was taken, itself included."""
    return looks_spent(
        session=session,
        judge_digest=judge_digest,
        rubric_digest=rubric_digest,
        criterion=criterion,
        input_digest=input_digest,
    ).used


def _gate_looks(
    session: Session,
    judge_digest: str,
    rubric_digest: str,
    criterion: str,
    policies: dict[str, AdmissionPolicy],
) -> Iterator[Look]:
    """The looks that evaluated a gate, oldest first; fills in the policies that they were by."""
    for look in list_looks(session=session, judge_digest=judge_digest, criterion=criterion):
        if look.rubric_digest != rubric_digest or look.policy_digest is None:
            continue
        if look.policy_digest not in policies:
            stored = get_policy(session=session, policy=look.policy_digest)
            policies[look.policy_digest] = AdmissionPolicy.model_validate(stored.content)
        if policies[look.policy_digest].gate:
            yield look


def _admissions(
    session: Session, judge_digest: str, rubric_digest: str, criterion: str, role: str
) -> Iterator[_Opening]:
    for decision in iter_decisions(session=session, judge_digest=judge_digest, rubric_digest=rubric_digest):
        by_policy = not {"override", "carried_over"} & set(decision.content)
        same = decision.scope.criterion == criterion and decision.scope.role == role
        if decision.outcome == AdmissionOutcome.ADMIT.value and by_policy and same:
            yield _Opening(decision.decided_at, True)


def reopen(
    *,
    session: Session,
    judge_digest: str,
    rubric_digest: str,
    criterion: str,
    evidence: EvidenceSet,
    signer: str,
    reason: str,
    at: datetime,
) -> Reopening:
    """A new count of looks for a judge whose looks are spent, on a fresh set, signed by a second person.

    Raises:
        DeclarationError: somebody has looked at this judge on the set or on one that shares an item with it,
            the signer is one of those who looked, or the reason says nothing.
    """
    if len(reason.strip()) < MIN_REASON:
        raise DeclarationError(
            f"the reason {reason!r} is under {MIN_REASON} characters; say why it is examined again"
        )
    looks = [
        look
        for look in list_looks(session=session, judge_digest=judge_digest, criterion=criterion)
        if look.rubric_digest == rubric_digest
    ]
    shared = sharing_sets(session=session, set_digest=evidence.digest)
    if any(look.set_digest in shared for look in looks):
        raise DeclarationError(
            f"{evidence.called} was looked at with this judge, or shares items with a set that was; "
            "draw one of items that nobody has seen it on"
        )
    if any(same_name(signer, look.actor) for look in looks):
        raise DeclarationError(f"{signer!r} has looked at this judge; a second, different person signs")
    return reopen_looks(
        session=session,
        about=(judge_digest, rubric_digest, criterion),
        set_digest=evidence.digest,
        spent=len(looks),
        signer=signer,
        reason=reason.strip(),
        at=at,
    )
