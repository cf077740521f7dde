"""What people said is recorded as said, corrected by revisions only, on both databases."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from calibration.labels import Blindness, LabelSource, ReferenceLabel, ReferenceRule, UnresolvedReason
from calibration.store.assessments import LabelEntry, add_labels, iter_labels
from calibration.store.database import Store
from calibration.store.items import (
    Scope,
)
from calibration.store.references import (
    AdjudicationEntry,
    ReferenceEntry,
    add_adjudications,
    add_reference_labels,
    iter_adjudications,
    iter_references,
)
from rubrics.errors import DeclarationError, DifferentRecord, RecordError
from rubrics.verdict import Verdict
from tests.calibration.store.evidence import (
    DATASET,
    NOW,
    label,
    later,
    lay_down,
)

ALL = Scope(dataset=DATASET)


def test_labels_come_back_with_everything_said(store: Store) -> None:
    """Answer, reason, mode, blindness, source, times and repeat are read as recorded."""
    berlin = timezone(timedelta(hours=2))
    given = label(
        1,
        answer="unknown",
        reason="evidence_missing",
        failure_mode="wrong_amount",
        blind=Blindness.DECLARED,
        source=LabelSource.MODEL,
        repeat=1,
        shown_at=datetime(2026, 7, 1, 14, 0, tzinfo=berlin),
        decided_at=datetime(2026, 7, 1, 12, 0, 7, 5, tzinfo=UTC),
    )
    with store.write() as session:
        asked = lay_down(session).rubric.digest
        add_labels(session=session, dataset=DATASET, rubric_digest=asked, labels=[given], at=NOW)
    with store.read() as session:
        (back,) = iter_labels(session=session, scope=ALL, rubric_digest=asked)
    told = [field for field in LabelEntry.__slots__ if field not in ("note", "fields")]
    assert [getattr(back, field) for field in told] == [getattr(given, field) for field in told]
    assert (back.note_digest, back.shown_at) == (None, datetime(2026, 7, 1, 12, 0, tzinfo=UTC))


def test_labels_are_filtered_ordered_and_superseded(store: Store) -> None:
    """By item order, then criterion and rater; a corrected label is left out unless asked for."""
    with store.write() as session:
        asked = lay_down(session).rubric.digest
        first = [label(3, "bob"), label(0, "bob"), label(0, "ann"), label(0, "ann", "3", criterion="tone")]
        add_labels(session=session, dataset=DATASET, rubric_digest=asked, labels=first, at=NOW)
        wrong = next(iter_labels(session=session, scope=ALL, rubric_digest=asked, criterion="correct"))
        corrected = label(0, "ann", "fail", revision=1, supersedes=wrong.digest)
        add_labels(session=session, dataset=DATASET, rubric_digest=asked, labels=[corrected], at=later(60))
    with store.read() as session:

        def found(**options: object) -> list[tuple[str, str, str]]:
            labels = iter_labels(session=session, scope=ALL, rubric_digest=asked, **options)  # type: ignore[arg-type]
            return [(each.item_id, each.rater, each.answer) for each in labels]

        assert found(criterion="correct") == [
            ("case-0", "ann", "fail"),
            ("case-0", "bob", "pass"),
            ("case-3", "bob", "pass"),
        ]
        assert found(criterion="correct", live=False)[:2] == [
            ("case-0", "ann", "pass"),
            ("case-0", "ann", "fail"),
        ]
        assert found(criterion="tone") == [("case-0", "ann", "3")]
        assert len(found()) == 4


def test_a_label_never_changes_and_a_correction_has_one_successor(store: Store) -> None:
    """The same label again is present; another answer, or a second correction of one label, is refused."""
    with store.write() as session:
        asked = lay_down(session).rubric.digest

        def add(entry: LabelEntry, *, strict: bool = True) -> tuple[int, int, tuple[int, ...]]:
            outcome = add_labels(
                session=session, dataset=DATASET, rubric_digest=asked, labels=[entry], at=NOW, strict=strict
            )
            return outcome.added, outcome.present, outcome.different

        assert add(label(1, note="hm")) == (1, 0, ())
        assert add(label(1, note="hm")) == (0, 1, ())
        with pytest.raises(
            DifferentRecord, match=r"'ann' is recorded with 'pass' on item 'case-1'.*'fail' was"
        ):
            add(label(1, answer="fail"))
        assert add(label(1, answer="fail"), strict=False) == (0, 0, (0,))
        (first,) = iter_labels(session=session, scope=ALL, rubric_digest=asked)
        assert add(label(1, answer="fail", revision=1, supersedes=first.digest)) == (1, 0, ())
        with pytest.raises(DifferentRecord):
            add(label(1, answer="unknown", revision=2, supersedes=first.digest))


@pytest.mark.parametrize(
    ("entry", "error", "words"),
    [
        (
            label(1, answer="banana"),
            DeclarationError,
            r"'banana' is no answer under 'correct'; allowed: fail, pass",
        ),
        (label(1, answer="5", criterion="tone"), DeclarationError, "'5' is no answer under 'tone'"),
        (label(1, criterion="grammar"), DeclarationError, "no criterion 'grammar'; it has correct, tone"),
        (label(99), RecordError, "has no item 'case-99'"),
        (label(1, rater=""), DeclarationError, "rater ''"),
        (label(1, rater="a\0"), DeclarationError, r"U\+0000"),
    ],
)
def test_labels_that_fit_nothing_are_refused(
    sqlite_store: Store, entry: LabelEntry, error: type[Exception], words: str
) -> None:
    """An answer off the scale, an unknown criterion or item, a rater without a name: one sentence each."""
    with sqlite_store.write() as session:
        asked = lay_down(session).rubric.digest
        with pytest.raises(error, match=words):
            add_labels(session=session, dataset=DATASET, rubric_digest=asked, labels=[entry], at=NOW)


def test_adjudications_are_read_back_and_resolved_once(store: Store) -> None:
    """A resolution needs a reason and stays; a revision replaces it."""
    with store.write() as session:
        asked = lay_down(session).rubric.digest

        def add(entry: AdjudicationEntry) -> int:
            return add_adjudications(
                session=session, dataset=DATASET, rubric_digest=asked, adjudications=[entry], at=NOW
            ).added

        first = AdjudicationEntry("case-1", "correct", "zoe", "fail", reason="it is not")
        assert (add(first), add(first)) == (1, 0)
        with pytest.raises(DifferentRecord, match="already adjudicated"):
            add(AdjudicationEntry("case-1", "correct", "yan", "pass", reason="it is"))
        with pytest.raises(DeclarationError, match="has no reason"):
            add(AdjudicationEntry("case-2", "correct", "zoe", "fail", reason=" "))
        (stored,) = iter_adjudications(session=session, scope=ALL, rubric_digest=asked)
        revised = AdjudicationEntry(
            "case-1", "correct", "yan", "unknown", reason="both fit", revision=1, supersedes=stored.digest
        )
        assert add(revised) == 1
        (live,) = iter_adjudications(session=session, scope=ALL, rubric_digest=asked, criterion="correct")
        assert (live.adjudicator, live.answer, live.supersedes) == ("yan", "unknown", stored.digest)
        assert len(list(iter_adjudications(session=session, scope=ALL, rubric_digest=asked, live=False))) == 2


def test_reference_labels_name_what_they_rest_on(store: Store) -> None:
    """The same labels give the same row; a later label gives a further row; another result is refused."""
    label_pass = ReferenceLabel(Verdict.PASS, 3)
    open_label = ReferenceLabel(Verdict.UNKNOWN, 2, unresolved=UnresolvedReason.DISAGREEMENT)
    with store.write() as session:
        asked = lay_down(session).rubric.digest

        def add(*entries: ReferenceEntry, rule: ReferenceRule = ReferenceRule.MAJORITY) -> int:
            return add_reference_labels(
                session=session,
                dataset=DATASET,
                rubric_digest=asked,
                rule=rule,
                min_raters=2,
                references=entries,
                at=NOW,
            ).added

        first = ReferenceEntry("case-1", "correct", label_pass, "a" * 64)
        assert (add(first), add(first)) == (1, 0)
        assert add(ReferenceEntry("case-1", "correct", open_label, "b" * 64)) == 1
        assert add(first, rule=ReferenceRule.UNANIMOUS) == 1
        assert add(ReferenceEntry("case-2", "tone", label_pass, "c" * 64, answer="4")) == 1
        with pytest.raises(DifferentRecord, match="majority reference of item 'case-1'"):
            add(ReferenceEntry("case-1", "correct", open_label, "a" * 64))
        found = list(iter_references(session=session, scope=ALL, rubric_digest=asked))
        assert sorted((each.item_id, each.rule, each.inputs_digest[0]) for each in found) == [
            ("case-1", "majority", "a"),
            ("case-1", "majority", "b"),
            ("case-1", "unanimous", "a"),
            ("case-2", "majority", "c"),
        ]
        (tone,) = iter_references(session=session, scope=ALL, rubric_digest=asked, criterion="tone")
        assert (tone.label, tone.answer, tone.min_raters) == (label_pass, "4", 2)
        assert open_label in [each.label for each in found]
