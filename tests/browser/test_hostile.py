"""Hostile texts through every page, in a real browser: nothing runs, nobody is asked, nothing is unseen."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calibration.labeling.sheets import make_sheet
from calibration.labeling.tasks import fields_of
from calibration.store.schema import open_store
from labeling_ui.components import item_panel
from rubrics.characters import UNSEEN
from rubrics.item import Item
from rubrics.rubric import Rubric
from tests.browser.hostile_world import HostileWorld, hostile_world, items, rubric
from tests.browser.legible import hard_to_read
from tests.browser.serving import Elsewhere, Served, Tab, listening, serving
from tests.calibration.labeling.world import SESSION, later
from tests.labeling_ui.html_text import read

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

PARTS = ("[data-testid=stMain]", "[data-testid=stHeader]", "[data-testid=stBottom]")
TOO_EARLY = 300
"""Milliseconds that a person looks before a press counts."""


@pytest.fixture(scope="module")
def heard() -> Iterator[Elsewhere]:
    """The server that every hostile address points at."""
    with listening() as server:
        yield server


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path, heard: Elsewhere) -> HostileWorld:
    """A session in which everything that a person could have written is hostile, made once."""
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copy(migrated_sqlite, folder / "hostile.db")
    return hostile_world(folder, heard.address)


@pytest.fixture
def world(made: HostileWorld, tmp_path: Path) -> HostileWorld:
    """That session in a file of the test's own."""
    return replace(made, db=Path(shutil.copy(made.db, tmp_path / "hostile.db")))


@pytest.fixture
def served(world: HostileWorld) -> Iterator[Served]:
    """The rating app on that session."""
    with serving("rate", db=world.db) as app:
        yield app


def sign_in(tab: Tab, name: str) -> None:
    """Sign in by typing a name."""
    tab.open()
    tab.page.get_by_label("Name").fill(name)
    tab.page.get_by_role("button", name="Go on").click()
    tab.page.wait_for_selector("[data-testid=stTopNavLink] >> text=Label")
    tab.settled()


def look(tab: Tab, *, closely: bool = True) -> str:
    """The words on the page, after a check that nothing ran, is unseen or (closely) is hard to read."""
    tab.settled()
    assert not tab.ran()
    shown = [
        tab.page.locator(part).first.text_content() or "" for part in PARTS if tab.page.locator(part).count()
    ]
    words = "".join(shown)
    assert UNSEEN.findall(words) == []
    assert not closely or hard_to_read(tab.page) == []
    return words


def press(tab: Tab, key: str, *, until: Callable[[], object]) -> None:
    """Press a key as a person does, after a look, and wait for the page that it leads to."""
    tab.page.wait_for_timeout(TOO_EARLY)
    tab.page.keyboard.press(key)
    for _ in range(200):
        if until():
            tab.settled()
            return
        tab.page.wait_for_timeout(50)
    raise AssertionError(f"{key!r} led nowhere: {look(tab)!r}")


def item_words(tab: Tab) -> str:
    """The words of the item on the page, chips as they stand."""
    return tab.page.locator(".vd-item").first.text_content(timeout=20_000) or ""


def expected(asked: Rubric, item: Item) -> str:
    """What the page must say of an item, character by character."""
    fields = fields_of(item, asked, asked.criteria[0], swapped=False)
    return "".join(read(item_panel(fields)).raw)


def label_all(tab: Tab, count: int) -> set[str]:
    """The words of every item, each answered with fail and its one failure mode."""
    seen: set[str] = set()
    asked = tab.page.locator(".vd-legend")
    for done in range(1, count + 1):
        look(tab, closely=done == 1)
        seen.add(item_words(tab))
        press(tab, "2", until=asked.count)
        look(tab, closely=done == 1)
        moved = f"{done} of {count}" if done < count else "Nothing left for you"
        there = tab.page.locator("[data-testid=stMain]", has_text=moved)
        press(tab, "1", until=lambda there=there: there.count() and not asked.count())  # type: ignore[misc]
    return seen


def look_back(tab: Tab) -> None:
    """Look at one's own answers, and at one of them as it was given."""
    tab.page.locator("[data-testid=stTopNavLink]", has_text="My history").click()
    tab.page.wait_for_selector(".vd-past")
    look(tab)
    press(tab, "1", until=lambda: tab.page.locator(".vd-given").count())
    look(tab)


def adjudicate(tab: Tab, count: int) -> None:
    """Resolve so many cases, the reveal of hostile notes in each looked at."""
    tab.page.locator("[data-testid=stTopNavLink]", has_text="Adjudicate").click()
    for _ in range(count):
        tab.page.wait_for_selector(".vd-counts")
        look(tab)
        press(tab, "1", until=lambda: tab.page.locator(".vd-revealed").count())
        look(tab)
        reason = tab.page.locator("[data-testid=stTextArea] textarea").first
        reason.fill("The policy says so.")
        reason.press("Escape")
        press(tab, "2", until=lambda: not tab.page.locator(".vd-revealed").count())


def hears(tab: Tab, heard: Elsewhere) -> None:
    """The walk would be idle if the second server were deaf: a picture that a page loads is heard."""
    address = f"{heard.address}/probe"
    load = "i => new Promise(done => { i.onerror = done; i.src = '%s' })"
    tab.page.evaluate(f"({load % address})(new Image())")
    assert heard.requests == ["GET /probe"]
    assert tab.strangers == [address]
    heard.requests.clear()


def walk(browser: Browser, served: Served, world: HostileWorld, *, cases: int, bypass_csp: bool) -> Tab:
    """The adjudicator's tab, after every page of the rating app as a rater and as an adjudicator."""
    scheme = "light" if bypass_csp else "dark"
    tab = Tab(browser, served, scheme=scheme, bypass_csp=bypass_csp)
    sign_in(tab, world.rating)
    seen = label_all(tab, world.items)
    look_back(tab)
    tab.close()
    other = Tab(browser, served, scheme=scheme, bypass_csp=bypass_csp)
    sign_in(other, world.adjudicating)
    adjudicate(other, cases)
    assert (tab.strangers, other.strangers) == ([], [])
    assert (tab.complaints, other.complaints) == ([], [])
    asked = rubric(world.base)
    wanted = {expected(asked, item) for item in items(world.base)}
    assert sorted(seen - wanted) == sorted(wanted - seen)
    return other


def test_hostile_texts_do_nothing_even_without_the_policy(
    browser: Browser, served: Served, world: HostileWorld, heard: Elsewhere
) -> None:
    """Browser list 4: with the content policy taken away, every text is shown whole and does nothing."""
    tab = walk(browser, served, world, cases=1, bypass_csp=True)
    assert heard.requests == []
    hears(tab, heard)
    tab.close()


@pytest.mark.slow
def test_hostile_texts_do_nothing_under_the_policy(
    browser: Browser, served: Served, world: HostileWorld, heard: Elsewhere
) -> None:
    """Browser list 4 at full size: the policy in force, every case adjudicated, not one complaint of it."""
    walk(browser, served, world, cases=world.items, bypass_csp=False).close()
    assert heard.requests == []


def test_review_of_hostile_notes_and_names_does_nothing(
    browser: Browser, world: HostileWorld, heard: Elsewhere
) -> None:
    """The lead's pages show names, notes and rubrics as text; nothing in them runs or asks anybody."""
    with serving("review", db=world.db, name="lead") as app:
        tab = Tab(browser, app, scheme="dark", bypass_csp=True)
        tab.open()
        tab.page.wait_for_selector(".vd-said")
        assert world.rating in look(tab)
        links = tab.page.locator("[data-testid=stTopNavLink]")
        for place in range(1, links.count()):
            links.nth(place).click()
            tab.page.wait_for_timeout(TOO_EARLY)
            look(tab)
        assert links.count() > 1
        assert hard_to_read(tab.page, least=22)  # idle, if no word were looked at
        tab.close()
    assert (tab.strangers, tab.complaints, heard.requests) == ([], [], [])


def test_sheet_of_hostile_texts_does_nothing(
    browser: Browser, world: HostileWorld, tmp_path: Path, heard: Elsewhere
) -> None:
    """The offline sheet too shows every text as text, runs none of them and asks nobody."""
    store = open_store(world.db)
    with store.write() as session:
        made = make_sheet(session=session, name=SESSION, rater=world.rating, now=later(90))
    store.close()
    file = tmp_path / "sheet.html"
    file.write_text(made.page, "utf-8")
    asked: list[str] = []
    page = browser.new_page(bypass_csp=True)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    words = []
    for _ in range(made.items):
        page.wait_for_timeout(TOO_EARLY)
        words.append(page.locator("#sheet").text_content() or "")
        page.keyboard.press("1")
    assert page.get_by_text("That was the last one.").count() == 1
    assert page.evaluate("typeof window.ran") == "undefined"
    page.close()
    assert [text for text in words if UNSEEN.search(text)] == []
    assert len(set(words)) == made.items == world.items
    assert asked == [file.as_uri()]
    assert heard.requests == []
