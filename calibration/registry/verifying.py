"""Does every decision follow from the rows that it rests on? Computed anew, compared to the last digit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlmodel import Session

from calibration.admission import decide
from calibration.calibrate.evidence_set import open_set
from calibration.calibrate.rivals import rival_reports
from calibration.calibrate.run import Asked, rebuild
from calibration.evidence import AdmissionDecision, AdmissionOutcome, CalibrationReport
from calibration.policy import AdmissionPolicy
from calibration.registry.bundle import report_digest
from calibration.registry.detached import PublicKey, require_signed, signatures_of
from calibration.registry.renewing import withheld
from calibration.registry.signing import SUSPENDED
from calibration.store.chain import Head
from calibration.store.decisions import StoredDecision, iter_decisions
from calibration.store.integrity import Finding, findings
from calibration.store.judges import get_judge
from calibration.store.reports import StoredReport, get_policy, get_report
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sets import get_set_by_digest
from rubrics.errors import JudgeCalibrationError, RecordError


class Recomputed(StrEnum):
    """What came of computing a decision anew."""

    SAME = "same"
    """From labels and verdicts on, every policy item is what was signed."""
    FROM_REPORT = "from_report"
    """From its report on; labels or verdicts were added since, or the report was made with other options."""
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Verified:
    """Everything that was found, the first bad record first."""

    findings: tuple[Finding, ...]
    recomputed: Mapping[str, Recomputed]
    """By decision."""

    def count(self, outcome: Recomputed) -> int:
        """How many decisions came out so."""
        return sum(each is outcome for each in self.recomputed.values())


def verify(
    *, session: Session, checkpoints: Mapping[str, Head], public_keys: Sequence[PublicKey] = ()
) -> Verified:
    """Every record compared with its digest, chain, seal and checkpoint; every decision computed anew.

    Args:
        session: a reading session.
        checkpoints: heads of streams (and of `decisions`) that were kept outside the database.
        public_keys: where any is given, every decision must be signed by one of them.
    """
    found = list(_guarded("records", lambda: findings(session, checkpoints)))
    recomputed: dict[str, Recomputed] = {}

    def decisions() -> Iterator[Finding]:
        for decision in list(iter_decisions(session=session)):
            how, why = recompute(session=session, decision=decision)
            recomputed[decision.hash] = how
            if how is Recomputed.DIFFERENT:
                yield Finding("decision", decision.hash[:12], why)

    found += _guarded("decision", decisions)
    if public_keys:
        found += _guarded("decision", lambda: _unsigned(session, public_keys))
    return Verified(tuple(found), recomputed)


def _unsigned(session: Session, public_keys: Sequence[PublicKey]) -> Iterator[Finding]:
    """The decisions that none of the keys signed."""
    signatures = signatures_of(session=session)
    for decision in iter_decisions(session=session):
        try:
            require_signed(decision.hash, signatures, public_keys, what="the decision")
        except RecordError as error:
            yield Finding("decision", decision.hash[:12], str(error))


def _guarded(where: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """The findings; a value that cannot even be read is one."""
    try:
        yield from look()
    except (JudgeCalibrationError, ValueError, TypeError, KeyError, ArithmeticError) as error:
        said = str(error).partition("\n")[0]
        yield Finding(where, "", f"holds a value that cannot be read: {said}")


def recompute(*, session: Session, decision: StoredDecision) -> tuple[Recomputed, str]:
    """What a decision comes to when it is computed anew, and where it differs.

    From its recorded report and policy; and, where labels and verdicts are still those of the report, from
    the rows themselves.
    """
    stored = get_report(session=session, digest_prefix=decision.report_digest)
    policy = AdmissionPolicy.model_validate(
        get_policy(session=session, policy=decision.policy_digest).content
    )
    report = CalibrationReport.model_validate(stored.content)
    recorded = AdmissionDecision.model_validate(decision.content["decision"])
    if report_digest(report) != decision.report_digest or policy.digest != decision.policy_digest:
        return Recomputed.DIFFERENT, "its report or policy is not the one that its digest names"
    rivals = _rivals(session, recorded)
    if rivals is None:
        return Recomputed.DIFFERENT, "a report of a judge that it was compared with is not as recorded"
    if why := _left_out(session, decision, recorded, policy):
        return Recomputed.DIFFERENT, why
    if why := _differs(recorded, report, policy, rivals) or _unlike(session, decision, recorded):
        return Recomputed.DIFFERENT, why
    anew = _rebuilt(session, stored, report, policy)
    if anew is None:
        return Recomputed.FROM_REPORT, ""
    why = _differs(recorded, anew, policy, rivals)
    return (Recomputed.DIFFERENT, f"from labels and verdicts: {why}") if why else (Recomputed.SAME, "")


def _rivals(session: Session, recorded: AdmissionDecision) -> tuple[CalibrationReport, ...] | None:
    """The reports of the judges among which the error was divided; None where one is not what it was."""
    found = []
    for digest in recorded.rivals:
        stored = get_report(session=session, digest_prefix=digest)
        report = CalibrationReport.model_validate(stored.content)
        if report_digest(report) != digest:
            return None
        found.append(report)
    return tuple(found)


def _left_out(
    session: Session, decision: StoredDecision, recorded: AdmissionDecision, policy: AdmissionPolicy
) -> str:
    """That judges were examined before it and not compared with; empty where none was.

    A suspension or carry-over repeats what an earlier decision, which is looked at itself, compared.
    """
    if decision.outcome == SUSPENDED or "carried_over" in decision.content:
        return ""
    found = rival_reports(
        session=session,
        report_digest=decision.report_digest,
        policy=policy,
        before=decision.decided_at,
    )
    compared = {get_report(session=session, digest_prefix=each).judge_digest for each in recorded.rivals}
    left_out = {each.judge_digest for each in found} - compared
    names = sorted(get_judge(session=session, judge=each).name for each in left_out)
    return f"it leaves out {', '.join(names)}, examined before it" if names else ""


def _differs(
    recorded: AdmissionDecision,
    report: CalibrationReport,
    policy: AdmissionPolicy,
    rivals: tuple[CalibrationReport, ...],
) -> str:
    """The first item in which the policy's word on the report is not the recorded one; empty if none is."""
    found = decide(
        report,
        policy,
        looks_used=recorded.looks.used,
        looks_before=recorded.looks.before,
        rivals=rivals,
    )
    if found.model_dump() == recorded.model_dump():
        return ""
    for mine, theirs in zip(recorded.items, found.items, strict=False):
        if mine != theirs:
            return f"item {mine.name} is {theirs.status.value} (value {theirs.value}), not as signed"
    return f"the outcome is {found.outcome.value}, not {recorded.outcome.value}"


def _unlike(session: Session, decision: StoredDecision, recorded: AdmissionDecision) -> str:
    """How the outcome that is signed does not follow from the policy's; empty where it does."""
    if decision.outcome == SUSPENDED:
        return ""
    content, admit = decision.content, AdmissionOutcome.ADMIT.value
    allowed = AdmissionOutcome.INSUFFICIENT if content.get("withheld") else recorded.outcome
    if decision.outcome == admit and content.get("override", {}).get("policy_outcome") == allowed.value:
        return ""
    if decision.outcome != allowed.value:
        return f"the policy says {recorded.outcome.value} and {decision.outcome} is signed"
    if decision.outcome != admit or "carried_over" in content:
        return ""
    old = withheld(
        session=session,
        scope=decision.scope,
        report_digest=decision.report_digest,
        at=decision.decided_at,
        before=decision.seq,
    )
    return f"one person admits on old evidence: {old}" if old else ""


def _rebuilt(
    session: Session, stored: StoredReport, report: CalibrationReport, policy: AdmissionPolicy
) -> CalibrationReport | None:
    """The report from the rows as they are; None where they are no longer those of the report."""
    if stored.set_digest is None:
        return None
    kept = get_set_by_digest(session=session, digest=stored.set_digest)
    asked = Asked(
        evidence=open_set(session=session, ref=kept.ref),
        rubric=get_rubric_by_digest(session=session, digest=stored.rubric_digest),
        criterion=stored.criterion,
        judges=(get_judge(session=session, judge=stored.judge_digest),),
        policy=policy,
        actor="verify",
        exploratory=report.exploratory,
        probes=report.probes,
        as_before=report.operation is not None and report.operation.declared_free is None,
    )
    try:
        anew = rebuild(session=session, asked=asked)
    except JudgeCalibrationError:
        return None
    return anew.report if anew.inputs == stored.input_digest else None
