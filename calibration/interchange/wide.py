"""A wide table (one column per judge) -> the long form, one row per item and judge."""

from __future__ import annotations

from collections.abc import Sequence

from calibration.interchange.columns import Part, listed
from calibration.interchange.grid import Grid
from calibration.interchange.lines import shown
from rubrics.errors import DeclarationError


def lengthen(grid: Grid, judges: Sequence[str]) -> Grid:
    """The grid with a row for every judge column, the column's name as the judge's.

    Line numbers stay those of the file; the other columns stand in every row.

    Raises:
        DeclarationError: a judge column is not there, or the table already names its judges.
    """
    for column in judges:
        if column not in grid.columns:
            raise DeclarationError(
                f"--column judge_label={column}: {grid.name} has no column {shown(column)}; "
                f"it has {listed(grid.columns)}"
            )
    kept = [place for place, column in enumerate(grid.columns) if column not in judges]
    others = [grid.columns[place] for place in kept]
    if {Part.JUDGE.value, Part.JUDGE_LABEL.value} & set(others):
        raise DeclarationError(
            f"several judge_label columns, and {grid.name} has a column judge or judge_label of its own: "
            "name one judge_label column only, or take that column out"
        )
    places = [(judge, grid.columns.index(judge)) for judge in judges]
    long = Grid(grid.name, grid.kind, [*others, Part.JUDGE.value, Part.JUDGE_LABEL.value], grid.text)
    long.bad, long.empty_rows = grid.bad, grid.empty_rows
    for line, cells in zip(grid.lines, grid.rows, strict=True):
        shared = [cells[place] for place in kept]
        for judge, place in places:
            long.rows.append([*shared, judge, cells[place], ""])
            long.lines.append(line)
    return long
