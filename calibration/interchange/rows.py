"""One row of a table -> what it says, in the words of the labels and verdicts."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

from calibration.interchange.columns import Part
from calibration.interchange.ids import no_id
from calibration.interchange.layout import Layout
from calibration.interchange.lines import shown
from calibration.interchange.words import Cell, Side, UnmappedWords, WordBook, fold
from calibration.labels import Blindness, LabelSource
from rubrics.verdict import Outcome, Verdict

DEFAULT_CRITERION: Final = "overall"
DEFAULT_JUDGE: Final = "judge"
DEFAULT_RATER: Final = "human"
BLIND_WORDS: Final = {
    "yes": Blindness.DECLARED,  # a file can only declare it: the rating app alone enforces
    "sheet": Blindness.DECLARED,
    "declared": Blindness.DECLARED,
    "no": Blindness.NO,
    "unknown": Blindness.UNKNOWN,
    "": Blindness.UNKNOWN,
}
SOURCE_WORDS: Final = {**{source.value: source for source in LabelSource}, "": LabelSource.HUMAN}
_LABELS: Final = (
    (Part.HUMAN_LABEL, Side.HUMAN),
    (Part.JUDGE_LABEL, Side.JUDGE),
    (Part.ADJUDICATED_LABEL, Side.HUMAN),
)
T = TypeVar("T")


class BadRow(Exception):
    """A row that cannot be taken; carries the message and the field."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = str(column)


class Key(NamedTuple):
    """What one row of a table is about; the names as written, empty where the table has none."""

    item_id: str
    criterion: str
    judge: str
    rater: str


class Row(NamedTuple):
    """What one row says."""

    line: int
    key: Key
    label: Verdict | None
    """None where nobody said anything; a named rater's empty label is their cannot-decide."""
    blind: Blindness
    source: LabelSource
    outcome: Outcome | None
    """None for a row that holds a label only."""
    adjudicated: Verdict | None
    note: str


class RowReader:
    """Reads rows of one layout; counts the words that nobody explained."""

    def __init__(self, layout: Layout, book: WordBook, words: UnmappedWords) -> None:
        self._at = layout.at
        self._present = layout.present
        self._book = book
        self._words = words
        self._has_reasons = bool(layout.present & {Part.REASON, Part.DETAIL})

    def key(self, cells: list[str]) -> Key:
        """What the row is about; the id exactly as written.

        Raises:
            BadRow: no id, a word for a missing value as the id, or an empty cell in a criterion column.
        """
        at = self._at
        item_id = cells[at[Part.ID]]
        if not item_id.strip():
            raise BadRow("id is empty: every row names its item", Part.ID)
        if problem := no_id(item_id):
            raise BadRow(problem, Part.ID)
        criterion = cells[at[Part.CRITERION]].strip()
        if not criterion and Part.CRITERION in self._present:
            raise BadRow(
                "criterion is empty: name it, or say --column criterion= to read none", Part.CRITERION
            )
        return Key(
            item_id,
            criterion or DEFAULT_CRITERION,
            cells[at[Part.JUDGE]].strip(),
            cells[at[Part.RATER]].strip(),
        )

    def read(self, line: int, key: Key, cells: list[str]) -> Row:
        """What the row says.

        Raises:
            BadRow: a word that is not read, or a verdict that contradicts its reason.
        """
        at, book = self._at, self._book
        human, judge = book.human[cells[at[Part.HUMAN_LABEL]]], book.judge[cells[at[Part.JUDGE_LABEL]]]
        adjudicated = book.human[cells[at[Part.ADJUDICATED_LABEL]]]
        if Cell.UNMAPPED in (human, judge, adjudicated):
            self._refuse_words(line, cells)
        label = human if isinstance(human, Verdict) else (Verdict.UNKNOWN if key.rater else None)
        return Row(
            line,
            key,
            label,
            self._word(cells, Part.BLIND, BLIND_WORDS),
            self._word(cells, Part.SOURCE, SOURCE_WORDS),
            self._outcome(line, key, judge, cells),
            adjudicated if isinstance(adjudicated, Verdict) else None,
            cells[at[Part.NOTE]],
        )

    def _refuse_words(self, line: int, cells: list[str]) -> None:
        """Count every word of the row that nobody explained, and refuse the first."""
        cells_of = [(part, side, cells[self._at[part]]) for part, side in _LABELS]
        unread = [one for one in cells_of if not self._book.knows(one[1], fold(one[2]))]
        for _, side, cell in unread:
            self._words.add(side, cell, line)
        part, _, cell = unread[0]
        raise BadRow(f"{part} {shown(cell)} is not a label word", part)

    def _word(self, cells: list[str], part: Part, words: dict[str, T]) -> T:
        """The meaning of a cell whose words are fixed."""
        cell = cells[self._at[part]]
        meaning = words.get(cell)
        if meaning is None:
            meaning = words.get(fold(cell))
        if meaning is None:
            allowed = ", ".join(word for word in words if word)
            raise BadRow(f"{part} {shown(cell)} is none of {allowed} or empty", part)
        return meaning

    def _outcome(self, line: int, key: Key, said: Outcome | Cell, cells: list[str]) -> Outcome | None:
        """The judge's outcome; None for a row that holds a label only."""
        reason = self._reason(line, said, cells) if self._has_reasons else Cell.EMPTY
        if not key.judge and Part.JUDGE in self._present:
            if isinstance(said, Outcome) or isinstance(reason, Outcome):
                raise BadRow(
                    "judge is empty beside a verdict: name it, or say --column judge= to read none",
                    Part.JUDGE,
                )
            return None
        if isinstance(said, Outcome):
            return self._agreeing(said, reason, cells)
        return reason if isinstance(reason, Outcome) else self._book.null_as

    def _reason(self, line: int, said: Outcome | Cell, cells: list[str]) -> Outcome | Cell:
        """Why there is no verdict, from reason and detail; free text beside a verdict is a rationale."""
        cell = cells[self._at[Part.REASON]]
        reason = self._book.reason[cell]
        if reason is Cell.UNMAPPED:
            if isinstance(said, Outcome):
                return Cell.EMPTY
            self._words.add(Side.REASON, cell, line)
            raise BadRow(f"reason {shown(cell)} of a missing verdict is not a reason word", Part.REASON)
        detail = self._book.reason[cells[self._at[Part.DETAIL]]]
        if not isinstance(detail, Outcome) or detail.detail is None:
            return reason
        if isinstance(reason, Outcome) and reason.reason is not detail.reason:
            raise BadRow(f"detail {detail.detail!r} does not belong to reason {shown(cell)}", Part.DETAIL)
        return detail

    def _agreeing(self, said: Outcome, reason: Outcome | Cell, cells: list[str]) -> Outcome:
        """The outcome of a row whose verdict and reason do not contradict each other."""
        if not isinstance(reason, Outcome):
            return said
        if said.reason is reason.reason:
            return reason if reason.detail else said
        label, word = cells[self._at[Part.JUDGE_LABEL]].strip(), cells[self._at[Part.REASON]].strip()
        raise BadRow(
            f"judge_label {label!r} stands beside reason {word!r}: a judge gave a verdict or has a "
            "reason for none; empty one of the two",
            Part.REASON,
        )
