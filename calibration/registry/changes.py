"""Why a judge that was admitted is not: what of judge, rubric, population or role has changed since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlmodel import Session

from calibration.evidence import AdmissionOutcome
from calibration.store.decisions import DecisionScope, StoredDecision, iter_decisions
from calibration.store.judges import get_judge
from calibration.store.rubrics import get_rubric_by_digest
from rubrics.diff import diff_rubrics
from rubrics.digest import short
from rubrics.errors import RecordError


def changes_since(*, session: Session, scope: DecisionScope, judge: str, rubric: str) -> tuple[str, ...]:
    """What differs from the newest admission of a judge or rubric of the same name, a sentence each.

    Empty where nothing of that name was admitted under the criterion.
    """
    earlier = [
        decision
        for decision in iter_decisions(session=session, standing=True)
        if decision.outcome == AdmissionOutcome.ADMIT.value
        and decision.scope.criterion == scope.criterion
        and decision.content.get("judge") == judge
        and str(decision.content.get("rubric")).partition("@")[0] == rubric.partition("@")[0]
    ]
    return tuple(_differences(session, scope, earlier[-1])) if earlier else ()


def _differences(session: Session, scope: DecisionScope, earlier: StoredDecision) -> Iterator[str]:
    then, named = earlier.scope, f"decision {short(earlier.hash)}"
    if then.judge_digest != scope.judge_digest:
        fields = _judge_fields(session, then.judge_digest, scope.judge_digest)
        yield f"the judge changed since {named}: {fields}"
    if then.rubric_digest != scope.rubric_digest:
        yield f"the rubric changed since {named}: {_rubric_words(session, then, scope)}"
    for field in ("population", "role"):
        before, now = getattr(then, field), getattr(scope, field)
        if before != now:
            yield f"{named} is for {field} {before!r}, not {now!r}"


def _judge_fields(session: Session, before: str, after: str) -> str:
    try:
        old, new = (dict(get_judge(session=session, judge=digest).content) for digest in (before, after))
    except RecordError:
        return "its spec is another one"
    return ", ".join(changed_fields(old, new)) or "its digest is another one"


def changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """The top-level fields in which two specs differ, in their order."""
    names = dict.fromkeys([*old, *new])
    return tuple(name for name in names if old.get(name) != new.get(name))


def _rubric_words(session: Session, then: DecisionScope, now: DecisionScope) -> str:
    try:
        old, new = (
            get_rubric_by_digest(session=session, digest=digest)
            for digest in (then.rubric_digest, now.rubric_digest)
        )
    except RecordError:
        return "it is another one"
    found = diff_rubrics(old, new)
    said = [change.sentence for change in found.changes if change.criterion in {"", now.criterion}]
    carried = now.criterion in found.untouched or (found.only_wording and not found.identical)
    way = "; if nothing of substance changed, sign it with `voirdire decisions carry`" if carried else ""
    return f"{old.ref} to {new.ref}" + (f" ({', '.join(said)})" if said else "") + way
