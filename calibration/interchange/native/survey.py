"""A first pass over a file of labels or verdicts: its criteria, words, rubrics, judges and repeated keys.

A stub rubric, the names of judges and the treatment of repeats need to know the whole file before its
first record is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from calibration.interchange.json_values import as_text
from calibration.interchange.native.source import NativeFile, Record

CONSTRUCTED: Final = "constructed"
"""The origin of evidence that was made up for a demonstration; it is stamped wherever it is shown."""
CONSTRUCTED_TAG: Final = f'"origin":"{CONSTRUCTED}"'
"""How the stored tags of an item say so."""
STAMP: Final = "evidence"
"""The field of an exported line that says so, whether its own origin does or its item's."""
ADJUDICATION: Final = "adjudication"
MAX_WORDS: Final = 200
"""Different label words of a criterion that are told apart; no scale has as many."""


@dataclass(slots=True)
class Survey:
    """What a file holds, of its readable records."""

    words: dict[str, Counter[str | None]] = field(default_factory=dict)
    """By criterion: how often each label word occurs; null is None."""
    first: dict[tuple[str, str | None], int] = field(default_factory=dict)
    """Criterion and word -> the line it is first met on."""
    rubrics: set[str | None] = field(default_factory=set)
    """The rubrics that lines name."""
    judges: dict[str, set[str | None]] = field(default_factory=dict)
    """Judge -> the rubrics, or versions of it, that its lines name."""
    repeated: set[int] = field(default_factory=set)
    """Hashes of keys that occur more than once, and with a chance of one in billions of others."""
    labelled: set[int] = field(default_factory=set)
    """The rater_key of every label: its raters may not adjudicate an item."""
    adjudications: int = 0
    constructed: bool = False


Key = tuple[Any, ...]
"""What identifies a record."""


def label_key(fields: Mapping[str, Any]) -> Key:
    """The key of a label: item, criterion, rater and repeat; of an adjudication: item and criterion."""
    get = fields.get
    if get("kind") == ADJUDICATION:
        return _hashable((ADJUDICATION, get("item_id"), get("criterion")))
    return _hashable((get("item_id"), get("criterion"), get("rater"), get("repeat") or "0"))


def verdict_key(fields: Mapping[str, Any]) -> Key:
    """The key of a verdict: item, judge and its version, rubric, criterion, order and repeat."""
    get = fields.get
    return _hashable(
        (
            *(get("item_id"), get("judge"), get("judge_version"), get("rubric")),
            *(get("criterion"), get("order"), get("repeat") or "0"),
        )
    )


def rater_key(item_id: Any, criterion: Any, rater: Any) -> int:
    """A number that stands for a rater's labels of an item."""
    return hash(_hashable((item_id, criterion, rater)))


def _hashable(key: Key) -> Key:
    try:
        hash(key)
    except TypeError:  # a list or an object where a name is due: refused when it is read
        return tuple(as_text(part) for part in key)
    return key


def survey_labels(file: NativeFile) -> Survey:
    """What a file of labels holds."""
    found = Survey()
    seen: set[int] = set()
    for record in file.records():
        if isinstance(record, Record):
            fields = record.fields
            _note(found, record)
            _count(found, seen, label_key(fields))
            if fields.get("kind") == ADJUDICATION:
                found.adjudications += 1
            else:
                found.labelled.add(
                    rater_key(fields.get("item_id"), fields.get("criterion"), fields.get("rater"))
                )
    return found


def survey_verdicts(file: NativeFile) -> Survey:
    """What a file of verdicts holds."""
    found = Survey()
    seen: set[int] = set()
    pairs: set[tuple[str, str | None]] = set()
    for record in file.records():
        if isinstance(record, Record):
            fields = record.fields
            rubric, version = _note(found, record), fields.get("judge_version")
            pairs.add((as_text(fields.get("judge")), rubric if version is None else as_text(version)))
            _count(found, seen, verdict_key(fields))
    for judge, rubric in pairs:
        found.judges.setdefault(judge, set()).add(rubric)
    return found


def _note(found: Survey, record: Record) -> str | None:
    """Counts the label under its criterion; the rubric that the line names."""
    fields = record.fields
    criterion, label, rubric = fields.get("criterion"), fields.get("label"), fields.get("rubric")
    if isinstance(criterion, str):
        words = found.words.get(criterion)
        if words is None:
            words = found.words[criterion] = Counter()
        if label is not None and type(label) is not str:
            label = as_text(label)
        if label in words:
            words[label] += 1
        elif len(words) < MAX_WORDS:
            words[label] = 1
            found.first[criterion, label] = record.line
    if rubric is not None and type(rubric) is not str:
        rubric = as_text(rubric)
    found.rubrics.add(rubric)
    if CONSTRUCTED in (fields.get("origin"), fields.get(STAMP)):
        found.constructed = True
    return rubric


def _count(found: Survey, seen: set[int], key: Key) -> None:
    number = hash(key)
    if number in seen:
        found.repeated.add(number)
    else:
        seen.add(number)
