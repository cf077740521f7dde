"""The work of `voirdire judge compare` and `voirdire compare`: recorded verdicts and labels, paired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session

from calibration.calibrate import Asked, calibrate
from calibration.calibrate.evidence_set import EvidenceSet
from calibration.calibrate.references import read_references
from calibration.calibrate.verdicts import read_verdicts
from calibration.labels import ReferenceRule
from calibration.rendering.text import visible
from calibration.store.items import iter_items
from calibration.store.judges import StoredJudge
from calibration.values import Rate, Undefined
from judge.comparison import (
    Accepted,
    JudgeComparison,
    Paired,
    Word,
    compare_judges,
    paired,
    refusals,
    word_of,
)
from rubrics.criterion import Criterion
from rubrics.errors import DeclarationError, RecordError
from rubrics.rubric import Rubric
from rubrics.scale import NoClaim
from rubrics.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Ground:
    """What both sides are compared on."""

    evidence: EvidenceSet
    rubric: Rubric
    criterion: Criterion
    rule: ReferenceRule
    margin: float
    actor: str
    at: datetime


def accepted_by(session: Session, ground: Ground, judge: StoredJudge) -> dict[str, Accepted]:
    """By item whether the judge accepts it, None where that is open or was never said.

    Raises RecordError where the judge has no verdict on these items.
    """
    judged = read_verdicts(
        session=session,
        scope=ground.evidence.scope,
        judge_digest=judge.digest,
        rubric_digest=ground.rubric.digest,
        dataset=ground.evidence.dataset,
        criterion=ground.criterion,
    )
    if judged is None or not judged.answers:
        raise RecordError(
            f"judge {judge.name!r} has no verdict on {ground.evidence.called} under "
            f"{ground.criterion.key!r}; run `voirdire judge run --judge {judge.name}` on it first"
        )
    found: dict[str, Accepted] = {}
    for item, answer in judged.answers.items():
        outcome = answer.outcome(ground.criterion.scale)
        if isinstance(outcome, NoClaim):
            raise DeclarationError(
                f"criterion {ground.criterion.key!r} declares no candidate, so that nothing is accepted; "
                "declare one in the rubric's scale"
            )
        found[item] = None if outcome.is_open else outcome.accepted
    return found


def reference_of(session: Session, ground: Ground) -> dict[str, bool]:
    """By item whether its reference passes; items whose reference is unresolved are absent."""
    found = read_references(
        session=session,
        scope=ground.evidence.scope,
        rubric_digest=ground.rubric.digest,
        criterion=ground.criterion,
        rule=ground.rule,
        min_raters=1,
    ).by_item
    verdicts = {item: each.label.verdict for item, each in found.items()}
    return {
        item: verdict is Verdict.PASS for item, verdict in verdicts.items() if verdict is not Verdict.UNKNOWN
    }


def judges_compared(session: Session, ground: Ground, old: StoredJudge, new: StoredJudge) -> JudgeComparison:
    """The new judge beside the old one; both are examined first, so that the look is in the ledger."""
    if old.digest == new.digest:
        raise DeclarationError(f"{old.name!r} and {new.name!r} are one judge; name two")
    before, after = accepted_by(session, ground, old), accepted_by(session, ground, new)
    calibrate(
        session=session,
        asked=Asked(
            evidence=ground.evidence,
            rubric=ground.rubric,
            criterion=ground.criterion.key,
            judges=(old, new),
            policy=None,
            actor=ground.actor,
            rule=ground.rule,
        ),
        at=ground.at,
    )
    groups = {i.item_id: i.group for i in iter_items(session=session, scope=ground.evidence.scope)}
    references = reference_of(session, ground)
    return compare_judges(before, after, references, margin=ground.margin, groups=groups)


@dataclass(frozen=True, slots=True)
class SystemComparison:
    """Two systems' outputs for the same inputs, by reference labels or by a judge."""

    old: str
    new: str
    by: str
    pairs: int
    unpaired: int
    """Groups that lack an output of one of the systems."""
    failing: Paired
    """Not accepted, of all pairs."""
    word: Word

    def to_json(self) -> dict[str, Any]:
        """The comparison as scripts read it."""
        return {
            "schema": "system-comparison/1",
            "old": self.old,
            "new": self.new,
            "by": self.by,
            "pairs": self.pairs,
            "unpaired_groups": self.unpaired,
            "not_accepted": self.failing.to_json(),
            "word": self.word.value,
        }


def systems_compared(
    session: Session, ground: Ground, old: str, new: str, *, judge: StoredJudge | None
) -> SystemComparison:
    """Outputs of two systems paired by the group of their items, with how often each is not accepted.

    Raises:
        RecordError: a system has no output on these items, or no group has one of each.
        DeclarationError: a group has several outputs of one system.
    """
    said: Mapping[str, Accepted] = (
        reference_of(session, ground) if judge is None else accepted_by(session, ground, judge)
    )
    groups: dict[str, dict[str, str]] = {}
    for item in iter_items(session=session, scope=ground.evidence.scope):
        if item.system not in (old, new):
            continue
        outputs = groups.setdefault(item.group or item.item_id, {})
        if item.system in outputs:
            raise DeclarationError(
                f"group {item.group!r} has several outputs of {item.system!r}; compare one run of each system"
            )
        outputs[item.system] = item.item_id
    for system in (old, new):
        if not any(system in outputs for outputs in groups.values()):
            raise RecordError(
                f"{ground.evidence.called} has no output of {system!r}, and no judge has that name; "
                "items name theirs in the field `system`, and `voirdire judge list` shows the judges"
            )
    both = [outputs for outputs in groups.values() if len(outputs) == 2]  # one output of each system
    if not both:
        raise RecordError(
            f"no input of {ground.evidence.called} has an output of both systems; give both the same `group`"
        )
    pairs = [(said.get(outputs[old]), said.get(outputs[new])) for outputs in both]
    failing = paired([refusals(pair) for pair in pairs], confidence=0.95)  # one pair a group
    by = "reference labels" if judge is None else f"judge {judge.name}, not corrected for its errors"
    word = word_of([failing], margin=ground.margin)
    return SystemComparison(old, new, by, len(both), len(groups) - len(both), failing, word)


def judge_words(found: JudgeComparison, old: str, new: str) -> Iterator[str]:
    """The comparison of two judges in lines of words."""
    word = _WORDS[found.word]
    if found.word is Word.CANNOT_TELL and min(found.far.upper, found.non_acceptance.upper) < 0:
        word = f"cannot tell: one error fell, and the other may have risen by more than {found.margin:.0%}"
    yield f"{visible(new)} beside {visible(old)} on {found.items:,} items: {word}"
    yield f"  accepted among reference failures:   {_paired_words(found.far, old, new)}"
    yield f"  not accepted among reference passes: {_paired_words(found.non_acceptance, old, new)}"
    yield (
        f"  the bridge: of what {visible(old)} accepted {visible(new)} accepts {_share(found.kept)}, of the "
        f"rest {_share(found.gained)}"
    )
    kappa = found.kappa.reason if isinstance(found.kappa, Undefined) else f"{found.kappa.kappa:.2f}"
    yield f"  kappa of the two judges: {kappa} (agreement is not accuracy: they may be wrong together)"
    phi = found.shared_errors
    shared = phi.reason if isinstance(phi, Undefined) else f"phi {phi:.2f}"
    yield f"  reference failures that both accept: {found.both_wrong}/{found.far.old.n} ({shared})"
    if found.open_items:
        yield f"  {found.open_items:,} items are open for one of them; intervals hold whatever they become"
    yield f"  intervals 95 %, paired, {_groups(found)}; equivalent means within {found.margin:.0%}"


def _groups(found: JudgeComparison) -> str:
    """How items that are not independent were allowed for."""
    parts = (("failures", found.far), ("passes", found.non_acceptance))
    said = [
        f"{each.old.n} {what} of {each.groups} groups are worth {each.n_effective:.0f}"
        for what, each in parts
        if each.grouped
    ]
    return f"{' and '.join(said)} (p exchanges whole groups)" if said else "each item a group of its own"


_WORDS = {
    Word.BETTER: "better",
    Word.WORSE: "worse",
    Word.DIFFERENT: "different: better in one respect, worse in the other",
    Word.EQUIVALENT: "equivalent",
    Word.CANNOT_TELL: "cannot tell: too few items for this difference",
}


def system_words(found: SystemComparison) -> Iterator[str]:
    """The comparison of two systems in lines of words."""
    old, new = found.old, found.new
    yield (
        f"{visible(new)} beside {visible(old)} on {found.pairs:,} inputs, by {visible(found.by)}: "
        f"{_WORDS[found.word]}"
    )
    yield f"  not accepted: {_paired_words(found.failing, old, new)}"
    if found.unpaired:
        yield f"  {found.unpaired:,} inputs have an output of one system only and are left out"
    if found.failing.open_pairs:
        yield f"  {found.failing.open_pairs:,} pairs are open; the interval holds whatever they become"


def _paired_words(found: Paired, old: str, new: str) -> str:
    if isinstance(found.difference, Undefined):
        return "none"
    return (
        f"{visible(old)} {_share(found.old)}, {visible(new)} {_share(found.new)}; difference "
        f"{found.difference.value:+.1%} [{found.lower:+.1%}, {found.upper:+.1%}], p {found.p_value:.3g}"
    )


def _share(found: Rate) -> str:
    estimate = found.estimate
    return f"{found.x}/{found.n}" + ("" if isinstance(estimate, Undefined) else f" ({estimate:.0%})")


def gate_code(found: Sequence[Paired], *, max_rise: float) -> int:
    """0 where no failure rate may have risen by more than allowed, 1 where one has, else 2."""
    if all(each.upper <= max_rise for each in found):
        return 0
    return 1 if any(each.lower > max_rise for each in found) else 2
