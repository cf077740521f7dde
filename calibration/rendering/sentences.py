"""The sentences that open a report: what was counted, and what was decided."""

from __future__ import annotations

from collections.abc import Sequence

from calibration.evidence import AdmissionOutcome, Comparison, Examination
from calibration.rendering.numbers import NBSP, interval_decimals, limit_text, percent, share, whole
from calibration.rendering.reading import Reading, Readings
from calibration.rendering.text import counted, listed, number_word, sentence
from calibration.rendering.unmeasured import unmeasured_clause
from calibration.rendering.vocabulary import OUTCOME_WORDS
from calibration.statistics.proportions import wilson_interval

MANY = 4
"""Judges beyond which names in a sentence give way to counts."""


def headline(shown: Examination | Comparison) -> str:
    """The first line: counts in words, then the interval's upper end and the limit.

    "Of 80 answers that people failed, the judge accepted 16, 20 %; up to 30 % fits this sample; your limit
    is 10 %."
    """
    readings = Readings.of(shown)
    if readings.only is not None:
        return sentence(f"{_count_clause(readings.only)}; {_limit_clause(readings.limits)}")
    parts = [_group_clause(group, named=len(readings.groups) > 1) for group in readings.groups]
    tally = _tally(readings.all)
    return sentence("; ".join((*parts, _limit_clause(readings.limits))) + (f": {tally}" if tally else ""))


def _count_clause(reading: Reading) -> str:
    """What the judge did to the failing answers, and what fits the sample."""
    far = reading.report.headline
    if far.n == 0:
        return unmeasured_clause(reading)
    if reading.pairs:
        return _pair_clause(reading)
    against = _against(reading)
    accepted = f"the judge accepted {whole(far.x)}, {reading.far.estimate}"
    if against:
        accepted += f", and {listed(against)}"
    return (
        f"of {counted(far.n, 'answer')}{_prompts(reading)} {reading.labelled_by}, {accepted}; "
        f"{_allowances(reading, bool(against))}up to {reading.gate_upper} fits this sample"
    )


def _pair_clause(reading: Reading) -> str:
    """How often the judge preferred the side that people rejected, where no side is the candidate."""
    rate = reading.report.headline
    against = _against(reading)
    chosen = f"the judge preferred the other side of {whole(rate.x)}, {reading.far.estimate}"
    if against:
        chosen += f", and {listed(against)}"
    return (
        f"of {counted(rate.n, 'pair')} of which people preferred one side, {chosen}; "
        f"{_allowances(reading, bool(against))}up to {reading.gate_upper} fits this sample"
    )


def _prompts(reading: Reading) -> str:
    if not reading.clustered:
        return ""
    return f" from {counted(reading.report.counts.clusters_fail, 'prompt')}"


def _against(reading: Reading) -> list[str]:
    """What may still turn into accepted failures, in words."""
    words = []
    if reading.open_failures:
        has = "has" if reading.open_failures == 1 else "have"
        words.append(f"{whole(reading.open_failures)} {has} no verdict yet")
    disputed = reading.unresolved_against
    if disputed:
        has = "has" if disputed == 1 else "have"
        words.append(f"{whole(disputed)} more that it accepted or may accept {has} no agreed label")
    return words


def _allowances(reading: Reading, against: bool) -> str:
    """What the upper end allows for beyond chance, before the number."""
    allowed = []
    if against:
        allowed.append("counting that against it")
    if reading.clustered:
        allowed.append("as answers to one prompt are alike")
    if reading.divided_level and reading.decision:
        allowed.append(f"at the level for {counted(reading.decision.looks.allowed, 'look')}")
    return ", ".join(allowed) + ", " if allowed else ""


def _limit_clause(limits: Sequence[float | None]) -> str:
    named = [limit_text(limit) for limit in limits if limit is not None]
    if not named:
        return "you named no limit"
    return f"your limit is {named[0]}" if len(named) == 1 else f"your limits are {listed(named)}"


def _group_clause(group: Sequence[Reading], *, named: bool) -> str:
    """The judges of one criterion: failing answers, and the fewest and most that a judge accepted."""
    where = f"under {group[0].criterion}, " if named else ""
    if len(group) == 1:
        return where + _count_clause(group[0])
    sizes = sorted({reading.report.headline.n for reading in group})
    if group[0].pairs:
        return (
            f"{where}of {whole(sizes[-1])} pairs with a preferred side, {number_word(len(group))} judges "
            + (
                f"preferred the other side of {_span(group)}"
                if sizes[-1]
                else "have nothing to be measured on"
            )
        )
    if sizes[-1] == 0:
        return where + _unmeasured_group(group)
    size = (
        counted(sizes[0], "answer") if len(sizes) == 1 else f"{whole(sizes[0])} to {whole(sizes[-1])} answers"
    )
    judges = f"{number_word(len(group))} judges"
    return f"{where}of {size} {group[0].labelled_by}, {judges} accepted {_span(group)}"


def _unmeasured_group(group: Sequence[Reading]) -> str:
    """Why none of several judges has a failing answer."""
    if group[0].audit:
        return (
            "the answers were sampled from what the judges accepted, so nothing shows how often they accept "
            "a failure"
        )
    if group[0].unagreed:
        return unmeasured_clause(group[0])
    return "no answer was failed, so nothing shows how often a failure is accepted"


def _span(group: Sequence[Reading]) -> str:
    counts = [
        (reading.report.headline.x, reading.report.headline.n)
        for reading in group
        if reading.report.headline.n
    ]
    low, high = min(counts, key=_ratio), max(counts, key=_ratio)
    if _ratio(low) == _ratio(high):
        return f"{whole(low[0])}, {_share(*low)}"
    return f"between {whole(low[0])} ({_share(*low)}) and {whole(high[0])} ({_share(*high)})"


def _ratio(count: tuple[int, int]) -> float:
    return count[0] / count[1]


def _share(x: int, n: int) -> str:
    found = wilson_interval(x, n)
    decimals = interval_decimals(found.lower * 100, found.upper * 100)
    return percent(share(x, n, decimals))


def _tally(readings: Sequence[Reading]) -> str:
    """How many came to which outcome: 3 admit, 1 insufficient evidence, 7 reject."""
    numbers = {outcome: sum(r.outcome is outcome for r in readings) for outcome in OUTCOME_WORDS}
    return ", ".join(f"{n} {OUTCOME_WORDS[outcome]}" for outcome, n in numbers.items() if n)


def decision_sentence(readings: Readings) -> str:
    """The decision as a heading: Admit judge-a. Reject judge-b."""
    only = readings.only
    if only is not None:
        return _one_decision(only)
    if all(reading.outcome is None for reading in readings.all):
        what = "judges" if len(readings.groups) == 1 else "examinations"
        return f"{number_word(len(readings.all)).capitalize()} {what} measured, none decided."
    by_outcome = {o: [r for r in readings.all if r.outcome is o] for o in OUTCOME_WORDS}
    if len(readings.all) > MANY:
        return _counted_decision(readings, by_outcome)
    verbs = {
        AdmissionOutcome.ADMIT: "Admit {}.",
        AdmissionOutcome.REJECT: "Reject {}.",
        AdmissionOutcome.INSUFFICIENT: "Collect more evidence on {}.",
    }
    said = [
        verbs[o].format(listed([readings.name(r) for r in by_outcome[o]])) for o in verbs if by_outcome[o]
    ]
    if len(readings.judges) == 1:
        words = {o: f"{OUTCOME_WORDS[o]} for {listed([r.criterion for r in by_outcome[o]])}" for o in verbs}
        said = [f"{readings.judges[0]}: " + "; ".join(words[o] for o in verbs if by_outcome[o]) + "."]
    return " ".join(said)


def _one_decision(only: Reading) -> str:
    if only.outcome is AdmissionOutcome.ADMIT:
        return f"Admit {only.judge}."
    if only.outcome is AdmissionOutcome.REJECT:
        return f"Reject {only.judge}."
    if only.outcome is AdmissionOutcome.INSUFFICIENT:
        return f"Not enough evidence to admit or reject {only.judge}."
    far = only.report.headline
    if only.pairs:
        took = f"took the wrong side of {whole(far.x)} of {counted(far.n, 'pair')}"
        return f"{only.judge} {took}; nothing was decided."
    return f"{only.judge} accepted {whole(far.x)} of {counted(far.n, 'failing answer')}; nothing was decided."


def _counted_decision(readings: Readings, by_outcome: dict[AdmissionOutcome, list[Reading]]) -> str:
    total = len(readings.all)
    what = "judges" if len(readings.groups) == 1 else "examinations"
    admitted = len(by_outcome[AdmissionOutcome.ADMIT])
    said = [f"Admit {'none' if not admitted else whole(admitted)} of {whole(total)} {what}."]
    for outcome, words in (
        (AdmissionOutcome.REJECT, f"Reject{NBSP}{{}}."),
        (AdmissionOutcome.INSUFFICIENT, f"Collect more evidence on{NBSP}{{}}."),
    ):
        if by_outcome[outcome]:
            said.append(words.format(whole(len(by_outcome[outcome]))))
    return " ".join(said)


_FURTHER_ANSWERS = "failing answer", "failing answers", "rejected", "rejects"
_FURTHER_PAIRS = (
    "pair with a preferred side",
    "pairs with a preferred side",
    "on the right side",
    "takes the right side of",
)


def more_failures(reading: Reading) -> str:
    """How many more failing answers would admit the judge: clean, at the rate seen, and at which level."""
    if reading.decision is None:
        return ""
    needed = reading.decision.more_failures_needed
    one, many, rejected, rejects = _FURTHER_PAIRS if reading.pairs else _FURTHER_ANSWERS
    looks = "at one look" if needed.looks == 1 else f"at the level for {needed.looks} looks"
    if needed.clean is None:
        return f"no number of further {many} would do"
    if needed.clean == 0:
        return ""
    if reading.report.headline.n == 0:
        return f"at least {counted(needed.clean, one, many)}, all {rejected} ({looks})"
    clean = counted(needed.clean, f"more {one}", f"more {many}")
    if needed.at_observed_rate is None:
        return f"{clean}, all {rejected} ({looks}); at the rate so far none would do"
    if needed.at_observed_rate == needed.clean:
        return f"{clean}, all {rejected} ({looks})"
    plan = whole(needed.at_observed_rate)
    return f"{clean} if the judge {rejects} them all, about {plan} at the rate so far ({looks})"
