"""Cases and the verdict table: what is counted, before any rate is made of it."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from calibration.labels import ReferenceLabel
from rubrics.verdict import Outcome, UnknownReason, Verdict


class Frozen(BaseModel):
    """A stored or sent record: immutable, and nothing that was not declared gets in."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


@dataclass(frozen=True, slots=True)
class Case:
    """One item under one criterion: its reference, the judge's deployed verdict, where it belongs."""

    item_id: str
    cluster: str
    """Items that share it are not independent (one prompt, several outputs)."""
    reference: ReferenceLabel
    outcome: Outcome
    slices: tuple[tuple[str, str], ...] = ()
    """(slice name, value) pairs."""
    failure_modes: tuple[str, ...] = ()
    """Of a reference failure, as its raters named them."""
    severity: str = ""
    """Level of a reference failure; empty where none is recorded."""
    stratum: str = ""
    """Of the sampling design."""
    inclusion_probability: float | None = None
    """With which the design drew it; None where the design gives none."""


class VerdictRow(Frozen):
    """Counts of a judge's outcomes among the items of one reference label."""

    accepted: int = Field(default=0, ge=0)
    rejected: int = Field(default=0, ge=0)
    abstained: int = Field(default=0, ge=0)
    invalid: int = Field(default=0, ge=0)
    inconsistent: int = Field(default=0, ge=0)
    pending: int = Field(default=0, ge=0)
    missing: int = Field(default=0, ge=0)
    error: int = Field(default=0, ge=0)

    @property
    def decided(self) -> int:
        """Accepted or rejected."""
        return self.accepted + self.rejected

    @property
    def final_unknown(self) -> int:
        """Abstained, invalid or inconsistent: non-acceptances that stay in every denominator."""
        return self.abstained + self.invalid + self.inconsistent

    @property
    def open(self) -> int:
        """Pending, missing or error: could still become anything."""
        return self.pending + self.missing + self.error

    @property
    def total(self) -> int:
        """Every item of the row."""
        return self.decided + self.final_unknown + self.open

    def __add__(self, other: VerdictRow) -> VerdictRow:
        """The row of both groups together."""
        mine, theirs = self.model_dump(), other.model_dump()
        return VerdictRow(**{name: mine[name] + theirs[name] for name in mine})


def outcome_column(outcome: Outcome) -> str:
    """The VerdictRow field that counts the outcome."""
    if outcome.verdict is Verdict.PASS:
        return "accepted"
    if outcome.verdict is Verdict.FAIL:
        return "rejected"
    return (outcome.reason or UnknownReason.MISSING).value


class VerdictTable(Frozen):
    """Judge outcome by reference label; `unresolved` holds the items whose reference is unknown."""

    fail: VerdictRow = VerdictRow()
    passing: VerdictRow = Field(default=VerdictRow(), alias="pass")
    unresolved: VerdictRow = VerdictRow()

    @property
    def all(self) -> VerdictRow:
        """Every item, whatever its reference."""
        return self.fail + self.passing + self.unresolved
