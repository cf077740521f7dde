"""One call, an admitted judge, and everything that may change: the same call refuses and names the cause."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import Result

from calibration.registry import Signature, suspend
from calibration.store.chain import append_event
from calibration.store.database import Store
from calibration.store.decisions import StoredDecision
from calibration.store.judges import add_judge
from calibration.store.rubrics import add_rubric
from calibration.store.schema import open_store
from calibration.store.watching import raise_alarm
from judge import grade_command
from judge.cli.stores import now
from judge.spec import JudgeSpec
from rubrics.item import Item
from rubrics.rubric import Rubric
from tests.judge.cli.grading import answers
from tests.judge.cli.records import address, on
from tests.judge.grading_world import (
    GOOD,
    NOW,
    RUBRIC,
    admitted,
    item,
    lay_down,
    model,
    reaching,
    rule,
    says,
)

Change = Callable[[Store, StoredDecision], Item | None]


def new_rubric(store: Store, decision: StoredDecision) -> None:
    """The rubric gets another question."""
    changed = RUBRIC.criterion("true").model_copy(update={"question": "Is it true in every word?"})
    criteria = (changed, *RUBRIC.criteria[1:])
    rubric = Rubric.model_validate({**RUBRIC.model_dump(), "version": 2, "criteria": criteria})
    with store.write() as session:
        add_rubric(session=session, rubric=rubric, actor="lead", at=NOW)


def declare(store: Store, spec: JudgeSpec) -> None:
    """The judge of this name is another one from now on."""
    with store.write() as session:
        add_judge(
            session=session,
            digest=spec.digest,
            judge_name=spec.name,
            kind=spec.kind,
            content=spec.model_dump(mode="json"),
            actor="lead",
            at=NOW + timedelta(hours=1),
        )


def new_judge(store: Store, decision: StoredDecision) -> None:
    """The rule gets another pattern."""
    declare(store, rule("true", "for nothing"))


def without_evidence(store: Store, decision: StoredDecision) -> Item:
    """An output comes without the field that every calibrated one had."""
    return item("x1", GOOD, evidence={})


def other_population(store: Store, decision: StoredDecision) -> Item:
    """Outputs in another language."""
    return item("x1", GOOD, tags={"lang": "fr"})


def time_passes(store: Store, decision: StoredDecision) -> None:
    """Something is recorded after the last day; the clock of the call says nothing of it."""
    with store.write() as session:
        later = (decision.valid_until or NOW) + timedelta(days=1)
        append_event(session=session, stream="x", kind="k", actor="a", payload={}, at=later)


def alarm(store: Store, decision: StoredDecision) -> None:
    """An audit raises its alarm."""
    with store.write() as session:
        raise_alarm(
            session=session,
            decision=decision.hash,
            trigger="audit_e_value",
            sentence="9 of 20 audited failures accepted",
            actor="watch",
            at=now(),
        )


def suspension(store: Store, decision: StoredDecision) -> None:
    """Somebody ends the admission."""
    with store.write() as session:
        signature = Signature("A. Blum", "the policy text was replaced")
        suspend(session=session, standing=decision, signature=signature, at=now())


CHANGES: list[tuple[Change, int, str]] = [
    (new_rubric, 4, "the rubric changed since decision"),
    (new_judge, 4, "the judge changed since decision"),
    (without_evidence, 4, "evidence field 'policy' is missing; every calibrated item had it"),
    (other_population, 4, "tag lang is 'fr'; calibrated: de, en"),
    (time_passes, 4, "lapsed on"),
    (alarm, 4, "suspended by an alarm (audit e value: 9 of 20 audited failures accepted"),
    (suspension, 4, "is suspended"),
]


def called(store: Store, folder: Path, about: Item) -> Result:
    """The one call of this module, about an item."""
    call = ("grade", answers(folder, [about]), "--rubric", "refunds", "--criterion", "true",
            "--judge", "true-by-rule")  # fmt: skip
    return on(address(store))(*call)


def admits(store: Store, folder: Path) -> StoredDecision:
    """The decision on an admitted judge, on which the call has graded."""
    with store.write() as session:
        lay_down(session)
        decision = admitted(session, rule("true", "free"), "true")
    before = called(store, folder, item("x1", GOOD))
    assert (before.exit_code, "1 pass" in before.stdout) == (0, True), before.stderr
    return decision


def refuses(store: Store, folder: Path, decision: StoredDecision, case: tuple[Change, int, str]) -> None:
    """After the change the same call is refused, with this exit code and these words."""
    change, code, words = case
    odd = change(store, decision)
    after = called(store, folder, odd or item("x1", GOOD))
    said = " ".join(after.stderr.split())
    assert (after.exit_code, words in said) == (code, True), said
    assert "pass" not in after.stdout


@pytest.fixture(scope="module")
def graded(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StoredDecision]:
    """A file in which the judge is admitted and the call has graded, and the decision."""
    folder = tmp_path_factory.mktemp("graded")
    with closing(open_store(shutil.copy(migrated_sqlite, folder / "voirdire.db"))) as store:
        return folder / "voirdire.db", admits(store, folder)


@pytest.mark.parametrize(("change", "code", "words"), CHANGES, ids=lambda v: getattr(v, "__name__", ""))
def test_the_same_call_refuses_and_names_the_cause(
    graded: tuple[Path, StoredDecision], tmp_path: Path, change: Change, code: int, words: str
) -> None:
    """Rubric, judge, evidence field, population, expiry, alarm, suspension."""
    path, decision = graded
    with closing(open_store(shutil.copy(path, tmp_path / "voirdire.db"))) as store:
        refuses(store, tmp_path, decision, (change, code, words))


@pytest.mark.parametrize(("change", "code", "words"), [CHANGES[0], CHANGES[4]], ids=["rubric", "expiry"])
def test_on_postgresql_too(
    postgres_store: Store, tmp_path: Path, change: Change, code: int, words: str
) -> None:
    """A change by identity and one by time."""
    refuses(postgres_store, tmp_path, admits(postgres_store, tmp_path), (change, code, words))


def test_a_prompt_and_a_reported_model(
    sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another prompt is another judge, and the refusal says so; another model behind the name stops it."""
    with sqlite_store.write() as session:
        lay_down(session)
        admitted(session, model(), "kind", reported="gpt-x-2026")
    replies = [says("pass")] * 2 + [says("pass", model_name="gpt-x-2027")] * 2
    connect, _ = reaching(lambda request: replies.pop(0)(request))
    monkeypatch.setattr(grade_command, "_reach", connect)
    db = on(address(sqlite_store))
    call = ("grade", answers(tmp_path, [item("x1", GOOD)]), "--rubric", "refunds", "--criterion", "kind",
            "--judge", "kind-by-model")  # fmt: skip
    assert db(*call).exit_code == 0
    moved = db(*call)
    assert (moved.exit_code, "gpt-x-2027" in moved.stderr) == (4, True)
    prompt = {**model().prompt.model_dump(), "name": "mine"}
    declare(sqlite_store, model(prompt=prompt))
    after = db(*call)
    assert after.exit_code == 4
    assert "the judge changed since decision" in " ".join(after.stderr.split())
    assert ": prompt)" in " ".join(after.stderr.split())
