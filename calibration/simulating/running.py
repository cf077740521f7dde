"""Every planted judge through the shipped report and decision, again and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.admission import decide
from calibration.evidence import AdmissionOutcome, ReportScope
from calibration.report import build_report
from calibration.simulating.planted import scenarios
from calibration.simulating.planting import CRITERION, Evidence
from calibration.simulating.promises import Promise
from calibration.simulating.scenarios import Calibration, Scenario

FULL = 1_000
QUICK = 60
_LEAST = 10
_SCOPE = ReportScope(judge="planted", criterion=CRITERION)


@dataclass(frozen=True, slots=True)
class Examined:
    """One planted judge with the promises about it."""

    name: str
    calibrations: int
    promises: tuple[Promise, ...]


@dataclass(frozen=True, slots=True)
class SelfTest:
    """All of them."""

    seed: int
    examined: tuple[Examined, ...]

    @property
    def promises(self) -> tuple[Promise, ...]:
        """Every promise."""
        return tuple(promise for judge in self.examined for promise in judge.promises)

    @property
    def kept(self) -> bool:
        """Whether every promise was kept."""
        return all(promise.kept for promise in self.promises)


def run_self(
    *,
    replicates: int,
    seed: int,
    planted: Sequence[Scenario] | None = None,
    told: Callable[[int, int], None] = lambda _done, _all: None,
) -> SelfTest:
    """What was promised and what was delivered.

    Args:
        replicates: calibrations of each planted judge; some get a share of it.
        seed: each planted judge has a generator of its own, made of it.
        planted: the judges; by default all of them.
        told: is called with how many of how many calibrations are done.
    """
    chosen = scenarios() if planted is None else tuple(planted)
    counts = [max(_LEAST, round(replicates * scenario.share)) for scenario in chosen]
    children = np.random.SeedSequence(seed).spawn(len(chosen))
    examined, done = [], 0
    for scenario, count, child in zip(chosen, counts, children, strict=True):
        rng = np.random.default_rng(child)
        found = []
        for _ in range(count):
            found.append(calibrate(scenario, rng))
            done += 1
            told(done, sum(counts))
        examined.append(Examined(scenario.name, count, tuple(scenario.promises(found, rng))))
    return SelfTest(seed, tuple(examined))


def calibrate(scenario: Scenario, rng: np.random.Generator) -> Calibration:
    """One calibration of the planted judge; it is looked at until a look admits it."""
    *earlier, whole = scenario.plant(rng)
    for look, evidence in enumerate(earlier, start=1):
        found = _look(scenario, evidence, look)
        if found.admitted:
            return found
    return _look(scenario, whole, len(earlier) + 1)


def _look(scenario: Scenario, evidence: Evidence, look: int) -> Calibration:
    """The shipped report and decision on this evidence."""
    report = build_report(
        evidence.cases,
        scope=_SCOPE,
        policy=scenario.policy,
        assessments=evidence.assessments,
        supplement=evidence.supplement,
    )
    decision = decide(report, scenario.policy, looks_used=look)
    return Calibration(report, decision, decision.outcome is AdmissionOutcome.ADMIT)
