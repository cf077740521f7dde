"""The visual language as tokens, in one place: colours of both modes, Streamlit's theme, the style sheet."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one mode, by what they are for."""

    paper: str
    """The page."""
    surface: str
    """Criterion card and verdict bar."""
    sunk: str
    """Progress track, heads of tables, code."""
    ink: str
    ink2: str
    """Secondary text."""
    ink3: str
    """Placeholders; never lighter."""
    rule: str
    """Hairlines."""
    rule_strong: str
    """Borders of controls and of quoted text: 3 : 1 on paper."""
    accent: str
    """Links, focus, the rule beside text under judgment."""
    fill: str
    """Primary button and progress."""
    on_fill: str
    admit: str
    """Mark and word of a pass."""
    insufficient: str
    """Mark and word of cannot decide, warnings, chips of invisible characters."""
    reject: str
    """Mark and word of a fail."""


LIGHT: Final = Palette(
    paper="#FBFAF8",
    surface="#FFFFFF",
    sunk="#F3F1EC",
    ink="#1C1917",
    ink2="#57534E",
    ink3="#6A655F",
    rule="#DDD8D0",
    rule_strong="#8F8880",
    accent="#3B5BDB",
    fill="#3B5BDB",
    on_fill="#FFFFFF",
    admit="#0F6B4C",
    insufficient="#7A4F00",
    reject="#A8261A",
)
DARK: Final = Palette(
    paper="#171614",
    surface="#1F1E1B",
    sunk="#262420",
    ink="#EFECE6",
    ink2="#BDB7AE",
    ink3="#A39D94",
    rule="#3A3733",
    rule_strong="#7F7971",
    accent="#9DB0FF",
    fill="#4C63D2",
    on_fill="#FFFFFF",
    admit="#4CC38A",
    insufficient="#E2B04A",
    reject="#FF8577",
)
SANS: Final = (
    '-apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Liberation Sans", '
    "system-ui, sans-serif"
)
MONO: Final = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace'
_SHEET = Path(__file__).with_name("style.css")


def _mode(palette: Palette) -> dict[str, Any]:
    return {
        "primaryColor": palette.fill,
        "backgroundColor": palette.paper,
        "secondaryBackgroundColor": palette.surface,
        "textColor": palette.ink,
        "linkColor": palette.accent,
        "borderColor": palette.rule_strong,
        "dataframeBorderColor": palette.rule,
        "dataframeHeaderBackgroundColor": palette.sunk,
        "greenTextColor": palette.admit,
        "yellowTextColor": palette.insufficient,
        "redTextColor": palette.reject,
        "chartCategoricalColors": [palette.ink, palette.ink2, palette.rule_strong, palette.accent],
    }


def streamlit_theme() -> dict[str, Any]:
    """Streamlit's options of the theme, both modes; the browser's preference chooses between them."""
    common = {
        "font": SANS,
        "codeFont": MONO,
        "baseFontSize": 15,
        "headingFontSizes": ["20px", "17px", "15px", "15px", "15px", "15px"],
        "headingFontWeights": [600, 600, 600, 600, 600, 600],
        "baseRadius": "8px",
        "buttonRadius": "8px",
        "showWidgetBorder": True,
        "paddingTop": "4.25rem",
    }
    theme: dict[str, Any] = {f"theme.{name}": value for name, value in common.items()}
    for mode, palette in (("light", LIGHT), ("dark", DARK)):
        theme |= {f"theme.{mode}.{name}": value for name, value in _mode(palette).items()}
    return theme


def _variables(values: dict[str, str]) -> str:
    return "".join(f"--vd-{name.replace('_', '-')}:{value};" for name, value in values.items())


@cache
def style_sheet() -> str:
    """The style sheet of both apps.

    Colours follow the mode that Streamlit shows (`light-dark`); a browser that does not know it follows
    the preference of the system, which is what Streamlit starts with.
    """
    light, dark = asdict(LIGHT), asdict(DARK)
    both = {name: f"light-dark({light[name]},{dark[name]})" for name in light}
    return (
        f":root{{{_variables(light)}--vd-mono:{MONO}}}"
        f"@media (prefers-color-scheme:dark){{:root{{{_variables(dark)}}}}}"
        f"@supports (color:light-dark(#000,#fff)){{:root{{{_variables(both)}}}}}"
        + _SHEET.read_text(encoding="utf-8")
    )
