"""`plan limit`: the limit that a declared consequence implies, in words and as JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from calibration.rendering.text import counted, number_word
from calibration.statistics.costs import JudgeInLoop, clean_record_price, judge_in_loop
from calibration.statistics.normal import z_value
from calibration.statistics.repeats import RepeatPower, repeat_power
from judge.cli.answers import Answer, money, percent

SCHEMA = {"schema": "voirdire.plan/1", "plan": "limit"}


@dataclass(frozen=True, slots=True)
class LimitQuestion:
    """Sessions of one customer that must all be free of a wrong answer."""

    sessions: int
    hold: float
    pass_rate: float
    frr: float
    handoff_cost: float
    far: float | None
    """Of a judge that is at hand."""


def limit_answer(question: LimitQuestion) -> Answer:
    """The largest FAR with which the sessions stay free of a wrong answer as often as declared.

    Raises:
        ValueError: for a share outside its range, a negative cost or fewer than one session.
    """
    alone = repeat_power(question.pass_rate, question.sessions, target=question.hold)
    far = 0.0 if question.far is None else question.far
    judged = judge_in_loop(
        p_correct=question.pass_rate,
        far=far,
        frr=question.frr,
        handoff_cost=question.handoff_cost,
        sessions=question.sessions,
        target=question.hold,
    )
    limit = _written(judged.max_far)
    return Answer(
        words=(_sentence(question, judged), *_judge_words(question, judged)),
        head=("", ""),
        rows=_rows(question, alone, judged),
        following=f"voirdire plan failures --limit {limit:g}"
        if 0 < limit < 1
        else "voirdire check labels.csv  (any judge keeps to it)",
        data=_object(question, alone, judged),
        notes=(
            f"Turned away are wrong answers that the judge catches and {percent(question.frr)} of good ones.",
        ),
    )


def _written(far: float) -> float:
    """The FAR rounded down to a tenth of a percent, or to three digits where it is smaller."""
    digits = 3 if far >= 0.01 else max(3, 2 - math.floor(math.log10(far)))
    return float(math.floor(far * 10**digits + 1e-9) / 10**digits)


def _sentence(question: LimitQuestion, judged: JudgeInLoop) -> str:
    sessions = counted(question.sessions, "session")
    if judged.max_far >= 1:
        return (
            f"No limit follows: even without a judge {sessions} deliver no wrong answer at least "
            f"{percent(question.hold)} of the time."
        )
    limit = _written(judged.max_far)
    return (
        f"For {sessions} without a wrong answer {percent(question.hold)} of the time, the judge may accept "
        f"at most {percent(limit)} of wrong answers: a limit on FAR of {limit:g}."
    )


def _judge_words(question: LimitQuestion, judged: JudgeInLoop) -> tuple[str, ...]:
    if question.far is None:
        return ()
    enough = "is enough" if question.far <= judged.max_far else "is not enough"
    return (
        f"A judge with FAR {percent(question.far)} {enough}: {number_word(question.sessions)} sessions "
        f"without a wrong answer happen {percent(judged.no_wrong_in_sessions, 1)} of the time.",
    )


def _rows(question: LimitQuestion, alone: RepeatPower, judged: JudgeInLoop) -> tuple[tuple[str, ...], ...]:
    rows = [
        (f"no judge: {question.sessions} right answers in a row", percent(alone.all_pass, 1)),
        (
            f"no judge: right answers needed for {percent(question.hold)}",
            f"{percent(alone.required_p, 1)} (wrong ones cut {alone.failure_cut:.1f}x)",
        ),
        ("largest FAR", percent(judged.max_far, 1)),
        ("  handed to a person at that FAR, a session", money(judged.handoff_cost_at_max_far)),
    ]
    if question.far is not None:
        rows += [
            (f"at FAR {percent(question.far)}: wrong answers delivered", percent(judged.wrong_delivered, 1)),
            (
                "  handed to a person",
                f"{percent(judged.handoff_rate, 2)}, {money(judged.handoff_cost)} a session",
            ),
            ("  sessions all without a wrong answer", percent(judged.no_wrong_in_sessions, 1)),
        ]
    return tuple(rows)


def _object(question: LimitQuestion, alone: RepeatPower, judged: JudgeInLoop) -> dict[str, Any]:
    found = SCHEMA | {
        "sessions": question.sessions,
        "hold": question.hold,
        "pass_rate": question.pass_rate,
        "frr": question.frr,
        "handoff_cost": question.handoff_cost,
        "all_pass_without_judge": alone.all_pass,
        "required_pass_rate_without_judge": alone.required_p,
        "failure_cut": alone.failure_cut,
        "any_pass_without_judge": alone.any_pass,
        "max_far": judged.max_far,
        "limit": _written(judged.max_far),
        "handoff_cost_at_max_far": judged.handoff_cost_at_max_far,
        "far": question.far,
    }
    if question.far is None:
        return found
    return found | {
        "wrong_delivered": judged.wrong_delivered,
        "handoff_rate": judged.handoff_rate,
        "handoff_cost_per_session": judged.handoff_cost,
        "no_wrong_in_sessions": judged.no_wrong_in_sessions,
    }


@dataclass(frozen=True, slots=True)
class LossQuestion:
    """A consequence in money, weighed against the approval that would prevent it."""

    loss: float
    approval: float
    clean: int
    confidence: float


def loss_answer(question: LossQuestion) -> Answer:
    """The rate at which the loss outweighs the approval, and the clean cases that could show less.

    Raises:
        ValueError: for a loss or approval price that is not above 0.
    """
    found = clean_record_price(
        question.clean, z=z_value(question.confidence), loss=question.loss, approval=question.approval
    )
    limit = question.approval / question.loss
    dearer = found.expected_loss > question.approval
    return Answer(
        words=(
            f"An approval at {money(question.approval)} pays for itself while a loss of "
            f"{money(question.loss)} happens in more than {percent(limit, 3)} of cases.",
            f"{counted(question.clean, 'clean case')} leave a rate of up to {percent(found.upper, 2)} open, "
            f"that is {money(found.expected_loss)} a case: "
            + ("keep the approval." if dearer else "below the price of the approval."),
        ),
        head=("", ""),
        rows=(
            ("clean cases so far", f"{question.clean:,}"),
            ("upper end of the rate", percent(found.upper, 2)),
            ("loss a case that is not ruled out", money(found.expected_loss)),
            ("clean cases that would bring it below the approval", f"{found.n_needed:,}"),
        ),
        following=f"voirdire plan limit --loss {question.loss:g} --approval {question.approval:g} "
        f"--clean {found.n_needed}",
        data=SCHEMA
        | {
            "loss": question.loss,
            "approval": question.approval,
            "clean": question.clean,
            "confidence": question.confidence,
            "limit": limit,
            "upper": found.upper,
            "expected_loss": found.expected_loss,
            "n_needed": found.n_needed,
        },
        notes=("Cases on a copy say nothing of effects that only the real thing has.",),
    )
