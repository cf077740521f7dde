"""A signed "not substantive": an admission carried over to a reworded rubric or prompt, with the words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlmodel import Session

from calibration.registry.changes import changed_fields
from calibration.registry.signing import Signature
from calibration.registry.standing import require_admission
from calibration.store.decisions import DecisionScope, StoredDecision, add_decision, current_decision
from calibration.store.judges import StoredJudge, get_judge
from calibration.store.reports import get_report
from calibration.store.rubrics import get_rubric_by_digest
from rubrics.changes import Effect
from rubrics.diff import diff_rubrics
from rubrics.digest import short
from rubrics.errors import DeclarationError, RecordError
from rubrics.rubric import Rubric
from rubrics.words import Edit, Run, word_diff

_NAMES_ONLY = frozenset({"name"})
_MARKS = {Edit.KEPT: "{}", Edit.REMOVED: "[-{}-]", Edit.ADDED: "{{+{}+}}"}


@dataclass(frozen=True, slots=True)
class Reworded:
    """One text that was reworded."""

    part: str
    words: str
    """The text with removed words in [-...-] and added ones in {+...+}."""


def carry_over(
    *,
    session: Session,
    standing: StoredDecision,
    signature: Signature,
    at: datetime,
    rubric: Rubric | None = None,
    judge: StoredJudge | None = None,
) -> StoredDecision:
    """The admission carried over to a rubric or judge that differs in its words only.

    It keeps report, policy, validity and uses of the one that it comes from, and names every word that
    changed since the evidence was collected, however many times it was carried over.

    Args:
        session: a writing session.
        standing: the admission that is carried over; it must be live.
        signature: who says that nothing of substance changed, and why.
        at: now.
        rubric: the reworded rubric, or
        judge: the judge with the reworded prompt.

    Raises:
        DeclarationError: more than words changed, nothing changed, or not exactly one of the two is given.
        AdmissionError: the admission is not live.
        RecordError: a decision stands for the new scope already.
    """
    signed = signature.checked()
    if (rubric is None) == (judge is None):
        raise DeclarationError("name what was reworded: either the rubric (--rubric) or the judge (--judge)")
    content = standing.content
    require_admission(
        session=session,
        scope=standing.scope,
        judge=str(content.get("judge")),
        rubric=str(content.get("rubric")),
        at=at,
    )
    evidence = get_report(session=session, digest_prefix=standing.report_digest)
    scope = standing.scope
    named: dict[str, str] = {}
    words: tuple[Reworded, ...] = ()
    if rubric is not None:
        origin = get_rubric_by_digest(session=session, digest=evidence.rubric_digest)
        words = _rubric_words(origin, rubric, standing.scope.criterion)
        scope, named = replace(scope, rubric_digest=rubric.digest), {"rubric": rubric.ref}
    if judge is not None:
        words = _prompt_words(get_judge(session=session, judge=evidence.judge_digest), judge)
        scope, named = replace(scope, judge_digest=judge.digest), {"judge": judge.name}
    _require_free(session, standing, scope)
    return add_decision(
        session=session,
        scope=scope,
        report_digest=standing.report_digest,
        policy_digest=standing.policy_digest,
        outcome=standing.outcome,
        content={
            **content,
            **named,
            "reason": signed.reason.strip(),
            "signer_established": signed.established,
            "carried_over": {
                "from": standing.hash,
                "words": [{"part": each.part, "words": each.words} for each in words],
            },
        },
        signer=signed.signer.strip(),
        valid_until=standing.valid_until,
        supersedes=None,
        at=at,
    )


def _require_free(session: Session, standing: StoredDecision, scope: DecisionScope) -> None:
    if scope == standing.scope:
        raise DeclarationError(
            f"decision {short(standing.hash)} is for exactly this already; nothing is carried over"
        )
    there = current_decision(session=session, scope=scope)
    if there is not None:
        raise RecordError(
            f"decision {short(there.hash)} ({there.outcome}) stands for the new version: it rests on its own "
            "evidence, which is not replaced by a carry-over"
        )


def _rubric_words(old: Rubric, new: Rubric, criterion: str) -> tuple[Reworded, ...]:
    """The words that changed beside and within the criterion.

    Raises:
        DeclarationError: a rule changed, not only words.
    """
    found = diff_rubrics(old, new)
    new.criterion(criterion)
    concerned = [change for change in found.changes if change.criterion in {"", criterion}]
    substantive = [change for change in concerned if change.effect is not Effect.WORDING]
    if substantive:
        raise DeclarationError(
            f"{new.ref} differs from {old.ref} in more than words ({substantive[0]}): "
            "label, judge and decide anew"
        )
    return tuple(
        Reworded(f"{change.criterion} {change.part.value}".strip(), marked(change.words))
        for change in concerned
    )


def _prompt_words(old: StoredJudge, new: StoredJudge) -> tuple[Reworded, ...]:
    """The words of the prompt that changed.

    Raises:
        DeclarationError: anything else of the judge changed.
    """
    changed = set(changed_fields(old.content, new.content)) - _NAMES_ONLY
    if new.kind != old.kind or changed - {"prompt"}:
        named = ", ".join(sorted(changed - {"prompt"})) or "kind"
        raise DeclarationError(
            f"judge {new.name!r} differs from the calibrated one in more than its prompt ({named}): "
            "another judge is calibrated, not carried over"
        )
    before, after = (dict(_texts("prompt", judge.content.get("prompt"))) for judge in (old, new))
    return tuple(
        Reworded(part, marked(word_diff(before.get(part, ""), after.get(part, ""))))
        for part in dict.fromkeys([*before, *after])
        if before.get(part) != after.get(part)
    )


def _texts(part: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value by its path."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(f"{part}.{key}", each)
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _texts(f"{part}.{number}", each)
    elif value is not None:
        yield part, str(value)


def marked(runs: Sequence[Run]) -> str:
    """A word difference as one text: removed words in [-...-], added ones in {+...+}."""
    return "".join(_MARKS[run.edit].format(run.text) for run in runs)
