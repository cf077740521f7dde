"""What the verdicts on the criteria of one item amount to. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rubrics.criterion import JudgeRole
from rubrics.verdict import Verdict, combine

ACCEPTANCE = JudgeRole.ACCEPTANCE.value
REVIEW_TRIGGER = JudgeRole.REVIEW_TRIGGER.value
DIAGNOSTIC = JudgeRole.DIAGNOSTIC.value


@dataclass(frozen=True, slots=True)
class Part:
    """The verdict on one criterion, as it stands."""

    verdict: Verdict
    role: str
    required: bool
    by_person: bool = False
    """True where a person gave it, or set it in the judge's place."""


def overall_of(parts: Iterable[Part]) -> Verdict:
    """The overall verdict: the four-verdict rule over the required criteria, held up by review triggers.

    A review trigger that fires (a judge's fail, or no verdict) makes an output wait for a person, and a
    person's fail on it fails the output. A diagnostic verdict, and one that is not required, decides nothing;
    nothing favourable outweighs a failed required criterion.
    """
    every = list(parts)
    deciding = [part.verdict for part in every if part.required and part.role == ACCEPTANCE]
    for part in every:
        if part.role == REVIEW_TRIGGER and part.verdict is not Verdict.PASS:
            deciding.append(Verdict.FAIL if _confirmed(part) else Verdict.PENDING)
    if not any(part.required and part.role == ACCEPTANCE for part in every):
        return Verdict.UNKNOWN if Verdict.FAIL not in deciding else Verdict.FAIL
    return combine(deciding)


def _confirmed(part: Part) -> bool:
    return part.by_person and part.verdict is Verdict.FAIL
