r"""The fence between what an item says and what a judge is told: marks, visible escapes, imitations.

Whatever comes from an item is data. It stands between lines that carry a random mark, so its author cannot
close the fence; what cannot be seen is written out as `\u{200B}`, so that nothing is deleted and two
different texts stay different; and what imitates a fence, a verdict object or a chat template is escaped in
the same way and flagged, so that quoting it makes no verdict.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rubrics.characters import CONTROL, IGNORABLE, INVISIBLE

FENCE_VERSION = 1
"""Raised whenever the same item would be rendered differently: part of every judge's digest."""

MARK_LENGTH = 16
"""Letters of a fence mark: 75 bits. Letters, because models read them in far fewer tokens than digits."""
REPLY_MARK_LENGTH = 10
"""Letters of a reply mark, 47 bits; shorter, because the model writes it."""

_ESCAPE_LIKE = re.compile(r"\\(?=u\{)")
_LETTERS = bytes(ord("a") + byte % 26 for byte in range(256))
# Whatever is escaped has one of these characters in it, or is a verdict's word.
_NOTABLE = re.compile(rf"[{IGNORABLE}{CONTROL}\r\\<\[]")
_ESCAPED = re.compile(r"\\u\{([0-9A-F]{1,6})\}")


class Block(StrEnum):
    """What kind of text stands in one fence."""

    RECORDED = "RECORDED"
    """A trusted record, as far as the rubric says so; still data."""
    REFERENCE = "REFERENCE"
    CANDIDATE = "CANDIDATE"
    """Written by, or reachable for, the system under judgment."""


class Flag(StrEnum):
    """What an item's text tried, or happened to hold; recorded beside the verdict, never a verdict itself."""

    HIDDEN_CHARACTERS = "hidden_characters"
    FENCE_IMITATION = "fence_imitation"
    VERDICT_IMITATION = "verdict_imitation"
    CHAT_TOKENS = "chat_tokens"


_NO_FLAGS: frozenset[Flag] = frozenset()
_IMITATIONS: tuple[tuple[Flag, re.Pattern[str]], ...] = (
    # Each match is at the one character that is escaped.
    (
        Flag.FENCE_IMITATION,
        re.compile(rf"<(?=<\s*(?:END|{'|'.join(Block)})\b)", re.IGNORECASE),
    ),
    (Flag.VERDICT_IMITATION, re.compile(r'(?<=")v(?=erdict"\s*:)|V(?=ERDICT [a-z]{6,}\b)')),
    (
        Flag.CHAT_TOKENS,
        re.compile(
            r"<(?=[|｜][^<>\n]{1,40}[|｜]>|/?s>|(?:start|end)_of_turn>|(?:bos|eos|pad|unk)>|</?SYS>>)"
            r"|\[(?=/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|SYSTEM_PROMPT)\])"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A text as a judge sees it, and what had to be escaped for that."""

    text: str
    flags: frozenset[Flag]


def mark(secret: bytes, *parts: str | int, length: int = MARK_LENGTH) -> str:
    """The mark of one call in lower-case letters: the same for the same secret and parts, else unrelated.

    `secret` is random and private to a run: whoever knows it can forge a fence. `parts` name the call
    (item, criterion, order, repeat, attempt), so no two calls share a mark.
    """
    message = "\x1f".join(str(part) for part in parts).encode("utf-8", "surrogatepass")
    key = secret if len(secret) <= hashlib.blake2b.MAX_KEY_SIZE else hashlib.blake2b(secret).digest()
    keyed = hashlib.blake2b(message, key=key, digest_size=32)  # an HMAC costs forty times as much here
    return keyed.digest()[:length].translate(_LETTERS).decode("ascii")


def visible(text: str) -> str:
    r"""The text with every character that cannot be seen as `\u{HEX}`; nothing is dropped.

    A backslash that already stands before `u{` is itself escaped, so the original can be told back
    (`original`) and no two texts look the same. Line ends stay as they are.

    >>> visible("a" + chr(0x200B) + "b")
    'a\\u{200B}b'
    """
    return INVISIBLE.sub(_escape, _ESCAPE_LIKE.sub(_escape, text))


def original(shown_text: str) -> str:
    """The text that `visible` or `show` was given."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), shown_text)


def show(text: str) -> Shown:
    """The text of an item made fit to stand in a fence, with a flag for each kind of thing escaped."""
    if not (_NOTABLE.search(text) or '"verdict"' in text or "VERDICT " in text):
        return Shown(text, _NO_FLAGS)  # nearly always: one look instead of seven
    seen = visible(text)
    flags = {Flag.HIDDEN_CHARACTERS} if INVISIBLE.search(text) else set()
    for flag, pattern in _IMITATIONS:
        seen, count = pattern.subn(_escape, seen)
        if count:
            flags.add(flag)
    return Shown(seen, frozenset(flags))


@dataclass(frozen=True, slots=True)
class Fenced:
    """One text that is to stand in a fence."""

    block: Block
    title: str
    text: str
    mark: str


def fence(texts: Sequence[Fenced], *, end_mark: str) -> str:
    """The texts, each below a line with kind, mark and title, and a line with the end mark below the last.

    Raises ValueError where a text holds one of the marks, which it cannot by chance.
    """
    together = "\n".join([text.text for text in texts])  # a mark is letters only: none spans two texts
    if end_mark in together or any(text.mark in together for text in texts if text.mark != end_mark):
        raise ValueError("an item's text holds the mark of its own fence; use another secret")
    shown_texts = [f"<<<{text.block} {text.mark} {text.title}\n{text.text}" for text in texts]
    return "\n".join((*shown_texts, f"<<<END {end_mark}"))


def is_blank(text: str) -> bool:
    """True where a reader would see nothing at all: white space and invisible characters only."""
    if "!" <= text[:1] <= "~":  # nearly always: it begins with something to see
        return False
    return not INVISIBLE.sub("", text).strip()


def all_flags(shown_texts: Iterable[Shown]) -> tuple[Flag, ...]:
    """The flags of several texts together, in the order of their declaration."""
    raised: frozenset[Flag] = frozenset().union(*(s.flags for s in shown_texts))
    if not raised:
        return ()
    return tuple(flag for flag in Flag if flag in raised)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found[0]):X}}}"
