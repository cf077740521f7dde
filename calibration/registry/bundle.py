"""A decision in one file: enough to grade by it without the database, and to see that nothing was changed.

It holds the decision with its link and every later link up to the head of the chain, the report, the policy,
the rubric and the judge, with everybody who votes in a panel or cascade; no text of any item. The file has
one form to the byte, so that any changed byte is refused. Whoever wants to be sure that the whole file was
not made up compares the decision's hash, or the head, with what was handed out when it was signed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from typing import Any

from sqlmodel import Session

from calibration.evidence import AdmissionOutcome, CalibrationReport
from calibration.policy import AdmissionPolicy
from calibration.registry.detached import DetachedSignature, read_signature, signatures_of
from calibration.registry.standing import live_admission
from calibration.registry.voters import members_of
from calibration.store.chain import Head, Link
from calibration.store.decisions import DecisionScope, StoredDecision, decision_links, get_decision, linked
from calibration.store.judges import StoredJudge, get_judge
from calibration.store.reports import get_policy, get_report
from calibration.store.rubrics import get_rubric_by_digest
from rubrics.digest import canonical_json, digest, short
from rubrics.errors import AdmissionExpired, JudgeNotAdmitted, RecordError
from rubrics.rubric import Rubric

BUNDLE_SCHEMA = "voirdire.decision-bundle/1"
LARGEST = 200_000_000
"""Bytes of a bundle that is read."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """An exported decision, found to be whole."""

    decision: StoredDecision
    rubric: Rubric
    judge: StoredJudge
    policy: AdmissionPolicy
    report: CalibrationReport
    head: Head
    """The newest decision when it was exported."""
    uses: int
    """Grades that rested on it then; later ones are not counted without the database."""
    exported_at: datetime
    signatures: tuple[DetachedSignature, ...] = ()
    """Detached signatures over the decision; whose they are, only a public key can tell."""
    members: Mapping[str, StoredJudge] = field(default_factory=dict)
    """Who votes where the judge is a panel or cascade, by digest."""

    def admission(self, scope: DecisionScope, *, at: datetime) -> StoredDecision:
        """The decision, if it admits what is about to be done.

        Raises:
            JudgeNotAdmitted: it is for another criterion, population, role, judge or rubric.
            AdmissionExpired: its validity has ended, or the clock lies before the export.
        """
        own, what = self.decision.scope, f"decision {short(self.decision.hash)}"
        for part in DecisionScope.__slots__:
            asked, given = getattr(scope, part), getattr(own, part)
            if asked != given:
                raise JudgeNotAdmitted(
                    f"{what} is for {part.removesuffix('_digest')} {given!r}, not {asked!r}",
                    missing=(f"a decision for {part.removesuffix('_digest')} {asked!r}",),
                )
        until, limit = self.decision.valid_until, self.decision.content.get("deployments")
        if until is not None and max(at, self.exported_at) >= until:
            raise AdmissionExpired(
                f"{what} lapsed on {until:%Y-%m-%d %H:%M} UTC; calibrate on fresh labels and sign anew"
            )
        if limit is not None and self.uses >= limit:
            raise AdmissionExpired(f"{what} lapsed by use: {self.uses:,} grades of {limit:,} rested on it")
        return self.decision


def export_bundle(*, session: Session, decision_prefix: str, at: datetime) -> bytes:
    """The bundle of an admission that is live, as the bytes of a file.

    Raises:
        AdmissionError: the decision admits nobody now.
        RecordError: there is no such decision, another one stands, or a record is not as it was recorded.
    """
    decision = get_decision(session=session, hash_prefix=decision_prefix)
    content = decision.content
    admission = live_admission(
        session=session,
        scope=decision.scope,
        judge=str(content.get("judge")),
        rubric=str(content.get("rubric")),
        at=at,
    )
    if admission.decision.hash != decision.hash:
        newer = short(admission.decision.hash)
        raise RecordError(f"decision {short(decision.hash)} was replaced by {newer}; export that one")
    links = decision_links(session=session, since=decision.seq)
    rubric = get_rubric_by_digest(session=session, digest=decision.scope.rubric_digest)
    judge = get_judge(session=session, judge=decision.scope.judge_digest)
    body = {
        "schema": BUNDLE_SCHEMA,
        "exported_at": at.isoformat(timespec="microseconds"),
        "chain": [_link_object(each) for each in links],
        "uses": admission.uses,
        "report": dict(get_report(session=session, digest_prefix=decision.report_digest).content),
        "policy": dict(get_policy(session=session, policy=decision.policy_digest).content),
        "rubric": rubric.model_dump(mode="json"),
        "judge": _judge_object(judge),
    }
    voting = members_of(session=session, judge=judge)
    if voting:
        body["members"] = {key: _judge_object(each) for key, each in sorted(voting.items())}
    signed = signatures_of(session=session, decision=decision.hash)
    if signed:
        body["signatures"] = [each.to_json() for each in signed]
    written = (canonical_json({**body, "digest": digest(body)}) + "\n").encode()
    open_bundle(written, source="the bundle that was just made")
    return written


def _judge_object(judge: StoredJudge) -> dict[str, Any]:
    return {"name": judge.name, "kind": judge.kind, "content": dict(judge.content)}


def _link_object(each: Link) -> dict[str, Any]:
    return {"seq": each.seq, "prev_hash": each.prev_hash, "hash": each.hash, "body": dict(each.body)}


def open_bundle(data: bytes, *, source: str) -> Bundle:
    """The decision in a bundle.

    Raises:
        RecordError: it is no bundle, or not to the byte the one that was exported.
        JudgeNotAdmitted: the decision admits nobody, or was replaced before the export.
    """
    found = _whole(data, source)
    try:
        links = [Link(e["seq"], e["prev_hash"], e["hash"], e["body"]) for e in found["chain"]]
        decisions = _chained(links, source)
        decision = decisions[0]
        report = CalibrationReport.model_validate(found["report"])
        policy = AdmissionPolicy.model_validate(found["policy"])
        rubric = Rubric.model_validate(found["rubric"])
        judge = found["judge"]
        exported_at = datetime.fromisoformat(found["exported_at"])
        named = {
            "report": (report_digest(report), decision.report_digest),
            "policy": (policy.digest, decision.policy_digest),
            "rubric": (rubric.digest, decision.scope.rubric_digest),
        }
        stored, *voting = (
            StoredJudge(key, each["name"], each["kind"], dict(each["content"]), exported_at)
            for key, each in ((decision.scope.judge_digest, judge), *found.get("members", {}).items())
        )
        uses = int(found["uses"])
        signatures = tuple(read_signature(each) for each in found.get("signatures", ()))
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise RecordError(f"{source} is no decision bundle that this version reads: {error}") from error
    for what, (there, signed) in named.items():
        if there != signed:
            raise RecordError(f"{source}: its {what} is not the one that the decision names")
    _require_standing(decisions, source)
    head = Head(links[-1].seq, links[-1].hash, decisions[-1].decided_at)
    members = {each.digest: each for each in voting}
    return Bundle(decision, rubric, stored, policy, report, head, uses, exported_at, signatures, members)


def _whole(data: bytes, source: str) -> dict[str, Any]:
    """The content of the file, if its bytes are exactly those that its digest names."""
    refusal = f"{source} is not the file that was exported: a byte was changed, or it is no decision bundle"
    if len(data) > LARGEST:
        raise RecordError(f"{source} has {len(data):,} bytes; a bundle has at most {LARGEST:,}")
    try:
        found = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RecordError(refusal) from error
    if not isinstance(found, dict) or found.get("schema") != BUNDLE_SCHEMA:
        raise RecordError(refusal)
    try:
        same = (canonical_json(found) + "\n").encode() == data
    except ValueError as error:
        raise RecordError(refusal) from error
    body = {key: value for key, value in found.items() if key != "digest"}
    if not same or digest(body) != found.get("digest"):
        raise RecordError(refusal)
    return found


def _chained(links: Sequence[Link], source: str) -> list[StoredDecision]:
    """The decisions of the links, which follow one another without a gap."""
    for before, after in pairwise(links):
        if after.seq != before.seq + 1 or after.prev_hash != before.hash:
            raise RecordError(f"{source}: its chain is broken at decision {after.seq}")
    return [linked(each) for each in links]


def _require_standing(decisions: Sequence[StoredDecision], source: str) -> None:
    decision = decisions[0]
    if any(later.supersedes == decision.hash for later in decisions[1:]):
        raise JudgeNotAdmitted(
            f"{source}: decision {short(decision.hash)} was replaced before it was exported",
            missing=("the decision that replaced it",),
        )
    if decision.outcome != AdmissionOutcome.ADMIT.value:
        raise JudgeNotAdmitted(
            f"{source}: decision {short(decision.hash)} is {decision.outcome}", missing=("an admission",)
        )


def report_digest(report: CalibrationReport) -> str:
    """The digest that a report has by its content."""
    return digest(report.model_copy(update={"report": ""}))


def scope_for(bundle: Bundle, *, criterion: str, population: str, role: str) -> DecisionScope:
    """What is about to be done, by the bundle's own judge and rubric."""
    return replace(bundle.decision.scope, criterion=criterion, population=population, role=role)


def bundle_summary(bundle: Bundle) -> Mapping[str, Any]:
    """What a person is told of a bundle."""
    until = bundle.decision.valid_until
    return {
        "decision": bundle.decision.hash,
        "number": bundle.decision.seq,
        "head": {"number": bundle.head.seq, "hash": bundle.head.hash},
        "judge": bundle.decision.content.get("judge"),
        "rubric": bundle.rubric.ref,
        "criterion": bundle.decision.scope.criterion,
        "valid_until": until.isoformat() if until else None,
        "signer": bundle.decision.signer,
    }
