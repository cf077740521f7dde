"""Several judges under one criterion: their places by FAR, as far as the shared failures separate them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calibration.evidence import Case, RankRange, Tie
from calibration.statistics.ranking import rank_judges
from rubrics.verdict import Verdict


def rank(
    criterion: str, cases: Mapping[str, Sequence[Case]]
) -> tuple[tuple[RankRange, ...], tuple[Tie, ...]]:
    """Rank ranges, best first, and the pairs that tie, on the reference failures that all judges share.

    Open verdicts count as not accepted, as in the FAR that is shown. Clusters are compared whole.

    Args:
        criterion: named in the records.
        cases: the cases of each judge; only failures that every judge has count.
    """
    failures = {
        judge: {c.item_id: c for c in judged if c.reference.verdict is Verdict.FAIL}
        for judge, judged in cases.items()
    }
    shared = sorted(set.intersection(*(set(found) for found in failures.values()))) if failures else []
    accepted = {judge: [found[item].outcome.accepted for item in shared] for judge, found in failures.items()}
    clusters = [next(iter(failures.values()))[item].cluster for item in shared]
    ranking = rank_judges(accepted, clusters)
    tied = set(ranking.ties)
    return (
        tuple(
            RankRange(criterion=criterion, judge=r.judge, low=r.low, high=r.high)
            for r in sorted(ranking.ranks, key=lambda r: (r.low, r.high, r.judge))
        ),
        tuple(
            Tie(
                criterion=criterion,
                judges=(pair.first, pair.second),
                only_first=pair.only_first,
                only_second=pair.only_second,
                shared_failures=pair.failures,
                p_value=pair.p_adjusted,
            )
            for pair in ranking.pairs
            if (pair.first, pair.second) in tied
        ),
    )
