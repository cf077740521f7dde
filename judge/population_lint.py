"""What is risky of recorded judges on the items at hand: what a declaration alone cannot show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlmodel import Session

from calibration.rendering.text import visible
from calibration.store.items import Scope, iter_items
from calibration.store.judges import StoredJudge
from judge.panel import CascadeJudge, PanelJudge
from judge.recorded import recorded_judge
from judge.spec import JudgeSpec
from judge.spec_lint import own_family, risks_with
from rubrics.criterion import Criterion
from rubrics.errors import RecordError


def families_of(*, session: Session, scope: Scope) -> tuple[str, ...]:
    """The families of models that wrote outputs in the scope, sorted; items that name none are left out."""
    found = {item.model_family for item in iter_items(session=session, scope=scope)}
    return tuple(sorted(found - {""}))


def run_risks(
    *, session: Session, judge: JudgeSpec, criteria: Sequence[Criterion], scope: Scope
) -> tuple[str, ...]:
    """A sentence for each thing that is risky of asking this judge about these items under these criteria."""
    families = families_of(session=session, scope=scope)
    return tuple(visible(risk) for risk in risks_with(judge, criteria, families))


def family_risks(*, session: Session, judge: StoredJudge, scope: Scope) -> tuple[str, ...]:
    """A sentence for each judge, members of a panel or cascade included, that judges its own family here."""
    families = families_of(session=session, scope=scope)
    if not families:
        return ()
    found = [
        f"{each.name}: {risk}" for each in _all(session, judge.digest) for risk in own_family(each, families)
    ]
    return tuple(visible(risk) for risk in dict.fromkeys(found))


def _all(session: Session, digest: str) -> Iterator[JudgeSpec]:
    """The judge and whoever votes in it; those that this version cannot read are passed over."""
    try:
        judge = recorded_judge(session=session, judge=digest)
    except RecordError:
        return
    yield judge
    if isinstance(judge, PanelJudge | CascadeJudge):
        for member in judge.judges:
            yield from _all(session, member.judge)
