"""Rating by keyboard in a real browser: nothing is answered that nobody has seen, nothing is lost."""

from __future__ import annotations

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

RATERS = tuple(f"r{number}" for number in range(12))
UNSEEN = 0.25
"""Seconds within which nobody can have read what is on the screen."""


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session in which every test has a rater of its own."""
    chromium()
    return session_for(tmp_path_factory.mktemp("rating") / "rating.db", RATERS, items=30)


@pytest.fixture(scope="module")
def served(db: Path) -> Iterator[Served]:
    """The rating app on that session."""
    with serving("rate", db=db) as app:
        yield app


@pytest.fixture
def tab(browser: Browser, served: Served) -> Iterator[RaterTab]:
    """A tab that complained of nothing and asked nobody else for anything."""
    opened = RaterTab(browser, served)
    yield opened
    opened.close()
    assert opened.strangers == []
    assert opened.complaints == []


def test_one_key_is_one_answer(tab: RaterTab, db: Path) -> None:
    """A name, then keys only: each verdict key stores one answer and brings the next item."""
    tab.enter("r0")
    seen = [tab.question()]
    for key in ("1", "2", "1"):
        tab.press(key)
        seen.append(tab.question())
    tab.press("3", "4")
    assert [value for value, _ in answers_of(db, "r0")] == ["pass", "fail", "pass", "unknown"]
    assert len(set(seen)) == 4
    tab.press("u")
    assert tab.question() == seen[3]
    tab.press("ArrowLeft")
    assert tab.question() == seen[2]
    tab.press("ArrowRight")
    assert tab.question() == seen[3]


@pytest.mark.parametrize(
    ("rater", "times", "apart", "guarded"),
    [("r1", 2, 0, True), ("r2", 10, 40, True), ("r3", 2, 0, False), ("r4", 10, 40, False)],
    ids=["double", "burst", "double, server only", "burst, server only"],
)
def test_hurried_presses_answer_nothing_unseen(
    tab: RaterTab, db: Path, rater: str, times: int, apart: int, guarded: bool
) -> None:
    """Of presses without looking one counts; without the page's own guard, none sooner than it may."""
    tab.enter(rater)
    if not guarded:
        tab.unguard()
    tab.hammer("1", times, apart)
    given = answers_of(db, rater)
    assert given
    assert all(seconds >= UNSEEN for _, seconds in given)
    if guarded:
        assert len(given) == 1
    tab.press("2")
    assert answers_of(db, rater)[-1][0] == "fail"


def test_held_key_is_one_answer(tab: RaterTab, db: Path) -> None:
    """A key that is held down repeats; the repeats are no answers."""
    tab.enter("r5")
    for _ in range(25):
        tab.page.keyboard.down("1")
        tab.page.wait_for_timeout(30)
    tab.page.keyboard.up("1")
    tab.quiet()
    assert len(answers_of(db, "r5")) == 1
    tab.press("1")
    assert len(answers_of(db, "r5")) == 2


def test_fast_reason_is_never_a_verdict(tab: RaterTab, db: Path) -> None:
    """`3` and `1` at once: the `1` was meant for the reason, so it is no pass."""
    tab.enter("r6")
    tab.page.keyboard.press("3")
    tab.page.keyboard.press("1")
    tab.quiet()
    assert answers_of(db, "r6") == []
    tab.press("1")
    assert [value for value, _ in answers_of(db, "r6")] == ["unknown"]


def test_typing_in_the_note_answers_nothing(tab: RaterTab, db: Path) -> None:
    """N goes into the note, what is typed there is text, Esc leaves it, and the note goes with the answer."""
    tab.enter("r7")
    tab.page.keyboard.press("n")
    assert tab.focused().startswith("TEXTAREA")
    tab.page.keyboard.type("1 2 3 u e h s m 4")
    tab.page.keyboard.press("Escape")
    assert tab.focused().startswith("BODY")
    assert answers_of(db, "r7") == []
    tab.press("2")
    note = rows(db, "SELECT p.text FROM item_payload p JOIN assessment a ON a.note_digest = p.digest")
    assert "1 2 3 u e h s m 4" in str(note)


def test_sentence_is_quoted_into_the_note(tab: RaterTab, db: Path) -> None:
    """S walks through the sentences of the text under judgment, M copies one, and its place is stored."""
    tab.enter("r8")
    for key in ("s", "s", "s", "Shift+S", "m"):
        tab.page.keyboard.press(key)
    note = tab.page.locator("textarea").input_value()
    assert note.startswith("“You can return it within ")
    tab.press("2")
    ((spans,),) = rows(
        db,
        "SELECT c.spans FROM assessment_context c JOIN assessment a ON a.digest = c.assessment_digest"
        " WHERE a.rater = 'r8'",
    )
    assert spans.startswith('[["output",')


def test_evidence_folds_and_help_opens(tab: RaterTab, db: Path) -> None:
    """E folds the evidence and stays so at the next item; H shows the keys, Esc hides them."""
    tab.enter("r9")
    policy = tab.page.locator("[data-field=policy] .vd-txt")
    assert policy.is_visible()
    tab.page.keyboard.press("e")
    assert not policy.is_visible()
    assert tab.page.locator("[data-field=output] .vd-txt").is_visible()
    tab.press("1")
    assert not policy.is_visible()
    tab.page.keyboard.press("e")
    assert policy.is_visible()
    card = tab.page.locator("#vd-help")
    assert not card.is_visible()
    tab.page.keyboard.press("h")
    assert card.is_visible()
    tab.page.keyboard.press("Escape")
    assert not card.is_visible()
    assert len(answers_of(db, "r9")) == 1


def test_two_tabs_overwrite_nothing(browser: Browser, served: Served, db: Path) -> None:
    """One rater in two tabs: the first answer stands, the other tab says so and goes on."""
    one, two = RaterTab(browser, served).enter("r10"), RaterTab(browser, served).enter("r10")
    one.press("1")
    two.press("2")
    assert [value for value, _ in answers_of(db, "r10")] == ["pass"]
    assert two.page.get_by_text("answered in another tab").is_visible()
    two.press("2")
    assert [value for value, _ in answers_of(db, "r10")] == ["pass", "fail"]
    one.close()
    two.close()


def test_reload_resumes(tab: RaterTab, db: Path) -> None:
    """Signed in again, the rater is where they were."""
    tab.enter("r11").press("1", "1")
    where = tab.question()
    tab.enter("r11")
    assert tab.question() == where
    assert len(answers_of(db, "r11")) == 2
