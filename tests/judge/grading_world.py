"""A rubric with a criterion for every kind of grader, and judges that are admitted on real records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlmodel import Session

from calibration.calibrate import Asked, calibrate
from calibration.calibrate.evidence_set import convenience_set
from calibration.labels import Blindness
from calibration.policy import AdmissionPolicy, far_only, shipped_policy
from calibration.registry import ANY_POPULATION, Signature, sign
from calibration.store.assessments import LabelEntry, add_labels
from calibration.store.decisions import DecisionScope, StoredDecision
from calibration.store.items import add_items
from calibration.store.judges import RunOrigin, add_judge, add_run, get_judge
from calibration.store.reports import add_policy
from calibration.store.rubrics import add_rubric
from calibration.store.verdicts import VerdictEntry, add_verdicts
from judge.calls import ModelCallError, ModelReply, ModelRequest
from judge.fake_model import FakeTransport, said
from judge.runs.connect import Connection
from judge.spec import JudgeSpec, ModelJudge, RuleJudge
from rubrics.criterion import Criterion, EvidenceField, EvidenceSource, Guidance, JudgeRole
from rubrics.item import Item
from rubrics.rubric import Rubric

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DATASET = "answers"
SIGNED = Signature("R. Ito", "read every accepted failure")


def _criterion(key: str, **fields: Any) -> Criterion:
    guidance = Guidance(pass_when="it is so", fail_when="it is not", cannot_decide_when="unclear")
    return Criterion(key=key, title=key.title(), question=f"Is it {key}?", guidance=guidance, **fields)


RUBRIC = Rubric(
    name="refunds",
    version=1,
    title="Refund answers",
    purpose="Tell whether an answer may go out.",
    evidence=(EvidenceField(key="policy", source=EvidenceSource.RECORDED, title="Policy"),),
    criteria=(
        _criterion("true"),
        _criterion("kind"),
        _criterion("risky", required=False, role=JudgeRole.REVIEW_TRIGGER),
        _criterion("style", required=False, role=JudgeRole.DIAGNOSTIC),
    ),
)


def rule(criterion: str, pattern: str, name: str | None = None) -> RuleJudge:
    """A judge that fails outputs in which the pattern occurs."""
    rules = ({"kind": "forbidden", "name": "no", "patterns": (pattern,), "says": f"says {pattern}"},)
    return RuleJudge.model_validate(
        {
            "kind": "rule",
            "name": name or f"{criterion}-by-rule",
            "version": 1,
            "criterion": criterion,
            "evidence": ("policy",),
            "rules": rules,
        }
    )


def model(name: str = "kind-by-model", **fields: Any) -> ModelJudge:
    """A judge that is a model."""
    return ModelJudge.model_validate({"kind": "model", "name": name, "model": "openai/gpt-x", **fields})


def item(item_id: str, output: str = "You have 30 days.", **fields: Any) -> Item:
    """An item like the calibrated ones."""
    given = {
        "item_id": item_id,
        "input": "How long do I have?",
        "output": output,
        "evidence": {"policy": "Returns: 30 days."},
        "tags": {"lang": "en" if len(item_id) % 2 else "de"},
        "system": "bot-7",
    }
    return Item.model_validate({**given, **fields})


BAD, GOOD = "It is free and rude and risky.", "You have 30 days to send it."


def calibrated_items(failures: int = 60, passes: int = 60) -> list[Item]:
    """Failing and passing outputs; the failing ones hold what the rules forbid."""
    return [item(f"f{n}", BAD) for n in range(failures)] + [item(f"p{n:02d}", GOOD) for n in range(passes)]


def lay_down(session: Session, items: Sequence[Item] | None = None, rubric: Rubric = RUBRIC) -> None:
    """Rubric, items and the labels of two raters under every criterion."""
    chosen = calibrated_items() if items is None else items
    add_rubric(session=session, rubric=rubric, actor="lead", at=NOW)
    add_items(session=session, dataset=DATASET, items=chosen, at=NOW)
    labels = [
        LabelEntry(
            each.item_id,
            criterion.key,
            rater,
            "fail" if each.output == BAD else "pass",
            blind=Blindness.DECLARED,
        )
        for each in chosen
        for criterion in rubric.criteria
        for rater in ("ann", "ben")
    ]
    add_labels(session=session, dataset=DATASET, rubric_digest=rubric.digest, labels=labels, at=NOW)


def record_policy(session: Session, policy: AdmissionPolicy) -> None:
    """The policy, before any set is frozen."""
    add_policy(
        session=session,
        digest=policy.digest,
        policy_name=policy.name,
        version=policy.version,
        content=policy.model_dump(mode="json", by_alias=True),
        actor="lead",
        at=NOW - timedelta(days=1),
    )


WATCHFUL = far_only(0.10).model_copy(
    update={
        "name": "watchful",
        "recalibrate_on": ("judge", "evidence_interface", "population", "anchor_change", "audit_e_value"),
    }
)


def judged(
    session: Session,
    spec: JudgeSpec,
    criterion: str,
    *,
    rubric: Rubric = RUBRIC,
    reported: str | None = None,
    wrong: int = 0,
) -> None:
    """A recorded run of the judge that is right about every item but so many failures."""
    add_judge(
        session=session,
        digest=spec.digest,
        judge_name=spec.name,
        kind=spec.kind,
        content=spec.model_dump(mode="json"),
        actor="lead",
        at=NOW,
    )
    run = add_run(
        session=session,
        judge_digest=spec.digest,
        rubric_digest=rubric.digest,
        dataset=DATASET,
        origin=RunOrigin.IMPORT,
        plan={"criterion": criterion},
        units=0,
        at=NOW,
    )
    verdicts = [
        VerdictEntry(
            run,
            each.item_id,
            criterion,
            "fail" if each.output == BAD and n >= wrong else "pass",
            reported_model=reported,
            cost_micros=200 if reported else None,
            latency_ms=40 if reported else None,
        )
        for n, each in enumerate(calibrated_items())
    ]
    add_verdicts(session=session, verdicts=verdicts, at=NOW)


def admitted(
    session: Session,
    spec: JudgeSpec,
    criterion: str,
    *,
    policy: AdmissionPolicy | None = None,
    role: str = "acceptance",
    rubric: Rubric = RUBRIC,
    days: float = 0,
    population: str = ANY_POPULATION,
    reported: str | None = None,
    wrong: int = 0,
) -> StoredDecision:
    """The signed decision on the judge, whatever it is."""
    chosen = policy or (WATCHFUL if role == "acceptance" else shipped_policy(role))
    record_policy(session, chosen)
    judged(session, spec, criterion, rubric=rubric, reported=reported, wrong=wrong)
    asked = Asked(
        evidence=convenience_set(session=session, dataset=DATASET, actor="lead", at=NOW),
        rubric=rubric,
        criterion=criterion,
        judges=(get_judge(session=session, judge=spec.digest),),
        policy=chosen,
        actor="lead",
    )
    (found,) = calibrate(session=session, asked=asked, at=NOW).comparison.examinations
    assert found.decision is not None
    return sign(
        session=session,
        scope=DecisionScope(spec.digest, rubric.digest, criterion, population, role),
        report=found.report,
        decision=found.decision,
        policy=chosen,
        signature=SIGNED,
        at=NOW + timedelta(days=days),
    )


Handler = Callable[[ModelRequest], ModelReply | ModelCallError]


def reaching(
    handler: Handler,
) -> tuple[Callable[[ModelJudge], AbstractContextManager[Connection]], FakeTransport]:
    """A way to reach a fake model, and that model."""
    transport = FakeTransport(handler)
    return (lambda spec: nullcontext(Connection(lambda: transport, None))), transport


def says(verdict: str, *, model_name: str = "gpt-x-2026") -> Handler:
    """A model that always gives this verdict."""
    return lambda _: said(f'{{"reason": "as seen", "verdict": "{verdict}"}}', model=model_name)
