"""`plan failures`: how many failing answers a calibration set needs, in words and as JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibration.rendering.text import counted
from calibration.statistics.gate_curve import GateSetting, admission_curve
from calibration.statistics.gate_plans import FailurePlan, clean_failures, plan_failures, reachable_far
from calibration.statistics.planning import cases_to_draw, gate_characteristic
from calibration.values import Undefined
from judge.cli.answers import Answer, chance, chance_object, chance_text, money, percent


@dataclass(frozen=True, slots=True)
class Labelling:
    """What turns failures into answers to draw, labels and money."""

    prevalence: float | None
    """Share of answers that fail, where they are drawn at random."""
    unresolved: float
    raters: int
    cost_per_label: float | None


@dataclass(frozen=True, slots=True)
class FailureQuestion:
    """What `plan failures` is asked."""

    gate: GateSetting
    true_far: float
    power: float
    labelling: Labelling
    have: int | None
    seed: int

    @property
    def told(self) -> dict[str, Any]:
        """The question as JSON."""
        gate = self.gate
        return {
            "schema": "voirdire.plan/1",
            "plan": "failures",
            "limit": gate.limit,
            "true_far": self.true_far,
            "power": self.power,
            "confidence": gate.confidence,
            "looks": gate.looks,
            "z": gate.z,
            "per_cluster": gate.per_cluster,
            "planning_icc": gate.planning_icc if gate.per_cluster > 1 else None,
            "seed": self.seed if gate.per_cluster > 1 else None,
        }


def failures_answer(question: FailureQuestion) -> Answer:
    """How many failing answers to label; or, with `have`, what those at hand can admit."""
    rng = np.random.default_rng(question.seed)
    if question.have is not None:
        return _in_reverse(question, rng)
    plan = plan_failures(question.gate, true_far=question.true_far, power=question.power, rng=rng)
    if isinstance(plan, Undefined):
        return Answer(
            words=(f"No plan: {plan.reason}.",),
            head=(),
            rows=(),
            following=f"voirdire simulate gate --limit {question.gate.limit:g}",
            data=question.told | {"failures": None, "reason": plan.reason},
        )
    return _forward(question, plan)


def _clusters_words(question: FailureQuestion, clusters: int) -> str:
    size = question.gate.per_cluster
    if size == 1:
        return "one from each prompt"
    return f"{size} from each of {counted(clusters, 'prompt')}"


def _forward(question: FailureQuestion, plan: FailurePlan) -> Answer:
    gate, far, power = question.gate, percent(question.true_far), percent(question.power)
    words = [
        f"Label {plan.failures:,} failing answers, {_clusters_words(question, plan.clusters)}.",
        f"A judge that truly accepts {far} of failing answers then passes the limit of "
        f"{percent(gate.limit)} in {chance_text(plan.chance)} of calibrations (asked: {power}), and no "
        f"larger number falls below {power}."
        if plan.tried_up_to is None
        else f"A judge that truly accepts {far} of failing answers then passes the limit of "
        f"{percent(gate.limit)} in {chance_text(plan.chance)} of simulated calibrations (asked: {power}); "
        f"so does every larger number tried, up to {plan.tried_up_to:,}.",
    ]
    cases = _cases(question.labelling, plan.failures)
    words += [_labels_words(question.labelling, cases)] if cases else []
    return Answer(
        words=tuple(words),
        head=("", "failures", "most accepted", f"admits FAR {far}", f"admits FAR {percent(gate.limit)}"),
        rows=_plan_rows(question, plan),
        following=_following(question, cases),
        data=question.told | _plan_object(plan) | _labels_object(question.labelling, cases),
        notes=_notes(question, plan),
    )


def _plan_rows(question: FailureQuestion, plan: FailurePlan) -> tuple[tuple[str, ...], ...]:
    most = "depends" if isinstance(plan.most_accepted, Undefined) else str(plan.most_accepted)
    own = ("the plan", f"{plan.failures:,}", most, chance_text(plan.chance), chance_text(plan.wrongly))
    if question.gate.per_cluster > 1:
        return (("accepting none", f"{plan.clean:,}", "0", "", ""), own)
    return (
        _exact_row("accepting none", plan.clean, question),
        _exact_row(f"reaches {percent(question.power)} first", plan.first, question),
        own,
    )


def _exact_row(name: str, failures: int, question: FailureQuestion) -> tuple[str, ...]:
    gate = question.gate
    at = {"limit": gate.limit, "z": gate.z}
    hoped = gate_characteristic(failures, true_far=question.true_far, **at)
    limit = gate_characteristic(failures, true_far=gate.limit, **at)
    return (
        name,
        f"{failures:,}",
        str(hoped.max_accepted),
        chance(hoped.pass_probability),
        chance(limit.pass_probability),
    )


def _notes(question: FailureQuestion, plan: FailurePlan) -> tuple[str, ...]:
    gate = question.gate
    notes = []
    if gate.per_cluster > 1:
        notes.append(
            f"Answers of one prompt are taken to be correlated at {gate.planning_icc:g}, as the gate assumes "
            f"at least. One answer a prompt needs fewer labels. Simulated with seed {question.seed}."
        )
        notes += _few_clusters(plan.clusters)
    elif plan.first < plan.failures:
        notes.append(
            f"{plan.first:,} reach {percent(question.power)} too, but some numbers between "
            f"{plan.first:,} and {plan.failures:,} miss it: plan with {plan.failures:,}."
        )
    if gate.looks > 1:
        notes.append(
            f"Each of {gate.looks} looks is at {percent(_look_level(gate), 2)}; the plan is for one of them."
        )
    return tuple(notes)


def _few_clusters(clusters: int) -> list[str]:
    from calibration.policy import shipped_policy

    wanted = shipped_policy("acceptance").primary.cluster.min_clusters
    if clusters >= wanted:
        return []
    return [f"The policy acceptance wants {wanted} prompts with a failing answer at least."]


def _look_level(gate: GateSetting) -> float:
    return 1 - (1 - gate.confidence) / gate.looks


def _cases(labelling: Labelling, failures: int) -> int | None:
    """Answers to draw at random; None where the prevalence is not known."""
    if labelling.prevalence is None:
        return None
    return cases_to_draw(failures, prevalence=labelling.prevalence, unresolved=labelling.unresolved)


def _labels_words(labelling: Labelling, cases: int) -> str:
    labels, price = cases * labelling.raters, labelling.cost_per_label
    cost = "" if price is None else f" for {money(labels * price)}, at {money(price)} a label"
    return (
        f"Where {percent(labelling.prevalence or 0)} of answers fail, draw {cases:,} at random, "
        f"{percent(labelling.unresolved)} more than needed since some labels stay unresolved: "
        f"{labels:,} labels by {counted(labelling.raters, 'rater')}{cost}."
    )


def _labels_object(labelling: Labelling, cases: int | None) -> dict[str, Any]:
    labels = None if cases is None else cases * labelling.raters
    price = labelling.cost_per_label
    return {
        "prevalence": labelling.prevalence,
        "unresolved": labelling.unresolved,
        "raters": labelling.raters,
        "cases": cases,
        "labels": labels,
        "cost": None if labels is None or price is None else labels * price,
    }


def _plan_object(plan: FailurePlan) -> dict[str, Any]:
    return {
        "failures": plan.failures,
        "stable": plan.failures,
        "first": plan.first,
        "clean": plan.clean,
        "clusters": plan.clusters,
        "most_accepted": None if isinstance(plan.most_accepted, Undefined) else plan.most_accepted,
        "holds_for_every_larger_number": "exact" if plan.tried_up_to is None else f"to {plan.tried_up_to}",
        "p_admit": chance_object(plan.chance),
        "p_admit_at_limit": chance_object(plan.wrongly),
    }


def _following(question: FailureQuestion, cases: int | None) -> str:
    if cases is not None:
        only = " --one-per-cluster" if question.gate.per_cluster == 1 else ""
        return f"voirdire set draw NAME --dataset DATASET --n {cases}{only}"
    return (
        f"voirdire plan failures --limit {question.gate.limit:g} --true-far {question.true_far:g} "
        f"--power {question.power:g} --prevalence SHARE  (how many answers to draw)"
    )


def _in_reverse(question: FailureQuestion, rng: np.random.Generator) -> Answer:
    """What the failures at hand can admit."""
    gate, have = question.gate, question.gate.failures
    found = reachable_far(gate, power=question.power, rng=rng)
    told = question.told | {"have": have}
    next_plan = f"voirdire plan failures --limit {gate.limit:g} --true-far FAR --power {question.power:g}"
    if isinstance(found, Undefined):
        clean = clean_failures(gate)
        return Answer(
            words=(
                f"Your {counted(have, 'failure')} can admit no judge: one that accepts none of them needs "
                f"{clean} to pass a limit of {percent(gate.limit)}. Label {clean - have} more at least.",
            ),
            head=(),
            rows=(),
            following=next_plan,
            data=told | {"largest_true_far": None, "reason": found.reason, "clean": clean},
        )
    fars = (0.0, question.true_far, gate.limit)
    chances = admission_curve(_seen(gate), fars, rng=rng)
    exact = chances[0].simulated is None
    return Answer(
        words=(
            f"Your {counted(have, 'failure')} can admit only judges with a true FAR of at most "
            f"{_two_digits(found)}: such a judge passes the limit of {percent(gate.limit)} in "
            f"{percent(question.power)} of calibrations.",
        ),
        head=("true FAR", "admitted"),
        rows=tuple((percent(far), chance_text(each)) for far, each in zip(fars, chances, strict=True)),
        following=next_plan,
        data=told
        | {
            "largest_true_far": found,
            "p_admit": [{"true_far": f, **chance_object(c)} for f, c in zip(fars, chances, strict=True)],
        },
        notes=() if exact else (f"Simulated with seed {question.seed}, as correlated as the gate assumes.",),
    )


def _seen(gate: GateSetting) -> GateSetting:
    """The one evaluation that is planned for, its clusters as correlated as the gate assumes."""
    return GateSetting(
        gate.failures,
        gate.limit,
        _look_level(gate),
        per_cluster=gate.per_cluster,
        icc=gate.planning_icc if gate.per_cluster > 1 else 0.0,
        planning_icc=gate.planning_icc,
    )


def _two_digits(rate: float) -> str:
    """A rate in percent with two significant digits."""
    if rate == 0:
        return "0 %"
    return percent(rate, max(0, 1 - math.floor(math.log10(100 * rate))))
