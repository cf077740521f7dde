"""Items from a file into the evidence store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from pydantic import ValidationError

from calibration.interchange.ids import no_id
from calibration.interchange.json_values import BadJson, Number, as_text, read_json
from calibration.interchange.lines import shown
from calibration.interchange.native.core import By, Import, Imported, ImportOptions, Tally, run_import
from calibration.interchange.native.fields import BadField, optional, required
from calibration.interchange.native.source import NativeFile, Record, open_native
from calibration.interchange.native.survey import CONSTRUCTED
from calibration.interchange.options import NO_CLUSTER
from calibration.store.database import Store
from calibration.store.inserting import Added
from calibration.store.items import add_items, item_content
from calibration.store.payloads import raw_of
from calibration.store.text import item_id as checked_id
from rubrics.errors import DeclarationError
from rubrics.item import MAX_ID, Item, Split
from rubrics.problems import problems

TEXTS: Final = ("input", "output", "output_a", "output_b")
_OUTPUTS: Final = TEXTS[1:]
_PLAIN: Final = frozenset({"item_id", *TEXTS, "group", "split", "system", "model_family"})
_MAPPINGS: Final = frozenset({"tags", "evidence"})
ITEM_FIELDS: Final = _PLAIN | _MAPPINGS | {"origin"}
"""The fields with a meaning of their own; every other one is a tag or a piece of evidence."""
SLICE: Final = "slice_"
_TAG: Final = "tags."
_READABLE: Final = 60
_KEY: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")  # what can name a piece of evidence


def import_items(*, store: Store, source: str, options: ImportOptions, by: By) -> Imported:
    """What became of the items in a file: all of them are stored, or nothing.

    Raises:
        TableError: a record that cannot be taken, with its line.
        DifferentRecord: an id of the dataset is recorded with other content.
        DeclarationError: the file cannot be read, or an option names a field that no item has.
    """

    def work(running: Import) -> None:
        running.constructed = options.origin == CONSTRUCTED
        running.open()
        reader = ItemReader(running.file, options, running.tally)

        def stored(items: Iterator[Item]) -> Added:
            return add_items(
                session=running.session,
                dataset=options.dataset,
                items=items,
                at=by.at,
                import_key=running.key,
                originals=reader.originals,
                strict=running.strict,
            )

        running.run(reader.read, stored)
        reader.finish()

    with open_native(source, known=ITEM_FIELDS) as file:
        return run_import(store, file, "items", options, by, work)


class ItemReader:
    """Reads records into items; counts what was taken in another form than it stood there."""

    def __init__(self, file: NativeFile, options: ImportOptions, tally: Tally) -> None:
        self.originals: dict[str, bytes] = {}
        """By item id: the content as it came, where no database can hold it so."""
        self._file = file
        self._options = options
        self._notes = tally.notes
        self._answers = tally.answers
        self._cluster_met = options.cluster in {None, NO_CLUSTER}
        self._tags_met: set[str] = set()
        self._columns = frozenset(file.columns)

    def read(self, record: Record) -> Item:
        """The item that a record states.

        Raises:
            BadField: a field is missing or not what it must be.
        """
        fields = record.fields
        data: dict[str, Any] = {"item_id": required(fields, "item_id")}
        try:
            checked_id(data["item_id"])
        except DeclarationError as error:
            raise BadField(str(error), "item_id") from error
        if problem := no_id(data["item_id"]):
            raise BadField(problem, "item_id")
        self._texts(fields, data)
        evidence, tags = self._further(fields)
        for key in ("system", "model_family"):
            data[key] = optional(fields, key) or ""
        data["split"] = self._split(fields)
        data["group"] = self._group(fields, data, evidence, tags)
        item = _validated({**data, "evidence": evidence, "tags": tags})
        self._keep_original(item, data, evidence)
        self._answers[item.split.value] += 1
        return item

    def finish(self) -> None:
        """Refuses options that named a field which no item has.

        Raises:
            DeclarationError: the field of --cluster or --tag.
        """
        unmet = [("--tag", name) for name in self._options.tags if name not in self._tags_met]
        if not self._cluster_met and self._options.cluster is not None:
            unmet.insert(0, ("--cluster", self._options.cluster))
        for option, name in unmet:
            raise DeclarationError(
                f"{option} {name}: no item of {self._file.name} has the field {shown(name)}"
            )

    # -- texts

    def _texts(self, fields: Mapping[str, Any], data: dict[str, Any]) -> None:
        for key in TEXTS:
            value = fields.get(key)
            if value is None and not (self._file.delimited and key in self._columns):
                continue
            data[key] = as_text(value)
            if value is not None and type(value) is not str:
                self._notes["{n} text{s} given as a number, truth value or object, kept as written"] += 1
        if self._file.delimited:  # an empty cell of the other mode's column is no empty output
            single, pair = data.get("output"), [key for key in ("output_a", "output_b") if data.get(key)]
            drop = (
                ("output",) if pair and not single else ("output_a", "output_b") if single is not None else ()
            )
            for key in drop:
                if not data.get(key):
                    data.pop(key, None)
        if "input" not in data:
            required(fields, "input")  # says what is missing

    def _keep_original(self, item: Item, data: Mapping[str, Any], evidence: Mapping[str, str]) -> None:
        """Keeps the bytes of texts that hold NUL or half a character, which are stored as visible escapes."""
        texts = {key: data[key] for key in TEXTS if key in data}
        content = {"schema": "item/1", **texts, "evidence": dict(evidence)}
        if content != item_content(item):
            self.originals[item.item_id] = raw_of(content)
            self._notes["{n} item{s} with NUL or half a character: shown as an escape, the bytes kept"] += 1

    # -- further fields

    def _further(self, fields: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
        """Evidence and tags of a record, from their own fields and from those without a name here."""
        evidence, tags = _mapping(fields, "evidence"), _mapping(fields, "tags")
        for key, value in fields.items():
            if key in ITEM_FIELDS or value is None:
                continue
            name = _tag_name(key)
            if name is not None or key in self._options.tags or not _is_evidence(key, value):
                _put(tags, name or key, as_text(value), "tag")
                self._tags_met.add(key)
            else:
                _put(evidence, key, as_text(value), "evidence")
        origin = optional(fields, "origin")
        if origin is not None:
            _put(tags, "origin", origin, "tag")
        elif self._options.origin == CONSTRUCTED:
            tags.setdefault("origin", CONSTRUCTED)
        return evidence, tags

    # -- split and group

    def _split(self, fields: Mapping[str, Any]) -> str:
        given, said = self._options.split, optional(fields, "split")
        if said is not None and said not in set(Split):
            raise BadField(f"split {shown(said)} is none of {', '.join(Split)}", "split")
        if given is not None and said is not None and said != given.value:
            raise BadField(f"split {said} stands beside --split {given}: leave the option out", "split")
        return said or (given or Split.CALIBRATION).value

    def _group(
        self,
        fields: Mapping[str, Any],
        data: Mapping[str, Any],
        evidence: Mapping[str, str],
        tags: dict[str, str],
    ) -> str:
        """The item's cluster; the file's own `group` stays as a tag where another one is used."""
        cluster, own = self._options.cluster, optional(fields, "group")
        if cluster in {None, "group"}:
            self._cluster_met |= own is not None
            return self._group_name(own)
        if own is not None:
            _put(tags, "group", own, "tag")
        if cluster == NO_CLUSTER:
            return ""
        known = {**evidence, **tags, **data}
        value = known.get(str(cluster).removeprefix(_TAG))
        if value is not None:
            self._cluster_met = True
        else:
            self._notes["{n} item{s} without the field of --cluster taken to stand alone"] += 1
        return self._group_name(None if value is None else as_text(value))

    def _group_name(self, value: str | None) -> str:
        """The value as an id: itself, or where it cannot be one its first words with its digest."""
        if value is None or not value.strip():
            return ""
        usable = len(value) <= MAX_ID and value.isprintable()
        if usable:
            try:
                return checked_id(value)
            except DeclarationError:
                pass
        self._notes["{n} item{s} whose group is no id (long or several lines): named by its first words"] += 1
        words = " ".join("".join(c if c.isprintable() else " " for c in value).split())
        return f"{words[:_READABLE]} #{sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _mapping(fields: Mapping[str, Any], key: str) -> dict[str, str]:
    """The texts of an object, or of its JSON in a cell; entries that are null say nothing."""
    value = fields.get(key)
    if type(value) is str and value.strip():
        try:
            value = read_json(value, halves=True)
        except BadJson as error:
            raise BadField(f"{key} is not a JSON object: {error}", key) from error
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        raise BadField(f"{key} {shown(as_text(value))} is no object of texts by name", key)
    return {name: as_text(each) for name, each in value.items() if each is not None}


def _put(into: dict[str, str], key: str, value: str, what: str) -> None:
    """Keeps a text under its name; a second one under the same name is refused, never dropped."""
    if into.setdefault(key, value) != value:
        raise BadField(f"{key!r} stands twice with other content, as {what} and as a field of the line", key)


def _tag_name(key: str) -> str | None:
    """The tag that a column such as slice_channel or tags.channel holds."""
    for prefix in (SLICE, _TAG):
        if key.startswith(prefix) and key != prefix:
            return key.removeprefix(prefix)
    return None


def _is_evidence(key: str, value: Any) -> bool:
    """True for a text whose field name can be a key of evidence; numbers and truth values are tags."""
    return not isinstance(value, bool | Number) and _KEY.fullmatch(key) is not None


def _validated(data: Mapping[str, Any]) -> Item:
    try:
        return Item.model_validate(data)
    except ValidationError as error:
        first = problems(error, model=Item, data=data)[0]
        field = str(first.at[0]) if first.at else "output"
        raise BadField(first.sentence, field) from error
