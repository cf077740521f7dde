"""Nothing fails in silence: each test pins a way in which evaluation tools are wrong without saying so.

The ways are those seen in other tools, or in an earlier state of this one; a test is added with the
fix of every silent failure that is found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError

import pytest
from pydantic import ValidationError

from calibration.admission import decide
from calibration.evidence import AdmissionOutcome, Case, ReportScope, VerdictRow
from calibration.labels import Assessment, ReferenceLabel, UnresolvedReason
from calibration.policy import far_only
from calibration.reference import resolve
from calibration.report import build_report
from calibration.statistics.agreement import cohens_kappa
from calibration.statistics.proportions import rate, wilson_interval
from calibration.values import Undefined
from rubrics.digest import canonical_json, digest
from rubrics.verdict import FAIL, PASS, Outcome, UnknownReason, Verdict, combine, unknown

Judge = Callable[[int, Verdict], Outcome]
"""What a judge says of the item with a number and a reference."""


def outcome_of(judge: Judge, *, failures: int, passes: int) -> AdmissionOutcome:
    """What the FAR gate at 10 % decides on a judge over so many reference failures and passes."""
    references = [Verdict.FAIL] * failures + [Verdict.PASS] * passes
    cases = [
        Case(f"i{n:04}", f"c{n:04}", ReferenceLabel(reference, raters=1), judge(n, reference))
        for n, reference in enumerate(references)
    ]
    policy = far_only(0.10)
    scope = ReportScope(judge="j", rubric="r@1", criterion="c")
    return decide(build_report(cases, scope=scope, policy=policy), policy).outcome


def perfect(number: int, reference: Verdict) -> Outcome:
    """The reference's own verdict."""
    return Outcome(reference)


# -- judges that other tools pass


def test_perfect_judge_is_admitted() -> None:
    """The tests below would be idle if nothing were ever admitted."""
    assert outcome_of(perfect, failures=50, passes=120) is AdmissionOutcome.ADMIT


@pytest.mark.parametrize(("failures", "passes"), [(200, 0), (0, 200)], ids=["failures_only", "passes_only"])
def test_one_class_only_is_never_admitted(failures: int, passes: int) -> None:
    """A set of one kind says nothing of telling the two apart, however often the judge agrees."""
    assert outcome_of(perfect, failures=failures, passes=passes) is AdmissionOutcome.INSUFFICIENT


def test_constant_accepter_is_rejected_on_a_set_that_mostly_passes() -> None:
    """95 % raw agreement, and every failure let through."""
    assert outcome_of(lambda *_: PASS, failures=50, passes=950) is AdmissionOutcome.REJECT


def test_constant_rejecter_is_not_admitted() -> None:
    """It never accepts a failure; it never tells one either."""
    assert outcome_of(lambda *_: FAIL, failures=80, passes=120) is AdmissionOutcome.INSUFFICIENT


@pytest.mark.parametrize("reason", UnknownReason)
def test_constant_abstainer_is_not_admitted(reason: UnknownReason) -> None:
    """Without one verdict there is no false acceptance, and no evidence."""
    assert outcome_of(lambda *_: unknown(reason), failures=80, passes=120) is not AdmissionOutcome.ADMIT


def test_leaving_the_hard_failures_open_does_not_help() -> None:
    """Dropped calls stay in the denominator of the gate, counted as accepted."""

    def drops(number: int, reference: Verdict) -> Outcome:
        return unknown(UnknownReason.ERROR) if number < 30 else Outcome(reference)

    assert outcome_of(drops, failures=80, passes=120) is not AdmissionOutcome.ADMIT


# -- numbers


def test_nothing_of_nothing_is_undefined_and_no_zero() -> None:
    """0/0 is neither 0 nor NaN, and its interval is everything."""
    nothing = rate(0, 0)
    assert isinstance(nothing.estimate, Undefined)
    assert (nothing.interval.lower, nothing.interval.upper) == (0.0, 1.0)


def test_no_event_among_few_is_no_certainty() -> None:
    """The textbook interval of 0 of 5 has no width; the one used here reaches 43 %."""
    assert wilson_interval(0, 5).upper == pytest.approx(0.4345, abs=5e-5)


def test_kappa_of_two_constant_raters_is_undefined() -> None:
    """Two raters who said one thing throughout agree by construction: neither 1.0 nor NaN."""
    assert isinstance(cohens_kappa([[30, 0], [0, 0]]), Undefined)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_undefined_number_has_no_digest(number: float) -> None:
    """NaN is not JSON and never becomes part of an identity."""
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"far": number})


def test_equal_content_in_another_order_has_the_same_digest() -> None:
    """An identity does not hang on the order in which a file lists its keys."""
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest({"b": [2, 1]}) != digest({"b": [1, 2]})


# -- words


def test_empty_evidence_is_unknown() -> None:
    """`all([])` is True in Python; the verdict over no criterion is not a pass."""
    assert combine([]) is Verdict.UNKNOWN


def test_unknown_without_a_reason_cannot_be_written() -> None:
    """A missing verdict is never a bare null."""
    with pytest.raises(ValueError, match="reason"):
        Outcome(Verdict.UNKNOWN)


@pytest.mark.parametrize("reason", UnknownReason)
def test_no_unknown_is_an_acceptance(reason: UnknownReason) -> None:
    """Whatever kept the judge from a verdict, the output is not accepted."""
    assert not unknown(reason).accepted


def test_tied_raters_resolve_nothing() -> None:
    """Most tools break a tie by the order of the labels."""
    said = [
        Assessment("i", "c", rater, verdict) for rater, verdict in (("a", Verdict.PASS), ("b", Verdict.FAIL))
    ]
    for labels in (said, said[::-1]):
        resolved = resolve(labels)
        assert (resolved.verdict, resolved.unresolved) == (Verdict.UNKNOWN, UnresolvedReason.DISAGREEMENT)


# -- records


def test_unknown_field_is_refused() -> None:
    """A misspelt field is an error and never a default."""
    with pytest.raises(ValidationError, match="acepted"):
        VerdictRow.model_validate({"acepted": 3})


def test_record_cannot_be_changed() -> None:
    """A verdict and a count are replaced by new ones, never edited."""
    with pytest.raises(ValidationError, match="frozen"):
        VerdictRow(accepted=1).accepted = 0  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        PASS.verdict = Verdict.FAIL  # type: ignore[misc]
