"""The admission card: what a signed decision allows, and when it no longer does."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from calibration.rendering.card import SignedRecord, render_card
from calibration.rendering.numbers import NBSP, NNBSP
from tests.calibration.rendering.examples import (
    admitted,
    constructed,
    full_policy,
    insufficient,
    rejected,
    undecided,
)

SIGNED = datetime(2026, 11, 30, 10, 14, tzinfo=UTC)
RECORD = SignedRecord(
    number=7,
    digest="ab" * 32,
    previous="cd" * 32,
    outcome="admit",
    judge_kind="model judge",
    judge_digest="ef" * 32,
    rubric="refund-policy@5",
    rubric_digest="12" * 32,
    population="support answers in English",
    role="acceptance",
    signer="R. Ito",
    established="local, unverified",
    reason="Worst case under the limit; both slices read.",
    signed_at=SIGNED,
    valid_until=SIGNED + timedelta(days=90),
    uses=50_000,
)


def text_of(page: str) -> str:
    """The words of a page, without its marks."""
    body = re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)
    return " ".join(body.replace(NNBSP, " ").replace(NBSP, " ").split())


def card(record: SignedRecord = RECORD, *, days: int = 0) -> str:
    """The words of the card of an admitted judge, so many days after it was signed."""
    return text_of(render_card(full_policy(), record, at=SIGNED + timedelta(days=days), made_at=None))


def test_it_says_what_the_judge_may_do_and_until_when() -> None:
    """The first sentence allows, the second counts, and both ends of validity are named."""
    said = card()
    assert "judge-a may accept answers on its own until 2027-02-28 , or for 50,000 gradings" in said
    assert "the judge accepted 2, 2 %" in said
    assert "from 2026-11-30 to 2027-02-28 (90 days) or 50,000 gradings" in said
    assert "R. Ito , 2026-11-30 10:14 UTC local, unverified" in said
    assert "k attempts would pass a failing answer" in said


def test_every_policy_item_stands_with_what_was_found_and_asked() -> None:
    """A row an item, in the words of the report."""
    shown = full_policy()
    assert shown.decision is not None
    page = render_card(shown, RECORD, at=SIGNED, made_at=None)
    rows = page[page.index("<tbody>") : page.index("</tbody>")].count("<tr>")
    assert rows == len(shown.decision.items)
    assert "Good answers not accepted 8/130 , up to 13/135" in text_of(page)


def test_a_lapsed_admission_is_no_admission() -> None:
    """On the day it lapses the card no longer allows, and carries no mark of an admission."""
    record = replace(RECORD, uses=None)
    said = card(record, days=90)
    assert (
        "lapsed judge-a may no longer accept answers on its own: its admission lapsed on 2027-02-28" in said
    )
    page = render_card(full_policy(), record, at=SIGNED + timedelta(days=90), made_at=None)
    assert '<use href="#m-admit"/>' not in page.split("</h1>")[0]
    assert "lapsed" not in card(record, days=89)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (
            replace(RECORD, outcome="suspended"),
            "may not accept answers on its own: its admission was suspended",
        ),
        (replace(RECORD, role="review_trigger"), "may decide which answers a person looks at until"),
        (replace(RECORD, valid_until=None), "may accept answers on its own for 50,000 gradings."),
        (replace(RECORD, valid_until=None, uses=None), "may accept answers on its own."),
    ],
)
def test_other_standings_and_roles(record: SignedRecord, words: str) -> None:
    """Suspended, another role, without an end by time or by use."""
    assert words in card(record)


@pytest.mark.parametrize(
    ("shown", "outcome", "why"),
    [
        (rejected, "reject", "it breaks the policy"),
        (insufficient, "insufficient_evidence", "does not decide"),
    ],
)
def test_what_was_not_admitted_allows_nothing(shown: object, outcome: str, why: str) -> None:
    """A rejection or too little evidence: what it may not do, why, and that nothing lapses."""
    page = render_card(shown(), replace(RECORD, outcome=outcome), at=SIGNED, made_at=SIGNED)  # type: ignore[operator]
    said = text_of(page)
    assert "may not accept answers on its own" in said
    assert why in said
    assert "Nothing is allowed by it, so nothing lapses." in said
    assert "k attempts" not in said
    assert "Made 2026-11-30 10:14 UTC" in said


def test_second_signature_and_override_are_told() -> None:
    """Against the policy: both signers and the sentence that says so."""
    record = replace(RECORD, against_policy=True, further=("Also signed by M. Okoro: urgent.",))
    said = card(record)
    assert "Also signed by M. Okoro: urgent. Against the policy result." in said


def test_what_a_person_wrote_is_text() -> None:
    """A reason with marks in it stands as it was written, and unseen characters are shown."""
    page = render_card(
        admitted(),
        replace(RECORD, reason="<b>bold</b>\u202e", lapses_when=("a < b",)),
        at=SIGNED,
        made_at=None,
    )
    assert "&lt;b&gt;bold&lt;/b&gt;‹U+202E›" in page
    assert "a &lt; b." in page


def test_constructed_evidence_is_stamped() -> None:
    """Evidence written for demonstration is named so on the card."""
    assert "constructed: written for demonstration" in render_card(
        constructed(), RECORD, at=SIGNED, made_at=None
    )


def test_without_raters_the_ground_of_the_labels_is_still_named() -> None:
    """A report on labels of nobody recorded says so, and nothing of blindness."""
    shown = admitted()
    bare = shown.model_copy(update={"report": shown.report.model_copy(update={"raters": None})})
    assert "rating app" not in text_of(render_card(bare, RECORD, at=SIGNED, made_at=None))
    assert "Reference set" in text_of(render_card(bare, RECORD, at=SIGNED, made_at=None))


def test_a_measurement_without_a_decision_has_no_card() -> None:
    """Nothing was decided, so nothing can be signed."""
    with pytest.raises(ValueError, match="a card needs a decision"):
        render_card(undecided(), RECORD, at=SIGNED, made_at=None)
