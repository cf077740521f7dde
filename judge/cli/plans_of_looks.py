"""`plan looks`: what several looks at growing evidence cost, in words and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibration.rendering.text import counted
from calibration.statistics.gate_plans import LooksPlan, plan_looks
from calibration.values import Undefined
from judge.cli.answers import Answer, chance, percent


@dataclass(frozen=True, slots=True)
class LooksQuestion:
    """What `plan looks` is asked."""

    limit: float
    true_far: float
    power: float
    looks: int
    failures: int | None
    confidence: float


def looks_answer(question: LooksQuestion) -> Answer:
    """What several looks at growing evidence cost, and what they let through."""
    found = plan_looks(
        limit=question.limit,
        true_far=question.true_far,
        power=question.power,
        looks=question.looks,
        failures=question.failures,
        confidence=question.confidence,
    )
    told = {
        "schema": "voirdire.plan/1",
        "plan": "looks",
        "limit": question.limit,
        "true_far": question.true_far,
        "power": question.power,
        "confidence": question.confidence,
        "looks": question.looks,
    }
    if isinstance(found, Undefined):
        return Answer(
            words=(f"No plan: {found.reason}.",),
            head=(
                "",
                "level",
                "clean",
                f"{percent(question.power)} power",
                f"admits FAR {far}",
                f"admits FAR {percent(question.limit)}",
            ),
            rows=tuple(_look_row(way) for way in found),
            following=f"voirdire simulate gate --failures {failures} --limit {question.limit:g} "
            f"--looks {question.looks}",
            data=told | {"failures": failures, "ways": [_look_object(way) for way in found]},
            notes=(
                "Clean: failing answers that a judge needs which accepts none of them. Exact, one failing answer "
                "a prompt, looks at equal steps; the first that passes admits.",
            ),
        )


def _look_row(way: LooksPlan) -> tuple[str, ...]:
    return (
        "one look" if way.looks == 1 else f"{way.looks} looks{', shared' if way.divided else ', not shared'}",
        percent(way.confidence, 2),
        f"{way.clean:,}",
        "no number" if isinstance(way.needed, Undefined) else f"{way.needed.stable:,}",
        chance(way.chance),
        chance(way.wrongly),
    )


def _look_object(way: LooksPlan) -> dict[str, Any]:
    needed = way.needed
    return {
        "looks": way.looks,
        "shared": way.divided,
        "z": way.z,
        "confidence": way.confidence,
        "clean": way.clean,
        "first": None if isinstance(needed, Undefined) else needed.first,
        "stable": None if isinstance(needed, Undefined) else needed.stable,
        "p_admit": way.chance,
        "p_admit_at_limit": way.wrongly,
        "method": "exact",
    }
