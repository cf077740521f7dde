"""Each criterion its own admitted grader; what lies outside the calibrated population is not judged."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import Session

from calibration.store.database import Store
from calibration.store.schema import open_store
from judge.appointing import GradeRequest, appoint
from judge.service import PEOPLE, Grade, Notices, grade_items
from rubrics.errors import AdmissionExpired, JudgeNotAdmitted
from rubrics.item import Item
from tests.judge.grading_world import (
    BAD,
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


def request(*criteria: str, **fields: Any) -> GradeRequest:
    """A request for these criteria."""
    return GradeRequest(RUBRIC, criteria or ("true", "kind"), **fields)


def graded(
    session: Session, asked: GradeRequest, items: Sequence[Item], *, days: float = 0, **fields: Any
) -> list[Grade]:
    """The grades of the items."""
    graders = appoint(session=session, request=asked, at=NOW + timedelta(days=days))
    return list(grade_items(asked, graders, items, **fields))


@pytest.fixture(scope="module")
def laid(migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a rule, a model, a review trigger and a diagnostic rule, each admitted in its role."""
    path = tmp_path_factory.mktemp("world") / "world.db"
    store = open_store(shutil.copy(migrated_sqlite, path))
    with store.write() as session:
        lay_down(session)
        admitted(session, rule("true", "free"), "true")
        admitted(session, model(), "kind", reported="gpt-x-2026")
        admitted(session, rule("risky", "risky"), "risky", role="review_trigger")
        admitted(session, rule("style", "free"), "style", role="diagnostic")
    store.close()
    return path


@pytest.fixture
def world(laid: Path, tmp_path: Path) -> Iterator[Store]:
    """A copy of that file, opened."""
    store = open_store(shutil.copy(laid, tmp_path / "world.db"))
    yield store
    store.close()


ALL = ("true", "kind", "risky", "style")


@pytest.mark.parametrize(
    ("output", "model_says", "overall", "queued"),
    [
        (GOOD, "pass", "pass", ()),
        (GOOD, "fail", "fail", ()),
        ("It is free.", "pass", "fail", ()),
        ("It is risky.", "pass", "pending", ("risky",)),
        ("It is risky.", "fail", "fail", ("risky",)),
        (GOOD, "cannot_tell", "unknown", ("kind",)),
    ],
)
def test_each_criterion_has_its_own_grader(
    world: Store, output: str, model_says: str, overall: str, queued: tuple[str, ...]
) -> None:
    """Rule and model decide, the trigger makes it wait, the diagnostic verdict is shown and no more."""
    connect, transport = reaching(says(model_says))
    with world.read() as session:
        (grade,) = graded(session, request(*ALL), [item("x1", output)], connect=connect)
    assert grade.overall == overall
    assert tuple(c.criterion for c in grade.criteria if c.queued) == queued
    assert [c.judge for c in grade.criteria] == [
        "true-by-rule",
        "kind-by-model",
        "risky-by-rule",
        "style-by-rule",
    ]
    assert len(transport.requests) == 2  # both orders
    assert transport.closed
    assert len({c.decision for c in grade.criteria}) == 4


def test_people_answer_what_is_left_to_them(world: Store) -> None:
    """The criterion is pending, rests on no decision, and no judge is asked."""
    with world.read() as session:
        (grade,) = graded(session, request(people=frozenset({"kind"})), [item("x1", GOOD)])
    kind = grade.criteria[1]
    assert (kind.judge, kind.decision, kind.outcome.detail, kind.queued) == (PEOPLE, "", "human_queue", True)
    assert grade.overall == "pending"
    (failed,) = list(
        grade_items(
            request(people=frozenset({"kind"})),
            _graders(world, people=frozenset({"kind"})),
            [item("x2", "It is free.")],
        )
    )
    assert failed.overall == "fail"


def _graders(store: Store, **fields: Any) -> Any:
    with store.read() as session:
        return appoint(session=session, request=request(**fields), at=NOW)


OUTSIDE: list[tuple[dict[str, Any], str]] = [
    ({"tags": {"lang": "fr"}}, "tag lang is 'fr'; calibrated: de, en"),
    ({"evidence": {}}, "evidence field 'policy' is missing; every calibrated item had it"),
    ({"evidence": {"policy": "x" * 500}}, "policy has 500 characters"),
    ({"output": "x" * 400}, "output has 400 characters; the longest calibrated one had 30"),
]


@pytest.mark.parametrize(("fields", "words"), OUTSIDE)
def test_outside_the_population_nothing_is_judged(world: Store, fields: dict[str, Any], words: str) -> None:
    """Alone it is refused with the field; among others it goes to people, and the others are judged."""
    odd, usual = item("x1", **fields), item("x2", GOOD)
    with world.read() as session:
        with pytest.raises(JudgeNotAdmitted, match="lies outside what was calibrated") as caught:
            graded(session, request("true"), [odd])
        assert words in str(caught.value)
        first, second = graded(session, request("true"), [odd, usual])
    assert (first.overall, first.criteria[0].judge, first.criteria[0].queued) == ("pending", PEOPLE, True)
    assert words in first.criteria[0].rationale
    assert second.overall == "pass"


def test_a_policy_may_only_warn_of_the_population(sqlite_store: Store) -> None:
    """The item is judged and flagged."""
    from calibration.policy import far_only

    with sqlite_store.write() as session:
        lay_down(session)
        admitted(session, rule("true", "free"), "true", policy=far_only(0.10))
        (grade,) = graded(session, request("true"), [item("x1", GOOD, tags={"lang": "fr"})])
    assert grade.overall == "pass"
    (flag,) = grade.flags
    assert (flag.trigger, flag.field, flag.suspends) == ("population", "tags.lang", False)


def test_a_system_that_nobody_audited_is_flagged_and_noticed(world: Store) -> None:
    """Its outputs are judged, marked, and an audit of it is asked for once."""
    notices = Notices()
    items = [item(f"x{n}", GOOD, system="bot-8") for n in range(3)]
    with world.read() as session:
        grades = graded(session, request("true"), items, notices=notices)
    assert [g.flags[0].sentence for g in grades] == [
        "candidate not audited: 'bot-8' wrote none of the calibrated outputs (bot-7)"
    ] * 3
    (notice,) = notices.found.values()
    assert (notice.trigger, notice.system) == ("system", "bot-8")


def test_another_model_behind_the_name_stops_grading(world: Store) -> None:
    """What was answered before stays; the verdict of the other model is not used, and it is noticed."""
    replies = [says("pass")] * 2 + [says("pass", model_name="gpt-x-2027")] * 2
    connect, _ = reaching(lambda call: replies.pop(0)(call))
    notices = Notices()
    done: list[Grade] = []
    with world.read() as session:
        graders = appoint(session=session, request=request("kind"), at=NOW)
    items = [item("x1", GOOD), item("x2", GOOD)]
    grades = grade_items(request("kind"), graders, items, connect=connect, notices=notices)
    with pytest.raises(JudgeNotAdmitted, match="reports model 'gpt-x-2027'; calibrated: gpt-x-2026"):
        done.extend(grades)
    assert [g.item_id for g in done] == ["x1"]
    (notice,) = notices.found.values()
    assert notice.trigger == "judge"


def test_a_model_is_not_called_where_none_may_be(world: Store) -> None:
    """Without a way to reach it the call is refused before anything is judged."""
    with world.read() as session, pytest.raises(JudgeNotAdmitted, match="needs its model"):
        graded(session, request("kind"), [item("x1", GOOD)])


def test_a_provider_that_is_down_leaves_the_verdict_open(world: Store) -> None:
    """An error is unknown and open: nothing is concluded and nothing is accepted."""
    from judge.calls import Fault
    from judge.fake_model import failed

    connect, _ = reaching(lambda _: failed(Fault.AUTH))
    with world.read() as session:
        (grade,) = graded(session, request("kind"), [item("x1", GOOD)], connect=connect)
    assert (grade.overall, grade.criteria[0].outcome.reason) == ("unknown", "error")


def test_uses_end_an_admission(sqlite_store: Store) -> None:
    """Signed for three grades, it lapses with the third."""
    from calibration.policy import Expiry
    from judge.grade_records import record_grades
    from tests.judge.grading_world import WATCHFUL

    few = WATCHFUL.model_copy(update={"expiry": Expiry(days=30, deployments=3)})
    with sqlite_store.write() as session:
        lay_down(session)
        admitted(session, rule("true", "free"), "true", policy=few)
        for number in range(3):
            grades = graded(session, request("true"), [item(f"x{number}", GOOD)])
            record_grades(session=session, request=request("true"), grades=grades, keys={}, actor="t", at=NOW)
        with pytest.raises(
            AdmissionExpired, match="lapsed by use: 3 grades rest on it and it was signed for 3"
        ):
            graded(session, request("true"), [item("x9", GOOD)])


def test_one_changed_byte_is_another_text(world: Store) -> None:
    """The grade is bound to the digest of what was graded."""
    with world.read() as session:
        one, two = graded(session, request("true"), [item("x1", "Thirty days."), item("x2", "Thirty days!")])
    assert one.content_digest != two.content_digest
    assert one.content_digest == item("y", "Thirty days.").content_digest


def test_the_whole_output_that_breaks_everything(world: Store) -> None:
    """The failing output of calibration fails here too."""
    connect, _ = reaching(says("fail"))
    with world.read() as session:
        (grade,) = graded(session, request(*ALL), [item("x1", BAD)], connect=connect)
    assert grade.overall == "fail"
    assert all(c.outcome.verdict == "fail" for c in grade.criteria)
