"""What each number means: method, numerator and denominator, for the page's notes and for --explain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from calibration.rendering.background import accepted_failures
from calibration.rendering.numbers import NNBSP, fixed, percent, plain, whole
from calibration.rendering.reading import Reading, Readings
from calibration.rendering.text import counted, visible
from calibration.rendering.vocabulary import name_words
from calibration.statistics.normal import z_value


@dataclass(frozen=True, slots=True)
class Definition:
    """One number explained."""

    name: str
    """Which figure; columns refer to it."""
    term: str
    text: str


def definitions(readings: Readings) -> tuple[Definition, ...]:
    """Every definition that the figures shown need, in the order in which they are met."""
    return tuple(
        Definition(name, term, text.replace(" %", f"{NNBSP}%"))
        for part in (_rates(readings), _unknowns(), _other_rates(), _agreement(), _evidence(readings))
        for name, term, text in part
    )


Entries = Iterator[tuple[str, str, str]]


def _rates(readings: Readings) -> Entries:
    far = readings.all[0].report.headline
    yield (
        "interval",
        "Intervals",
        f"Wilson score interval, {'two' if far.sided == 2 else 'one'}-sided {_level(far.confidence)}, z = "
        f"{fixed(z_value(far.confidence, sided=far.sided), 5)}, unless said otherwise. A rate shows no "
        "more decimals than half its interval's width justifies; an end that would round onto the limit "
        "gets one more; halves round away from zero; a count above zero never prints as 0 %.",
    )
    yield (
        "far",
        "Failing answers accepted (false-acceptance rate, FAR)",
        "Accepted by the judge / all answers whose reference label is fail. Abstained, invalid, "
        "inconsistent and open verdicts stay in the denominator as not accepted.",
    )
    yield "gate", "What the policy decides on", _gate_text(readings)
    yield (
        "non_acceptance",
        "Good answers not accepted",
        "(Rejected + abstained + invalid + inconsistent + open) / all answers whose reference label is pass: "
        "the cost that users feel.",
    )
    yield (
        "decided",
        "FAR, decided only",
        "Accepted / (accepted + rejected) among failing answers. Diagnostic: it leaves out what the judge "
        "did not decide, so it decides nothing.",
    )
    yield (
        "bounds",
        "FAR with the open resolved each way",
        "Low: accepted / (failing + unresolved references that it did not accept). High: (accepted + open "
        "+ unresolved references accepted or open) / (failing + those unresolved). The wider pair also "
        "lets every final unknown among them turn into an acceptance.",
    )


def _gate_text(readings: Readings) -> str:
    said = (
        "The upper end of the worst case against the limit: open verdicts, and answers without an agreed "
        "label that the judge accepted or may accept, count as accepted failures. It rejects only if the "
        "lower end of the best case (open verdicts not accepted, unresolved references left out) is above "
        "the limit."
    )
    level = readings.all[0]
    if level.divided_level and level.decision is not None:
        gate, looks = level.report.far_gate, level.decision.looks
        z = fixed(z_value(gate.confidence, sided=gate.sided), 3)
        said += (
            f" The error is divided among {looks.allowed} looks: every look is read at "
            f"{_level(gate.confidence)} (z = {z})."
        )
    clustered = next((r for r in readings.all if r.clustered), None)
    if clustered is not None:
        said += " " + _cluster_text(clustered)
    return said


def _cluster_text(reading: Reading) -> str:
    gate = reading.report.far_gate
    return (
        f"Answers to one prompt are alike: {whole(gate.n)} answers from {counted(gate.clusters, 'prompt')} "
        f"with an intracluster correlation of {_correlation(gate.icc)} (the larger of the estimate and the "
        f"planning value) have an effective number of {fixed(gate.n_effective, 1)}, and the interval is "
        "Wilson's on that number."
    )


def _correlation(icc: float | None) -> str:
    return "not estimated" if icc is None else fixed(icc, 2)


def _unknowns() -> Entries:
    yield (
        "final",
        "Final unknowns",
        "Abstained, invalid (no usable reply) and inconsistent (orders or votes disagree): the judge gave "
        "no verdict and will not. They count as not accepted and never leave a denominator; since "
        "abstaining lowers FAR for free, read coverage beside it.",
    )
    yield (
        "open",
        "Open verdicts",
        "Pending, missing and error: no verdict yet. They count as accepted where a limit is to be met "
        "and as not accepted where it is to be broken.",
    )


def _other_rates() -> Entries:
    yield "frr", "Good answers rejected (FRR)", "Rejected / all answers whose reference label is pass."
    yield (
        "failure_among_accepted",
        "Failures among accepted",
        "Failing and accepted / all accepted with a reference label. It describes the mix of this set, "
        "not production, unless the set is a random sample of what the judge accepts there.",
    )
    yield (
        "coverage",
        "Coverage, abstained, invalid, open",
        "Accepted or rejected, abstained, invalid, open / all answers, unresolved references included.",
    )
    yield (
        "disagreement",
        "Disagreement",
        "(Accepted among failing + not accepted among good) / all answers with a reference label.",
    )


def _agreement() -> Entries:
    yield (
        "kappa",
        "Kappa",
        "Cohen's kappa: agreement beyond chance of accepted or not accepted with pass or fail, over all "
        "answers with a reference label. Interval: large-sample (Fleiss, Cohen, Everitt 1969); percentile "
        "bootstrap where a margin is under 10 % or several answers share a prompt, then resampled by "
        "prompt; where every answer agrees, from Wilson's lower end of the raw agreement. "
        "Read it with both margins: it does not tell how often failures slip through, so it is "
        "never the gate. Not assessed where the rarer label or verdict is under 10 %.",
    )
    yield (
        "baselines",
        "Baselines",
        "Trivial judges on the same answers, drawn hollow: what a judge must beat to be worth its cost. "
        "Never candidates.",
    )


def _evidence(readings: Readings) -> Entries:
    decided = [r for r in readings.all if r.decision is not None]
    if decided and decided[0].decision is not None:
        looks = decided[0].decision.more_failures_needed.looks
        yield (
            "more",
            "More failing answers needed",
            "The fewest further failing answers, one a prompt, with which the worst case would hold the "
            "limit: if the judge rejects them all, and if it goes on accepting them at the rate so far. "
            f"Both hold at the level for {counted(looks, 'look')}.",
        )
    if readings.comparison.rank or readings.comparison.ties:
        yield (
            "rank",
            "Rank",
            "The places that a judge may hold: 1 is the lowest FAR. Two judges tie unless an exact test "
            "on the failing answers that both judged separates them: the two are swapped within whole "
            "prompts (McNemar's test where each prompt has one answer), p adjusted by Holm over all pairs.",
        )
    if any(r.report.slices for r in readings.all):
        yield (
            "slices",
            "Slices",
            "The same rates within one slice; small numbers, wide intervals. A slice can break a policy's "
            "slice limit only when its whole interval lies above it; no slice admits a judge.",
        )
    if any(r.report.raters for r in readings.all):
        yield (
            "raters",
            "Raters",
            "Agreement: answers on which all raters said the same / answers with at least two raters, "
            "cannot-decide being a label of its own, before adjudication. Kappa is for exactly two raters, "
            "Krippendorff's alpha (2011, nominal; answers resampled) for any number.",
        )


def _level(confidence: float) -> str:
    return percent(plain(round(confidence * 100, 2)))


SHOWN = 20
"""Ids that stand on a terminal; the page has more."""


def _accepted_text(heading: str, ids: Sequence[str]) -> str:
    more = f" and {whole(len(ids) - SHOWN)} more in the HTML report and the JSON" if len(ids) > SHOWN else ""
    return f"{heading}: {', '.join(ids[:SHOWN])}{more}"


def explanation(readings: Readings) -> tuple[str, ...]:
    """What to read, the definitions as paragraphs, what was not assessed and why, what is not established."""
    said = [_accepted_text(each.heading, each.ids) for each in accepted_failures(readings)]
    said += [f"{d.term}: {d.text}" for d in definitions(readings)]
    gaps = {(g.name, g.reason): None for r in readings.all for g in r.report.not_assessed}
    reasons = [f"{name_words(name)} ({visible(reason)})" for name, reason in gaps]
    if reasons:
        said.append(f"Not assessed: {'; '.join(reasons)}.")
    claims = {claim: None for r in readings.all for claim in r.report.not_established}
    if claims:
        said.append(f"Not established by this evidence: {' '.join(visible(claim) for claim in claims)}")
    return tuple(said)
