"""Calibrating from the store: the same figures as from a table, one look for each distinct input."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlmodel import Session

from calibration.calibrate import calibrate
from calibration.calibrate.evidence_set import convenience_set
from calibration.evidence import AdmissionOutcome, EvidenceGrade
from calibration.labels import LabelSource, ReferenceRule
from calibration.policy import far_only, shipped_policy
from calibration.report import build_report
from calibration.store.assessments import LabelEntry, add_labels
from calibration.store.database import Store
from calibration.store.items import Scope, add_items
from calibration.store.references import AdjudicationEntry, add_adjudications, iter_references
from calibration.store.reports import list_looks, list_reports
from calibration.store.verdicts import add_verdicts
from rubrics.errors import DeclarationError, RecordError
from rubrics.item import Item
from tests.calibration.examples import SCOPE, make_cases
from tests.calibration.filling import (
    CLEAN,
    CRITERION,
    DATASET,
    EXERCISE_3,
    NOW,
    RUBRIC,
    asked,
    entry,
    fill,
    fill_items,
    fill_judge,
    fill_labels,
    fill_verdicts,
    rows,
)
from tests.databases import BOTH

TEN = far_only(0.10)


@BOTH
def test_the_store_gives_the_figures_of_the_table(store: Store) -> None:
    """Exercise 3 through the store has every figure that its cases have."""
    with store.write() as session:
        fill(session, EXERCISE_3)
        (examination,) = calibrate(session=session, asked=asked(session, TEN), at=NOW).comparison.examinations
    from_table = build_report(make_cases(EXERCISE_3), scope=SCOPE, policy=TEN)
    for name in (
        "far",
        "far_gate",
        "far_bounds",
        "frr",
        "failure_among_accepted",
        "kappa",
        "coverage",
        "table",
    ):
        assert getattr(examination.report, name) == getattr(from_table, name), name
    assert examination.decision is not None
    assert examination.decision.outcome is AdmissionOutcome.REJECT
    assert examination.report.rubric == "imported@1"
    assert examination.report.set == "all-of-support@1"


def test_the_same_question_twice_is_one_report_and_one_look(store: Store) -> None:
    """A repeat gives the same digest and outcome, spends nothing and writes nothing."""
    with store.write() as session:
        fill(session, EXERCISE_3)
        first = calibrate(session=session, asked=asked(session, TEN), at=NOW)
    with store.write() as session:
        second = calibrate(session=session, asked=asked(session, TEN), at=NOW + timedelta(days=1))
        assert len(list_reports(session=session)) == 1
        assert len(list_looks(session=session)) == 1
    assert first.comparison == second.comparison
    assert (first.new_looks, second.new_looks) == (1, 0)


def test_further_labels_are_a_further_look(store: Store) -> None:
    """New evidence makes a new report and a second look; the first keeps its own number."""
    policy = shipped_policy("acceptance")
    with store.write() as session:
        fill(session, CLEAN)
        calibrate(session=session, asked=asked(session, policy), at=NOW)
    with store.write() as session:
        add_labels(
            session=session,
            dataset=DATASET,
            rubric_digest=RUBRIC.digest,
            labels=[LabelEntry("i0000", CRITERION, "c", "pass")],
            at=NOW,
        )
        again = calibrate(session=session, asked=asked(session, policy), at=NOW + timedelta(hours=1))
    (examination,) = again.comparison.examinations
    assert examination.decision is not None
    assert (examination.decision.looks.used, again.new_looks) == (2, 1)


def test_looks_without_a_policy_are_recorded_and_not_charged(store: Store) -> None:
    """Figures alone evaluate no gate: the first gate is look one."""
    with store.write() as session:
        fill(session, CLEAN)
        figures = calibrate(session=session, asked=asked(session, None), at=NOW)
        gate = calibrate(session=session, asked=asked(session, TEN), at=NOW + timedelta(hours=1))
        assert len(list_looks(session=session)) == 2
    assert figures.comparison.examinations[0].decision is None
    decision = gate.comparison.examinations[0].decision
    assert decision is not None
    assert decision.looks.used == 1


def test_items_without_verdict_or_label_stay_in_the_report(store: Store) -> None:
    """An item that the judge did not answer is missing, one that nobody labelled unresolved."""
    with store.write() as session:
        fill_items(session, EXERCISE_3)
        fill_labels(session, {"fail": {"accept": 16, "reject": 60}})
        run = fill_judge(session, "gpt")
        answered = [entry(run, item, word) for item, _, word in rows(EXERCISE_3)[:150]]
        add_verdicts(session=session, verdicts=answered, at=NOW)
        (examination,) = calibrate(
            session=session, asked=asked(session, None), at=NOW
        ).comparison.examinations
    report = examination.report
    assert report.table.all.total == 200
    assert (report.counts.missing, report.counts.reference_unresolved) == (50, 124)
    assert any("50 of 200 items have no verdict" in warning for warning in report.warnings)


def test_an_adjudication_settles_a_disagreement(store: Store) -> None:
    """Raters who differ leave an item unresolved until an adjudicator decides it."""
    counts = {**CLEAN, "unresolved": {"accept": 4}}
    with store.write() as session:
        fill(session, counts)
        before = calibrate(session=session, asked=asked(session, None), at=NOW).comparison.examinations[0]
        first = next(item for item, reference, _ in rows(counts) if reference == "unresolved")
        add_adjudications(
            session=session,
            dataset=DATASET,
            rubric_digest=RUBRIC.digest,
            adjudications=[AdjudicationEntry(first, CRITERION, "lead", "fail", "reads so")],
            at=NOW,
        )
        after = calibrate(session=session, asked=asked(session, None), at=NOW).comparison.examinations[0]
        rule = list(
            iter_references(
                session=session, scope=convenience_set_scope(session), rubric_digest=RUBRIC.digest
            )
        )
    assert before.report.counts.reference_unresolved == 4
    assert after.report.counts.reference_unresolved == 3
    assert (after.report.headline.x, after.report.headline.n) == (1, 61)
    assert after.report.evidence_grade is EvidenceGrade.ADJUDICATED
    assert len([r for r in rule if r.item_id == first]) == 2


def convenience_set_scope(session: Session) -> Scope:
    """The items of the convenience set."""
    return convenience_set(session=session, dataset=DATASET, actor="test", at=NOW).scope


def test_a_rater_who_contradicts_himself_counts_as_cannot_decide(store: Store) -> None:
    """Two repeats of one rater that differ are no label; the warning says how many."""
    with store.write() as session:
        fill(session, CLEAN)
        add_labels(
            session=session,
            dataset=DATASET,
            rubric_digest=RUBRIC.digest,
            labels=[LabelEntry("i0000", CRITERION, "a", "pass", repeat=1)],
            at=NOW,
        )
        question = asked(session, None, rule=ReferenceRule.UNANIMOUS)
        report = calibrate(session=session, asked=question, at=NOW).comparison.examinations[0].report
    assert report.counts.reference_unresolved == 1
    assert any("contradict the same rater's other answer" in warning for warning in report.warnings)


def test_model_labels_count_only_when_asked_for_and_never_admit(store: Store) -> None:
    """Without asking there is no reference; with it the outcome is insufficient by its source."""
    with store.write() as session:
        fill_items(session, CLEAN)
        fill_labels(session, {})
        fill_verdicts(session, CLEAN)
        labels = [
            LabelEntry(item, CRITERION, "gpt", reference, source=LabelSource.MODEL)
            for item, reference, _ in rows(CLEAN)
        ]
        add_labels(session=session, dataset=DATASET, rubric_digest=RUBRIC.digest, labels=labels, at=NOW)
        with pytest.raises(RecordError, match=r"no label of set .* is a person's.* --reference-source"):
            calibrate(session=session, asked=asked(session, TEN), at=NOW)
        question = asked(session, TEN, sources=frozenset({LabelSource.MODEL}))
        (examination,) = calibrate(session=session, asked=question, at=NOW).comparison.examinations
    assert examination.decision is not None
    assert examination.decision.outcome is AdmissionOutcome.INSUFFICIENT
    assert examination.decision.binding == "reference_source"


def test_both_orders_are_reconciled_and_counted(store: Store) -> None:
    """The same content in both orders stands; a flip is inconsistent and shows in the position figures."""
    with store.write() as session:
        fill_items(session, CLEAN)
        fill_labels(session, CLEAN)
        run = fill_judge(session, "gpt")
        verdicts = []
        for place, (item, _, word) in enumerate(rows(CLEAN)):
            flipped = {"accept": "reject", "reject": "accept"}[word] if place < 6 else word
            verdicts += [entry(run, item, word, order="ab"), entry(run, item, flipped, order="ba")]
        add_verdicts(session=session, verdicts=verdicts, at=NOW)
        question = asked(session, shipped_policy("acceptance"))
        (examination,) = calibrate(session=session, asked=question, at=NOW).comparison.examinations
    report = examination.report
    assert report.counts.inconsistent == 6
    assert report.position is not None
    assert (report.position.consistency.x, report.position.consistency.n) == (144, 150)
    assert examination.decision is not None
    items = {item.name: item for item in examination.decision.items}
    assert items["position_consistency"].status == "pass"
    assert items["position_effect_abs"].x == 6


def test_repeats_are_figures_and_never_cases(store: Store) -> None:
    """The first repeat is the deployed verdict; the others give pairwise agreement only."""
    with store.write() as session:
        fill_items(session, CLEAN)
        fill_labels(session, CLEAN)
        run = fill_judge(session, "gpt")
        verdicts = [entry(run, item, word) for item, _, word in rows(CLEAN)]
        verdicts += [entry(run, item, "reject", repeat=1) for item, _, _ in rows(CLEAN)[-10:]]
        add_verdicts(session=session, verdicts=verdicts, at=NOW)
        report = (
            calibrate(session=session, asked=asked(session, None), at=NOW).comparison.examinations[0].report
        )
    assert report.table.all.total == 150
    assert report.repeats is not None
    assert (report.repeats.items, report.repeats.pairwise) == (10, 0.0)


def test_several_judges_are_ranked(store: Store) -> None:
    """1 and 40 of 60 accepted: places 1 and 2, no tie."""
    good = {"fail": {"accept": 1, "reject": 59}, "pass": {"accept": 90}}
    bad = {"fail": {"accept": 40, "reject": 20}, "pass": {"accept": 90}}
    with store.write() as session:
        fill(session, good, judge="good")
        fill_verdicts(session, bad, judge="bad")
        question = asked(session, TEN, judges=("bad", "good"), ranked=True)
        comparison = calibrate(session=session, asked=question, at=NOW).comparison
    assert [(r.judge, r.low, r.high) for r in comparison.rank] == [("good", 1, 1), ("bad", 2, 2)]
    assert comparison.ties == ()


def test_an_exploratory_report_decides_nothing(store: Store) -> None:
    """Clean counts under a policy that came after the set are insufficient, and say why."""
    with store.write() as session:
        fill(session, CLEAN)
        question = asked(session, TEN, exploratory="the policy came later")
        (examination,) = calibrate(session=session, asked=question, at=NOW).comparison.examinations
    assert examination.decision is not None
    assert examination.decision.outcome is AdmissionOutcome.INSUFFICIENT
    assert examination.decision.binding == "exploratory"


def test_further_items_make_the_next_version_of_the_convenience_set(store: Store) -> None:
    """The set of a dataset is what the first report saw; more items are another version."""
    with store.write() as session:
        fill(session, CLEAN)
        first = convenience_set(session=session, dataset=DATASET, actor="test", at=NOW)
        assert convenience_set(session=session, dataset=DATASET, actor="test", at=NOW) == first
        more = [Item(item_id="new", input="q", output="a")]
        add_items(session=session, dataset=DATASET, items=more, at=NOW)
        second = convenience_set(session=session, dataset=DATASET, actor="test", at=NOW)
    assert (first.ref, second.ref) == ("all-of-support@1", "all-of-support@2")
    assert "these items only" in second.claim


def test_a_group_in_tuning_is_not_examined(store: Store) -> None:
    """A calibration item that shares its group with a tuning item refuses the set."""
    with store.write() as session:
        fill(session, CLEAN)
        tuned = [
            Item.model_validate(
                {"item_id": "t", "input": "q", "output": "a", "group": "i0000", "split": "tuning"}
            )
        ]
        add_items(session=session, dataset=DATASET, items=tuned, at=NOW)
        with pytest.raises(DeclarationError, match="1 groups lie in both tuning and calibration"):
            convenience_set(session=session, dataset=DATASET, actor="test", at=NOW)


def test_what_is_missing_is_said(store: Store) -> None:
    """No item, no verdict: one sentence with the command to run."""
    with store.write() as session:
        with pytest.raises(RecordError, match="items import"):
            convenience_set(session=session, dataset="nowhere", actor="test", at=NOW)
        fill_items(session, CLEAN)
        fill_labels(session, CLEAN)
        from calibration.store.judges import add_judge

        add_judge(
            session=session, digest="d" * 64, judge_name="idle", kind="rule", content={}, actor="t", at=NOW
        )
        with pytest.raises(RecordError, match="'idle' has no verdict"):
            calibrate(session=session, asked=asked(session, None, judges=("idle",)), at=NOW)


def test_failure_modes_of_raters_reach_the_report(store: Store) -> None:
    """A mode ticked on a fail has its own FAR; its severity comes from the rubric."""
    from calibration.calibrate.cases import severity_of
    from rubrics.loader import load_catalog

    with store.write() as session:
        fill_items(session, CLEAN)
        fill_verdicts_after_labels(session)
        report = (
            calibrate(session=session, asked=asked(session, TEN), at=NOW).comparison.examinations[0].report
        )
    assert [(g.group, g.far.x, g.far.n) for g in report.failure_modes] == [("wrong_number", 0, 60)]
    criterion = load_catalog("refund-policy").criteria[0]
    with_level = [mode for mode in criterion.failure_modes if mode.severity]
    assert severity_of((), criterion) == ""
    assert all(severity_of((mode.key,), criterion) == mode.severity for mode in with_level)


def fill_verdicts_after_labels(session: Session) -> None:
    """Labels whose fails name one failure mode, then the verdicts."""
    fill_labels(session, {})
    labels = [
        LabelEntry(
            item, CRITERION, "a", reference, failure_mode="wrong_number" if reference == "fail" else None
        )
        for item, reference, _ in rows(CLEAN)
    ]
    add_labels(session=session, dataset=DATASET, rubric_digest=RUBRIC.digest, labels=labels, at=NOW)
    fill_verdicts(session, CLEAN)
