r"""JSON text -> values that stay what was written: numbers keep their digits, and a key occurs once.

Python would take the last of two equal keys, turn 1e999 into infinity and 007 into an error; a reader
of other people's files may do none of that without a word.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, Final

from calibration.interchange.lines import shown

MAX_DIGITS: Final = 100
_LONE_SURROGATE_HINT = re.compile(r"\\u[dD][89a-fA-F]")


class BadJson(ValueError):
    """A text that is not JSON, or that Python would read and should not; says why."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object, unless a key occurs twice: Python would keep the last without a word."""
    found = dict(pairs)
    if len(found) != len(pairs):
        key = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise BadJson(f"the key {shown(key)} occurs more than once in one object")
    return found


class Number(str):
    """A JSON number, NaN or Infinity, as it is written; a text that knows it was no text."""

    __slots__ = ()


def _digits(text: str) -> Number:
    """The number as it is written, unless it is one that nobody measured."""
    if len(text) > MAX_DIGITS:
        raise BadJson(f"a number of {len(text):,} digits: at most {MAX_DIGITS} are read")
    return Number(text)


# numbers stay as written: 007 of a CSV and 1e3 of a JSON file are ids, and NaN is a wrong word, not a float
_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_digits, parse_float=_digits, parse_constant=Number
)


def read_json(text: str, *, halves: bool = False) -> Any:
    """The JSON value of a text; its numbers are texts of the type Number.

    Args:
        text: one JSON value.
        halves: let an escape that is half of a character stand, for texts that a store will make whole.

    Raises:
        BadJson: not JSON, a key twice, nested too deeply, a number of more than 100 digits, or half of a
            surrogate pair inside.
    """
    try:
        value = _DECODER.decode(text)
        if not halves and _LONE_SURROGATE_HINT.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        raise BadJson(f"not JSON ({error.msg} at character {error.pos + 1})") from error
    except UnicodeEncodeError as error:
        raise BadJson("an escape like \\ud800 is half of a character and no text") from error
    except RecursionError as error:
        raise BadJson("nested too deeply") from error
    return value


def as_text(value: Any) -> str:
    """A JSON value as cell text: null is empty, true and false are words, the rest its JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
