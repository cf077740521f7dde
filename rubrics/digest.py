"""Canonical form and digest: the identity of rubrics, judges, policies, sets and reports."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Any) -> str:
    """The one text form of a record: keys sorted, no spaces, no NaN, text as it is (not escaped).

    Raises ValueError for NaN or infinity: an undefined number is a reason, never a digit string.
    """
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True)
    return _ENCODER.encode(value)


def digest(value: Any) -> str:
    """The SHA-256 of the canonical JSON as 64 hex digits.

    A lone surrogate cannot be written as UTF-8; it is hashed as its own escaped form, so that
    two texts with different surrogates keep different digests.
    """
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def text_digest(text: str) -> str:
    """The SHA-256 of a text's own bytes as 64 hex digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def short(full: str) -> str:
    """The first 12 hex digits in groups of four, as shown to people."""
    return " ".join(full[i : i + 4] for i in (0, 4, 8))
