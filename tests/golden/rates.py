"""Adapters: one proportion, error rates, agreement, raters."""

from __future__ import annotations

from typing import Any

from calibration.evidence import VerdictRow, VerdictTable
from calibration.statistics.agreement import KappaWeights, cohens_kappa
from calibration.statistics.agreement_context import binary_agreement, gwet_ac1
from calibration.statistics.error_rates import classification, judge_rates, resolution_bounds
from calibration.statistics.proportions import (
    clopper_pearson_interval,
    rate,
    wald_interval,
    wilson_interval,
)
from calibration.statistics.rater_error import RaterErrors, apparent_far
from calibration.statistics.raters import Level, dawid_skene, fleiss_kappa, krippendorff_alpha
from calibration.values import Undefined
from rubrics.verdict import Verdict, combine
from tests.golden.registry import Inputs, golden, level, quantile


@golden("wilson")
def _wilson(case: Inputs) -> Any:
    x, n = case["x"], case["n"]
    if isinstance(x, float) or isinstance(n, float):  # effective counts have no Rate
        interval = wilson_interval(x, n, **level(case))
        return {"estimate": x / n if n else None, "lower": interval.lower, "upper": interval.upper}
    found = rate(x, n, **level(case))
    return {"estimate": found.estimate, "lower": found.interval.lower, "upper": found.interval.upper}


@golden("wilson_upper_one_sided")
def _wilson_one_sided(case: Inputs) -> Any:
    return {"upper": wilson_interval(case["x"], case["n"], sided=1, **level(case)).upper}


@golden("wald")
def _wald(case: Inputs) -> Any:
    found = wald_interval(case["x"], case["n"], **level(case))
    if isinstance(found, Undefined):
        return dict.fromkeys(("estimate", "half_width", "lower_unclipped", "upper_unclipped"))
    return {
        "estimate": found.estimate,
        "half_width": found.half_width,
        "lower_unclipped": found.lower,
        "upper_unclipped": found.upper,
    }


@golden("clopper_pearson")
def _clopper_pearson(case: Inputs) -> Any:
    found = clopper_pearson_interval(case["x"], case["n"], confidence=case.get("conf", 0.95))
    return {"lower": found.lower, "upper": found.upper}


@golden("cohen_kappa")
def _cohen_kappa(case: Inputs) -> Any:
    weights = KappaWeights(case.get("weights") or "none")
    found = cohens_kappa(case["table"], weights=weights, **level(case))
    if isinstance(found, Undefined):
        # without a case nothing exists; otherwise both raters gave one and the same label throughout
        both = 1.0 if any(map(any, case["table"])) else None
        return {"po": both, "pe": both, **dict.fromkeys(("kappa", "se", "se0", "lower", "upper"))}
    reach = quantile(case) * found.se
    ends = (found.kappa - reach, found.kappa + reach)
    if not isinstance(found.interval, Undefined):
        ends = (found.interval.lower, found.interval.upper)
    return {
        "kappa": found.kappa,
        "po": found.po,
        "pe": found.pe,
        "se": found.se,
        "se0": found.se0,
        "lower": ends[0],
        "upper": ends[1],
    }


@golden("kappa_2x2_extras")
def _kappa_extras(case: Inputs) -> Any:
    found, kappa = binary_agreement(case["table"]), cohens_kappa(case["table"])
    if isinstance(found, Undefined):
        return {}
    return {
        "po": found.po,
        "pabak": found.pabak,
        "bias_index": found.bias_index,
        "prevalence_index": found.prevalence_index,
        "positive_agreement": found.positive_agreement,
        "negative_agreement": found.negative_agreement,
        "kappa_max": kappa if isinstance(kappa, Undefined) else kappa.kappa_max,
    }


@golden("gwet_ac1")
def _gwet(case: Inputs) -> Any:
    found = gwet_ac1(case["table"])
    if isinstance(found, Undefined):
        return dict.fromkeys(("ac1", "pe", "se"))
    return {"ac1": found.ac1, "pe": found.pe, "se": found.standard_error}


@golden("fleiss_kappa")
def _fleiss(case: Inputs) -> Any:
    found = fleiss_kappa(case["counts"])
    if isinstance(found, Undefined):
        return {"kappa": None}
    return {"kappa": found.kappa, "p_bar": found.po, "pe": found.pe}


@golden("krippendorff_alpha")
def _alpha(case: Inputs) -> Any:
    return {"alpha": krippendorff_alpha(case["data"], level=Level(case.get("level", "nominal")))}


@golden("dawid_skene")
def _dawid_skene(case: Inputs) -> Any:
    found = dawid_skene(case["labels"], max_iterations=case.get("iterations", 500))
    if isinstance(found, Undefined):
        return dict.fromkeys(("posterior_1", "prevalence_1", "error_when_0", "error_when_1"))

    def errors(given: tuple[float | Undefined, ...]) -> list[float]:
        # the pack writes 0 where a rater met no case of that truth
        return [0.0 if isinstance(error, Undefined) else error for error in given]

    return {
        "posterior_1": found.posterior,
        "prevalence_1": found.prevalence,
        "error_when_0": errors(found.error_when_0),
        "error_when_1": errors(found.error_when_1),
    }


_COLUMNS = {"accept": "accepted", "reject": "rejected", "abstain": "abstained"}


@golden("judge_rates")
def _judge_rates(case: Inputs) -> Any:
    rows = {
        reference: VerdictRow(**{_COLUMNS.get(word, word): count for word, count in cells.items()})
        for reference, cells in case["counts"].items()
    }
    table = VerdictTable.model_validate(rows)
    rates = judge_rates(table)
    return {
        "n_fail": rates.far.n,
        "n_pass": rates.frr.n,
        "n_unresolved": table.unresolved.total,
        "far": rates.far.estimate,
        "far_open_as_accept": rates.far_open_as_accepted.estimate,
        "far_low": rates.far_bounds.low,
        "far_high": rates.far_bounds.high,
        "far_decided": rates.far_decided.estimate,
        "frr": rates.frr.estimate,
        "non_acceptance_among_pass": rates.non_acceptance_among_pass.estimate,
        "failure_among_accepted": rates.failure_among_accepted.estimate,
        "abstention_rate": rates.abstention.estimate,
        "coverage": rates.coverage.estimate,
    }


@golden("classification")
def _classification(case: Inputs) -> Any:
    found = classification(tp=case["tp"], fn=case["fn"], fp=case["fp"], tn=case["tn"])
    return {
        "far": found.far,
        "frr": found.frr,
        "precision": found.precision,
        "f1": found.f1,
        "balanced_accuracy": found.balanced_accuracy,
        "mcc": found.mcc,
    }


@golden("four_verdict")
def _four_verdict(case: Inputs) -> Any:
    return {"verdict": combine(Verdict(word) for word in case["criteria"]).value}


@golden("both_outcome_bounds")
def _both_outcome_bounds(case: Inputs) -> Any:
    found = resolution_bounds(case["accepted"], case["failed"], case["unresolved"])
    return {"estimate": found.low, "low": found.low, "high": found.high}


@golden("apparent_far")
def _apparent_far(case: Inputs) -> Any:
    raters = RaterErrors(case["rater_detects_fail"], case["rater_passes_pass"])
    return {
        "apparent_far": apparent_far(
            fail_prevalence=case["fail_prevalence"],
            true_far=case["true_far"],
            true_frr=case["true_frr"],
            raters=raters,
        )
    }
