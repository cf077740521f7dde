"""Where a judge and people disagree, item by item; whoever reads it is recorded before it is handed out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session

from calibration.calibrate.cases import outcome_of
from calibration.calibrate.evidence_set import EvidenceSet
from calibration.calibrate.references import read_references
from calibration.calibrate.verdicts import MISSING, read_verdicts
from calibration.labels import ReferenceRule
from calibration.store.chain import append_event
from calibration.store.judges import StoredJudge
from calibration.store.reports import Look, LookKind, Steered, add_look
from calibration.store.steering import LOOKS
from rubrics.digest import digest
from rubrics.errors import DeclarationError, RecordError
from rubrics.rubric import Rubric

MIN_REASON = 10


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One item on which judge and reference differ."""

    item_id: str
    reference: str
    """pass or fail."""
    verdict: str
    """pass, fail or unknown."""
    reason: str | None
    """Why it is unknown."""
    failure_modes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The line that is exported."""
        return {
            "item_id": self.item_id,
            "reference": self.reference,
            "verdict": self.verdict,
            "reason": self.reason,
            "failure_modes": list(self.failure_modes),
        }


@dataclass(frozen=True, slots=True)
class Disagreements:
    """What was read, and the look that it cost."""

    items: tuple[Disagreement, ...]
    look: Look


def disagreements(
    *,
    session: Session,
    evidence: EvidenceSet,
    rubric: Rubric,
    criterion: str,
    judge: StoredJudge,
    actor: str,
    at: datetime,
    kind: LookKind = LookKind.EXPORT,
) -> Disagreements:
    """The items whose verdict is not their reference, by majority, with the look recorded in the transaction.

    Args:
        session: a writing session.
        evidence: the set.
        rubric: under which it is labelled and judged.
        criterion: of that rubric.
        judge: whose verdicts.
        actor: who reads them; what this person declares later is presumed to be steered.
        at: now.
        kind: exported to a file, or browsed.

    Raises:
        RecordError: the judge has no verdict on the set.
    """
    asked = rubric.criterion(criterion)
    references = read_references(
        session=session,
        scope=evidence.scope,
        rubric_digest=rubric.digest,
        criterion=asked,
        rule=ReferenceRule.MAJORITY,
        min_raters=1,
    )
    judged = read_verdicts(
        session=session,
        scope=evidence.scope,
        judge_digest=judge.digest,
        rubric_digest=rubric.digest,
        dataset=evidence.dataset,
        criterion=asked,
    )
    if judged is None:
        raise RecordError(f"judge {judge.name!r} has no verdict on {evidence.called} under {rubric.ref}")
    found = []
    for item, reference in references.by_item.items():
        outcome = outcome_of(judged.answers.get(item, MISSING), asked, reference.answer)
        if reference.label.resolved and outcome.verdict is not reference.label.verdict:
            reason = outcome.reason.value if outcome.reason else None
            said = reference.label.verdict.value
            found.append(Disagreement(item, said, outcome.verdict.value, reason, reference.failure_modes))
    seen = [
        kind.value,
        evidence.digest,
        judge.digest,
        rubric.digest,
        criterion,
        actor,
        sorted(judged.digests),
    ]
    look = Look(
        input_digest=digest(seen),
        kind=kind,
        criterion=criterion,
        actor=actor,
        at=at,
        set_digest=evidence.digest,
        judge_digest=judge.digest,
        rubric_digest=rubric.digest,
        steered=Steered.PRESUMED,
    )
    recorded, _ = add_look(session=session, look=look)
    return Disagreements(tuple(found), recorded)


def declare_steered(
    *, session: Session, evidence: EvidenceSet, criterion: str, reason: str, actor: str, at: datetime
) -> Look:
    """The look by which somebody says that the set shaped what is declared from now on.

    Raises:
        DeclarationError: the reason says nothing.
    """
    if len(reason.strip()) < MIN_REASON:
        raise DeclarationError(
            f"the reason {reason!r} is under {MIN_REASON} characters; say what was changed"
        )
    look = Look(
        input_digest=digest(["steered", evidence.digest, criterion, actor, reason.strip()]),
        kind=LookKind.REPORT,
        criterion=criterion,
        actor=actor,
        at=at,
        set_digest=evidence.digest,
        steered=Steered.YES,
    )
    recorded, new = add_look(session=session, look=look)
    if new:
        told = {"look": look.input_digest, "reason": reason.strip()}
        append_event(
            session=session, stream=LOOKS, kind="steering.declared", actor=actor, payload=told, at=at
        )
    return recorded
