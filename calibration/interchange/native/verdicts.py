"""Verdicts of judges that ran elsewhere, from a file into the evidence store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from calibration.interchange.json_values import as_text
from calibration.interchange.lines import shown
from calibration.interchange.native.answers import (
    UNKNOWN,
    AnswerBook,
    AnswerBooks,
    Said,
    read_reason,
)
from calibration.interchange.native.choosing import Chosen, choose
from calibration.interchange.native.core import (
    By,
    Import,
    Imported,
    ImportOptions,
    run_import,
)
from calibration.interchange.native.fields import BadField, label, moment, optional, required, whole
from calibration.interchange.native.judges import ImportedRuns
from calibration.interchange.native.source import Record, open_native
from calibration.interchange.native.survey import CONSTRUCTED, Key, Survey, survey_verdicts, verdict_key
from calibration.interchange.options import OnRepeat, Positions
from calibration.interchange.words import Side
from calibration.store.database import Store
from calibration.store.inserting import Added
from calibration.store.verdicts import VerdictEntry, add_verdicts
from rubrics.scale import PreferenceScale
from rubrics.verdict import UnknownReason

_PLAIN: Final = frozenset(
    {"item_id", "judge", "rubric", "criterion", "order", "label", "raw", "reason", "detail", "repeat"}
    | {"judge_version"}
)
_RARE: Final = frozenset(
    {"rationale", "reported_model", "tokens_in", "tokens_out", "cost_micros", "latency_ms", "decided_at"}
)
VERDICT_FIELDS: Final = _PLAIN | _RARE
"""The fields with a meaning of their own; every other one is kept beside the reply."""
_ORDERS: Final[Mapping[str | None, Any]] = {None: None, "": None, "ab": "ab", "ba": "ba"}
_OTHER_SIDE: Final = {"A": "B", "B": "A"}


def import_verdicts(*, store: Store, source: str, options: ImportOptions, by: By) -> Imported:
    """What became of the verdicts in a file: all of them are stored, or nothing.

    Raises:
        NeedsOptions: no rubric is named, or label words that nobody explained; carries options that would do.
        TableError: a record that cannot be taken, with its line; ids that do not join, listed.
        DifferentRecord: a verdict is recorded and says something else.
        DeclarationError, RecordError: the file, the rubric or the dataset is not there.
    """
    with open_native(source, known=VERDICT_FIELDS) as file:
        survey = survey_verdicts(file)

        def work(running: Import) -> None:
            chosen = choose(
                session=running.session,
                options=options.rubric,
                survey=survey,
                dataset=options.dataset,
                name=file.name,
                maps=options.maps,
                side=Side.JUDGE,
                actor=by.actor,
                at=by.at,
            )
            running.constructed = survey.constructed
            running.rubrics = tuple(rubric.ref for rubric in chosen.rubrics)
            running.require_items()
            running.open()
            _Verdicts(running, survey, chosen).take()

        return run_import(store, file, "verdicts", options, by, work)


@dataclass(slots=True)
class _Settled:
    """Of several lines with one key: the first, the one that decides, and whether they differ."""

    first: int
    last: int
    entry: VerdictEntry
    differ: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a verdict belongs: the run of its judge, its criterion, and the words that are read there."""

    run_key: str
    criterion: str
    book: AnswerBook


class _Verdicts:
    """One import of verdicts."""

    def __init__(self, running: Import, survey: Survey, chosen: Chosen) -> None:
        options = running.options
        self._running = running
        self._survey = survey
        self._chosen = chosen
        self._last = options.on_repeat is OnRepeat.LAST
        self._refuses = options.on_repeat is OnRepeat.REFUSE
        self._displayed = options.positions is Positions.DISPLAYED
        self._places: dict[tuple[Any, ...], _Place] = {}
        self._runs = ImportedRuns(
            session=running.session,
            dataset=options.dataset,
            survey=survey,
            actor=running.by.actor,
            at=running.by.at,
        )
        self._settled: dict[Key, _Settled] = {}
        self._books = AnswerBooks(chosen.rubrics, Side.JUDGE, maps=options.maps, null_as=options.null_as)

    def take(self) -> None:
        """Stores every verdict of the file."""
        running = self._running
        if self._survey.repeated:
            self._settle_repeats()

        def stored(entries: Iterator[VerdictEntry]) -> Added:
            return add_verdicts(
                session=running.session,
                verdicts=entries,
                at=running.by.at,
                import_key=running.key,
                strict=running.strict,
            )

        running.run(self._verdict, stored)
        running.judges = tuple(self._runs.names)
        running.tally.repeated = len(self._settled)
        running.tally.conflicting = sum(each.differ for each in self._settled.values())
        for each in self._books.unmet():
            running.tally.notes[f"--map {each} met no verdict"] += 1

    # -- one verdict

    def _verdict(self, record: Record) -> VerdictEntry | None:
        entry = self._read(record)
        if self._survey.repeated:
            key = verdict_key(record.fields)
            if hash(key) in self._survey.repeated:
                found = self._of_several(record, entry, self._settled[key])
                if found is None:
                    self._running.tally.ignored += 1
                    return None
                entry = found
        self._running.tally.answers[entry.reason.value if entry.reason else entry.answer] += 1
        return entry

    def _read(self, record: Record) -> VerdictEntry:
        fields = record.fields
        get = fields.get
        item_id = get("item_id")
        if type(item_id) is not str or item_id not in self._running.known:
            item_id = required(fields, "item_id")
            self._running.join(item_id)
        place = self._place_of(fields)
        said, rationale = place.book.read(label(fields)), None
        if "reason" in fields or "detail" in fields:
            said, rationale = read_reason(fields, said)
        order, raw, repeat = self._order(fields), get("raw"), get("repeat")
        plain = fields.keys() <= _PLAIN and self._running.options.origin != CONSTRUCTED
        return VerdictEntry(
            run_key=place.run_key,
            item_id=item_id,
            criterion=place.criterion,
            answer=self._in_source_positions(said, order, place.book) if self._displayed else said.answer,
            reason=said.reason,
            detail=said.detail,
            order=order,
            repeat=0 if repeat is None else whole(fields, "repeat") or 0,
            raw=raw if raw is None or type(raw) is str else as_text(raw),
            **({"rationale": rationale} if plain else self._rare(fields, item_id, rationale)),
        )

    def _place_of(self, fields: Mapping[str, Any]) -> _Place:
        """Where a verdict belongs; worked out once for each judge, prompt and criterion."""
        get = fields.get
        key = (get("judge"), get("judge_version"), get("rubric"), get("criterion"))
        try:
            return self._places[key]
        except KeyError:
            found = self._places[key] = self._new_place(fields)
            return found
        except TypeError:  # a list or an object where a name is due
            return self._new_place(fields)

    def _new_place(self, fields: Mapping[str, Any]) -> _Place:
        judge, criterion = required(fields, "judge"), required(fields, "criterion")
        word, version = optional(fields, "rubric"), optional(fields, "judge_version")
        rubric = self._chosen.of(word)
        book = self._books.of(rubric, criterion)
        asked = self._chosen.asked(word) if version is None else version
        return _Place(self._runs.run(judge, asked, rubric), criterion, book)

    def _rare(self, fields: Mapping[str, Any], item_id: str, rationale: str | None) -> dict[str, Any]:
        own = optional(fields, "rationale")
        if own and rationale and own != rationale:
            raise BadField("a rationale stands in both `rationale` and `reason`: keep one", "rationale")
        return {
            "rationale": own or rationale,
            "reported_model": optional(fields, "reported_model"),
            "tokens_in": whole(fields, "tokens_in"),
            "tokens_out": whole(fields, "tokens_out"),
            "cost_micros": whole(fields, "cost_micros", large=True),
            "latency_ms": whole(fields, "latency_ms"),
            "decided_at": moment(fields, "decided_at"),
            "fields": self._running.further(fields, VERDICT_FIELDS, item_id),
        }

    def _order(self, fields: Mapping[str, Any]) -> Any:
        try:
            return _ORDERS[fields.get("order")]
        except (KeyError, TypeError):
            given = as_text(fields.get("order"))
            raise BadField(f'order {shown(given)} is none of "ab", "ba" and null', "order") from None

    def _in_source_positions(self, said: Said, order: str | None, book: AnswerBook) -> str:
        """The answer with A and B meaning output_a and output_b."""
        if (
            not self._displayed
            or said.answer not in _OTHER_SIDE
            or not isinstance(book.scale, PreferenceScale)
        ):
            return said.answer
        if order is None:
            told = "order is missing: with --positions displayed it says which output was shown first"
            raise BadField(told, "order")
        return _OTHER_SIDE[said.answer] if order == "ba" else said.answer

    # -- repeats without a number

    def _settle_repeats(self) -> None:
        readable = (each for each in self._running.file.records() if isinstance(each, Record))
        for record in readable:
            key = verdict_key(record.fields)
            if hash(key) not in self._survey.repeated:
                continue
            try:
                entry = self._read(record)
            except BadField:
                continue  # told by the pass that stores
            settled = self._settled.setdefault(key, _Settled(record.line, record.line, entry))
            if settled.entry != entry:
                settled.differ = True
                settled.last, settled.entry = record.line, entry

    def _of_several(self, record: Record, entry: VerdictEntry, settled: _Settled) -> VerdictEntry | None:
        """The one verdict of several lines with the same key; None for the others."""
        if settled.differ and self._refuses:
            other = settled.first if record.line != settled.first else settled.last
            raise BadField(
                f"a verdict of {record.fields.get('judge')!r} on item {shown(entry.item_id)} under "
                f"{entry.criterion!r} also stands on line {other} with other content: give each repeat its "
                "own number in a field `repeat`, or say --on-repeat last or unresolved",
                "repeat",
            )
        if record.line != settled.last:
            return None
        if not settled.differ or self._last:
            return settled.entry
        return replace(settled.entry, answer=UNKNOWN, reason=UnknownReason.INCONSISTENT, detail="votes")
