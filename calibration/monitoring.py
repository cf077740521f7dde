"""Use cases of watching: audited failures and anchors of an admitted judge, and the alarms that they raise.

What an alarm does is for the policy of the decision to say (registry): it suspends or warns. Here it is only
found and recorded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from calibration.calibrate.cases import outcome_of
from calibration.calibrate.references import read_references
from calibration.calibrate.verdicts import MISSING, deployed, read_verdicts
from calibration.policy import AdmissionPolicy
from calibration.statistics.sequential import Direction, cusum, log_e_value
from calibration.store.calls import NO_ORDER
from calibration.store.decisions import StoredDecision
from calibration.store.items import Scope
from calibration.store.judges import RunOrigin, StoredRun, list_runs
from calibration.store.reports import get_policy
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.verdicts import StoredVerdict, iter_verdicts
from calibration.store.watching import Alarm, raise_alarm
from rubrics.answer import Answer
from rubrics.errors import RecordError
from rubrics.verdict import Verdict

ALARM_AT = 40
"""E-value at which an audit raises an alarm: 1/40 is the chance that it ever does at a FAR of the limit."""
CUSUM_AT = 5.0
"""Early warning; it is wrong more often and faster (STATISTICS §8)."""


@dataclass(frozen=True, slots=True)
class AuditReading:
    """What audited reference failures say of an admitted judge."""

    accepted: int
    failures: int
    limit: float
    """The FAR that its policy allows."""
    e_value: float
    """The largest so far, against FAR at or under the limit."""
    alarm_at: int | None
    """Audited failures at which the e-value reached ALARM_AT; None while it has not."""
    warned_at: int | None
    """Those at which the CUSUM from half to one and a half times the limit reached CUSUM_AT."""
    alarms: tuple[Alarm, ...]


def watch_audit(
    *, session: Session, decision: StoredDecision, dataset: str, actor: str, at: datetime
) -> AuditReading:
    """What the audited outputs of a dataset say; alarms are recorded, each once.

    The outputs are a random sample of those that were graded, labelled since; only reference failures count,
    in the order of the items.

    Args:
        session: a writing session.
        decision: the admission that is watched.
        dataset: where the audited outputs, their labels and the judge's verdicts are.
        actor: who watches.
        at: now.

    Raises:
        RecordError: no label, or no verdict of the judge, is recorded there.
    """
    policy = AdmissionPolicy.model_validate(
        get_policy(session=session, policy=decision.policy_digest).content
    )
    limit = policy.primary.upper_at_most
    accepted = _audited(session, decision, dataset, policy)
    best, alarm_at = _largest(accepted, limit)
    warned_at = cusum(accepted, good=limit / 2, bad=min(1.5 * limit, 0.99), threshold=CUSUM_AT).alarm_at
    raised = []
    found = (
        ("audit_e_value", alarm_at, f"e-value {ALARM_AT} or more against FAR at most {limit:g}"),
        ("cusum", warned_at, f"CUSUM {CUSUM_AT:g} or more towards FAR {1.5 * limit:g}"),
    )
    for trigger, place, words in found:
        if place is not None:
            sentence = f"{sum(accepted[:place])} of {place} audited failures accepted in {dataset}: {words}"
            raised.append(
                raise_alarm(
                    session=session,
                    decision=decision.hash,
                    trigger=trigger,
                    sentence=sentence,
                    actor=actor,
                    at=at,
                )
            )
    return AuditReading(sum(accepted), len(accepted), limit, best, alarm_at, warned_at, tuple(raised))


def _audited(session: Session, decision: StoredDecision, dataset: str, policy: AdmissionPolicy) -> list[bool]:
    """Whether the judge accepted each audited reference failure, in the order of the items."""
    rubric = get_rubric_by_digest(session=session, digest=decision.scope.rubric_digest)
    criterion = rubric.criterion(decision.scope.criterion)
    scope = Scope(dataset=dataset)
    references = read_references(
        session=session,
        scope=scope,
        rubric_digest=rubric.digest,
        criterion=criterion,
        rule=policy.reference.label_rule,
        min_raters=1,
    )
    judged = read_verdicts(
        session=session,
        scope=scope,
        judge_digest=decision.scope.judge_digest,
        rubric_digest=rubric.digest,
        dataset=dataset,
        criterion=criterion,
    )
    if judged is None or not references.by_item:
        what = "verdict of the judge" if judged is None else "label"
        raise RecordError(
            f"no {what} is recorded on dataset {dataset!r} under {rubric.ref}: nothing is audited"
        )
    return [
        outcome_of(judged.answers.get(item, MISSING), criterion, found.answer).accepted
        for item, found in references.by_item.items()
        if found.label.verdict is Verdict.FAIL
    ]


def _largest(accepted: Sequence[bool], limit: float) -> tuple[float, int | None]:
    """The largest e-value on the way, and after how many failures it first reached ALARM_AT."""
    best, alarm_at, x = 0.0, None, 0
    for n, was_accepted in enumerate(accepted, start=1):
        x += was_accepted
        found = log_e_value(x, n, limit=limit, direction=Direction.ABOVE)
        best = max(best, found)
        if alarm_at is None and found >= math.log(ALARM_AT):
            alarm_at = n
    return math.exp(min(best, 700.0)), alarm_at


@dataclass(frozen=True, slots=True)
class AnchorReading:
    """Fixed items judged twice: with unchanged inputs every change is the judge's."""

    anchors: int
    """Items that both runs answered."""
    changed: tuple[str, ...]
    """Those whose verdict is another one."""
    alarm: Alarm | None


def watch_anchors(
    *, session: Session, decision: StoredDecision, dataset: str, actor: str, at: datetime
) -> AnchorReading:
    """The newest run on the anchors compared with the first; any changed verdict raises an alarm.

    Raises:
        RecordError: the judge has fewer than two runs on the dataset under the criterion.
    """
    scope = decision.scope
    runs = [
        run
        for run in list_runs(session=session, judge_digest=scope.judge_digest, dataset=dataset)
        if run.rubric_digest == scope.rubric_digest and not run.escalated
    ]
    answers = [found for run in runs if (found := _answers(session, run, scope.criterion))]
    if len(answers) < 2:
        raise RecordError(
            f"the judge has {len(answers)} runs on the anchors {dataset!r} under {scope.criterion!r}; "
            "two are compared"
        )
    first, newest = answers[0], answers[-1]
    both = [item for item in first if item in newest]
    changed = tuple(item for item in both if first[item] != newest[item])
    alarm = None
    if changed:
        alarm = raise_alarm(
            session=session,
            decision=decision.hash,
            trigger="anchor_change",
            sentence=f"{len(changed)} of {len(both)} anchors in {dataset} have another verdict now",
            actor=actor,
            at=at,
        )
    return AnchorReading(len(both), changed, alarm)


def _answers(session: Session, run: StoredRun, criterion: str) -> dict[str, Answer]:
    """What the run deployed for each item."""
    scope = Scope(dataset=run.dataset)
    by_item: dict[str, list[StoredVerdict]] = {}
    for verdict in iter_verdicts(session=session, scope=scope, criterion=criterion, run_key=run.key):
        by_item.setdefault(verdict.item_id, []).append(verdict)
    orders = json.loads(run.plan).get("orders", ()) if run.origin is RunOrigin.RUN else ()
    due = tuple(None if order == NO_ORDER else order for order in orders)
    return {item: deployed(given, due) for item, given in by_item.items()}
