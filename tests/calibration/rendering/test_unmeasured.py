"""No failing answer is counted: the report says why, and what would give some."""

from __future__ import annotations

import pytest

from calibration.admission import decide
from calibration.evidence import CalibrationReport, Comparison, EvidenceGrade, Examination, ReportScope
from calibration.policy import far_only
from calibration.rendering.next_step import next_step
from calibration.rendering.numbers import NBSP, NNBSP
from calibration.rendering.reading import Readings
from calibration.rendering.reasons import reasons
from calibration.rendering.sentences import headline
from calibration.report import build_report
from calibration.report.supplement import Supplement
from tests.calibration.rendering.examples import Evidence, cases_of, examine, preferences

DISPUTED = Evidence(fail=0, good=150, unresolved=50)


def plain(text: str) -> str:
    """The text with plain spaces."""
    return text.replace(NNBSP, " ").replace(NBSP, " ")


def audited(judge: str = "judge", *, fail: int = 10) -> Examination:
    """A sample of 100 answers that the judge accepted."""
    policy = far_only(0.10)
    report = build_report(
        cases_of(Evidence(fail=fail, accepted_fail=fail, good=100 - fail)),
        scope=ReportScope(judge=judge, criterion="correct"),
        policy=policy,
        supplement=Supplement(accepts_only=True),
    )
    return Examination(report=report, decision=decide(report, policy))


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (Evidence(fail=0, good=0, unresolved=200), "200 of 200 answers have no agreed label"),
        (DISPUTED, "50 of 200 answers have no agreed label"),
        (Evidence(fail=0, good=9, unresolved=1), "1 of 10 answers has no agreed label"),
    ],
)
def test_missing_agreement_is_not_called_passing(evidence: Evidence, words: str) -> None:
    """Where labels are not agreed nobody is said to have failed none: the first line counts them."""
    said = plain(headline(examine(evidence)))
    assert said == f"No answer has an agreed label that fails it: {words}; your limit is 10 %."


def test_labels_are_to_be_resolved_before_answers_are_collected() -> None:
    """The labels that exist come first, in the last line and in what would change the outcome."""
    found = reasons(Readings.of(examine(DISPUTED)))
    step = (
        "esolve the labels: have the 50 answers without an agreed label adjudicated or labelled by enough "
        "agreeing raters, then examine again."
    )
    assert plain(next_step(examine(DISPUTED))).startswith(f"Next: r{step} Examining again is a further look")
    assert plain(found.change[0]) == f"R{step}"
    assert found.bound[0] == (
        "No answer has an agreed label that fails it, so there is nothing to measure false acceptance on."
    )


def test_sample_of_accepted_answers_shows_no_false_acceptance() -> None:
    """An audit of acceptances says how many accepted answers fail, and that no FAR follows."""
    assert plain(headline(audited())) == (
        "The answers were sampled from what the judge accepted, so nothing shows how often it accepts a "
        "failure; of 100 accepted 10 fail; your limit is 10 %."
    )
    assert "; of 100 accepted 1 fails; " in headline(audited(fail=1))
    assert next_step(audited()).startswith(
        "Next: have people label answers of every kind, not only those that the judge accepted. "
    )
    assert reasons(Readings.of(audited())).bound[0] == (
        "Only answers that the judge accepted were sampled: false acceptance cannot be measured on them."
    )


def test_several_judges_share_the_reason() -> None:
    """Several judges: the same reason, once."""
    disputed = Comparison(examinations=(examine(DISPUTED, judge="a"), examine(DISPUTED, judge="b")))
    assert "50 of 200 answers have no agreed label; your limit" in plain(headline(disputed))
    audits = Comparison(examinations=(audited("a"), audited("b")))
    assert headline(audits).startswith("The answers were sampled from what the judges accepted, so nothing")


@pytest.mark.parametrize(
    ("grade", "who"),
    [
        (EvidenceGrade.MODEL, "The model or code"),
        (EvidenceGrade.CONSTRUCTED, "The constructed labels"),
        (EvidenceGrade.ONE_RATER, "People"),
    ],
)
def test_agreed_labels_that_pass_everything_are_said_to(grade: EvidenceGrade, who: str) -> None:
    """Only where every answer has an agreed label is it said that none was failed, and by whom."""
    found = examine(Evidence(fail=0, good=60))
    report: CalibrationReport = found.report.model_copy(update={"evidence_grade": grade})
    said = headline(Examination(report=report, decision=found.decision))
    assert said.startswith(f"{who} failed none of 60 answers, so nothing shows how often the judge accepts")


def test_pairs_without_agreement_are_counted() -> None:
    """Pairs: the first line and the last line speak of pairs."""
    disputed = preferences(Evidence(fail=0, good=0, unresolved=40))
    assert plain(headline(disputed)) == (
        "No pair has an agreed preferred side: 40 of 40 pairs have no agreed label; your limit is 10 %."
    )
    assert next_step(disputed).startswith("Next: resolve the labels: have the 40 pairs without an agreed")
    ties = preferences(Evidence(fail=0, good=40))
    assert plain(headline(ties)) == "People preferred a side of none of 40 pairs; your limit is 10 %."
