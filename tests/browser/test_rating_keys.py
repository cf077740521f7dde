"""Rating by keyboard in a real browser: nothing is answered that nobody has seen, nothing is lost."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.rating import RaterTab, answers_of, rows, session_for
from tests.browser.serving import Served, serving
from tests.chromium import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

UNSEEN = 0.25
"""Seconds within which nobody can have read what is on the screen."""


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> Path:
    """A session of three raters."""
    chromium()
    file = Path(shutil.copy(migrated_sqlite, tmp_path_factory.mktemp("rating") / "rating.db"))
    return session_for(file, ("ann", "ben", "cleo"))


@pytest.fixture(scope="module")
def served(db: Path) -> Iterator[Served]:
    """The rating app on that session."""
    with serving("rate", db=db) as app:
        yield app


@pytest.fixture(scope="module")
def desk(browser: Browser, served: Served) -> Iterator[RaterTab]:
    """One tab for the module, as at work: ann has signed in once and goes from test to test."""
    opened = RaterTab(browser, served).enter("ann")
    yield opened
    opened.close()
    assert opened.strangers == []
    assert opened.complaints == []


@pytest.fixture
def tab(desk: RaterTab, db: Path) -> RaterTab:
    """The tab at rest, with what was answered before left out of account."""
    desk.think()
    desk.before = len(answers_of(db, "ann"))
    return desk


def given(tab: RaterTab, db: Path) -> list[tuple[str, float]]:
    """What ann has answered in this test."""
    return answers_of(db, "ann")[tab.before :]


def test_one_key_is_one_answer(tab: RaterTab, db: Path) -> None:
    """Each verdict key stores one answer and brings the next item; U and the arrows lead back and forth."""
    seen = [tab.question()]
    for key in ("1", "2"):
        tab.press(key)
        seen.append(tab.question())
    tab.press("3", "4")
    assert [value for value, _ in given(tab, db)] == ["pass", "fail", "unknown"]
    assert len(set(seen)) == 3
    tab.press("u")
    assert tab.question() == seen[2]
    tab.press("ArrowLeft")
    assert tab.question() == seen[1]
    tab.press("ArrowRight")
    assert tab.question() == seen[2]
    assert len(tab.waits()) >= 7  # browser list 1: each press was clocked until the next screen was painted


@pytest.mark.parametrize(("times", "apart"), [(2, 0), (10, 40)], ids=["double", "burst"])
def test_hurried_presses_are_one_answer(tab: RaterTab, db: Path, times: int, apart: int) -> None:
    """Of presses without looking the first counts, and no other that follows without a pause."""
    pauses = tab.hammer("1", times, apart)
    answers = [value for value, _ in given(tab, db)]
    assert 1 <= len(answers) <= 1 + pauses
    assert set(answers) == {"pass"}
    tab.press("2")
    assert [value for value, _ in given(tab, db)] == [*answers, "fail"]


def test_held_key_is_one_answer(tab: RaterTab, db: Path) -> None:
    """A key that is held down repeats; the repeats are no answers."""
    for _ in range(25):
        tab.page.keyboard.down("1")
        tab.page.wait_for_timeout(30)
    tab.page.keyboard.up("1")
    tab.quiet()
    assert len(given(tab, db)) == 1


def test_fast_reason_is_never_a_verdict(tab: RaterTab, db: Path) -> None:
    """`3` and `1` at once: the `1` was meant for the reason, so it is no pass."""
    tab.page.keyboard.press("3")
    tab.page.keyboard.press("1")
    tab.quiet()
    assert given(tab, db) == []
    tab.press("1")
    assert [value for value, _ in given(tab, db)] == ["unknown"]


def test_typing_in_the_note_answers_nothing(tab: RaterTab, db: Path) -> None:
    """N goes into the note, what is typed there is text, Esc leaves it, and the note goes with the answer."""
    tab.page.keyboard.press("n")
    assert tab.focused().startswith("TEXTAREA")
    tab.page.keyboard.type("1 2 3 u e h s m 4")
    tab.page.keyboard.press("Escape")
    assert tab.focused().startswith("BODY")
    assert given(tab, db) == []
    tab.press("2")
    assert "1 2 3 u e h s m 4" in str(rows(db, "SELECT * FROM item_payload"))


def test_sentence_is_quoted_into_the_note(tab: RaterTab, db: Path) -> None:
    """S walks through the sentences of the text under judgment, M copies one, and its place is stored."""
    for key in ("s", "s", "s", "Shift+S", "m"):
        tab.page.keyboard.press(key)
    assert tab.page.locator("textarea").input_value().startswith("“You can return it within ")
    tab.press("2")
    spans = rows(db, "SELECT spans FROM assessment_context ORDER BY recorded_at DESC LIMIT 1")
    assert spans[0][0].startswith('[["output",')


def test_evidence_folds_and_help_opens(tab: RaterTab, db: Path) -> None:
    """E folds the evidence of this item only; H shows the keys, which answer nothing until that is closed."""
    policy = tab.page.locator("[data-field=policy] .vd-txt")
    assert policy.is_visible()
    tab.page.keyboard.press("e")
    assert not policy.is_visible()
    assert tab.page.locator("[data-field=output] .vd-txt").is_visible()
    tab.press("1")
    assert policy.is_visible()
    card = tab.page.locator("#vd-help")
    for key, visible in (("h", True), ("Escape", False), ("h", True), ("h", False)):
        tab.page.keyboard.press(key)
        assert card.is_visible() == visible
    tab.page.keyboard.press("h")
    tab.page.keyboard.press("1")
    tab.think()
    assert card.is_visible()
    tab.page.keyboard.press("Escape")
    assert len(given(tab, db)) == 1


def test_each_item_is_announced(tab: RaterTab) -> None:
    """A screen reader hears which item has come, from a region that outlives the items."""
    heard = tab.page.locator("[role=status]").first
    tab.press("1")
    before = heard.inner_text()
    assert before.startswith("Item ")
    tab.press("1")
    after = heard.inner_text()
    assert after.startswith("Item ")
    assert after != before


def test_everything_has_a_name(tab: RaterTab) -> None:
    """Buttons, note, pages and headings are there by name for whoever does not see them."""
    tree = tab.page.locator("body").aria_snapshot()
    for line in (
        '- link "Label"',
        '- heading "Correct" [level=1]',
        '- textbox "Note, optional"',
        '- button "Pass',
        '- button "Fail',
        '- button "Cannot decide',
        '- button "Undo',
        "- status:",
        '- progressbar "Batch 1"',
    ):
        assert line in tree, tree


def test_tab_key_reaches_everything_and_is_seen(tab: RaterTab) -> None:
    """Tab goes through pages, texts, note and buttons, comes round again, and always shows where it is."""
    stops = []
    for _ in range(30):
        tab.page.keyboard.press("Tab")
        stops.append(tab.focused())
        outlined = tab.page.evaluate(
            "() => { const e = document.activeElement, s = getComputedStyle(e), p = e.closest('.stTextArea')"
            " && getComputedStyle(e.parentElement); return ['BODY', 'MAIN'].includes(e.tagName)"
            " || s.outlineStyle !== 'none' || s.boxShadow !== 'none' || (p && p.borderColor !== '') }"
        )
        assert outlined, stops[-1]
    words = " / ".join(stops)
    for name in ("A Label", "A My history", "TEXTAREA", "BUTTON", "Pass", "Cannot decide", "Item is broken"):
        assert name in words
    assert stops.count(next(each for each in stops if each.startswith("A Label"))) >= 2


def test_focused_button_answers_and_keeps_the_focus(tab: RaterTab, db: Path) -> None:
    """Who goes by Tab and Enter stays on the same button from item to item."""
    tab.page.get_by_role("button", name="Fail").focus()
    tab.press("Enter")
    assert tab.focused().startswith("BUTTON")
    assert "Fail" in tab.focused()
    tab.press("Enter")
    assert [value for value, _ in given(tab, db)] == ["fail", "fail"]


@pytest.mark.parametrize(
    ("times", "apart"), [(10, 40), pytest.param(40, 25, marks=pytest.mark.slow)], ids=["burst", "long"]
)
def test_server_alone_refuses_the_unseen(
    browser: Browser, served: Served, db: Path, times: int, apart: int
) -> None:
    """Even where the page holds nothing back, no answer is stored sooner than it may."""
    tab = RaterTab(browser, served).enter("ben")
    before = len(answers_of(db, "ben"))
    tab.unguard()
    tab.hammer("1", times, apart)
    tab.close()
    stored = answers_of(db, "ben")[before:]
    assert stored
    assert all(seconds >= UNSEEN for _, seconds in stored)


def test_two_tabs_and_a_reload_lose_nothing(browser: Browser, served: Served, db: Path) -> None:
    """One rater in two tabs: the first answer stands, the other tab says so; a reload goes on from there."""
    one, two = RaterTab(browser, served).enter("cleo"), RaterTab(browser, served).enter("cleo")
    one.press("1")
    two.press("2")
    assert [value for value, _ in answers_of(db, "cleo")] == ["pass"]
    assert two.page.get_by_text("answered in another tab").is_visible()
    two.press("2")
    where = two.question()
    one.enter("cleo")
    assert one.question() == where
    assert [value for value, _ in answers_of(db, "cleo")] == ["pass", "fail"]
    one.close()
    two.close()
