"""The page of a gate's curves: a picture, the same in numbers, and nothing that loads or runs."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from calibration.rendering.gate_page import MOST_CURVES, Curve, render_gate
from calibration.rendering.numbers import NNBSP

FARS = (0.02, 0.10, 0.20)
EVIL = "<script>alert(1)</script>\u202e"


def curve(name: str) -> Curve:
    """A gate that admits always at no FAR, half the time at half the limit, never at twice the limit."""
    return Curve(name, ((0.0, 1.0), (0.05, 0.5), (0.2, 0.0)), ("90 %", "2.5 %", "0 %"))


def page(*curves: Curve, made_at: datetime | None = None, headline: str = "It admits 90 % at 2 %.") -> str:
    """The page under a limit of 10 %."""
    return render_gate(
        curves,
        true_fars=FARS,
        limit=0.10,
        sentences=(headline, "At the limit it admits 2.5 %."),
        notes=("Exact, no simulation.",),
        made_at=made_at,
    )


def text_of(html: str) -> str:
    """The words of the body, with single plain spaces."""
    body = html.partition("<body>")[2]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body).replace(NNBSP, " "))


def test_table_names_the_limit_and_every_curve_at_every_rate() -> None:
    """Each true FAR has its line with one cell a curve; the limit's line says that it is the limit."""
    html = page(curve("50 answers"), curve("100 answers"))
    table = re.findall(r"<table>.*?</table>", html, re.DOTALL)
    assert len(table) == 1
    lines = [text_of("<body>" + line).split() for line in re.findall(r"<tr>.*?</tr>", table[0], re.DOTALL)]
    assert [" ".join(line) for line in lines] == [
        "True FAR 50 answers 100 answers",
        "2 % 90 % 90 %",
        "10 %, the limit 2.5 % 2.5 %",
        "20 % 0 % 0 %",
    ]


def test_page_says_its_sentences_and_notes() -> None:
    """The first sentence is the heading, the others and the notes stand on the page."""
    html = page(curve("one"))
    heading = re.findall(r"<h1>(.*?)</h1>", html)
    assert [text.replace(NNBSP, " ") for text in heading] == ["It admits 90 % at 2 %."]
    assert "At the limit it admits 2.5 %." in text_of(html)
    assert "Exact, no simulation." in text_of(html)


def test_picture_has_words_for_who_cannot_see_it() -> None:
    """The image's label gives each curve's numbers."""
    labels = re.findall(r'role="img" aria-label="(.*?)"', page(curve("one"), curve("two")))
    assert [label.replace(NNBSP, " ").strip() for label in labels] == [
        "one: admitted 90 %, 2.5 %, 0 %. two: admitted 90 %, 2.5 %, 0 %."
    ]


def test_words_stay_words_and_nothing_loads() -> None:
    """Names and sentences are escaped, what cannot be seen is named, and no address is on the page."""
    html = page(curve(EVIL), headline=EVIL)
    assert "<script" not in html
    assert "\u202e" not in html
    assert "‹U+202E›" in html
    assert re.findall(r"https?:|url\(|@import|javascript:", html) == []


def test_time_is_printed_in_utc_or_not_at_all() -> None:
    """The page reads no clock: the time is an argument, and none prints none."""
    made_at = datetime(2026, 11, 30, 10, 30, tzinfo=UTC)
    assert "2026-11-30 10:30 UTC" in text_of(page(curve("one"), made_at=made_at))
    assert "UTC" not in text_of(page(curve("one")))


@pytest.mark.parametrize("number", [0, MOST_CURVES + 1])
def test_only_as_many_curves_as_can_be_told_apart(number: int) -> None:
    """No curve, or more than there are dashes, is refused with both numbers."""
    with pytest.raises(ValueError, match=f"{number} curves; the picture tells 1 to {MOST_CURVES} apart"):
        page(*[curve(str(i)) for i in range(number)])


def test_every_curve_has_dashes_of_its_own() -> None:
    """Curves are told apart without colour."""
    html = page(*[curve(str(i)) for i in range(MOST_CURVES)])
    drawn = re.findall(r'<path [^>]*stroke-dasharray="([^"]+)"', html)
    assert len(drawn) == len(set(drawn)) == MOST_CURVES
