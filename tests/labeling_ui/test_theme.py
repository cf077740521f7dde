"""The colours can be read, are the same in reports and apps, and reach Streamlit and the style sheet."""

from __future__ import annotations

import re
from dataclasses import asdict

import pytest
from streamlit import config  # noqa: TID251 -- the apps' tests look at their library

from labeling_ui.theme import DARK, LIGHT, Palette, streamlit_theme, style_sheet
from tests.labeling_ui.colours import contrast
from tests.source_tree import ROOT

MODES = pytest.mark.parametrize("mode", [LIGHT, DARK], ids=["light", "dark"])
TEXTS = ("ink", "ink2", "ink3", "accent", "admit", "insufficient", "reject")
GROUNDS = ("paper", "surface", "sunk")
READABLE = 4.5
"""WCAG 2.2, 1.4.3, level AA."""


def test_contrast_is_computed_as_the_standard_says() -> None:
    """Black on white is 21, a colour on itself 1, and #767676 on white the known 4.54."""
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#3B5BDB", "#3B5BDB") == pytest.approx(1)
    assert contrast("#767676", "#FFFFFF") == pytest.approx(4.54, abs=0.005)


@MODES
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("text", TEXTS)
def test_every_text_colour_can_be_read_on_every_ground(mode: Palette, text: str, ground: str) -> None:
    """Each colour of words reaches 4.5 : 1 wherever words stand."""
    assert contrast(getattr(mode, text), getattr(mode, ground)) >= READABLE


@MODES
def test_words_on_the_fill_can_be_read(mode: Palette) -> None:
    """A primary button's words reach 4.5 : 1 on it."""
    assert contrast(mode.on_fill, mode.fill) >= READABLE


@MODES
@pytest.mark.parametrize("ground", ["paper", "surface"])
def test_words_that_streamlit_fades_can_be_read(mode: Palette, ground: str) -> None:
    """Captions and the hints of shortcuts are ink at 60 %: still 4.5 : 1."""
    assert contrast(mode.ink, getattr(mode, ground), opacity=0.6) >= READABLE


@MODES
@pytest.mark.parametrize("ground", ["paper", "surface"])
def test_borders_of_controls_and_quoted_text_can_be_seen(mode: Palette, ground: str) -> None:
    """A border that says where a control is reaches 3 : 1 (WCAG 2.2, 1.4.11)."""
    for line in (mode.rule_strong, mode.accent):
        assert contrast(line, getattr(mode, ground)) >= 3


def declared(sheet: str) -> list[dict[str, str]]:
    """The variables of each block of a style sheet that declares any, hexadecimal colours only."""
    blocks = re.findall(r"\{([^{}]*--paper:[^{}]*)\}", sheet)
    return [dict(re.findall(r"--(\w+):(#[0-9A-Fa-f]{6})", block)) for block in blocks]


def test_reports_and_apps_have_the_same_colours() -> None:
    """The report's style sheet names the same colours for the same words, in both modes."""
    sheet = (ROOT / "calibration" / "rendering" / "templates" / "report.css").read_text(encoding="utf-8")
    blocks = declared(sheet)
    for palette, block in zip((LIGHT, DARK), blocks, strict=False):
        ours = {name.replace("rule_strong", "ruleS"): colour for name, colour in asdict(palette).items()}
        shared = ours.keys() & block.keys()
        assert {"paper", "ink", "accent", "admit", "reject"} <= shared
        assert {name: ours[name] for name in shared} == {name: block[name] for name in shared}


def test_streamlit_knows_every_option_of_the_theme() -> None:
    """A renamed option would leave the default look without a word."""
    assert [name for name in streamlit_theme() if name not in config._config_options_template] == []


def test_colours_stand_once() -> None:
    """The style sheet file names no colour of its own: all come from the tokens."""
    file = (ROOT / "labeling_ui" / "style.css").read_text(encoding="utf-8")
    assert re.findall(r"(?<!%23)#[0-9A-Fa-f]{3,8}\b", re.sub(r'url\("[^"]*"\)', "", file)) == []
    used = set(re.findall(r"var\(--vd-([\w-]+)\)", file)) - {"mono"}
    assert used <= {name.replace("_", "-") for name in asdict(LIGHT)}
    assert all(colour in style_sheet() for palette in (LIGHT, DARK) for colour in asdict(palette).values())
