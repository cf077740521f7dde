"""An audit of a system that wrote no calibrated output: some of its accepted and other outputs are labelled.

The strata are the judge's own verdicts, so within a stratum its error is 0 or 1 and only the share of
failures is to be learnt: the estimator is that of a draw by judge x rater cells, not the gate's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from random import Random
from typing import Any

from sqlmodel import Session

from calibration.calibrate.references import read_references
from calibration.labeling.plan import SessionPlan
from calibration.labeling.sessions import Opening, open_session
from calibration.policy import AdmissionPolicy
from calibration.sampling import DesignKind
from calibration.statistics.adjudication import AdjudicatedFar, AdjudicationCell, adjudicated_far
from calibration.store.decisions import StoredDecision
from calibration.store.grades import StoredGrade, iter_grades
from calibration.store.items import Scope, add_items
from calibration.store.reports import get_policy
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sets import MemberEntry, StoredSet, add_set, freeze_set, get_set_by_digest
from calibration.store.watching import AuditDraw, audit_draws, open_audits, record_audit_draw
from calibration.values import Undefined
from rubrics.errors import DeclarationError, RecordError
from rubrics.item import Item, Split
from rubrics.rubric import Rubric
from rubrics.verdict import FAIL, PASS, Verdict

SHOWN_OF_A_KEY = 16
ACCEPTED, NOT_ACCEPTED = "accepted", "not_accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemDraw:
    """Which outputs of a system are to be labelled, and by whom."""

    decision: StoredDecision
    system: str
    items: Sequence[Item]
    """The outputs as they were graded; the store keeps only their digests."""
    accepted: int
    """How many of those that the judge accepted."""
    not_accepted: int
    session_name: str
    raters: tuple[str, ...]
    adjudicators: tuple[str, ...] = ()
    raters_per_item: int = 2
    seed: int = 0


def draw_system(*, session: Session, asked: SystemDraw, actor: str, at: datetime) -> AuditDraw:
    """A random sample of the system's accepted and of its other outputs, each with its recorded probability.

    It is a labeling session on a frozen set; whoever rates sees neither verdict nor stratum nor system.

    Args:
        session: a writing session.
        asked: the system, the outputs and the people.
        actor: who draws.
        at: now.

    Raises:
        RecordError: no output of the system was graded on the decision.
        DeclarationError: the texts of graded outputs are not among the items, or nothing is to be drawn.
    """
    frame = _frame(session, asked)
    members, cells = _chosen(asked, frame)
    texts = frame[ACCEPTED] | frame[NOT_ACCEPTED]
    dataset = f"audit-{asked.session_name}"
    add_items(session=session, dataset=dataset, items=[texts[each.item_id] for each in members], at=at)
    set_digest = add_set(
        session=session,
        set_name=dataset,
        version=1,
        dataset=dataset,
        content={
            "design": {"kind": DesignKind.STRATIFIED.value, "seed": asked.seed},
            "audit_of": asked.system,
        },
        members=members,
        actor=actor,
        at=at,
    )
    freeze_set(session=session, set_digest=set_digest, actor=actor, at=at)
    stored_set = get_set_by_digest(session=session, digest=set_digest)
    rubric = get_rubric_by_digest(session=session, digest=asked.decision.scope.rubric_digest)
    open_session(session=session, opening=_opening(asked, stored_set, rubric), actor=actor, at=at)
    draw = AuditDraw(asked.decision.hash, asked.system, asked.session_name, set_digest, asked.seed, cells, at)
    return record_audit_draw(session=session, draw=draw, actor=actor)


def _chosen(
    asked: SystemDraw, frame: Mapping[str, Mapping[str, Item]]
) -> tuple[list[MemberEntry], tuple[dict[str, Any], ...]]:
    """The outputs drawn, in an order that tells no stratum, and the record of each stratum."""
    rng = Random(asked.seed)
    members: list[MemberEntry] = []
    cells = []
    for stratum, wanted in ((ACCEPTED, asked.accepted), (NOT_ACCEPTED, asked.not_accepted)):
        there = frame[stratum]
        chosen = sorted(rng.sample(sorted(there), min(wanted, len(there))))
        members += [MemberEntry(key, stratum, len(chosen) / len(there)) for key in chosen]
        cells.append({"accepted": stratum == ACCEPTED, "cases": len(there), "items": chosen})
    if any(cell["cases"] and not cell["items"] for cell in cells):
        raise DeclarationError(
            "outputs of both kinds are drawn, accepted and not accepted: ask for at least one of each"
        )
    return sorted(members, key=lambda each: each.item_id), tuple(cells)


def _opening(asked: SystemDraw, stored_set: StoredSet, rubric: Rubric) -> Opening:
    return Opening(
        name=asked.session_name,
        stored_set=stored_set,
        rubric=rubric,
        raters=asked.raters,
        adjudicators=asked.adjudicators,
        plan=SessionPlan(
            raters_per_item=asked.raters_per_item, repeat_share=0, repeats_at_least=0, seed=asked.seed
        ),
    )


def _frame(session: Session, asked: SystemDraw) -> Mapping[str, dict[str, Item]]:
    """The graded outputs of the system by stratum, under opaque ids: a draw with holes has no probability."""
    texts = {item.content_digest: item for item in asked.items}
    frame: dict[str, dict[str, Item]] = {ACCEPTED: {}, NOT_ACCEPTED: {}}
    absent = 0
    for grade, accepted in _graded(session, asked.decision, asked.system):
        item = texts.get(grade.content_digest)
        if item is None:
            absent += 1
            continue
        key = grade.key[:SHOWN_OF_A_KEY]
        blind = {"item_id": key, "split": Split.TUNING, "group": key, "tags": {}, "system": ""}
        frame[ACCEPTED if accepted else NOT_ACCEPTED][key] = item.model_copy(update=blind)
    if absent:
        raise DeclarationError(
            f"the texts of {absent:,} graded outputs of {asked.system!r} are not in the file, and a draw "
            "from the others has no known probability: give every file that was graded"
        )
    if not any(frame.values()):
        raise RecordError(
            f"no output of {asked.system!r} was graded on decision {asked.decision.hash[:12]}; "
            "`voirdire drift systems` lists the systems that were"
        )
    return frame


def _graded(
    session: Session, decision: StoredDecision, system: str | None = None
) -> Iterable[tuple[StoredGrade, bool]]:
    """Grades that rest on the decision, with whether its judge accepted; of one system where given."""
    for grade in iter_grades(session=session, rubric_digest=decision.scope.rubric_digest):
        if system is not None and grade.system != system:
            continue
        for said in grade.content["criteria"]:
            if said["criterion"] == decision.scope.criterion and said["decision"] == decision.hash:
                yield grade, said["verdict"] == Verdict.PASS.value


@dataclass(frozen=True, slots=True)
class SystemAudit:
    """How the audit of a system stands."""

    system: str
    graded: int
    """Grades of its outputs that rest on the decision."""
    draw: AuditDraw | None
    """None while an audit is asked for and nothing was drawn."""
    labelled: int = 0
    """Drawn outputs with a resolved reference."""
    failures: int = 0
    """Reference failures among them."""
    far: AdjudicatedFar | None = None
    """Over the resolved ones; None while there is no failure or a stratum is unlabelled."""
    lower: float | None = None
    """With what is unresolved counted for the judge."""
    upper: float | None = None
    """With what is unresolved counted against it."""
    needed: int = 0
    """Reference failures that the policy asks of a judge."""
    limit: float = 1.0

    @property
    def holds(self) -> bool:
        """True where the audit shows, on as many failures as the policy asks for, that the limit is kept."""
        return self.upper is not None and self.failures >= self.needed and self.upper <= self.limit


def system_audits(*, session: Session, decision: StoredDecision) -> tuple[SystemAudit, ...]:
    """Every system of which an audit was asked for or drawn under the decision, by name."""
    policy = _policy_of(session, decision)
    draws = {each.system: each for each in audit_draws(session=session, decision=decision.hash)}
    asked = {system for about, system in open_audits(session=session) if about == decision.hash}
    if not (names := asked | set(draws)):
        return ()
    counts: dict[str, int] = {}
    for grade, _ in _graded(session, decision):
        counts[grade.system or ""] = counts.get(grade.system or "", 0) + 1
    return tuple(
        _read(session, decision, policy, _bare(name, counts.get(name, 0), draws.get(name), policy))
        for name in sorted(names)
    )


def _policy_of(session: Session, decision: StoredDecision) -> AdmissionPolicy:
    stored = get_policy(session=session, policy=decision.policy_digest)
    return AdmissionPolicy.model_validate(stored.content)


def _bare(name: str, graded: int, draw: AuditDraw | None, policy: AdmissionPolicy) -> SystemAudit:
    limit = policy.primary.upper_at_most
    return SystemAudit(name, graded, draw, needed=policy.minimum.fail, limit=limit)


def _read(
    session: Session, decision: StoredDecision, policy: AdmissionPolicy, audit: SystemAudit
) -> SystemAudit:
    """The audit with what its labels show; as it is where nothing was drawn."""
    draw = audit.draw
    if draw is None:
        return audit
    rubric = get_rubric_by_digest(session=session, digest=decision.scope.rubric_digest)
    references = read_references(
        session=session,
        scope=Scope(set_digest=draw.set_digest),
        rubric_digest=rubric.digest,
        criterion=rubric.criterion(decision.scope.criterion),
        rule=policy.reference.label_rule,
        min_raters=max(1, policy.minimum.raters_per_case),
    )
    said = {item: found.label.verdict for item, found in references.by_item.items()}
    resolved = [_cell(cell, said, None) for cell in draw.cells]
    far = adjudicated_far(resolved, z=policy.z)
    worst = adjudicated_far([_cell(cell, said, cell["accepted"]) for cell in draw.cells], z=policy.z)
    best = adjudicated_far([_cell(cell, said, not cell["accepted"]) for cell in draw.cells], z=policy.z)
    return replace(
        audit,
        labelled=sum(cell.adjudicated for cell in resolved),
        failures=sum(cell.failures for cell in resolved),
        far=None if isinstance(far, Undefined) else far,
        lower=None if isinstance(best, Undefined) else best.interval.lower,
        upper=None if isinstance(worst, Undefined) else worst.interval.upper,
    )


def _cell(
    cell: Mapping[str, Any], said: Mapping[str, Verdict], unresolved_fail: bool | None
) -> AdjudicationCell:
    """A stratum as counted; what is unresolved is left out, or counted as failing or passing where told."""
    words = [said.get(item) for item in cell["items"]]
    resolved = [word for word in words if word in {PASS.verdict, FAIL.verdict}]
    failures = sum(word is FAIL.verdict for word in resolved)
    open_ = len(words) - len(resolved)
    if unresolved_fail is None:
        n = len(resolved)
    else:
        n, failures = len(words), failures + (open_ if unresolved_fail else 0)
    return AdjudicationCell(cell["accepted"], True, cell["cases"], n, failures)


def audited_systems(*, session: Session, decision: StoredDecision) -> tuple[str, ...]:
    """The systems whose own audit shows, on enough failures, that the judge keeps its limit on them."""
    draws = {each.system: each for each in audit_draws(session=session, decision=decision.hash)}
    if not draws:
        return ()
    policy = _policy_of(session, decision)
    found = (
        _read(session, decision, policy, _bare(name, 0, draw, policy)) for name, draw in sorted(draws.items())
    )
    return tuple(each.system for each in found if each.holds)
