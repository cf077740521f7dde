"""One self-contained HTML page from an examination or a comparison: no script, no outside request."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from calibration.evidence import Comparison, Examination
from calibration.rendering import background, page, tables
from calibration.rendering.beyond import beyond_sentences
from calibration.rendering.explain import definitions
from calibration.rendering.next_step import next_step
from calibration.rendering.reading import Readings
from calibration.rendering.reasons import reasons
from calibration.rendering.sentences import decision_sentence, headline
from calibration.rendering.shell import moment_words, render_page
from calibration.rendering.text import listed, visible
from calibration.rendering.vocabulary import COLUMNS
from rubrics.digest import short

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def render_html(
    shown: Examination | Comparison, *, made_at: datetime | None, title: str | None = None
) -> str:
    """The report as one HTML page: decision first, then pictures, tables, notes and digests.

    Args:
        shown: one examination, or several side by side.
        made_at: when the report was made, printed in UTC; None prints no time.
        title: the page's title; by default the judges and the criteria.

    Raises:
        ValueError: a comparison without any examination.
    """
    readings = Readings.of(shown)
    return render_page(
        "report.html",
        title=visible(title) if title else _title(readings),
        made=moment_words(made_at),
        **_first_screen(readings),
        **_body(readings),
    )


def _first_screen(readings: Readings) -> dict[str, Any]:
    return {
        "scope": page.scope(readings),
        "constructed": readings.constructed,
        "exploratory": any(reading.report.exploratory for reading in readings.all),
        "eyebrow": page.eyebrow(readings),
        "decision": decision_sentence(readings),
        "outcome_mark": page.MARKS[readings.only.outcome] if readings.only else "",
        "headline": headline(readings.comparison),
        "rule": page.rule_sentence(readings),
        "ledger": page.ledger(readings),
        "facts": page.facts(readings),
        "warnings": page.report_warnings(readings),
        "reasons": reasons(readings),
        "next_step": next_step(readings.comparison),
        "pictures": page.pictures(readings),
        "several_criteria": len(readings.groups) > 1,
        "single": readings.only is not None,
        "rate_title": readings.rate_title,
        "beside_title": readings.beside_title,
    }


def _body(readings: Readings) -> dict[str, Any]:
    notes = definitions(readings)
    return {
        "verdicts": tables.verdict_blocks(readings),
        "columns": COLUMNS,
        "policies": tables.policy_tables(readings),
        "rates": tables.rate_tables(readings),
        "kappas": tables.kappa_tables(readings),
        "accepted_failures": background.accepted_failures(readings),
        "slices": background.slices(readings),
        "backgrounds": _backgrounds(readings),
        "beyond": beyond_sentences(readings),
        "not_assessed": background.claims(readings, "not_assessed"),
        "not_established": background.claims(readings, "not_established"),
        "notes": tuple(zip(_LETTERS, notes, strict=False)),
        "letters": {note.name: letter for letter, note in zip(_LETTERS, notes, strict=False)},
        "digests": _digests(readings),
    }


def _backgrounds(readings: Readings) -> tuple[background.FactTable, ...]:
    """Raters, position and repeats; a single table is set in two columns."""
    found = (*background.rater_tables(readings), *background.measure_tables(readings))
    return background.halves(found[0]) if len(found) == 1 else found


def _digests(readings: Readings) -> tuple[tuple[str, str, str], ...]:
    """(what, the first 12 hex digits, all of them) of everything that identifies what is shown."""
    found: dict[tuple[str, str], None] = {}
    for reading in readings.all:
        found[(f"report {readings.name(reading)}", reading.report.report)] = None
    for reading in readings.all:
        found[(f"inputs {readings.name(reading)}", reading.report.inputs)] = None
    for reading in readings.all:
        if reading.decision:
            found[(f"policy {visible(reading.decision.policy)}", reading.decision.policy_digest)] = None
    return tuple((what, short(full), full) for what, full in found)


def _title(readings: Readings) -> str:
    criteria = [group[0].criterion for group in readings.groups]
    return f"Calibration report: {listed(readings.judges, most=3)}, {listed(criteria, most=3)}"
