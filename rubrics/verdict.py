"""What can be said of one output under one criterion, and the four-verdict rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """One word per judgment; `pending` is how an open `unknown` reads once verdicts are combined."""

    PASS = "pass"
    FAIL = "fail"
    PENDING = "pending"
    UNKNOWN = "unknown"


class UnknownReason(StrEnum):
    """Why there is no pass or fail: three final reasons (a non-acceptance), three open ones."""

    ABSTAINED = "abstained"
    INVALID = "invalid"
    INCONSISTENT = "inconsistent"
    PENDING = "pending"
    MISSING = "missing"
    ERROR = "error"

    @property
    def is_open(self) -> bool:
        """True where the verdict could still become anything."""
        return self in OPEN_REASONS


OPEN_REASONS = frozenset({UnknownReason.PENDING, UnknownReason.MISSING, UnknownReason.ERROR})
FINAL_REASONS = frozenset(UnknownReason) - OPEN_REASONS

REASON_DETAILS: dict[UnknownReason, frozenset[str]] = {
    UnknownReason.ABSTAINED: frozenset({"refusal", "not_applicable", "evidence_missing", "cannot_tell"}),
    UnknownReason.INVALID: frozenset(
        {"unparsed", "truncated", "content_filter", "out_of_range", "contradictory", "too_long"}
    ),
    UnknownReason.INCONSISTENT: frozenset({"orders", "votes"}),
    UnknownReason.PENDING: frozenset({"running", "human_queue"}),
    UnknownReason.MISSING: frozenset(),
    UnknownReason.ERROR: frozenset(
        {
            *("timeout", "unreachable", "provider_error", "model_changed"),
            *("auth", "cancelled", "window_closed"),
        }
    ),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict with, where it is unknown, the first word of the reason and its detail.

    Raises ValueError when an unknown has no reason, a known verdict has one, or the detail is
    not one of the reason's.
    """

    verdict: Verdict
    reason: UnknownReason | None = None
    detail: str | None = None

    def __post_init__(self) -> None:
        if self.verdict is Verdict.PENDING:
            raise ValueError("'pending' is a combined verdict; record unknown with the reason 'pending'")
        if (self.verdict is Verdict.UNKNOWN) != (self.reason is not None):
            raise ValueError(f"{self.verdict!s} with reason {self.reason!r}: exactly an unknown has a reason")
        if self.detail is not None and (
            self.reason is None or self.detail not in REASON_DETAILS[self.reason]
        ):
            raise ValueError(f"detail {self.detail!r} does not belong to reason {self.reason!r}")

    @property
    def accepted(self) -> bool:
        """True only for a pass: every unknown is a non-acceptance or still open."""
        return self.verdict is Verdict.PASS

    @property
    def is_open(self) -> bool:
        """True where the outcome could still become an acceptance."""
        return self.reason is not None and self.reason.is_open

    @property
    def combinable(self) -> Verdict:
        """The verdict as combine() reads it: an unknown that is pending is `pending`."""
        return Verdict.PENDING if self.reason is UnknownReason.PENDING else self.verdict


PASS = Outcome(Verdict.PASS)
FAIL = Outcome(Verdict.FAIL)


def unknown(reason: UnknownReason | str, detail: str | None = None) -> Outcome:
    """An unknown outcome for the given reason, with the detail where one is known."""
    return Outcome(Verdict.UNKNOWN, UnknownReason(reason), detail)


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """The overall verdict of the required criteria by the four-verdict rule (STATISTICS §1).

    Any fail gives fail; else any pending gives pending; else any unknown, or no criterion at
    all, gives unknown; else pass. Empty evidence is unknown, never pass.
    """
    seen = set(verdicts)
    for verdict in (Verdict.FAIL, Verdict.PENDING, Verdict.UNKNOWN):
        if verdict in seen:
            return verdict
    return Verdict.PASS if seen else Verdict.UNKNOWN
