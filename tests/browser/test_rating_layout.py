"""How the rating app lies on a screen: the bar in view, nothing wider than the window, in both modes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from labeling_ui.theme import DARK, LIGHT
from rubrics.item import Item
from tests.browser.rating import RaterTab, session_for
from tests.browser.serving import serving
from tests.calibration.labeling import world
from tests.chromium import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

WINDOWS = ((1440, 900), (1024, 700), (768, 1024))


def long_reply(number: int) -> Item:
    """A document of many paragraphs, a line that never ends, and code wider than any screen."""
    paragraph = f"Order {number} was looked at again and again before this reply was written. " * 6
    text = "\n\n".join([paragraph] * 12) + "\n\n" + "x" * 400 + "\n\n```\n" + "y = 1; " * 60 + "\n```\n"
    return world.item(number, output=text, evidence={"policy": paragraph})


def ground(tab: RaterTab) -> str:
    """The colour behind the page."""
    found: str = tab.page.evaluate("() => getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    return found


def rgb(colour: str) -> str:
    """A colour of the theme as the browser writes it."""
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


def check_bar(tab: RaterTab, last: str, height: int) -> None:
    """At the top of the document and at its end, the last button of the bar is in the window."""
    for top in (0, 100_000):
        tab.page.locator("[data-testid=stMain]").evaluate(f"main => main.scrollTo(0, {top})")
        box = tab.page.get_by_role("button", name=last).bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= height


def test_bar_stays_in_view_and_nothing_is_wider_than_the_window(
    browser: Browser, migrated_sqlite: Path, tmp_path: Path
) -> None:
    """At every step, at three sizes, with a long document, at its top and at its end: the bar is there."""
    chromium()
    file = Path(shutil.copy(migrated_sqlite, tmp_path / "long.db"))
    db = session_for(file, ("ann",), items=3, make=long_reply, asked=world.rubric())
    with serving("rate", db=db, name="ann") as served:
        tab = RaterTab(browser, served).enter()
        for key, last in (("2", "Back"), ("Escape", "Undo"), ("3", "Back"), ("Escape", "Undo")):
            tab.press(key)
            for width, height in WINDOWS:
                tab.page.set_viewport_size({"width": width, "height": height})
                check_bar(tab, last, height)
                assert tab.wide() <= width
                inner = "main => main.scrollWidth - main.clientWidth"
                assert tab.page.locator("[data-testid=stMain]").evaluate(inner) <= 0
        tab.page.set_viewport_size({"width": 1440, "height": 900})
        tab.press("1")
        card = tab.page.locator("textarea").bounding_box()
        assert card is not None
        assert card["y"] + card["height"] <= 900
        assert ground(tab) == rgb(LIGHT.paper)
        tab.page.emulate_media(color_scheme="dark")
        tab.page.wait_for_timeout(300)
        assert ground(tab) == rgb(DARK.paper)
        tab.close()
        assert tab.strangers == tab.complaints == []
