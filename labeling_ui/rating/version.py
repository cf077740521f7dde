"""Which version of this app an answer was given in."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

LAYOUT: Final = 1
"""Moves when a rater sees or presses something else than before: answers may then not be compared blindly."""


def _installed() -> str:
    try:
        return version("voirdire")
    except PackageNotFoundError:  # run from a folder that was never installed
        return "0"


UI_VERSION: Final = f"rating/{LAYOUT} voirdire/{_installed()}"
