"""Single fields of a record: what they must be, and the sentence where they are not."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

from calibration.interchange.json_values import as_text
from calibration.interchange.lines import shown
from calibration.interchange.words import fold
from calibration.store.text import name as checked_name
from rubrics.errors import DeclarationError

_WHOLE: Final = re.compile(r"\d{1,9}")
_LARGE: Final = re.compile(r"\d{1,18}")
T = TypeVar("T")


class BadField(Exception):
    """A record that cannot be taken; carries the message and the field."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.field = field


def required(fields: Mapping[str, Any], key: str) -> str:
    """The text of a field that must be there, exactly as it is written.

    Raises:
        BadField: it is absent, null, blank, or no text or number.
    """
    value = fields.get(key)
    if type(value) is str and value.strip():
        return value
    if key not in fields:
        raise BadField(f"{key} is missing; the record has {', '.join(fields) or 'no field'}", key)
    if isinstance(value, dict | list):
        raise BadField(f"{key} {shown(as_text(value))} is no text", key)
    text = as_text(value)
    if not text.strip():
        raise BadField(f"{key} is empty: every line names it", key)
    return text


def named(fields: Mapping[str, Any], key: str) -> str:
    """The name in a field that must be there, unchanged.

    Raises:
        BadField: it is absent, blank, or no database can store it as a name.
    """
    try:
        return checked_name(required(fields, key), key)
    except DeclarationError as error:
        raise BadField(str(error), key) from error


def label(fields: Mapping[str, Any]) -> Any:
    """The label as it is written; null is one.

    Raises:
        BadField: the record has no label: under another name it would be read as nothing at all.
    """
    if "label" not in fields:
        raise BadField(f"label is missing; the record has {', '.join(fields)} (null is a label)", "label")
    return fields["label"]


def optional(fields: Mapping[str, Any], key: str) -> str | None:
    """The text of a field, None where it is absent or null; what is no text is its JSON."""
    value = fields.get(key)
    return value if value is None or type(value) is str else as_text(value)


def word(fields: Mapping[str, Any], key: str, words: Mapping[str, T]) -> T:
    """What a field says whose words are fixed; an absent one reads as the empty word.

    Raises:
        BadField: it is none of the words.
    """
    text = optional(fields, key) or ""
    meaning = words.get(text)
    if meaning is None:
        meaning = words.get(fold(text))
    if meaning is None:
        allowed = ", ".join(each for each in words if each)
        raise BadField(f"{key} {shown(text)} is none of {allowed} or empty", key)
    return meaning


def whole(fields: Mapping[str, Any], key: str, *, large: bool = False) -> int | None:
    """The whole number of a field, None where it is absent.

    Raises:
        BadField: it is no whole number, negative, or has more than 9 digits (18 where `large`).
    """
    text = optional(fields, key)
    if text is None:
        return None
    if not (_LARGE if large else _WHOLE).fullmatch(text):
        raise BadField(f"{key} {shown(text)} is no whole number from 0 on", key)
    return int(text)


def moment(fields: Mapping[str, Any], key: str) -> datetime | None:
    """The moment of a field, None where it is absent.

    Raises:
        BadField: it is not ISO 8601, or has no time zone.
    """
    text = optional(fields, key)
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise BadField(f"{key} {shown(text)} is no moment with its zone, such as 2026-11-30T12:00:00Z", key)
    return found


def rest(fields: Mapping[str, Any], known: Collection[str]) -> dict[str, Any] | None:
    """The fields that have no name of their own here, those that say nothing left out; None without any."""
    found = {key: value for key, value in fields.items() if key not in known and value is not None}
    return found or None
