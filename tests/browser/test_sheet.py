"""An offline sheet in a real browser: by keyboard from the first item to the saved file, no network."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calibration.labeling.sheets import make_sheet, take_sheet
from calibration.store.database import Store
from tests.calibration.labeling.world import SESSION, item, later, opened, rubric

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.browser.serving import Elsewhere

pytestmark = pytest.mark.browser
PAUSE_MS = 300
"""Longer than the 250 ms within which a press is taken for one meant before."""


def sheet(store: Store, folder: Path, **world: object) -> Path:
    """The file of a rater's open items."""
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)  # the browser has the machine's clock
    opened(store, asked=rubric(criteria=2), items=2, opens_at=long_ago, **world)  # type: ignore[arg-type]
    with store.write() as session:
        made = make_sheet(session=session, name=SESSION, rater="ann", now=later(5))
    file = folder / "ann.html"
    file.write_text(made.page, encoding="utf-8")
    return file


def press(page: Page, *keys: str) -> None:
    """The keys, each after the pause of somebody who reads."""
    for key in keys:
        page.wait_for_timeout(PAUSE_MS)
        page.keyboard.press(key)


def test_a_sheet_is_answered_by_keyboard_and_its_file_is_taken(
    browser: Browser, sqlite_store: Store, tmp_path: Path
) -> None:
    """Pass, fail with a mode, a note, cannot decide, undo; the saved file is recorded as labels."""
    page = browser.new_page(accept_downloads=True)
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(sheet(sqlite_store, tmp_path).as_uri())
    press(page, "1")
    press(page, "2")
    assert "invented" in page.locator(".dock").inner_text().lower()
    assert "a claim is made up" in page.locator("aside").inner_text()
    press(page, "1")
    press(page, "n")
    page.keyboard.type("1 2 3 u")
    page.keyboard.press("Escape")
    press(page, "3", "1", "1")
    assert "last one" in page.locator("h1").inner_text()
    press(page, "u", "2", "0")
    page.wait_for_timeout(PAUSE_MS)
    with page.expect_download() as saved:
        page.keyboard.press("1")
    lines = Path(saved.value.path()).read_text(encoding="utf-8").split("\n")
    page.close()
    taken = take_sheet(store=sqlite_store, lines=lines, now=later(10**9))
    assert (taken.rater, taken.added) == ("ann", 4)
    assert [line.count('"unknown"') for line in lines[1:5]] == [0, 0, 1, 0]
    assert '"failure_mode":"invented"' in lines[2]
    assert '"note":"1 2 3 u"' in lines[3]
    assert complaints == []


def test_a_held_key_and_hostile_text_do_nothing(
    browser: Browser, sqlite_store: Store, tmp_path: Path, elsewhere: Elsewhere
) -> None:
    """A held key answers one task; an image and a script in a text stay text; it fits 768 pixels."""
    hostile = f"<img src='{elsewhere.address}/x' onerror='document.title=1'><script>document.title=2</script>"
    page = browser.new_page(viewport={"width": 768, "height": 900})
    page.goto(sheet(sqlite_store, tmp_path, make=lambda number: item(number, output=hostile)).as_uri())
    title = page.title()
    page.wait_for_timeout(PAUSE_MS)
    for _ in range(20):
        page.keyboard.down("1")
    page.keyboard.up("1")
    answered = page.locator("[role=status]").inner_text()
    assert "<img" in page.locator(".candidate .txt").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.title() == title
    page.close()
    assert "1 of 4 answered" in answered
    assert elsewhere.requests == []


def test_an_older_sheet_answers_nothing_of_a_newer_one_but_its_own(
    browser: Browser, sqlite_store: Store, tmp_path: Path
) -> None:
    """What is kept belongs to assignment and criterion: a sheet without the first task skips no other."""
    file = sheet(sqlite_store, tmp_path)
    page = browser.new_page()
    page.goto(file.as_uri())
    press(page, "1")
    newer = re.sub(
        r'"criteria": \["correct", "polite"\]', '"criteria": ["polite"]', file.read_text("utf-8"), count=1
    )
    file.write_text(newer, encoding="utf-8")
    page.reload()
    assert "0 of 3 answered" in page.locator("[role=status]").inner_text()
    assert page.locator("aside h1").inner_text() == "Polite"
    press(page, "n")
    page.keyboard.type("kept words")
    page.keyboard.press("Escape")
    press(page, "ArrowRight", "ArrowLeft")
    assert page.locator("#note").input_value() == "kept words"
    page.reload()
    assert page.locator("#note").input_value() == "kept words"
    page.close()
