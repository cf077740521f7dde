"""What every import shares: its options, its result, one transaction a file, and how a file is refused."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlmodel import Session

from calibration.interchange.grid import Rejected
from calibration.interchange.lines import STDIN, write_rejected
from calibration.interchange.native.answers import AnswerMap
from calibration.interchange.native.fields import BadField, rest
from calibration.interchange.native.refusing import NotJoined, Problems, refusal
from calibration.interchange.native.source import NativeFile, Record
from calibration.interchange.native.stubs import RubricOptions
from calibration.interchange.native.survey import CONSTRUCTED, CONSTRUCTED_TAG, STAMP
from calibration.interchange.options import OnRepeat, Positions
from calibration.store.chain import events
from calibration.store.columns import table_of
from calibration.store.database import Store
from calibration.store.imports import list_imports, record_import, seal_import
from calibration.store.inserting import Added
from calibration.store.items import ItemRow, Scope, item_ids
from rubrics.errors import DeclarationError, DifferentRecord, RecordError, TableError
from rubrics.item import Split
from rubrics.verdict import UnknownReason

_EVERY = 1000
PSEUDONYMS: Final = "pseudonyms"
"""The field in which an export under pseudonyms says from which store it is."""
Progress = Callable[[int, int], None]
"""Told now and then how many bytes of how many are read."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """How a file is to be read and where it belongs."""

    dataset: str
    rubric: RubricOptions = field(default_factory=RubricOptions)
    maps: tuple[AnswerMap, ...] = ()
    null_as: UnknownReason = UnknownReason.MISSING
    on_repeat: OnRepeat = OnRepeat.REFUSE
    positions: Positions = Positions.SOURCE
    split: Split | None = None
    cluster: str | None = None
    """Field whose value items share that are not independent; None is `group`, "none" nothing."""
    tags: tuple[str, ...] = ()
    """Fields that are tags, not evidence."""
    skip_bad: bool = False
    origin: str = ""
    licence: str = ""
    collector: str = ""

    def told(self) -> dict[str, Any]:
        """The options as they are recorded."""
        rubric = {key: getattr(self.rubric, key) for key in self.rubric.__dataclass_fields__}
        return {
            "rubric": {key: value for key, value in rubric.items() if value},
            "map": [str(each) for each in self.maps],
            "null_as": self.null_as.value,
            "on_repeat": self.on_repeat.value,
            "positions": self.positions.value,
            "split": self.split.value if self.split else None,
            "cluster": self.cluster,
            "tags": list(self.tags),
            "skip_bad": self.skip_bad,
        }


@dataclass(frozen=True, slots=True)
class By:
    """Who imports, when, and whom to tell how far it is."""

    actor: str
    at: datetime
    progress: Progress | None = None


@dataclass(slots=True)
class Tally:
    """What is counted while a file is read."""

    records: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    """By answer; an unknown verdict by its reason."""
    repeated: int = 0
    """Keys that occur more than once."""
    conflicting: int = 0
    """Of those, keys whose answers differ."""
    ignored: int = 0
    """Records that say again what an earlier one said."""
    notes: Counter[str] = field(default_factory=Counter)
    """Sentences with `{n}` in them, and how often."""
    rejected: dict[int, Rejected] = field(default_factory=dict)
    """By line."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of a file."""

    kind: str
    dataset: str
    file: str
    file_digest: str
    records: int
    """Read, refused ones included."""
    added: int
    present: int
    """That were recorded before, or stand twice in the file."""
    answers: Mapping[str, int]
    repeated: int
    conflicting: int
    ignored: int
    rejected: tuple[Rejected, ...]
    rejected_file: str | None
    notes: tuple[str, ...]
    rubrics: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    import_key: str | None = None
    """None where the file brought nothing new and nothing was recorded."""
    imported_before: datetime | None = None


def store_mark(*, session: Session) -> str:
    """What tells this store from every other and nothing else: the start of its first record's hash."""
    first = next(events(session=session, stream="records"), None)
    return first.hash[:16] if first is not None else "empty"


class NothingNew(Exception):
    """Undoes the transaction of a file that brings nothing to what it brought before; caught here."""


@dataclass(slots=True)
class Import:
    """A running import: the open file, the session and everything that is counted."""

    file: NativeFile
    kind: str
    options: ImportOptions
    by: By
    session: Session
    tally: Tally = field(default_factory=Tally)
    constructed: bool = False
    rubrics: tuple[str, ...] = ()
    judges: tuple[str, ...] = ()
    key: str = ""
    added: int = 0
    present: int = 0
    known: frozenset[str] = frozenset()
    """The ids that lines can be joined to."""
    rejected_file: Path | None = None
    _made_up: frozenset[str] = frozenset()
    _mark: str | None = None
    _before: datetime | None = None

    def open(self) -> None:
        """Records where the records will come from; call it once the rubric is chosen."""
        earlier = list_imports(
            session=self.session, dataset=self.options.dataset, kind=self.kind, file_digest=self.file.digest
        )
        self._before = earlier[0].recorded_at if earlier else None
        self.key = record_import(
            session=self.session,
            kind=self.kind,
            dataset=self.options.dataset,
            file_digest=self.file.digest,
            provenance=self._provenance(),
            actor=self.by.actor,
            at=self.by.at,
            again=len(earlier),
        )

    def _provenance(self) -> dict[str, Any]:
        options = self.options
        return {
            "file": "standard input" if self.file.source == STDIN else Path(self.file.source).name,
            "bytes": self.file.size,
            "date": self.by.at.date().isoformat(),
            "origin": options.origin,
            "licence": options.licence,
            "collector": options.collector,
            "constructed": self.constructed or options.origin == CONSTRUCTED,
            "rubrics": list(self.rubrics),
            "options": options.told(),
        }

    def require_items(self) -> None:
        """Learns the ids that can be joined.

        Raises:
            RecordError: the dataset has no item.
        """
        dataset = self.options.dataset
        self.known = frozenset(item_ids(session=self.session, scope=Scope(dataset=dataset)))
        self._made_up = constructed_items(session=self.session, dataset=dataset)
        if not self.known:
            raise RecordError(
                f"dataset {dataset!r} has no items to join {self.kind} to: "
                f"run `voirdire items import FILE --dataset {dataset}` first"
            )

    def further(
        self, fields: Mapping[str, Any], known: Collection[str], item_id: str
    ) -> dict[str, Any] | None:
        """The fields of a line that have no name of their own, with its origin where that is constructed.

        The stamp of an export is no field: it becomes the line's origin unless its item says the same, so
        that a file that came from here is found to say nothing new.
        """
        found = rest(fields, known) or {}
        if PSEUDONYMS in found and found[PSEUDONYMS] == self._own_mark():
            raise BadField(
                "this was exported from this very store under pseudonyms, and would count its raters twice: "
                "import it into another store, or export without --pseudonyms",
                PSEUDONYMS,
            )
        if found.get(STAMP) == CONSTRUCTED:
            del found[STAMP]
            if item_id not in self._made_up:
                found.setdefault("origin", CONSTRUCTED)
        if self.options.origin == CONSTRUCTED:
            found.setdefault("origin", CONSTRUCTED)
        return found or None

    def _own_mark(self) -> str:
        if self._mark is None:
            self._mark = store_mark(session=self.session)
        return self._mark

    def join(self, item_id: str) -> None:
        """Refuses an id that the dataset does not have.

        Raises:
            NotJoined: always but for a known id.
        """
        if item_id not in self.known:
            raise NotJoined(item_id, self.options.dataset)

    def run(self, read: Callable[[Record], T | None], store: Callable[[Iterator[T]], Added]) -> None:
        """One pass over the file: every record is read, and what comes of it is stored.

        Raises:
            TableError, NeedsOptions: the first record that cannot be taken, unless bad ones are skipped.
            DifferentRecord: a record with the same key is there and says something else.
        """
        places = array("L")
        try:
            outcome = store(self._entries(read, places))
        except DifferentRecord as error:
            if error.position is None:
                raise
            line = places[error.position]
            raise DifferentRecord(
                f"{self.file.name}, line {line}: {error}", position=error.position
            ) from error
        self.added += outcome.added
        self.present += outcome.present
        for position in outcome.different:
            line = places[position]
            self.tally.rejected[line] = Rejected(
                line, "recorded before with other content, which is not changed"
            )

    def _entries(self, read: Callable[[Record], T | None], places: array[int]) -> Iterator[T]:
        problems = Problems(keep_all=self.options.skip_bad)
        total = self.file.size
        number = 0
        for number, record in enumerate(self.file.records(), start=1):
            if self.by.progress and not number % _EVERY:
                self.by.progress(self.file.position, total)
            if isinstance(record, Rejected):
                problems.add(record)
                continue
            try:
                entry = read(record)
            except (BadField, DeclarationError) as bad:
                told = Rejected(record.line, str(bad), getattr(bad, "field", None))
                problems.add(told, bad if isinstance(bad, BadField) else None)
                continue
            if entry is not None and (self.options.skip_bad or not problems.count):
                places.append(record.line)
                yield entry
        self.tally.records = number
        if problems.count and not self.options.skip_bad:
            raise refusal(self.file.name, self.kind, self.options.dataset, problems)
        self.tally.rejected.update({told.line: told for told, _ in problems.kept})

    @property
    def strict(self) -> bool:
        """Whether a record that differs from a recorded one ends the import."""
        return not self.options.skip_bad

    def finish(self) -> Imported:
        """What became of the file; seals the import and writes the refused lines to a new file.

        Raises:
            NothingNew: it was imported before and brought nothing.
            TableError: every record was refused.
        """
        tally = self.tally
        rejected = tuple(sorted(tally.rejected.values(), key=lambda each: each.line))
        if rejected and len(rejected) == tally.records:
            raise TableError(
                f"{self.file.name}: none of its {tally.records} lines can be taken, the first "
                f"(line {rejected[0].line}): {rejected[0].message}",
                line=rejected[0].line,
                field=rejected[0].field,
            )
        if self._before is not None and not self.added:
            raise NothingNew
        seal_import(session=self.session, key=self.key, kind=self.kind, actor=self.by.actor, at=self.by.at)
        lines = [each.line for each in rejected]
        self.rejected_file = write_rejected(self.file.source, self.file.texts(lines)) if lines else None
        return self.result(self.key)

    def result(self, key: str | None = None) -> Imported:
        """The counts as a record; without a key, of a file that brought nothing new."""
        tally = self.tally
        return Imported(
            kind=self.kind,
            dataset=self.options.dataset,
            file=self.file.name,
            file_digest=self.file.digest,
            records=tally.records,
            added=self.added,
            present=self.present,
            answers=dict(sorted(tally.answers.items())),
            repeated=tally.repeated,
            conflicting=tally.conflicting,
            ignored=tally.ignored,
            rejected=tuple(sorted(tally.rejected.values(), key=lambda each: each.line)),
            rejected_file=str(self.rejected_file) if self.rejected_file else None,
            notes=tuple(_sentence(text, n) for text, n in tally.notes.items()),
            rubrics=self.rubrics,
            judges=self.judges,
            import_key=key,
            imported_before=self._before,
        )


def run_import(
    store: Store,
    file: NativeFile,
    kind: str,
    options: ImportOptions,
    by: By,
    work: Callable[[Import], None],
) -> Imported:
    """What became of the file: one transaction, so that all of it is stored or nothing."""
    running: Import | None = None
    try:
        with store.write() as session:
            running = Import(file, kind, options, by, session)
            work(running)
            return running.finish()
    except NothingNew:
        if running is None:
            raise
        return running.result()
    except BaseException:
        if running is not None and running.rejected_file is not None:
            running.rejected_file.unlink(missing_ok=True)
        raise


def constructed_items(*, session: Session, dataset: str) -> frozenset[str]:
    """The ids of the items that say they were made up for a demonstration."""
    item = table_of(ItemRow)
    query = sa.select(item.c.item_id).where(item.c.dataset == dataset, item.c.tags.contains(CONSTRUCTED_TAG))
    return frozenset(session.connection().execute(query).scalars())


def _sentence(text: str, number: int) -> str:
    """The note with its number; `{s}` makes a plural."""
    return text.replace("{n}", f"{number:,}").replace("{s}", "" if number == 1 else "s")
