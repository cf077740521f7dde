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


@dataclass(frozen=True, slots=True)
class Said:
    """The answers of the members, by judge, item and criterion; one for each repeat, in their order."""

    answers: Mapping[Key, tuple[Answer, ...]]

    def votes(self, member: Member, item_id: str, criterion: str) -> tuple[Answer, ...]:
        """The member's votes on the item; one that was not cast yet is missing."""
        cast = self.answers.get((member.judge, item_id, criterion), ())[: member.votes]
        return (*cast, *(MISSING for _ in range(member.votes - len(cast))))


def find_members(*, session: Session, judge: PanelJudge | CascadeJudge, on: Ground) -> dict[str, str]:
    """The newest fitting run of each member, by the member's digest.

    Raises:
        RecordError: a member is not recorded, or was not asked about these items so often.
    """
    return {member.judge: _run_of(session, member, on) for member in judge.judges}


def _run_of(session: Session, member: Member, on: Ground) -> str:
    runs = list_runs(
        session=session, dataset=on.dataset, judge_digest=member.judge, rubric_digest=on.rubric_digest
    )
    for run in reversed(runs):
        plan = json.loads(run.plan)
        asked = set(on.criteria) <= set(plan.get("criteria", on.criteria))
        if run.set_digest == on.set_digest and asked and plan.get("repeats", member.votes) >= member.votes:
            return run.key
    found = get_judge(session=session, judge=member.judge)
    repeats = f" --repeats {member.votes}" if member.votes > 1 else ""
    raise RecordError(
        f"the member {found.name!r} was not asked about these items under {', '.join(on.criteria)} "
        f"{member.votes} times; run `voirdire judge run --judge {found.name}{repeats}` on them first"
    )


def read_members(*, session: Session, plan: RunPlan) -> Said:
    """What the members' runs hold on the items of the plan."""
    from calibration.calibrate.verdicts import deployed

    scope = Scope(set_digest=plan.set_digest) if plan.set_digest else Scope(dataset=plan.dataset)
    answers: dict[Key, tuple[Answer, ...]] = {}
    for judge, run_key in plan.members.items():
        due = _orders(get_run(session=session, key=run_key))
        given = defaultdict(lambda: defaultdict(list))  # type: ignore[var-annotated]  # verdicts by item, repeat
        for verdict in iter_verdicts(session=session, scope=scope, run_key=run_key):
            given[verdict.item_id, verdict.criterion][verdict.repeat].append(verdict)
        for (item_id, criterion), repeats in given.items():
            votes = tuple(deployed(repeats[number], due) for number in sorted(repeats))
            answers[judge, item_id, criterion] = votes
    return Said(answers)


def _orders(run: StoredRun) -> tuple[str | None, ...]:
    """The orders in which the run asks; an imported one does not say."""
    orders = json.loads(run.plan).get("orders", ())
    return tuple(None if order == NO_ORDER else order for order in orders)
