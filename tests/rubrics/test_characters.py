"""No character that a person cannot see is missing from the list."""

from __future__ import annotations

import sys
import unicodedata

import pytest

from rubrics.characters import INVISIBLE, UNSEEN, code_point


def test_a_character_is_named_by_its_number() -> None:
    """Four digits at least, as Unicode writes it."""
    assert [code_point(chr(number)) for number in (0x9, 0x202E, 0xE0041)] == ["U+0009", "U+202E", "U+E0041"]


LINE_ENDS = {"\t", "\n", "\r"}


def test_every_control_and_format_character_is_unseen() -> None:
    """Whatever Unicode calls a control, a format character, a surrogate or a separator of lines is listed."""
    missing = [
        code_point(character)
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        and character not in LINE_ENDS
        and not UNSEEN.fullmatch(character)
    ]
    assert missing == []


# fmt: off
IGNORED = (
    0x00AD, 0x034F, 0x115F, 0x1160, 0x17B4, 0x180B, 0x200B, 0x2060, 0x2065, 0x3164, 0xFE00, 0xFE0F, 0xFEFF,
    0xFFA0, 0xFFF0, 0x1BCA0, 0x1D173, 0xE0000, 0xE0001, 0xE0041, 0xE007F, 0xE0100, 0xE01EF, 0xE0FFF,
)
# fmt: on


@pytest.mark.parametrize("code", IGNORED, ids=lambda code: f"U+{code:04X}")
def test_default_ignorable_characters_are_unseen(code: int) -> None:
    """The characters that no font draws and that are neither control nor format are listed too."""
    assert INVISIBLE.fullmatch(chr(code))
    assert UNSEEN.fullmatch(chr(code))


@pytest.mark.parametrize("text", ["a", "é", " ", "\u00a0", "\u3000", "汉", "😀", "\t", "\n", "א"])
def test_what_is_seen_is_not_listed(text: str) -> None:
    """Letters, spaces, pictures, tabs and line ends stay themselves."""
    assert not UNSEEN.search(text)


def test_carriage_return_is_unseen_only_alone() -> None:
    """Before a line feed it is a line end; alone it may overwrite a line."""
    assert not UNSEEN.search("a\r\nb")
    assert UNSEEN.findall("a\rb") == ["\r"]
