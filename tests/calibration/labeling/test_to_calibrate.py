"""From the first key press to the report: labels of a session and its adjudications are what is counted."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlmodel import Session

from calibration.calibrate import Asked, Calibrated, calibrate
from calibration.calibrate.adjudication_draw import Draw, draw_adjudication
from calibration.calibrate.evidence_set import open_set
from calibration.evidence import CalibrationReport
from calibration.labeling import adjudicating
from calibration.labeling.disputes import assign_cases
from calibration.labeling.plan import SessionPlan
from calibration.labeling.records import Case, Task
from calibration.labeling.sessions import close_session
from calibration.labels import ReferenceRule
from calibration.store.database import Store
from calibration.store.judges import RunOrigin, add_judge, add_run, get_judge
from calibration.store.schema import open_store
from calibration.store.sessions import get_session
from calibration.store.verdicts import VerdictEntry, add_verdicts
from rubrics.digest import digest
from rubrics.errors import DeclarationError, DifferentRecord
from rubrics.rubric import Rubric
from tests.calibration.labeling.world import (
    DATASET,
    NOW,
    SESSION,
    later,
    number_of,
    opened,
    pair,
    pairs,
    rate_all,
    said,
)
from tests.databases import MOSTLY_SQLITE

ITEMS = 40
TRUTH = {number: "fail" if number % 4 == 0 else "pass" for number in range(ITEMS)}
"""Ten of forty items fail."""


def judge_says(number: int) -> str:
    """The judge accepts two of the ten failures and rejects three of the thirty passes."""
    if number in (0, 4):
        return "pass"
    return "fail" if number in (1, 5, 9) else TRUTH[number]


def add_a_judge(session: Session, asked: Rubric, says: Callable[[int], str] = judge_says) -> None:
    """A judge with its verdict on every item."""
    spec = {"model": "gpt", "temperature": 0}
    add_judge(
        session=session,
        digest=digest(spec),
        judge_name="gpt",
        kind="model",
        content=spec,
        actor="lead",
        at=NOW,
    )
    run = add_run(
        session=session,
        judge_digest=digest(spec),
        rubric_digest=asked.digest,
        dataset=DATASET,
        origin=RunOrigin.IMPORT,
        plan={},
        units=0,
        at=NOW,
    )
    verdicts = [
        VerdictEntry(run_key=run, item_id=f"case-{n:03d}", criterion="correct", answer=says(n))
        for n in range(ITEMS)
    ]
    add_verdicts(session=session, verdicts=verdicts, at=NOW)


def calibrated(store: Store, asked: Rubric, at: float) -> tuple[CalibrationReport, Calibrated]:
    """The judge's report by unanimous raters or an adjudicator."""
    with store.write() as session:
        found = calibrate(
            session=session,
            asked=Asked(
                evidence=open_set(session=session, ref="may"),
                rubric=asked,
                criterion="correct",
                judges=(get_judge(session=session, judge="gpt"),),
                policy=None,
                actor="lead",
                rule=ReferenceRule.UNANIMOUS_OR_ADJUDICATED,
            ),
            at=later(at),
        )
    return found.comparison.examinations[0].report, found


def adjudicate_all(store: Store, says: Callable[[Task], str], start: float) -> int:
    """How many cases zoe resolved, each with the verdict that the function gives."""
    turn = 0
    while True:
        at = start + 10 * turn
        case = adjudicating.next_case(store=store, rater="zoe", now=later(at))
        if not isinstance(case, Case):
            return turn
        key, verdict = case.task.key, says(case.task)
        adjudicating.first_verdict(
            store=store, rater="zoe", task=key, answer=said("pass", at + 3), now=later(at + 3)
        )
        adjudicating.reveal(store=store, rater="zoe", task=key, now=later(at + 4))
        adjudicating.resolve(
            store=store, rater="zoe", task=key, value=verdict, reason="the policy", now=later(at + 5)
        )
        turn += 1


def truth(task: Task) -> str:
    """What is true of the item."""
    return TRUTH[number_of(task)]


def mistaken(task: Task) -> str:
    """A rater who errs on items 2, 6 and 8 and cannot decide item 3."""
    number = number_of(task)
    if number == 3:
        return "unknown"
    return {"pass": "fail", "fail": "pass"}[truth(task)] if number in (2, 6, 8) else truth(task)


def rated(store: Store) -> Rubric:
    """Forty items, three raters, every item by two or three; ben errs; labels and verdicts recorded."""
    asked = opened(
        store,
        items=ITEMS,
        raters=("ann", "ben", "cem"),
        plan=SessionPlan(raters_per_item=3, practice=0, seed=1),
    )
    for rater, says in (("ann", truth), ("ben", mistaken), ("cem", truth)):
        rate_all(store, rater, says)
    with store.write() as session:
        add_a_judge(session, asked)
    return asked


@pytest.fixture(scope="module")
def rated_once(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Rubric]:
    """A file with that session in it, to be copied, never opened; its rubric."""
    path = tmp_path_factory.mktemp("rated") / "rated.db"
    shutil.copy(migrated_sqlite, path)
    store = open_store(path)
    asked = rated(store)
    store.close()
    return path, asked


@pytest.fixture
def rated_sqlite(rated_once: tuple[Path, Rubric], tmp_path: Path) -> Iterator[tuple[Store, Rubric]]:
    """That session in a file of its own, and its rubric."""
    path, asked = rated_once
    store = open_store(shutil.copy(path, tmp_path / "voirdire.db"))
    yield store, asked
    store.close()


@pytest.fixture(params=MOSTLY_SQLITE)
def rated_store(request: pytest.FixtureRequest) -> tuple[Store, Rubric]:
    """That session in a store of its own, and its rubric."""
    if request.param == "sqlite":
        found: tuple[Store, Rubric] = request.getfixturevalue("rated_sqlite")
        return found
    store: Store = request.getfixturevalue("postgres_store")
    return store, rated(store)


def test_labels_and_adjudications_of_a_session_are_the_references(rated_store: tuple[Store, Rubric]) -> None:
    """Three raters, four disputes, one left unresolved: the counts are those of the session, blind yes."""
    store, asked = rated_store
    done = adjudicate_all(store, lambda task: "unknown" if number_of(task) == 3 else truth(task), 3000)
    assert done == 4
    report, found = calibrated(store, asked, 4000)
    counts = report.counts
    assert (counts.reference_fail, counts.reference_pass, counts.reference_unresolved) == (10, 29, 1)
    assert (counts.accepted_among_fail, counts.rejected_among_pass) == (2, 3)
    assert report.far is not None
    assert (report.far.x, report.far.n) == (2, 10)
    assert report.raters is not None
    assert report.raters.raters == 3
    assert set(report.raters.blind) == {"yes"}
    assert report.raters.adjudicated == 3
    assert report.evidence_grade.value == "adjudicated"
    assert report.warnings == () or not any("window" in warning for warning in report.warnings)
    again, second = calibrated(store, asked, 5000)
    assert (again.report, second.new_looks, found.new_looks) == (report.report, 0, 1)


def test_what_the_window_left_open_is_counted(sqlite_store: Store) -> None:
    """Closed with one rater absent: the report says how many assessments were never given."""
    asked = opened(sqlite_store, items=ITEMS, plan=SessionPlan(raters_per_item=2, practice=0, seed=1))
    rate_all(sqlite_store, "ann", truth)
    with sqlite_store.write() as session:
        add_a_judge(session, asked)
        close_session(session=session, name=SESSION, actor="lead", at=later(1900))
    report, _ = calibrated(sqlite_store, asked, 2000)
    assert any(
        warning.startswith("50 assessments were still open when the observation window closed")
        for warning in report.warnings
    )
    assert report.counts.reference_fail + report.counts.reference_pass == ITEMS


def drawn(store: Store, asked: Rubric, share: float) -> dict[tuple[bool, str], tuple[int, int]]:
    """Cases are drawn for adjudication; by cell how many there are and how many were drawn."""
    with store.write() as session:
        labeling = get_session(session=session, session_name=SESSION)
        draw = Draw(
            session_key=labeling.key,
            evidence=open_set(session=session, ref="may"),
            rubric=asked,
            criterion="correct",
            judge=get_judge(session=session, judge="gpt"),
            share=share,
        )
        found = draw_adjudication(session=session, draw=draw, actor="lead", at=later(2000))
        assign_cases(session=session, labeling=labeling, cases=found.cases, at=later(2000))
        return dict(found.by_cell)


def test_adjudicating_every_case_gives_the_far_of_the_truth(rated_sqlite: tuple[Store, Rubric]) -> None:
    """Drawn with probability 1 everywhere, FAR is 2 of 10 and the interval of the set has no width."""
    store, asked = rated_sqlite
    cells = drawn(store, asked, 1.0)
    assert sum(cases for cases, _ in cells.values()) == sum(taken for _, taken in cells.values()) == ITEMS
    assert adjudicate_all(store, truth, 3000) == ITEMS
    report, found = calibrated(store, asked, 9000)
    figure = report.adjudication
    assert figure is not None
    assert figure.estimate == pytest.approx(0.2)
    assert figure.set_lower == pytest.approx(0.2)
    assert figure.set_upper == pytest.approx(0.2)
    assert figure.lower is not None
    assert figure.upper is not None
    assert figure.lower < 0.2 < figure.upper
    assert figure.accepted_failures == pytest.approx(2)
    assert figure.failures == pytest.approx(10)
    assert found.new_looks == 1


def test_a_share_is_drawn_from_every_cell_with_its_probability(rated_sqlite: tuple[Store, Rubric]) -> None:
    """Accepted failures and disagreements all, of the others a fifth and at least ten; re-weighted."""
    store, asked = rated_sqlite
    cells = drawn(store, asked, 0.2)
    assert cells == {
        (False, "fail"): (7, 7),
        (False, "pass"): (3, 3),
        (True, "fail"): (2, 2),
        (True, "pass"): (24, 10),
        (False, "disagree"): (1, 1),
        (True, "disagree"): (3, 3),
    }
    places: list[int] = []

    def noted(task: Task) -> str:
        places.append(number_of(task))
        return truth(task)

    assert adjudicate_all(store, noted, 3000) == 26
    # a dispute cannot be told from a drawn case by its place
    disputes = sorted(place for place, number in enumerate(places) if number in {2, 3, 6, 8})
    assert disputes not in ([0, 1, 2, 3], [22, 23, 24, 25])
    report, _ = calibrated(store, asked, 9000)
    assert report.adjudication is not None
    assert report.adjudication.estimate == pytest.approx(0.2)
    by_cell = {(c.judge_accepted, c.raters): c.probability for c in report.adjudication.cells}
    assert by_cell[True, "pass"] == pytest.approx(10 / 24)
    assert any("drawn for adjudication" in warning for warning in report.warnings)


def test_a_second_draw_and_a_draw_without_a_claim_are_refused(rated_sqlite: tuple[Store, Rubric]) -> None:
    """Drawing again would change the probabilities; without a candidate nothing is accepted."""
    store, asked = rated_sqlite
    drawn(store, asked, 0.2)
    with pytest.raises(DifferentRecord, match="drawn before"):
        drawn(store, asked, 0.5)
    with pytest.raises(DeclarationError, match="not in"):
        drawn(store, asked, 0)


def test_preferences_of_a_session_are_references_in_source_positions(sqlite_store: Store) -> None:
    """Whatever side a rater saw, a preference for the candidate B passes."""
    asked = opened(sqlite_store, asked=pairs(), make=pair, items=6)
    for rater in ("ann", "ben"):
        rate_all(sqlite_store, rater, lambda task: _side_of(task, "source B"))
    from calibration.calibrate.references import read_references
    from calibration.store.items import Scope

    with sqlite_store.read() as session:
        found = read_references(
            session=session,
            scope=Scope(dataset=DATASET),
            rubric_digest=asked.digest,
            criterion=asked.criteria[0],
            rule=ReferenceRule.UNANIMOUS,
            min_raters=2,
        )
    assert {(each.label.verdict.value, each.answer) for each in found.by_item.values()} == {("pass", "B")}


def _side_of(task: Task, text: str) -> str:
    return next(f.key for f in task.fields if f.key in {"left", "right"} and f.text.startswith(text))
