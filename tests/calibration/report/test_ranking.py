"""Ranks: ranges where the data do not separate, ties named with their counts."""

from __future__ import annotations

from dataclasses import replace

from calibration.report.ranking import rank
from rubrics.verdict import FAIL
from tests.calibration.examples import make_cases

CLEAN = {"fail": {"reject": 80}, "pass": {"accept": 50}}


def accepting(n: int, *, of: int = 80) -> dict[str, dict[str, int]]:
    """Cases of which the first n failures are accepted."""
    return {"fail": {"accept": n, "reject": of - n}, "pass": {"accept": 50}}


def test_separate_judges_have_a_place_and_near_ones_share_a_range() -> None:
    """1, 4 and 40 of 80 accepted: the first two tie (3 against 0), the third is last."""
    ranks, ties = rank(
        "c", {"b": make_cases(accepting(40)), "a": make_cases(accepting(1)), "c": make_cases(accepting(4))}
    )
    assert [(r.judge, r.low, r.high) for r in ranks] == [("a", 1, 2), ("c", 1, 2), ("b", 3, 3)]
    (tie,) = ties
    assert tie.judges == ("a", "c")
    assert (tie.only_first, tie.only_second, tie.shared_failures) == (0, 3, 80)
    # exact McNemar of 3 against 0: p = 2 * .5 ** 3 = .25, the largest of three, so Holm leaves it
    assert tie.p_value == 0.25


def test_only_shared_failures_count() -> None:
    """A failure that one judge has not seen is left out for all."""
    whole = make_cases(accepting(4))
    _, ties = rank("c", {"a": whole, "b": whole[2:]})
    assert ties[0].shared_failures == 78


def test_whole_clusters_are_compared() -> None:
    """Ten differing failures in two prompts separate nobody; in ten prompts they do."""
    for per_cluster, tied in ((5, True), (1, False)):
        better = make_cases(CLEAN, per_cluster=per_cluster)
        worse = make_cases(accepting(10), per_cluster=per_cluster)
        _, ties = rank("c", {"a": better, "b": worse})
        assert bool(ties) is tied


def test_no_judge_and_no_failure_rank_nobody_apart() -> None:
    """Without judges there is no rank; without failures everybody shares every place."""
    assert rank("c", {}) == ((), ())
    passes = make_cases({"pass": {"accept": 5}})
    rejecting = [replace(c, outcome=FAIL) for c in passes]
    ranks, ties = rank("c", {"a": passes, "b": rejecting})
    assert [(r.low, r.high) for r in ranks] == [(1, 2), (1, 2)]
    assert ties[0].shared_failures == 0
