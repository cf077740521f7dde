"""Fixtures of the browser tests: one headless Chromium for a module, and a server that nothing may reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser.serving import Elsewhere, listening
from tests.chromium import FLAGS, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One headless browser for the module, closed at its end."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield opened
        opened.close()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    """A second server that must receive nothing."""
    with listening() as heard:
        yield heard
