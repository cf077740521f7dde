"""Reference labels: how independent assessments become one label, or none with a reason."""

from __future__ import annotations

import pytest

from calibration.labels import Adjudication, Assessment, Blindness, ReferenceRule, UnresolvedReason
from calibration.reference import resolve
from rubrics.verdict import Verdict

WORDS = {"p": Verdict.PASS, "f": Verdict.FAIL, "?": Verdict.UNKNOWN}


def labels(text: str) -> list[Assessment]:
    """One assessment per letter: p pass, f fail, ? cannot decide."""
    return [Assessment("1", "c", f"rater-{i}", WORDS[letter]) for i, letter in enumerate(text)]


@pytest.mark.parametrize(
    ("text", "rule", "verdict", "reason"),
    [
        ("p", "majority", Verdict.PASS, None),
        ("ppf", "majority", Verdict.PASS, None),
        ("pp?", "majority", Verdict.PASS, None),
        ("pf", "majority", Verdict.UNKNOWN, UnresolvedReason.DISAGREEMENT),
        ("pf?", "majority", Verdict.UNKNOWN, UnresolvedReason.DISAGREEMENT),
        ("p?", "majority", Verdict.UNKNOWN, UnresolvedReason.CANNOT_DECIDE),
        ("???", "majority", Verdict.UNKNOWN, UnresolvedReason.CANNOT_DECIDE),
        ("", "majority", Verdict.UNKNOWN, UnresolvedReason.NO_LABEL),
        ("ff", "unanimous", Verdict.FAIL, None),
        ("ffp", "unanimous", Verdict.UNKNOWN, UnresolvedReason.DISAGREEMENT),
        ("ff?", "unanimous", Verdict.UNKNOWN, UnresolvedReason.CANNOT_DECIDE),
        ("ff", "unanimous_or_adjudicated", Verdict.FAIL, None),
        ("ff", "adjudicated", Verdict.UNKNOWN, UnresolvedReason.NOT_ADJUDICATED),
    ],
)
def test_labels_resolve_by_the_rule(
    text: str, rule: str, verdict: Verdict, reason: UnresolvedReason | None
) -> None:
    """Strict majority of all labels, all alike, or only an adjudication; else unknown with the reason."""
    label = resolve(labels(text), rule=ReferenceRule(rule))
    assert (label.verdict, label.unresolved, label.raters) == (verdict, reason, len(text))
    assert label.resolved is (reason is None)
    assert not label.adjudicated


@pytest.mark.parametrize("rule", list(ReferenceRule))
def test_an_adjudication_wins_under_every_rule(rule: ReferenceRule) -> None:
    """Whatever the raters said, the adjudicated label stands."""
    label = resolve(labels("pp"), Adjudication("1", "c", "adjudicator", Verdict.FAIL), rule=rule)
    assert (label.verdict, label.adjudicated, label.raters) == (Verdict.FAIL, True, 2)


def test_an_adjudicator_may_leave_it_unresolved() -> None:
    """An adjudication that cannot decide leaves the item unknown even where raters agree."""
    label = resolve(labels("pp"), Adjudication("1", "c", "adjudicator", Verdict.UNKNOWN))
    assert (label.verdict, label.unresolved) == (Verdict.UNKNOWN, UnresolvedReason.ADJUDICATION_OPEN)


def test_too_few_raters_leave_it_unresolved() -> None:
    """One label where two are wanted is no reference."""
    label = resolve(labels("p"), min_raters=2)
    assert label.unresolved is UnresolvedReason.TOO_FEW_RATERS


@pytest.mark.parametrize(
    ("blind", "accepted"),
    [("yes", True), ("sheet", True), ("declared", True), ("no", False), ("unknown", False)],
)
def test_what_counts_as_blind(blind: str, accepted: bool) -> None:
    """Enforced, by sheet and declared count as blind; no and unknown do not."""
    assert Blindness(blind).satisfies_blind is accepted
