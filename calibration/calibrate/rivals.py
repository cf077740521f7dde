"""Who was examined beside a judge: among all of them the policy divides its error."""

from __future__ import annotations

from datetime import datetime

from sqlmodel import Session

from calibration.evidence import CalibrationReport
from calibration.policy import AdmissionPolicy
from calibration.store.judges import get_judge
from calibration.store.reports import StoredReport, get_report, list_reports

BASELINE = "baseline"


def rival_reports(
    *, session: Session, report_digest: str, policy: AdmissionPolicy, before: datetime | None = None
) -> tuple[StoredReport, ...]:
    """The newest report of every other judge on the same set, rubric, criterion and policy, by judge.

    Whoever was examined there counts, whenever that was and whether named again or not: else the luckiest of
    many is admitted by asking for it alone. Baselines are no candidates. Empty where the policy does not have
    the judges that are compared share its error, or where the report is bound to no set.

    Args:
        session: a reading session.
        report_digest: a recorded report.
        policy: the policy that it was made under.
        before: only what was recorded earlier than that; None takes all.
    """
    if policy.judges_compared != "holm":
        return ()
    own = get_report(session=session, digest_prefix=report_digest)
    if own.set_digest is None:
        return ()
    newest: dict[str, StoredReport] = {}
    for each in list_reports(session=session, criterion=own.criterion, set_digest=own.set_digest):
        same = (each.rubric_digest, each.policy_digest) == (own.rubric_digest, own.policy_digest)
        if before is not None and each.recorded_at >= before:
            continue
        if same and each.judge_digest != own.judge_digest:
            newest.setdefault(each.judge_digest, each)
    return tuple(
        newest[judge] for judge in sorted(newest) if get_judge(session=session, judge=judge).kind != BASELINE
    )


def rivals_of(
    *, session: Session, report_digest: str, policy: AdmissionPolicy
) -> tuple[CalibrationReport, ...]:
    """The same reports, read."""
    found = rival_reports(session=session, report_digest=report_digest, policy=policy)
    return tuple(CalibrationReport.model_validate(each.content) for each in found)
