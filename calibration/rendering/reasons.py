"""The three columns under a decision: what bound it, what would change it, what it does not say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calibration.evidence import AdmissionOutcome, ItemKind, ItemStatus, PolicyItem
from calibration.rendering.flip import flip_sentence, to_flip
from calibration.rendering.items import detail_words, found_text, informative_words, limit_words
from calibration.rendering.numbers import end_text, whole
from calibration.rendering.open_verdicts import gate_if, open_decides
from calibration.rendering.reading import Reading, Readings
from calibration.rendering.sentences import MANY, more_failures
from calibration.rendering.text import (
    counted,
    listed,
    named,
    number_word,
    said_of,
    sentence,
    visible,
)
from calibration.rendering.unmeasured import unmeasured_bound, unmeasured_step
from calibration.rendering.vocabulary import OUTCOME_WORDS, name_words
from calibration.statistics.normal import z_value
from calibration.statistics.proportions import GateResult, max_accepted, wilson_interval
from calibration.values import Undefined


@dataclass(frozen=True, slots=True)
class Reasons:
    """Sentences of the three columns."""

    bound: tuple[str, ...]
    change: tuple[str, ...]
    silent: tuple[str, ...]
    """What the decision does not say."""


def reasons(readings: Readings) -> Reasons:
    """The three columns for everything shown: judge by judge when few, outcome by outcome when many."""
    if readings.only is not None:
        only = readings.only
        return Reasons(tuple(bound_by(only)), tuple(changed_by(only)), _unestablished(only)[:3])
    if len(readings.all) <= MANY - 1:
        bound = [" ".join(bound_by(r, _who(readings, r))[:1]) for r in readings.all]
        change = [f"{readings.name(r)}: {' '.join(changed_by(r)[:1])}" for r in readings.all]
    else:
        bound, change = _by_outcome(readings)
    return Reasons(tuple(bound), tuple(change), _silent(readings))


def _who(readings: Readings, reading: Reading) -> str:
    """Who accepted, in a sentence: the judge, or "it" under one of several criteria."""
    name = readings.name(reading)
    return f"{name}: it" if name == reading.criterion and len(readings.groups) > 1 else name


def bound_by(reading: Reading, who: str = "It") -> list[str]:
    """What made the outcome, the binding item first; `who` names the judge."""
    if reading.decision is None:
        return ["No limit and no policy was named: the figures stand, nothing is decided."]
    items = reading.deciding
    said = [
        _far_bound(reading, who) if i.kind is ItemKind.FAR else _item_bound(i, reading, who)
        for i in items[:3]
    ]
    if len(items) > len(said):
        said.append(f"Further: {listed([name_words(item.name) for item in items[3:]])}.")
    return said


def _item_bound(item: PolicyItem, reading: Reading, who: str) -> str:
    if item.name == "informative":
        return _of(who, informative_words(item, reading.report))
    found = found_text(item, reading.report)
    stated = f"{name_words(item.name)}: {found}" if found else name_words(item.name)
    asked = f"; the policy asks for {limit_words(item)}" if item.limit is not None else ""
    why = f" ({detail_words(item)})" if item.detail and item.detail not in found else ""
    return _of(who, f"{stated}{asked}{why}")


def _of(who: str, said: str) -> str:
    """A sentence, of the judge where there are several; a name keeps its case."""
    return sentence(said) if who == "It" else said_of(who, said)


def _far_bound(reading: Reading, who: str) -> str:
    """The gate's two-sided question in words: what was accepted, how far it reaches, where the limit is."""
    if not reading.report.headline.n:
        return _of(who, unmeasured_bound(reading))
    did = "preferred the wrong side of" if reading.pairs else "accepted"
    return f"{who} {did} {_reach(reading)}{_worth(reading)}"


def _reach(reading: Reading) -> str:
    gate, limit = reading.report.far_gate, reading.limit_words
    of = "pairs" if reading.pairs else "failing answers"
    best = f"{whole(gate.x_best)}/{whole(gate.n_best)} {of}"
    worst = f"{whole(gate.x)}/{whole(gate.n)}"
    unsettled = gate.x != gate.x_best
    item = reading.far_item
    status = item.status if item else ItemStatus.INSUFFICIENT
    if status is ItemStatus.FAIL:
        even = ", even if all that is open or disputed turns out well" if unsettled else ""
        return f"{best}: at least {reading.gate_lower}{even}. The limit is {limit}."
    if status is ItemStatus.PASS:
        counting = f", {worst} counting what is open or disputed against it" if unsettled else ""
        return f"{best}{counting}: at most {reading.gate_upper}. The limit is {limit}."
    if item is not None and item.detail and gate.upper <= (reading.limit or 0.0):
        return (
            f"{best}, which holds the limit alone, but not among all judges compared ({detail_words(item)})."
        )
    span = (
        f"anything from {reading.gate_lower} to {reading.gate_upper} fits. The limit, {limit}, lies between."
    )
    if unsettled:
        return f"{best} if all that is open or disputed turns out well, {worst} if badly: {span}"
    return f"{best}: {span}"


def _worth(reading: Reading) -> str:
    """What the clusters cost, where there are any."""
    if not reading.clustered:
        return ""
    report, gate = reading.report, reading.report.far_gate
    effective = int(gate.n_effective)
    said = (
        f" {whole(gate.n)} answers from {counted(gate.clusters, 'prompt')} are worth about "
        f"{whole(effective)} independent ones"
    )
    limit = reading.limit
    plain = wilson_interval(gate.x, gate.n, confidence=gate.confidence, sided=gate.sided)
    if limit is not None and plain.upper <= limit < gate.upper and report.headline.n:
        shown = end_text(plain.upper, lower=plain.lower, upper=plain.upper, limit=limit)
        said += f"; read as independent they would reach only {shown} and pass by mistake"
    return said + "."


def changed_by(reading: Reading) -> list[str]:
    """What would turn the outcome into another one."""
    if reading.decision is None:
        what = "wrong sides that you can bear"
        if not reading.pairs:
            what = "failing answers that you can bear to see accepted"
        return [f"A limit: the largest share of {what}."]
    if reading.outcome is AdmissionOutcome.ADMIT:
        changed = "A change of judge, prompt, rubric or population: each needs a new examination."
        return [flip_sentence(reading), changed]
    if reading.outcome is AdmissionOutcome.REJECT:
        return _rejected_change(reading)
    return _insufficient_change(reading)


def _rejected_change(reading: Reading) -> list[str]:
    said = []
    gate, limit = reading.report.far_gate, reading.limit
    if reading.binding is not None and reading.binding.kind is ItemKind.FAR and limit is not None:
        allowed = max_accepted(
            int(gate.n_effective), limit=limit, z=z_value(gate.confidence, sided=gate.sided)
        )
        if not isinstance(allowed, Undefined):
            said.append(_allowance(reading, allowed))
        more = more_failures(reading)
        said.append(sentence(f"More evidence on the same judge: {more}") if more else "")
    said.append("Another judge or prompt is a new examination, on answers that did not shape it.")
    return [text for text in said if text]


def _allowance(reading: Reading, allowed: int) -> str:
    """How many of what was examined the limit lets be wrong."""
    worth = "independent " if reading.clustered else ""
    of = "pairs" if reading.pairs else "failing answers"
    wrong = "on the wrong side" if reading.pairs else "accepted"
    allows = "none" if allowed == 0 else f"at most {whole(allowed)}"
    among = f"{whole(int(reading.report.far_gate.n_effective))} {worth}{of}"
    return f"Among {among} this limit allows {allows} {wrong}."


def _insufficient_change(reading: Reading) -> list[str]:
    said = []
    binding = reading.binding
    unmeasured = "" if reading.report.headline.n else unmeasured_step(reading)
    if unmeasured:
        said.append(sentence(unmeasured))
    elif binding is None or binding.kind is ItemKind.FAR:
        said.append(open_decides(reading))
        if not reading.open_failures or gate_if(reading, accepted=False) is not GateResult.PASS:
            said.append(sentence(more_failures(reading)))
    else:
        said.append(sentence(f"{name_words(binding.name)}: {limit_words(binding)}"))
    looks = reading.decision.looks if reading.decision else None
    if looks is not None and looks.used >= looks.allowed:
        said.append(
            f"Looking again is a further look: this policy allows {number_word(looks.allowed)}. "
            "Use a fresh set, or declare more looks beforehand."
        )
    return [text for text in said if text]


def _by_outcome(readings: Readings) -> tuple[list[str], list[str]]:
    """Many judges: one sentence for each outcome, each judge with the number that bound it."""
    bound, change = [], []
    for outcome, word in OUTCOME_WORDS.items():
        group = [r for r in readings.all if r.outcome is outcome]
        if group:
            shown = listed([f"{readings.name(r)} {_short(r)}" for r in group], most=MANY)
            bound.append(sentence(f"{word}: {shown}"))
            change.append(_change_of(readings, outcome, group))
    return bound, [text for text in change if text]


def _change_of(readings: Readings, outcome: AdmissionOutcome, group: Sequence[Reading]) -> str:
    if outcome is AdmissionOutcome.REJECT:
        return "Rejected: only another judge or prompt, on answers that did not shape it."
    if outcome is AdmissionOutcome.INSUFFICIENT:
        return _needs_of(readings, group)
    weakest = min(group, key=lambda r: to_flip(r)[0])
    return f"Admitted: the first to fall is {readings.name(weakest)}. {flip_sentence(weakest)}"


def _needs_of(readings: Readings, group: Sequence[Reading]) -> str:
    """What each judge with too little evidence still needs: failing answers, or another item settled."""
    failures, others, compared = [], [], []
    for reading in group:
        needed = reading.decision.more_failures_needed if reading.decision else None
        item, name = reading.binding, readings.name(reading)
        if item is not None and item.kind is not ItemKind.FAR:
            others.append(f"{name} ({name_words(item.name)})")
        elif needed is not None and needed.clean:
            rate = needed.at_observed_rate
            plan = f", about {whole(rate)} at its rate" if rate else ""
            failures.append(f"{name} ({whole(needed.clean)} clean{plan})")
        else:
            compared.append(name)
    said = []
    if failures:
        what = "Pairs with a preferred side" if group[0].pairs else "Failing answers"
        said.append(f"{what} still needed: {listed(failures, most=MANY)}.")
    if others:
        said.append(f"Still to settle: {listed(others, most=MANY)}.")
    if compared:
        said.append(
            f"Within the limit alone, but not among all judges compared: {listed(compared, most=MANY)}."
        )
    return " ".join(said)


def _short(reading: Reading) -> str:
    """The number that bound a judge, in brackets."""
    item = reading.binding
    if item is None or item.kind is ItemKind.FAR:
        gate = reading.report.far_gate
        if reading.outcome is AdmissionOutcome.REJECT:
            return f"({whole(gate.x_best)}/{whole(gate.n_best)}, from {reading.gate_lower})"
        return f"({whole(gate.x)}/{whole(gate.n)}, up to {reading.gate_upper})"
    return f"({name_words(item.name)} {found_text(item, reading.report)})".replace(" )", ")")


def _unestablished(reading: Reading) -> tuple[str, ...]:
    return tuple(visible(claim) for claim in reading.report.not_established)


def _silent(readings: Readings) -> tuple[str, ...]:
    """Claims beyond the evidence: first what tells judges apart, then what every report names."""
    said = [
        f"That {named(tie.judges[0])} and {named(tie.judges[1])} differ: {whole(tie.only_first)} against "
        f"{whole(tie.only_second)} of {counted(tie.shared_failures, 'shared failure')}."
        for tie in readings.comparison.ties[:1]
    ]
    common = _unestablished(readings.all[0])
    return (*said, *common[: 3 - len(said)])
