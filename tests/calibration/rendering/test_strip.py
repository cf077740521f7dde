"""Scales, strips and their drawing in characters."""

from __future__ import annotations

import pytest

from calibration.evidence import RateFigure
from calibration.rendering.characters import SIGNS, axis, draw
from calibration.rendering.numbers import NNBSP
from calibration.rendering.reading import Readings
from calibration.rendering.strip import fitting_scale, judge_strip, rate_strip, scale_for
from calibration.statistics.proportions import rate
from tests.calibration.rendering import examples
from tests.calibration.rendering.examples import Evidence, examine


def figure(x: int, n: int) -> RateFigure:
    """The record of a rate."""
    return RateFigure.of(rate(x, n))


@pytest.mark.parametrize(
    ("ends", "limit", "top"),
    [([0.07], 0.1, 0.3), ([0.30], 0.1, 0.3), ([0.301], 0.1, 0.4), ([0.004], 0.01, 0.04), ([], None, 1.0),
     ([0.99], 0.1, 1.0), ([0.2], 0.9, 1.0), ([0.003], None, 0.005)],
)  # fmt: skip
def test_scale_holds_the_ends_and_the_limit_well_inside(
    ends: list[float], limit: float | None, top: float
) -> None:
    """The scale is the smallest that reaches every end and two and a half times the limit."""
    assert fitting_scale(ends, limit).top == top


def test_axis_marks_do_not_cover_the_limit() -> None:
    """Labels never overlap: marks beside the limit's label give way, both ends carry the sign."""
    scale = fitting_scale([0.38], 0.1)
    words = axis(scale, 60)
    assert len(words) == 60
    assert words.split() == f"0{NNBSP}% limit 10{NNBSP}% 20 30 40{NNBSP}%".split()
    assert axis(fitting_scale([0.7], 0.01), 30).count("limit") == 1


def test_scale_of_several_judges_is_one() -> None:
    """All judges of a criterion stand on one scale."""
    readings = Readings.of(examples.three_judges()).all
    scale = scale_for(readings)
    strips = [judge_strip(reading, scale) for reading in readings]
    assert [strip.limit for strip in strips if strip] == [0.25] * 3
    assert [strip.beyond for strip in strips if strip] == [False] * 3


def test_places_follow_the_interval_that_the_policy_reads() -> None:
    """With clusters the strip is the clusters' interval, and it ends where the gate's does."""
    reading = Readings.of(examples.clustered()).all[0]
    strip = judge_strip(reading, scale_for([reading]))
    assert strip is not None
    assert strip.worst is None
    assert strip.upper * 0.3 == pytest.approx(reading.report.far_gate.upper)
    assert strip.lower * 0.3 == pytest.approx(reading.report.far_gate.lower)
    assert reading.report.far_gate.upper > reading.report.headline.upper


def test_interval_that_leaves_the_scale_has_an_arrow() -> None:
    """A baseline whose interval runs off the scale ends in an arrow; one that lies beyond is a number."""
    scale = fitting_scale([0.3], 0.1)
    partly = rate_strip(figure(4, 16), scale, words="", hollow=True)  # [10, 49] on 0 to 30
    wholly = rate_strip(figure(80, 80), scale, words="", hollow=True)
    assert partly is not None
    assert wholly is not None
    assert draw(partly, scale, 40, SIGNS).endswith("▸")
    assert "□" in draw(partly, scale, 40, SIGNS)
    assert draw(wholly, scale, 40, SIGNS).endswith("100 % ▸")
    assert "□" not in draw(wholly, scale, 40, SIGNS)


def test_worst_case_too_near_to_be_drawn_leaves_the_end_whole() -> None:
    """The dotted extension is drawn where it has a column of its own; else the interval keeps its end."""
    # 3 of 300 known, 5 of 300 in the worst case: upper ends .029 and .038 on 0 to 30 %
    reading = Readings.of(examine(Evidence(fail=300, accepted_fail=3, open_fail=2))).all[0]
    scale = scale_for([reading])
    strip = judge_strip(reading, scale)
    assert strip is not None
    assert strip.worst is not None
    assert draw(strip, scale, 100, SIGNS).startswith(" ├━█━━━━━━┤┈┈┊ ")
    assert draw(strip, scale, 20, SIGNS).startswith("├█┤ ")


def test_an_interval_of_one_column_is_its_estimate() -> None:
    """In very little room the ends give way to the mark; without a limit none is drawn."""
    strip = rate_strip(figure(1, 4000), fitting_scale([0.9], None), words="", hollow=False)
    assert strip is not None
    assert draw(strip, fitting_scale([0.9], None), 10, SIGNS).strip() == SIGNS.estimate


def test_nothing_is_drawn_without_a_denominator() -> None:
    """No failing answer, no interval."""
    reading = Readings.of(examples.no_failures()).all[0]
    assert judge_strip(reading, scale_for([reading])) is None
    assert rate_strip(figure(0, 0), scale_for([reading]), words="", hollow=True) is None


def test_undecided_report_has_no_deciding_item() -> None:
    """Where nothing was decided nothing bound it."""
    reading = Readings.of(examples.undecided()).all[0]
    assert (reading.deciding, reading.binding, reading.limit) == ((), None, None)
