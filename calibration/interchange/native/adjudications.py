"""Adjudications of a file of labels into the evidence store, once its labels are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from calibration.interchange.lines import shown
from calibration.interchange.native.answers import UNKNOWN, AnswerBooks
from calibration.interchange.native.choosing import Chosen
from calibration.interchange.native.core import Import
from calibration.interchange.native.fields import (
    BadField,
    label,
    moment,
    named,
    optional,
    required,
    word,
)
from calibration.interchange.native.source import Record
from calibration.interchange.native.survey import ADJUDICATION, Survey, label_key, rater_key
from calibration.interchange.options import OnRepeat
from calibration.store.inserting import Added
from calibration.store.references import AdjudicationEntry, add_adjudications
from rubrics.rubric import Rubric

LABEL_FIELDS: Final = frozenset(
    {"item_id", "rater", "criterion", "label", "note", "source", "blind", "kind", "rubric", "reason"}
    | {"failure_mode", "repeat", "revision", "shown_at", "decided_at"}
)
"""The fields with a meaning of their own; every other one is kept beside the note."""
NO_REASON: Final = "imported without a reason"
_KINDS: Final = {"label": False, "assessment": False, ADJUDICATION: True, "": False}


def is_adjudication(fields: Mapping[str, Any]) -> bool:
    """True for a line that resolves a disagreement.

    Raises:
        BadField: its `kind` is no kind of label.
    """
    return word(fields, "kind", _KINDS)


@dataclass(slots=True)
class _Settled:
    """The adjudication that counts of several, the line that decided, and the first of them."""

    first: int
    first_answer: str
    line: int
    entry: AdjudicationEntry


class Adjudications:
    """The adjudications of a file under one rubric."""

    def __init__(self, running: Import, survey: Survey, chosen: Chosen, books: AnswerBooks) -> None:
        self._running = running
        self._options = running.options
        self._survey = survey
        self._chosen = chosen
        self._books = books

    def take(self, rubric: Rubric) -> None:
        """Stores the file's adjudications under the rubric."""
        running = self._running
        settled = self._settled(rubric)

        def stored(entries: Iterator[AdjudicationEntry]) -> Added:
            return add_adjudications(
                session=running.session,
                dataset=self._options.dataset,
                rubric_digest=rubric.digest,
                adjudications=entries,
                at=running.by.at,
                import_key=running.key,
                strict=running.strict,
            )

        def read(record: Record) -> AdjudicationEntry | None:
            if not self._is_ruling(record, rubric):
                return None
            entry = self._ruling(record.fields, rubric)
            if hash(label_key(record.fields)) in self._survey.repeated:
                return self._settle(record, entry, settled[entry.item_id, entry.criterion])
            running.tally.notes["{n} adjudication{s}"] += 1
            return entry

        running.run(read, stored)

    def _is_ruling(self, record: Record, rubric: Rubric) -> bool:
        fields = record.fields
        return is_adjudication(fields) and self._chosen.of(optional(fields, "rubric")) is rubric

    def _ruling(self, fields: Mapping[str, Any], rubric: Rubric) -> AdjudicationEntry:
        item_id, criterion = required(fields, "item_id"), required(fields, "criterion")
        self._running.join(item_id)
        adjudicator = named(fields, "rater")
        if rater_key(item_id, criterion, adjudicator) in self._survey.labelled:
            raise BadField(
                f"{adjudicator!r} labelled item {shown(item_id)} and may not adjudicate it: ask someone else",
                "rater",
            )
        return AdjudicationEntry(
            item_id=item_id,
            criterion=criterion,
            adjudicator=adjudicator,
            answer=self._books.of(rubric, criterion).read(label(fields)).answer,
            reason=(optional(fields, "note") or "").strip() or NO_REASON,
            decided_at=moment(fields, "decided_at"),
            fields=self._running.further(fields, LABEL_FIELDS, item_id),
        )

    def _settled(self, rubric: Rubric) -> dict[tuple[str, str], _Settled]:
        """The adjudications that the file holds more than once, each as it counts."""
        found: dict[tuple[str, str], _Settled] = {}
        for record in self._running.file.records():
            if not isinstance(record, Record) or hash(label_key(record.fields)) not in self._survey.repeated:
                continue
            try:
                if not self._is_ruling(record, rubric):
                    continue
                entry = self._ruling(record.fields, rubric)
            except BadField:
                continue  # told by the pass that stores
            earlier = found.setdefault(
                (entry.item_id, entry.criterion), _Settled(record.line, entry.answer, record.line, entry)
            )
            if earlier.entry.answer != entry.answer:
                last = self._options.on_repeat is OnRepeat.LAST
                earlier.entry = entry if last else replace(entry, answer=UNKNOWN)
                earlier.line = record.line
        return found

    def _settle(
        self, record: Record, entry: AdjudicationEntry, settled: _Settled
    ) -> AdjudicationEntry | None:
        if self._options.on_repeat is OnRepeat.REFUSE and entry.answer != settled.first_answer:
            raise BadField(
                f"item {shown(entry.item_id)} is adjudicated twice under {entry.criterion!r}, first on "
                f"line {settled.first} ({settled.first_answer}): remove one, or say --on-repeat last or "
                "unresolved",
                "label",
            )
        if record.line == settled.line:
            self._running.tally.notes["{n} adjudication{s}"] += 1
            return settled.entry
        self._running.tally.ignored += 1
        return None
