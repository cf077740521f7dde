"""What a decision rests on beside its report: the population and the models that answered."""

from __future__ import annotations

from typing import Any

from sqlmodel import Session

from calibration.evidence import CalibrationReport
from calibration.registry.population import PopulationRecord, population_of
from calibration.store.decisions import DecisionScope, StoredDecision
from calibration.store.items import Scope, iter_full_items
from calibration.store.operation import member_models, reported_models
from calibration.store.reports import get_report
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sets import get_set_by_digest
from rubrics.item import Item


def basis_of(*, session: Session, scope: DecisionScope, report: CalibrationReport) -> dict[str, Any]:
    """The population record of the report's set and the models that the provider reported, as JSON.

    Of a panel or cascade also which of them answered for which member.

    Raises:
        RecordError: the report is not recorded.
    """
    stored = get_report(session=session, digest_prefix=report.report)
    models = reported_models(session=session, run_key=report.run) if report.run else ()
    of_members = member_models(session=session, run_key=report.run) if report.run else {}
    found: dict[str, Any] = {
        "population_record": _population(session, stored.set_digest, scope.rubric_digest),
        "reported_models": list(models),
    }
    if of_members:
        found["member_models"] = {judge: list(names) for judge, names in sorted(of_members.items())}
    return found


def _population(session: Session, set_digest: str | None, rubric_digest: str) -> dict[str, Any] | None:
    if set_digest is None:
        return None
    rubric = get_rubric_by_digest(session=session, digest=rubric_digest)
    items = (
        item
        for item in iter_full_items(session=session, scope=Scope(set_digest=set_digest))
        if isinstance(item, Item)
    )
    until = get_set_by_digest(session=session, digest=set_digest).frozen_at
    return population_of(items, rubric, until=until).model_dump(mode="json", by_alias=True)


def recorded_population(decision: StoredDecision) -> PopulationRecord | None:
    """The population record of a decision; None where none was made."""
    content = decision.content.get("population_record")
    return PopulationRecord.model_validate(content) if content else None
