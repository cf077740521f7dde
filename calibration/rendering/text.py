"""Words from data made safe to show, and small grammar."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def visible(text: str) -> str:
    """The text with every character that cannot be seen named, such as ‹U+202E›.

    Control characters could drive a terminal, direction marks could turn a page's words around, and a lone
    surrogate cannot be written at all.
    """
    return "".join(f"‹U+{ord(c):04X}›" if unicodedata.category(c) in _INVISIBLE else c for c in text)


def named(text: str) -> str:
    """A name made visible; "(no name)" where it is empty or blank."""
    return visible(text) if text.strip() else "(no name)"


def listed(words: Sequence[str], *, most: int = 0) -> str:
    """The words as a list in a sentence: a, b and c; beyond `most` the rest is counted (0: never)."""
    if most and len(words) > most + 1:
        words = (*words[:most], f"{len(words) - most} more")
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


def counted(number: int, one: str, many: str = "") -> str:
    """The number with its noun in the right form: 1 answer, 1,093 answers."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def capital(text: str) -> str:
    """The text with its first letter capital."""
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """The text with a capital first letter and a full stop."""
    text = text.strip()
    if not text:
        return ""
    return capital(text) + ("" if text[-1] in ".!?" else ".")


def said_of(name: str, text: str) -> str:
    """What is said of something named: the name as it is written, the text, and a full stop."""
    return f"{name}: {text}" + ("" if text.endswith((".", "!", "?")) else ".")


NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def number_word(number: int) -> str:
    """A small count as a word, a larger one in digits."""
    return NUMBER_WORDS[number] if 0 <= number < len(NUMBER_WORDS) else f"{number:,}"
