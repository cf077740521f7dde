"""The page's background as plain records: slices, raters, repeats, and what the evidence does not carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calibration.evidence import (
    AlphaFigure,
    AnswerAgreementFigure,
    CalibrationReport,
    KappaFigure,
    OddsFigure,
    PositionFigure,
    RateFigure,
    RepeatsFigure,
    SelfPreferenceFigure,
    UndefinedFigure,
    VerbosityFigure,
)
from calibration.rendering.items import coefficient_words, count_and_share
from calibration.rendering.numbers import coefficient_text, fixed, p_text, percent, rate_text, whole
from calibration.rendering.page import Fact
from calibration.rendering.reading import Reading, Readings
from calibration.rendering.strip import Scale, Strip, fitting_scale, rate_strip
from calibration.rendering.tables import Cell, judge_head
from calibration.rendering.text import capital, named, visible
from calibration.rendering.vocabulary import BLIND_WORDS, GRADE_WORDS, SOURCE_WORDS, name_words

MOST_ODDS = 1_000
"""The largest ratio of odds that is printed as a number, and the reciprocal of the smallest."""


@dataclass(frozen=True, slots=True)
class SliceLine:
    """One slice of one judge."""

    slice: str
    strip: Strip | None
    far: str
    good: str


@dataclass(frozen=True, slots=True)
class SliceBlock:
    """The slices of one judge."""

    criterion: str
    judge: Cell
    lines: tuple[SliceLine, ...]


@dataclass(frozen=True, slots=True)
class Slices:
    """All slices on one scale."""

    scale: Scale
    blocks: tuple[SliceBlock, ...]


def slices(readings: Readings) -> Slices | None:
    """FAR and cost of every slice; None where no slice was named."""
    found = [f for r in readings.all for f in r.report.slices]
    if not found:
        return None
    limit = readings.limits[0] if len(readings.limits) == 1 else None
    scale = fitting_scale((f.far.upper for f in found if f.far.n), limit)
    blocks = tuple(
        SliceBlock(reading.criterion, judge_head(reading), _slice_lines(reading, scale))
        for reading in readings.all
        if reading.report.slices
    )
    return Slices(scale, blocks)


def _slice_lines(reading: Reading, scale: Scale) -> tuple[SliceLine, ...]:
    lines = []
    for figure in reading.report.slices:
        far, good = figure.far, figure.non_acceptance_among_pass
        name = f"{visible(figure.slice)} {named(figure.value)}"
        words = rate_text(far.x, far.n, lower=far.lower, upper=far.upper, limit=reading.limit).text
        strip = rate_strip(far, scale, words=f"{reading.judge}, {name}: {words}", hollow=False)
        goods = rate_text(good.x, good.n, lower=good.lower, upper=good.upper).text
        lines.append(SliceLine(name, strip, words, goods))
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class FactTable:
    """Terms and values under a heading."""

    heading: str
    facts: tuple[Fact, ...]


def rater_tables(readings: Readings) -> tuple[FactTable, ...]:
    """How the reference came to be; once where it is the same for all judges of a criterion."""
    tables: dict[FactTable, None] = {}
    for reading in readings.all:
        where = f", {reading.criterion}" if len(readings.groups) > 1 else ""
        tables[FactTable(f"Raters and reference{where}", _rater_facts(reading))] = None
    return tuple(tables)


def halves(table: FactTable) -> tuple[FactTable, FactTable]:
    """One table as two that stand side by side."""
    middle = (len(table.facts) + 1) // 2
    return FactTable(table.heading, table.facts[:middle]), FactTable("", table.facts[middle:])


def _rater_facts(reading: Reading) -> tuple[Fact, ...]:
    report, raters = reading.report, reading.report.raters
    grade = Fact("Ground of the labels", GRADE_WORDS[report.evidence_grade])
    unresolved = Fact(
        "Without an agreed label",
        f"{whole(report.counts.reference_unresolved)}/{whole(report.table.all.total)}",
    )
    drawn = _design_facts(report)
    if raters is None:
        return (grade, unresolved, Fact("Raters", "none recorded"), *drawn)
    least, most = raters.raters_per_case_min, raters.raters_per_case_max
    agreement = raters.agreement
    agreed = (
        rate_text(agreement.x, agreement.n, lower=agreement.lower, upper=agreement.upper).text
        if isinstance(agreement, RateFigure)
        else visible(agreement.undefined)
    )
    kappa = raters.kappa
    words = coefficient_words(kappa) if isinstance(kappa, KappaFigure) else visible(kappa.undefined)
    return (
        grade,
        Fact("Raters", whole(raters.raters)),
        Fact("Labels an answer", whole(least) if least == most else f"{whole(least)} to {whole(most)}"),
        Fact("All raters agree, before adjudication", agreed),
        Fact("Kappa between raters", words),
        Fact("Krippendorff's alpha", _alpha_words(raters.alpha)),
        Fact("Resolved by an adjudicator", whole(raters.adjudicated)),
        unresolved,
        *(
            Fact(f"Labels {SOURCE_WORDS.get(source) or visible(source)}", whole(n))
            for source, n in raters.sources.items()
        ),
        *(
            Fact(f"Labels {BLIND_WORDS.get(word) or visible(word)}", whole(n))
            for word, n in raters.blind.items()
        ),
    )


def _design_facts(report: CalibrationReport) -> tuple[Fact, ...]:
    """How the items were drawn and what that lets a figure describe, where it is known."""
    said = (("How the answers were drawn", report.design), ("What figures may describe", report.claim))
    return tuple(Fact(term, visible(text).replace("_", " ")) for term, text in said if text)


def _alpha_words(alpha: AlphaFigure | UndefinedFigure) -> str:
    if isinstance(alpha, UndefinedFigure):
        return visible(alpha.undefined)
    return " ".join(part for part in coefficient_text(alpha.estimate, alpha.lower, alpha.upper) if part)


def measure_tables(readings: Readings) -> tuple[FactTable, ...]:
    """Orders, repeats and the criterion's own answers, of each judge that has them."""
    tables = []
    for reading in readings.all:
        report, name = reading.report, readings.name(reading)
        if report.position is not None:
            tables.append(FactTable(f"Order of presentation: {name}", _position_facts(report.position)))
        if report.repeats is not None:
            tables.append(FactTable(f"Repeated runs: {name}", _repeat_facts(report.repeats)))
        if report.verbosity is not None and report.verbosity.thirds:
            tables.append(FactTable(f"Long and short answers: {name}", _length_facts(report.verbosity)))
        if report.self_preference is not None and report.self_preference.own_family is not None:
            facts = _family_facts(report.self_preference, report.self_preference.own_family)
            tables.append(FactTable(f"Answers of its own model family: {name}", facts))
        if report.answer_agreement is not None:
            tables.append(
                FactTable(f"The criterion's own answers: {name}", _answer_facts(report.answer_agreement))
            )
    return tuple(tables)


def _figure_words(figure: RateFigure) -> str:
    return rate_text(figure.x, figure.n, lower=figure.lower, upper=figure.upper).text


def _position_facts(position: PositionFigure) -> tuple[Fact, ...]:
    cells, effect = position.cells, position.effect
    places = f"{whole(cells.get('FF', 0))} first, {whole(cells.get('SS', 0))} second"
    return (
        Fact("Same content in both orders", _figure_words(position.consistency)),
        Fact("Same place in both orders", _figure_words(position.conflict)),
        Fact(
            "of these the first place",
            f"{_figure_words(position.first_preference)}, {p_text(position.p_value)}",
        ),
        Fact("First against second place", places),
        Fact(
            "Effect of the order", "none to measure" if effect is None else f"{fixed(effect * 100, 1)} points"
        ),
    )


def _length_facts(found: VerbosityFigure) -> tuple[Fact, ...]:
    """Odds by length at equal reference, and both error rates in each third."""
    unit = "characters" if found.measure == "characters" else "times as long"
    decimals = 0 if found.measure == "characters" else 2
    thirds = (
        Fact(
            f"{fixed(each.shortest, decimals)} to {fixed(each.longest, decimals)} {unit}",
            f"accepts {_figure_words(each.far)} of failing, does not accept "
            f"{_figure_words(each.non_acceptance_among_pass)} of good answers",
        )
        for each in found.thirds
    )
    return (Fact("Odds of acceptance at double length", _odds_words(found.odds_per_doubling)), *thirds)


def _family_facts(found: SelfPreferenceFigure, own: RateFigure) -> tuple[Fact, ...]:
    """FAR on its own family and on the others, and the odds at equal reference and length."""
    others = _figure_words(found.others) if found.others is not None else ""
    points = visible(found.undefined or "")
    if found.difference is not None:
        ends = [f"{fixed(100 * end, 1)}" for end in (found.lower, found.upper) if end is not None]
        points = f"{fixed(100 * found.difference, 1)} points [{', '.join(ends)}]"
    return (
        Fact("Failing answers of its own family accepted", _figure_words(own)),
        Fact("Failing answers of others accepted", others),
        Fact("Own family less others", points),
        Fact("Odds of acceptance for its own family, at equal length", _odds_words(found.odds)),
    )


def _odds_words(found: OddsFigure) -> str:
    """The ratio with its interval, or why there is none."""
    if found.estimate is None or found.lower is None or found.upper is None:
        return visible(found.undefined or "")
    ends = f"[{_odds(found.lower)}, {_odds(found.upper)}]"
    return f"{_odds(found.estimate)} {ends}; 1 is no lean"


def _odds(ratio: float) -> str:
    """A ratio of odds; one that no sample could tell from infinite or none is only bounded."""
    if ratio > MOST_ODDS:
        return f"over {MOST_ODDS:,}"
    return fixed(ratio, 2) if ratio >= 1 / MOST_ODDS else f"under {1 / MOST_ODDS:g}"


def _repeat_facts(repeats: RepeatsFigure) -> tuple[Fact, ...]:
    alike = round(repeats.unanimous * repeats.items)
    return (
        Fact("All runs alike", count_and_share(alike, repeats.items)),
        Fact(
            "Pairs of runs of one answer alike", f"{percent(fixed(repeats.pairwise * 100, 1))}, no interval"
        ),
        Fact("Runs that give the most frequent verdict", percent(fixed(repeats.modal * 100, 1))),
        Fact("Answers repeated", f"{whole(repeats.items)}; repeats never add to the failing answers"),
    )


def _answer_facts(found: AnswerAgreementFigure) -> tuple[Fact, ...]:
    """Agreement on levels or preferences, and every pair of answers that was met."""
    weights = "" if found.kappa_weights == "none" else f", {visible(found.kappa_weights)} weights"
    kappa = "undefined" if found.kappa_decided is None else fixed(found.kappa_decided, 2)
    columns = (*found.answers, "unknown")
    pairs = (
        Fact(f"Reference {named(answer)}, judge says", _row_words(columns, row))
        for answer, row in zip(found.answers, found.counts, strict=True)
    )
    return (
        Fact("Same answer, judge's unknowns differ", _figure_words(found.agreement)),
        Fact("Same answer, decided only", _figure_words(found.agreement_decided)),
        Fact(f"Kappa, decided only{weights}", kappa),
        *pairs,
    )


def _row_words(columns: Sequence[str], row: Sequence[int]) -> str:
    """How often the judge gave each answer, those it gave: 1: 12, 2: 3, unknown: 1."""
    met = [f"{named(column)}: {whole(n)}" for column, n in zip(columns, row, strict=False) if n]
    return ", ".join(met) or "nothing"


@dataclass(frozen=True, slots=True)
class ItemList:
    """Ids of items to be read, and what they are."""

    heading: str
    ids: tuple[str, ...]


def accepted_failures(readings: Readings) -> tuple[ItemList, ...]:
    """For each judge the failing answers that it accepted, as many as the report lists."""
    return tuple(_accepted(readings, reading) for reading in readings.all if reading.report.accepted_failures)


def _accepted(readings: Readings, reading: Reading) -> ItemList:
    ids, total = reading.report.accepted_failures, reading.report.table.fail.accepted
    what = "Pairs on which it took the wrong side" if reading.pairs else "Failing answers that it accepted"
    whose = "" if readings.only else f"{readings.name(reading)}: "
    some = f"the first {whole(len(ids))} of {whole(total)}" if len(ids) < total else whole(total)
    return ItemList(f"{whose}{what} ({some})", tuple(named(one) for one in ids))


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence, and whose it is where it is not everybody's."""

    whose: str
    text: str


def claims(readings: Readings, kind: str) -> tuple[Claim, ...]:
    """What was not assessed, or is not established, each once, with the judges that it is said of."""
    said: dict[str, list[str]] = {}
    for reading in readings.all:
        for text in _claim_texts(reading, kind):
            said.setdefault(text, []).append(readings.name(reading))
    everybody = len(readings.all)
    return tuple(
        Claim("" if len(names) == everybody else ", ".join(names), text) for text, names in said.items()
    )


def _claim_texts(reading: Reading, kind: str) -> list[str]:
    if kind == "not_established":
        return [visible(claim) for claim in reading.report.not_established]
    gaps = reading.report.not_assessed
    return [f"{capital(name_words(gap.name))}: {visible(gap.reason)}." for gap in gaps]
