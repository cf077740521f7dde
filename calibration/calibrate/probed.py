"""Recorded probes of a judge -> the figures that its report carries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session

from calibration.admission.guards import BIASED
from calibration.evidence import ProbeFigure
from calibration.store.probe_results import probe_results


def probe_figures(
    *, session: Session, judge_digest: str, rubric_digest: str, criterion: str
) -> tuple[ProbeFigure, ...]:
    """For each kind of change the figure that counts; empty where the judge was never probed.

    Args:
        session: a reading session.
        judge_digest: of the judge.
        rubric_digest: of the rubric.
        criterion: under which it was probed.
    """
    return counting(
        probe_results(
            session=session, judge_digest=judge_digest, rubric_digest=rubric_digest, criterion=criterion
        )
    )


def counting(recorded: Iterable[Mapping[str, Any]]) -> tuple[ProbeFigure, ...]:
    """Of each kind of change the probe that counts, of results in the order in which they were recorded.

    A rise that was found counts until a later probe that answered on more items; of several such the one over
    the most. Where none stands, the probe that answered on the most items counts, of as many the worst. What
    else was probed along with it decides nothing here. A probe that was gone on with counts as it ended, and
    is as recent as its last new verdict.
    """
    seen: defaultdict[str, list[_Seen]] = defaultdict(list)
    for place, result in _as_ended(recorded).values():
        for effect in result["effects"]:
            if effect["word"] == BIASED or "answered" in effect:  # else silence was read as a rejection
                seen[effect["family"]].append(_Seen(place, _answered(effect), _figure(result, effect)))
    return tuple(_counts(each) for each in seen.values())


@dataclass(frozen=True, slots=True)
class _Seen:
    """One probe's figure of a kind of change."""

    place: int
    """Among all that was recorded, when its counts were last new."""
    answered: int
    """Items with a verdict: silence is no evidence against a rise."""
    figure: ProbeFigure

    @property
    def weight(self) -> tuple[int, bool, float, str]:
        """The greatest of all counts."""
        return self.answered, self.figure.word == BIASED, self.figure.rise_upper, self.figure.probe


def _counts(seen: Sequence[_Seen]) -> ProbeFigure:
    standing = [
        each
        for each in seen
        if each.figure.word == BIASED
        and not any(later.place > each.place and later.answered > each.answered for later in seen)
    ]
    return max(standing or seen, key=lambda each: each.weight).figure


def _as_ended(recorded: Iterable[Mapping[str, Any]]) -> Mapping[str, tuple[int, Mapping[str, Any]]]:
    """By probe its newest result, with the place at which its counts were last new.

    The same verdicts told again, as under another bound, are no later evidence.
    """
    ended: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for place, result in enumerate(recorded):
        known = ended.get(result["dataset"])
        same = known is not None and _tallies(known[1]) == _tallies(result)
        ended[result["dataset"]] = (known[0] if known and same else place), result
    return ended


def _tallies(result: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    return [
        (each["family"], _answered(each), each["flipped"], each["flipped_at_most"], each["flipped_back"])
        for each in result["effects"]
    ]


def _answered(effect: Mapping[str, Any]) -> int:
    answered: int = effect.get("answered", effect["n"] - effect["unknown"])
    return answered


def _figure(result: Mapping[str, Any], effect: Mapping[str, Any]) -> ProbeFigure:
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
    )
