"""The whole rubric: accepted only where every criterion is, failed where any reference fails."""

from __future__ import annotations

from dataclasses import replace

from calibration.labels import ReferenceLabel
from calibration.report import build_report
from calibration.report.whole import whole_rubric_cases
from rubrics.verdict import FAIL, PASS, UnknownReason, Verdict, unknown
from tests.calibration.examples import SCOPE, make_cases

TERMS = make_cases({"fail": {"accept": 1, "reject": 49}, "pass": {"accept": 50}})
"""FAR 1/50: items 0 to 49 fail."""
HELPS = [
    replace(c, reference=ReferenceLabel(Verdict.FAIL if i >= 50 else Verdict.PASS, 1), outcome=PASS)
    for i, c in enumerate(TERMS)
]
"""Items 50 to 99 fail, all accepted."""


def test_a_good_judge_of_each_part_may_be_a_bad_judge_of_the_whole() -> None:
    """FAR 1/50 on terms and 50/50 on help make 51 of 100 failing answers accepted as a whole."""
    report = build_report(whole_rubric_cases({"terms": TERMS, "helps": HELPS}), scope=SCOPE)
    assert (report.headline.x, report.headline.n) == (51, 100)
    assert report.counts.reference_pass == 0


def test_an_item_that_a_criterion_lacks_is_missing_there() -> None:
    """Without a verdict on one criterion the whole is open; without a reference it is unresolved."""
    whole = whole_rubric_cases({"terms": TERMS, "helps": HELPS[:60]})
    last = next(case for case in whole if case.item_id == TERMS[-1].item_id)
    assert last.outcome.reason is UnknownReason.MISSING
    assert last.reference.verdict is Verdict.UNKNOWN


def test_a_final_unknown_is_not_an_acceptance_of_the_whole() -> None:
    """A pass beside an abstention is no acceptance; a fail beside it is a fail."""
    for part, expected in ((PASS, UnknownReason.ABSTAINED), (FAIL, None)):
        abstained = [replace(TERMS[0], outcome=unknown("abstained"))]
        (case,) = whole_rubric_cases({"a": abstained, "b": [replace(TERMS[0], outcome=part)]})
        assert case.outcome.reason is expected
        assert not case.outcome.accepted
