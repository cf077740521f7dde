"""Every changed byte, removed row and cut tail is found by name; decisions are computed anew."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlmodel import Session

from calibration.admission import decide
from calibration.evidence import OperationFigure
from calibration.policy import LookRule, OperationLimits, far_only
from calibration.registry import Override, carry_over, suspend
from calibration.registry.verifying import Recomputed, verify
from calibration.store.assessments import LabelEntry, add_labels
from calibration.store.calls import CallEntry, add_calls
from calibration.store.chain import heads
from calibration.store.database import Store
from calibration.store.decisions import STREAM, add_decision, decision_head
from calibration.store.items import item_key
from calibration.store.judges import list_runs
from calibration.store.rubrics import add_rubric
from calibration.store.schema import open_store
from calibration.store.seals import seal_evidence
from calibration.store.triggers import DECLARED
from calibration.store.verdicts import add_verdicts
from rubrics.errors import DeclarationError
from rubrics.rubric import Rubric
from tests.calibration.filling import (
    CRITERION,
    DATASET,
    NOW,
    RUBRIC,
    Counts,
    entry,
    fill_judge,
    fill_verdicts,
    rows,
)
from tests.calibration.registry.deciding import SECOND, SIGNED, again, examined, later, scope_of, signed
from tests.databases import MOSTLY_SQLITE

SMALL: Counts = {"fail": {"reject": 36, "accept": 1}, "pass": {"accept": 8}}


def world(session: Session) -> None:
    """A judge with a decision on labels that came by no import, and a call of it."""
    found = examined(session, SMALL, far_only(0.20))
    run = list_runs(session=session)[0]
    call = CallEntry(run.key, item_key(DATASET, "i0000"), (CRITERION,), "none", 1, 1, "d" * 64)
    add_calls(session=session, calls=[call], at=NOW)
    signed(session, found, policy=far_only(0.20))


@pytest.fixture(scope="module")
def world_file(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with that world, to be copied, never opened."""
    path = tmp_path_factory.mktemp("world") / "world.db"
    shutil.copy(migrated_sqlite, path)
    with open_store(path) as store, store.write() as session:
        world(session)
    return path


@pytest.fixture
def world_sqlite(world_file: Path, tmp_path: Path) -> Iterator[Store]:
    """A store with that world in a file of its own."""
    with open_store(shutil.copy(world_file, tmp_path / "voirdire.db")) as store:
        yield store


@pytest.fixture(params=MOSTLY_SQLITE)
def laid(request: pytest.FixtureRequest) -> Store:
    """A store with that world."""
    store: Store = request.getfixturevalue("world_sqlite" if request.param == "sqlite" else "postgres_store")
    if request.param == "postgresql":
        with store.write() as session:
            world(session)
    return store


def unprotect(session: Session, dialect: str) -> None:
    """What somebody with rights of their own can do."""
    run = session.connection().exec_driver_sql
    for each in DECLARED:
        if each.sqlite or dialect == "postgresql":
            run(f"DROP TRIGGER {each.name}" + ("" if dialect == "sqlite" else f" ON {each.table}"))
    if dialect == "postgresql":
        run("SET session_replication_role = replica")
    else:
        run("PRAGMA defer_foreign_keys = ON")


TABLES = ("decision", "assessment", "verdict", "reference_label", "report", "audit_event", "judge_call")


def changes(session: Session, table: str, rng: random.Random) -> Iterator[tuple[str, str, Any, Any]]:
    """(column, table, row as it is, new value): one byte of one value of one row, without end."""
    columns = sa.inspect(session.connection()).get_columns(table)
    names = [column["name"] for column in columns]
    rows = session.connection().exec_driver_sql(f"SELECT {', '.join(names)} FROM {table}").mappings().all()
    while True:
        row = rng.choice(rows)
        column = rng.choice([name for name in names if row[name] is not None])
        yield column, table, dict(row), _other(row[column], rng)


def _other(value: Any, rng: random.Random) -> Any:
    """The value with one byte changed; an integer with one digit changed."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.randint(1, 9)
    if isinstance(value, datetime):
        return value.replace(microsecond=(value.microsecond + rng.randint(1, 9)) % 1_000_000)
    text = str(value)
    place = rng.randrange(len(text))
    letter = rng.choice([each for each in "abcdef0123456789 Z" if each != text[place]])
    return text[:place] + letter + text[place + 1 :]


def count_found(store: Store, table: str, wanted: int) -> int:
    """How many of so many single-byte changes are found; each is made, looked for and undone."""
    rng, found, tried = random.Random(table), 0, 0
    with store.write() as session:
        unprotect(session, store.dialect)
        connection = session.connection()
        for column, name, row, value in changes(session, table, rng):
            where = " AND ".join(f"{key} IS :old_{key}" for key in row) if store.dialect == "sqlite" else (
                " AND ".join(f"{key} IS NOT DISTINCT FROM :old_{key}" for key in row)
            )  # fmt: skip
            old = {f"old_{key}": each for key, each in row.items()}
            savepoint = connection.begin_nested()
            try:
                done = connection.execute(
                    sa.text(f"UPDATE {name} SET {column} = :value WHERE {where}"), {**old, "value": value}
                )
            except sa.exc.IntegrityError:
                savepoint.rollback()  # the database itself refuses the value
                continue
            assert done.rowcount == 1, (column, row)
            session.expire_all()
            findings = verify(session=session, checkpoints={}).findings
            found += bool(findings)
            tried += 1
            assert findings, (table, column, row[column], value)
            assert str(findings[0])
            savepoint.rollback()
            if tried == wanted:
                break
        session.rollback()
    return found


@pytest.mark.parametrize("table", TABLES)
def test_single_byte_changes_are_found(world_sqlite: Store, table: str) -> None:
    """In each table three changes of any column of any row, all found; the slow form makes a hundred."""
    assert count_found(world_sqlite, table, 3) == 3


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("table", TABLES)
def test_a_hundred_single_byte_changes_are_found(laid: Store, table: str) -> None:
    """The full count, on both databases."""
    assert count_found(laid, table, 100) == 100


@pytest.mark.parametrize("laid", ["sqlite", "postgresql"], indirect=True)
def test_what_is_whole_has_no_finding(laid: Store) -> None:
    """Sealed, chained and computed anew from labels and verdicts on; the checkpoint is reached."""
    with laid.write() as session:
        kept = {**heads(session=session), STREAM: decision_head(session=session)}
        found = verify(session=session, checkpoints=kept)
    assert found.findings == ()
    assert list(found.recomputed.values()) == [Recomputed.SAME]


@pytest.mark.parametrize("table", ["assessment", "verdict", "reference_label", "report", "judge_call"])
def test_a_removed_row_is_found_however_it_came(world_sqlite: Store, table: str) -> None:
    """Labels that no import brought are sealed by the signature."""
    with world_sqlite.write() as session:
        unprotect(session, world_sqlite.dialect)
        keys = {"reference_label": "digest", "judge_call": "key"}
        key = keys.get(table, "digest")
        first = session.connection().exec_driver_sql(f"SELECT min({key}) FROM {table}").scalar()
        session.connection().execute(sa.text(f"DELETE FROM {table} WHERE {key} = :key"), {"key": first})
        found = verify(session=session, checkpoints={}).findings
        session.rollback()
    assert any(table == each.table and "is gone" in each.what for each in found), found


def test_rows_after_the_seal_are_sealed_by_the_next(laid: Store) -> None:
    """A second seal holds what is new and nothing twice."""
    with laid.write() as session:
        assert seal_evidence(session=session, actor="lead", at=later(1)) == 0
        more = [LabelEntry("i0000", CRITERION, "c", "fail")]
        add_labels(session=session, dataset=DATASET, rubric_digest=RUBRIC.digest, labels=more, at=later(1))
        assert seal_evidence(session=session, actor="lead", at=later(2)) == 1


def test_added_evidence_is_no_finding(laid: Store) -> None:
    """A label that was added since leaves the decision as computed from its report."""
    with laid.write() as session:
        more = [LabelEntry("i0000", CRITERION, "c", "fail")]
        add_labels(session=session, dataset=DATASET, rubric_digest=RUBRIC.digest, labels=more, at=later(1))
        found = verify(session=session, checkpoints={})
    assert found.findings == ()
    assert list(found.recomputed.values()) == [Recomputed.FROM_REPORT]


def test_a_signed_outcome_that_does_not_follow_is_found(sqlite_store: Store) -> None:
    """Whoever appends an admission that the policy does not give, with all hashes right, is found."""
    with sqlite_store.write() as session:
        found = examined(session, {"fail": {"accept": 16, "reject": 20}, "pass": {"accept": 20}})
        rejected = signed(session, found)
        add_decision(
            session=session,
            scope=scope_of(session, population="chats"),
            report_digest=rejected.report_digest,
            policy_digest=rejected.policy_digest,
            outcome="admit",
            content=rejected.content,
            signer="R. Ito",
            valid_until=later(900),
            supersedes=None,
            at=later(1),
        )
        changed = {**rejected.content["decision"], "outcome": "admit"}
        add_decision(
            session=session,
            scope=scope_of(session, population="mails"),
            report_digest=rejected.report_digest,
            policy_digest=rejected.policy_digest,
            outcome="admit",
            content={**rejected.content, "decision": changed},
            signer="R. Ito",
            valid_until=later(900),
            supersedes=None,
            at=later(1),
        )
        findings = verify(session=session, checkpoints={}).findings
    assert [each.what for each in findings] == [
        "the policy says reject and admit is signed",
        "the outcome is reject, not admit",
    ]


def test_overrides_suspensions_and_carry_overs_follow(sqlite_store: Store) -> None:
    """Each differs from the policy's word on purpose, and says so."""
    criterion = RUBRIC.criterion(CRITERION).model_copy(update={"title": "Correct at last"})
    new = Rubric.model_validate({**RUBRIC.model_dump(), "version": 2, "criteria": (criterion,)})
    with sqlite_store.write() as session:
        found = examined(session, {"fail": {"accept": 16, "reject": 20}, "pass": {"accept": 20}})
        signed(session, found, override=Override(SECOND, 7))
        wide = far_only(0.90).model_copy(update={"looks": LookRule(max=3)})
        admitted = signed(session, again(session, wide), policy=wide, population="chats")
        add_rubric(session=session, rubric=new, actor="lead", at=NOW)
        carry_over(session=session, standing=admitted, signature=SIGNED, at=later(1), rubric=new)
        suspend(session=session, standing=admitted, signature=SIGNED, at=later(2))
        result = verify(session=session, checkpoints={})
    assert result.findings == ()
    assert result.count(Recomputed.SAME) == 4


SHARED = far_only(0.10).model_copy(update={"name": "shared", "judges_compared": "holm"})


def test_judges_that_were_examined_share_the_error(sqlite_store: Store) -> None:
    """2 of 80 passes alone; among four it does not, though it is asked for alone, and both verify."""
    counts: Counts = {"fail": {"accept": 2, "reject": 78}, "pass": {"accept": 40}}
    with sqlite_store.write() as session:
        first = examined(session, counts, SHARED)
        admitted = signed(session, first, policy=SHARED)
        for name in ("one", "two", "three"):
            fill_verdicts(session, counts, judge=name)
            again(session, SHARED, name)
        run = fill_judge(session, "always", kind="baseline")
        words = [entry(run, item, "reject") for item, _, _ in rows(counts)]
        add_verdicts(session=session, verdicts=words, at=NOW)
        again(session, SHARED, "always")
        one = again(session, SHARED, "one")
        kept = signed(session, one, policy=SHARED, judge="one")
        with pytest.raises(DeclarationError, match="leaves out one, three, two"):
            signed(session, first, policy=SHARED, population="chats")
        found = verify(session=session, checkpoints={})
    assert first.decision is not None
    assert first.decision.rivals == ()
    assert one.decision is not None
    assert len(one.decision.rivals) == 3
    assert (admitted.outcome, kept.outcome) == ("admit", "insufficient_evidence")
    assert found.findings == ()
    assert found.count(Recomputed.SAME) == 2


def test_a_family_that_was_left_out_is_found(sqlite_store: Store) -> None:
    """A decision that names none of the judges it was compared with does not follow from the policy."""
    counts: Counts = {"fail": {"accept": 2, "reject": 78}, "pass": {"accept": 40}}
    with sqlite_store.write() as session:
        examined(session, counts, SHARED)
        for name in ("one", "two", "three"):
            fill_verdicts(session, counts, judge=name)
            again(session, SHARED, name)
        kept = signed(session, again(session, SHARED), policy=SHARED)
        without = {**kept.content["decision"], "rivals": []}
        add_decision(
            session=session,
            scope=scope_of(session, population="chats"),
            report_digest=kept.report_digest,
            policy_digest=kept.policy_digest,
            outcome=kept.outcome,
            content={**kept.content, "decision": without},
            signer="R. Ito",
            valid_until=None,
            supersedes=None,
            at=later(1),
        )
        alone = decide(again(session, SHARED).report, SHARED)
        add_decision(
            session=session,
            scope=scope_of(session, population="mails"),
            report_digest=kept.report_digest,
            policy_digest=kept.policy_digest,
            outcome="admit",
            content={**kept.content, "decision": alone.model_dump(mode="json", by_alias=True)},
            signer="R. Ito",
            valid_until=later(900),
            supersedes=None,
            at=later(1),
        )
        findings = verify(session=session, checkpoints={}).findings
    assert ["leaves out one, three, two, examined before it" in each.what for each in findings] == [True] * 2


def test_what_an_older_report_does_not_say_is_no_change(
    monkeypatch: pytest.MonkeyPatch, world_sqlite: Store
) -> None:
    """A decision on a report that did not yet tell of prices declared as 0 is computed as it was then."""
    told = OperationFigure(
        verdicts=45,
        costed=45,
        cost_micros=0,
        items=45,
        timed=0,
        latency_p95_ms=None,
        declared_free=45,
        uncalled=0,
    )
    limits = OperationLimits(cost_per_item_micros=1)
    policy = far_only(0.20).model_copy(update={"version": 2, "operation": limits})
    with world_sqlite.write() as session:
        monkeypatch.setattr("calibration.calibrate.run.operation_of", lambda **_: told.as_before)
        signed(session, again(session, policy), policy=policy, population="chats")
        monkeypatch.setattr("calibration.calibrate.run.operation_of", lambda **_: told)
        result = verify(session=session, checkpoints={})
    assert (result.findings, result.count(Recomputed.SAME)) == ((), 2)
