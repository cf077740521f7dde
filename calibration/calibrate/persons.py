"""Is it the same person? Names as typed are compared by what they look like, not by their code points.

Look-alikes after UTS #39 (Unicode Security Mechanisms), the part that a name of a signer meets.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_LOOK_ALIKE: Final = str.maketrans(
    "авекмнорстухіјѕһԁӏ" + "αβγεζηικμνορτυχ" + "ıȷɑɡł" + "l01|",
    "abekmhopctyxijshdi" + "abyezhikmnoptux" + "ijagi" + "ioii",
)
"""Of other alphabets and digits, in lower case; `l` and `i` are one, as `I` and `l` look alike."""
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0\u180e")
"""Letters and signs without a shape, which no category tells."""
_EAST_ASIAN: Final = frozenset({"CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO"})


def same_name(one: str, other: str) -> bool:
    """True where two names look the same, whatever their case, spaces, accents and look-alikes."""
    return skeleton(one) == skeleton(other)


def skeleton(name: str) -> str:
    """What is left of a name once everything that the eye does not tell apart is one."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    seen = "".join(
        char for char in plain if unicodedata.category(char) not in {"Mn", "Me", "Cf"} and char not in _BLANK
    )
    return "".join(seen.split()).translate(_LOOK_ALIKE)


def alphabets(name: str) -> tuple[str, ...]:
    """The alphabets of its letters, by Unicode name and sorted; those of East Asian names are one."""
    found = set()
    for char in unicodedata.normalize("NFKC", name):
        if unicodedata.category(char).startswith("L"):
            script = unicodedata.name(char, "UNNAMED").partition(" ")[0]
            found.add("CJK" if script in _EAST_ASIAN else script)
    return tuple(sorted(found))
