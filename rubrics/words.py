"""Word-level difference of two texts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

# A number with its decimals and separators is one word, so 12.5 to 12.9 shows as another number.
_WORD = re.compile(r"\s+|\w+(?:[.,:'’-]\w+)*%?|[^\w\s]")
MAX_PAIRS = 60_000
"""Pairs of equal words, one of each text, up to which texts are aligned; 2,000 words of prose have fewer."""


class Edit(StrEnum):
    """What happened to a run of words."""

    KEPT = "kept"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring words with one fate; white space belongs to the run that it stands in."""

    edit: Edit
    text: str


def word_diff(before: str, after: str) -> tuple[Run, ...]:
    """The runs of words that lead from one text to the other, removed before added.

    The kept and removed runs joined give `before`; the kept and added runs joined give `after`.

    >>> [f"{run.edit}:{run.text}" for run in word_diff("within 30 days", "within 14 days")]
    ['kept:within ', 'removed:30', 'added:14', 'kept: days']
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    runs: list[Run] = []
    for tag, i, j, k, m in _opcodes(old, new):
        if tag == "equal":
            runs.append(Run(Edit.KEPT, "".join(old[i:j])))
            continue
        runs += [Run(Edit.REMOVED, "".join(old[i:j]))] if i < j else []
        runs += [Run(Edit.ADDED, "".join(new[k:m]))] if k < m else []
    return tuple(runs)


def _opcodes(old: list[str], new: list[str]) -> list[tuple[str, int, int, int, int]]:
    counts = Counter(new)
    if sum(counts[word] for word in old if not word.isspace()) > MAX_PAIRS:
        # Few words repeated very often: aligning them would take minutes and tell nothing.
        return (
            [("replace", 0, len(old), 0, len(new))] if old != new else [("equal", 0, len(old), 0, len(new))]
        )
    return list(SequenceMatcher(str.isspace, old, new, autojunk=False).get_opcodes())


def marked(runs: tuple[Run, ...]) -> str:
    """The runs as one line of plain text: [-removed-] and {+added+}, as word diffs are commonly written."""
    marks = {Edit.KEPT: "{}", Edit.REMOVED: "[-{}-]", Edit.ADDED: "{{+{}+}}"}
    return "".join(marks[run.edit].format(run.text) for run in runs)
