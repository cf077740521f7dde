"""What stands: the one question that every door asks before a judge's word counts, and what lapses soon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import Session

from calibration.evidence import AdmissionDecision, AdmissionOutcome, PolicyItem
from calibration.policy import AdmissionPolicy
from calibration.registry.changes import changes_since
from calibration.registry.renewing import line_of
from calibration.registry.signing import SUSPENDED
from calibration.rendering.items import limit_words
from calibration.rendering.vocabulary import name_words
from calibration.store.decisions import DecisionScope, StoredDecision, current_decision
from calibration.store.grades import uses_of
from calibration.store.reports import get_policy
from calibration.store.watching import Alarm, alarms, known_moment, lapsed
from rubrics.digest import short
from rubrics.errors import AdmissionExpired, JudgeNotAdmitted

ADMIT = AdmissionOutcome.ADMIT.value


@dataclass(frozen=True, slots=True)
class Admission:
    """A live admission with what a reader of its verdicts must know."""

    decision: StoredDecision
    warnings: tuple[str, ...]
    """Alarms that by the policy only warn."""
    uses: int = 0
    """Criteria of grades that rest on it, and on what it was carried over from, so far."""


def require_admission(
    *, session: Session, scope: DecisionScope, judge: str, rubric: str, at: datetime
) -> StoredDecision:
    """The live admission for the scope; as live_admission(), without what is to be read beside it."""
    found = live_admission(session=session, scope=scope, judge=judge, rubric=rubric, at=at)
    return found.decision


def live_admission(
    *, session: Session, scope: DecisionScope, judge: str, rubric: str, at: datetime
) -> Admission:
    """The live admission for the scope; the one question that every door asks.

    Args:
        session: a reading session.
        scope: what is about to be done; every field must be the decision's.
        judge: its name, for the message.
        rubric: its name@version, for the message.
        at: now; where something later is recorded, that moment counts.

    Raises:
        JudgeNotAdmitted: no decision, one that does not admit, or one that an alarm suspends; `missing`
            says what would be needed.
        AdmissionExpired: it admitted, and its validity has ended, by time or by use.
    """
    standing = current_decision(session=session, scope=scope)
    what = f"judge {judge!r} may not grade {rubric} {scope.criterion!r} ({scope.role}, {scope.population})"
    if standing is None:
        changed = changes_since(session=session, scope=scope, judge=judge, rubric=rubric)
        since = f" ({'; '.join(changed)})" if changed else ""
        raise JudgeNotAdmitted(
            f"{what}: no decision covers it{since}; run `voirdire calibrate`, then `voirdire admit`",
            missing=(
                f"a decision for {judge}, {rubric}, {scope.criterion}, {scope.population}, {scope.role}",
                *changed,
            ),
        )
    if standing.outcome != ADMIT:
        raise JudgeNotAdmitted(
            f"{what}: decision {short(standing.hash)} is {standing.outcome}", missing=missing_of(standing)
        )
    line = line_of(session, standing)
    uses = uses_of(session=session, decisions=[each.hash for each in line])
    _require_valid(session, standing, what, at, uses=uses)
    warnings = _require_calm(session, standing, line, what)
    return Admission(standing, warnings, uses)


def _require_valid(session: Session, standing: StoredDecision, what: str, at: datetime, *, uses: int) -> None:
    until, limit = standing.valid_until, standing.content.get("deployments")
    over = until is not None and known_moment(session=session, at=at) >= until
    if until is not None and (over or lapsed(session=session, decision=standing.hash)):
        raise AdmissionExpired(
            f"{what}: decision {short(standing.hash)} lapsed on {until:%Y-%m-%d %H:%M} UTC; "
            "calibrate on fresh labels and sign anew",
            decision=standing.hash,
        )
    if limit is not None and uses >= limit:
        raise AdmissionExpired(
            f"{what}: decision {short(standing.hash)} lapsed by use: {uses:,} grades rest on it and it was "
            f"signed for {limit:,}; calibrate on fresh labels and sign anew",
            decision=standing.hash,
        )


def _require_calm(
    session: Session, standing: StoredDecision, line: Sequence[StoredDecision], what: str
) -> tuple[str, ...]:
    """The alarms that only warn.

    Raises:
        JudgeNotAdmitted: one of them suspends by the decision's policy.
    """
    raised = alarms(session=session, decisions=[each.hash for each in line])
    if not raised:
        return ()
    stored = get_policy(session=session, policy=standing.policy_digest)
    policy = AdmissionPolicy.model_validate(stored.content)
    for alarm in raised:
        if policy.suspends(alarm.trigger):
            raise JudgeNotAdmitted(
                f"{what}: decision {short(standing.hash)} is suspended by an alarm ({_said(alarm)})",
                missing=(f"a calibration after the alarm of {alarm.at:%Y-%m-%d}: {alarm.sentence}",),
            )
    return tuple(_said(alarm) for alarm in raised)


def _said(alarm: Alarm) -> str:
    return f"{alarm.trigger.replace('_', ' ')}: {alarm.sentence}, {alarm.at:%Y-%m-%d %H:%M} UTC"


def missing_of(decision: StoredDecision) -> tuple[str, ...]:
    """What keeps a decision from admitting: its broken and unmet items, in the policy's words."""
    if decision.outcome == SUSPENDED:
        return (f"a new decision: suspended by {decision.signer} ({decision.content.get('reason', '')})",)
    recorded = AdmissionDecision.model_validate(decision.content["decision"])
    items = [item for item in recorded.items if item.status in {"fail", "insufficient"}]
    needed = recorded.more_failures_needed
    old = decision.content.get("withheld")
    missing = [*([str(old)] if old else []), *(_unmet(item) for item in items)]
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
        if decision.outcome == ADMIT
        and decision.valid_until is not None
        and decision.valid_until <= at + within
    ]
    return tuple(sorted(soon, key=lambda decision: decision.valid_until or at))


@dataclass(frozen=True, slots=True)
class Beside:
    """One policy item in two decisions; a side is empty where that decision has no such item."""

    name: str
    incumbent: str
    challenger: str


def side_by_side(incumbent: StoredDecision, challenger: StoredDecision) -> Iterator[Beside]:
    """Every item of two decisions in one view: what was found, and how it stands."""
    mine, theirs = _items(incumbent), _items(challenger)
    for name in dict.fromkeys([*mine, *theirs]):
        yield Beside(name, *(_found(items.get(name)) for items in (mine, theirs)))


def _items(decision: StoredDecision) -> dict[str, PolicyItem]:
    recorded = AdmissionDecision.model_validate(decision.content["decision"])
    return {item.name: item for item in recorded.items}


def _found(item: PolicyItem | None) -> str:
    if item is None:
        return ""
    said = []
    if item.x is not None and item.n is not None:
        said.append(f"{item.x}/{item.n}")
    elif item.value is not None:
        said.append(f"{item.value:.3g}" if isinstance(item.value, float) else str(item.value))
    if item.lower is not None and item.upper is not None:
        said.append(f"[{item.lower:.3f}, {item.upper:.3f}]")
    return " ".join([*said, item.status.value])
