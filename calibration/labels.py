"""What people said: assessments, adjudications, and the reference label they lead to.

With `values`, the only records that the rating app may reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from rubrics.verdict import Verdict


class Blindness(StrEnum):
    """Whether the rater could see the judge, its verdict or other raters, and who says so."""

    YES = "yes"
    """The rating app enforced it."""
    SHEET = "sheet"
    """An offline session sheet without any judge field."""
    DECLARED = "declared"
    """An imported file says yes."""
    NO = "no"
    UNKNOWN = "unknown"

    @property
    def satisfies_blind(self) -> bool:
        """True where a policy that wants blind raters accepts the label."""
        return self in {Blindness.YES, Blindness.SHEET, Blindness.DECLARED}


class LabelSource(StrEnum):
    """Who made a label; only people's labels are a reference unless something else was asked for."""

    HUMAN = "human"
    MODEL = "model"
    CODE = "code"


class ReferenceRule(StrEnum):
    """How blind independent assessments become one reference label (STATISTICS §1)."""

    MAJORITY = "majority"
    """Strict majority of all labels; cannot-decide counts in the denominator."""
    UNANIMOUS = "unanimous"
    """All labels agree."""
    ADJUDICATED = "adjudicated"
    """Only an adjudication counts."""
    UNANIMOUS_OR_ADJUDICATED = "unanimous_or_adjudicated"
    """All labels agree, else an adjudication, else unresolved."""


class UnresolvedReason(StrEnum):
    """Why an item has no pass or fail from people."""

    NO_LABEL = "no_label"
    CANNOT_DECIDE = "cannot_decide"
    DISAGREEMENT = "disagreement"
    TOO_FEW_RATERS = "too_few_raters"
    NOT_ADJUDICATED = "not_adjudicated"
    """The rule counts adjudications only, and nobody has adjudicated."""
    ADJUDICATION_OPEN = "adjudication_open"
    """An adjudicator looked and left it unresolved."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """One rater's verdict on one output under one criterion; `unknown` is cannot-decide."""

    item_id: str
    criterion: str
    rater: str
    verdict: Verdict
    blind: Blindness = Blindness.UNKNOWN
    source: LabelSource = LabelSource.HUMAN
    note: str = ""


@dataclass(frozen=True, slots=True)
class Adjudication:
    """A declared resolution of disagreeing assessments; may leave the item unresolved (`unknown`)."""

    item_id: str
    criterion: str
    adjudicator: str
    verdict: Verdict
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceLabel:
    """The reference of one item and criterion: pass, fail, or unknown with the reason."""

    verdict: Verdict
    raters: int
    """Independent assessments it rests on."""
    adjudicated: bool = False
    unresolved: UnresolvedReason | None = None

    @property
    def resolved(self) -> bool:
        """True for pass and fail."""
        return self.verdict in {Verdict.PASS, Verdict.FAIL}
