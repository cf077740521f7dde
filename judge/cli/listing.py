"""Counts in groups, so that a list fits into eighty columns: a heading, and a small table under it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple


class Listed(NamedTuple):
    """One row, and the heading that it stands under."""

    heading: str
    row: tuple[str, ...]


def print_groups(listed: Sequence[Listed], head: Sequence[str], *, empty: str) -> None:
    """Write a table for each run of rows with one heading, or the sentence where there is nothing."""
    from judge.cli.output import print_lines, print_rows

    if not listed:
        print_lines([empty])
    for number, (heading, group) in enumerate(groupby(listed, key=itemgetter(0))):
        print_lines([*([""] if number else []), heading])
        print_rows(head, [each.row for each in group], empty="")


def parts(counts: dict[str, int]) -> str:
    """The counts that are not zero, with their words."""
    return ", ".join(f"{n:,} {words}" for words, n in counts.items() if n)
