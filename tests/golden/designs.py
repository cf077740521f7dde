"""Adapters: strata, clusters, correction, pairs, planning, looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from calibration.statistics.clusters import cluster_robust_rate, cluster_wilson, design_effect
from calibration.statistics.correction import (
    JudgeErrors,
    LabelledPairs,
    prediction_powered,
    rogan_gladen,
)
from calibration.statistics.multiplicity import benjamini_hochberg, bonferroni, holm
from calibration.statistics.normal import look_adjusted_z
from calibration.statistics.paired import (
    PairedTable,
    mcnemar_chi_square,
    mcnemar_exact,
    newcombe_paired,
    noninferiority,
    paired_normal,
    pairing_gain,
    within_drop,
)
from calibration.statistics.paired_bootstrap import paired_bootstrap_exact
from calibration.statistics.planning import (
    failures_for_power,
    gate_characteristic,
    min_failures_clean,
    more_failures_needed,
)
from calibration.statistics.sample_size import (
    n_for_half_width,
    n_pairs_noninferiority,
    n_pairs_scaled,
    n_two_arm,
)
from calibration.statistics.sequential import Direction, confidence_sequence, log_e_value, spent_alpha
from calibration.statistics.strata import (
    Stratum,
    WeightedRate,
    kish_rate,
    kish_size,
    korn_graubard,
    mover_rate,
    normalise,
)
from calibration.values import Undefined
from tests.golden.registry import Inputs, golden, level, quantile


@golden("kish_n_eff")
def _kish(case: Inputs) -> Any:
    found = kish_size(case["weights"])
    return {"n_eff": found.n_effective, "deff": found.design_effect}


def _weighted(case: Inputs, method: Callable[..., WeightedRate | Undefined]) -> Any:
    shares = normalise([stratum["share"] for stratum in case["strata"]])
    strata = [Stratum(w, s["x"], s["n"]) for w, s in zip(shares, case["strata"], strict=True)]
    found = method(strata, **level(case))
    if isinstance(found, Undefined):
        return dict.fromkeys(("estimate", "lower", "upper", "n_eff", "unweighted"))
    return {
        "estimate": found.estimate,
        "lower": found.interval.lower,
        "upper": found.interval.upper,
        "n_eff": found.n_effective,
        "unweighted": found.unweighted,
    }


@golden("stratified_rate")
def _stratified_rate(case: Inputs) -> Any:
    return _weighted(case, kish_rate)


@golden("stratified_mover")
def _stratified_mover(case: Inputs) -> Any:
    return _weighted(case, mover_rate)


@golden("korn_graubard")
def _korn_graubard(case: Inputs) -> Any:
    return _weighted(case, korn_graubard)


@golden("cluster_wilson")
def _cluster_wilson(case: Inputs) -> Any:
    found = cluster_wilson(case["x"], case["n"], planning_icc=0.0, **level(case))
    return {
        "estimate": found.x / found.n if found.n else None,
        "icc": found.icc_estimated,
        "vif": found.vif,
        "n_eff": found.n_effective,
        "lower": found.interval.lower,
        "upper": found.interval.upper,
    }


@golden("cluster_robust_se")
def _cluster_robust(case: Inputs) -> Any:
    found = cluster_robust_rate(case["x"], case["n"])
    if isinstance(found, Undefined):
        return dict.fromkeys(("estimate", "se", "deff"))
    return {"estimate": found.estimate, "se": found.standard_error, "deff": found.design_effect}


@golden("design_effect")
def _design_effect(case: Inputs) -> Any:
    found = design_effect(case["n"], per_cluster=case["m"], icc=case["icc"])
    return {"deff": found.design_effect, "n_eff": found.n_effective}


@golden("rogan_gladen")
def _rogan_gladen(case: Inputs) -> Any:
    errors = JudgeErrors(case["false_accepts"], case["m0"], case["false_rejects"], case["m1"])
    found = rogan_gladen(case["accepted"], case["n"], errors, **level(case))
    if isinstance(found, Undefined):
        return dict.fromkeys(("theta", "theta_clipped", "lower", "upper"))
    return {
        "theta": found.raw,
        "theta_clipped": found.estimate,
        "lower": found.interval.lower,
        "upper": found.interval.upper,
    }


@golden("ppi_mean")
def _ppi(case: Inputs) -> Any:
    accepted = case["unlabeled_accept"]
    found = prediction_powered(
        LabelledPairs(*case["labeled_yf"]),
        accepted,
        accepted + case["unlabeled_reject"],
        tuning=case.get("lam"),
        **level(case),
    )
    if isinstance(found, Undefined):
        return dict.fromkeys(("lambda", "estimate", "lower", "upper"))
    reach = quantile(case) * found.standard_error  # the pack's ends are not clipped to [0, 1]
    return {
        "lambda": found.tuning,
        "estimate": found.estimate,
        "lower": found.estimate - reach,
        "upper": found.estimate + reach,
    }


@golden("mcnemar_exact")
def _mcnemar(case: Inputs) -> Any:
    return {"p": mcnemar_exact(case["b"], case["c"])}


@golden("mcnemar_chi2_cc")
def _mcnemar_chi(case: Inputs) -> Any:
    found = mcnemar_chi_square(case["b"], case["c"])
    return (
        {"chi2": None, "p": None}
        if isinstance(found, Undefined)
        else {"chi2": found.statistic, "p": found.p_value}
    )


def _pairs(case: Inputs) -> PairedTable:
    return PairedTable(case["n11"], case["b"], case["c"], case["n00"])


@golden("newcombe10")
def _newcombe(case: Inputs) -> Any:
    found = newcombe_paired(_pairs(case), **level(case))
    if isinstance(found, Undefined) or isinstance(found.interval, Undefined):
        return dict.fromkeys(("difference", "lower", "upper"))
    return {"difference": found.value, "lower": found.interval.lower, "upper": found.interval.upper}


@golden("paired_normal")
def _paired_normal(case: Inputs) -> Any:
    found = paired_normal(case["b"], case["c"], case["n"], **level(case))
    if isinstance(found, Undefined):
        return dict.fromkeys(("difference", "discordant", "se", "half_width", "lower", "upper"))
    return {
        "difference": found.difference,
        "discordant": found.discordant,
        "se": found.standard_error,
        "half_width": found.half_width,
        "lower": found.interval.lower,
        "upper": found.interval.upper,
    }


@golden("variance_ratio_paired")
def _variance_ratio(case: Inputs) -> Any:
    found = pairing_gain(_pairs(case))
    if isinstance(found, Undefined):
        return dict.fromkeys(("paired_over_independent", "independent_over_paired", "equivalent_n_per_arm"))
    return {
        "paired_over_independent": found.paired_over_independent,
        "independent_over_paired": found.independent_over_paired,
        "equivalent_n_per_arm": found.equivalent_n_per_arm,
    }


@golden("noninferiority")
def _noninferiority(case: Inputs) -> Any:
    found = noninferiority(case["lower"], tolerance=case["tolerance"])
    return {"noninferior": found.noninferior, "superior": found.superior}


@golden("paired_bootstrap_exact")
def _paired_bootstrap(case: Inputs) -> Any:
    found = paired_bootstrap_exact(case["differences"])
    if isinstance(found, Undefined):
        return dict.fromkeys(("difference", "frac_le_0", "p_two_sided", "q025", "q975"))
    below = found.share_at_or_below_0
    return {
        "difference": found.difference,
        "frac_le_0": below,
        # the pack's convention counts ties with 0 on one side only
        "p_two_sided": min(1.0, 2 * min(below, 1 - below)),
        "q025": found.lower,
        "q975": found.upper,
    }


@golden("release_gate_002")
def _release_gate(case: Inputs) -> Any:
    new, old, drop = case["new"], case["baseline"], case.get("max_drop", 0.03)
    held = [within_drop(new[name], old[name], max_drop=drop) for name in ("pass1", "pass_pow_k")]
    return {"pass": all(held) and within_drop(-new["forbidden_rate"], -old["forbidden_rate"], max_drop=0)}


@golden("n_for_half_width")
def _half_width(case: Inputs) -> Any:
    return {"n": n_for_half_width(case["p"], case["half_width"], z=quantile(case))}


@golden("n_two_arm")
def _two_arm(case: Inputs) -> Any:
    return {"n_per_arm": n_two_arm(case["p"], case["mde"], power=case["power"], z=quantile(case))}


@golden("n_pairs_scaled")
def _pairs_scaled(case: Inputs) -> Any:
    found = n_pairs_scaled(
        _pairs(case), true_gain=case["true_gain"], tolerance=case["tolerance"], z=quantile(case)
    )
    if isinstance(found, Undefined):
        return dict.fromkeys(("n_pairs", "n_pairs_ceil", "lower_half_width"))
    return {
        "n_pairs": found.n_pairs,
        "n_pairs_ceil": found.n_pairs_ceil,
        "lower_half_width": found.lower_half_width,
    }


@golden("n_pairs_noninferiority")
def _pairs_noninferiority(case: Inputs) -> Any:
    return {
        "n_pairs": n_pairs_noninferiority(
            gain=case["gain"],
            discordant=case["discordant"],
            tolerance=case["tolerance"],
            power=case["power"],
            z=quantile(case),
        )
    }


@golden("gate")
def _gate(case: Inputs) -> Any:
    found = gate_characteristic(case["n"], limit=case["limit"], true_far=case["true_far"], z=quantile(case))
    most = -1 if isinstance(found.max_accepted, Undefined) else found.max_accepted  # the pack's "cannot pass"
    return {"max_accepts": most, "pass_probability": found.pass_probability}


@golden("min_failures_clean")
def _clean(case: Inputs) -> Any:
    return {"n": min_failures_clean(case["limit"], z=quantile(case))}


@golden("failures_for_power")
def _failures_for_power(case: Inputs) -> Any:
    found = failures_for_power(
        limit=case["limit"], true_far=case["true_far"], power=case["power"], z=quantile(case)
    )
    if isinstance(found, Undefined):
        return {"n_first": None, "n_stable": None}
    return {"n_first": found.first, "n_stable": found.stable}


@golden("more_failures_needed")
def _more_failures(case: Inputs) -> Any:
    found = more_failures_needed(case["x"], case["n"], limit=case["limit"], z=quantile(case))
    return {"more_if_clean": found.clean, "more_at_observed_rate": found.at_observed_rate}


@golden("adjust_p")
def _adjust_p(case: Inputs) -> Any:
    p = case["p"]
    return {"bonferroni": bonferroni(p), "holm": holm(p), "bh": benjamini_hochberg(p)}


@golden("look_adjusted_z")
def _look_z(case: Inputs) -> Any:
    return {"z": look_adjusted_z(case["alpha"], case["looks"])}


@golden("alpha_spending")
def _alpha_spending(case: Inputs) -> Any:
    found = spent_alpha(case["alpha"], case["t"])
    return {"obrien_fleming": found.obrien_fleming, "pocock": found.pocock}


@golden("bernoulli_cs")
def _confidence_sequence(case: Inputs) -> Any:
    found = confidence_sequence(
        case["x"], case["n"], alpha=case["alpha"], a=case.get("a", 1), b=case.get("b", 1)
    )
    return {"lower": found.lower, "upper": found.upper}


@golden("e_value")
def _e_value(case: Inputs) -> Any:
    found = log_e_value(
        case["x"],
        case["n"],
        limit=case["limit"],
        direction=Direction(case["direction"]),
        a=case.get("a", 1),
        b=case.get("b", 1),
    )
    return {"log_e": found}
