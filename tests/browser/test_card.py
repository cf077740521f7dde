"""The admission card in a real browser: one printed page, nothing asked for, no scrolling sideways."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calibration.rendering.card import render_card
from tests.calibration.rendering.examples import full_policy
from tests.calibration.rendering.test_card import RECORD, SIGNED

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

LAPSES = ("the model or its fingerprint, prompt, rubric, evidence fields or population changes",)


def test_it_prints_on_one_page_and_asks_for_nothing(browser: Browser, tmp_path: Path) -> None:
    """The longest policy that ships fits one sheet; on a narrow screen nothing runs out of it."""
    file = tmp_path / "card.html"
    record = replace(RECORD, lapses_when=LAPSES)
    file.write_text(render_card(full_policy(), record, at=SIGNED, made_at=SIGNED), "utf-8")
    requests: list[str] = []
    page = browser.new_page(viewport={"width": 768, "height": 900})
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    printed = page.pdf(prefer_css_page_size=True, print_background=True)
    page.close()
    assert requests == [file.as_uri()]
    assert wide <= 0
    assert len(re.findall(rb"/Type\s*/Page[^s]", printed)) == 1
