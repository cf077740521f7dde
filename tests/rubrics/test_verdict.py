"""Verdicts, reasons, and the four-verdict rule."""

from __future__ import annotations

from itertools import product

import pytest

from rubrics.verdict import (
    FAIL,
    FINAL_REASONS,
    OPEN_REASONS,
    PASS,
    REASON_DETAILS,
    Outcome,
    UnknownReason,
    Verdict,
    combine,
    unknown,
)


@pytest.mark.parametrize(
    ("verdicts", "overall"),
    [
        ("", "unknown"),
        ("pass", "pass"),
        ("pass pass", "pass"),
        ("pass fail pending unknown", "fail"),
        ("pass pending unknown", "pending"),
        ("pass unknown", "unknown"),
        ("unknown", "unknown"),
    ],
)
def test_four_verdict_rule(verdicts: str, overall: str) -> None:
    """Fail beats pending beats unknown beats pass, and no verdict at all is unknown."""
    assert combine(map(Verdict, verdicts.split())) == overall


@pytest.mark.parametrize("length", [1, 2, 3])
def test_combination_passes_only_if_all_pass_and_fails_only_if_one_fails(length: int) -> None:
    """Over every tuple of verdicts: pass means all passed, fail means one failed, whatever the order."""
    for verdicts in product(Verdict, repeat=length):
        overall = combine(verdicts)
        assert (overall is Verdict.PASS) == (set(verdicts) == {Verdict.PASS})
        assert (overall is Verdict.FAIL) == (Verdict.FAIL in verdicts)
        assert overall is combine(reversed(verdicts))
        assert overall is combine([combine(verdicts[:1]), *verdicts[1:]])


def test_reasons_are_final_or_open() -> None:
    """Three reasons are final non-acceptances, three are open, none is both."""
    assert {str(reason) for reason in FINAL_REASONS} == {"abstained", "invalid", "inconsistent"}
    assert {str(reason) for reason in OPEN_REASONS} == {"pending", "missing", "error"}
    assert set(REASON_DETAILS) == set(UnknownReason)
    assert [reason.is_open for reason in UnknownReason] == [
        reason in OPEN_REASONS for reason in UnknownReason
    ]


def test_details_are_the_vocabulary() -> None:
    """The details of each reason are the words of the one vocabulary."""
    assert {str(reason): sorted(details) for reason, details in REASON_DETAILS.items()} == {
        "abstained": ["cannot_tell", "evidence_missing", "not_applicable", "refusal"],
        "invalid": ["content_filter", "contradictory", "out_of_range", "too_long", "truncated", "unparsed"],
        "inconsistent": ["orders", "votes"],
        "pending": ["human_queue", "running"],
        "missing": [],
        "error": [
            *("auth", "cancelled", "model_changed", "provider_error", "timeout", "unreachable"),
            "window_closed",
        ],
    }


@pytest.mark.parametrize(
    ("verdict", "reason", "detail", "said"),
    [
        (Verdict.PENDING, None, None, "combined verdict"),
        (Verdict.UNKNOWN, None, None, "exactly an unknown has a reason"),
        (Verdict.PASS, UnknownReason.ERROR, None, "exactly an unknown has a reason"),
        (Verdict.UNKNOWN, UnknownReason.ABSTAINED, "timeout", "does not belong"),
        (Verdict.FAIL, None, "timeout", "does not belong"),
    ],
)
def test_impossible_outcome_is_refused(
    verdict: Verdict, reason: UnknownReason | None, detail: str | None, said: str
) -> None:
    """A pending outcome, an unknown without reason, a reason without unknown, a foreign detail."""
    with pytest.raises(ValueError, match=said):
        Outcome(verdict, reason, detail)


def test_only_a_pass_is_accepted() -> None:
    """Of all outcomes that there are, only pass is an acceptance; only open reasons leave it open."""
    unknowns = [
        unknown(reason, detail) for reason in UnknownReason for detail in (None, *REASON_DETAILS[reason])
    ]
    accepted = [outcome for outcome in (PASS, FAIL, *unknowns) if outcome.accepted]
    assert accepted == [PASS]
    assert {outcome.reason for outcome in unknowns if outcome.is_open} == set(OPEN_REASONS)
    assert not FAIL.is_open


def test_pending_unknown_combines_as_pending_and_other_open_reasons_as_unknown() -> None:
    """An output in the human queue keeps the grade pending; a failed call leaves it unknown."""
    assert combine([PASS.combinable, unknown("pending", "human_queue").combinable]) is Verdict.PENDING
    assert combine([PASS.combinable, unknown("error", "timeout").combinable]) is Verdict.UNKNOWN
    assert combine([FAIL.combinable, unknown("missing").combinable]) is Verdict.FAIL
