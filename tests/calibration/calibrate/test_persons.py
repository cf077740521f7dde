"""Names of signers: what looks the same is the same person, and a name is of one alphabet."""

from __future__ import annotations

import pytest

from calibration.calibrate.persons import alphabets, same_name, skeleton
from calibration.registry import Signature
from rubrics.errors import DeclarationError

REASON = "read both slices"


@pytest.mark.parametrize(
    "disguised",
    ["r.  ITO ", "R. It\u200bo", "R. I\u0332to", "R. \uff29\uff54\uff4f", "R. \u0399to", "R. It\u043e",
     "R. lto", "R. It0", "R. \u0131to", "R.\u3164Ito"],
)  # fmt: skip
def test_a_disguised_name_is_the_same(disguised: str) -> None:
    """Case, zero width, a mark, full width, Greek, Cyrillic, l for I, a digit, a dotless i, a filler."""
    assert skeleton(disguised) == skeleton("R. Ito")
    assert Signature("R. Ito", REASON).same_person(disguised)


@pytest.mark.parametrize("other", ["A. Blum", "R. Itoh", "R. Ota", "\u4f0a\u85e4"])
def test_other_people_stay_other_people(other: str) -> None:
    """Another name is another one, also in another script."""
    assert not same_name("R. Ito", other)


def test_a_name_of_two_alphabets_is_refused() -> None:
    """A Greek iota among Latin letters; a name that is Japanese or Russian all through is fine."""
    with pytest.raises(DeclarationError, match="mixes letters of GREEK and LATIN"):
        Signature("\u0399to", REASON).checked()
    for name in ("\u4f0a\u85e4 \u3051\u3093", "\u0418\u0432\u0430\u043d", "Zo\u00eb 2"):
        assert len(alphabets(name)) == 1
        assert Signature(name, REASON).checked().signer == name
