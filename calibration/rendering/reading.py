"""An examination as its sentences need it: the limit, who decided, and what widens the interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calibration.evidence import (
    AdmissionDecision,
    AdmissionOutcome,
    CalibrationReport,
    Comparison,
    EvidenceGrade,
    Examination,
    ItemKind,
    ItemStatus,
    PolicyItem,
    RankRange,
)
from calibration.rendering.numbers import RateText, end_text, limit_text, rate_text
from calibration.rendering.text import named
from calibration.rendering.vocabulary import OUTCOME_WORDS
from calibration.statistics.proportions import wilson_interval
from calibration.values import Interval

_MAKES = {
    AdmissionOutcome.REJECT: ItemStatus.FAIL,
    AdmissionOutcome.INSUFFICIENT: ItemStatus.INSUFFICIENT,
    AdmissionOutcome.ADMIT: ItemStatus.PASS,
}
_ORDER = {outcome: place for place, outcome in enumerate(OUTCOME_WORDS)}


@dataclass(frozen=True, slots=True)
class Reading:
    """One report with its decision, and the few derived facts that every rendering needs."""

    report: CalibrationReport
    decision: AdmissionDecision | None

    @classmethod
    def of(cls, examination: Examination) -> Reading:
        """The reading of an examination."""
        return cls(examination.report, examination.decision)

    @property
    def judge(self) -> str:
        """The judge's name, safe to show."""
        return named(self.report.judge)

    @property
    def criterion(self) -> str:
        """The criterion's name, safe to show."""
        return named(self.report.criterion)

    @property
    def outcome(self) -> AdmissionOutcome | None:
        """The outcome; None where no limit and no policy was named."""
        return self.decision.outcome if self.decision else None

    @property
    def far_item(self) -> PolicyItem | None:
        """The gate's item of the decision."""
        items = self.decision.items if self.decision else ()
        return next((item for item in items if item.kind is ItemKind.FAR), None)

    @property
    def limit(self) -> float | None:
        """The limit on FAR in [0, 1]; None where none was named."""
        item = self.far_item
        return float(item.limit) if item is not None and isinstance(item.limit, int | float) else None

    @property
    def binding(self) -> PolicyItem | None:
        """The item that made the outcome."""
        items = self.decision.items if self.decision else ()
        return next((i for i in items if self.decision and i.name == self.decision.binding), None)

    @property
    def deciding(self) -> tuple[PolicyItem, ...]:
        """Every item whose status makes the outcome; for admit the gate alone. The binding one first."""
        if self.decision is None:
            return ()
        if self.decision.outcome is AdmissionOutcome.ADMIT:
            return (self.far_item,) if self.far_item else ()
        wanted = _MAKES[self.decision.outcome]
        made = [item for item in self.decision.items if item.status is wanted]
        return tuple(sorted(made, key=lambda item: item is not self.binding))

    @property
    def open_failures(self) -> int:
        """Failing answers whose verdict is open."""
        return self.report.table.fail.open

    @property
    def unresolved_against(self) -> int:
        """Answers without an agreed label that the judge accepted or may still accept."""
        row = self.report.table.unresolved
        return row.accepted + row.open

    @property
    def unagreed(self) -> int:
        """Answers without an agreed label."""
        return self.report.table.unresolved.total

    @property
    def audit(self) -> bool:
        """True where only answers that the judge accepted were sampled."""
        return self.report.failure_among_accepted.describes == "deployment"

    @property
    def pairs(self) -> bool:
        """True where no candidate is declared and the wrong-side rate stands in FAR's place."""
        return self.report.far is None

    @property
    def clustered(self) -> bool:
        """True where several answers to one prompt stand in the gate's denominator."""
        return self.report.far_gate.cases_per_cluster_max > 1

    @property
    def divided_level(self) -> bool:
        """True where the gate is read at a higher level than the plain interval (several looks)."""
        return self.report.far_gate.confidence > self.report.headline.confidence + 1e-9

    @property
    def measured(self) -> Interval:
        """The interval of what is known, at the gate's level and with its clusters: best-case counts."""
        gate = self.report.far_gate
        if not gate.n_best:
            return Interval(0.0, 1.0, gate.confidence, gate.sided, gate.method)
        kept = gate.n_effective_best / gate.n_best
        return wilson_interval(
            gate.x_best * kept, gate.n_effective_best, confidence=gate.confidence, sided=gate.sided
        )

    @property
    def far(self) -> RateText:
        """FAR in words, with its plain interval."""
        far = self.report.headline
        return rate_text(far.x, far.n, lower=far.lower, upper=far.upper, limit=self.limit)

    @property
    def gated(self) -> RateText:
        """FAR with the interval of what is known as the policy reads it: its level, clusters allowed for."""
        far, found = self.report.headline, self.measured
        return rate_text(far.x, far.n, lower=found.lower, upper=found.upper, limit=self.limit)

    @property
    def beside(self) -> RateText:
        """What stands beside the rate: good answers not accepted; of pairs, where it answers as people do."""
        found = self.report.answer_agreement
        said = found.agreement if self.pairs and found is not None else self.report.non_acceptance_among_pass
        return rate_text(said.x, said.n, lower=said.lower, upper=said.upper)

    @property
    def gate_upper(self) -> str:
        """The upper end that the policy reads, in percent."""
        gate = self.report.far_gate
        return end_text(gate.upper, lower=gate.lower, upper=gate.upper, limit=self.limit)

    @property
    def gate_lower(self) -> str:
        """The lower end that the policy reads, in percent."""
        gate = self.report.far_gate
        return end_text(gate.lower, lower=gate.lower, upper=gate.upper, limit=self.limit)

    @property
    def limit_words(self) -> str:
        """The limit in percent, or an empty text."""
        return "" if self.limit is None else limit_text(self.limit)

    @property
    def labelled_by(self) -> str:
        """Who failed the answers, as the clause after "answers"."""
        return {
            EvidenceGrade.MODEL: "that a model or code failed",
            EvidenceGrade.CONSTRUCTED: "that the constructed labels fail",
            EvidenceGrade.PRODUCTION_OUTCOME: "that failed in production",
        }.get(self.report.evidence_grade, "that people failed")


@dataclass(frozen=True, slots=True)
class Readings:
    """All that one rendering shows: the judges of each criterion, in the order in which they are listed."""

    groups: tuple[tuple[Reading, ...], ...]
    """One group a criterion, in the order met."""
    comparison: Comparison

    @classmethod
    def of(cls, shown: Examination | Comparison) -> Readings:
        """The readings of an examination or a comparison.

        Raises:
            ValueError: a comparison without any examination.
        """
        comparison = shown if isinstance(shown, Comparison) else Comparison(examinations=(shown,))
        if not comparison.examinations:
            raise ValueError("a comparison without an examination has nothing to show: examine one judge")
        groups: dict[str, list[Reading]] = {}
        for examination in comparison.examinations:
            groups.setdefault(examination.report.criterion, []).append(Reading.of(examination))
        ranks = {(r.criterion, r.judge): r for r in comparison.rank}
        return cls(tuple(_sorted(group, ranks) for group in groups.values()), comparison)

    @property
    def all(self) -> tuple[Reading, ...]:
        """Every reading, criterion by criterion."""
        return tuple(reading for group in self.groups for reading in group)

    @property
    def judges(self) -> tuple[str, ...]:
        """The distinct judges' names, safe to show."""
        return tuple(dict.fromkeys(reading.judge for reading in self.all))

    @property
    def only(self) -> Reading | None:
        """The one reading where there is only one."""
        return self.all[0] if len(self.all) == 1 else None

    @property
    def limits(self) -> tuple[float | None, ...]:
        """The distinct limits, in the order met."""
        return tuple(dict.fromkeys(reading.limit for reading in self.all))

    @property
    def constructed(self) -> bool:
        """True where any evidence was written for demonstration."""
        return any(reading.report.constructed for reading in self.all)

    @property
    def rate_title(self) -> str:
        """What the rate against the limit counts, as a heading: sides where no candidate is declared."""
        return self._by_kind("Failing answers accepted", "wrong side preferred")

    @property
    def beside_title(self) -> str:
        """What the rate beside it counts, as a heading."""
        return self._by_kind("Good answers not accepted", "same answer as people")

    def _by_kind(self, accepts: str, sides: str) -> str:
        """The heading for criteria that accept, for pairs without a declared candidate, or for both."""
        kinds = {reading.pairs for reading in self.all}
        if kinds == {True}:
            return sides.capitalize()
        return f"{accepts}, or {sides}" if True in kinds else accepts

    def name(self, reading: Reading) -> str:
        """What tells the reading from the others: the judge, the criterion, or both."""
        if len(self.groups) == 1:
            return reading.judge
        if len(self.judges) == 1:
            return reading.criterion
        return f"{reading.judge} on {reading.criterion}"


def _sorted(group: Sequence[Reading], ranks: dict[tuple[str, str], RankRange]) -> tuple[Reading, ...]:
    """By outcome, then by the places that a judge may hold; never by the point estimate."""

    def place(reading: Reading) -> tuple[int, int, int]:
        rank = ranks.get((reading.report.criterion, reading.report.judge))
        outcome = _ORDER[reading.outcome] if reading.outcome else len(_ORDER)
        return outcome, rank.low if rank else 0, rank.high if rank else 0

    return tuple(sorted(group, key=place))
