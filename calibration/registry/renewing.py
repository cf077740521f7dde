"""What ended stays ended on the same evidence: an alarm, a suspension or a lapse asks for newer evidence.

A signature alone learns nothing. What is signed again on labels and verdicts from before the end is
insufficient; only two signers may admit on them, as against the policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session

from calibration.policy import AdmissionPolicy
from calibration.store.decisions import (
    SUSPENDED,
    DecisionScope,
    StoredDecision,
    get_decision,
    iter_decisions,
)
from calibration.store.grades import uses_of
from calibration.store.items import Scope
from calibration.store.reports import evidence_between, first_look, get_policy, get_report
from calibration.store.watching import alarms, lapse_of
from rubrics.digest import short

ADMIT = "admit"


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of an admission."""

    at: datetime
    """Evidence must be newer than this moment."""
    sentence: str


def withheld(
    *,
    session: Session,
    scope: DecisionScope,
    report_digest: str,
    at: datetime,
    before: int | None = None,
) -> str:
    """Why an admission on the report is not one person's to sign, and what to collect; empty where it is.

    Args:
        session: a reading session.
        scope: what would be decided. Where nothing was decided for its population yet, what ended for any
            other population of the same judge, rubric, criterion and role counts.
        report_digest: what it would rest on.
        at: the moment of signing; later alarms and evidence do not count.
        before: number of the decision that is looked at anew; only those before it count.
    """
    ends = list(_ends(session, _history(session, scope, before), at))
    if not ends:
        return ""
    last = max(ends, key=lambda each: each.at)
    report = get_report(session=session, digest_prefix=report_digest)
    looked = first_look(session=session, input_digest=report.input_digest)
    fresh = evidence_between(
        session=session,
        scope=_scope(report.set_digest, report.dataset),
        about=(report.judge_digest, report.rubric_digest, report.criterion),
        after=last.at,
        until=at,
    )
    if fresh and (looked is None or looked > last.at):
        return ""
    return (
        f"{last.sentence}, and the report rests on labels and verdicts from before: label or judge further "
        "items of the set, or draw a new one, and run `voirdire calibrate`; on the old evidence only two "
        "signers admit (--override-days, --second)"
    )


def _scope(set_digest: str | None, dataset: str) -> Scope:
    return Scope(set_digest=set_digest) if set_digest else Scope(dataset=dataset)


def _history(session: Session, scope: DecisionScope, before: int | None) -> list[StoredDecision]:
    """The decisions of the scope in their order; of any population where it has none of its own."""
    kin = [
        each
        for each in iter_decisions(
            session=session, judge_digest=scope.judge_digest, rubric_digest=scope.rubric_digest
        )
        if (each.scope.criterion, each.scope.role) == (scope.criterion, scope.role)
        and (before is None or each.seq < before)
    ]
    return [each for each in kin if each.scope.population == scope.population] or kin


def _ends(session: Session, history: Sequence[StoredDecision], at: datetime) -> Iterator[Ended]:
    """Every end of an admission in the history, each of which newer evidence must follow."""
    followed = {each.supersedes: each.decided_at for each in history if each.supersedes}
    for decision in history:
        until = followed.get(decision.hash, at)
        if decision.outcome == SUSPENDED:
            said = f"{decision.signer} suspended the admission on {_day(decision.decided_at)}"
            yield Ended(decision.decided_at, said)
        elif decision.outcome == ADMIT:
            yield from _alarmed(session, decision, until)
            yield from _lapsed(session, decision, until)


def _alarmed(session: Session, decision: StoredDecision, until: datetime) -> Iterator[Ended]:
    """Alarms that suspended it, those about what it was carried over from included."""
    line = [each.hash for each in line_of(session, decision)]
    raised = alarms(session=session, decisions=line)
    if not raised:
        return
    stored = get_policy(session=session, policy=decision.policy_digest)
    policy = AdmissionPolicy.model_validate(stored.content)
    for alarm in raised:
        if alarm.at <= until and policy.suspends(alarm.trigger):
            what = alarm.trigger.replace("_", " ")
            yield Ended(
                alarm.at, f"an alarm suspended decision {short(decision.hash)} ({what}, {_day(alarm.at)})"
            )


def _lapsed(session: Session, decision: StoredDecision, until: datetime) -> Iterator[Ended]:
    """Its lapse by time or by use, where it came before it was replaced."""
    said = f"decision {short(decision.hash)} lapsed"
    noted = lapse_of(session=session, decision=decision.hash)
    due = decision.valid_until
    if due is not None and due <= until:
        yield Ended(due, f"{said} on {_day(due)}")
    elif noted is not None and noted <= until:
        yield Ended(noted, f"{said} by {_day(noted)}")
    limit = decision.content.get("deployments")
    line = [each.hash for each in line_of(session, decision)]
    if limit is not None and uses_of(session=session, decisions=line) >= limit:
        yield Ended(decision.decided_at, f"{said} by use")


def line_of(session: Session, decision: StoredDecision) -> tuple[StoredDecision, ...]:
    """The decision and those that it was carried over from: uses and alarms of one are of all."""
    line = [decision]
    while (origin := _origin(line[-1].content)) is not None:
        line.append(get_decision(session=session, hash_prefix=origin))
    return tuple(line)


def _origin(content: Mapping[str, Any]) -> str | None:
    origin: str | None = content.get("carried_over", {}).get("from")
    return origin


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
