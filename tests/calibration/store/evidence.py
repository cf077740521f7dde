"""A small world of evidence: one rubric, a few items, three raters, a judge and its run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlmodel import Session

from calibration.store.assessments import LabelEntry
from calibration.store.decisions import DecisionScope, StoredDecision, add_decision, current_decision
from calibration.store.items import add_items
from calibration.store.judges import RunOrigin, add_judge, add_run
from calibration.store.reports import Look, LookKind, add_policy, add_report
from calibration.store.rubrics import add_rubric
from calibration.store.verdicts import VerdictEntry
from rubrics.criterion import Criterion, Guidance
from rubrics.digest import digest
from rubrics.item import Item
from rubrics.rubric import Rubric
from rubrics.scale import OrdinalScale, PreferenceScale

NOW = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)
DATASET = "support"


def later(seconds: float) -> datetime:
    """A moment after NOW."""
    return NOW + timedelta(seconds=seconds)


def rubric(version: int = 1, question: str = "Is it correct?") -> Rubric:
    """A rubric with a binary and an ordinal criterion."""
    levels = [{"level": str(level), "anchor": f"like {level}"} for level in range(1, 5)]
    return Rubric(
        name="refund-policy",
        version=version,
        title="Refunds",
        purpose="Whether a reply keeps to the refund policy.",
        criteria=(
            Criterion(
                key="correct",
                title="Correct",
                question=question,
                guidance=Guidance(pass_when="it is", fail_when="it is not", cannot_decide_when="unclear"),
            ),
            Criterion(
                key="tone",
                title="Tone",
                question="How polite is it?",
                scale=OrdinalScale.model_validate({"kind": "ordinal", "levels": levels, "accept_at": "3"}),
                required=False,
                guidance=Guidance(cannot_decide_when="unclear"),
            ),
        ),
    )


def pair_rubric() -> Rubric:
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
        "item_id": f"case-{number}",
        "input": f"question {number}",
        "output": f"answer {number}",
        "evidence": {"policy": "30 days"},
        "group": f"prompt-{number // 2}",
        "tags": {"channel": "mail" if number % 2 else "chat"},
        "system": "bot-7",
        "model_family": "llama",
    }
    return Item.model_validate(given | changes)


def label(number: int, rater: str = "ann", answer: str = "pass", **changes: Any) -> LabelEntry:
    """A label on item `number`."""
    given: dict[str, Any] = {
        "item_id": f"case-{number}",
        "criterion": "correct",
        "rater": rater,
        "answer": answer,
    }
    return LabelEntry(**(given | changes))


def verdict(run_key: str, number: int, answer: str = "pass", **changes: Any) -> VerdictEntry:
    """A verdict on item `number`."""
    given: dict[str, Any] = {
        "run_key": run_key,
        "item_id": f"case-{number}",
        "criterion": "correct",
        "answer": answer,
    }
    return VerdictEntry(**(given | changes))


@dataclass(frozen=True)
class World:
    """What was laid down."""

    rubric: Rubric
    judge_digest: str
    run_key: str


def lay_down(session: Session, *, items: int = 6, judge: str = "gpt") -> World:
    """A rubric, items, a judge and its run; nothing that was there already is added twice."""
    asked = rubric()
    add_rubric(session=session, rubric=asked, actor="lead", at=NOW)
    add_items(session=session, dataset=DATASET, items=(item(n) for n in range(items)), at=NOW)
    spec = {"model": judge, "temperature": 0}
    add_judge(
        session=session,
        digest=digest(spec),
        judge_name=judge,
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
    return World(asked, digest(spec), run)


def add_report_and_policy(session: Session, world: World, *, inputs: str = "i1") -> tuple[str, str]:
    """The digests of a recorded report and of the policy it was made by."""
    policy = {"id": "acceptance", "limit": 0.1}
    add_policy(
        session=session,
        digest=digest(policy),
        policy_name="acceptance",
        version=1,
        content=policy,
        actor="lead",
        at=NOW,
    )
    report = {"far": {"x": 1, "n": 80}, "inputs": inputs}
    add_report(
        session=session,
        digest=digest(report),
        input_digest=digest(inputs),
        judge_digest=world.judge_digest,
        rubric_digest=world.rubric.digest,
        criterion="correct",
        dataset=DATASET,
        content=report,
        policy_digest=digest(policy),
        actor="lead",
        at=NOW,
    )
    return digest(report), digest(policy)


def scope_of(world: World, population: str = "all mails") -> DecisionScope:
    """The scope of a decision about the world's judge."""
    return DecisionScope(world.judge_digest, world.rubric.digest, "correct", population, "acceptance")


def sign(
    session: Session,
    world: World,
    *,
    outcome: str = "admit",
    signer: str = "lead",
    population: str = "all mails",
    seconds: float = 0,
) -> StoredDecision:
    """A decision that supersedes whatever stands for the scope."""
    report, policy = add_report_and_policy(session, world)
    scope = scope_of(world, population)
    standing = current_decision(session=session, scope=scope)
    return add_decision(
        session=session,
        scope=scope,
        report_digest=report,
        policy_digest=policy,
        outcome=outcome,
        content={"binding": "far", "reasons": ["it holds"]},
        signer=signer,
        valid_until=later(90 * 86400),
        supersedes=standing.hash if standing else None,
        at=later(seconds),
    )


def look(world: World, inputs: str = "i1", **changes: Any) -> Look:
    """A look at the evidence."""
    given: dict[str, Any] = {
        "input_digest": digest(inputs),
        "kind": LookKind.REPORT,
        "criterion": "correct",
        "actor": "lead",
        "at": NOW,
        "judge_digest": world.judge_digest,
        "rubric_digest": world.rubric.digest,
    }
    return Look(**(given | changes))


def ids(found: Iterable[Any]) -> list[str]:
    """The item ids of labels or verdicts, in their order."""
    return [each.item_id for each in found]
