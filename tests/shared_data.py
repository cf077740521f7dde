"""Public data that the tests read where it is present; it is not part of the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.source_tree import ROOT


def shared(path: str) -> Path:
    """The file or folder `path` below VOIRDIRE_SHARED (default: `shared` beside the repository).

    Skips the calling test where it is absent. Mark such tests with `pytest.mark.shared`.
    """
    directory = Path(os.environ.get("VOIRDIRE_SHARED") or ROOT.parent / "shared")
    found = directory / path
    if not found.exists():
        pytest.skip(f"no shared data: {path} is not there; VOIRDIRE_SHARED names its folder")
    return found
