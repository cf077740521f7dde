"""One judge's answer to one question, on the criterion's own scale, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from rubrics.scale import NoClaim, Scale, read
from rubrics.verdict import Outcome, UnknownReason, Verdict, unknown


@dataclass(frozen=True, slots=True)
class Answer:
    """`pass` or `fail`, a level, or `A`, `B`, `tie` in source positions; else an unknown with its reason.

    Raises ValueError unless exactly one of value and unknown is set.
    """

    value: str | None = None
    unknown: Outcome | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.unknown is None):
            raise ValueError(f"an answer has a value or an unknown: {self.value!r}, {self.unknown!r}")
        if self.unknown is not None and self.unknown.verdict is not Verdict.UNKNOWN:
            raise ValueError(f"{self.unknown!r} is no unknown; give its word as the value")

    @property
    def reason(self) -> UnknownReason | None:
        """Why there is no value; None where there is one."""
        return None if self.unknown is None else self.unknown.reason

    def outcome(self, scale: Scale) -> Outcome | NoClaim:
        """The answer as a verdict: by `accept_at` on levels, by the claim on preferences.

        NoClaim for a preference without a declared candidate. Raises DeclarationError for a value that is
        no answer on the scale.
        """
        if self.unknown is not None:
            return self.unknown
        verdict = read(scale, str(self.value))
        return verdict if isinstance(verdict, NoClaim) else Outcome(verdict)


def answered(value: str) -> Answer:
    """The answer with this value."""
    return Answer(value=value)


def no_answer(reason: UnknownReason | str, detail: str | None = None) -> Answer:
    """The answer that is unknown for this reason."""
    return Answer(unknown=unknown(reason, detail))
