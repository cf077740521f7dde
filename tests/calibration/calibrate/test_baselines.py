"""Recorded baselines stand beside every judge, and a judge that does not beat one is told so."""

from __future__ import annotations

import pytest

from calibration.calibrate import calibrate
from calibration.evidence import CalibrationReport
from calibration.policy import far_only
from calibration.store.database import Store
from calibration.store.judges import RunOrigin, add_judge, add_run
from calibration.store.reports import list_looks
from calibration.store.verdicts import add_verdicts
from rubrics.digest import digest
from tests.calibration.filling import DATASET, EXERCISE_3, NOW, RUBRIC, Counts, asked, entry, fill, rows

TEN = far_only(0.10)
GUESSES = {"fail": {"accept": 40, "reject": 40}, "pass": {"accept": 60, "reject": 60}}


def fill_baseline(store: Store, name: str, counts: Counts, *, spec: str = "") -> None:
    """A recorded baseline with its verdicts."""
    content = {"kind": "baseline", "name": name, "spec": spec}
    with store.write() as session:
        add_judge(
            session=session,
            digest=digest(content),
            judge_name=name,
            kind="baseline",
            content=content,
            actor="test",
            at=NOW,
        )
        run = add_run(
            session=session,
            judge_digest=digest(content),
            rubric_digest=RUBRIC.digest,
            dataset=DATASET,
            origin=RunOrigin.RUN,
            plan={},
            units=len(rows(counts)),
            at=NOW,
        )
        verdicts = [entry(run, item, word) for item, _, word in rows(counts)]
        add_verdicts(session=session, verdicts=verdicts, at=NOW)


def report_on(store: Store, judge: str = "gpt") -> CalibrationReport:
    """The report of one judge."""
    with store.write() as session:
        found = calibrate(session=session, asked=asked(session, TEN, judges=(judge,)), at=NOW)
    return found.comparison.examinations[0].report


def findings(report: CalibrationReport) -> list[str]:
    """What the report warns of that has to do with baselines."""
    return [warning for warning in report.warnings if "baseline" in warning]


@pytest.fixture
def filled(store: Store) -> Store:
    """Exercise 3 with the judge gpt."""
    with store.write() as session:
        fill(session, EXERCISE_3)
    return store


def test_recorded_baselines_stand_beside_the_judge(filled: Store) -> None:
    """After the two that every report has, each recorded one with its own figures."""
    fill_baseline(filled, "length", GUESSES)
    names = {figure.name: figure for figure in report_on(filled).baselines}
    assert list(names) == ["always-accept", "always-reject", "length"]
    assert (names["length"].far.x, names["length"].far.n) == (40, 80)
    assert names["length"].non_acceptance_among_pass.x == 60


def test_a_recorded_constant_is_not_shown_twice(filled: Store) -> None:
    """always_accept in the store is the always-accept of the report."""
    fill_baseline(filled, "always_accept", {"fail": {"accept": 80}, "pass": {"accept": 120}})
    assert len(report_on(filled).baselines) == 2


def test_of_two_specs_of_a_name_the_newest_stands(filled: Store) -> None:
    """A baseline that was declared anew is shown once."""
    fill_baseline(filled, "length", GUESSES, spec="first")
    fill_baseline(filled, "length", {"fail": {"reject": 80}, "pass": {"reject": 120}}, spec="second")
    assert [figure.name for figure in report_on(filled).baselines].count("length") == 1


def test_a_baseline_that_is_examined_is_not_its_own_rival(filled: Store) -> None:
    """It is shown once, and nothing is said of beating itself."""
    fill_baseline(filled, "length", GUESSES)
    report = report_on(filled, "length")
    assert [figure.name for figure in report.baselines] == ["always-accept", "always-reject"]
    assert findings(report) == []


def test_a_judge_that_beats_every_baseline_is_not_remarked_on(filled: Store) -> None:
    """Exercise 3 separates by 75 points and guessing by none."""
    fill_baseline(filled, "length", GUESSES)
    assert findings(report_on(filled)) == []


def test_no_better_than_a_baseline_is_a_finding(filled: Store) -> None:
    """A baseline with the judge's own figures is not beaten; the difference is named with its interval."""
    fill_baseline(filled, "word_overlap", EXERCISE_3)
    (finding,) = findings(report_on(filled))
    assert finding.startswith("no better than a baseline: gpt is not shown")
    assert "word_overlap (difference 0 points [" in finding


def test_a_judge_that_guesses_is_no_better_than_a_constant_answer(store: Store) -> None:
    """Without any recorded baseline too; 40 of 80 and 60 of 120 differ by nothing."""
    with store.write() as session:
        fill(session, GUESSES)
    (finding,) = findings(report_on(store))
    assert "a constant answer (difference 0 points [" in finding


def test_a_later_baseline_costs_no_look(filled: Store) -> None:
    """What stands beside the judge is no evidence about it: another report, the same look."""
    before = report_on(filled)
    fill_baseline(filled, "length", GUESSES)
    after = report_on(filled)
    assert before.report != after.report
    assert before.inputs == after.inputs
    with filled.read() as session:
        assert len(list_looks(session=session)) == 1
