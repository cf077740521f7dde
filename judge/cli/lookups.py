"""What several commands look up in the store by the words of a command line."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from rubrics.errors import DeclarationError, RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlmodel import Session

    from calibration.calibrate.evidence_set import EvidenceSet
    from calibration.policy import AdmissionPolicy
    from calibration.store.judges import StoredJudge
    from calibration.store.sets import StoredSet
    from rubrics.rubric import Rubric

ALL = "all"
BASELINE = "baseline"


def recorded_rubric(session: Session, ref: str) -> Rubric:
    """The published rubric NAME (its newest version) or NAME@VERSION."""
    from calibration.store.rubrics import get_rubric
    from rubrics.rubric import parse_ref

    if "@" in ref:
        wanted = parse_ref(ref)
        return get_rubric(session=session, name=wanted.name, version=wanted.version)
    return get_rubric(session=session, name=ref)


def recorded_set(session: Session, ref: str) -> StoredSet:
    """The recorded set NAME (its newest version) or NAME@VERSION.

    Raises:
        DeclarationError: the version is no number.
        RecordError: there is no such set.
    """
    from calibration.store.sets import get_set

    name, _, version = ref.partition("@")
    if version and not version.isdecimal():
        raise DeclarationError(f"{ref!r} is not NAME or NAME@VERSION; `voirdire set list` shows the sets")
    return get_set(session=session, set_name=name, version=int(version) if version else None)


def rubric_of_labels(session: Session, evidence: EvidenceSet, ref: str | None) -> Rubric:
    """The rubric that is named, or the only one under which the items are labelled.

    Raises:
        RecordError: several rubrics, or none, and none was named.
    """
    from calibration.store.assessments import rubrics_of_labels
    from calibration.store.rubrics import get_rubric_by_digest

    if ref is not None:
        return recorded_rubric(session, ref)
    digests = rubrics_of_labels(session=session, scope=evidence.scope)
    rubrics = [get_rubric_by_digest(session=session, digest=digest) for digest in digests]
    if len(rubrics) != 1:
        found = ", ".join(sorted(rubric.ref for rubric in rubrics)) or "none"
        raise RecordError(f"{evidence.called} is labelled under {found}; name one with --rubric NAME@V")
    return rubrics[0]


def evidence_of(
    session: Session, *, dataset: str | None, set_ref: str | None, actor: str, at: datetime
) -> EvidenceSet:
    """The set that is named, or the dataset frozen as a convenience set.

    Raises:
        DeclarationError: both are named, or neither.
    """
    from calibration.calibrate.evidence_set import convenience_set, open_set

    if (dataset is None) == (set_ref is None):
        raise DeclarationError("name the items with either --set NAME or --dataset NAME")
    if set_ref is not None:
        return open_set(session=session, ref=set_ref)
    return convenience_set(session=session, dataset=dataset or "", actor=actor, at=at)


def judges_of(
    session: Session, names: list[str], evidence: EvidenceSet, rubric: Rubric, criterion: str
) -> tuple[StoredJudge, ...]:
    """The judges that are named, or with `all` every one that answered, or was asked, under the criterion.

    Baselines are never candidates: `all` leaves them out, they stand beside the others.
    """
    from calibration.store.judges import get_judge, list_judges, list_runs

    if ALL not in names:
        return tuple(get_judge(session=session, judge=name) for name in names)
    runs = list_runs(session=session, dataset=evidence.dataset, rubric_digest=rubric.digest)
    asked = {  # a judge whose every call failed has no verdict and is not left out
        run.judge_digest
        for run in runs
        if criterion in json.loads(run.plan).get("criteria", ()) and not run.escalated
    }
    sent_on = {run.judge_digest for run in runs if run.escalated} - asked
    found = tuple(
        judge
        for judge in list_judges(session=session)
        if judge.kind != BASELINE
        and judge.digest not in sent_on
        and evidence.screened_by not in {judge.name, judge.digest}
        and (judge.digest in asked or _has_verdict(session, judge, evidence, rubric, criterion))
    )
    if not found:
        raise RecordError(
            f"no judge has a verdict on {evidence.called} under {rubric.ref} {criterion!r}; "
            "run `voirdire judge run` or `voirdire verdicts import`"
        )
    return found


def _has_verdict(
    session: Session, judge: StoredJudge, evidence: EvidenceSet, rubric: Rubric, criterion: str
) -> bool:
    from calibration.store.verdicts import iter_verdicts

    verdicts = iter_verdicts(
        session=session,
        scope=evidence.scope,
        criterion=criterion,
        judge_digest=judge.digest,
        rubric_digest=rubric.digest,
    )
    return next(verdicts, None) is not None


def recorded_policy(
    session: Session, *, name_or_file: str | None, far_limit: float | None, actor: str, at: datetime
) -> tuple[AdmissionPolicy | None, datetime | None]:
    """The policy with the moment since which it is recorded; a file or a new limit is recorded now."""
    from calibration.policy import AdmissionPolicy, far_only, load_policy
    from calibration.store.reports import add_policy, get_policy

    if far_limit is None and name_or_file is None:
        return None, None
    if far_limit is not None:
        policy = far_only(far_limit)
    else:
        policy = _by_name(session, name_or_file or "") or load_policy(name_or_file or "")
    add_policy(
        session=session,
        digest=policy.digest,
        policy_name=policy.name,
        version=policy.version,
        content=policy.model_dump(mode="json", by_alias=True),
        actor=actor,
        at=at,
    )
    stored = get_policy(session=session, policy=policy.digest)
    return AdmissionPolicy.model_validate(stored.content), stored.added_at


def _by_name(session: Session, name: str) -> AdmissionPolicy | None:
    """A recorded policy NAME or NAME@VERSION, None where there is none of that name."""
    from calibration.policy import AdmissionPolicy
    from calibration.store.reports import get_policy

    try:
        return AdmissionPolicy.model_validate(get_policy(session=session, policy=name).content)
    except RecordError:
        return None


def exploratory(
    policy: AdmissionPolicy | None, recorded_at: datetime | None, evidence: EvidenceSet
) -> str | None:
    """Why the report cannot admit: its policy is younger than the set; None where it may."""
    if policy is None or recorded_at is None or recorded_at <= evidence.frozen_at:
        return None
    return (
        f"{policy.label} was recorded {recorded_at:%Y-%m-%d %H:%M:%S}, after {evidence.called} was frozen "
        f"({evidence.frozen_at:%Y-%m-%d %H:%M:%S}): exploratory, cannot admit"
    )


def tell_families(session: Session, judges: Iterable[StoredJudge], evidence: EvidenceSet) -> None:
    """Tell on stderr of each judge that judges outputs of its own family of models."""
    from judge.cli.errors import tell
    from judge.population_lint import family_risks

    for judge in judges:
        for risk in family_risks(session=session, judge=judge, scope=evidence.scope):
            tell(f"! {risk}")
