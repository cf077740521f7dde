"""What a planted judge is, and the promises that can be made of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.evidence import (
    AdmissionDecision,
    AdmissionOutcome,
    CalibrationReport,
    GateFigure,
    KappaFigure,
    RateFigure,
)
from calibration.policy import AdmissionPolicy
from calibration.simulating.planting import Evidence, PlantedGroup
from calibration.simulating.promises import Claim, Promise, share
from rubrics.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Calibration:
    """One simulated calibration: the last report and decision, and whether any look admitted."""

    report: CalibrationReport
    decision: AdmissionDecision
    admitted: bool


@dataclass(frozen=True, slots=True)
class Scenario:
    """A planted judge on planted items, examined under a policy."""

    name: str
    policy: AdmissionPolicy
    plant: Callable[[np.random.Generator], tuple[Evidence, ...]]
    """Evidence at each look, the last one whole."""
    promises: Callable[[Sequence[Calibration], np.random.Generator], list[Promise]]
    share: float = 1.0
    """Of the replicates that the others get."""


def failing(items: int, far: float, **more: float | int | str) -> PlantedGroup:
    """Items that truly fail."""
    return PlantedGroup(Verdict.FAIL, items, far, **more)  # type: ignore[arg-type]


def passing(items: int, turned_away: float, **more: float | int | str) -> PlantedGroup:
    """Items that truly pass."""
    return PlantedGroup(Verdict.PASS, items, 1 - turned_away, **more)  # type: ignore[arg-type]


def admitted(found: Sequence[Calibration], promised: float, claim: Claim = Claim.IS) -> Promise:
    """How often the judge was admitted."""
    return share("admitted", sum(c.admitted for c in found), len(found), promised, claim=claim)


def rejected(found: Sequence[Calibration], promised: float) -> Promise:
    """How often the judge was rejected."""
    x = sum(c.decision.outcome is AdmissionOutcome.REJECT for c in found)
    return share("rejected", x, len(found), promised)


def pooled(what: str, figures: Sequence[RateFigure | None], promised: float) -> Promise:
    """The mean of a rate: all counts pooled, since each replicate's items are independent."""
    known = [figure for figure in figures if figure is not None]
    return share(what, sum(f.x for f in known), sum(f.n for f in known), promised)


def covered(
    what: str,
    figures: Sequence[RateFigure | GateFigure | KappaFigure | None],
    truth: float,
    promised: float,
    claim: Claim = Claim.IS,
) -> Promise:
    """How often the interval held the planted truth, where one was given."""
    ends = [(f.lower, f.upper) for f in figures if f is not None]
    held = sum(low <= truth <= high for low, high in ends if low is not None and high is not None)
    return share(what, held, len(ends), promised, claim=claim)
