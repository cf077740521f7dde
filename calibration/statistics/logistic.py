"""Unpenalised logistic regression on grouped rows, which says when nothing can be estimated."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.values import Undefined

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """Coefficients on the log-odds scale with their standard errors, in the order of the columns."""

    coefficients: tuple[float, ...]
    standard_errors: tuple[float, ...]


def fit_logistic(
    columns: Sequence[Sequence[float]],
    successes: Sequence[int],
    failures: Sequence[int],
    *,
    clusters: Sequence[Hashable] | None = None,
) -> LogisticFit | Undefined:
    """The maximum-likelihood logistic regression of successes on the columns and an intercept (first).

    Nothing is penalised: where the columns separate successes from failures, wholly or at the edge, no finite
    estimate exists and the result is undefined, as it is when the columns are collinear.

    Args:
        columns: one sequence a column, each with one value a row.
        successes: for each row.
        failures: for each row.
        clusters: for each row its cluster; the errors then allow for dependence within clusters.

    Raises:
        ValueError: for columns of unequal lengths, a negative count, or a value that is not finite.

    Source: Konis 2007 (separation); Liang, Zeger 1986 (robust errors), factor k / (k - 1).
    """
    design, yes, no = _checked(columns, successes, failures)
    used = yes + no > 0
    design, yes, no = design[used], yes[used], no[used]
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return Undefined("not estimable: a column is constant or follows from the others")
    if _separated(design, yes, no):
        return Undefined("not estimable: the columns separate the accepted from the others")
    beta, information = _newton(design, yes, no)
    covariance = np.asarray(np.linalg.inv(information), dtype=float)
    if clusters is not None:
        kept = [cluster for cluster, keep in zip(clusters, used, strict=True) if keep]
        labels = {cluster: i for i, cluster in enumerate(dict.fromkeys(kept))}
        if len(labels) <= design.shape[1]:
            return Undefined("not estimable: fewer clusters than coefficients plus one")
        rows = np.array([labels[cluster] for cluster in kept])
        covariance = _sandwich(design, yes, no, beta, covariance, rows)
    return LogisticFit(tuple(beta.tolist()), tuple(np.sqrt(np.diag(covariance)).tolist()))


def _checked(
    columns: Sequence[Sequence[float]], successes: Sequence[int], failures: Sequence[int]
) -> tuple[Floats, Floats, Floats]:
    lengths = {len(successes), len(failures), *(len(column) for column in columns)}
    if len(lengths) != 1:
        raise ValueError(
            f"the columns and counts have {sorted(lengths)!r} rows; give one value of each per row"
        )
    yes, no = np.asarray(successes, dtype=float), np.asarray(failures, dtype=float)
    design = np.column_stack([np.ones(len(yes)), *(np.asarray(column, dtype=float) for column in columns)])
    if not (np.isfinite(design).all() and np.isfinite(yes).all() and np.isfinite(no).all()):
        raise ValueError("a value is not finite; leave rows with missing values out and say how many")
    if (yes < 0).any() or (no < 0).any():
        raise ValueError("a count is negative; successes and failures are counts >= 0")
    return design, yes, no


def _separated(design: Floats, yes: Floats, no: Floats) -> bool:
    """Whether some direction never puts a success below a failure, and one above (Konis 2007).

    A linear program: maximise the total margin over directions in a box, margins >= 0, and = 0 where a row
    has both outcomes.
    """
    from scipy.optimize import linprog

    mixed = (yes > 0) & (no > 0)
    sign = np.where(yes > 0, 1.0, -1.0)[:, None]
    margins = (sign * design)[~mixed]
    if not margins.size:
        return False
    scale = np.abs(design).max(axis=0)
    answer = linprog(
        -(margins / scale).sum(axis=0),
        A_ub=-(margins / scale),
        b_ub=np.zeros(len(margins)),
        A_eq=(design / scale)[mixed] if mixed.any() else None,
        b_eq=np.zeros(int(mixed.sum())) if mixed.any() else None,
        bounds=(-1, 1),
        method="highs",
    )
    return bool(-answer.fun > 1e-7)


def _newton(design: Floats, yes: Floats, no: Floats) -> tuple[Floats, Floats]:
    """The maximum of the likelihood by Newton's method with halved steps, and the information there."""
    trials = yes + no
    beta = np.zeros(design.shape[1])
    best, gain = _log_likelihood(design @ beta, yes, no), np.inf
    information = _information(design, trials, beta)
    while gain > 1e-13 * (1 + abs(best)):
        step = np.linalg.solve(information, design.T @ (yes - trials * _sigmoid(design @ beta)))
        while (reached := _log_likelihood(design @ (beta + step), yes, no)) < best - 1e-9 * (1 + abs(best)):
            step = step / 2
        beta, best, gain = beta + step, reached, reached - best
        information = _information(design, trials, beta)
    return beta, information


def _information(design: Floats, trials: Floats, beta: Floats) -> Floats:
    fitted = _sigmoid(design @ beta)
    return np.asarray((design * (trials * fitted * (1 - fitted))[:, None]).T @ design)


def _sigmoid(score: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(score, -700, 700))))


def _log_likelihood(score: Floats, yes: Floats, no: Floats) -> float:
    return -float((yes * np.logaddexp(0, -score) + no * np.logaddexp(0, score)).sum())


def _sandwich(
    design: Floats,
    yes: Floats,
    no: Floats,
    beta: Floats,
    bread: Floats,
    rows: NDArray[np.int64],
) -> Floats:
    """Liang, Zeger 1986: the covariance from the clusters' summed scores."""
    residual = yes - (yes + no) * _sigmoid(design @ beta)
    clusters = int(rows.max()) + 1
    scores = np.zeros((clusters, design.shape[1]))
    np.add.at(scores, rows, design * residual[:, None])
    return np.asarray(bread @ (scores.T @ scores * (clusters / (clusters - 1))) @ bread)
