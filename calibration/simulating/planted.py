"""The planted judges, and what is promised of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calibration.evidence import KappaFigure, PositionFigure
from calibration.policy import LookRule, far_only, shipped_policy
from calibration.simulating.planting import Evidence, PlantedRaters, plant
from calibration.simulating.promises import Claim, Promise, mean, share, wilson_coverage
from calibration.simulating.scenarios import (
    Calibration,
    Scenario,
    admitted,
    covered,
    failing,
    passing,
    pooled,
    rejected,
)
from calibration.statistics.agreement import cohens_kappa
from calibration.statistics.gate_curve import GateSetting, PlannedStratum, admission_curve, stratum_fars
from calibration.statistics.planning import gate_characteristic
from calibration.statistics.proportions import GateResult, max_accepted, score_gate
from calibration.statistics.rater_error import RaterErrors, apparent_far
from calibration.statistics.sequential import binomial_pmf
from calibration.values import Undefined

LIMIT = 0.10
CLUSTER_BOUND = 0.027
"""Clusters of 5 at ICC .3 under the policy's rule admit a judge at the limit at most so often."""
KAPPA_COVERAGE = 0.92
_PROMISED_REPLICATES = 40_000


def _rejection(n: int, far: float, *, z: float) -> float:
    """P(the lower end lies above the limit), exact."""
    fails = [score_gate(x, n, limit=LIMIT, z=z) is GateResult.FAIL for x in range(n + 1)]
    return float(binomial_pmf(n, far)[fails].sum())


def _independent(name: str, failures: int, far: float) -> Scenario:
    """One answer a prompt: everything is known exactly."""
    policy, passes, turned_away = far_only(LIMIT), 120, 0.08

    def promises(found: Sequence[Calibration], _: np.random.Generator) -> list[Promise]:
        gate = gate_characteristic(failures, limit=LIMIT, true_far=far, z=policy.z)
        reports = [c.report for c in found]
        return [
            admitted(found, gate.pass_probability),
            rejected(found, _rejection(failures, far, z=policy.z)),
            pooled("FAR", [r.far for r in reports], far),
            covered(
                "FAR interval holds", [r.far for r in reports], far,
                wilson_coverage(failures, far, z=policy.z),
            ),
            covered(
                "non-acceptance interval holds",
                [r.non_acceptance_among_pass for r in reports], turned_away,
                wilson_coverage(passes, turned_away, z=policy.z),
            ),
        ]  # fmt: skip

    groups = (failing(failures, far), passing(passes, turned_away))
    return Scenario(name, policy, lambda rng: (plant(groups, rng=rng),), promises)


def _random_sample() -> Scenario:
    """A random sample of use: kappa and failure among accepted have a truth of their own."""
    items, prevalence, far, turned_away = 200, 0.4, 0.08, 0.10
    cells = [
        [prevalence * (1 - far), prevalence * far],
        [(1 - prevalence) * turned_away, (1 - prevalence) * (1 - turned_away)],
    ]
    truth = cohens_kappa([[round(10**6 * cell) for cell in row] for row in cells])
    kappa = truth.kappa if not isinstance(truth, Undefined) else 0.0
    among = cells[0][1] / (cells[0][1] + cells[1][1])

    def draw(rng: np.random.Generator) -> tuple[Evidence, ...]:
        fails = int(rng.binomial(items, prevalence))
        return (plant((failing(fails, far), passing(items - fails, turned_away)), rng=rng),)

    def promises(found: Sequence[Calibration], _: np.random.Generator) -> list[Promise]:
        kappas = [c.report.kappa for c in found if isinstance(c.report.kappa, KappaFigure)]
        shares = [c.report.failure_among_accepted for c in found]
        return [
            covered("kappa interval holds", kappas, kappa, KAPPA_COVERAGE, Claim.AT_LEAST),
            covered("failure among accepted holds", shares, among, 0.93, Claim.AT_LEAST),
        ]

    return Scenario("a random sample of use", far_only(LIMIT), draw, promises)


def _clustered(name: str, prompts: int, far: float) -> Scenario:
    """Five failing answers from each prompt, correlated at .3; promised by a simulation of the gate alone."""
    policy, size, icc = far_only(LIMIT), 5, 0.3
    failures = prompts * size

    def promises(found: Sequence[Calibration], rng: np.random.Generator) -> list[Promise]:
        setting = GateSetting(failures, LIMIT, per_cluster=size, icc=icc)
        (chance,) = admission_curve(setting, [far], rng=rng, replicates=_PROMISED_REPLICATES)
        told = [
            admitted(found, chance.probability),
            covered("gate interval holds", [c.report.far_gate for c in found], far, 0.95, Claim.AT_LEAST),
        ]
        bound = [admitted(found, CLUSTER_BOUND, Claim.AT_MOST)] if far == LIMIT else []
        return [*told, *bound]

    groups = (failing(failures, far, per_cluster=size, icc=icc), passing(60, 0.08))
    return Scenario(name, policy, lambda rng: (plant(groups, rng=rng),), promises)


def _stratified() -> Scenario:
    """Two strata, the hard one rarer in use and drawn more often; exact by every table of counts."""
    strata = (PlannedStratum("easy", 0.8, 90), PlannedStratum("hard", 0.2, 90, ratio=3.0))
    easy, hard = stratum_fars(strata, LIMIT)

    def promises(found: Sequence[Calibration], rng: np.random.Generator) -> list[Promise]:
        (chance,) = admission_curve(GateSetting(limit=LIMIT, strata=strata), [LIMIT], rng=rng)
        gates = [c.report.far_gate for c in found]
        return [
            admitted(found, chance.probability),
            mean("FAR re-weighted", [g.estimate for g in gates if g.estimate is not None], LIMIT),
        ]

    groups = (
        failing(90, easy, stratum="easy", probability=90 / 800),
        failing(90, hard, stratum="hard", probability=90 / 200),
        passing(60, 0.08, stratum="easy", probability=90 / 800),
    )
    return Scenario(
        "at the limit, two strata re-weighted",
        far_only(LIMIT),
        lambda rng: (plant(groups, rng=rng),),
        promises,
    )


def _looked_at() -> Scenario:
    """Three looks at growing evidence that share the error."""
    sizes = (50, 100, 150)
    policy = far_only(LIMIT).model_copy(update={"looks": LookRule(max=len(sizes))})

    def draw(rng: np.random.Generator) -> tuple[Evidence, ...]:
        whole = plant((failing(sizes[-1], LIMIT), passing(60, 0.08)), rng=rng)
        fails, passes = whole.cases[: sizes[-1]], whole.cases[sizes[-1] :]
        return tuple(replace(whole, cases=(*fails[:size], *passes)) for size in sizes)

    def promises(found: Sequence[Calibration], rng: np.random.Generator) -> list[Promise]:
        (chance,) = admission_curve(GateSetting(sizes[-1], LIMIT, looks=len(sizes)), [LIMIT], rng=rng)
        return [admitted(found, chance.probability), admitted(found, 0.01, Claim.AT_MOST)]

    return Scenario("at the limit, three looks that share the error", policy, draw, promises)


def _accepted_in_full() -> Scenario:
    """The acceptance policy: two blind raters, every guard."""
    policy, failures, passes, far, turned_away = shipped_policy("acceptance"), 150, 200, 0.02, 0.10
    groups = (failing(failures, far), passing(passes, turned_away))
    raters = PlantedRaters(number=2, recorded=True)

    def promises(found: Sequence[Calibration], _: np.random.Generator) -> list[Promise]:
        gate = gate_characteristic(failures, limit=LIMIT, true_far=far, z=policy.z)
        guard = policy.guards["non_acceptance_among_pass"]
        most = max_accepted(passes, limit=guard.limit, z=policy.z)
        kept = (
            0.0 if isinstance(most, Undefined) else float(binomial_pmf(passes, turned_away)[: most + 1].sum())
        )
        return [admitted(found, gate.pass_probability * kept)]

    return Scenario(
        "good, under the whole acceptance policy",
        policy,
        lambda rng: (plant(groups, rng=rng, raters=raters),),
        promises,
        share=0.5,
    )


def _abstaining() -> Scenario:
    """A judge that looks good by abstaining on every fifth answer."""
    policy, failures, passes, far, abstains = shipped_policy("acceptance"), 150, 150, 0.08, 0.20
    groups = (failing(failures, far, abstains=abstains), passing(passes, 0.25, abstains=abstains))
    raters = PlantedRaters(number=2, recorded=True)

    def promises(found: Sequence[Calibration], _: np.random.Generator) -> list[Promise]:
        reports = [c.report for c in found]
        return [
            pooled("FAR, abstentions in n", [r.far for r in reports], far),
            pooled("FAR of decided answers", [r.far_decided for r in reports], far / (1 - abstains)),
            pooled("abstention", [r.abstention for r in reports], abstains),
            admitted(found, 0.001, Claim.AT_MOST),
        ]

    return Scenario(
        "abstains on a fifth",
        policy,
        lambda rng: (plant(groups, rng=rng, raters=raters),),
        promises,
        share=0.5,
    )


def _by_place() -> Scenario:
    """A judge of pairs that names the first output on 15 % of them, whatever it is."""
    policy, failures, passes, far, first = shipped_policy("acceptance"), 150, 150, 0.05, 0.15
    groups = (failing(failures, far, by_place=first), passing(passes, 0.20, by_place=first))
    raters = PlantedRaters(number=2, recorded=True)

    def promises(found: Sequence[Calibration], _: np.random.Generator) -> list[Promise]:
        positions = [c.report.position for c in found if c.report.position is not None]
        n = failures + passes
        return [
            pooled("FAR, inconsistent in n", [c.report.far for c in found], far),
            pooled("consistency", [p.consistency for p in positions], 1 - first),
            share("position effect", *_effect(positions, n), first),
            covered(
                "consistency interval holds", [p.consistency for p in positions], 1 - first,
                wilson_coverage(n, 1 - first, z=far_only(LIMIT).z),
            ),
            admitted(found, 0.001, Claim.AT_MOST),
        ]  # fmt: skip

    return Scenario(
        "prefers what is shown first",
        policy,
        lambda rng: (plant(groups, rng=rng, raters=raters, both_orders=True),),
        promises,
        share=0.5,
    )


def _effect(positions: Sequence[PositionFigure], n: int) -> tuple[int, int]:
    """Pairs that lean to the first place less those that lean to the second, of all pairs."""
    lean = sum(p.effect for p in positions if p.effect is not None)
    return round(lean * n), n * len(positions)


def _percent(share: float) -> str:
    return f"{round(100 * share, 6):g} %"


def _mislabelled(prevalence: float, far: float, errors: RaterErrors) -> Scenario:
    """Raters who sometimes fail a good answer: the bias of STATISTICS §7, and its correction where known."""
    items, turned_away = 1_000, 0.05
    fails = round(items * prevalence)
    groups = (failing(fails, far), passing(items - fails, turned_away))

    def promises(found: Sequence[Calibration], _: np.random.Generator) -> list[Promise]:
        shown = apparent_far(fail_prevalence=prevalence, true_far=far, true_frr=turned_away, raters=errors)
        reports = [c.report for c in found]
        told = (
            []
            if isinstance(shown, Undefined)
            else [pooled("FAR as measured", [r.far for r in reports], shown)]
        )
        if far > 0:  # at 0 the correction is cut off there, so that its mean is no estimate of it
            corrected = [
                r.rater_error.far for r in reports if r.rater_error and r.rater_error.far is not None
            ]
            told.append(mean("FAR corrected for raters", corrected, far))
        return told

    return Scenario(
        f"FAR {_percent(far)}, {_percent(prevalence)} fail, raters fail "
        f"{_percent(1 - errors.passes_pass)} of good answers",
        far_only(LIMIT),
        lambda rng: (plant(groups, rng=rng, raters=PlantedRaters(errors=errors), errors_known=True),),
        promises,
        share=0.1,
    )


def scenarios() -> tuple[Scenario, ...]:
    """Every planted judge, in the order in which they are told of."""
    return (
        _independent("at the limit", 150, LIMIT),
        _independent("good", 150, 0.02),
        _independent("bad", 80, 0.25),
        _random_sample(),
        _clustered("at the limit, five answers a prompt", 30, LIMIT),
        _clustered("good, five answers a prompt", 60, 0.02),
        _stratified(),
        _looked_at(),
        _accepted_in_full(),
        _abstaining(),
        _by_place(),
        _mislabelled(0.05, 0.0, RaterErrors(detects_fail=1.0, passes_pass=0.99)),
        _mislabelled(0.10, 0.0, RaterErrors(detects_fail=1.0, passes_pass=0.98)),
        _mislabelled(0.50, 0.0, RaterErrors(detects_fail=1.0, passes_pass=0.95)),
        _mislabelled(0.10, 0.05, RaterErrors(detects_fail=0.98, passes_pass=0.995)),
    )
