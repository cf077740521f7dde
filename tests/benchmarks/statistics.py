"""`python -m tests.benchmarks.statistics --json`: what the statistics cost beside their peers.

Everything that is compared runs in turn within each round; a line gives minimum, median and maximum of the
processor time, ratios are of medians. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.agreement import cohens_kappa
from calibration.statistics.bootstrap import (
    bootstrap_interval,
    distinct_vectors,
    kappa_of_totals,
    resample_totals,
)
from calibration.statistics.kappa_interval import agreement_table
from calibration.statistics.paired_bootstrap import paired_bootstrap
from calibration.statistics.raters import krippendorff_alpha

RESAMPLES = 10_000
Floats = NDArray[np.float64]
Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Spread:
    """Processor seconds of one piece of work over the rounds."""

    low: float
    median: float
    high: float


def timed(works: dict[str, Work], rounds: int) -> dict[str, Spread]:
    """The processor time of each piece of work, all of them once a round, after one unmeasured call."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds + 1):
        for name, work in works.items():
            start = time.process_time()
            work()
            if turn:
                seconds[name].append(time.process_time() - start)
    return {name: Spread(min(took), statistics.median(took), max(took)) for name, took in seconds.items()}


def plain_loop(differences: list[float], resamples: int) -> tuple[float, float]:
    """The paired bootstrap as one would first write it, without a library."""
    generator, tasks = random.Random(1), len(differences)
    means = sorted(sum(generator.choices(differences, k=tasks)) / tasks for _ in range(resamples))
    return means[int(0.025 * resamples)], means[int(0.975 * resamples)]


def two_systems(tasks: int, runs: int, rng: np.random.Generator) -> Floats:
    """Candidate minus baseline success rate of each task, over so many runs of both."""
    baseline = rng.binomial(runs, 0.70, size=tasks) / runs
    return np.asarray(rng.binomial(runs, 0.73, size=tasks) / runs - baseline)


def paired(rounds: int) -> dict[str, Spread]:
    """Paired bootstrap of the difference of two rates, ours, scipy's and a plain loop."""
    from scipy.stats import bootstrap

    rng = np.random.default_rng(20261130)
    works: dict[str, Work] = {}
    for tasks in (2_000, 20_000):
        gaps, of_runs = two_systems(tasks, 1, rng), two_systems(tasks, 4, rng)
        works[f"paired bootstrap {tasks}"] = partial(paired_bootstrap, gaps, rng=rng, resamples=RESAMPLES)
        works[f"paired bootstrap of 4 runs {tasks}"] = partial(
            paired_bootstrap, of_runs, rng=rng, resamples=RESAMPLES
        )
        works[f"scipy.stats.bootstrap {tasks}"] = partial(
            bootstrap, (gaps,), np.mean, n_resamples=RESAMPLES, batch=500, method="percentile", rng=rng
        )
        if tasks == 2_000:
            works[f"plain loop {tasks}"] = partial(plain_loop, gaps.tolist(), RESAMPLES)
    return timed(works, rounds)


def clusters(rounds: int) -> dict[str, Spread]:
    """Kappa and FAR with bootstrap intervals over 10,000 clusters of one to three outputs."""
    rng = np.random.default_rng(20261130)
    sizes = rng.integers(1, 4, size=10_000)
    cells = np.array([rng.multinomial(size, [0.35, 0.05, 0.10, 0.50]) for size in sizes])

    def accepted_among_fail(totals: Floats) -> Floats:
        return np.asarray(totals[:, 1] / (totals[:, 0] + totals[:, 1]))

    def both() -> None:
        distinct = distinct_vectors(cells)
        totals = resample_totals(distinct, rng=rng, resamples=RESAMPLES)
        bootstrap_interval(distinct, totals, kappa_of_totals)
        bootstrap_interval(distinct, totals, accepted_among_fail)

    kinds = len(distinct_vectors(cells).multiplicity)
    return timed({f"cluster bootstrap, {kinds} distinct count vectors": both}, rounds)


def agreement(rounds: int) -> dict[str, Spread]:
    """Cohen's kappa of a million coded labels, and Krippendorff's alpha, beside their packages."""
    import krippendorff
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(20261130)
    first = rng.integers(0, 2, size=1_000_000)
    second = np.where(rng.random(first.size) < 0.9, first, 1 - first)
    labels = rng.integers(0, 5, size=(5, 20_000)).astype(float)
    labels[rng.random(labels.shape) < 0.2] = np.nan
    return timed(
        {
            "kappa of 1M labels": lambda: cohens_kappa(agreement_table(first, second, categories=2).tolist()),
            "sklearn cohen_kappa_score": lambda: cohen_kappa_score(first, second),
            "alpha, 5 raters x 20,000": lambda: krippendorff_alpha(labels),
            "krippendorff package": lambda: krippendorff.alpha(
                reliability_data=labels, level_of_measurement="nominal"
            ),
        },
        rounds,
    )


def figures(spreads: dict[str, Spread]) -> dict[str, float]:
    """The figures by the keys that scripts read; ratios say how many times faster ours is."""

    def seconds(start: str) -> float:
        return next(spread.median for name, spread in spreads.items() if name.startswith(start))

    def ratio(theirs: str, ours: str) -> float:
        return seconds(theirs) / seconds(ours)

    return {
        "paired_bootstrap_2000_s": seconds("paired bootstrap 2000"),
        "paired_bootstrap_20000_s": seconds("paired bootstrap 20000"),
        "paired_bootstrap_4_runs_2000_s": seconds("paired bootstrap of 4 runs 2000"),
        "paired_bootstrap_4_runs_20000_s": seconds("paired bootstrap of 4 runs 20000"),
        "ratio_loop_2000": ratio("plain loop 2000", "paired bootstrap 2000"),
        "ratio_scipy_2000": ratio("scipy.stats.bootstrap 2000", "paired bootstrap 2000"),
        "ratio_scipy_20000": ratio("scipy.stats.bootstrap 20000", "paired bootstrap 20000"),
        "cluster_bootstrap_s": seconds("cluster bootstrap"),
        "kappa_1m_ms": 1000 * seconds("kappa of 1M"),
        "ratio_sklearn_kappa": ratio("sklearn", "kappa of 1M"),
        "ratio_krippendorff": ratio("krippendorff package", "alpha"),
    }


def main() -> None:
    """Print each spread, then the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="end with one JSON object")
    parser.add_argument("--rounds", type=int, default=5, help="measured rounds (default 5)")
    options = parser.parse_args()
    spreads = {**agreement(options.rounds), **clusters(options.rounds), **paired(options.rounds)}
    print(f"{'processor time, ms':44} {'minimum':>10} {'median':>10} {'maximum':>10}")
    for name, spread in spreads.items():
        print(f"{name:44} {spread.low * 1e3:10.2f} {spread.median * 1e3:10.2f} {spread.high * 1e3:10.2f}")
    found = figures(spreads)
    if options.json:
        print(json.dumps(found))
    else:
        print("\n".join(f"{key}: {value:.4g}" for key, value in found.items()))


if __name__ == "__main__":
    main()
