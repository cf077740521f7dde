"""The paragraphs that explain each number."""

from __future__ import annotations

from calibration.evidence import Examination
from calibration.rendering.explain import definitions, explanation
from calibration.rendering.reading import Readings
from tests.calibration.rendering import examples
from tests.calibration.rendering.examples import Evidence, examine


def test_gaps_and_claims_close_the_explanation() -> None:
    """After the definitions come what was not assessed, with each reason, and what is not established."""
    shown = examples.rejected()
    gaps, claims = explanation(Readings.of(shown))[-2:]
    assert gaps.startswith("Not assessed: ")
    assert claims.startswith("Not established by this evidence: ")
    assert all(gap.reason in gaps for gap in shown.report.not_assessed)
    assert all(claim in claims for claim in shown.report.not_established)


def test_failing_answers_that_it_accepted_are_named() -> None:
    """The first paragraph names 20 of the accepted failures and says where the rest is."""
    few = explanation(Readings.of(examples.rejected()))[0]
    assert few.startswith("Failing answers that it accepted (16): i00000, i00001, ")
    assert few.endswith(", i00015")
    many = explanation(Readings.of(examine(Evidence(fail=300, accepted_fail=250))))[0]
    assert many.startswith("Failing answers that it accepted (the first 200 of 250): i00000, ")
    assert many.endswith(", i00019 and 180 more in the HTML report and the JSON")


def test_no_paragraph_stands_empty() -> None:
    """A report without gaps and without open claims is explained by its definitions alone."""
    shown = examples.rejected()
    report = shown.report.model_copy(
        update={"not_assessed": (), "not_established": (), "accepted_failures": ()}
    )
    readings = Readings.of(Examination(report=report, decision=shown.decision))
    assert explanation(readings) == tuple(f"{d.term}: {d.text}" for d in definitions(readings))
