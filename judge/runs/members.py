"""What the members of a panel or cascade have said, each in a run of its own."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlmodel import Session

from calibration.store.calls import NO_ORDER
from calibration.store.items import Scope
from calibration.store.judges import StoredRun, get_judge, get_run, list_runs
from calibration.store.operation import costs_by_item
from calibration.store.verdicts import iter_verdicts
from judge.panel import CascadeJudge, Member, PanelJudge
from rubrics.answer import Answer, no_answer
from rubrics.errors import RecordError
from rubrics.verdict import UnknownReason

if TYPE_CHECKING:
    from judge.runs.plan import RunPlan

MISSING = no_answer(UnknownReason.MISSING)
Key = tuple[str, str, str]
"""Judge, item, criterion."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a member must have been asked."""

    dataset: str
    set_digest: str | None
    rubric_digest: str
    criteria: tuple[str, ...]

    @property
    def scope(self) -> Scope:
        """Which items these are."""
        return Scope(set_digest=self.set_digest) if self.set_digest else Scope(dataset=self.dataset)


@dataclass(frozen=True, slots=True)
class Said:
    """The answers of the members, by judge, item and criterion; one for each repeat, in their order."""

    answers: Mapping[Key, tuple[Answer, ...]]
    costs: Mapping[Key, int | None]
    """What all orders and repeats of a member cost, in millionths of a dollar; None where not known."""

    def votes(self, member: Member, item_id: str, criterion: str) -> tuple[Answer, ...]:
        """The member's votes on the item; one that was not cast yet is missing."""
        cast = self.answers.get((member.judge, item_id, criterion), ())[: member.votes]
        return (*cast, *(MISSING for _ in range(member.votes - len(cast))))


def find_members(*, session: Session, judge: PanelJudge | CascadeJudge, on: Ground) -> dict[str, str]:
    """The newest fitting run of each member, by the member's digest.

    Of a cascade's second judge a run on what the first sent on is enough; none is needed where it sent on
    nothing.

    Raises:
        RecordError: a member is not recorded, or was not asked about these items so often.
    """
    if isinstance(judge, PanelJudge):
        return {member.judge: run_of(session=session, member=member, on=on) for member in judge.judges}
    first, then = judge.judges
    found = {first.judge: run_of(session=session, member=first, on=on)}
    second = _newest(session, then, on) or _newest(
        session, then, on, sent_on=sent_on(judge, found[first.judge])
    )
    if second is not None:
        return {**found, then.judge: second}
    said = answers_of(session=session, run_key=found[first.judge], on=on)
    if any(judge.escalates(votes[0]) for (_, criterion), votes in said.items() if criterion in on.criteria):
        name = get_judge(session=session, judge=then.judge).name
        raise RecordError(
            f"the second judge {name!r} was not asked about what the first sends on; `voirdire judge run "
            f"--judge {judge.name}` asks it"
        )
    return found


def sent_on(judge: CascadeJudge, first_run: str) -> dict[str, str]:
    """What the plan of a run says that asks the second judge only about what the first's run sent on."""
    return {"cascade": judge.digest, "first": first_run}


def run_of(*, session: Session, member: Member, on: Ground) -> str:
    """The newest run in which the member was asked about all items, by its key; RecordError without one."""
    key = _newest(session, member, on)
    if key is not None:
        return key
    found = get_judge(session=session, judge=member.judge)
    repeats = f" --repeats {member.votes}" if member.votes > 1 else ""
    raise RecordError(
        f"the member {found.name!r} was not asked about these items under {', '.join(on.criteria)} "
        f"{member.votes} times; run `voirdire judge run --judge {found.name}{repeats}` on them first"
    )


def _newest(
    session: Session, member: Member, on: Ground, *, sent_on: Mapping[str, str] | None = None
) -> str | None:
    runs = list_runs(
        session=session, dataset=on.dataset, judge_digest=member.judge, rubric_digest=on.rubric_digest
    )
    for run in reversed(runs):
        plan = json.loads(run.plan)
        asked = set(on.criteria) <= set(plan.get("criteria", on.criteria))
        often = plan.get("repeats", member.votes) >= member.votes
        if run.set_digest == on.set_digest and asked and often and plan.get("escalated") == sent_on:
            return run.key
    return None


def read_members(*, session: Session, plan: RunPlan) -> Said:
    """What the members' runs hold on the items of the plan, and what that cost."""
    on = Ground(plan.dataset, plan.set_digest, plan.rubric.digest, ())
    answers: dict[Key, tuple[Answer, ...]] = {}
    costs: dict[Key, int | None] = {}
    for judge, run_key in plan.members.items():
        for (item_id, criterion), votes in answers_of(session=session, run_key=run_key, on=on).items():
            answers[judge, item_id, criterion] = votes
        paid = costs_by_item(session=session, scope=on.scope, run_key=run_key)
        costs |= {(judge, *where): micros for where, micros in paid.items()}
    return Said(answers, costs)


def answers_of(*, session: Session, run_key: str, on: Ground) -> dict[tuple[str, str], tuple[Answer, ...]]:
    """What a run holds by item and criterion: the answer of each repeat, its orders reconciled."""
    from calibration.calibrate.verdicts import deployed

    due = _orders(get_run(session=session, key=run_key))
    given = defaultdict(lambda: defaultdict(list))  # type: ignore[var-annotated]  # verdicts by item, repeat
    for verdict in iter_verdicts(session=session, scope=on.scope, run_key=run_key):
        given[verdict.item_id, verdict.criterion][verdict.repeat].append(verdict)
    return {
        where: tuple(deployed(repeats[number], due) for number in sorted(repeats))
        for where, repeats in given.items()
    }


def _orders(run: StoredRun) -> tuple[str | None, ...]:
    """The orders in which the run asks; an imported one does not say."""
    orders = json.loads(run.plan).get("orders", ())
    return tuple(None if order == NO_ORDER else order for order in orders)
