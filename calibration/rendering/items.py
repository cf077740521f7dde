"""Policy items and coefficients in words: what was asked, what was found."""

from __future__ import annotations

from calibration.evidence import (
    CalibrationReport,
    ItemKind,
    ItemStatus,
    KappaFigure,
    PolicyItem,
    UndefinedFigure,
    VerdictTable,
)
from calibration.rendering.numbers import (
    coefficient_text,
    end_text,
    fixed,
    interval_decimals,
    limit_text,
    percent,
    plain,
    rate_text,
    share,
    whole,
)
from calibration.rendering.text import visible
from calibration.rendering.vocabulary import BLIND_WORDS, GRADE_WORDS, PROBE

BIASED = "biased"
"""How the detail of a probe that found a rise begins."""

_ASKED = {
    "upper_at_most": "upper end ≤ {}",
    "lower_at_least": "lower end ≥ {}",
    "lower_above": "lower end > {}",
    "lower_not_above": "lower end ≤ {}",
    "point_at_most": "≤ {}",
    "point_at_least": "≥ {}",
    "count_at_most": "at most {}",
    "count_at_least": "at least {}",
    "only": "{} only",
    "grade_at_least": "{}, or better",
}
_COEFFICIENTS = frozenset({"kappa_vs_reference", "rater_kappa", "informative", "position_effect_abs"})


def limit_words(item: PolicyItem) -> str:
    """What the policy asks of the item: upper end ≤ 10 %."""
    if item.limit is None:
        return "stated"
    if item.name == "blind":
        return "every label blind"
    if item.name.startswith(PROBE):
        return f"rise ≤ {plain(round(100 * float(item.limit), 1))} points"
    asked = _ASKED.get(item.comparison, f"{visible(item.comparison).replace('_', ' ')} {{}}")
    return asked.replace("{}", _number(item, item.limit))


def _number(item: PolicyItem, number: float | int | str) -> str:
    """A limit or value as a percentage, a coefficient, a count or a word, by what the item is."""
    if isinstance(number, str):
        return next((words for grade, words in GRADE_WORDS.items() if grade.value == number), visible(number))
    if item.comparison.startswith("count_"):
        return whole(int(number))
    side_share = item.name == "informative" and item.n is not None
    if not side_share and (item.name in _COEFFICIENTS or item.kind is ItemKind.AGREEMENT):
        return fixed(number, 2) if number else "0"
    return limit_text(number)


def found_text(item: PolicyItem, report: CalibrationReport) -> str:
    """What was found: the count first, then the point and interval, or the one end that decides."""
    if item.kind is ItemKind.FAR:
        return _gate_text(item)
    if item.x is not None and item.n is not None:
        return _open_found(item, report) or _rate_found(item)
    if item.value is None:
        return ""
    if item.name.startswith(PROBE):
        least = item.status is ItemStatus.FAIL or item.detail.startswith(BIASED)
        end = plain(round(100 * float(item.value), 1))
        return f"accepts {'at least' if least else 'up to'} {end} points more"
    if item.name == "blind":
        return f"{whole(int(item.value))} not known to be blind"
    if isinstance(item.value, str) or item.comparison.startswith("count_"):
        return _number(item, item.value)
    if item.kind is ItemKind.AGREEMENT and item.lower is not None and item.upper is not None:
        return _range(item, item.lower, item.upper)
    if item.name in _COEFFICIENTS or item.kind is ItemKind.AGREEMENT:
        return " ".join(part for part in coefficient_text(float(item.value), item.lower, item.upper) if part)
    return _share_found(item, report)


def _share_found(item: PolicyItem, report: CalibrationReport) -> str:
    """A share that has no interval, with the count that it is made of."""
    if item.name == "unresolved_reference":
        return count_and_share(report.counts.reference_unresolved, report.table.all.total)
    if item.name == "far_high_bound":
        return count_and_share(*bound_counts(report.table, final=False)[1])
    return percent(plain(round(float(item.value or 0) * 100, 1)))


def bound_counts(table: VerdictTable, *, final: bool) -> tuple[tuple[int, int], tuple[int, int]]:
    """(x, n) of the lowest and of the highest FAR as open verdicts and unresolved references turn out.

    With `final` every final unknown may turn into an acceptance too (STATISTICS §1).
    """
    fail, unresolved = table.fail, table.unresolved
    undecided = fail.open + (fail.final_unknown if final else 0)
    against = unresolved.accepted + unresolved.open + (unresolved.final_unknown if final else 0)
    low = fail.accepted, fail.total + unresolved.total - unresolved.accepted
    return low, (fail.accepted + undecided + against, fail.total + against)


def count_and_share(x: int, n: int) -> str:
    """The count x/n and the share in whole percent, for what has no interval; without n only the count."""
    return f"{whole(x)}/{whole(n)} {percent(share(x, n, 0))}" if n else f"{x}/{n}"


def detail_words(item: PolicyItem) -> str:
    """What decided, in the item's own words; how the labels were made blind, in ours."""
    detail = visible(item.detail)
    if item.name != "blind":
        return detail
    parts = [part.partition(" ") for part in detail.split(", ")]
    counts = [whole(int(number)) if number.isdigit() else number for number, _, _ in parts]
    words = [BLIND_WORDS.get(word, word) for _, _, word in parts]
    return ", ".join(f"{number} {word}".strip() for number, word in zip(counts, words, strict=True))


def _range(item: PolicyItem, lower: float, upper: float) -> str:
    """An agreement item decides by its interval: kappa's, or that of a difference in points."""
    if item.name == "informative":
        decimals = interval_decimals(lower * 100, upper * 100)
        return f"{fixed(lower * 100, decimals)} to {fixed(upper * 100, decimals)} points"
    decimals = interval_decimals(lower, upper, least=1)
    return f"{fixed(lower, decimals)} to {fixed(upper, decimals)}"


def informative_words(item: PolicyItem, report: CalibrationReport) -> str:
    """Whether the judge is shown to tell good from bad, by how much, and what was asked."""
    shown = item.status is ItemStatus.PASS
    if item.n is not None:
        state = "picks the right side" if shown else "not shown to pick the right side"
        found = f"{_rate_found(item)} of the sides that it picked are right" if item.n else "it picked none"
        return f"{state} more often than the wrong one: {found}; asked: more than {_number(item, 0.5)}"
    state = "tells good from bad" if shown else "not shown to tell good from bad"
    if item.lower is None or item.upper is None:
        rows = (("failing", report.table.fail), ("good", report.table.passing))
        lacking = " and no ".join(f"{which} answer" for which, row in rows if not row.total)
        return f"{state}: no {lacking} with an agreed label to tell apart"
    points = _range(item, item.lower, item.upper)
    return f"{state}: it accepts good answers {points} more often than failing ones; asked: more than 0"


def _gate_text(item: PolicyItem) -> str:
    """The worst case and its upper end; once broken the best case and its lower end."""
    if not item.n or item.x is None or item.lower is None or item.upper is None:
        return "no failing answer"
    end = item.lower if item.status is ItemStatus.FAIL else item.upper
    word = "from" if item.status is ItemStatus.FAIL else "up to"
    limit = float(item.limit) if isinstance(item.limit, int | float) else None
    shown = end_text(end, lower=item.lower, upper=item.upper, limit=limit)
    return f"{whole(item.x)}/{whole(item.n)} {word} {shown}"


_OPEN_AS = {
    "abstention": "if every open verdict were one",
    "invalid": "if every open verdict were one",
    "coverage": "if every open verdict were decided",
}


def _open_found(item: PolicyItem, report: CalibrationReport) -> str:
    """What is known and how far the open could take it, where they differ; the worst case is no fact."""
    gate = report.guard_gates.get(item.name)
    if (
        gate is None
        or item.lower is None
        or item.upper is None
        or (gate.x, gate.n) == (gate.x_best, gate.n_best)
    ):
        return ""
    limit = float(item.limit) if isinstance(item.limit, int | float) else None
    interval = rate_text(gate.x, gate.n, lower=item.lower, upper=item.upper, limit=limit).interval
    when = _OPEN_AS.get(item.name, "counting what is open or disputed")
    known, most = f"{whole(gate.x_best)}/{whole(gate.n_best)}", f"{whole(gate.x)}/{whole(gate.n)}"
    return f"{known}, up to {most} {when} {interval}"


def _rate_found(item: PolicyItem) -> str:
    x, n = item.x or 0, item.n or 0
    if item.comparison.startswith("point_") and isinstance(item.value, int | float):
        x = round(item.value * n)  # the count that was compared, whichever case it came from
    if not n or item.lower is None or item.upper is None:
        return count_and_share(x, n)
    limit = float(item.limit) if isinstance(item.limit, int | float) else None
    return rate_text(x, n, lower=item.lower, upper=item.upper, limit=limit).text


def coefficient_words(figure: KappaFigure | UndefinedFigure) -> str:
    """A kappa with its interval; "0 (constant)" and "undefined" where there is none."""
    if isinstance(figure, UndefinedFigure):
        return "undefined"
    if figure.degenerate:
        return "0 (constant)"
    return " ".join(part for part in coefficient_text(figure.estimate, figure.lower, figure.upper) if part)


def kappa_words(report: CalibrationReport) -> str:
    """The judge's kappa with its interval, unless the report says that it was not assessed."""
    assessed = all(gap.name != "kappa" for gap in report.not_assessed)
    words = coefficient_words(report.kappa) if assessed else "not assessed"
    own = _own_kappa(report)
    if not own:
        return words
    return own if report.wrong_side is not None else f"{words}; {own}"


def _own_kappa(report: CalibrationReport) -> str:
    """Kappa of the criterion's own answers, levels or sides, where that of the verdicts is another."""
    found = report.answer_agreement
    if found is None or found.kappa_decided is None:
        return ""
    figure = fixed(found.kappa_decided, 2)
    if found.kappa_weights != "none":
        return f"{figure} of levels, weighted"
    return f"{figure} of answers, decided" if report.wrong_side is not None else ""
