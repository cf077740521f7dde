"""Evidence is inserted and never changed: both databases refuse everything else."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlmodel import Session

from calibration.labels import ReferenceLabel, ReferenceRule
from calibration.store.adjudication_draws import add_draw
from calibration.store.assessments import add_labels
from calibration.store.assignments import AssignmentEntry, add_assignments, assignments_of
from calibration.store.calls import CallEntry, FaultEntry, add_calls, add_faults
from calibration.store.columns import Row
from calibration.store.database import Store
from calibration.store.decisions import iter_decisions
from calibration.store.grades import GradeEntry, GradeEventKind, add_grade_event, add_grades
from calibration.store.imports import record_import
from calibration.store.items import item_key
from calibration.store.judges import RunState, get_run, move_run, request_cancel
from calibration.store.people import add_person, set_role
from calibration.store.rater_records import ContextEntry, add_context, add_event, answers_of
from calibration.store.references import (
    AdjudicationEntry,
    ReferenceEntry,
    add_adjudications,
    add_reference_labels,
)
from calibration.store.reports import add_look
from calibration.store.retractions import add_retraction
from calibration.store.seals import seal_evidence
from calibration.store.sessions import SessionEntry, add_closures, add_seats, add_session
from calibration.store.sets import MemberEntry, add_set, freeze_set
from calibration.store.triggers import APPEND_ONLY
from calibration.store.verdicts import add_verdicts
from rubrics.errors import RecordError
from rubrics.verdict import UnknownReason, Verdict
from tests.calibration.store.evidence import DATASET, NOW, World, label, lay_down, look, sign, verdict


def fill_every_table(session: Session) -> World:
    """At least one row in each table, so that a refused change had something to change."""
    world = lay_down(session)
    rubric = world.rubric.digest
    record_import(
        session=session,
        kind="labels",
        dataset=DATASET,
        file_digest="f" * 64,
        provenance={"origin": "here"},
        actor="lead",
        at=NOW,
    )
    add_labels(session=session, dataset=DATASET, rubric_digest=rubric, labels=[label(0, note="hm")], at=NOW)
    add_adjudications(
        session=session,
        dataset=DATASET,
        rubric_digest=rubric,
        adjudications=[AdjudicationEntry("case-0", "correct", "zoe", "fail", reason="it is not")],
        at=NOW,
    )
    add_reference_labels(
        session=session,
        dataset=DATASET,
        rubric_digest=rubric,
        rule=ReferenceRule.MAJORITY,
        min_raters=1,
        references=[ReferenceEntry("case-0", "correct", ReferenceLabel(Verdict.FAIL, 1), "d" * 64)],
        at=NOW,
    )
    add_verdicts(session=session, verdicts=[verdict(world.run_key, 0, raw="PASS")], at=NOW)
    call = CallEntry(world.run_key, item_key(DATASET, "case-0"), ("correct",), "ab", 1, 1, "d" * 64)
    add_calls(session=session, calls=[call], at=NOW)
    fault = FaultEntry(call.key, UnknownReason.ERROR, "timeout", "the model did not answer in time")
    add_faults(session=session, faults=[fault], at=NOW)
    drawn = add_set(
        session=session,
        set_name="first",
        version=1,
        dataset=DATASET,
        content={"kind": "convenience"},
        members=[MemberEntry("case-0")],
        actor="lead",
        at=NOW,
    )
    freeze_set(session=session, set_digest=drawn, actor="lead", at=NOW)
    sign(session, world)
    add_look(session=session, look=look(world))
    fill_labeling_tables(session, world, drawn)
    fill_grades_and_seals(session, world)
    return world


def fill_grades_and_seals(session: Session, world: World) -> None:
    """A grade that rests on the decision, what a person did about it, and a seal over the evidence."""
    decision = next(iter_decisions(session=session))
    entry = GradeEntry(
        request_digest="a" * 64,
        rubric_digest=world.rubric.digest,
        item_id="case-0",
        content_digest="b" * 64,
        population="all mails",
        role="acceptance",
        overall="pending",
        content={"criteria": []},
        uses={"correct": decision.hash},
        rationales={"correct": "it is not"},
    )
    (grade,) = add_grades(session=session, grades=[entry], actor="lead", at=NOW)
    add_grade_event(
        session=session,
        grade=grade,
        criterion="correct",
        kind=GradeEventKind.RESOLVED,
        verdict="pass",
        note="read by a person",
        actor="ann",
        at=NOW,
    )
    seal_evidence(session=session, actor="lead", at=NOW)


def fill_labeling_tables(session: Session, world: World, set_digest: str) -> None:
    """A session with one assignment, and a row of all that stands beside labels."""
    entry = SessionEntry(
        name="november",
        dataset=DATASET,
        set_digest=set_digest,
        rubric_digest=world.rubric.digest,
        plan={},
        opened_by="lead",
        opens_at=NOW,
    )
    labeling = add_session(session=session, entry=entry, at=NOW)
    add_seats(session=session, seats=[(labeling.key, "ann", "rate", "7")], at=NOW)
    place = AssignmentEntry(item_key(DATASET, "case-0"), "ann", "rate", 0, 1)
    add_assignments(session=session, key=labeling.key, entries=[place], at=NOW)
    assigned = next(assignments_of(session=session, key=labeling.key))
    add_closures(session=session, closures=[(assigned, world.rubric.digest, "correct")], at=NOW)
    said = answers_of(session=session, rubric_digest=world.rubric.digest, item_key=assigned.item_key)[0]
    context = ContextEntry(
        assessment_digest=said.digest,
        assignment_key=assigned.key,
        lease_no=1,
        position=1,
        swapped=False,
        ui_version="1",
        idle=False,
    )
    add_context(session=session, entry=context, at=NOW)
    add_retraction(session=session, assessment_digest=said.digest, rater="ann", why="misread", at=NOW)
    add_event(session=session, key=labeling.key, rater="ann", kind="break", at=NOW)
    add_person(session=session, auth="local", subject="ann", handle="ann", display="Ann", at=NOW)
    set_role(session=session, handle="ann", role="rater", given=True, actor="lead", at=NOW)
    add_draw(
        session=session,
        session_key=labeling.key,
        set_digest=set_digest,
        judge_digest=world.judge_digest,
        rubric_digest=world.rubric.digest,
        criterion="correct",
        content={"seed": 1, "cells": []},
        actor="lead",
        at=NOW,
    )


def rows(store: Store, table: str) -> list[tuple[object, ...]]:
    """All rows of a table, in a fixed order."""
    with store.read() as session:
        found = session.connection().execute(sa.select(Row.metadata.tables[table]))
        return sorted((tuple(row) for row in found), key=str)


CHANGES = {
    "update": "UPDATE {table} SET {column} = {column}",
    "delete": "DELETE FROM {table}",
    "delete one": "DELETE FROM {table} WHERE {column} = (SELECT min({column}) FROM {table})",
    "truncate": "TRUNCATE {table} CASCADE",
    "replace": "INSERT OR REPLACE INTO {table} SELECT * FROM {table}",
    "upsert": (
        "INSERT INTO {table} SELECT * FROM {table} WHERE true"
        " ON CONFLICT ({key}) DO UPDATE SET {column} = excluded.{column}"
    ),
}
ONLY = {"truncate": "postgresql", "replace": "sqlite"}


def test_every_change_of_every_append_only_table_is_refused(store: Store) -> None:
    """UPDATE, DELETE, TRUNCATE, INSERT OR REPLACE and an upsert are refused, and nothing has changed."""
    with store.write() as session:
        fill_every_table(session)
    for table in (*APPEND_ONLY, "item_payload"):
        before = rows(store, table)
        assert before, f"{table} has no row to protect"
        key = ", ".join(column.name for column in Row.metadata.tables[table].primary_key)
        column = next(iter(Row.metadata.tables[table].primary_key)).name
        for change, template in CHANGES.items():
            if ONLY.get(change, store.dialect) != store.dialect:
                continue
            statement = template.format(table=table, column=column, key=key)
            with pytest.raises(RecordError, match=r"append-only|logged erase"), store.write() as session:
                session.connection().exec_driver_sql(statement)
        assert rows(store, table) == before


def test_a_run_moves_its_state_and_keeps_its_header(store: Store) -> None:
    """State and cancel request of a run move; the rest of its row and the row itself stay."""
    with store.write() as session:
        world = lay_down(session)
        move_run(session=session, key=world.run_key, state=RunState.RUNNING)
        request_cancel(session=session, key=world.run_key, at=NOW)
    with store.read() as session:
        assert get_run(session=session, key=world.run_key).state is RunState.RUNNING
    for statement in (
        "UPDATE judge_run SET dataset = 'other'",
        "UPDATE judge_run SET set_digest = NULL, units = units + 1",
        "DELETE FROM judge_run",
    ):
        with pytest.raises(RecordError, match="header of a judge_run is fixed"), store.write() as session:
            session.connection().exec_driver_sql(statement)


def test_the_headers_of_a_session_stay_while_its_state_moves(store: Store) -> None:
    """State, cursor and lease move; who rates which item in which place does not, and no row goes."""
    with store.write() as session:
        fill_every_table(session)
        for moves in (
            "UPDATE assignment SET state = 'done', lease_no = lease_no + 1",
            "UPDATE session_rater SET cursor = cursor + 1",
            "UPDATE labeling_session SET state = 'closed'",
        ):
            session.connection().exec_driver_sql(moves)
    for statement in (
        "UPDATE assignment SET rater = 'ben'",
        "UPDATE assignment SET position = position + 1",
        "DELETE FROM assignment",
        "UPDATE session_rater SET seed = '8'",
        "DELETE FROM session_rater",
        "UPDATE labeling_session SET plan = '{ }'",
        "DELETE FROM labeling_session",
    ):
        with (
            pytest.raises(RecordError, match=r"header of .* is fixed|still referenced"),
            store.write() as session,
        ):
            session.connection().exec_driver_sql(statement)


def test_a_text_can_only_be_replaced_by_a_tombstone(store: Store) -> None:
    """A text cannot be changed, nor a tombstone filled again."""
    with store.write() as session:
        lay_down(session)
    for statement in (
        "UPDATE item_payload SET text = 'other'",
        "UPDATE item_payload SET digest = 'x'",
        "DELETE FROM item_payload",
    ):
        with pytest.raises(RecordError, match="logged erase"), store.write() as session:
            session.connection().exec_driver_sql(statement)
    with pytest.raises(RecordError, match="tombstone"), store.write() as session:
        session.connection().exec_driver_sql(
            "UPDATE item_payload SET text = NULL, raw = NULL, erased_by = '', erase_reason = '',"
            " erased_at = CURRENT_TIMESTAMP"
        )


def test_a_rater_of_an_item_cannot_adjudicate_it(store: Store) -> None:
    """The database itself refuses an adjudicator who is one of the item's raters."""
    with store.write() as session:
        world = lay_down(session)
        add_labels(
            session=session,
            dataset=DATASET,
            rubric_digest=world.rubric.digest,
            labels=[label(1, "ann")],
            at=NOW,
        )
    own = AdjudicationEntry("case-1", "correct", "ann", "fail", reason="mine")
    with pytest.raises(RecordError, match="may not be one of the raters"), store.write() as session:
        add_adjudications(
            session=session, dataset=DATASET, rubric_digest=world.rubric.digest, adjudications=[own], at=NOW
        )
    assert rows(store, "adjudication") == []


def test_a_bad_word_is_refused_by_the_database(store: Store) -> None:
    """A CHECK refuses a value, role or reason outside its closed set, whatever wrote it."""
    with store.write() as session:
        fill_every_table(session)
    insert = (
        "INSERT INTO verdict (digest, run_key, item_key, content_digest, criterion, presentation, repeat,"
        " scale, value, reason, recorded_at) SELECT 'new', run_key, item_key, content_digest, criterion,"
        " '{order}', 9, scale, '{value}', {reason}, recorded_at FROM verdict"
    )
    wrong = [
        ("none", "banana", "NULL", "ck_verdict_value"),
        ("none", "unknown", "NULL", "ck_verdict_unknown_has_reason"),
        ("none", "pass", "'invalid'", "ck_verdict_unknown_has_reason"),
        ("none", "unknown", "'tired'", "ck_verdict_reason"),
        ("AB", "pass", "NULL", "ck_verdict_presentation"),
    ]
    for order, value, reason, check in wrong:
        with pytest.raises(RecordError, match=check), store.write() as session:
            session.connection().exec_driver_sql(insert.format(order=order, value=value, reason=reason))
