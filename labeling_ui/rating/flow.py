"""From a key to an answer: verdict, then a reason or a way to fail where one is wanted. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from calibration.labeling.choices import REASONS, Choice, Kind, answers, fails, modes
from calibration.labeling.records import UNKNOWN
from rubrics.criterion import Criterion


class Step(StrEnum):
    """Which bar of choices is on the screen."""

    ANSWER = "answer"
    REASON = "reason"
    MODE = "mode"


@dataclass(frozen=True, slots=True)
class Half:
    """What was said so far of one item and criterion, and what is asked next."""

    step: Step = Step.ANSWER
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A whole answer, ready to be stored."""

    answer: str
    reason: str | None = None
    mode: str | None = None


START = Half()


def choices_at(half: Half, criterion: Criterion) -> tuple[Choice, ...]:
    """The choices on the screen."""
    if half.step is Step.REASON:
        return REASONS
    return modes(criterion) if half.step is Step.MODE else answers(criterion)


def after(half: Half, choice: Choice, criterion: Criterion) -> Half | Said | None:
    """What follows from a choice: a further question, a whole answer, or None where it answers another bar.

    A press that belongs to a bar no longer on the screen says nothing; so a fast `3` `1` is never a pass.
    """
    if choice.kind is Kind.ANSWER and half.step is Step.ANSWER:
        if choice.value == UNKNOWN:
            return Half(Step.REASON, UNKNOWN)
        if criterion.failure_modes and fails(criterion, choice.value):
            return Half(Step.MODE, choice.value)
        return Said(choice.value)
    if half.answer is None:
        return None
    if choice.kind is Kind.REASON and half.step is Step.REASON:
        return Said(half.answer, reason=choice.value)
    if choice.kind is Kind.MODE and half.step is Step.MODE:
        return Said(half.answer, mode=choice.value or None)
    return None
