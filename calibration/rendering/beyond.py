"""Sentences on what goes beyond the examined set: the whole rubric, groups, deployment, rater error."""

from __future__ import annotations

from collections.abc import Iterator

from calibration.evidence import (
    AdjudicationFigure,
    CalibrationReport,
    CorrectedFigure,
    GroupFigure,
    RaterErrorFigure,
)
from calibration.rendering.numbers import (
    fixed,
    interval_decimals,
    limit_text,
    percent,
    rate_text,
    whole,
)
from calibration.rendering.reading import Reading, Readings
from calibration.rendering.text import said_of, sentence

_STANDING = {
    "within_limit": "within the limit",
    "above_limit": "above the limit",
    "undecided": "undecided",
    "not_assessed": "not assessed: too few",
}


def beyond_sentences(readings: Readings) -> tuple[str, ...]:
    """One sentence for each figure that goes beyond the set; none where nothing was asked for."""
    named = len(readings.all) > 1
    found = [
        said_of(readings.name(reading), text) if named else sentence(text)
        for reading in readings.all
        for text in _of_report(reading.report)
    ]
    whole_rubric = [
        sentence(_whole(Reading.of(examination), examination.report.judge))
        for examination in readings.comparison.whole_rubric
    ]
    return (*whole_rubric, *found)


def _whole(reading: Reading, judge: str) -> str:
    rate = reading.report.headline
    if not rate.n:
        return f"all criteria together, {judge}: no answer fails, so nothing is measured"
    return (
        f"all criteria together, {judge}: of {whole(rate.n)} answers that fail any of them it accepted "
        f"{whole(rate.x)}, {reading.far.estimate}; up to {reading.gate_upper} fits this sample"
    )


def _of_report(report: CalibrationReport) -> Iterator[str]:
    for kind, groups in (("failure mode", report.failure_modes), ("severity", report.severities)):
        for group in groups:
            yield _group(kind, group)
    if report.adjudication is not None:
        yield _adjudication(report.adjudication)
    if report.corrected is not None:
        yield _corrected(report.corrected)
    again = report.restated
    if again is not None and again.estimate is not None:
        share = _estimate(again.estimate, again.lower, again.upper)
        yield (
            f"where {limit_text(again.prevalence)} of all answers fail, {share} of what it accepts would be "
            "failures"
        )
    if report.rater_error is not None:
        yield _rater_error(report.rater_error)


def _group(kind: str, group: GroupFigure) -> str:
    far = rate_text(group.far.x, group.far.n, lower=group.far.lower, upper=group.far.upper, limit=group.limit)
    standing = f", {_STANDING[group.status]}" if group.status else ""
    return (
        f"{kind} {group.group}: {far.count} failing answers accepted, {far.estimate} {far.interval}{standing}"
    )


def _adjudication(found: AdjudicationFigure) -> str:
    drawn = f"{whole(found.adjudicated)} of {whole(found.drawn)} drawn cases adjudicated"
    if found.estimate is None or found.lower is None or found.upper is None:
        return f"{drawn}; no FAR against the adjudicated truth: {found.undefined}"
    share = _estimate(found.estimate, found.lower, found.upper)
    return (
        f"{drawn}, drawn from accepted and not accepted answers alike; re-weighted to all "
        f"{whole(found.cases)}, its FAR against the adjudicated truth is {share}"
    )


def _corrected(found: CorrectedFigure) -> str:
    seen = f"of {whole(found.n)} answers in use it accepted {whole(found.accepted)}"
    if found.estimate is None or found.lower is None or found.upper is None:
        return f"{seen}; the pass rate cannot be corrected: {found.undefined}"
    share = _estimate(found.estimate, found.lower, found.upper)
    return f"{seen}; corrected for its errors {share} pass (Rogan-Gladen)"


def _rater_error(found: RaterErrorFigure) -> str:
    raters = (
        f"if raters fail {limit_text(found.detects_fail)} of the failures and pass "
        f"{limit_text(found.passes_pass)} of the good answers"
    )
    if found.far is None:
        return f"{raters}, the FAR against the truth is not known: {found.undefined}"
    perfect = found.perfect_judge_shows
    shows = f"; a perfect judge would show {percent(fixed(perfect * 100, 1))}" if perfect is not None else ""
    return f"{raters}, its FAR against the truth is about {percent(fixed(found.far * 100, 1))}{shows}"


def _estimate(value: float, lower: float, upper: float) -> str:
    """A share with its interval, in percent."""
    decimals = interval_decimals(lower * 100, upper * 100)
    low, high = (fixed(end * 100, decimals) for end in (lower, upper))
    return f"{percent(fixed(value * 100, decimals))} [{low}, {high}]"
