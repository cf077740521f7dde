"""Fill a store with items, labels and verdicts given as counts, through its own functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from sqlmodel import Session

from calibration.calibrate import Asked
from calibration.calibrate.evidence_set import EvidenceSet, convenience_set
from calibration.policy import AdmissionPolicy
from calibration.store.assessments import LabelEntry, add_labels
from calibration.store.items import add_items
from calibration.store.judges import RunOrigin, add_judge, add_run, get_judge
from calibration.store.reports import add_policy
from calibration.store.rubrics import add_rubric
from calibration.store.verdicts import VerdictEntry, add_verdicts
from rubrics.digest import digest
from rubrics.item import Item
from rubrics.rubric import Rubric
from rubrics.stub import stub_rubric
from rubrics.verdict import UnknownReason

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
DATASET = "support"
CRITERION = "correct"
RUBRIC = stub_rubric("imported", CRITERION)

EXERCISE_3 = {"fail": {"accept": 16, "reject": 64}, "pass": {"accept": 114, "reject": 6}}
CLEAN = {"fail": {"reject": 60}, "pass": {"accept": 90}}

Counts = Mapping[str, Mapping[str, int]]


def rows(counts: Counts) -> list[tuple[str, str, str]]:
    """(item id, reference word, judge word) of each case."""
    found = [
        (reference, word)
        for reference, words in counts.items()
        for word, n in words.items()
        for _ in range(n)
    ]
    return [(f"i{number:04d}", reference, word) for number, (reference, word) in enumerate(found)]


def entry(run: str, item: str, word: str, **fields: object) -> VerdictEntry:
    """The verdict of a judge word: accept, reject, or the reason of an unknown."""
    answer = {"accept": "pass", "reject": "fail"}.get(word)
    reason = None if answer else UnknownReason(word)
    return VerdictEntry(run, item, CRITERION, answer or "unknown", reason, **fields)  # type: ignore[arg-type]


def fill_items(session: Session, counts: Counts, *, dataset: str = DATASET, **fields: object) -> None:
    """The items of the counts, one group each unless fields say otherwise."""
    add_items(
        session=session,
        dataset=dataset,
        items=[
            Item.model_validate(
                {"item_id": item, "input": f"q {item}", "output": f"answer to {item}", **fields}
            )
            for item, _, _ in rows(counts)
        ],
        at=NOW,
    )


def fill_labels(
    session: Session, counts: Counts, *, raters: Sequence[str] = ("a", "b"), blind: str = "declared"
) -> None:
    """The same label of every rater; an unresolved item gets one pass and one fail."""
    from calibration.labels import Blindness

    add_rubric(session=session, rubric=RUBRIC, actor="test", at=NOW)
    labels = [
        LabelEntry(item, CRITERION, rater, _label(reference, place), blind=Blindness(blind))
        for item, reference, _ in rows(counts)
        for place, rater in enumerate(raters)
    ]
    add_labels(session=session, dataset=DATASET, rubric_digest=RUBRIC.digest, labels=labels, at=NOW)


def _label(reference: str, place: int) -> str:
    return ("pass", "fail")[place % 2] if reference == "unresolved" else reference


def fill_judge(session: Session, name: str, *, kind: str = "external", rubric: Rubric = RUBRIC) -> str:
    """The key of a run of a judge of this name."""
    content = {"kind": kind, "name": name}
    add_judge(
        session=session,
        digest=digest(content),
        judge_name=name,
        kind=kind,
        content=content,
        actor="test",
        at=NOW,
    )
    return add_run(
        session=session,
        judge_digest=digest(content),
        rubric_digest=rubric.digest,
        dataset=DATASET,
        origin=RunOrigin.IMPORT,
        plan={},
        units=0,
        at=NOW,
    )


def fill_verdicts(session: Session, counts: Counts, *, judge: str = "gpt") -> str:
    """The verdicts of a judge on the items of the counts; its run."""
    run = fill_judge(session, judge)
    add_verdicts(session=session, verdicts=[entry(run, item, word) for item, _, word in rows(counts)], at=NOW)
    return run


def fill(session: Session, counts: Counts, *, judge: str = "gpt") -> None:
    """Items, two agreeing raters, and one judge."""
    fill_items(session, counts)
    fill_labels(session, counts)
    fill_verdicts(session, counts, judge=judge)


def record_policy(session: Session, policy: AdmissionPolicy, at: datetime = NOW) -> None:
    """Record a policy as the command line does."""
    add_policy(
        session=session,
        digest=policy.digest,
        policy_name=policy.name,
        version=policy.version,
        content=policy.model_dump(mode="json", by_alias=True),
        actor="test",
        at=at,
    )


def asked(
    session: Session,
    policy: AdmissionPolicy | None,
    *,
    judges: Sequence[str] = ("gpt",),
    evidence: EvidenceSet | None = None,
    at: datetime = NOW,
    **fields: object,
) -> Asked:
    """The question of these judges on the whole dataset, its policy recorded first."""
    if policy is not None:
        record_policy(session, policy, at)
    return Asked(
        evidence=evidence or convenience_set(session=session, dataset=DATASET, actor="test", at=at),
        rubric=RUBRIC,
        criterion=CRITERION,
        judges=tuple(get_judge(session=session, judge=name) for name in judges),
        policy=policy,
        actor="test",
        **fields,  # type: ignore[arg-type]
    )
