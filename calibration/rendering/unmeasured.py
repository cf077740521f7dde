"""Why nothing shows how often the judge accepts a failure, and what would show it."""

from __future__ import annotations

from calibration.evidence import EvidenceGrade
from calibration.rendering.numbers import whole
from calibration.rendering.reading import Reading
from calibration.rendering.text import counted

_LABELLERS = {
    EvidenceGrade.MODEL: "the model or code",
    EvidenceGrade.CONSTRUCTED: "the constructed labels",
}


def unmeasured_clause(reading: Reading) -> str:
    """Why no failing answer is counted, as the first line says it."""
    report = reading.report
    total = report.table.all.total
    if reading.audit:
        share = report.failure_among_accepted
        fails = "fails" if share.x == 1 else "fail"
        return (
            "the answers were sampled from what the judge accepted, so nothing shows how often it accepts a "
            f"failure; of {whole(share.n)} accepted {whole(share.x)} {fails}"
        )
    if reading.unagreed:
        return f"{_no_agreed_failure(reading)}: {unagreed_words(reading)}"
    if reading.pairs:
        return f"people preferred a side of none of {counted(total, 'pair')}"
    who = _LABELLERS.get(report.evidence_grade, "people")
    return (
        f"{who} failed none of {counted(total, 'answer')}, so nothing shows how often the judge accepts a "
        "failure"
    )


def _no_agreed_failure(reading: Reading) -> str:
    if reading.pairs:
        return "no pair has an agreed preferred side"
    return "no answer has an agreed label that fails it"


def unagreed_words(reading: Reading) -> str:
    """How many of all have no agreed label: 200 of 200 answers have no agreed label."""
    total = reading.report.table.all.total
    has = "has" if reading.unagreed == 1 else "have"
    one = "pair" if reading.pairs else "answer"
    return f"{whole(reading.unagreed)} of {counted(total, one)} {has} no agreed label"


def unmeasured_bound(reading: Reading) -> str:
    """What bound the outcome where no failing answer is counted."""
    if reading.audit:
        return (
            "only answers that the judge accepted were sampled: false acceptance cannot be measured on them"
        )
    if reading.pairs:
        return "no pair has a preferred side, so there is nothing to measure the wrong side on"
    if reading.unagreed:
        return f"{_no_agreed_failure(reading)}, so there is nothing to measure false acceptance on"
    return "no answer failed, so there is nothing to measure false acceptance on"


def unmeasured_step(reading: Reading) -> str:
    """What to do before any failing answer can be counted; empty where failing answers must be collected."""
    if reading.audit:
        return "have people label answers of every kind, not only those that the judge accepted"
    if not reading.unagreed:
        return ""
    one = "pair" if reading.pairs else "answer"
    missing = counted(reading.unagreed, f"{one} without an agreed label", f"{one}s without an agreed label")
    return (
        f"resolve the labels: have the {missing} adjudicated or labelled by enough agreeing raters, then "
        "examine again"
    )
