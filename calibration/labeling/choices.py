"""What can be said of an item by one key each: answers, reasons, ways to fail. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, repeat
from string import ascii_lowercase

from calibration.labeling.records import LEFT, RIGHT, TIE, UNKNOWN, CannotDecide
from rubrics.criterion import Criterion
from rubrics.scale import BinaryScale, OrdinalScale
from rubrics.verdict import Verdict

TAKEN = frozenset("crunehsm")
"""Letters that no choice takes: refused by the framework (c, r) or used for undo, note, evidence, help,
sentence and quoting."""
NO_MODE = ""
"""The choice of no particular way to fail."""
_UNKNOWN_LEVEL = "x"
_KEYS = (*"123456789", *(each for each in ascii_lowercase if each not in TAKEN | {_UNKNOWN_LEVEL}))
"""What is handed out in order where a rubric names the choices; 0 means none in particular."""


class Kind(StrEnum):
    """What a choice says."""

    ANSWER = "answer"
    REASON = "reason"
    MODE = "mode"


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that can be said by one key or one click."""

    kind: Kind
    value: str
    """The answer, the reason, or the key of the way to fail."""
    key: str | None
    """The key that says it, a digit or a letter; None where the keyboard has run out of keys."""
    label: str
    """The words on its button; of a rubric, so not to be trusted."""
    icon: str | None = None
    """A bundled icon beside the word; the word alone says it all."""

    @property
    def name(self) -> str:
        """What tells it from every other choice of its step, in letters, digits and underscores."""
        known = self.value in {"pass", "fail", LEFT, RIGHT, TIE, UNKNOWN}
        return f"{self.kind.value}_{self.value if known else self.key or self.value}"


_PASS_FAIL = (
    Choice(Kind.ANSWER, Verdict.PASS.value, "1", "Pass", ":material/check:"),
    Choice(Kind.ANSWER, Verdict.FAIL.value, "2", "Fail", ":material/close:"),
)
_SIDES = (
    Choice(Kind.ANSWER, LEFT, "1", "Left is better", ":material/arrow_back:"),
    Choice(Kind.ANSWER, RIGHT, "2", "Right is better", ":material/arrow_forward:"),
)
_TIE = Choice(Kind.ANSWER, TIE, "4", "Tie", ":material/drag_handle:")

_REASON_WORDS = {
    CannotDecide.EVIDENCE_MISSING: "Evidence missing",
    CannotDecide.CRITERION_AMBIGUOUS: "Criterion ambiguous",
    CannotDecide.OUTPUT_CUT_OFF: "Output cut off",
    CannotDecide.OUTSIDE_EXPERTISE: "Outside my expertise",
    CannotDecide.OTHER: "Other",
}
REASONS = tuple(
    Choice(Kind.REASON, reason.value, str(place), _REASON_WORDS[reason])
    for place, reason in enumerate(CannotDecide, start=1)
)
"""Why a rater cannot decide."""


def answers(criterion: Criterion) -> tuple[Choice, ...]:
    """The answers that a rater can give to the criterion, cannot-decide last (of a pair: before the tie).

    Pass, fail, cannot decide are 1, 2, 3; left, right, cannot decide, tie are 1, 2, 3, 4. A level whose name
    is one digit has that digit as its key, else levels are counted from 1; there cannot-decide is X.
    """
    scale = criterion.scale
    if isinstance(scale, BinaryScale):
        return (*_PASS_FAIL, _cannot_decide("3"))
    if isinstance(scale, OrdinalScale):
        return (*_levels(scale), _cannot_decide(_UNKNOWN_LEVEL))
    return (*_SIDES, _cannot_decide("3"), _TIE)


def modes(criterion: Criterion) -> tuple[Choice, ...]:
    """The ways to fail that the criterion names, and last the choice of none in particular."""
    if not criterion.failure_modes:
        return ()
    keys = chain(_KEYS, repeat(None))
    named = (Choice(Kind.MODE, mode.key, next(keys), words(mode.key)) for mode in criterion.failure_modes)
    return (*named, Choice(Kind.MODE, NO_MODE, "0", "Just fail"))


def fails(criterion: Criterion, answer: str) -> bool:
    """True where the answer reads as a failure; a preference of a side does not, for sides are swapped."""
    if answer == UNKNOWN or answer not in criterion.answers:
        return False
    return criterion.read(answer) is Verdict.FAIL


def words(key: str) -> str:
    """A key of a rubric as words: `wrong_number` reads "Wrong number"."""
    spaced = key.replace("_", " ").replace("-", " ").strip()
    return spaced[:1].upper() + spaced[1:]


def _cannot_decide(key: str) -> Choice:
    return Choice(Kind.ANSWER, UNKNOWN, key, "Cannot decide", ":material/question_mark:")


def _levels(scale: OrdinalScale) -> Iterator[Choice]:
    digits = all(len(name) == 1 and name in "0123456789" for name in scale.answers)
    keys = iter(scale.answers) if digits else chain(_KEYS, repeat(None))
    for name in scale.answers:
        yield Choice(Kind.ANSWER, name, next(keys), name)
