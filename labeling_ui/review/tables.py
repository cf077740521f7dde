"""The tables under the picture of judges: verdicts with unknowns, policy items, kappa, slices, raters."""

from __future__ import annotations

from collections.abc import Sequence

from calibration.rendering import background, reasons, tables
from calibration.rendering.numbers import rate_text
from calibration.rendering.page import Fact
from calibration.rendering.reading import Reading, Readings
from calibration.rendering.text import named
from calibration.rendering.vocabulary import COLUMNS
from labeling_ui.components import Markup, untrusted
from labeling_ui.review.pages import heading
from labeling_ui.review.pictures import figures, mark, slice_table

_TABLE = Markup(
    '<div class="vd-scroll" tabindex="0"><table class="vd-pt-table" aria-label="{}">{}'
    "<tbody>{}</tbody></table></div>"
)
_HEAD = Markup('<th scope="col">{}</th>')
_NUMBER_HEAD = Markup('<th scope="col" class="vd-num">{}</th>')


def grid(head: Sequence[str | Markup], rows: Sequence[Markup], *, label: str) -> Markup:
    """A table of rows that are made already; words of the head are escaped here."""
    cells = Markup("").join(_HEAD.format(_safe(word)) for word in head)
    top = Markup("<thead><tr>{}</tr></thead>").format(cells)
    return _TABLE.format(label, top, Markup("").join(rows))


def row(name: str | Markup, *cells: str | Markup) -> Markup:
    """A row: its name, then its cells; counts x/n stand out, text is escaped."""
    made = Markup("").join(
        Markup("<td>{}</td>").format(cell if isinstance(cell, Markup) else figures(cell)) for cell in cells
    )
    return Markup('<tr><th scope="row" dir="auto">{}</th>{}</tr>').format(_safe(name), made)


def _safe(word: str | Markup) -> Markup:
    return word if isinstance(word, Markup) else untrusted(word)


def under_the_picture(readings: Readings) -> Markup:
    """Every table about the judges that are shown."""
    parts = (
        _verdicts(readings),
        _policies(readings),
        _rates(readings),
        _kappas(readings),
        _slices(readings),
        _background(readings),
        _open_ends(readings),
    )
    return Markup("").join(parts)


def three_columns(readings: Readings) -> Markup:
    """What bound the outcomes, what would change them, what they do not say."""
    said = reasons.reasons(readings)
    columns = (
        ("What bound it", said.bound),
        ("What would change it", said.change),
        ("What it does not say", said.silent),
    )
    made = Markup("").join(
        Markup("<div><h2>{}</h2>{}</div>").format(
            title, Markup("").join(Markup("<p>{}</p>").format(figures(text)) for text in texts)
        )
        for title, texts in columns
    )
    return Markup('<div class="vd-cols">{}</div>').format(made)


def _verdicts(readings: Readings) -> Markup:
    groups = Markup(
        '<tr><td></td><td></td><td></td><td></td><th scope="colgroup" colspan="3" class="vd-grp">final, '
        'counts as not accepted</th><th scope="colgroup" colspan="3" class="vd-grp">open</th><td></td></tr>'
    )
    names = Markup("").join(_NUMBER_HEAD.format(column.words) for column in COLUMNS)
    top = Markup(
        '<thead>{}<tr><th scope="col">Judge</th><th scope="col">Reference</th>{}'
        '<th scope="col" class="vd-num">Total</th></tr></thead>'
    ).format(groups, names)
    rows = Markup("").join(
        _verdict_row(block.judge if place == 0 else None, line)
        for block in tables.verdict_blocks(readings)
        for place, line in enumerate(block.lines)
    )
    head = heading(
        "Every verdict, against the reference",
        under="Nothing leaves a denominator. The boxed cell divided by its row total is the "
        "false-acceptance rate.",
    )
    return head + _TABLE.format("Every verdict", top, rows)


def _verdict_row(judge: tables.Cell | None, line: tables.Line) -> Markup:
    name = Markup("")
    if judge is not None:
        name = Markup('<div class="vd-jn">{}<b dir="auto">{}</b></div>').format(
            mark(judge.mark), untrusted(judge.text)
        )
    cells = Markup("").join(
        Markup('<td class="vd-num {}"><span>{}</span></td>').format(_looks(cell.look), cell.text)
        for cell in line.cells
    )
    made = Markup('<tr><th scope="row">{}</th><td class="vd-muted">{}</td>{}</tr>')
    return made.format(name, line.head, cells)


def _looks(look: str) -> str:
    return " ".join(f"vd-{word}" for word in look.split())


def _policies(readings: Readings) -> Markup:
    made = [_side_by_side(table, first="Item", second="Asked") for table in tables.policy_tables(readings)]
    if not made:
        return Markup("")
    head = heading(
        "Policy items",
        under="Every item must hold. A mark shows the gate and whatever decides or warns.",
    )
    return head + Markup("").join(made)


def _rates(readings: Readings) -> Markup:
    head = heading(
        "Every rate, with its denominator",
        under="x/n first. FAR is also shown with everything open resolved each way.",
    )
    made = (_side_by_side(t, first="Rate", second="Counted / among") for t in tables.rate_tables(readings))
    return head + Markup("").join(made)


def _side_by_side(table: tables.Table, *, first: str, second: str) -> Markup:
    judges = [
        mark(judge.mark) + Markup(" <span>{}</span>").format(untrusted(judge.text)) for judge in table.judges
    ]
    rows = [
        row(line.head, Markup('<span class="vd-muted">{}</span>').format(line.about), *map(_cell, line.cells))
        for line in table.lines
    ]
    return grid((first, second, *judges), rows, label=first)


def _cell(cell: tables.Cell) -> Markup:
    note = Markup('<span class="vd-sub">{}</span>').format(figures(cell.note)) if cell.note else Markup("")
    kind = "vd-muted" if cell.look == "muted" else ""
    return mark(cell.mark) + Markup('<span class="{}">{}</span>').format(kind, figures(cell.text)) + note


def _kappas(readings: Readings) -> Markup:
    head = ("Judge", "Kappa [95 %]", "Agree", "Chance", "Largest", "Decided only", "Accepts", "Passes")
    rows = [
        row(line.head, *map(_cell, line.cells))
        for table in tables.kappa_tables(readings)
        for line in table.lines
    ]
    about = "To be read with both margins, in the last two columns: what the judge accepts, what people pass."
    return heading("Agreement beyond chance", under=about) + grid(head, rows, label="Kappa")


def _slices(readings: Readings) -> Markup:
    found = background.slices(readings)
    if found is None:
        return Markup("")
    head = heading(
        "Slices",
        under="Smaller groups, wider intervals. A slice breaks a limit only when all of it lies beyond.",
    )
    return head + slice_table(found, rate_title=readings.rate_title)


def _background(readings: Readings) -> Markup:
    """Raters, position, repeats, failure modes: two beside each other."""
    found = (*background.rater_tables(readings), *background.measure_tables(readings))
    modes = _modes(readings)
    if len(found) == 1 and not modes:
        found = background.halves(found[0])
    shown = [(table.heading, table.facts) for table in found] + modes
    if not shown:
        return Markup("")
    blocks = Markup("").join(
        Markup('<div>{}<dl class="vd-facts">{}</dl></div>').format(
            heading(title), Markup("").join(map(_fact, facts))
        )
        for title, facts in shown
    )
    return Markup('<div class="vd-cols vd-two vd-plainly">{}</div>').format(blocks)


def _fact(fact: Fact) -> Markup:
    return Markup("<dt>{}</dt><dd>{}</dd>").format(figures(fact.term), figures(fact.value))


def _modes(readings: Readings) -> list[tuple[str, tuple[Fact, ...]]]:
    """For each judge and failure mode how many of its failures were accepted."""
    return [
        (f"Failures accepted, by failure mode: {readings.name(reading)}", _mode_facts(reading))
        for reading in readings.all
        if reading.report.failure_modes
    ]


def _mode_facts(reading: Reading) -> tuple[Fact, ...]:
    return tuple(
        Fact(
            named(figure.group),
            rate_text(figure.far.x, figure.far.n, lower=figure.far.lower, upper=figure.far.upper).text,
        )
        for figure in reading.report.failure_modes
    )


def _open_ends(readings: Readings) -> Markup:
    columns = (
        ("Not established by this evidence", background.claims(readings, "not_established")),
        ("Not assessed", background.claims(readings, "not_assessed")),
    )
    made = Markup("").join(
        Markup('<div><h2>{}</h2><ul class="vd-list">{}</ul></div>').format(
            title, Markup("").join(_claim(claim) for claim in claims)
        )
        for title, claims in columns
    )
    return Markup('<div class="vd-cols vd-two">{}</div>').format(made)


def _claim(claim: background.Claim) -> Markup:
    whose = f"{claim.whose}: " if claim.whose else ""
    return Markup("<li>{}</li>").format(figures(whose + claim.text))
