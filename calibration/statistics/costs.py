"""What candidates, checks, handoffs and runs cost, and the limit that a declared consequence implies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from calibration.statistics.checks import (
    require_count,
    require_open_share,
    require_positive,
    require_share,
    require_whole,
)
from calibration.statistics.proportions import wilson_interval
from calibration.values import Undefined


@dataclass(frozen=True, slots=True)
class CandidateCosts:
    """Generating up to k candidates and checking them, in three orders of work; money units as given."""

    availability: float
    """P(at least one of k candidates is good)."""
    expected_candidates: float
    """Candidates tried when one stops at the first good one."""
    batch_per_trial: float
    """All k generated and checked."""
    batch_per_accepted: float
    sequential_per_trial: float
    """Generated and checked one at a time until one is good."""
    sequential_per_accepted: float
    generate_all_per_trial: float
    """All k generated, checked one at a time."""
    generate_all_per_accepted: float
    batch_premium: float
    """How much more an accepted candidate costs in a batch than in sequence; 0.5 is 50 % more."""


def candidate_costs(*, p: float, generate: float, check: float, k: int) -> CandidateCosts:
    """The costs of up to k independent candidates that are each good with probability p.

    Raises:
        ValueError: for a p outside (0, 1], a negative cost, or fewer than one candidate.
    """
    require_share(p, name="p")
    require_positive(p, name="p")
    require_count(generate, name="generate")
    require_count(check, name="check")
    if require_whole(k, name="k") < 1:
        raise ValueError(f"k is {k!r}; give at least one candidate")
    availability = 1.0 if p == 1 else -math.expm1(k * math.log1p(-p))
    tried = availability / p
    both = generate + check
    generate_all = k * generate + tried * check
    return CandidateCosts(
        availability=availability,
        expected_candidates=tried,
        batch_per_trial=k * both,
        batch_per_accepted=k * both / availability,
        sequential_per_trial=tried * both,
        sequential_per_accepted=both / p,
        generate_all_per_trial=generate_all,
        generate_all_per_accepted=generate_all / availability,
        batch_premium=k / tried - 1,
    )


@dataclass(frozen=True, slots=True)
class CandidateCap:
    """The fewest candidates that reach an availability."""

    k: int
    reached: float


def smallest_cap(*, p: float, availability: float) -> CandidateCap:
    """The smallest k with 1 - (1 - p)^k >= availability, compared as the decimals that were written.

    Raises:
        ValueError: for a p outside (0, 1] or an availability outside (0, 1).
    """
    require_share(p, name="p")
    require_positive(p, name="p")
    require_open_share(availability, name="availability")
    if p == 1:
        return CandidateCap(1, 1.0)
    miss, allowed = 1 - Fraction(repr(float(p))), 1 - Fraction(repr(float(availability)))
    k = max(1, math.floor(math.log1p(-availability) / math.log1p(-p)) - 1)
    while miss**k > allowed:
        k += 1
    return CandidateCap(k, float(1 - miss**k))


def crossover_check_cost(
    *, p_a: float, generate_a: float, p_b: float, generate_b: float
) -> float | Undefined:
    """The cost of one check at which two systems cost the same an accepted candidate; may be negative.

    Undefined when both succeed equally often: then no check cost changes which is cheaper.

    Raises:
        ValueError: for a p outside (0, 1] or a negative cost.
    """
    for name, p in (("p_a", p_a), ("p_b", p_b)):
        require_share(p, name=name)
        require_positive(p, name=name)
    require_count(generate_a, name="generate_a")
    require_count(generate_b, name="generate_b")
    first, second, cost_a, cost_b = (Fraction(repr(float(v))) for v in (p_a, p_b, generate_a, generate_b))
    if first == second:
        return Undefined("both succeed equally often: no check cost changes which is cheaper")
    return float((first * cost_b - second * cost_a) / (second - first))


@dataclass(frozen=True, slots=True)
class JudgeInLoop:
    """A judge that delivers what it accepts and hands the rest to a person."""

    wrong_delivered: float
    """Share of sessions in which a wrong output is delivered."""
    handoff_rate: float
    handoff_cost: float
    """Per session."""
    no_wrong_in_sessions: float
    """P(no wrong delivery in all the sessions)."""
    max_far: float
    """Largest FAR that keeps that probability at the target: the limit that the consequence implies."""
    handoff_cost_at_max_far: float


def judge_in_loop(
    *, p_correct: float, far: float, frr: float, handoff_cost: float, sessions: int, target: float = 0.9
) -> JudgeInLoop:
    """What a judge with this FAR and FRR delivers and costs, and the FAR that the declared target allows.

    Args:
        p_correct: share of outputs that are right, in [0, 1].
        far: P(accepted | wrong).
        frr: P(not accepted | right).
        handoff_cost: cost of one handoff to a person, >= 0.
        sessions: how many sessions in a row shall be free of a wrong delivery.
        target: with which probability, in (0, 1).

    Raises:
        ValueError: for a share outside [0, 1], a negative cost, fewer than one session, or a bad target.
    """
    for name, value in (("p_correct", p_correct), ("far", far), ("frr", frr)):
        require_share(value, name=name)
    require_count(handoff_cost, name="handoff_cost")
    require_open_share(target, name="target")
    if require_whole(sessions, name="sessions") < 1:
        raise ValueError(f"sessions is {sessions!r}; give at least one")
    wrong_output = 1 - p_correct
    allowed = -math.expm1(math.log(target) / sessions)
    max_far = min(1.0, allowed / wrong_output) if wrong_output else 1.0

    def handoffs(at_far: float) -> float:
        return p_correct * frr + wrong_output * (1 - at_far)

    wrong = wrong_output * far
    return JudgeInLoop(
        wrong_delivered=wrong,
        handoff_rate=handoffs(far),
        handoff_cost=handoffs(far) * handoff_cost,
        no_wrong_in_sessions=(1 - wrong) ** sessions,
        max_far=max_far,
        handoff_cost_at_max_far=handoffs(max_far) * handoff_cost,
    )


@dataclass(frozen=True, slots=True)
class CleanRecordPrice:
    """What n clean runs leave open, in money."""

    upper: float
    """Wilson upper limit of the failure rate after n runs without a failure."""
    expected_loss: float
    """That limit times the loss of one failure."""
    n_needed: int
    """Clean runs with which the expected loss drops below the price of an approval."""


def clean_record_price(n: int, *, z: float, loss: float, approval: float) -> CleanRecordPrice:
    """The loss that n clean runs cannot rule out, and the clean runs with which an approval stops paying.

    Raises:
        ValueError: for a negative n, a bad z, or a loss or approval price that is not greater than 0.
    """
    require_positive(loss, name="loss")
    require_positive(approval, name="approval")
    upper = wilson_interval(0, require_whole(n, name="n"), z=z).upper
    needed = Fraction(repr(float(z))) ** 2 * (
        Fraction(repr(float(loss))) / Fraction(repr(float(approval))) - 1
    )
    return CleanRecordPrice(upper, upper * loss, max(1, math.floor(needed) + 1))


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """Prices of a million tokens."""

    per_million_in: float
    per_million_out: float
    per_million_cached: float = 0.0


def run_cost(
    prices: TokenPrices, *, tokens_in: int, tokens_out: int, tokens_cached: int = 0, fees: float = 0.0
) -> float:
    """The cost of one run: tokens at their prices, plus fees.

    Raises:
        ValueError: for a negative or non-finite number.
    """
    pairs = (
        (tokens_in, prices.per_million_in),
        (tokens_out, prices.per_million_out),
        (tokens_cached, prices.per_million_cached),
    )
    for tokens, price in pairs:
        require_whole(tokens, name="a token count")
        require_count(price, name="a price")
    require_count(fees, name="fees")
    return math.fsum([*(tokens * price / 1e6 for tokens, price in pairs), fees])


def cost_per_accepted(spend: float, accepted: float) -> float | Undefined:
    """All spend divided by what was accepted; undefined when nothing was, and the spend stays to be shown.

    Raises:
        ValueError: for a negative or non-finite number.
    """
    require_count(spend, name="spend")
    require_count(accepted, name="accepted")
    return spend / accepted if accepted else Undefined("nothing was accepted")
