"""Recorded probes of a judge -> the figures that its report carries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from calibration.admission.guards import BIASED
from calibration.calibrate.same_calls import ask_the_same
from calibration.evidence import ProbeFigure
from calibration.store.judges import StoredJudge, get_judge
from calibration.store.probe_results import probe_results
from calibration.store.rubrics import get_rubric_by_digest


def probe_figures(
    *, session: Session, judge: StoredJudge, rubric_digest: str, criterion: str
) -> tuple[ProbeFigure, ...]:
    """For each kind of change the figure that counts; empty where nothing is known of the judge.

    Args:
        session: a reading session.
        judge: whose figures; a rise that was found in a judge that asks the same calls is one of its own.
        rubric_digest: of the rubric.
        criterion: under which it was probed.
    """
    by_judge: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for result in probe_results(session=session, rubric_digest=rubric_digest, criterion=criterion):
        by_judge[result["judge_digest"]].append(result)
    own = by_judge.pop(judge.digest, [])
    moved = {
        digest: get_judge(session=session, judge=digest)
        for digest, results in by_judge.items()
        if any(effect["word"] == BIASED for result in results for effect in result["effects"])
    }
    if not moved:
        return counting(own)
    rubric = get_rubric_by_digest(session=session, digest=rubric_digest)
    alike = [
        (other.name, by_judge[digest])
        for digest, other in moved.items()
        if ask_the_same(session=session, one=judge, other=other, rubric=rubric)
    ]
    return counting(own, alike)


def counting(
    recorded: Iterable[Mapping[str, Any]],
    alike: Iterable[tuple[str, Iterable[Mapping[str, Any]]]] = (),
) -> tuple[ProbeFigure, ...]:
    """Of each kind of change the probe that counts.

    A rise that was found stands, whatever is probed later; of several such the judge's own over the most
    items. Where none stands, the probe that answered on the most items counts, of as many the worst. A probe
    that was gone on with counts as it ended.

    Args:
        recorded: results of the judge in the order in which they were recorded.
        alike: the same, by name, of the judges that ask the same calls; of theirs only a rise counts.
    """
    seen: defaultdict[str, list[_Seen]] = defaultdict(list)
    for name, results in (("", recorded), *alike):
        for result in _as_ended(results):
            for effect in result["effects"]:
                # what was counted before answers were read silence as a rejection, and shows no bound
                if effect["word"] == BIASED or (not name and "answered" in effect):
                    seen[effect["family"]].append(_Seen(_answered(effect), _figure(result, effect, name)))
    return tuple(_counts(each) for each in seen.values())


@dataclass(frozen=True, slots=True)
class _Seen:
    """One probe's figure of a kind of change."""

    answered: int
    """Items with a verdict: silence is no evidence against a rise."""
    figure: ProbeFigure

    @property
    def weight(self) -> tuple[bool, int, float, str]:
        """The greatest of all counts."""
        return not self.figure.judge, self.answered, self.figure.rise_upper, self.figure.probe


def _counts(seen: Sequence[_Seen]) -> ProbeFigure:
    found = [each for each in seen if each.figure.word == BIASED]
    return max(found or seen, key=lambda each: each.weight).figure


def _as_ended(recorded: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Of each probe its newest result."""
    return {result["dataset"]: result for result in recorded}.values()


def _answered(effect: Mapping[str, Any]) -> int:
    answered: int = effect.get("answered", effect["n"] - effect["unknown"])
    return answered


def _figure(result: Mapping[str, Any], effect: Mapping[str, Any], judge: str) -> ProbeFigure:
    return ProbeFigure(
        family=effect["family"],
        probe=result["dataset"],
        word=effect["word"],
        n=effect["n"],
        flipped=effect["flipped"],
        flipped_at_most=effect["flipped_at_most"],
        back=effect["flipped_back"],
        rise_lower=effect["rise_lower"],
        rise_upper=effect["rise_upper"],
        p_value=effect["p_value"],
        shared=len(result["effects"]),
        judge=judge,
    )
