"""The review app in a real browser: three outcomes told apart at a glance, in both modes and narrow."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from calibration.store.schema import open_store
from tests.browser.hostile_world import hostile_world
from tests.browser.serving import Elsewhere, Served, Tab, serving
from tests.labeling_ui.review.judged import judged
from tests.labeling_ui.review.test_hostile_pages import measured

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

PAGES = ("judges", "disagreements", "rubrics", "decisions", "audit")
MEASURE = """() => {
  const rows = [...document.querySelectorAll('.vd-cmp tbody tr')].slice(0, 3);
  const limit = rows[0].querySelector('.vd-lim').getBoundingClientRect();
  return rows.map(row => {
    const mark = row.querySelector('.vd-o'), line = row.querySelector('.vd-ci').getBoundingClientRect();
    const word = row.querySelector('.vd-word');
    return {
      mask: getComputedStyle(mark).maskImage || getComputedStyle(mark).webkitMaskImage,
      size: mark.getBoundingClientRect().width,
      word: word.textContent,
      judge: row.querySelector('b').textContent,
      left: line.left - limit.left, right: line.right - limit.left,
      seen: row.getBoundingClientRect().bottom <= innerHeight,
    };
  });
}"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> Iterator[Served]:
    """The review app on the three judges of the exercise."""
    db = shutil.copy(migrated_sqlite, tmp_path_factory.mktemp("review") / "review.db")
    store = open_store(db)
    with store.write() as session:
        judged(session)
    store.close()
    with serving("review", db=db, name="R. Ito") as app:
        yield app


@pytest.fixture(
    params=[
        ("light", 1440),
        pytest.param(("dark", 1440), marks=pytest.mark.slow),
        pytest.param(("light", 768), marks=pytest.mark.slow),
    ],
    ids=lambda it: f"{it[0]}-{it[1]}",
)
def any_tab(request: pytest.FixtureRequest, browser: Browser, served: Served) -> Iterator[Tab]:
    """A tab in one mode and width."""
    scheme, width = request.param
    opened = Tab(browser, served, width=width, scheme=scheme)
    yield opened
    opened.close()


@pytest.fixture(
    params=[pytest.param(("light", 1440), marks=pytest.mark.slow), ("dark", 768)],
    ids=lambda it: f"{it[0]}-{it[1]}",
)
def tab(request: pytest.FixtureRequest, browser: Browser, served: Served) -> Iterator[Tab]:
    """A tab in which every page is opened; the narrow one is where a page would first run out."""
    scheme, width = request.param
    opened = Tab(browser, served, width=width, scheme=scheme)
    yield opened
    opened.close()


def test_three_outcomes_are_told_apart(any_tab: Tab, elsewhere: Elsewhere, tmp_path: Path) -> None:
    """1/80, 4/80 and 16/80 by mark, word and place against the limit, on the first screen."""
    tab = any_tab
    page = tab.open("/judges")
    page.wait_for_selector(".vd-cmp .vd-ci")
    rows: list[dict[str, Any]] = page.evaluate(MEASURE)
    assert [(row["judge"], row["word"]) for row in rows] == [
        ("judge-a", "admit"),
        ("judge-c", "insufficient evidence"),
        ("judge-b", "reject"),
    ]
    assert len({row["mask"] for row in rows}) == 3
    assert all(row["size"] == 18 for row in rows)
    within, across, beyond = rows
    assert within["right"] < 0
    assert across["left"] < 0 < across["right"]
    assert beyond["left"] > 0
    assert all(row["seen"] for row in rows)
    page.screenshot(path=tmp_path / "judges.png")
    assert tab.wide() <= page.viewport_size["width"]  # type: ignore[index]
    assert elsewhere.requests == []


def test_every_page_fits_and_asks_for_nothing(tab: Tab, elsewhere: Elsewhere) -> None:
    """No page scrolls sideways, none says that something went wrong, none asks anybody else."""
    for name in PAGES:
        page = tab.open(f"/{name}")
        page.wait_for_selector("h1")
        assert tab.wide() <= page.viewport_size["width"], name  # type: ignore[index]
        assert "Something went wrong" not in (page.locator("[data-testid=stMain]").text_content() or "")
    assert tab.strangers == []
    assert elsewhere.requests == []


@pytest.mark.slow
def test_hostile_texts_stay_words(browser: Browser, elsewhere: Elsewhere, tmp_path: Path) -> None:
    """Through every page, an opened item included: nothing runs, and nobody is asked."""
    made = hostile_world(tmp_path, elsewhere.address)
    measured(made)
    with serving("review", db=made.db, name="lead") as app:
        tab = Tab(browser, app)
        for name in PAGES:
            page = tab.open(f"/{name}")
            page.wait_for_selector("h1")
            if name == "disagreements":
                page.get_by_role("button", name="Open the items").click()
                page.wait_for_selector("text=False accepts")
                tab.settled()
            assert not tab.ran()
        assert tab.strangers == []
        tab.close()
    assert elsewhere.requests == []
