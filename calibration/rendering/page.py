"""What the page shows, as plain records of ready words: the first screen and its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calibration.evidence import AdmissionOutcome, BaselineFigure, ItemStatus
from calibration.rendering.numbers import RateText, p_text, percent, plain, rate_text, whole
from calibration.rendering.reading import Reading, Readings
from calibration.rendering.strip import Scale, Strip, judge_strip, rate_strip, scale_for
from calibration.rendering.text import counted, listed, named, number_word, sentence, visible
from calibration.rendering.vocabulary import GRADE_WORDS, OUTCOME_WORDS, UNASKED

MARKS: dict[AdmissionOutcome | None, str] = {
    AdmissionOutcome.ADMIT: "admit",
    AdmissionOutcome.INSUFFICIENT: "insufficient",
    AdmissionOutcome.REJECT: "reject",
    None: "none",
}
STATUS_MARKS = {
    ItemStatus.PASS: "admit",
    ItemStatus.FAIL: "reject",
    ItemStatus.INSUFFICIENT: "insufficient",
    ItemStatus.WARNING: "warning",
}
_LEDGER_MOST = 6


@dataclass(frozen=True, slots=True)
class Row:
    """A judge or a baseline in the picture against the limit."""

    mark: str
    name: str
    word: str
    """The outcome, or baseline."""
    about: str
    strip: Strip | None
    far: RateText
    note: str
    good: RateText
    opens_group: bool
    """Another outcome than the row before."""


@dataclass(frozen=True, slots=True)
class Picture:
    """The judges of one criterion against its limit."""

    criterion: str
    scale: Scale
    rows: tuple[Row, ...]
    rank: str


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """One judge with its outcome, beside the decision."""

    mark: str
    name: str
    word: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A term and its value."""

    term: str
    value: str


def eyebrow(readings: Readings) -> str:
    """The line over the decision: under which policy, and that nobody has signed it."""
    policies = {visible(r.decision.policy): None for r in readings.all if r.decision}
    if not policies:
        return "Measured, not decided: no limit and no policy was named"
    return f"Decision under policy {listed(tuple(policies))} · not yet signed"


def ledger(readings: Readings) -> tuple[LedgerLine, ...]:
    """The outcomes beside the decision; none for one judge, or for more than fit the first screen."""
    if not 1 < len(readings.all) <= _LEDGER_MOST:
        return ()
    return tuple(
        LedgerLine(
            MARKS[reading.outcome],
            readings.name(reading),
            OUTCOME_WORDS[reading.outcome] if reading.outcome else UNASKED,
        )
        for reading in readings.all
    )


def facts(readings: Readings) -> tuple[Fact, ...]:
    """What one judge was examined on, beside the decision; none for several."""
    only = readings.only
    if only is None:
        return ()
    counts, decision = only.report.counts, only.decision
    found = [
        Fact("Answers", whole(only.report.table.all.total)),
        Fact("failed by the labels", whole(counts.reference_fail)),
        Fact("passed", whole(counts.reference_pass)),
        Fact("without an agreed label", whole(counts.reference_unresolved)),
    ]
    if only.clustered:
        found.append(Fact("Prompts", whole(counts.clusters)))
    found.append(Fact("Labels", GRADE_WORDS[only.report.evidence_grade]))
    if decision is not None:
        found.append(Fact("Looks", f"{decision.looks.used} of {decision.looks.allowed} used"))
    return tuple(found)


def scope(readings: Readings) -> str:
    """What was examined on what, for the header."""
    report = readings.all[0].report
    parts = [
        report.rubric,
        f"criterion {report.criterion}" if len(readings.groups) == 1 else "",
        report.dataset,
    ]
    if len(readings.groups) > 1:
        parts[1] = counted(len(readings.groups), "criterion", "criteria")
    return " · ".join(visible(part) for part in parts if part)


def rule_sentence(readings: Readings) -> str:
    """What the policy asks, for somebody who has never seen it."""
    reading = next((r for r in readings.all if r.limit is not None), None)
    if reading is None:
        return ""
    gate = reading.report.far_gate
    level = rate_level(gate.confidence)
    limit = reading.limit_words if len(readings.limits) == 1 else "its limit"
    return (
        f"A judge is admitted when, with {level} confidence, it accepts at most {limit} of the answers that "
        "should fail: the whole line, its dotted part included, lies left of the limit."
    )


def rate_level(confidence: float) -> str:
    """A confidence level in percent, at most one decimal."""
    return percent(plain(round(confidence * 100, 1)))


def pictures(readings: Readings) -> tuple[Picture, ...]:
    """One picture a criterion."""
    return tuple(_picture(readings, group) for group in readings.groups)


def _picture(readings: Readings, group: Sequence[Reading]) -> Picture:
    scale = scale_for(group)
    rows: list[Row] = []
    for number, reading in enumerate(group):
        opens = number > 0 and reading.outcome is not group[number - 1].outcome
        rows.append(_judge_row(reading, scale, opens=opens))
    for number, baseline in enumerate(group[0].report.baselines):
        rows.append(_baseline_row(baseline, scale, opens=number == 0))
    return Picture(group[0].criterion, scale, tuple(rows), rank_note(readings, group))


def _judge_row(reading: Reading, scale: Scale, *, opens: bool) -> Row:
    return Row(
        mark=MARKS[reading.outcome],
        name=reading.judge,
        word=OUTCOME_WORDS[reading.outcome] if reading.outcome else UNASKED,
        about="",
        strip=judge_strip(reading, scale),
        far=reading.gated,
        note=_position_note(reading),
        good=reading.beside,
        opens_group=opens,
    )


def _position_note(reading: Reading) -> str:
    """Where the interval lies, and what widens it."""
    gate, limit = reading.report.far_gate, reading.limit
    said = []
    if not reading.report.headline.n:
        return "no answer failed"
    if limit is not None:
        below, above = gate.upper <= limit, gate.lower > limit
        said.append("below the limit" if below else "above the limit" if above else "crosses the limit")
    if gate.x != gate.x_best:
        said.append(f"worst case {whole(gate.x)}/{whole(gate.n)}, up to {reading.gate_upper}")
    if reading.clustered:
        said.append(counted(gate.clusters, "prompt"))
    return "; ".join(said)


def _baseline_row(baseline: BaselineFigure, scale: Scale, *, opens: bool) -> Row:
    far, good = baseline.far, baseline.non_acceptance_among_pass
    words = rate_text(far.x, far.n, lower=far.lower, upper=far.upper, limit=scale.limit)
    name = named(baseline.name)
    return Row(
        mark="baseline",
        name=name,
        word="baseline",
        about=visible(baseline.description),
        strip=rate_strip(far, scale, words=f"{name}: {words.text}", hollow=True),
        far=words,
        note="not a candidate",
        good=rate_text(good.x, good.n, lower=good.lower, upper=good.upper),
        opens_group=opens,
    )


def rank_note(readings: Readings, group: Sequence[Reading], *, most: int = 6) -> str:
    """The places that each judge may hold, and who is not told apart (at most so many pairs); or empty."""
    criterion = group[0].report.criterion
    ranks = [r for r in readings.comparison.rank if r.criterion == criterion]
    if not ranks:
        return ""
    places = [
        f"{named(r.judge)} {r.low}" + (f"–{r.high}" if r.high > r.low else "")
        for r in sorted(ranks, key=lambda r: (r.low, r.high))
    ]
    ties = [t for t in readings.comparison.ties if t.criterion == criterion]
    said = f"{', '.join(places)}."
    for tie in ties[:most]:
        pair = f"{named(tie.judges[0])} and {named(tie.judges[1])}"
        said += (
            f" {pair} tie: {whole(tie.only_first)} against {whole(tie.only_second)} of "
            f"{whole(tie.shared_failures)} accepted by one only, {p_text(tie.p_value)}."
        )
    if ties:
        compared = len(ranks) * (len(ranks) - 1) // 2
        by = ", by prompts" if any(reading.clustered for reading in group) else ""
        said += (
            f" Each p is adjusted: Holm over {counted(compared, 'pair of judges', 'pairs of judges')}{by}."
        )
    if len(ties) > most:
        beyond = len(ties) - most
        said += " " + sentence(f"{number_word(beyond)} more {'pair ties' if beyond == 1 else 'pairs tie'}")
    return said


_COSTS = frozenset({"non_acceptance_among_pass", "frr"})


def _costly(reading: Reading) -> bool:
    """True where an admitted judge accepts under half of the good answers, which the policy leaves open."""
    row, decision = reading.report.table.passing, reading.decision
    if reading.pairs or decision is None or decision.outcome is not AdmissionOutcome.ADMIT:
        return False
    return 2 * row.accepted < row.total and not any(item.name in _COSTS for item in decision.items)


def _cost_unlimited(readings: Readings, reading: Reading) -> str:
    row = reading.report.table.passing
    who = "It" if readings.only else readings.name(reading)
    policy = visible(reading.decision.policy) if reading.decision else ""
    count = f"{whole(row.accepted)}/{whole(row.total)}"
    return f"{who} accepted only {count} good answers: {policy} sets no limit on that"


def report_warnings(readings: Readings) -> tuple[str, ...]:
    """What a reader must know before believing a number, each once; first why a report cannot admit."""
    exploratory = [r.report.exploratory for r in readings.all if r.report.exploratory]
    said = [f"Exploratory, cannot admit: {visible(reason)}" for reason in exploratory]
    said += [_cost_unlimited(readings, reading) for reading in readings.all if _costly(reading)]
    said += [visible(warning) for reading in readings.all for warning in reading.report.warnings]
    return tuple(dict.fromkeys(said))
