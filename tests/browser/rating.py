"""A rater at the keyboard of a real browser, and what the store says afterwards."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibration.labeling.plan import SessionPlan
from calibration.labeling.sessions import Opening, open_session
from calibration.store.schema import open_store
from rubrics.item import Item
from tests.browser.serving import Served, Tab
from tests.calibration.labeling import world
from tests.labeling_ui.rating.conftest import plain

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SLOWEST = 20.0
"""Seconds that a page may take before a test gives up; nobody measures by it."""
THINK_MS = 280
"""What a person needs at least to read anything; the page ignores presses before 250 ms."""
CLOCKED = """
window.waits = [];
window.presses = [];
addEventListener('keydown', () => {
  window.presses.push(performance.now());
  window.pressedAt ??= performance.now();
}, true);
new MutationObserver(() => {
  if (window.pressedAt !== undefined) window.waits.push(performance.now() - window.pressedAt);
  window.pressedAt = undefined;
}).observe(document, {subtree: true, attributes: true, attributeFilter: ['data-vd-ready']});
"""
"""Notes in the page when keys are pressed, and the milliseconds from a press to the next screen painted."""
PAUSE_MS = 110
"""Between two presses as the page saw them: whoever presses sooner has not looked (it wants 120 ms)."""


def reply(number: int) -> Item:
    """An item to read: a question, a policy, and a reply of a few sentences."""
    said = (
        f"Thank you for asking about order {number}. You can return it within {10 + number % 20} days of "
        "delivery. Please keep the box. The refund arrives within five working days."
    )
    policy = "Items can be returned within 14 days of delivery. Opened audio products cannot be returned."
    return world.item(number, output=said, evidence={"policy": policy})


def session_for(db: Path, raters: tuple[str, ...], *, items: int = 40, **how: Any) -> Path:
    """A database with an open session in which all raters rate all items."""
    asked = how.pop("asked", None) or plain()
    plan = SessionPlan(raters_per_item=len(raters), repeat_share=0, repeats_at_least=0, practice=0, seed=7)
    store = open_store(db)
    with store.write() as session:
        stored = world.freeze(session, items, asked, how.pop("make", reply))
        opening = Opening(name="november", stored_set=stored, rubric=asked, raters=raters, plan=plan, **how)
        open_session(
            session=session, opening=opening, actor="lead", at=datetime.now(UTC) - timedelta(hours=1)
        )
    store.close()
    return db


def rows(db: Path, query: str) -> list[tuple[Any, ...]]:
    """What the store holds."""
    with closing(sqlite3.connect(db)) as connection:
        return [tuple(row) for row in connection.execute(query)]


def answers_of(db: Path, rater: str) -> list[tuple[str, float]]:
    """Value, and seconds from shown to decided, of each assessment of the rater, oldest first."""
    found = rows(
        db,
        f"SELECT value, shown_at, decided_at FROM assessment WHERE rater = '{rater}' ORDER BY recorded_at",
    )
    moments = [(value, *map(datetime.fromisoformat, times)) for value, *times in found]
    return [(value, (decided - shown).total_seconds()) for value, shown, decided in moments]


class RaterTab(Tab):
    """One tab of a rater."""

    def __init__(self, browser: Browser, served: Served, **how: Any) -> None:
        super().__init__(browser, served, **how)
        self.before = 0
        """Answers that a test leaves out of account."""
        self.page.add_init_script(CLOCKED)

    def enter(self, name: str | None = None, path: str = "/") -> RaterTab:
        """Open the app, and sign in by a name where it asks for one."""
        self.page.goto(f"{self.served.address}{path}")
        before = self.ready(None)
        if name is not None:
            self.page.get_by_label("Name").fill(name)
            self.page.keyboard.press("Enter")
            self.ready(before)
        self.think()
        return self

    def token(self) -> str | None:
        """What is on the screen, once it was painted."""
        return self.page.evaluate("() => document.documentElement.dataset.vdReady ?? null")  # type: ignore[no-any-return]

    def ready(self, before: str | None) -> str:
        """Wait until another screen than `before` was painted."""
        until = time.monotonic() + SLOWEST
        while time.monotonic() < until:
            now = self.token()
            if now is not None and now != before:
                return now
            self.page.wait_for_timeout(15)
        raise AssertionError(f"nothing else came on the screen after {before!r}: {self.complaints}")

    def think(self) -> None:
        """Take the time that reading takes."""
        self.page.wait_for_timeout(THINK_MS)

    def press(self, *keys: str) -> RaterTab:
        """Press keys as a person does: each once the screen has changed and was looked at."""
        for key in keys:
            before = self.token()
            self.page.keyboard.press(key)
            self.ready(before)
            self.think()
        return self

    def turn_to(self, page: str) -> RaterTab:
        """Another page of the app, by the links at the top."""
        before = self.token()
        self.page.get_by_role("link", name=page).click()
        self.ready(before)
        self.think()
        return self

    def hammer(self, key: str, times: int, apart_ms: int) -> int:
        """Press a key again and again without looking, then wait until all is quiet.

        Returns how often the presses came to the page with a pause between them: a busy machine makes some.
        """
        self.page.evaluate("() => { window.presses = []; }")
        for _ in range(times):
            self.page.keyboard.press(key)
            self.page.wait_for_timeout(apart_ms)
        self.quiet()
        pressed = self.page.evaluate("() => window.presses")
        return sum(later - sooner >= PAUSE_MS for sooner, later in pairwise(pressed))

    def quiet(self) -> None:
        """Wait until nothing changes any more: no press under way, no run, the same screen twice."""
        calm = (
            "() => !window.voirdireKeys?.locked"
            " && document.querySelector('.stApp').dataset.testScriptState === 'notRunning'"
        )
        until, last, still = time.monotonic() + SLOWEST, self.token(), 0
        while still < 3 and time.monotonic() < until:
            self.page.wait_for_timeout(250)
            still = still + 1 if self.page.evaluate(calm) and self.token() == last else 0
            last = self.token()

    def unguard(self) -> None:
        """Switch off what the page itself holds back, so that only the server is left to refuse."""
        self.page.evaluate(
            """() => { for (const name of ['onKeyDown', 'onClick'])
            Object.defineProperty(window.voirdireKeys, name, {get: () => () => {}, set: () => {}}); }"""
        )

    def question(self) -> int:
        """Which item is on the screen."""
        shown = self.page.locator("[data-field=input] .vd-txt").inner_text()
        return int(shown.rpartition(" ")[2])

    def focused(self) -> str:
        """What has the focus: its tag, and the words on it."""
        found: str = self.page.evaluate(
            "() => `${document.activeElement.tagName} ${document.activeElement.innerText ?? ''}`.trim()"
        )
        return found

    def waits(self) -> list[float]:
        """Milliseconds from key press to the next screen, of all presses so far."""
        return list(self.page.evaluate("() => window.waits"))
