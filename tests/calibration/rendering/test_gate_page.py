"""The gate's page: lines told apart by their dashes, the limit, the same in numbers, nothing from outside."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from calibration.rendering.gate_page import MOST_CURVES, Curve, render_gate
from calibration.rendering.numbers import NNBSP

FARS = (0.0, 0.05, 0.1, 0.15)


def curve(name: str, *chances: float) -> Curve:
    """A curve over the four FARs."""
    return Curve(name, tuple(zip(FARS, chances, strict=True)), tuple(f"{100 * c:g} %" for c in chances))


def page(*curves: Curve, limit: float = 0.1, made_at: datetime | None = None) -> str:
    """The page of some curves."""
    return render_gate(
        curves,
        true_fars=FARS,
        limit=limit,
        sentences=["A judge at the limit is admitted 1 % of the time.", "Another sentence."],
        notes=["Exact: nothing simulated."],
        made_at=made_at,
    )


TWO = (curve("80 failures", 1, 0.25, 0.01, 0), curve("150 failures", 1, 0.5, 0.014, 0))


def test_every_number_stands_in_the_table() -> None:
    """A line for each FAR, the limit named and bold, a column for each curve, signs beside their numbers."""
    found = page(*TWO)
    assert f"<b>10{NNBSP}%, the limit</b>" in found
    assert found.count("<tr>") == 1 + len(FARS)
    for cell in ("25", "50", "1.4"):
        assert f'<td class="num">{cell}{NNBSP}%</td>' in found
    assert "80 failures</th>" in found
    assert f"admitted 1{NNBSP}% of the time" in found


def test_lines_lie_where_their_numbers_are() -> None:
    """From 0 to 15 % in thirds: (5 %, .25) is a third across and three quarters down."""
    found = page(*TWO)
    paths = re.findall(r' d="(M[^"]+)"', found)
    assert paths[0] == "M0.0 0.0L333.3 750.0L666.7 990.0L1000.0 1000.0"
    assert len(paths) == 2
    assert '<line class="lim" x1="66.67%"' in found


def test_lines_are_told_apart_without_colour() -> None:
    """Six lines have six dashes; who cannot see them reads the numbers."""
    names = [f"{number} failures" for number in range(MOST_CURVES)]
    found = page(*(curve(name, 1, 0.5, 0.01, 0) for name in names))
    dashes = re.findall(r'<path class="ci"[^>]*stroke-dasharray="([^"]+)"', found)
    assert len(set(dashes)) == MOST_CURVES
    label = re.search(r'role="img" aria-label="([^"]+)"', found)
    assert label is not None
    assert all(f"{name}: admitted 100 %, 50 %, 1 %, 0 %" in label[1] for name in names)


@pytest.mark.parametrize("limit", [0.001, 0.02, 0.139, 0.5, 0.9])
def test_the_limit_lies_inside_the_picture(limit: float) -> None:
    """Whatever the limit, its line is on the scale and the scale has few steps."""
    fars = (0.0, limit)
    found = render_gate(
        [Curve("50 failures", ((0.0, 1.0), (limit, 0.01)), ("100 %", "1 %"))],
        true_fars=fars,
        limit=limit,
        sentences=["One sentence."],
        notes=[],
        made_at=None,
    )
    place = re.search(r'<line class="lim" x1="([\d.]+)%"', found)
    assert place is not None
    assert 40 < float(place[1]) < 100


def test_nothing_is_loaded_and_nothing_runs() -> None:
    """One file with one allowed style sheet; names from a command line are escaped and made visible."""
    found = page(curve('<img src="http://x">\u202e', 1, 0.5, 0.01, 0))
    assert "default-src &#39;none&#39;" in found
    assert "<img" not in found
    assert "‹U+202E›" in found
    assert "<script" not in found
    assert not re.search(r'(?:src|href)="http', found)


def test_when_it_was_made() -> None:
    """The time is printed where it is known."""
    assert "Made " not in page(*TWO)
    assert "Made 2026-11-30 09:05 UTC" in page(*TWO, made_at=datetime(2026, 11, 30, 9, 5, tzinfo=UTC))


@pytest.mark.parametrize("count", [0, MOST_CURVES + 1])
def test_too_few_and_too_many_curves(count: int) -> None:
    """No curve, and more than can be told apart, are an error."""
    with pytest.raises(ValueError, match=f"{count} curves; the picture tells 1 to {MOST_CURVES} apart"):
        page(*(curve(f"{number}", 1, 0.5, 0.01, 0) for number in range(count)))
