"""The browser that browser tests drive: Debian's Chromium, headless, with an empty profile."""

from __future__ import annotations

import shutil

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""No lookups of its own and no sandbox, which a container's root does not get; add --user-data-dir."""


def chromium() -> str:
    """The path of the browser; skips the calling test where there is none.

    Mark such tests with `pytest.mark.browser`.
    """
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    pytest.skip("no Chromium: `apt-get install chromium`, then run again")
