"""Cases of one judge under one criterion -> CalibrationReport.

Pure: the same cases in any order give the same report and the same digest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from calibration.evidence import (
    BaselineFigure,
    Bounds,
    CalibrationReport,
    Case,
    FailureShareFigure,
    RateFigure,
    ReportScope,
    UndefinedFigure,
    VerdictTable,
)
from calibration.labels import Assessment
from calibration.policy import AdmissionPolicy
from calibration.report.agreement import decided_kappa, operational_kappa
from calibration.report.beyond import beyond
from calibration.report.coding import (
    COLUMNS,
    FAR_RULE,
    GUARD_RULES,
    CodedCases,
    GateSettings,
    gate_figure,
)
from calibration.report.figures import (
    bounds_figure,
    constant_baselines,
    count_figures,
    margin_figures,
    rate_figure,
    slice_figures,
)
from calibration.report.gaps import not_assessed, not_established
from calibration.report.leanings import leanings
from calibration.report.raters import evidence_grade, rater_figure
from calibration.report.supplement import (
    Supplement,
    answer_agreement,
    position_figure,
    repeats_figure,
    supplement_gates,
)
from calibration.statistics.error_rates import judge_rates
from calibration.statistics.proportions import rate
from rubrics.digest import digest

NOTHING = Supplement()

_NO_CLAIM = UndefinedFigure(
    undefined="no candidate declared, so nothing is accepted: read the agreement on the answers themselves"
)


def build_report(
    cases: Sequence[Case],
    *,
    scope: ReportScope,
    policy: AdmissionPolicy | None = None,
    assessments: Sequence[Assessment] = (),
    baselines: Sequence[BaselineFigure] = (),
    supplement: Supplement = NOTHING,
    constructed: bool = False,
    warnings: Sequence[str] = (),
) -> CalibrationReport:
    """The calibration report of one judge under one criterion.

    Args:
        cases: one per item, the order does not matter; every item of the set is there, whatever the
            judge said of it.
        scope: judge, rubric, criterion, and the dataset, set and run that the cases come from.
        policy: whose gate settings (look level, planning ICC) the gate's intervals take.
        assessments: the raters' labels behind the references, for agreement and blindness.
        baselines: further baselines beside always-accept and always-reject.
        supplement: orders, repeats, the scale's own answers and the design, where they are known.
        constructed: the evidence was written for demonstration.
        warnings: what a reader must know of how the cases were read.

    Raises:
        ValueError: two cases have the same item id.
    """
    ordered = sorted(cases, key=lambda case: case.item_id)
    _require_distinct(ordered)
    settings = GateSettings.of(policy)
    coded = CodedCases.of(ordered)
    table = coded.table()
    inputs = inputs_digest(ordered)
    rng = np.random.default_rng(_seed(coded))
    raters = rater_figure(ordered, assessments, rng=rng)
    fields: dict[str, Any] = {
        **scope.model_dump(),
        **_rates(table),
        **_gates(coded, supplement, settings),
        **beyond(ordered, table, supplement, policy),
        "inputs": inputs,
        "policy": f"{settings.label} {settings.digest}" if settings.label else None,
        "evidence_grade": evidence_grade(raters, constructed=constructed),
        "constructed": constructed,
        "warnings": tuple(warnings),
        "counts": count_figures(table, coded),
        "table": table,
        "kappa": operational_kappa(coded, rng=rng),
        "kappa_decided": decided_kappa(coded, rng=rng),
        "margins": margin_figures(table),
        "raters": raters,
        "slices": slice_figures(ordered, coded, settings, policy),
        "baselines": (*_constant(coded, rng, supplement), *baselines),
        **_supplied(ordered, supplement, table),  # last: it replaces figures that the design gives no sense
    }
    return _sealed(fields, policy)


def _sealed(fields: Mapping[str, Any], policy: AdmissionPolicy | None) -> CalibrationReport:
    """The report with what it leaves out, and with its digest over everything else."""
    draft = CalibrationReport(report="", not_assessed=(), not_established=(), **fields)
    full = draft.model_copy(
        update={
            "not_assessed": not_assessed(draft, policy),
            "not_established": not_established(draft, policy),
        }
    )
    return full.model_copy(update={"report": digest(full)})


def _gates(coded: CodedCases, supplement: Supplement, settings: GateSettings) -> dict[str, Any]:
    """The intervals that a policy reads."""
    # from an audit of what the judge accepted no FAR follows: its gate sees no case
    nobody = np.zeros(coded.reference.size, dtype=bool)
    gated = coded.where(nobody) if supplement.accepts_only else coded
    return {
        "far_gate": gate_figure(gated, FAR_RULE, settings),
        "guard_gates": {
            **{name: gate_figure(coded, rule, settings) for name, rule in GUARD_RULES.items()},
            **supplement_gates(supplement),
        },
    }


def _supplied(ordered: Sequence[Case], supplement: Supplement, table: VerdictTable) -> dict[str, Any]:
    """The figures that come from beside the cases, and those that they replace."""
    return {
        "wrong_side": None,
        **(_wrong_side(table) if supplement.wrong_side else {}),
        **(_accepts_only(table) if supplement.accepts_only else {}),
        "position": position_figure(supplement.position),
        "repeats": repeats_figure(supplement.repeats),
        "answer_agreement": answer_agreement(supplement.answers),
        "design": supplement.design,
        "claim": supplement.claim,
        "exploratory": supplement.exploratory,
        "adjudication": supplement.adjudication,
        **leanings(ordered, supplement.written),
        "probes": tuple(sorted(supplement.probes, key=lambda figure: figure.family)),
    }


def _constant(
    coded: CodedCases, rng: np.random.Generator, supplement: Supplement
) -> tuple[BaselineFigure, ...]:
    """The constant baselines; none for the wrong-side rate, where accepting and rejecting mean nothing."""
    return () if supplement.wrong_side else constant_baselines(coded, rng=rng)


def _wrong_side(table: VerdictTable) -> dict[str, Any]:
    """No candidate is declared: the rate keeps its numbers under its own name, and FAR is null.

    Every accepted case is one to the wrong side, so a share of failures among them says nothing.
    """
    share = RateFigure.of(rate(0, 0))
    return {
        "far": None,
        "wrong_side": rate_figure(table.fail.accepted, table.fail.total),
        "failure_among_accepted": FailureShareFigure(**share.model_dump()),
        "kappa": _NO_CLAIM,
        "kappa_decided": _NO_CLAIM,
    }


def _accepts_only(table: VerdictTable) -> dict[str, Any]:
    """An audit of acceptances estimates failure among accepted in use, and never FAR."""
    nothing = RateFigure.of(rate(0, 0))
    share = RateFigure.of(rate(table.fail.accepted, table.fail.accepted + table.passing.accepted))
    return {
        "far": nothing,
        "far_decided": nothing,
        "far_bounds": Bounds(low=None, high=None),
        "far_bounds_all_unknown": Bounds(low=None, high=None),
        "failure_among_accepted": FailureShareFigure(**share.model_dump(), describes="deployment"),
    }


def _require_distinct(ordered: Sequence[Case]) -> None:
    for one, following in pairwise(ordered):
        if one.item_id == following.item_id:
            raise ValueError(f"item {one.item_id!r} stands twice among the cases; each item is one case")


def _seed(coded: CodedCases) -> int:
    """A seed made of what is counted in each cluster: the same cases give the same report under any ids."""
    places = coded.reference * len(COLUMNS) + coded.outcome
    counts = np.zeros((int(coded.cluster.max(initial=-1)) + 1, 3 * len(COLUMNS)), dtype=np.int64)
    np.add.at(counts, (coded.cluster, places), 1)
    kinds, times = np.unique(counts, axis=0, return_counts=True)
    return int(digest([kinds.tolist(), times.tolist()])[:16], 16)


def inputs_digest(ordered: Sequence[Case]) -> str:
    """Identity of the cases: item, cluster, reference, outcome and slices of each, in item order."""
    return digest(
        [
            [
                case.item_id,
                case.cluster,
                case.reference.verdict,
                case.reference.raters,
                case.reference.adjudicated,
                case.outcome.verdict,
                case.outcome.reason,
                case.outcome.detail,
                case.slices,
                case.failure_modes,
                case.severity,
                case.stratum,
                case.inclusion_probability,
            ]
            for case in ordered
        ]
    )


def _rates(table: VerdictTable) -> dict[str, Any]:
    """Every figure that the verdict table gives, by the denominators of STATISTICS §1."""
    rates = judge_rates(table)
    fail, passing, every = table.fail, table.passing, table.all
    plain = ("far", "far_decided", "frr", "non_acceptance_among_pass", "coverage", "abstention")
    share = RateFigure.of(rates.failure_among_accepted)
    return {
        **{name: RateFigure.of(getattr(rates, name)) for name in plain},
        "far_bounds": bounds_figure(rates.far_bounds),
        "far_bounds_all_unknown": bounds_figure(rates.far_bounds_all_unknown),
        "failure_among_accepted": FailureShareFigure(**share.model_dump()),
        "disagreement": rate_figure(
            fail.accepted + passing.total - passing.accepted, fail.total + passing.total
        ),
        "invalid": rate_figure(every.invalid, every.total),
        "open": rate_figure(every.open, every.total),
    }
