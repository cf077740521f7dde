"""Adapters: repeats, costs, biases, panels, and the rules that feed the counts."""

from __future__ import annotations

from typing import Any

from calibration.labels import Adjudication, Assessment, ReferenceRule
from calibration.reference import resolve
from calibration.statistics.bias import LengthRow, SwappedPairs, position_bias, verbosity_effect
from calibration.statistics.costs import (
    TokenPrices,
    candidate_costs,
    clean_record_price,
    cost_per_accepted,
    crossover_check_cost,
    judge_in_loop,
    run_cost,
    smallest_cap,
)
from calibration.statistics.normal import confidence_of, look_adjusted_z
from calibration.statistics.panels import error_correlation, majority_exchangeable, majority_independent
from calibration.statistics.proportions import GateResult, score_gate
from calibration.statistics.repeats import (
    design_error,
    mixture_consistency,
    optimal_repeats,
    pass_at_k,
    pass_hat_k,
    repeat_consistency,
    repeat_power,
    within_variance,
)
from calibration.statistics.summaries import percentile, task_summary, weighted_score
from calibration.values import Undefined
from rubrics.order import swap_verdict
from rubrics.verdict import Verdict, combine
from tests.golden.registry import Inputs, golden, level, quantile


@golden("within_variance")
def _within(case: Inputs) -> Any:
    return {"within": within_variance(mean=case["mean"], between=case["between"])}


@golden("design_se")
def _design_se(case: Inputs) -> Any:
    found = design_error(
        between=case["between"], within=case["within"], tasks=case["tasks"], runs=case["runs"]
    )
    return {"variance": found.variance, "se": found.standard_error}


@golden("optimal_repeats")
def _optimal_repeats(case: Inputs) -> Any:
    found = optimal_repeats(
        between=case["between"],
        within=case["within"],
        budget=case["budget"],
        fixture_cost=case["fixture_cost"],
    )
    return {
        "runs": found.runs,
        "tasks": found.tasks,
        "variance": found.variance,
        "variance_ratio": found.variance_ratio,
        "continuous_optimum": found.continuous_optimum,
    }


@golden("pass_at_k")
def _pass_at_k(case: Inputs) -> Any:
    return {"value": pass_at_k(case["n"], case["c"], case["k"])}


@golden("pass_hat_k")
def _pass_hat_k(case: Inputs) -> Any:
    return {"value": pass_hat_k(case["n"], case["c"], case["k"])}


@golden("repeat_power")
def _repeat_power(case: Inputs) -> Any:
    found = repeat_power(case["p"], case["k"], target=case.get("target", 0.9))
    return {
        "all_pass": found.all_pass,
        "any_pass": found.any_pass,
        "required_p": found.required_p,
        "failure_cut_factor": found.failure_cut,
    }


@golden("mixture_consistency")
def _mixture(case: Inputs) -> Any:
    found = mixture_consistency(case["p"], case["k"])
    if isinstance(found, Undefined):
        return {"same_task": None, "new_tasks": None}
    return {"same_task": found.same_task, "new_tasks": found.new_tasks}


@golden("repeat_consistency")
def _repeat_consistency(case: Inputs) -> Any:
    found = repeat_consistency(case["counts"])
    if isinstance(found, Undefined):
        return dict.fromkeys(("pairwise", "modal", "unanimous"))
    return {"pairwise": found.pairwise, "modal": found.modal, "unanimous": found.unanimous}


@golden("task_summary")
def _task_summary(case: Inputs) -> Any:
    found = task_summary(case["tasks"], case["ks"], **level(case))
    if isinstance(found, Undefined):
        return {}
    interval = found.any_pass.interval
    return {
        "macro_success": found.macro_success,
        "micro_success": found.micro_success,
        "any_pass": found.any_pass.estimate,
        "any_pass_lower": interval.lower,
        "any_pass_upper": interval.upper,
        **{f"pass_at_{k}": value for k, value in found.pass_at.items()},
        **{f"pass_hat_{k}": value for k, value in found.pass_hat.items()},
    }


@golden("percentile_linear")
def _percentile(case: Inputs) -> Any:
    return {"value": percentile(case["xs"], case["q"])}


@golden("weighted_rubric")
def _weighted_rubric(case: Inputs) -> Any:
    return {"score": weighted_score(case["weights"], case["checks"])}


@golden("candidate_costs")
def _candidate_costs(case: Inputs) -> Any:
    found = candidate_costs(p=case["p"], generate=case["generate"], check=case["check"], k=case["k"])
    names = (
        "availability",
        "expected_candidates",
        "batch_per_trial",
        "batch_per_accepted",
        "sequential_per_trial",
        "sequential_per_accepted",
        "generate_all_per_trial",
        "generate_all_per_accepted",
        "batch_premium",
    )
    return {name: getattr(found, name) for name in names}


@golden("smallest_cap")
def _smallest_cap(case: Inputs) -> Any:
    found = smallest_cap(p=case["p"], availability=case["availability"])
    return {"k": found.k, "reached": found.reached}


@golden("crossover_check_cost")
def _crossover(case: Inputs) -> Any:
    return {
        "check": crossover_check_cost(
            p_a=case["p_a"], generate_a=case["generate_a"], p_b=case["p_b"], generate_b=case["generate_b"]
        )
    }


@golden("judge_in_loop")
def _judge_in_loop(case: Inputs) -> Any:
    found = judge_in_loop(
        p_correct=case["p_correct"],
        far=case["far"],
        frr=case["frr"],
        handoff_cost=case["handoff_cost"],
        sessions=case["sessions"],
        target=case.get("target", 0.9),
    )
    return {
        "wrong_delivered": found.wrong_delivered,
        "handoff_rate": found.handoff_rate,
        "handoff_cost": found.handoff_cost,
        "no_wrong_in_sessions": found.no_wrong_in_sessions,
        "max_far": found.max_far,
        "handoff_cost_at_max_far": found.handoff_cost_at_max_far,
    }


@golden("clean_record_price")
def _clean_record(case: Inputs) -> Any:
    found = clean_record_price(case["n"], z=quantile(case), loss=case["loss"], approval=case["approval"])
    return {"upper": found.upper, "expected_loss": found.expected_loss, "n_needed": found.n_needed}


def _prices(case: Inputs) -> TokenPrices:
    return TokenPrices(case.get("price_in", 0), case.get("price_out", 0), case.get("price_cached", 0))


def _run_cost(case: Inputs) -> float:
    return run_cost(
        _prices(case),
        tokens_in=case.get("tokens_in", 0),
        tokens_out=case.get("tokens_out", 0),
        tokens_cached=case.get("tokens_cached", 0),
        fees=case.get("fees", 0),
    )


@golden("run_cost")
def _cost(case: Inputs) -> Any:
    return {"cost": _run_cost(case)}


@golden("cost_per_solved")
def _cost_per_solved(case: Inputs) -> Any:
    total = _run_cost(case)
    return {"total": total, "cost_per_solved": cost_per_accepted(total, case["solved"])}


_CELLS = {"AA": "same_a", "BB": "same_b", "TT": "both_tie", "FF": "both_first", "SS": "both_second"}


@golden("position_bias")
def _position_bias(case: Inputs) -> Any:
    counts = dict.fromkeys((*_CELLS.values(), "other"), 0)
    for cell, count in case["cells"].items():
        counts[_CELLS.get(cell, "other")] += count
    pairs = SwappedPairs(**counts)
    found = position_bias(pairs, **level(case))
    return {
        "pairs": pairs.pairs,
        "consistency": found.consistency.estimate,
        "conflict_rate": found.conflict.estimate,
        "first_preference": found.first_preference.estimate,
        "first_preference_lower": found.first_preference.interval.lower,
        "first_preference_upper": found.first_preference.interval.upper,
        "position_effect": found.effect,
        "p": found.p_value,
    }


@golden("verbosity_logit")
def _verbosity(case: Inputs) -> Any:
    rows = [
        LengthRow(bool(row["reference_pass"]), row["log2_length"], row["accept"], row["reject"])
        for row in case["rows"]
    ]
    found = verbosity_effect(rows)
    if isinstance(found, Undefined):
        return dict.fromkeys(("beta_length", "se_length", "odds_ratio_per_doubling"))
    return {
        "beta_length": found.coefficient,
        "se_length": found.standard_error,
        "odds_ratio_per_doubling": found.odds_ratio.value,
    }


@golden("majority_independent")
def _majority(case: Inputs) -> Any:
    return {"accept_probability": majority_independent(case["p"], votes_needed=case.get("votes"))}


@golden("majority_exchangeable")
def _majority_exchangeable(case: Inputs) -> Any:
    return {"accept_probability": majority_exchangeable(case["votes"], p=case["p"], correlation=case["rho"])}


@golden("error_correlation")
def _error_correlation(case: Inputs) -> Any:
    return {
        "phi": error_correlation(
            both=case["both"], only_a=case["only_a"], only_b=case["only_b"], neither=case["neither"]
        )
    }


@golden("swap_verdict")
def _swap_verdict(case: Inputs) -> Any:
    return {"verdict": swap_verdict(case["ab"], case["ba"])}


_SAID = {"pass": Verdict.PASS, "fail": Verdict.FAIL}


@golden("reference_label")
def _reference_label(case: Inputs) -> Any:
    labels = [
        Assessment("item", "criterion", f"rater {i}", _SAID.get(word, Verdict.UNKNOWN))
        for i, word in enumerate(case["labels"])
    ]
    decided = _SAID.get(case.get("adjudicated") or "")
    found = resolve(
        labels,
        None if decided is None else Adjudication("item", "criterion", "adjudicator", decided),
        rule=ReferenceRule(case["rule"]),
        min_raters=case.get("min_raters", 2),
    )
    unresolved = "pending" if case.get("open") else "unresolved"
    return {"label": found.verdict.value if found.resolved else unresolved}


_STATUS = {
    GateResult.PASS: Verdict.PASS,
    GateResult.FAIL: Verdict.FAIL,
    GateResult.INSUFFICIENT: Verdict.UNKNOWN,
}
_DECISION = {Verdict.PASS: "admit", Verdict.FAIL: "reject", Verdict.UNKNOWN: "insufficient_evidence"}


@golden("admission")
def _admission(case: Inputs) -> Any:
    policy, evidence = case["policy"], case["evidence"]
    looks, z = evidence.get("looks", 1), float(policy.get("z", 1.96))
    if looks > 1 and policy.get("look_rule") == "bonferroni":
        z = look_adjusted_z(1 - confidence_of(z), policy.get("max_looks", looks))
    rules = {"far": ("max", policy["far_limit"]), **policy.get("guards", {})}
    found = {
        name: _item(evidence.get(name), policy.get("min_n", {}).get(name, 1), kind, limit, z)
        for name, (kind, limit) in rules.items()
    }
    decision = _DECISION[combine(_STATUS[status] for status in found.values())]
    if decision == "admit" and looks > policy.get("max_looks", looks):
        decision = "insufficient_evidence"
    return {"decision": decision, "items": {name: status.value for name, status in found.items()}}


def _item(evidence: list[int] | None, min_n: int, kind: str, limit: float, z: float) -> GateResult:
    """One item of the engine's core: a limit on a rate from above or below, or on its point."""
    if evidence is None or evidence[1] < min_n:
        return GateResult.INSUFFICIENT
    x, n = evidence
    if kind in ("min", "point_min"):  # a floor on a rate is a ceiling on its complement
        x, limit = n - x, round(1 - limit, 12)
    if kind.startswith("point"):
        return GateResult.PASS if x <= limit * n * (1 + 1e-12) else GateResult.FAIL
    return score_gate(x, n, limit=limit, z=z)
