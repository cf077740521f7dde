"""Whether a judge leans to long outputs, or to those of its own family of models, at equal reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calibration.evidence import (
    Case,
    LengthThirdFigure,
    OddsFigure,
    RateFigure,
    SelfPreferenceFigure,
    VerbosityFigure,
)
from calibration.report.supplement import Written
from calibration.statistics.bias import (
    LengthRow,
    OddsRatio,
    rates_by_length,
    self_preference,
    verbosity_effect,
)
from calibration.values import Undefined
from rubrics.verdict import Verdict


def leanings(cases: Sequence[Case], written: Written | None) -> dict[str, Any]:
    """The figures `verbosity` and `self_preference` of a report; null where no text is known.

    Over the items with a resolved reference; whatever accepts nothing, open verdicts included, is not
    accepted. Items that share a cluster are allowed for in the standard errors of the odds.
    """
    if written is None:
        return {"verbosity": None, "self_preference": None}
    known = [
        case
        for case in cases
        if case.reference.verdict in {Verdict.PASS, Verdict.FAIL} and case.item_id in written.log2_length
    ]
    return {
        "verbosity": _verbosity([_row(case, written) for case in known], written),
        "self_preference": _self_preference(
            [_row(case, written) for case in known if case.item_id in written.own_family], written
        ),
    }


def _row(case: Case, written: Written) -> LengthRow:
    accepted = case.outcome.accepted
    return LengthRow(
        reference_pass=case.reference.verdict is Verdict.PASS,
        log2_length=written.log2_length[case.item_id],
        accepted=int(accepted),
        not_accepted=int(not accepted),
        cluster=case.cluster,
        own_family=written.own_family.get(case.item_id, False),
    )


def _verbosity(rows: Sequence[LengthRow], written: Written) -> VerbosityFigure:
    thirds = tuple(
        LengthThirdFigure(
            shortest=2**third.shortest,
            longest=2**third.longest,
            far=RateFigure.of(third.far),
            non_acceptance_among_pass=RateFigure.of(third.non_acceptance_among_pass),
        )
        for third in rates_by_length(rows)
    )
    nothing = "no item with a resolved reference has a known text"
    if not written.log2_length and written.not_assessable:
        nothing = f"not assessable: {written.not_assessable}"
    odds = _odds(verbosity_effect(rows) if rows else Undefined(nothing))
    return VerbosityFigure(measure=written.measure, items=len(rows), odds_per_doubling=odds, thirds=thirds)


def _self_preference(rows: Sequence[LengthRow], written: Written) -> SelfPreferenceFigure:
    why = written.not_assessable
    sides = {row.own_family for row in rows}
    if why is None and sides != {True, False}:
        whose = "none is of its own family" if True not in sides else "all are of its own family"
        why = f"of {len(rows)} outputs with a named family {whose}"
    if why is not None:
        return SelfPreferenceFigure(items=len(rows), undefined=f"not assessable: {why}")
    found = self_preference(rows)
    figure = SelfPreferenceFigure(
        items=len(rows),
        own_family=RateFigure.of(found.own),
        others=RateFigure.of(found.others),
        odds=_odds(found.adjusted),
    )
    if isinstance(found.difference, Undefined):
        return figure.model_copy(update={"undefined": found.difference.reason})
    interval = found.difference.interval
    ends = {} if isinstance(interval, Undefined) else {"lower": interval.lower, "upper": interval.upper}
    return figure.model_copy(update={"difference": found.difference.value, **ends})


def _odds(found: OddsRatio | Undefined) -> OddsFigure:
    if isinstance(found, Undefined):
        return OddsFigure(undefined=found.reason)
    interval = found.odds_ratio.interval
    ends = {} if isinstance(interval, Undefined) else {"lower": interval.lower, "upper": interval.upper}
    return OddsFigure(estimate=found.odds_ratio.value, **ends)
