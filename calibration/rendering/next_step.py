"""The last line of a report: the one thing to do, or to collect, next."""

from __future__ import annotations

from calibration.evidence import (
    AdmissionOutcome,
    Comparison,
    EvidenceGrade,
    Examination,
    ItemKind,
    PolicyItem,
)
from calibration.labels import Blindness
from calibration.rendering.items import detail_words
from calibration.rendering.numbers import whole
from calibration.rendering.open_verdicts import clean_once_in, may_settle
from calibration.rendering.reading import Reading, Readings
from calibration.rendering.sentences import more_failures
from calibration.rendering.text import counted, number_word
from calibration.rendering.unmeasured import unmeasured_step
from calibration.rendering.vocabulary import PROBE, name_words


def next_step(shown: Examination | Comparison) -> str:
    """The last line: `Next:` and the one thing to do or to collect."""
    readings = Readings.of(shown)
    order = (AdmissionOutcome.INSUFFICIENT, AdmissionOutcome.ADMIT, AdmissionOutcome.REJECT, None)
    chosen = min(readings.all, key=lambda reading: order.index(reading.outcome))
    step = _step(chosen)
    further = "" if step.startswith("use another judge") else _further_look(chosen, step)
    if readings.only is None and chosen.outcome is not None:
        step = f"for {readings.name(chosen)}, {step}"
    return f"Next: {step}.{further}"


def _further_look(reading: Reading, step: str) -> str:
    """That examining again is not allowed, where every look is used; what is collected is a fresh set."""
    decision = reading.decision
    if decision is None or reading.outcome is not AdmissionOutcome.INSUFFICIENT or reading.report.constructed:
        return ""
    if decision.looks.used < decision.looks.allowed or decision.binding in {"looks", "exploratory"}:
        return ""
    if decision.binding.startswith(PROBE):  # a probe says nothing of FAR: examining after it is no look
        return ""
    allowed = number_word(decision.looks.allowed)
    if step.startswith("collect"):
        looks = "one look, which is" if decision.looks.allowed == 1 else f"{allowed} looks, which are"
        return (
            f" Draw them as a fresh set of the whole size, since this policy allows {looks} used; or declare "
            "more looks beforehand."
        )
    return (
        f" Examining again is a further look, and this policy allows {allowed}: use a fresh set, or declare "
        "more looks beforehand."
    )


def _step(reading: Reading) -> str:
    if reading.outcome is None:
        what = "wrong sides" if reading.pairs else "failing answers"
        return f"name the largest share of {what} that you can bear, such as --far-limit 0.10"
    if reading.report.constructed:
        return "examine your own answers: voirdire check FILE --far-limit 0.10"
    binding = reading.binding
    if reading.outcome is AdmissionOutcome.ADMIT or binding is None:
        return _before_relying(reading)
    if reading.outcome is AdmissionOutcome.REJECT:
        return f"{_to_read(reading, binding)}, change the judge, use a fresh set"
    unmeasured = "" if reading.report.headline.n else unmeasured_step(reading)
    if unmeasured:
        return unmeasured
    missing = counted(reading.report.open.x, "missing verdict")
    if may_settle(reading, binding):
        which = "it" if reading.report.open.x == 1 else "them"
        return f"get the {missing} first (run the judge on {which}), then examine again"
    step = _to_collect(reading, binding)
    if reading.report.open.x and binding.kind is not ItemKind.DATA_QUALITY:
        step += f"; also get the {missing}{_once_in(reading, binding)}"
    return step


def _once_in(reading: Reading, binding: PolicyItem) -> str:
    """What getting the missing verdicts saves."""
    open_failures = reading.open_failures
    clean = clean_once_in(reading) if binding.kind is ItemKind.FAR and open_failures else None
    if not clean:
        return ""
    which = "it" if open_failures == 1 else "them all"
    taken = "takes the right side of" if reading.pairs else "rejects"
    return f": if the judge {taken} {which}, {whole(clean)} more will do"


_COUNTED = {
    "minimum_fail": "failing answer",
    "minimum_pass": "good answer",
    "minimum_cases": "answer",
    "min_clusters": "prompt with a failing answer",
}
_TWO_RATERS = "have two raters, blind to the judge, label every answer, then examine again"
_FIXED = {
    "non_acceptance_among_pass": "collect more good answers: too few to tell how many it turns away",
    "raters_per_case": _TWO_RATERS,
    "evidence_grade": _TWO_RATERS,
    "blind": "have raters who cannot see the judge label the answers, and record that they were blind",
    "rater_kappa": "sharpen the rubric until two raters agree, then label again",
    "unresolved_reference": "have the disputed answers adjudicated, then examine again",
    "far_high_bound": "have the disputed answers adjudicated, then examine again",
    "looks": "draw a fresh set: every look that the policy allows is used",
    "exploratory": "fix the policy first, then draw a fresh set that did not shape the judge",
    "reference_source": "have people label the answers: labels by a model or code decide nothing",
}


def _to_collect(reading: Reading, item: PolicyItem) -> str:
    """What evidence is missing, by the item that bound the outcome."""
    if item.name == "far":
        return _failures_to_collect(reading, item)
    if item.name == "informative":
        return _to_be_informative(reading)
    if item.name == "rater_kappa" and item.value is None:
        return _TWO_RATERS
    if item.name.startswith(PROBE):
        return _to_probe(item)
    if item.name in _COUNTED and isinstance(item.limit, int | float) and isinstance(item.value, int | float):
        more = counted(int(item.limit - item.value), f"more {_COUNTED[item.name]}", _plural(item.name))
        return f"collect {more}; the policy asks for {whole(int(item.limit))}"
    why = detail_words(item) or "the policy asks for more"
    return _FIXED.get(item.name, f"look into {name_words(item.name)}: {why}")


def _to_probe(item: PolicyItem) -> str:
    """A probe, all kinds of change in one; examining after it is no further look."""
    if item.value is None:
        return (
            f"{detail_words(item).removeprefix('not probed: ')}, then examine again, which is no further look"
        )
    return "probe more failing answers (--items), all kinds of change in one probe, then examine again"


def _plural(name: str) -> str:
    return "more prompts with a failing answer" if name == "min_clusters" else ""


def _failures_to_collect(reading: Reading, item: PolicyItem) -> str:
    if reading.unresolved_against and reading.measured.upper <= (reading.limit or 0.0):
        disputed = counted(
            reading.unresolved_against, "disputed pair" if reading.pairs else "disputed answer"
        )
        which = "" if reading.pairs else " that it accepted"
        return f"have the {disputed}{which} adjudicated, then examine again"
    needed = more_failures(reading)
    if not needed:
        alone = "alone it holds the limit, among the judges compared it does not"
        what = "pairs with a preferred side" if reading.pairs else "failing answers"
        return f"collect more {what}: {alone} ({detail_words(item)})"
    return f"collect {needed}" + (", each from another prompt" if reading.clustered else "")


def _to_be_informative(reading: Reading) -> str:
    passing = reading.report.table.passing
    if reading.pairs:
        return "use a judge that picks the right side more often than the wrong one, or collect more pairs"
    if not passing.total:
        return "collect answers that people pass: without them nothing shows that it accepts anything"
    if not passing.accepted:
        return "use another judge: this one accepts no good answer either"
    return "use a judge that accepts good answers more often than failing ones, or collect more of both"


def _to_read(reading: Reading, item: PolicyItem) -> str:
    """The cases to look at once a judge is rejected: those that broke the limit."""
    table = reading.report.table
    if item.name == "far":
        where = " (their ids: --explain or the HTML report)" if reading.report.accepted_failures else ""
        if reading.pairs:
            return f"read the {counted(table.fail.accepted, 'pair')} on which it took the wrong side{where}"
        return f"read the {counted(table.fail.accepted, 'failing answer')} it accepted{where}"
    if item.name == "slice_far" and item.x is not None:
        return f"read the {counted(item.x, 'failing answer')} it accepted in {detail_words(item)}"
    if item.name.startswith(PROBE):
        return "read the changed copies that it accepted"
    if item.name == "non_acceptance_among_pass":
        turned_away = table.passing.total - table.passing.accepted
        return f"read the {counted(turned_away, 'good answer')} it did not accept"
    return f"look into {name_words(item.name)}"


def _before_relying(reading: Reading) -> str:
    """What an admission still lacks before anybody should rely on it, the weakest ground first."""
    grade = reading.report.evidence_grade
    if grade in {EvidenceGrade.UNKNOWN, EvidenceGrade.MODEL, EvidenceGrade.ONE_RATER}:
        found = {
            EvidenceGrade.UNKNOWN: "who labelled is not recorded",
            EvidenceGrade.MODEL: "no person labelled",
            EvidenceGrade.ONE_RATER: "one rater labelled",
        }[grade]
        return f"before relying on it, have two blind raters label these answers ({found})"
    if not _all_blind(reading):
        return "before relying on it, record that the raters could not see the judge"
    return "before relying on it, have it signed; an unsigned outcome admits nobody"


def _all_blind(reading: Reading) -> bool:
    raters = reading.report.raters
    return raters is not None and all(Blindness(word).satisfies_blind for word in raters.blind)
