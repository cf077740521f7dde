"""Where in a row each part, slice and cluster stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calibration.interchange.columns import SLICE_PREFIX, Part, Plan, listed
from calibration.interchange.grid import Grid
from calibration.interchange.lines import shown
from calibration.interchange.options import NO_CLUSTER, ReadOptions
from rubrics.errors import DeclarationError


@dataclass(frozen=True, slots=True)
class Layout:
    """Places in a row; an absent part stands at the row's extra empty cell."""

    at: Mapping[Part, int]
    present: frozenset[Part]
    slices: tuple[tuple[str, int], ...]
    """(slice name, place)."""
    cluster: int | None
    """Place of the value that items share; None where every item stands alone."""
    tags: tuple[str, ...]
    """Columns that play no part."""


def lay_out(grid: Grid, plan: Plan, options: ReadOptions) -> Layout:
    """The places of a table's parts.

    Raises:
        DeclarationError: a slice or cluster column does not exist, or two slices have one name.
    """
    places = {column: place for place, column in enumerate(grid.columns)}
    for option, column in (*(("--slice", name) for name in options.slices), ("--cluster", options.cluster)):
        if column is not None and column not in places and (option, column) != ("--cluster", NO_CLUSTER):
            raise DeclarationError(
                f"{option} {column}: {grid.name} has no column {shown(column)}; it has {listed(grid.columns)}"
            )
    absent = len(grid.columns)
    at = {part: places[plan.columns[part]] if part in plan.columns else absent for part in Part}
    slices = _slices(places, plan, options)
    cluster = plan.columns.get(Part.GROUP) if options.cluster is None else options.cluster
    used = {*plan.columns.values(), *(grid.columns[place] for _, place in slices), cluster}
    return Layout(
        at=at,
        present=frozenset(plan.columns),
        slices=slices,
        cluster=None if cluster is None or options.cluster == NO_CLUSTER else places[cluster],
        tags=tuple(column for column in grid.columns if column not in used),
    )


def _slices(places: Mapping[str, int], plan: Plan, options: ReadOptions) -> tuple[tuple[str, int], ...]:
    """(name, place) of every slice; a `slice_` column is called by what follows."""
    parts = set(plan.columns.values())
    prefixed = [c for c in places if c.startswith(SLICE_PREFIX) and c != SLICE_PREFIX and c not in parts]
    chosen = dict.fromkeys([*prefixed, *options.slices])
    named: dict[str, str] = {}
    for column in chosen:
        name = column.removeprefix(SLICE_PREFIX) or column
        if name in named:
            raise DeclarationError(
                f"the columns {named[name]!r} and {column!r} are both the slice {name!r}: "
                f"leave out --slice {name}"
            )
        named[name] = column
    return tuple((name, places[column]) for name, column in named.items())
