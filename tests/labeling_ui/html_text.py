"""What a person reads in a piece of HTML: tags by name, words with chips as the characters they stand for."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_CHIP = re.compile(r"U\+([0-9A-F]{4,6})(?: × ([\d,]+))?")


class Reader(HTMLParser):
    """Collects the tags, the attributes and the words of HTML; chips read as their characters."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.raw: list[str] = []
        """The words with chips as they stand."""
        self._chip = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag and its attributes."""
        self.tags.append(tag)
        self.attributes += attrs
        self._chip = ("class", "vd-uc") in attrs

    def handle_endtag(self, tag: str) -> None:
        """Leave a chip."""
        self._chip = False

    def handle_data(self, data: str) -> None:
        """Note words, or the character that a chip stands for."""
        self.raw.append(data)
        found = _CHIP.fullmatch(data) if self._chip else None
        self.words.append(chr(int(found[1], 16)) * int((found[2] or "1").replace(",", "")) if found else data)


def read(html: str) -> Reader:
    """The HTML, read."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


def words(html: str) -> str:
    """The words of the HTML, with every chip as the characters that it stands for."""
    return "".join(read(html).words)
