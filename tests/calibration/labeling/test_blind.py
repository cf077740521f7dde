"""The rating app's database session reads no judge's table, whatever it is asked for."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy import event

import calibration.store
from calibration.labeling import adjudicating, looking, people, rating
from calibration.labeling.records import Case, Nothing, Task
from calibration.labeling.sessions import Opening, open_session
from calibration.store.blind import ADDED_TO, MOVED, READABLE, ROLE, open_rating_store
from calibration.store.columns import Row
from calibration.store.database import Store
from calibration.store.verdicts import add_verdicts
from rubrics.errors import StoreError
from tests.calibration.labeling.world import PLAIN, SESSION, later, opened, rate_all, said
from tests.calibration.store.evidence import lay_down, verdict
from tests.databases import BOTH

for _module in pkgutil.iter_modules(calibration.store.__path__):  # every table, to be compared
    importlib.import_module(f"calibration.store.{_module.name}")
SECRET = sorted(set(Row.metadata.tables) - set(READABLE))


def address(store: Store) -> str:
    """What `--db` would be for the store."""
    url = store.engine.url
    return str(url.database) if store.dialect == "sqlite" else url.render_as_string(hide_password=False)


@contextmanager
def raters_store(store: Store) -> Iterator[Store]:
    """The same database as the rating app opens it."""
    with open_rating_store(address(store)) as opened_for_raters:
        yield opened_for_raters


def with_verdicts(store: Store) -> None:
    """A judge's verdicts in the same database, so that there is something to be seen."""
    with store.write() as session:
        world = lay_down(session)
        add_verdicts(
            session=session,
            verdicts=[verdict(world.run_key, n, raw="canary-reply") for n in range(6)],
            at=later(0),
        )


def test_every_table_is_either_open_or_secret() -> None:
    """The allow-list names tables that exist; judges, verdicts, sets, reports and decisions are not on it."""
    assert set(READABLE) - {"alembic_version"} <= set(Row.metadata.tables)
    assert set(ADDED_TO) | set(MOVED) <= set(READABLE)
    assert {"judge", "verdict", "judge_run", "judge_call", "set_member", "calibration_set"} <= set(SECRET)
    assert {"report", "look", "decision", "policy", "adjudication_draw", "reference_label"} <= set(SECRET)


READS = (
    "SELECT * FROM {table}",
    "SELECT count(*) FROM {table}",
    "SELECT 1 FROM item WHERE EXISTS (SELECT 1 FROM {table})",
    "WITH seen AS (SELECT * FROM {table}) SELECT count(*) FROM seen",
)


@BOTH
def test_no_secret_table_can_be_read(store: Store) -> None:
    """Direct, counted, nested or through a common table expression: refused for every secret table."""
    with_verdicts(store)
    with raters_store(store) as blind:
        for table, statement in itertools.product(SECRET, READS):
            with (
                pytest.raises(StoreError, match=r"prohibited|not authorized|denied"),
                blind.read() as session,
            ):
                session.connection().exec_driver_sql(statement.format(table=table))


PLANTED = (
    "CREATE TABLE gossip (key TEXT PRIMARY KEY, note_digest TEXT REFERENCES item_payload (digest),"
    " label TEXT REFERENCES assessment (digest), said TEXT)",
    "INSERT INTO gossip (key, said) VALUES ('1', 'the judge says fail')",
)
"""A table of a later version that nobody has heard of here; it refers to what raters add."""
OF_PLANTED = (
    *(statement.format(table="gossip") for statement in READS),
    "SELECT note_digest FROM gossip",
    "SELECT count(label) FROM gossip",
    "INSERT INTO item_payload (digest, text) SELECT note_digest, said FROM gossip",
    "INSERT INTO item_payload (digest, text) VALUES ('d', (SELECT said FROM gossip))",
    "INSERT INTO item_payload (digest, text) VALUES ('d', (SELECT 1 FROM gossip WHERE note_digest IS NULL))",
    "INSERT INTO item_payload (digest, text) VALUES ('d', '1') RETURNING (SELECT count(label) FROM gossip)",
    "INSERT INTO item_payload (digest, text) SELECT 'd', count(note_digest) FROM gossip",
    "UPDATE session_rater SET cursor = (SELECT count(note_digest) FROM gossip)",
    "INSERT INTO gossip (key) VALUES ('2')",
)


@BOTH
def test_a_table_that_is_new_is_secret_and_in_nobodys_way(store: Store) -> None:
    """Without a line anywhere it cannot be read, counted or copied; raters go on adding what it refers to."""
    opened(store)
    with store.write() as session:
        for statement in PLANTED:
            session.connection().exec_driver_sql(statement)
    with raters_store(store) as blind:
        for statement in OF_PLANTED:
            with (
                pytest.raises(StoreError, match=r"prohibited|not authorized|denied"),
                blind.write() as session,
            ):
                session.connection().exec_driver_sql(statement)
        task = rating.next_task(store=blind, rater="ann", now=later(10))
        assert isinstance(task, Task)
        noted = said("fail", note="a text that the new table could refer to")
        assert rating.answer(store=blind, rater="ann", task=task.key, answer=noted, now=later(12)).new


def test_what_everybody_may_read_keeps_the_app_shut(postgres_store: Store) -> None:
    """A right that PUBLIC has reaches the role without a grant of its own: the app does not open."""
    with raters_store(postgres_store):
        pass
    with postgres_store.write() as session:
        session.connection().exec_driver_sql("GRANT SELECT ON verdict TO PUBLIC")
    with pytest.raises(StoreError, match="SELECT on verdict"):
        open_rating_store(address(postgres_store))


@BOTH
def test_no_schema_change_and_no_write_beyond_what_raters_say(store: Store) -> None:
    """A rater's session creates nothing, drops nothing, deletes nothing and adds no verdict."""
    opened(store)
    statements = [
        "CREATE TABLE mine (x integer)",
        "CREATE VIEW mine AS SELECT * FROM verdict",
        "DROP TABLE assessment",
        "DELETE FROM assignment",
        "UPDATE labeling_session SET state = 'closed'",
        "UPDATE calibration_set SET name = 'mine'",
        "INSERT INTO verdict SELECT * FROM verdict",
        "INSERT INTO role_grant SELECT * FROM role_grant",
    ]
    with raters_store(store) as blind:
        for statement in statements:
            with pytest.raises(StoreError), blind.write() as session:
                session.connection().exec_driver_sql(statement)


def test_a_view_over_a_secret_table_is_refused_too(sqlite_store: Store) -> None:
    """A view that somebody made does not lead round the authorizer."""
    with_verdicts(sqlite_store)
    with sqlite_store.write() as session:
        session.connection().exec_driver_sql("CREATE VIEW window AS SELECT value FROM verdict")
    with raters_store(sqlite_store) as blind, pytest.raises(StoreError), blind.read() as session:
        session.connection().exec_driver_sql("SELECT * FROM window")


def test_the_role_of_postgresql_has_no_other_right(postgres_store: Store) -> None:
    """Rights are the allow-list's; the role cannot log in; opening twice makes it once."""
    for _ in range(2):
        with raters_store(postgres_store) as blind, blind.read() as session:
            assert session.connection().exec_driver_sql("SELECT current_user").scalar() == ROLE
    rights = sa.text(
        "SELECT table_name, privilege_type FROM information_schema.role_table_grants WHERE grantee = :role"
    )
    with postgres_store.read() as session:
        found = {(table, right) for table, right in session.connection().execute(rights, {"role": ROLE})}
        login = session.connection().exec_driver_sql(
            f"SELECT rolcanlogin, rolsuper FROM pg_roles WHERE rolname = '{ROLE}'"
        )
        assert tuple(login.one()) == (False, False)
    assert {table for table, right in found if right == "SELECT"} == set(READABLE)
    assert {table for table, right in found if right == "INSERT"} == set(ADDED_TO)
    assert {table for table, right in found if right == "UPDATE"} == set(MOVED)
    assert {right for _, right in found} == {"SELECT", "INSERT", "UPDATE"}


@BOTH
def test_everything_a_rater_and_an_adjudicator_do_works_and_reads_no_secret_table(store: Store) -> None:
    """Signing in, rating, undo, history, adjudicating, through the blind session, every statement seen."""
    opened(store)
    with_verdicts(store)
    statements: list[str] = []
    with raters_store(store) as blind:
        event.listen(
            blind.engine, "before_cursor_execute", lambda c, cur, statement, *_: statements.append(statement)
        )
        do_everything(blind)
    assert len(statements) > 100
    named = re.compile(rf"\b({'|'.join(SECRET)})\b")
    assert [statement for statement in statements if named.search(statement)] == []


def do_everything(blind: Store) -> None:
    """One of each that the two pages ask for."""
    people.sign_in(store=blind, handle="ann", now=later(1))
    assert people.known_people(store=blind)[0].handle == "ann"
    task = rating.next_task(store=blind, rater="ann", now=later(2))
    assert isinstance(task, Task)
    rating.answer(store=blind, rater="ann", task=task.key, answer=said(), now=later(10))
    rating.retract(store=blind, rater="ann", assignment=task.assignment, criterion="correct", now=later(11))
    rate_all(blind, "ann", lambda each: "pass", start=20)
    rate_all(blind, "ben", lambda each: "fail", start=20)
    assert looking.history(store=blind, rater="ann", now=later(100))
    assert looking.progress(store=blind, rater="ann", now=later(100)).done == 6
    assert looking.sessions_of(store=blind, rater="ann", now=later(100))
    case = adjudicating.next_case(store=blind, rater="zoe", now=later(200))
    assert isinstance(case, Case)
    key = case.task.key
    adjudicating.first_verdict(store=blind, rater="zoe", task=key, answer=said(at=210), now=later(210))
    assert len(adjudicating.reveal(store=blind, rater="zoe", task=key, now=later(211))) == 2
    adjudicating.resolve(
        store=blind, rater="zoe", task=key, value="fail", reason="the policy", now=later(212)
    )
    assert adjudicating.counts(store=blind, rater="zoe").resolved == 1


def queue(store: Store, rater: str) -> list[str]:
    """What a rater is shown, task by task, as text."""
    return [repr((task.assignment, task.position, task.fields)) for task in rate_all(store, rater)]


def test_the_queue_is_the_same_whatever_a_judge_said(
    sqlite_store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Two databases that differ only in verdicts give a rater the same items, byte for byte (T2)."""
    from calibration.store.schema import open_store

    opened(sqlite_store)
    with_verdicts(sqlite_store)
    with open_store(tmp_path_factory.mktemp("twin") / "twin.db") as twin:
        opened(twin)
        assert queue(twin, "ann") == queue(sqlite_store, "ann")


@BOTH
def test_a_task_carries_nothing_that_could_bias(store: Store) -> None:
    """No item id, system, model family, tag, stratum or undeclared evidence is in anything a rater gets."""
    opened(store)
    seen = [*rate_all(store, "ann"), *rate_all(store, "ben", lambda each: "fail")]
    case = adjudicating.next_case(store=store, rater="zoe", now=later(900))
    history = looking.history(store=store, rater="ann", now=later(900))
    told = repr((seen, case, history))
    assert not isinstance(case, Nothing)
    for word in ("canary", "case-0", "may@", "'ben'"):
        assert word not in told


def test_the_rating_code_loads_no_secret_module() -> None:
    """Importing what the rating app uses leaves sets, judges, verdicts, reports and statistics unloaded."""
    code = (
        "import sys, calibration.labeling.rating, calibration.labeling.adjudicating,"
        " calibration.labeling.people, calibration.store.blind;"
        "print(*sorted(name for name in sys.modules if name.startswith(('calibration', 'scipy', 'numpy'))))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    secret = ("sets", "judges", "verdicts", "reports", "decisions", "calls", "adjudication_draws")
    assert not {f"calibration.store.{name}" for name in secret} & set(loaded)
    assert not [
        n for n in loaded if n.startswith(("calibration.evidence", "calibration.report", "scipy", "numpy"))
    ]
    assert "calibration.labeling.sessions" not in loaded


@BOTH
def test_nobody_adjudicates_what_they_rated(store: Store) -> None:
    """An adjudicator who rated the items in another session gets none of them; the other one gets all."""
    opened(store, adjudicators=("zoe", "yan"))
    rate_all(store, "ann")
    rate_all(store, "ben", lambda each: "fail")
    with store.write() as session:
        from calibration.store.rubrics import get_rubric
        from calibration.store.sets import get_set

        opening = Opening(
            name="second",
            stored_set=get_set(session=session, set_name="may"),
            rubric=get_rubric(session=session, name="refunds"),
            raters=("zoe", "eve"),
            plan=PLAIN,
        )
        open_session(session=session, opening=opening, actor="lead", at=later(300))
    rate_all(store, "zoe", start=400)
    found = adjudicating.next_case(store=store, rater="zoe", session=SESSION, now=later(600))
    assert isinstance(found, Nothing)
    taken = adjudicating.next_case(store=store, rater="yan", session=SESSION, now=later(600))
    assert isinstance(taken, Case)
    assert taken.task.of == 6
