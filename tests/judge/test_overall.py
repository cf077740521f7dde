"""What verdicts on criteria amount to, as properties."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.overall import ACCEPTANCE, DIAGNOSTIC, REVIEW_TRIGGER, Part, overall_of
from rubrics.verdict import Verdict

PASS, FAIL, PENDING, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.PENDING, Verdict.UNKNOWN
PARTS = st.builds(
    Part,
    verdict=st.sampled_from(Verdict),
    role=st.sampled_from([ACCEPTANCE, REVIEW_TRIGGER, DIAGNOSTIC]),
    required=st.booleans(),
    by_person=st.booleans(),
)


def required(verdict: Verdict) -> Part:
    """A required acceptance criterion."""
    return Part(verdict, ACCEPTANCE, required=True)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(PARTS, max_size=6), st.sampled_from(Verdict))
def test_nothing_favourable_outweighs_a_failed_required_criterion(parts: list[Part], more: Verdict) -> None:
    """With a required fail among them the answer is fail, whatever stands beside it."""
    assert overall_of([*parts, required(FAIL), required(more)]) is FAIL


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(PARTS, max_size=6), st.sampled_from(Verdict), st.booleans())
def test_a_diagnostic_verdict_and_one_that_is_not_required_decide_nothing(
    parts: list[Part], verdict: Verdict, by_person: bool
) -> None:
    """Adding them changes no answer."""
    more = [
        Part(verdict, DIAGNOSTIC, required=False, by_person=by_person),
        Part(verdict, ACCEPTANCE, required=False, by_person=by_person),
    ]
    assert overall_of([*parts, *more]) is overall_of(parts)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(PARTS, max_size=6))
def test_a_pass_needs_every_required_criterion_and_silent_triggers(parts: list[Part]) -> None:
    """A pass means at least one required criterion, all of them passed, and no trigger fired."""
    if overall_of(parts) is PASS:
        deciding = [p for p in parts if p.required and p.role == ACCEPTANCE]
        assert deciding
        assert {p.verdict for p in deciding} == {PASS}
        assert all(p.verdict is PASS for p in parts if p.role == REVIEW_TRIGGER)


@pytest.mark.parametrize(
    ("verdict", "by_person", "answer"),
    [
        (PASS, False, PASS),
        (FAIL, False, PENDING),
        (UNKNOWN, False, PENDING),
        (FAIL, True, FAIL),
        (PASS, True, PASS),
    ],
)
def test_a_review_trigger_waits_for_a_person(verdict: Verdict, by_person: bool, answer: Verdict) -> None:
    """A judge's fail, or no verdict, makes the output wait; a person's answer settles it."""
    trigger = Part(verdict, REVIEW_TRIGGER, required=False, by_person=by_person)
    assert overall_of([required(PASS), trigger]) is answer


@pytest.mark.parametrize("role", [DIAGNOSTIC, REVIEW_TRIGGER])
def test_in_another_role_nothing_is_accepted(role: str) -> None:
    """Asked in a role that does not accept, the answer is unknown, or a person's fail."""
    assert overall_of([Part(PASS, role, required=True)]) is UNKNOWN
    assert overall_of([]) is UNKNOWN
