"""Recorded probes of a judge -> the figures that its report carries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlmodel import Session

from calibration.evidence import ProbeFigure
from calibration.store.probe_results import probe_results


def probe_figures(
    *, session: Session, judge_digest: str, rubric_digest: str, criterion: str, shared: int
) -> tuple[ProbeFigure, ...]:
    """For each kind of change the figure that counts; empty where the judge was never probed.

    Args:
        session: a reading session.
        judge_digest: of the judge.
        rubric_digest: of the rubric.
        criterion: under which it was probed.
        shared: kinds of change that a policy asks about; probes whose levels are shared among as many come
            before others.
    """
    recorded = probe_results(
        session=session, judge_digest=judge_digest, rubric_digest=rubric_digest, criterion=criterion
    )
    return counting(recorded, shared=shared)


def counting(recorded: Iterable[Mapping[str, Any]], *, shared: int) -> tuple[ProbeFigure, ...]:
    """Of each kind of change the probe over the most items; of several over as many the worst.

    So a probe is superseded by more evidence and not by another draw. A probe that was gone on with counts as
    it ended.
    """
    newest = {result["dataset"]: result for result in recorded}
    found: dict[str, ProbeFigure] = {}
    for result in newest.values():
        for figure in _figures(result):
            known = found.get(figure.family)
            if known is None or _weight(figure, shared) > _weight(known, shared):
                found[figure.family] = figure
    return tuple(found.values())


def _weight(figure: ProbeFigure, shared: int) -> tuple[bool, int, bool, float, str]:
    enough = figure.shared >= shared
    return enough, figure.n, figure.word == "biased", figure.rise_upper, figure.probe


def _figures(result: Mapping[str, Any]) -> Iterable[ProbeFigure]:
    for effect in result["effects"]:
        yield ProbeFigure(
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
