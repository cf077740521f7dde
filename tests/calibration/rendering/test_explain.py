"""The paragraphs that explain each number."""

from __future__ import annotations

from calibration.evidence import Examination
from calibration.rendering.explain import definitions, explanation
from calibration.rendering.reading import Readings
from tests.calibration.rendering import examples


def test_gaps_and_claims_close_the_explanation() -> None:
    """After the definitions come what was not assessed, with each reason, and what is not established."""
    shown = examples.rejected()
    gaps, claims = explanation(Readings.of(shown))[-2:]
    assert gaps.startswith("Not assessed: ")
    assert claims.startswith("Not established by this evidence: ")
    assert all(gap.reason in gaps for gap in shown.report.not_assessed)
    assert all(claim in claims for claim in shown.report.not_established)


def test_no_paragraph_stands_empty() -> None:
    """A report without gaps and without open claims is explained by its definitions alone."""
    shown = examples.rejected()
    report = shown.report.model_copy(update={"not_assessed": (), "not_established": ()})
    readings = Readings.of(Examination(report=report, decision=shown.decision))
    assert explanation(readings) == tuple(f"{d.term}: {d.text}" for d in definitions(readings))
