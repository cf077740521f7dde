"""Whether a set still is evidence about a judge, or shaped it: who saw errors, and declared what later."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from calibration.calibrate.evidence_set import EvidenceSet
from calibration.calibrate.persons import same_name
from calibration.calibrate.references import References
from calibration.calibrate.verdicts import read_verdicts
from calibration.policy import AdmissionPolicy
from calibration.policy_lint import clean_failures
from calibration.store.judges import StoredJudge, get_judge
from calibration.store.reports import Look, LookKind, Steered, list_looks
from calibration.store.steering import clear_steering, clearings, declared, revealing_looks
from rubrics.answer import Answer
from rubrics.criterion import Criterion
from rubrics.digest import short
from rubrics.errors import DeclarationError
from rubrics.rubric import Rubric
from rubrics.verdict import Verdict

_SEEN = {
    LookKind.REPORT: "used a report on it to change something",
    LookKind.DISAGREEMENTS: "read its disagreements",
    LookKind.EXPORT: "exported its errors",
}


@dataclass(frozen=True, slots=True)
class FreshSet:
    """How large a set that decides would have to be."""

    failures: int
    cases: int | None
    """At the failure share of the set at hand; None where it has no failure."""

    def __str__(self) -> str:
        about = f", about {self.cases:,} cases drawn at random" if self.cases else ""
        return f"draw a fresh set with {self.failures:,} reference failures{about}"


def fresh_set(policy: AdmissionPolicy | None, references: References) -> FreshSet:
    """The size of a set that could admit a judge without a fault under the policy."""
    failures = max(policy.minimum.fail, clean_failures(policy)) if policy else 0
    labels = [found.label.verdict for found in references.by_item.values()]
    failing = labels.count(Verdict.FAIL)
    cases = math.ceil(failures * len(labels) / failing) if failing and failures else None
    if policy and cases is not None:
        cases = max(cases, policy.minimum.cases, failures + policy.minimum.passing)
    return FreshSet(failures, cases)


def steered_by(
    *, session: Session, evidence: EvidenceSet, judge: StoredJudge, rubric: Rubric
) -> tuple[tuple[Look, str], ...]:
    """The looks by which the set shaped the judge or the rubric, each with the digest of what it shaped.

    A declared steering shapes whatever is declared after it, by whomever; errors that somebody saw are
    presumed to shape what the same person declares afterwards, until a second person signs otherwise.
    """
    cleared = clearings(session=session)
    subjects = [
        (digest, found)
        for digest in (judge.digest, rubric.digest)
        if (found := declared(session=session, digest=digest)) is not None
    ]
    return tuple(
        (look, digest)
        for look in revealing_looks(session=session, set_digest=evidence.digest)
        for digest, found in subjects
        if found.at > look.at
        and (look.steered is Steered.YES or found.actor == look.actor)
        and (look.input_digest, digest) not in cleared
    )


def steering_reason(
    *,
    session: Session,
    evidence: EvidenceSet,
    judge: StoredJudge,
    rubric: Rubric,
    policy: AdmissionPolicy | None,
    references: References,
    criterion: Criterion,
) -> str | None:
    """Why the set decides nothing about the judge, with the size of one that would; None where it may."""
    found = steered_by(session=session, evidence=evidence, judge=judge, rubric=rubric)
    if not found:
        return _renamed(session, evidence, judge, rubric, criterion)
    look, digest = found[0]
    what = "the judge" if digest == judge.digest else "the rubric"
    return (
        f"{evidence.called} is development data here: {look.actor} {_SEEN[look.kind]} on "
        f"{look.at:%Y-%m-%d %H:%M} UTC, and {what} was declared later; {fresh_set(policy, references)}, or "
        f"have a second person sign that look {short(look.input_digest)} steered nothing"
    )


def _renamed(
    session: Session, evidence: EvidenceSet, judge: StoredJudge, rubric: Rubric, criterion: Criterion
) -> str | None:
    """That an imported judge was declared after a look at another one that says the very same on the set.

    Another name opens no new count of looks: the outcome was known when the name was chosen.
    """
    known = declared(session=session, digest=judge.digest)
    if judge.kind != "external" or known is None:
        return None
    mine = _answers(session, evidence, judge.digest, rubric, criterion)
    cleared = clearings(session=session)
    looks = list_looks(session=session, set_digest=evidence.digest, criterion=criterion.key)
    for look in looks:
        other = look.judge_digest
        if other in {None, judge.digest} or look.rubric_digest != rubric.digest or look.at >= known.at:
            continue
        if (look.input_digest, judge.digest) in cleared:
            continue
        if mine and mine == _answers(session, evidence, str(other), rubric, criterion):
            name = get_judge(session=session, judge=str(other)).name
            return (
                f"{judge.name!r} was declared after {name!r} was looked at on {evidence.called} and gives "
                "the very same verdicts there: another name is no further judge; go on with that one, or "
                f"have a second person sign that look {short(look.input_digest)} steered nothing"
            )
    return None


def _answers(
    session: Session, evidence: EvidenceSet, judge_digest: str, rubric: Rubric, criterion: Criterion
) -> Mapping[str, Answer]:
    """What a judge says of the items of the set; empty where it says nothing."""
    found = read_verdicts(
        session=session,
        scope=evidence.scope,
        judge_digest=judge_digest,
        rubric_digest=rubric.digest,
        dataset=evidence.dataset,
        criterion=criterion,
    )
    return found.answers if found else {}


def sign_unsteered(
    *, session: Session, look: Look, subjects: Iterable[str], signer: str, reason: str, at: datetime
) -> None:
    """Records a second person's word that a look did not steer the judges or rubrics of these digests.

    Raises:
        DeclarationError: the signer is who looked or who declared it, the reason says nothing, or the set was
            declared to have steered: that is not undone by a signature.
    """
    if look.steered is Steered.YES:
        raise DeclarationError(
            f"look {short(look.input_digest)} says itself that it steered: its set stays development data; "
            "draw a fresh one"
        )
    if len(reason.strip()) < _MIN_REASON:
        raise DeclarationError(
            f"the reason {reason!r} is under {_MIN_REASON} characters; say how that is known"
        )
    for subject in subjects:
        involved = {look.actor, *_declarer(session, subject)}
        if any(same_name(signer, name) for name in involved):
            raise DeclarationError(
                f"{signer!r} saw the errors or declared what came later; a second, different person signs"
            )
        clear_steering(
            session=session, look=look, subject=subject, signer=signer, reason=reason.strip(), at=at
        )


_MIN_REASON = 10


def _declarer(session: Session, digest: str) -> Iterator[str]:
    found = declared(session=session, digest=digest)
    if found is not None:
        yield found.actor
