"""Words of the item that a note quotes, found again as places in its texts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from calibration.labeling.records import Span

OPEN, CLOSE = "“", "”"
"""What the quoting key puts round the words."""
_QUOTED = re.compile(f"{OPEN}([^{OPEN}{CLOSE}]{{1,2000}}){CLOSE}")


def quotes(note: str, texts: Iterable[tuple[str, str]]) -> tuple[Span, ...]:
    """The places that the note quotes word for word, each once, in the order of the note.

    Args:
        note: what the rater wrote; only words between “ and ” are looked for.
        texts: key and text of each field; words that stand in several are found in the first of them.

    >>> quotes("“30 days” is not in the policy", [("output", "within 30 days of delivery")])
    (Span(field='output', start=7, end=14),)
    """
    fields = tuple(texts)
    found = (place for words in _QUOTED.findall(note) for place in _places(words.strip(), fields))
    return tuple(dict.fromkeys(found))


def _places(words: str, fields: tuple[tuple[str, str], ...]) -> Iterator[Span]:
    if not words:
        return
    for key, text in fields:
        start = text.find(words)
        if start >= 0:
            yield Span(key, start, start + len(words))
            return
