"""Recorded baselines on the items of a report: their figures beside the judge, and whether it beats them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlmodel import Session

from calibration.calibrate.cases import make_cases
from calibration.calibrate.evidence_set import EvidenceSet
from calibration.calibrate.references import References
from calibration.calibrate.verdicts import read_verdicts
from calibration.evidence import BaselineFigure, Case
from calibration.rendering.numbers import fixed, interval_decimals
from calibration.rendering.text import listed
from calibration.report.advantage import advantage, separation
from calibration.report.figures import baseline
from calibration.store.judges import StoredJudge, list_judges
from calibration.values import Estimate, Interval, Undefined
from rubrics.criterion import Criterion
from rubrics.rubric import Rubric

KIND = "baseline"
"""The kind of judge that is never a candidate: it stands beside those that are."""
CONSTANT = "a constant answer"
_BUILT_IN = frozenset({"always_accept", "always_reject"})
"""Recorded or not, every report has these two."""
_DESCRIPTIONS = {
    "length": "sees only how long the answer is",
    "word_overlap": "sees only which words the answer shares with evidence and input",
}


@dataclass(frozen=True, slots=True)
class Beside:
    """A recorded baseline on the items of a report."""

    digest: str
    name: str
    cases: tuple[Case, ...]

    @property
    def figure(self) -> BaselineFigure:
        """Its figures, to stand beside a judge's."""
        return baseline(self.name, _DESCRIPTIONS.get(self.name, "a trivial judge"), self.cases)


def baselines_beside(
    *,
    session: Session,
    evidence: EvidenceSet,
    rubric: Rubric,
    criterion: Criterion,
    references: References,
) -> tuple[Beside, ...]:
    """Every recorded baseline with a verdict on the items; of several specs of one name the newest."""
    found: dict[str, Beside] = {}
    for judge in list_judges(session=session):
        if judge.kind != KIND or judge.name in _BUILT_IN:
            continue
        judged = read_verdicts(
            session=session,
            scope=evidence.scope,
            judge_digest=judge.digest,
            rubric_digest=rubric.digest,
            dataset=evidence.dataset,
            criterion=criterion,
        )
        if judged is not None and judged.answers:
            cases = make_cases(evidence.placed, references, judged, criterion)
            found[judge.name] = Beside(judge.digest, judge.name, tuple(cases))
    return tuple(found.values())


def no_better(judge: StoredJudge, cases: Sequence[Case], beside: Sequence[Beside]) -> tuple[str, ...]:
    """The finding that a judge is not shown to beat a baseline, in a sentence; empty where it beats all.

    It beats one where the lower end of its advantage (calibration.report.advantage) is above 0. Baselines
    are not measured against each other.
    """
    if judge.kind == KIND:
        return ()
    found = {CONSTANT: separation(cases), **{each.name: advantage(cases, each.cases) for each in beside}}
    unbeaten = [words for name, difference in found.items() if (words := _unbeaten(name, difference))]
    if not unbeaten:
        return ()
    return (
        f"no better than a baseline: {judge.name} is not shown to tell good answers from failing ones better "
        f"than {listed(unbeaten)}",
    )


def _unbeaten(name: str, found: Estimate | Undefined) -> str:
    """The baseline with the judge's advantage in percentage points, or "" where the judge is better."""
    if isinstance(found, Undefined) or not isinstance(found.interval, Interval) or found.interval.lower > 0:
        return ""
    ends = (100 * found.interval.lower, 100 * found.interval.upper)
    decimals = interval_decimals(*ends)
    lower, upper = (fixed(end, decimals) for end in ends)
    return f"{name} (difference {fixed(100 * found.value, decimals)} points [{lower}, {upper}])"
