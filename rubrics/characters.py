"""Characters that a reader does not see and a machine does: one list for prompts and pages."""

from __future__ import annotations

import re
from typing import Final

IGNORABLE: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Default_Ignorable_Code_Point (Unicode 16, DerivedCoreProperties), the whole plane of tags and the
interlinear anchors, as the inside of a character class."""
CONTROL: Final = "\0-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029"
"""Controls except tab, line feed and carriage return, surrogates, and separators that look like line ends."""
FORMAT: Final = "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001345f"
"""The rest of category Cf, and the Egyptian controls beside it: signs that only some fonts draw."""
BLANK: Final = "\u2800"
"""A letter whose picture is empty."""

INVISIBLE: Final = re.compile(f"[{IGNORABLE}{CONTROL}]|\r(?!\n)")
"""What prompts write out; part of the fence's version, so it changes with that number only."""
UNSEEN: Final = re.compile(f"[{IGNORABLE}{CONTROL}{FORMAT}{BLANK}]|\r(?!\n)")
"""What pages write out: all that a person may overlook. A carriage return before a line feed stays."""


def code_point(character: str) -> str:
    """The name of a character by its number.

    >>> code_point(chr(0x202E))
    'U+202E'
    """
    return f"U+{ord(character):04X}"
