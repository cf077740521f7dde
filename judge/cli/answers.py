"""The answer of a planning command: words first, then a small table, notes, and what to run next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer

from calibration.rendering.numbers import fixed, plain
from calibration.statistics.gate_curve import AdmissionChance


@dataclass(frozen=True, slots=True)
class Answer:
    """What a planning command found, for people and for scripts."""

    words: tuple[str, ...]
    """Sentences that answer the question."""
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    following: str
    """What to run next."""
    data: dict[str, Any]
    """The same as JSON, unrounded."""
    notes: tuple[str, ...] = ()
    """What the numbers rest on."""


def print_answer(answer: Answer, *, as_json: bool) -> None:
    """Write the answer to stdout: JSON, or words that a pipe gets one paragraph a line."""
    from judge.cli.output import console, print_json

    if as_json:
        print_json(answer.data)
        return
    shown = console()

    def write(text: str, *, wrapped: bool = False, style: str | None = None) -> None:
        plain_text = text.translate(_TO_PLAIN) if shown.options.ascii_only else text
        shown.print(plain_text, markup=False, soft_wrap=not (wrapped and shown.is_terminal), style=style)

    for text in answer.words:
        write(text, wrapped=True)
    if answer.rows:
        shown.print()
        for line in table_lines(answer.head, answer.rows):
            write(line)
    if answer.notes:
        shown.print()
    for text in answer.notes:
        write(text, wrapped=True)
    shown.print()
    write(f"Next: {answer.following}", style="bold")


_TO_PLAIN = str.maketrans({"±": "+-", "−": "-"})


def table_lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The table as lines: the first column to the left, the rest to the right; no head where it is empty.

    A row of which only the first cell says something is a heading, as long as it likes.
    """
    every = [list(head), *map(list, rows)] if any(head) else [list(row) for row in rows]
    cells = [row for row in every if any(row[1:])]
    widths = [max(len(row[column]) for row in cells) for column in range(len(every[0]))]
    for row in every:
        first = row[0].ljust(widths[0])
        rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join((first, *rest)).rstrip()


@contextmanager
def usage() -> Iterator[None]:
    """Read what a pure function refuses as a wrong command line: every number came from there."""
    try:
        yield
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def percent(rate: float, decimals: int | None = None) -> str:
    """A rate in percent as it was written, or with so many decimals."""
    return f"{plain(round(100 * rate, 10)) if decimals is None else fixed(100 * rate, decimals)} %"


def chance(probability: float) -> str:
    """A probability in percent: one decimal, two below 0.1 %; only 0 reads 0 and only 1 reads 100."""
    if probability in (0, 1):
        return percent(probability, 0)
    if probability < 5e-5:
        return "<0.01 %"
    if probability > 0.9995:
        return ">99.9 %"
    return percent(probability, 1 if probability >= 0.001 else 2)


def money(amount: float) -> str:
    """An amount in dollars: cents, a tenth of a cent where it says something, whole dollars from 100 on."""
    if amount >= 100 and abs(amount - round(amount)) < 5e-3:
        return f"${amount:,.0f}"
    text = f"{amount:,.3f}"
    return f"${text.removesuffix('0') if amount < 100 else text[:-1]}"


def chance_object(found: AdmissionChance) -> dict[str, Any]:
    """A probability as JSON, with how it was found."""
    simulated = found.simulated
    return {
        "probability": found.probability,
        "method": "simulated" if simulated else "exact",
        "lower": simulated.interval.lower if simulated else None,
        "upper": simulated.interval.upper if simulated else None,
        "replicates": simulated.n if simulated else None,
    }


def chance_text(found: AdmissionChance) -> str:
    """A probability in percent; a simulated one with its Monte Carlo error."""
    if found.simulated is None:
        return chance(found.probability)
    interval = found.simulated.interval
    half = 100 * (interval.upper - interval.lower) / 2
    return f"{chance(found.probability)} ± {half:.{1 if half >= 0.095 else 2}f}"
