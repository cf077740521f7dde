"""What each look spent: its number among those that count together, and its share of the policy's error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from calibration.calibrate.looks import looks_used
from calibration.policy import AdmissionPolicy
from calibration.store.judges import list_judges
from calibration.store.reports import Look, get_policy, list_looks


@dataclass(frozen=True, slots=True)
class Spent:
    """A look with what it cost."""

    look: Look
    judge: str
    """Name of the judge; empty where the look was at none."""
    number: int | None
    """Its number among the looks at this judge, rubric and criterion; None where it evaluated no gate."""
    allowed: int | None
    alpha: float | None
    """Share of the policy's error that it spent, one look being the policy's error by its looks."""

    def to_json(self) -> dict[str, Any]:
        """The look as scripts read it."""
        look = self.look
        return {
            "look": look.input_digest,
            "kind": look.kind.value,
            "at": look.at.isoformat(),
            "actor": look.actor,
            "set": look.set_digest,
            "judge": self.judge or None,
            "judge_digest": look.judge_digest,
            "rubric_digest": look.rubric_digest,
            "criterion": look.criterion,
            "policy": look.policy_digest,
            "report": look.report_digest,
            "number": self.number,
            "allowed": self.allowed,
            "alpha_spent": self.alpha,
            "steered": look.steered.value,
        }


def spent_looks(
    *, session: Session, judge_digest: str | None = None, criterion: str | None = None
) -> tuple[Spent, ...]:
    """The looks, oldest first; those at a judge or under a criterion where given."""
    names = {judge.digest: judge.name for judge in list_judges(session=session)}
    return tuple(
        _spent(session, look, names.get(look.judge_digest or "", ""))
        for look in list_looks(session=session, judge_digest=judge_digest, criterion=criterion)
    )


def _spent(session: Session, look: Look, judge: str) -> Spent:
    if look.policy_digest is None or look.judge_digest is None or look.rubric_digest is None:
        return Spent(look, judge, None, None, None)
    stored = get_policy(session=session, policy=look.policy_digest)
    policy = AdmissionPolicy.model_validate(stored.content)
    if not policy.gate:
        return Spent(look, judge, None, None, None)
    used = looks_used(
        session=session,
        judge_digest=look.judge_digest,
        rubric_digest=look.rubric_digest,
        criterion=look.criterion,
        input_digest=look.input_digest,
    )
    within = used <= policy.looks.max
    return Spent(look, judge, used, policy.looks.max, 1 - policy.confidence if within else 0.0)
