"""The one edge through which text enters the store.

PostgreSQL refuses NUL and both drivers refuse half a surrogate pair, so one odd character in a
model's reply could end a paid run (RELIABILITY §0.5). Every free text is normalised here before it
reaches a statement; names and ids, which are joined exactly, are refused instead.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from pydantic import BaseModel

from rubrics.digest import canonical_json
from rubrics.errors import DeclarationError, RecordError
from rubrics.record import normalise_text, shown

NAME_LIMIT = 200
ITEM_ID_LIMIT = 512
_BYTES_EACH = 4
_NAME_BYTES = NAME_LIMIT * _BYTES_EACH
_ITEM_ID_BYTES = 1600
"""With a dataset's name beside it an id must fit into an index row of PostgreSQL, which holds 2,700 bytes."""

_NOT_A_NAME = re.compile("[\0\ud800-\udfff]")


def normalised(value: Any) -> Any:
    """The JSON value with every text in it (keys too) as every database can hold it.

    A pydantic record becomes its JSON form; a value without anything to change comes back equal.
    """
    if isinstance(value, str):
        return normalise_text(value)
    if isinstance(value, BaseModel):
        return normalised(value.model_dump(mode="json", by_alias=True))
    if isinstance(value, dict):
        return {normalise_text(str(key)): normalised(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [normalised(each) for each in value]
    return value


def stored_json(value: Any) -> str:
    """The canonical JSON of the normalised value.

    Raises ValueError for NaN or infinity: an undefined number is a reason.
    """
    return canonical_json(normalised(value))


def content_digest(stored: str) -> str:
    """The SHA-256 of a stored JSON text as 64 hex digits."""
    return hashlib.sha256(stored.encode()).hexdigest()


def read_json(stored: str, expected: str, what: str) -> Any:
    """The stored JSON value, once its text is found to be the one that was recorded.

    Raises:
        RecordError: the text was changed in the database after it was recorded.
    """
    if content_digest(stored) != expected:
        raise RecordError(
            f"the stored {what} is not the one that was recorded: it was changed outside voirdire;"
            " run `voirdire db check` and restore a backup"
        )
    return json.loads(stored)


def name(value: str, what: str) -> str:
    """The name, unchanged.

    Raises:
        DeclarationError: it is empty, too long for an index, or holds NUL or half a character.
    """
    return _joined_exactly(value, what, NAME_LIMIT, _NAME_BYTES)


def item_id(value: str) -> str:
    """The id of an item, unchanged; raises DeclarationError as name() does."""
    return _joined_exactly(value, "item_id", ITEM_ID_LIMIT, _ITEM_ID_BYTES)


def _joined_exactly(value: str, what: str, limit: int, limit_bytes: int) -> str:
    odd = _NOT_A_NAME.search(value)
    if odd:
        raise DeclarationError(
            f"{what} {shown(value)} holds U+{ord(odd[0]):04X}, which no database can store; remove it"
        )
    if not value or len(value) > limit or len(value.encode()) > limit_bytes:
        raise DeclarationError(
            f"{what} {shown(value)} has {len(value)} characters ({len(value.encode())} bytes);"
            f" allowed: 1 to {limit} characters, at most {limit_bytes} bytes"
        )
    return value
