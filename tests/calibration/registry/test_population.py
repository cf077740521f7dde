"""The population of a decision as a record: the dates of its items are a period, not a slice."""

from __future__ import annotations

from datetime import date

import pytest

from calibration.policy import far_only
from calibration.registry.population import PopulationRecord, departures, population_of
from rubrics.item import Item
from tests.calibration.filling import RUBRIC


def dated(number: int, **tags: str) -> Item:
    """An item that says when it arose."""
    return Item(item_id=f"i{number}", input="q", output="a", tags=tags)


MAY = [dated(n, date=f"2026-05-{n + 1:02d}T09:00:00Z", lang="en") for n in range(30)]


def test_dates_make_a_period_and_no_slice() -> None:
    """First and last day; the record reads back to the same."""
    record = population_of(MAY, RUBRIC)
    assert record.period == (date(2026, 5, 1), date(2026, 5, 30))
    assert set(record.tags) == {"lang"}
    again = PopulationRecord.model_validate(record.model_dump(mode="json", by_alias=True))
    assert again.digest == record.digest
    assert population_of([dated(1, lang="en")], RUBRIC).period is None


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ({"date": "2026-05-01"}, []),
        ({"date": "2026-05-30"}, []),
        ({"date": "2026-04-30"}, [("period", "period")]),
        ({"created_at": "2026-05-31 00:00"}, [("period", "period")]),
        ({"date": "in May"}, []),
        ({}, []),
    ],
)
def test_an_item_of_another_time_is_named(tags: dict[str, str], found: list[tuple[str, str]]) -> None:
    """Both ends are within; an item without a date that can be read is compared in what it says."""
    record = population_of(MAY, RUBRIC)
    assert [
        (each.trigger.value, each.field) for each in departures(record, dated(0, **tags), RUBRIC)
    ] == found


@pytest.mark.parametrize("system", ["", "  "])
def test_an_item_without_a_system_is_not_audited(system: str) -> None:
    """Leaving the name out is no way round the audit, where the calibrated outputs have systems."""
    known = population_of([item.model_copy(update={"system": "bot-7"}) for item in MAY], RUBRIC)
    (found,) = departures(known, dated(3, date="2026-05-04").model_copy(update={"system": system}), RUBRIC)
    assert (found.trigger.value, "names no system; calibrated: bot-7" in found.sentence) == ("system", True)
    nameless = population_of([item.model_copy(update={"system": ""}) for item in MAY], RUBRIC)
    assert (
        departures(nameless, dated(3, date="2026-05-04").model_copy(update={"system": system}), RUBRIC) == ()
    )


def test_a_period_suspends_only_where_the_policy_says_so() -> None:
    """All that is graded later lies after it, so by itself it is only told."""
    assert not far_only(0.10).suspends("period")
    assert far_only(0.10).model_copy(update={"recalibrate_on": ("period",)}).suspends("period")
