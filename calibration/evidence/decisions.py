"""What a policy makes of a report, and several reports side by side."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from calibration.evidence.cases import Frozen
from calibration.evidence.reports import CalibrationReport


class AdmissionOutcome(StrEnum):
    """What an examination leads to."""

    ADMIT = "admit"
    REJECT = "reject"
    INSUFFICIENT = "insufficient_evidence"


class ItemKind(StrEnum):
    """What a policy item may do (STATISTICS §0.4)."""

    FAR = "far"
    """The gate: pass, fail or insufficient."""
    RATE = "rate"
    """A rate guard: pass, fail or insufficient."""
    AGREEMENT = "agreement"
    """Pass, insufficient or warning; never fail."""
    DATA_QUALITY = "data_quality"
    """Pass or insufficient; never fail."""


class ItemStatus(StrEnum):
    """How one policy item stands."""

    PASS = "pass"
    FAIL = "fail"
    INSUFFICIENT = "insufficient"
    WARNING = "warning"


class PolicyItem(Frozen):
    """One item of the policy, with what was found and what was asked."""

    name: str
    kind: ItemKind
    status: ItemStatus
    value: float | int | str | None
    """The number that was compared with the limit; null where nothing could be compared."""
    limit: float | int | str | None
    comparison: str
    """Which end or point is compared how: upper_at_most, point_at_least, count_at_least, ..."""
    x: int | None = None
    n: int | None = None
    lower: float | None = None
    upper: float | None = None
    detail: str = ""
    """What decided, in words."""


class MoreFailures(Frozen):
    """Further reference failures that would let the judge pass the FAR gate."""

    clean: int | None
    """If the judge rejects all of them; null where no number would do."""
    at_observed_rate: int | None
    """If it goes on accepting failures at the observed rate; null where it would never pass."""
    looks: int
    """Looks among which the policy divides its error: the numbers hold at this level."""


class Looks(Frozen):
    """Evaluations of the gate spent and allowed."""

    used: int
    allowed: int
    before: int = 0
    """Evaluations in counts that ended without an admission, before a second signer opened this one."""


class AdmissionDecision(Frozen):
    """The outcome of a policy on a report. Unsigned: signing it is the registry's work."""

    outcome: AdmissionOutcome
    binding: str
    """The item that made the outcome."""
    items: tuple[PolicyItem, ...]
    more_failures_needed: MoreFailures
    looks: Looks
    policy: str
    policy_digest: str
    role: str
    p_value: float | None
    """One-sided p of the gate against FAR = limit; what Holm adjusts."""
    rivals: tuple[str, ...] = ()
    """Reports of the other judges among which the policy divides its error, sorted."""


class Examination(Frozen):
    """A report and the outcome that a policy gives it; no outcome where no policy or limit was named."""

    report: CalibrationReport
    decision: AdmissionDecision | None

    def to_json(self) -> dict[str, Any]:
        """The report JSON of ARCHITECTURE §7: the report's keys and `decision`."""
        decision = self.decision.model_dump(mode="json", by_alias=True) if self.decision else None
        return {**self.report.model_dump(mode="json", by_alias=True), "decision": decision}


class RankRange(Frozen):
    """The places that a judge may hold among those compared under one criterion, 1 the lowest FAR."""

    criterion: str
    judge: str
    low: int
    high: int


class Tie(Frozen):
    """Two judges that the shared reference failures do not separate."""

    criterion: str
    judges: tuple[str, str]
    only_first: int
    """Failures that only the first accepted."""
    only_second: int
    shared_failures: int
    p_value: float
    """Adjusted by Holm over the pairs compared."""


class Comparison(Frozen):
    """Several judges or criteria examined on the same items."""

    schema_: str = Field(default="voirdire.comparison/1", alias="schema")
    examinations: tuple[Examination, ...]
    whole_rubric: tuple[Examination, ...] = ()
    """Each judge on all criteria together, which the admission of each alone does not cover."""
    rank: tuple[RankRange, ...] = ()
    ties: tuple[Tie, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The JSON of ARCHITECTURE §7 for several reports."""
        return {
            "schema": self.schema_,
            "reports": [examination.to_json() for examination in self.examinations],
            "whole_rubric": [examination.to_json() for examination in self.whole_rubric],
            "rank": [r.model_dump(mode="json") for r in self.rank],
            "ties": [t.model_dump(mode="json") for t in self.ties],
        }

    @property
    def outcomes(self) -> tuple[AdmissionOutcome, ...]:
        """The outcomes of those that were decided."""
        return tuple(e.decision.outcome for e in self.examinations if e.decision)
