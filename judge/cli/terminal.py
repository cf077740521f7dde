"""A report on a terminal: counts in words first, a strip against the limit, what decides, and what is next.

Readable without colour. A pipe gets each paragraph on one line, a terminal gets it wrapped at words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.text import Text

from calibration.evidence import (
    AdmissionOutcome,
    BaselineFigure,
    Comparison,
    Examination,
    ItemStatus,
    PolicyItem,
)
from calibration.rendering.beyond import beyond_sentences
from calibration.rendering.characters import PLAIN, SIGNS, Glyphs, axis, draw
from calibration.rendering.explain import explanation
from calibration.rendering.items import (
    coefficient_words,
    detail_words,
    found_text,
    informative_words,
    kappa_words,
    limit_words,
)
from calibration.rendering.next_step import next_step
from calibration.rendering.numbers import NNBSP, rate_text
from calibration.rendering.page import rank_note, report_warnings
from calibration.rendering.reading import Reading, Readings
from calibration.rendering.reasons import bound_by
from calibration.rendering.sentences import headline
from calibration.rendering.strip import Scale, Strip, judge_strip, rate_strip, scale_for
from calibration.rendering.text import counted, listed, named, visible
from calibration.rendering.vocabulary import OUTCOME_WORDS, UNASKED, name_words
from rubrics.digest import short

_NARROWEST, _WIDEST = 60, 120
_NAME_LEAST, _STRIP_LEAST = 12, 24
_GAP = "  "


_STYLES = {
    AdmissionOutcome.ADMIT: "bold green",
    AdmissionOutcome.INSUFFICIENT: "bold yellow",
    AdmissionOutcome.REJECT: "bold red",
}
_TOPLAIN = str.maketrans({"·": "-", "≤": "<=", "≥": ">=", "–": "-", "−": "-", "‹": "<", "›": ">", "…": "~"})


def print_report(console: Console, shown: Examination | Comparison, *, explain: bool) -> None:
    """Write the examination, or several side by side, to the console.

    The first line is the counts in words, the last one `Next:` and what to do.
    """
    _Page.on(console, Readings.of(shown)).write(explain=explain)


def print_figures(console: Console, shown: Examination | Comparison) -> None:
    """Write the counts in words, what a reader must know, and the judges against the limit; nothing after."""
    page = _Page.on(console, Readings.of(shown))
    page.paragraph(headline(page.readings.comparison))
    page.warnings()
    for group in page.readings.groups:
        page.blank()
        page.group(group)


@dataclass(frozen=True, slots=True)
class _Page:
    """One report being written to one console."""

    console: Console
    readings: Readings
    width: int
    glyphs: Glyphs

    @classmethod
    def on(cls, console: Console, readings: Readings) -> _Page:
        width = max(_NARROWEST, min(_WIDEST, console.width))
        return cls(console, readings, width, PLAIN if console.options.ascii_only else SIGNS)

    def write(self, *, explain: bool) -> None:
        """Everything, top to bottom."""
        self.paragraph(headline(self.readings.comparison))
        if self.readings.constructed:
            self.paragraph("Constructed: answers and labels were written for demonstration.", style="italic")
        self.warnings()
        for group in self.readings.groups:
            self.blank()
            self.group(group)
        self.beyond()
        self.deciding()
        self.gaps(explain=explain)
        if explain:
            for text in explanation(self.readings):
                self.blank()
                self.paragraph(text, bold=text.index(":") + 1)
        self.blank()
        self.identity()
        self.paragraph(next_step(self.readings.comparison), style="bold")

    def warnings(self) -> None:
        """What a reader must know of how the cases were read."""
        for text in report_warnings(self.readings):
            self.paragraph(text, lead=f"{self.glyphs.warning} ")

    def group(self, group: Sequence[Reading]) -> None:
        """The judges of one criterion: the strip against the limit, then cost and agreement."""
        if len(self.readings.groups) > 1:
            self.paragraph(f"Criterion {group[0].criterion}", style="bold")
        if len(group) == 1:
            self.outcome(group[0])
            self.blank()
        scale = scale_for(group)
        rows = [self.judge_row(reading, scale) for reading in group]
        rows += [self.baseline_row(baseline, scale) for baseline in group[0].report.baselines]
        self.strips(rows, scale)
        self.costs(rows)
        ranked = rank_note(self.readings, group, most=2)
        if ranked:
            self.blank()
            self.paragraph(f"Rank, 1 the lowest: {ranked}")

    def beyond(self) -> None:
        """What goes beyond the examined set, where it was asked for."""
        for place, text in enumerate(beyond_sentences(self.readings)):
            if not place:
                self.blank()
            self.paragraph(text)

    def outcome(self, reading: Reading) -> None:
        """The mark and the word, who was examined, and the sentences that bound it."""
        mark = self.mark(reading.outcome)
        word = OUTCOME_WORDS[reading.outcome] if reading.outcome else UNASKED
        stamp = " (constructed)" if reading.report.constructed else ""
        self.paragraph(f"{mark} {word}{stamp}: {reading.judge}".strip(), style=_style(reading.outcome))
        for text in bound_by(reading):
            self.paragraph(text, lead=_GAP)

    def mark(self, outcome: AdmissionOutcome | None) -> str:
        """The sign of an outcome; a blank where nothing was decided."""
        signs = {
            AdmissionOutcome.ADMIT: self.glyphs.admit,
            AdmissionOutcome.INSUFFICIENT: self.glyphs.insufficient,
            AdmissionOutcome.REJECT: self.glyphs.reject,
        }
        return signs[outcome] if outcome else ""

    def judge_row(self, reading: Reading, scale: Scale) -> _Row:
        """A judge's row of both tables."""
        report = reading.report
        return _Row(
            mark=self.mark(reading.outcome),
            style=_style(reading.outcome),
            name=reading.judge,
            far=(reading.gated.count, f"{reading.gated.estimate} {reading.gated.interval}".strip()),
            strip=judge_strip(reading, scale),
            good=reading.beside.text,
            kappa=kappa_words(report),
        )

    def baseline_row(self, baseline: BaselineFigure, scale: Scale) -> _Row:
        """A baseline's row of both tables: a dash for a mark, hollow, dim."""
        far, good = baseline.far, baseline.non_acceptance_among_pass
        words = rate_text(far.x, far.n, lower=far.lower, upper=far.upper, limit=scale.limit)
        return _Row(
            mark=self.glyphs.baseline,
            style="",
            name=named(baseline.name),
            far=(words.count, f"{words.estimate} {words.interval}".strip()),
            strip=rate_strip(far, scale, words=words.text, hollow=True),
            good=rate_text(good.x, good.n, lower=good.lower, upper=good.upper).text,
            kappa=coefficient_words(baseline.kappa),
        )

    def strips(self, rows: Sequence[_Row], scale: Scale) -> None:
        """Failing answers accepted: count, rate and interval, and the interval drawn against the limit."""
        if not any(row.strip for row in rows):
            return
        title = self.readings.rate_title
        counts = max(cell_len(row.far[0]) for row in rows)
        rates = max(cell_len(row.far[1]) for row in rows)
        names = self.name_width(rows, beside=2 + counts + rates + 3 * len(_GAP) + _STRIP_LEAST)
        names = max(names, len(title) - counts - rates - 2 * len(_GAP))
        before = 2 + names + counts + rates + 3 * len(_GAP)
        width = max(_STRIP_LEAST, self.width - before)
        self.line(Text.assemble((set_cell_size(title, before), "bold"), axis(scale, width)))
        for row in rows:
            cells = (_name(row, names), row.far[0].rjust(counts), set_cell_size(row.far[1], rates))
            drawn = draw(row.strip, scale, width, self.glyphs) if row.strip else "no failing answer"
            self.row(row, (*cells, drawn))
        if len(self.readings.all) > 1:
            self.line(Text(self.legend(rows), style="dim"))
        self.blank()

    def costs(self, rows: Sequence[_Row]) -> None:
        """Good answers not accepted, and kappa."""
        title = self.readings.beside_title
        goods = max(len(title), *(cell_len(row.good) for row in rows))
        kappas = max(cell_len(row.kappa) for row in rows)
        names = self.name_width(rows, beside=2 + goods + kappas + 2 * len(_GAP))
        head = _GAP.join((" " * (names + 2), set_cell_size(title, goods), "Kappa"))
        self.line(Text(head, style="bold"))
        for row in rows:
            cells = (_name(row, names), set_cell_size(row.good, goods), row.kappa)
            self.row(row, cells)

    def row(self, row: _Row, cells: Sequence[str]) -> None:
        """One row: the mark in its colour, the name bold; a baseline all dim."""
        text = Text(_GAP.join(cells))
        if row.style:
            text.stylize(row.style, 0, 1)
            text.stylize("bold", 2, len(cells[0]))
        self.line(text, style="" if row.style else "dim")

    def legend(self, rows: Sequence[_Row]) -> str:
        """What the marks in front of several judges mean."""
        words = {self.mark(outcome): word for outcome, word in OUTCOME_WORDS.items()}
        words[self.glyphs.baseline] = "baseline"
        met = dict.fromkeys(row.mark for row in rows if row.mark in words)
        return "   ".join(f"{mark} {words[mark]}" for mark in met)

    def name_width(self, rows: Sequence[_Row], *, beside: int) -> int:
        """Cells for the names: what they need, within what the other columns leave."""
        return min(max(cell_len(row.name) for row in rows), max(_NAME_LEAST, self.width - beside))

    def deciding(self) -> None:
        """What decided under which policy, what warns, and how many items hold beside."""
        decided = [reading for reading in self.readings.all if reading.decision]
        if not decided:
            return
        self.blank()
        policies = listed(tuple(dict.fromkeys(visible(r.decision.policy) for r in decided if r.decision)))
        only = self.readings.only
        self.paragraph(f"Policy {policies}{_tally(only) if only else ''}")
        for reading in decided:
            who = "" if only else f"{self.readings.name(reading)}: "
            for item in _shown_items(reading):
                self.paragraph(who + _item_words(item, reading), lead=f"{self.status_mark(item.status)} ")

    def status_mark(self, status: ItemStatus) -> str:
        """The sign of a policy item."""
        return {
            ItemStatus.PASS: self.glyphs.admit,
            ItemStatus.FAIL: self.glyphs.reject,
            ItemStatus.INSUFFICIENT: self.glyphs.insufficient,
            ItemStatus.WARNING: self.glyphs.warning,
        }[status]

    def gaps(self, *, explain: bool) -> None:
        """What was not assessed, by name; the reasons come with --explain."""
        names = dict.fromkeys(name_words(g.name) for r in self.readings.all for g in r.report.not_assessed)
        if names and not explain:
            self.blank()
            self.paragraph(f"Not assessed: {listed(tuple(names))} (reasons: --explain).")

    def identity(self) -> None:
        """Digests by which the report and its inputs are found again."""
        if self.readings.only is None:
            return
        report = self.readings.only.report
        self.line(Text(f"report {short(report.report)} · inputs {short(report.inputs)}", style="dim"))

    def blank(self) -> None:
        """An empty line."""
        self.console.print()

    def paragraph(self, text: str, *, lead: str = "", style: str = "", bold: int = 0) -> None:
        """Text that may be long: wrapped at words on a terminal, one line in a pipe; `bold` letters lead."""
        width = self.width - cell_len(lead)
        lines = list(wrapped(text, width)) if self.console.is_terminal else [text]
        for number, line in enumerate(lines):
            shown = Text((lead if number == 0 else " " * cell_len(lead)) + line)
            shown.stylize("bold" if bold and number == 0 else "", 0, bold)
            self.line(shown, style=style)

    def line(self, text: Text, *, style: str = "") -> None:
        """One line as it is: never wrapped, never cut, no trailing blanks."""
        plain = text.plain.rstrip().replace(NNBSP, " ")
        if self.glyphs is PLAIN:
            plain = plain.translate(_TOPLAIN)
            encoding = self.console.encoding
            plain = plain.encode(encoding, "backslashreplace").decode(encoding)
            text = Text(plain)
        else:
            text = Text(plain, spans=text.spans)
        self.console.print(text, style=style or None, soft_wrap=True, highlight=False, markup=False)


@dataclass(frozen=True, slots=True)
class _Row:
    """A judge or baseline in words."""

    mark: str
    style: str
    name: str
    far: tuple[str, str]
    strip: Strip | None
    good: str
    kappa: str


def _name(row: _Row, width: int) -> str:
    """Mark and name in so many cells; a name too long loses its middle, since names differ at their ends."""
    name = row.name
    if cell_len(name) > width:
        tail = name
        while cell_len(tail) > width // 2:
            tail = tail[1:]
        name = set_cell_size(name, width - cell_len(tail) - 1) + "…" + tail
    return f"{row.mark:1} {set_cell_size(name, width)}"


def _style(outcome: AdmissionOutcome | None) -> str:
    return _STYLES[outcome] if outcome else "bold"


def _shown_items(reading: Reading) -> list[PolicyItem]:
    """The items that made the outcome and every warning; the gate itself stands in the strip."""
    items = reading.decision.items if reading.decision else ()
    warnings = [item for item in items if item.status is ItemStatus.WARNING]
    return [item for item in (*reading.deciding, *warnings) if item is not reading.far_item]


def _item_words(item: PolicyItem, reading: Reading) -> str:
    if item.name == "informative":
        return informative_words(item, reading.report)
    found = found_text(item, reading.report)
    detail = f" ({detail_words(item)})" if item.detail else ""
    said = f": {found}{detail}" if found else detail
    return f"{name_words(item.name)}{said}; asked: {limit_words(item)}"


def _tally(reading: Reading) -> str:
    """How many of the policy's items hold, and which one decided where one does not."""
    items = reading.decision.items if reading.decision else ()
    holding = sum(item.status is ItemStatus.PASS for item in items)
    said = f": {holding} of {counted(len(items), 'item')} {'holds' if holding == 1 else 'hold'}"
    if reading.binding is None or reading.outcome is AdmissionOutcome.ADMIT:
        return f"{said}."
    sides = reading.pairs and reading.binding.name == "far"
    return f"{said}; what decided is {name_words('wrong_side' if sides else reading.binding.name)}."


def wrapped(text: str, width: int) -> Iterator[str]:
    """The text in lines of at most so many cells, broken at spaces but not at no-break spaces."""
    line = ""
    for word in text.split(" "):
        if line and cell_len(line) + 1 + cell_len(word) > width:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
        while cell_len(line) > width:
            first, *rest = chop_cells(line, width)
            yield first
            line = "".join(rest)
    yield line
