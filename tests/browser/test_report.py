"""The report in a real browser: it asks for nothing, fits the screen, and decides on the first one."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calibration.rendering.html import render_html
from tests.calibration.rendering import examples

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, FloatRect, Page

pytestmark = pytest.mark.browser

WIDTHS = (1440, 768)


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[BrowserContext]:
    """One window, in which each report has a tab of its own."""
    opened = browser.new_context()
    yield opened
    opened.close()


@functools.cache
def written(name: str) -> str:
    """The report of that name; several tests look at each."""
    return render_html(examples.ALL[name](), made_at=datetime(2026, 11, 30, 10, 30, tzinfo=UTC))


class Visit:
    """A report opened in the browser, with all that it asked for and complained of."""

    def __init__(
        self, window: BrowserContext, folder: Path, name: str, *, width: int, scheme: str = "light"
    ) -> None:
        file = folder / f"{name}.html"
        file.write_text(written(name), "utf-8")
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page: Page = window.new_page()
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(file.as_uri())
        self.requests.remove(file.as_uri())

    def box(self, selector: str) -> FloatRect:
        """Where the first such element lies."""
        found = self.page.locator(selector).first.bounding_box()
        assert found is not None, selector
        return found

    def wide(self) -> int:
        """How wide the page is, whatever the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth"))


@pytest.mark.parametrize("name", examples.ALL)
def test_page_asks_for_nothing_and_fits(window: BrowserContext, tmp_path: Path, name: str) -> None:
    """No request, no complaint (the content policy included), and nothing wider than the window."""
    visit = Visit(window, tmp_path, name, width=WIDTHS[0])
    for width in WIDTHS:
        visit.page.set_viewport_size({"width": width, "height": 900})
        assert visit.wide() <= width
    visit.page.close()
    assert visit.requests == []
    assert visit.complaints == []


def test_hostile_names_run_nothing_and_fit(window: BrowserContext, tmp_path: Path) -> None:
    """A judge named like a program and as long as a page does nothing and breaks at the edge."""
    evil = "<img src=x onerror=console.log(1)>" + "<script>console.log(2)</script>" + "x" * 400
    examples.ALL["evil"] = lambda: examples.examine(examples.FLAT, judge=evil, criterion=evil)
    try:
        visit = Visit(window, tmp_path, "evil", width=768)
    finally:
        del examples.ALL["evil"]
    wide = visit.wide()
    visit.page.close()
    assert visit.requests == []
    assert visit.complaints == []
    assert wide <= 768


@pytest.mark.parametrize("name", ["rejected", "three_judges", "eleven_judges", "clustered", "full_policy"])
def test_first_screen_decides_and_shows_the_picture(
    window: BrowserContext, tmp_path: Path, name: str
) -> None:
    """On a 1440 x 900 screen: the decision, what bound it, the next step, the limit and an interval."""
    visit = Visit(window, tmp_path, name, width=1440)
    for selector in ("h1", ".lede", ".three", ".next", ".axis .l", "svg.strip"):
        box = visit.box(selector)
        assert box["y"] + box["height"] <= 900, selector
    visit.page.close()


def test_style_sheet_applies_in_light_and_dark(window: BrowserContext, tmp_path: Path) -> None:
    """The content policy lets the page's own style sheet through, and it follows the system."""
    grounds = {}
    for scheme in ("light", "dark"):
        visit = Visit(window, tmp_path, "rejected", width=1440, scheme=scheme)
        grounds[scheme] = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        visit.page.close()
    assert grounds == {"light": "rgb(251, 250, 248)", "dark": "rgb(23, 22, 20)"}


def test_interval_is_drawn_where_its_numbers_lie(window: BrowserContext, tmp_path: Path) -> None:
    """The estimate of 16 of 80 stands at 20 % of a scale from 0 to 40 %, and the limit at 10 %."""
    visit = Visit(window, tmp_path, "rejected", width=1440)
    strip = visit.box("svg.strip")
    limit, estimate = visit.box("svg.strip .lim"), visit.box("svg.strip .pt")
    visit.page.close()
    middle = estimate["x"] + estimate["width"] / 2
    assert (middle - strip["x"]) / strip["width"] == pytest.approx(20 / 40, abs=0.005)
    assert (limit["x"] - strip["x"]) / strip["width"] == pytest.approx(10 / 40, abs=0.005)


def test_print_keeps_decision_and_picture_on_the_first_page(window: BrowserContext, tmp_path: Path) -> None:
    """In print the ground is white and the picture begins within the first A4 page's height."""
    visit = Visit(window, tmp_path, "three_judges", width=700)  # A4 less its margins, at 96 dpi
    visit.page.emulate_media(media="print")
    ground = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    picture = visit.box("table.cmp")
    made = visit.page.pdf(prefer_css_page_size=True, print_background=True)
    visit.page.close()
    assert ground == "rgb(255, 255, 255)"
    assert picture["y"] + picture["height"] < 1027  # 297 mm less margins of 25 mm, at 96 dpi
    assert made.startswith(b"%PDF")
