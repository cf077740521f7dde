"""A small labeling world: a frozen set, a rubric, a session with raters and an adjudicator."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlmodel import Session

from calibration.labeling import rating
from calibration.labeling.plan import SessionPlan
from calibration.labeling.records import Answer, Nothing, Task
from calibration.labeling.sessions import Opening, open_session
from calibration.store.database import Store
from calibration.store.items import add_items
from calibration.store.rubrics import add_rubric
from calibration.store.sets import MemberEntry, StoredSet, add_set, freeze_set, get_set_by_digest
from rubrics.criterion import Criterion, EvidenceField, EvidenceSource, Example, FailureMode, Guidance
from rubrics.item import Item
from rubrics.rubric import Rubric
from rubrics.scale import PreferenceScale

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
DATASET = "support"
SESSION = "november"
PLAIN = SessionPlan(raters_per_item=2, repeat_share=0, repeats_at_least=0, practice=0, seed=7)
"""No practice and no repeats: what a test counts is what it sees."""


def later(seconds: float) -> datetime:
    """A moment after NOW."""
    return NOW + timedelta(seconds=seconds)


def rubric(version: int = 1, criteria: int = 1) -> Rubric:
    """A rubric with binary criteria, failure modes and worked examples."""
    names = ("correct", "polite", "complete")[:criteria]
    return Rubric(
        name="refunds",
        version=version,
        title="Refunds",
        purpose="Whether a reply keeps to the policy.",
        evidence=(EvidenceField(key="policy", source=EvidenceSource.RECORDED, title="Policy"),),
        criteria=tuple(_criterion(name) for name in names),
    )


def _criterion(key: str) -> Criterion:
    return Criterion(
        key=key,
        title=key.capitalize(),
        question=f"Is it {key}?",
        guidance=Guidance(pass_when="it is", fail_when="it is not", cannot_decide_when="nobody can tell"),
        failure_modes=(
            FailureMode(key="invented", when="a claim is made up"),
            FailureMode(key="wrong_sum", when="an amount is wrong"),
        ),
        examples=(
            Example(input="a", output="b", verdict="pass", why="it says b"),
            Example(input="a", output="c", verdict="fail", why="it says c"),
            Example(input="a", output="d", verdict="unknown", why="nobody can tell"),
        ),
    )


def pairs() -> Rubric:
    """A rubric that compares two outputs."""
    return Rubric(
        name="pairs",
        version=1,
        title="Pairs",
        purpose="Which reply is better.",
        criteria=(
            Criterion(
                key="better",
                title="Better",
                question="Which is better?",
                scale=PreferenceScale(kind="preference"),
                guidance=Guidance(prefer_when="it answers", cannot_decide_when="unclear"),
            ),
        ),
    )


def item(number: int, **changes: Any) -> Item:
    """An item of one output."""
    given: dict[str, Any] = {
        "item_id": f"case-{number:03d}",
        "input": f"question {number}",
        "output": f"answer {number}",
        "evidence": {"policy": "30 days", "hidden_note": "canary-evidence"},
        "tags": {"channel": "canary-tag"},
        "system": "canary-system",
        "model_family": "canary-family",
    }
    return Item.model_validate(given | changes)


def pair(number: int) -> Item:
    """An item of two outputs."""
    return item(number, output=None, output_a=f"source A {number}", output_b=f"source B {number}")


def freeze(session: Session, items: int, asked: Rubric, make: Callable[[int], Item] = item) -> StoredSet:
    """A frozen set of so many items."""
    add_rubric(session=session, rubric=asked, actor="lead", at=NOW)
    made = [make(number) for number in range(items)]
    add_items(session=session, dataset=DATASET, items=made, at=NOW)
    digest = add_set(
        session=session,
        set_name="may",
        version=1,
        dataset=DATASET,
        content={"design": {"kind": "convenience"}},
        members=[MemberEntry(each.item_id, "canary-stratum") for each in made],
        actor="lead",
        at=NOW,
    )
    freeze_set(session=session, set_digest=digest, actor="lead", at=NOW)
    return get_set_by_digest(session=session, digest=digest)


def opened(
    store: Store,
    *,
    items: int = 6,
    raters: tuple[str, ...] = ("ann", "ben"),
    adjudicators: tuple[str, ...] = ("zoe",),
    asked: Rubric | None = None,
    plan: SessionPlan = PLAIN,
    make: Callable[[int], Item] = item,
    **more: Any,
) -> Rubric:
    """The rubric of a session that was opened at NOW."""
    asked = asked or rubric()
    with store.write() as session:
        stored = freeze(session, items, asked, make)
        opening = Opening(
            name=SESSION,
            stored_set=stored,
            rubric=asked,
            raters=raters,
            adjudicators=adjudicators,
            plan=plan,
            **more,
        )
        open_session(session=session, opening=opening, actor="lead", at=NOW)
    return asked


def said(value: str = "pass", at: float = 10, **more: Any) -> Answer:
    """An answer that was decided `at` seconds after NOW, two seconds after it was shown."""
    return Answer(value=value, shown_at=later(at - 2), decided_at=later(at), ui_version="1", **more)


def number_of(task: Task) -> int:
    """Which item a task is about, from its text."""
    return int(next(field.text for field in task.fields if field.key == "input").rpartition(" ")[2])


def rate_all(
    store: Store, rater: str, judge: Callable[[Task], str] = lambda task: "pass", start: float = 10
) -> list[Task]:
    """The tasks that a rater was given, in order, all answered as the function says."""
    seen: list[Task] = []
    while True:
        at = start + 5 * len(seen)
        task = rating.next_task(store=store, rater=rater, now=later(at - 2))
        if isinstance(task, Nothing):
            return seen
        value = judge(task)
        reason = "evidence_missing" if value == "unknown" else None
        given = said(value, at, reason=reason)
        rating.answer(store=store, rater=rater, task=task.key, answer=given, now=later(at))
        seen.append(task)
