"""The one sentence with which a file is refused, and the command that would take it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from calibration.interchange.doctor import NeedsOptions
from calibration.interchange.grid import Rejected
from calibration.interchange.lines import shown
from calibration.interchange.native.answers import BadWord, proposed
from calibration.interchange.native.fields import BadField
from rubrics.errors import TableError

_LISTED = 10
_KEPT = 10_000


class NotJoined(BadField):
    """An id that the dataset does not have."""

    def __init__(self, item_id: str, dataset: str) -> None:
        super().__init__(f"dataset {dataset!r} has no item {shown(item_id)}", "item_id")
        self.item_id = item_id


@dataclass(slots=True)
class Problems:
    """The records that cannot be taken, in their order."""

    keep_all: bool
    """False keeps the first ten thousand and counts the rest."""
    count: int = 0
    kept: list[tuple[Rejected, BadField | None]] = field(default_factory=list)

    def add(self, told: Rejected, cause: BadField | None = None) -> None:
        """Counts one, with what it was refused for."""
        self.count += 1
        if self.keep_all or len(self.kept) < _KEPT:
            self.kept.append((told, cause))


def refusal(name: str, kind: str, dataset: str, found: Problems) -> TableError:
    """The one sentence with which a file is refused: unknown words, or ids that do not join, all together."""
    problems = found.kept
    first, cause = problems[0]
    if isinstance(cause, BadWord):
        return _unknown_words(name, [bad for _, bad in problems if isinstance(bad, BadWord)], problems)
    if isinstance(cause, NotJoined):
        return _not_joined(name, kind, dataset, problems)
    others = found.count - 1
    more = f" ({others} more {_lines(others)} cannot be taken; --skip-bad imports the rest)" if others else ""
    return TableError(f"{name}, line {first.line}: {first.message}{more}", line=first.line, field=first.field)


def _unknown_words(
    name: str, bad: Sequence[BadWord], problems: Sequence[tuple[Rejected, BadField | None]]
) -> NeedsOptions:
    counts = Counter(each.word for each in bad)
    told = ", ".join(f"{shown(word)} ({count})" for word, count in counts.most_common(_LISTED))
    more = f" and {len(counts) - _LISTED} more words" if len(counts) > _LISTED else ""
    first = problems[0][0]
    return NeedsOptions(
        f"{name}, line {first.line}: {first.message}; words that are not read: {told}{more}: "
        "say what each means by --map WORD=MEANING",
        options=proposed(counts, bad[0].side) if len(counts) <= _LISTED else (),
        line=first.line,
        field=first.field,
    )


def _not_joined(
    name: str, kind: str, dataset: str, problems: Sequence[tuple[Rejected, BadField | None]]
) -> TableError:
    lines: dict[str, int] = {}
    for told, bad in problems:
        if isinstance(bad, NotJoined):
            lines.setdefault(bad.item_id, told.line)
    ids = [f"{shown(item_id)} (line {line})" for item_id, line in lines.items()]
    more = f" and {len(ids) - _LISTED} more" if len(ids) > _LISTED else ""
    count = sum(isinstance(bad, NotJoined) for _, bad in problems)
    first = problems[0][0]
    return TableError(
        f"{name}: {count} {_lines(count)} of {kind} name items that dataset {dataset!r} does not have: "
        f"{', '.join(ids[:_LISTED])}{more}; ids are joined exactly: import the items first, correct the ids, "
        "or import the rest by --skip-bad",
        line=first.line,
        field="item_id",
    )


def _lines(number: int) -> str:
    return "line" if number == 1 else "lines"
