"""YAML text -> plain values and the line of each; refuses what a declaration never needs.

Events are taken one at a time, so that a file of ten thousand brackets is refused at the
twenty-first level and not after it has been built. Plain scalars are those of YAML 1.2: only `true`
and `false` are truth values, so `no`, `on` and `2026-11-30` stay words.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

from rubrics.problems import KeyPath
from rubrics.record import shown

MAX_DEPTH = 20
MAX_VALUES = 10_000
"""Values of one file; the largest rubric that ships has fewer than 200."""

_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,4})?")
_WORDS: dict[str, bool | None] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_HINTS = (
    (r"character '\\t'", "a tab stands where spaces belong; indent with spaces"),
    (r"escape character", "a backslash in \"…\" needs a partner; put the text in '…' instead"),
    (r"character '(.)'", r"a value cannot begin with {0}; put the text in quotes"),
    (r"mapping values", "a second ': ' in one value, or a wrong indent; put the text in quotes or indent it"),
    (r"expected <block end>", "the indent or the quotes do not fit together; inside '…' an apostrophe is ''"),
    (r"expected ',' or", "a bracket that is opened here is not closed, or a ',' is missing"),
    (r"unexpected end|'<stream end>'", "a quote or bracket that is opened here is never closed"),
    (r"find expected ':'", "a key has no ': ' after it; write `key: value`"),
    (r"sequence entries", "a list cannot begin behind a key; begin it on the next line"),
)
_OPENED_AT = re.compile("expected ',' or|unexpected end|<stream end>|find expected ':'")
"""Problems that show long after the place where they were made."""


class YamlRefused(Exception):
    """A text that is no acceptable YAML, with the line where that shows."""

    def __init__(self, line: int, sentence: str) -> None:
        super().__init__(sentence)
        self.line = line
        self.sentence = sentence


def read_yaml(text: str) -> tuple[Any, dict[KeyPath, int]]:
    """The value of the one document (None where there is none) and the line of each key and entry.

    Raises YamlRefused for a syntax error, a key given twice, a second document, an anchor, alias,
    merge key, tag or directive, nesting beyond MAX_DEPTH, or more than MAX_VALUES values.
    """
    reader = _Reader(text)
    try:
        return reader.document(), reader.lines
    except MarkedYAMLError as error:
        opened = error.context_mark if _OPENED_AT.search(str(error.problem)) else None
        mark = opened or error.problem_mark
        raise YamlRefused(reader.line(mark.index if mark else 0), _hint(error)) from error
    except YAMLError as error:
        raise YamlRefused(1, f"not YAML: {error}") from error


def _hint(error: MarkedYAMLError) -> str:
    problem = str(error.problem)
    for pattern, hint in _HINTS:
        if found := re.search(pattern, problem):
            return f"not YAML: {hint.format(*found.groups())}"
    return f"not YAML: {problem}"


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._values = 0
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self._events: Iterator[Event] = YAML(typ="safe", pure=True).parse(text)

    def line(self, index: int) -> int:
        """The line of a character as an editor counts, from 1."""
        return bisect_left(self._ends, index) + 1

    def document(self) -> Any:
        value: Any = None
        documents = 0
        for event in self._events:
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if event.version is not None:
                    raise self._refusal(event, "a %YAML directive is not read; delete it")
                if documents > 1:
                    raise self._refusal(event, "a second document begins; one file declares one thing")
            elif isinstance(event, NodeEvent):
                value = self._value(event, ())
        return value

    def _refusal(self, event: Event, sentence: str) -> YamlRefused:
        return YamlRefused(self.line(event.start_mark.index), sentence)

    def _value(self, event: Event, at: KeyPath) -> Any:
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None) is not None:
            raise self._refusal(event, "anchors and aliases (&name, *name) are not read; write the text out")
        if getattr(event, "tag", None) is not None:
            raise self._refusal(event, "tags (!name) are not read; delete it")
        self._values += 1
        if self._values > MAX_VALUES:
            raise self._refusal(event, f"more than {MAX_VALUES:,} values; is this the right file?")
        if len(at) > MAX_DEPTH:
            raise self._refusal(event, f"nested more than {MAX_DEPTH} deep; check the brackets")
        if isinstance(event, ScalarEvent):
            return event.value if event.style else _plain(event.value)
        return self._mapping(at) if isinstance(event, MappingStartEvent) else self._sequence(at)

    def _sequence(self, at: KeyPath) -> list[Any]:
        entries: list[Any] = []
        while not isinstance(event := next(self._events), CollectionEndEvent):
            place = (*at, len(entries))
            self.lines[place] = self.line(event.start_mark.index)
            entries.append(self._value(event, place))
        return entries

    def _mapping(self, at: KeyPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while not isinstance(event := next(self._events), CollectionEndEvent):
            key = self._key(event)
            place = (*at, key)
            if key in values:
                first = self.lines[place]
                raise self._refusal(event, f"{shown(key)} is given twice, first on line {first}; keep one")
            self.lines[place] = self.line(event.start_mark.index)
            values[key] = self._value(next(self._events), place)
        return values

    def _key(self, event: Event) -> str:
        if not isinstance(event, ScalarEvent):
            raise self._refusal(event, "a key must be one word")
        if event.value == "<<":
            raise self._refusal(event, "merge keys (<<) are not read; write the values out")
        return str(event.value)


def _plain(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text
