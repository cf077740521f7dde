"""The population that a decision rests on, as a record, and whether a new item lies within it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from pydantic import Field

from calibration.calibrate.cases import MAX_SLICE_VALUES
from calibration.evidence import Frozen
from rubrics.digest import digest
from rubrics.item import Item
from rubrics.rubric import Rubric

RECORD_SCHEMA = "voirdire.population/1"
LANGUAGE_TAGS = frozenset({"language", "lang"})
DATE_TAGS = ("date", "created", "created_at")
"""Tags that say when an item arose, as ISO 8601; they make no slices."""


class Trigger(StrEnum):
    """What of the population an item departs from; the policy says whether that suspends or warns."""

    POPULATION = "population"
    EVIDENCE = "evidence_interface"
    SYSTEM = "system"
    """A system that no calibration item came from: a candidate that is not audited."""
    PERIOD = "period"
    """A date before the first or after the last of the calibrated items."""
    ATTEMPTS = "attempts"
    """An item that was graded as often as the decision covers."""


class PopulationRecord(Frozen):
    """Which items a judge was calibrated on, in what a new item can be compared with."""

    schema_: str = Field(default=RECORD_SCHEMA, alias="schema")
    items: int
    tags: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """The values of each tag that makes slices, sorted."""
    characters: Mapping[str, tuple[int, int]] = Field(default_factory=dict)
    """Shortest and longest text of each field that the rubric shows."""
    always: tuple[str, ...] = ()
    """Evidence fields of the rubric that every item had, not blank."""
    sometimes: tuple[str, ...] = ()
    """Evidence fields of the rubric that some items had."""
    systems: tuple[str, ...] = ()
    """Systems that wrote the outputs; empty where no item names one."""
    languages: tuple[str, ...] = ()
    """Values of the tag `language` or `lang`."""
    until: datetime | None = None
    """When the set was frozen: nothing later is in it."""
    period: tuple[date, date] | None = None
    """First and last date of the items that tell one; null where none does."""

    @property
    def digest(self) -> str:
        """Identity of the record: another population is another version of it."""
        return digest(self)


@dataclass(frozen=True, slots=True)
class Departure:
    """One way in which an item lies outside the record."""

    trigger: Trigger
    field: str
    sentence: str


def population_of(
    items: Iterable[Item], rubric: Rubric, *, until: datetime | None = None
) -> PopulationRecord:
    """The record of the items as the rubric shows them; erased items are not among those given."""
    fields = [field.key for field in rubric.fields]
    evidence = [field.key for field in rubric.evidence]
    tags: dict[str, set[str]] = {}
    lengths: dict[str, tuple[int, int]] = {}
    present = dict.fromkeys(evidence, 0)
    systems: set[str] = set()
    dates: list[date] = []
    count = 0
    for item in items:
        count += 1
        for name, value in item.tags.items():
            if name not in DATE_TAGS:
                tags.setdefault(name, set()).add(value)
        if (arose := date_of(item)) is not None:
            dates.append(arose)
        for key in fields:
            size = len(item.text(key))
            low, high = lengths.get(key, (size, size))
            lengths[key] = (min(low, size), max(high, size))
        for key in evidence:
            present[key] += bool(item.text(key).strip())
        systems |= {item.system} - {""}
    slices = {
        name: tuple(sorted(seen)) for name, seen in sorted(tags.items()) if len(seen) <= MAX_SLICE_VALUES
    }
    return PopulationRecord(
        items=count,
        tags=slices,
        characters=lengths,
        always=tuple(key for key, n in present.items() if count and n == count),
        sometimes=tuple(key for key, n in present.items() if 0 < n < count),
        systems=tuple(sorted(systems)),
        languages=tuple(sorted(set().union(*(slices.get(tag, ()) for tag in LANGUAGE_TAGS)))),
        until=until,
        period=(min(dates), max(dates)) if dates else None,
    )


def date_of(item: Item) -> date | None:
    """When the item arose, by the first of DATE_TAGS that holds a date; None where none does."""
    for name in DATE_TAGS:
        try:
            return date.fromisoformat(item.tags.get(name, "")[:10])
        except ValueError:
            continue
    return None


def departures(record: PopulationRecord, item: Item, rubric: Rubric) -> tuple[Departure, ...]:
    """How the item lies outside the record, a sentence for each field; empty where it lies within.

    An untagged item is compared in what it says. A text shorter than any calibrated one is no departure.
    """
    return (
        *_evidence(record, item, rubric),
        *_tags(record, item),
        *_lengths(record, item),
        *_period(record, item),
        *_system(record, item),
    )


def _evidence(record: PopulationRecord, item: Item, rubric: Rubric) -> Iterator[Departure]:
    for field in rubric.evidence:
        there = bool(item.text(field.key).strip())
        if field.key in record.always and not there:
            said = f"evidence field {field.key!r} is missing; every calibrated item had it"
            yield Departure(Trigger.EVIDENCE, field.key, said)
        if there and field.key not in record.always and field.key not in record.sometimes:
            said = f"evidence field {field.key!r} is given; no calibrated item had it"
            yield Departure(Trigger.EVIDENCE, field.key, said)


def _tags(record: PopulationRecord, item: Item) -> Iterator[Departure]:
    for name, known in record.tags.items():
        value = item.tags.get(name)
        if value is not None and value not in known:
            said = f"tag {name} is {value!r}; calibrated: {', '.join(known)}"
            yield Departure(Trigger.POPULATION, f"tags.{name}", said)


def _lengths(record: PopulationRecord, item: Item) -> Iterator[Departure]:
    for key, (_, longest) in record.characters.items():
        size = len(item.text(key))
        if size > longest:
            said = f"{key} has {size:,} characters; the longest calibrated one had {longest:,}"
            yield Departure(Trigger.POPULATION, key, said)


def _period(record: PopulationRecord, item: Item) -> Iterator[Departure]:
    arose = date_of(item)
    if record.period is None or arose is None:
        return
    first, last = record.period
    if not first <= arose <= last:
        said = f"the item is of {arose}; calibrated: {first} to {last}"
        yield Departure(Trigger.PERIOD, "period", said)


def _system(record: PopulationRecord, item: Item) -> Iterator[Departure]:
    if record.systems and not item.system.strip():
        said = f"candidate not audited: the item names no system; calibrated: {', '.join(record.systems)}"
        yield Departure(Trigger.SYSTEM, "system", said)
    elif item.system.strip() and item.system not in record.systems:
        known = ", ".join(record.systems) or "none is recorded"
        said = f"candidate not audited: {item.system!r} wrote none of the calibrated outputs ({known})"
        yield Departure(Trigger.SYSTEM, "system", said)
