"""Fixtures of the browser tests: one headless Chromium for all, and a server that nothing may reach."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.serving import Elsewhere, listening
from tests.chromium import FLAGS, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).parent


class OneBrowser:
    """The browser of this process: started when a test first asks, closed after the last test of the folder.

    Not a fixture of the session: while Playwright runs, no other test of the process could start a loop.
    """

    def __init__(self) -> None:
        self._leave = ExitStack()
        self._opened: Browser | None = None

    def opened(self) -> Browser:
        """The browser."""
        path = chromium()
        if self._opened is None:
            from playwright.sync_api import sync_playwright

            playwright = self._leave.enter_context(sync_playwright())
            self._opened = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
            self._leave.callback(self._opened.close)
        return self._opened

    def close(self) -> None:
        """Close it, with whatever was left open in it."""
        self._opened = None
        self._leave.close()


_ONE = OneBrowser()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Close the browser where the next test of this process is none of the folder's."""
    del item
    try:
        return (yield)
    finally:
        if nextitem is None or HERE not in nextitem.path.parents:
            _ONE.close()


@pytest.fixture(scope="module")
def browser() -> Browser:
    """The one headless browser; who opens a page in it closes the page."""
    return _ONE.opened()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    """A second server that must receive nothing."""
    with listening() as heard:
        yield heard
