"""The planted judges: small runs keep their promises, and faults of report or decision break them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from calibration.admission import decide
from calibration.evidence import AdmissionOutcome, ItemStatus
from calibration.report import build_report
from calibration.simulating.planted import CLUSTER_BOUND, LIMIT, scenarios
from calibration.simulating.promises import Claim
from calibration.simulating.running import FULL, SelfTest, calibrate, run_self
from calibration.simulating.scenarios import Scenario

RUNNING = "calibration.simulating.running"
BY_NAME = {scenario.name: scenario for scenario in scenarios()}
LIMITED = BY_NAME["at the limit"]
CLUSTERED = BY_NAME["at the limit, five answers a prompt"]
ABSTAINING = BY_NAME["abstains on a fifth"]
BY_PLACE = BY_NAME["prefers what is shown first"]
LOOKED_AT = BY_NAME["at the limit, three looks that share the error"]
MISLABELLED = [scenario for name, scenario in BY_NAME.items() if "raters fail" in name]


def run(*planted: Scenario, replicates: int = 40, seed: int = 0) -> SelfTest:
    """A short self-test of some judges."""
    return run_self(replicates=replicates, seed=seed, planted=planted)


@cache
def short_run(name: str) -> SelfTest:
    """A short self-test of one judge, made once."""
    return run(BY_NAME[name], replicates=30)


def broken(found: SelfTest) -> set[str]:
    """The promises that were not kept."""
    return {promise.what for promise in found.promises if not promise.kept}


def test_every_subject_of_the_gate_is_planted() -> None:
    """Limit, good, bad, sample, clusters, strata, looks, acceptance, abstention, position, mislabelled."""
    assert len(BY_NAME) == len(scenarios()) == 15
    assert len(MISLABELLED) == 4


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
def test_what_ships_keeps_its_promises(scenario: Scenario) -> None:
    """In a short run every promise of every judge is kept."""
    found = short_run(scenario.name)
    assert found.promises
    assert broken(found) == set()
    assert found.kept


@pytest.mark.slow
def test_what_ships_keeps_its_promises_in_full() -> None:
    """The full self-test: every promise of every judge, in narrow bands."""
    found = run_self(replicates=FULL, seed=20261130)
    assert broken(found) == set()


def test_promised_numbers() -> None:
    """Sizes, bounds and biases are those of STATISTICS §7, §9 and §13."""
    judges = (LIMITED, CLUSTERED, LOOKED_AT, *MISLABELLED)
    promised = {
        (judge.name, promise.what, promise.claim): promise.promised
        for judge in judges
        for promise in short_run(judge.name).promises
    }
    assert promised[(LIMITED.name, "admitted", Claim.IS)] == pytest.approx(0.014, abs=5e-4)
    assert promised[(CLUSTERED.name, "admitted", Claim.IS)] == pytest.approx(0.011, abs=2e-3)
    assert promised[(CLUSTERED.name, "admitted", Claim.AT_MOST)] == CLUSTER_BOUND
    assert promised[(LOOKED_AT.name, "admitted", Claim.IS)] == pytest.approx(0.0066, abs=5e-4)
    biased = [promised[(scenario.name, "FAR as measured", Claim.IS)] for scenario in MISLABELLED]
    assert [round(100 * far, 1) for far in biased] == [15.2, 14.5, 4.5, 9.0]  # the table of §7


def test_the_seed_makes_it_repeatable() -> None:
    """The same seed gives the same self-test, another seed another; each judge has a generator of its own."""
    first = run(LIMITED, ABSTAINING, replicates=10)
    assert first == run(LIMITED, ABSTAINING, replicates=10)
    assert first.examined[0] == run(LIMITED, BY_NAME["bad"], replicates=10).examined[0]
    assert first.promises != run(LIMITED, ABSTAINING, replicates=10, seed=1).promises


def test_progress_is_told() -> None:
    """Each calibration is counted, of all that there will be."""
    told: list[tuple[int, int]] = []
    run_self(
        replicates=20, seed=0, planted=[LIMITED, ABSTAINING], told=lambda done, of: told.append((done, of))
    )
    assert told == [(number, 30) for number in range(1, 31)]


def test_looks_end_with_the_first_that_admits() -> None:
    """Three looks unless one admits; the looks used are counted in the decision."""
    rng = np.random.default_rng(5)
    found = [calibrate(LOOKED_AT, rng) for _ in range(5)]
    assert {c.decision.looks.used for c in found if not c.admitted} == {3}
    easy = Scenario("easy", LOOKED_AT.policy, BY_NAME["good"].plant, LOOKED_AT.promises)
    assert calibrate(easy, np.random.default_rng(6)).admitted
    wide = Scenario("wide", LOOKED_AT.policy, lambda rng: BY_NAME["good"].plant(rng) * 3, LOOKED_AT.promises)
    assert calibrate(wide, np.random.default_rng(6)).decision.looks.used == 1


# -- faults that a self-test is there to notice


def test_a_gate_on_the_point_estimate_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision that admits whenever the measured FAR is at the limit breaks size, and is told of."""

    def lenient(report: Any, policy: Any, **more: Any) -> Any:
        found = decide(report, policy, **more)
        admits = report.far.estimate <= LIMIT
        return found.model_copy(update={"outcome": AdmissionOutcome.ADMIT}) if admits else found

    monkeypatch.setattr(f"{RUNNING}.decide", lenient)
    assert "admitted" in broken(run(LIMITED))


def test_a_gate_that_never_admits_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Safety is no excuse: a judge that should be admitted in 99 of 100 is not."""
    monkeypatch.setattr(
        f"{RUNNING}.decide",
        lambda *a, **k: decide(*a, **k).model_copy(update={"outcome": AdmissionOutcome.INSUFFICIENT}),
    )
    assert "admitted" in broken(run(BY_NAME["good"]))


def test_a_report_that_ignores_clusters_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the planning correlation and the estimate, judges at the limit slip through in fives."""

    def naive(cases: Any, **more: Any) -> Any:
        return build_report([replace(case, cluster=case.item_id) for case in cases], **more)

    monkeypatch.setattr(f"{RUNNING}.build_report", naive)
    assert "admitted" in broken(run(CLUSTERED, replicates=100))


def test_a_report_that_drops_abstentions_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """FAR over decided answers only is another number, and abstention vanishes."""

    def dropping(cases: Any, **more: Any) -> Any:
        return build_report([case for case in cases if case.outcome.reason is None], **more)

    monkeypatch.setattr(f"{RUNNING}.build_report", dropping)
    assert {"FAR, abstentions in n", "abstention"} <= broken(run(ABSTAINING, replicates=80))


def test_a_policy_without_its_guards_is_noticed() -> None:
    """Position and abstention guards are what keeps the two judges out."""
    for scenario in (ABSTAINING, BY_PLACE):
        bare = scenario.policy.model_copy(update={"guards": {}})
        found = run(Scenario(scenario.name, bare, scenario.plant, scenario.promises), replicates=40)
        admits = [p for p in found.promises if p.what == "admitted"]
        assert len(admits) == 1
        if scenario is BY_PLACE:
            assert not admits[0].kept
    rng = np.random.default_rng(3)
    items = {
        scenario.name: {
            item.name for item in calibrate(scenario, rng).decision.items if item.status is ItemStatus.FAIL
        }
        for scenario in (ABSTAINING, BY_PLACE)
    }
    assert "abstention" in items[ABSTAINING.name]
    assert "position_effect_abs" in items[BY_PLACE.name]


def test_an_interval_that_is_too_short_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals at 68 % hold the truth too seldom: coverage is out of its band."""

    def short(cases: Any, **more: Any) -> Any:
        report = build_report(cases, **more)
        far = report.headline
        middle = (far.lower + far.upper) / 2
        half = (far.upper - far.lower) / 4
        return report.model_copy(
            update={"far": far.model_copy(update={"lower": middle - half, "upper": middle + half})}
        )

    monkeypatch.setattr(f"{RUNNING}.build_report", short)
    assert "FAR interval holds" in broken(run(LIMITED, replicates=60))


def test_a_report_that_forgets_the_strata_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its weights the drawn set shows another FAR than the deployment's."""
    stratified = BY_NAME["at the limit, two strata re-weighted"]

    def unweighted(cases: Any, **more: Any) -> Any:
        return build_report([replace(case, inclusion_probability=None) for case in cases], **more)

    monkeypatch.setattr(f"{RUNNING}.build_report", unweighted)
    found = run(stratified, replicates=40)
    assert "FAR re-weighted" in broken(found)
