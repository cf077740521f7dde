"""Assessments of raters -> one reference label per item and criterion (STATISTICS §1).

Pure, and it sees labels only: no verdict of a judge can reach it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from calibration.labels import Adjudication, Assessment, ReferenceLabel, ReferenceRule, UnresolvedReason
from rubrics.verdict import Verdict


def resolve(
    assessments: Sequence[Assessment],
    adjudication: Adjudication | None = None,
    *,
    rule: ReferenceRule = ReferenceRule.MAJORITY,
    min_raters: int = 1,
) -> ReferenceLabel:
    """The reference label of one item from its raters' live assessments.

    An adjudication that decides wins under every rule. Without one, fewer than `min_raters`
    labels, a tie, or (for `unanimous`) any difference leaves the item unknown with the reason.
    Cannot-decide labels stay in the denominator of a majority.
    """
    raters = len(assessments)
    if adjudication is not None:
        reason = None if adjudication.verdict in _DECIDED else UnresolvedReason.ADJUDICATION_OPEN
        verdict = adjudication.verdict if reason is None else Verdict.UNKNOWN
        return ReferenceLabel(verdict, raters, adjudicated=True, unresolved=reason)
    if not raters:
        return ReferenceLabel(Verdict.UNKNOWN, 0, unresolved=UnresolvedReason.NO_LABEL)
    if raters < min_raters:
        return ReferenceLabel(Verdict.UNKNOWN, raters, unresolved=UnresolvedReason.TOO_FEW_RATERS)
    if rule is ReferenceRule.ADJUDICATED:
        return ReferenceLabel(Verdict.UNKNOWN, raters, unresolved=UnresolvedReason.NOT_ADJUDICATED)
    return _by_count(Counter(a.verdict for a in assessments), raters, rule)


_DECIDED = frozenset({Verdict.PASS, Verdict.FAIL})


def _by_count(counts: Counter[Verdict], raters: int, rule: ReferenceRule) -> ReferenceLabel:
    """The label that the counts carry under the rule, or why there is none."""
    needed = raters if rule is not ReferenceRule.MAJORITY else raters // 2 + 1
    for verdict in _DECIDED:
        if counts[verdict] >= needed:
            return ReferenceLabel(verdict, raters)
    disputed = len([v for v in _DECIDED if counts[v]]) == len(_DECIDED)
    reason = UnresolvedReason.DISAGREEMENT if disputed else UnresolvedReason.CANNOT_DECIDE
    return ReferenceLabel(Verdict.UNKNOWN, raters, unresolved=reason)
