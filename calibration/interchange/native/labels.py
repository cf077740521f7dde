"""Labels and adjudications from a file into the evidence store.

A rater's second answer on an item is refused, or by `--on-repeat` becomes a revision of the first
(`last`: only the later one is live) or a further live answer (`unresolved`: repeats 0, 1, ...; where
they differ the rater counts as cannot-decide when the reference is resolved).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from calibration.interchange.lines import shown
from calibration.interchange.native.adjudications import LABEL_FIELDS, Adjudications, is_adjudication
from calibration.interchange.native.answers import AnswerBooks
from calibration.interchange.native.choosing import Chosen, choose
from calibration.interchange.native.core import By, Import, Imported, ImportOptions, run_import
from calibration.interchange.native.fields import (
    BadField,
    label,
    moment,
    named,
    optional,
    required,
    whole,
    word,
)
from calibration.interchange.native.source import Record, open_native
from calibration.interchange.native.survey import (
    Key,
    Survey,
    label_key,
    survey_labels,
)
from calibration.interchange.options import OnRepeat
from calibration.interchange.rows import BLIND_WORDS, SOURCE_WORDS
from calibration.interchange.words import Side
from calibration.store.assessments import LabelEntry, add_labels, label_digest
from calibration.store.database import Store
from calibration.store.inserting import Added
from calibration.store.items import ItemIndex
from rubrics.rubric import Rubric


def import_labels(*, store: Store, source: str, options: ImportOptions, by: By) -> Imported:
    """What became of the labels and adjudications in a file: all of them are stored, or nothing.

    Raises:
        NeedsOptions: no rubric is named, or label words that nobody explained; carries options that would do.
        TableError: a record that cannot be taken, with its line; ids that do not join, listed.
        DifferentRecord: a rater's answer to an item is recorded and says something else.
        DeclarationError, RecordError: the file, the rubric or the dataset is not there.
    """
    with open_native(source, known=LABEL_FIELDS) as file:
        survey = survey_labels(file)

        def work(running: Import) -> None:
            chosen = choose(
                session=running.session,
                options=options.rubric,
                survey=survey,
                dataset=options.dataset,
                name=file.name,
                maps=options.maps,
                side=Side.HUMAN,
                actor=by.actor,
                at=by.at,
            )
            running.constructed = survey.constructed
            running.rubrics = tuple(rubric.ref for rubric in chosen.rubrics)
            running.require_items()
            running.open()
            _Labels(running, survey, chosen).take()

        return run_import(store, file, "labels", options, by, work)


@dataclass(slots=True)
class _Held:
    """What a rater has said so far of one item, where the file says it more than once."""

    line: int
    kept: list[LabelEntry] = field(default_factory=list)
    answers: set[str] = field(default_factory=set)


class _Labels:
    """One import of labels: a pass for each rubric, then one for the adjudications."""

    def __init__(self, running: Import, survey: Survey, chosen: Chosen) -> None:
        self._running = running
        self._options = running.options
        self._survey = survey
        self._chosen = chosen
        self._books = AnswerBooks(chosen.rubrics, Side.HUMAN, maps=self._options.maps)
        self._index = ItemIndex(running.session, self._options.dataset)
        self._held: dict[Key, _Held] = {}

    def take(self) -> None:
        """Stores every label of the file, then its adjudications."""
        running = self._running
        for rubric in self._chosen.rubrics:
            self._held.clear()

            def stored(entries: Iterator[LabelEntry], rubric: Rubric = rubric) -> Added:
                return add_labels(
                    session=running.session,
                    dataset=self._options.dataset,
                    rubric_digest=rubric.digest,
                    labels=entries,
                    at=running.by.at,
                    import_key=running.key,
                    strict=running.strict,
                )

            def read(record: Record, rubric: Rubric = rubric) -> LabelEntry | None:
                return self._label(record, rubric)

            running.run(read, stored)
            running.tally.repeated += len(self._held)
            running.tally.conflicting += sum(len(held.answers) > 1 for held in self._held.values())
            if self._survey.adjudications:
                Adjudications(running, self._survey, self._chosen, self._books).take(rubric)
        for each in self._books.unmet():
            running.tally.notes[f"--map {each} met no label"] += 1

    # -- labels

    def _label(self, record: Record, rubric: Rubric) -> LabelEntry | None:
        fields = record.fields
        if is_adjudication(fields) or self._chosen.of(optional(fields, "rubric")) is not rubric:
            return None
        entry = self._read(fields, rubric)
        key = label_key(fields)
        if hash(key) in self._survey.repeated:
            found = self._repeat(key, entry, whole(fields, "revision") or 0, record.line, rubric)
        elif whole(fields, "revision"):
            raise _without_earlier(entry)
        else:
            found = entry
        if found is None:
            self._running.tally.ignored += 1
        else:
            self._running.tally.answers[found.answer] += 1
        return found

    def _read(self, fields: Mapping[str, Any], rubric: Rubric) -> LabelEntry:
        item_id, criterion = required(fields, "item_id"), required(fields, "criterion")
        self._running.join(item_id)
        rater = named(fields, "rater")
        said = self._books.of(rubric, criterion).read(label(fields))
        return LabelEntry(
            item_id=item_id,
            criterion=criterion,
            rater=rater,
            answer=said.answer,
            reason=optional(fields, "reason"),
            failure_mode=optional(fields, "failure_mode"),
            note=optional(fields, "note") or "",
            blind=word(fields, "blind", BLIND_WORDS),
            source=word(fields, "source", SOURCE_WORDS),
            repeat=whole(fields, "repeat") or 0,
            shown_at=moment(fields, "shown_at"),
            decided_at=moment(fields, "decided_at"),
            fields=self._running.further(fields, LABEL_FIELDS, item_id),
        )

    def _repeat(
        self, key: Key, entry: LabelEntry, revision: int, line: int, rubric: Rubric
    ) -> LabelEntry | None:
        """The entry of a key that the file holds more than once; None where it says nothing new."""
        held = self._held.get(key)
        if held is None:
            if revision:
                raise _without_earlier(entry)
            self._held[key] = _Held(line, [entry], {entry.answer})
            return entry
        if revision:
            if revision != held.kept[-1].revision + 1:
                raise _without_earlier(entry)
            return self._revised(held, entry, rubric)
        held.answers.add(entry.answer)
        if any(_same(entry, kept) for kept in self._compared(held)):
            return None
        if self._options.on_repeat is OnRepeat.REFUSE:
            first = held.kept[0]
            raise BadField(
                f"{entry.rater!r} already answered item {shown(entry.item_id)} under {entry.criterion!r} on "
                f"line {held.line} ({first.answer}), and says {entry.answer} here (or its source or "
                "blindness differs): remove one, or say --on-repeat last or unresolved",
                "label",
            )
        if self._options.on_repeat is OnRepeat.LAST:
            return self._revised(held, entry, rubric)
        held.kept.append(replace(entry, repeat=held.kept[-1].repeat + 1))
        return held.kept[-1]

    def _compared(self, held: _Held) -> list[LabelEntry]:
        """The earlier entries that the next one may repeat: with `last`, the one that holds now."""
        return held.kept[-1:] if self._options.on_repeat is OnRepeat.LAST else held.kept

    def _revised(self, held: _Held, entry: LabelEntry, rubric: Rubric) -> LabelEntry:
        before = held.kept[-1]
        earlier = label_digest(
            entry=before,
            ref=self._index.refs([before.item_id])[0],
            rubric_digest=rubric.digest,
            scale=rubric.criterion(before.criterion).scale.kind,
        )
        held.kept = [replace(entry, repeat=before.repeat, revision=before.revision + 1, supersedes=earlier)]
        return held.kept[0]


def _same(entry: LabelEntry, kept: LabelEntry) -> bool:
    """True where a rater says the same again, and it came to be in the same way."""
    return (entry.answer, entry.blind, entry.source) == (kept.answer, kept.blind, kept.source)


def _without_earlier(entry: LabelEntry) -> BadField:
    return BadField(
        f"a revision of {entry.rater!r} on item {shown(entry.item_id)} comes without the label before it: "
        "lines of one label stand in the order of their revisions, from 0 on",
        "revision",
    )
