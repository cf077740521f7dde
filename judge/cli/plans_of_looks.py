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
    """At the last look; by default what the power needs."""
    confidence: float

    @property
    def told(self) -> dict[str, Any]:
        """The question as JSON."""
        return {
            "schema": "voirdire.plan/1",
            "plan": "looks",
            "limit": self.limit,
            "true_far": self.true_far,
            "power": self.power,
            "confidence": self.confidence,
            "looks": self.looks,
        }


def looks_answer(question: LooksQuestion) -> Answer:
    """What several looks at growing evidence cost, and what they let through.

    Raises:
        ValueError: more looks than failures.
    """
    found = plan_looks(
        limit=question.limit,
        true_far=question.true_far,
        power=question.power,
        looks=question.looks,
        failures=question.failures,
        confidence=question.confidence,
    )
    if isinstance(found, Undefined):
        return Answer(
            words=(f"No plan: {found.reason}.",),
            head=(),
            rows=(),
            following=f"voirdire simulate gate --limit {question.limit:g} --looks {question.looks}",
            data=question.told | {"failures": None, "ways": None, "reason": found.reason},
        )
    failures = found[0].failures
    return Answer(
        words=_words(question, found),
        head=(
            "",
            "level",
            "clean",
            f"{percent(question.power)} power",
            f"admits FAR {percent(question.true_far)}",
            f"admits FAR {percent(question.limit)}",
        ),
        rows=tuple(_row(way) for way in found),
        following=f"voirdire simulate gate --failures {failures} --limit {question.limit:g} "
        f"--looks {question.looks}",
        data=question.told | {"failures": failures, "ways": [_object(way) for way in found]},
        notes=(
            "Clean: failing answers that a judge needs which accepts none of them. Exact, with one failing "
            "answer a prompt and looks at equal steps; the first that passes admits.",
        ),
    )


def _words(question: LooksQuestion, found: tuple[LooksPlan, ...]) -> tuple[str, ...]:
    failures, single = found[0].failures, found[0]
    if len(found) == 1:
        return (
            f"One look at {failures:,} failing answers: a judge at the limit of {percent(question.limit)} is "
            f"admitted in {chance(single.wrongly)} of calibrations.",
        )
    _, shared, unshared = found
    return (
        f"{counted(question.looks, 'look')} at up to {failures:,} failing answers: policies let the looks "
        f"share the error, so each is at {percent(shared.confidence, 2)}, and a judge that accepts none "
        f"needs {shared.clean} failing answers where one look needs {single.clean}.",
        f"Looking {question.looks} times without sharing admits a judge at the limit in "
        f"{chance(unshared.wrongly)} of calibrations, one look in {chance(single.wrongly)}; sharing keeps it "
        f"at {chance(shared.wrongly)}.",
    )


def _row(way: LooksPlan) -> tuple[str, ...]:
    several = f"{way.looks} looks, {'shared' if way.divided else 'not shared'}"
    return (
        "one look" if way.looks == 1 else several,
        percent(way.confidence, 2),
        f"{way.clean:,}",
        "none" if isinstance(way.needed, Undefined) else f"{way.needed.stable:,}",
        chance(way.chance),
        chance(way.wrongly),
    )


def _object(way: LooksPlan) -> dict[str, Any]:
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
