"""A signed decision as its printable card: report, policy and judge as they were recorded."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlmodel import Session

from calibration.evidence import AdmissionDecision, CalibrationReport, Examination
from calibration.policy import AdmissionPolicy
from calibration.rendering.card import SignedRecord, render_card
from calibration.store.decisions import StoredDecision
from calibration.store.judges import get_judge
from calibration.store.reports import get_policy, get_report

LAPSES = {
    "rubric": "the rubric changes",
    "judge": "the judge, or the model that its provider reports, changes",
    "prompt": "its prompt changes",
    "evidence_interface": "the fields that it is shown change",
    "sampling": "items come to it in another way",
    "population": "outputs lie outside the population",
    "anchor_change": "a verdict on an anchor item changes",
    "cusum": "the drift alarm rings",
    "audit_e_value": "the audit of accepted outputs rejects the limit",
}
"""What ends an admission at once, by the trigger that the policy names."""


def lapse_words(policy: AdmissionPolicy) -> tuple[str, ...]:
    """What suspends an admission under the policy, a clause each, in the policy's order."""
    return tuple(
        LAPSES.get(trigger, trigger.replace("_", " "))
        for trigger in policy.recalibrate_on
        if policy.suspends(trigger)
    )


def decision_card(
    *, session: Session, decision: StoredDecision, at: datetime, made_at: datetime | None = None
) -> str:
    """The card of a recorded decision as one HTML page.

    Args:
        session: a reading session.
        decision: as it is recorded.
        at: the time for which the card says whether it still holds.
        made_at: when the card was made; None prints no time.

    Raises:
        RecordError: its report, policy or judge is not recorded, or was changed outside voirdire.
    """
    policy = AdmissionPolicy.model_validate(
        get_policy(session=session, policy=decision.policy_digest).content
    )
    examination = Examination(
        report=CalibrationReport.model_validate(
            get_report(session=session, digest_prefix=decision.report_digest).content
        ),
        decision=AdmissionDecision.model_validate(decision.content["decision"]),
    )
    kind = get_judge(session=session, judge=decision.scope.judge_digest).kind
    record = signed_record(decision, judge_kind=f"{kind} judge", policy=policy)
    return render_card(examination, record, at=at, made_at=made_at)


def signed_record(decision: StoredDecision, *, judge_kind: str, policy: AdmissionPolicy) -> SignedRecord:
    """The decision as the card shows it."""
    content = decision.content
    return SignedRecord(
        number=decision.seq,
        digest=decision.hash,
        previous=decision.prev_hash,
        outcome=decision.outcome,
        judge_kind=judge_kind,
        judge_digest=decision.scope.judge_digest,
        rubric=str(content.get("rubric")),
        rubric_digest=decision.scope.rubric_digest,
        population=decision.scope.population,
        role=decision.scope.role,
        signer=decision.signer,
        established=str(content.get("signer_established")),
        reason=str(content.get("reason")),
        signed_at=decision.decided_at,
        valid_until=decision.valid_until,
        uses=content.get("deployments"),
        against_policy="override" in content,
        further=further_words(content),
        lapses_when=lapse_words(policy),
    )


def further_words(content: Any) -> tuple[str, ...]:
    """A second signature and what was carried over, a sentence each."""
    said = []
    if override := content.get("override"):
        said.append(
            f"Also signed by {override['second_signer']} ({override['second_established']}): "
            f"“{override['second_reason']}”"
        )
    if withheld := content.get("withheld"):
        said.append(f"Not admitted by one signature: {withheld}.")
    if carried := content.get("carried_over"):
        said.append(f"Carried over from decision {carried['from'][:12]} as not substantive.")
    return tuple(said)
