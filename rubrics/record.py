"""Frozen records and the text inside them: what may be stored, what an author may write, how a key looks."""

from __future__ import annotations

import re
import reprlib
import unicodedata
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

MAX_TEXT = 10_000
"""Characters of one text in a rubric; people read these on one page."""

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
NAME = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9])?"
"""The pattern of a name, wide enough for the names that other tools give."""
_NAME = re.compile(NAME)
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
# Controls except tab and line feed, surrogates, the bidi embeddings, overrides and isolates, and the planes
# of tag characters and supplementary variation selectors, which can carry a whole sentence unseen.
_HIDDEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e0fff]"
)


class Frozen(BaseModel):
    """A record that cannot be changed once made and refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Misfit(ValueError):
    """A value that does not fit another part of the same record; `at` leads to it from that record."""

    def __init__(self, message: str, *at: str | int) -> None:
        super().__init__(message)
        self.at = at


def shown(value: object) -> str:
    """The value as it is quoted in a message: its repr, cut in the middle beyond 60 characters."""
    return _SHORT.repr(value)


def normalise_text(text: str) -> str:
    r"""The text as every store, model and page can hold it; nearly always the same object.

    A high and a low surrogate that stand side by side become the character they mean; a NUL or a
    lone surrogate becomes its visible escape (`\u{0}`, `\u{D83D}`), so that judge and rater see
    that something was there and two different texts stay different. Nothing else is touched: no
    trimming, no Unicode normal form, no change of line ends. Idempotent. Where the result differs
    from what came in, keep raw_bytes() of the original beside it.

    >>> normalise_text("a" + chr(0) + "b")
    'a\\u{0}b'
    """
    if not _UNSTORABLE.search(text):
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _UNSTORABLE.sub(lambda found: f"\\u{{{ord(found[0]):X}}}", joined)


def raw_bytes(text: str) -> bytes:
    """The UTF-8 bytes of a text as it came, lone surrogates included; kept where normalising changed it."""
    return text.encode("utf-8", "surrogatepass")


def hidden_character(text: str) -> re.Match[str] | None:
    """The first character that a reader of a rubric would not see and a model would, or None."""
    return _HIDDEN.search(text)


def _authored(text: str) -> str:
    text = text.replace("\r\n", "\n")
    found = hidden_character(text)
    if found:
        raise ValueError(f"holds the invisible character U+{ord(found[0]):04X}; delete it")
    if len(text) > MAX_TEXT:
        raise ValueError(f"has {len(text):,} characters; at most {MAX_TEXT:,} are allowed")
    return unicodedata.normalize("NFC", text).strip()


def _not_blank(text: str) -> str:
    if not text:
        raise ValueError("is empty; write at least one word")
    return text


def _one_line(text: str) -> str:
    if len(text.splitlines()) > 1:
        raise ValueError("runs over several lines; a heading is one line")
    return text


def _key(text: str) -> str:
    if not _KEY.fullmatch(text):
        raise ValueError(
            f"{shown(text)} is not a key; it has up to 64 letters, digits, '_', '.' and '-', a letter first"
        )
    return text


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(
            f"{shown(text)} is not a name; a name has up to 64 letters, digits, '-', '_' and '.', "
            "such as refund-policy"
        )
    return text


def _normalised(value: Any) -> Any:
    return normalise_text(value) if isinstance(value, str) else value


OptionalText = Annotated[str, AfterValidator(_authored)]
"""Text that an author wrote: NFC, trimmed, nothing invisible in it; "" where none was written."""
Text = Annotated[OptionalText, AfterValidator(_not_blank)]
"""Text that an author must write."""
Line = Annotated[Text, AfterValidator(_one_line)]
"""A heading."""
Name = Annotated[str, AfterValidator(_name)]
"""The name of a rubric."""
Key = Annotated[str, AfterValidator(_key)]
"""The name of a criterion, failure mode, severity level or dimension within its rubric."""
EvidenceKey = Key
"""The name of a field of an item, as files of other tools spell it."""
ItemText = Annotated[str, BeforeValidator(_normalised)]
"""Text of an item: as it came, but for what no store can hold (normalise_text)."""
