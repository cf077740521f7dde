"""How a table is to be read: what the user said about columns, words, repeats and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from calibration.interchange.words import WordMap
from calibration.labels import LabelSource
from rubrics.verdict import UnknownReason

NO_CLUSTER = "none"


class OnRepeat(StrEnum):
    """What happens where two rows say different things of one case."""

    REFUSE = "refuse"
    """The file is refused, with both lines."""
    LAST = "last"
    """The later row holds."""
    UNRESOLVED = "unresolved"
    """Nobody is believed: the reference stays unresolved, the verdict is inconsistent."""


class Positions(StrEnum):
    """What A and B of an imported verdict name."""

    SOURCE = "source"
    """The item's output_a and output_b."""
    DISPLAYED = "displayed"
    """The first and second that the judge was shown: of order "ba" the other way round."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Everything that a person may say about a table; the defaults read the contract's own form."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Part -> column; an empty column says that none plays the part."""
    judge_columns: tuple[str, ...] = ()
    """Two or more columns that each hold one judge's verdicts, the judge called by the column."""
    maps: tuple[WordMap, ...] = ()
    null_as: UnknownReason = UnknownReason.MISSING
    """What an empty verdict without a reason is: missing, abstained or invalid."""
    slices: tuple[str, ...] = ()
    """Columns that are slices, besides those named `slice_*`."""
    cluster: str | None = None
    """Column whose value items share that are not independent; None is `group`, "none" nothing."""
    on_repeat: OnRepeat = OnRepeat.REFUSE
    skip_bad: bool = False
    """Read the rest of a file that holds bad lines."""
    sources: frozenset[LabelSource] | None = None
    """Whose labels are the reference; None is people's, and any other is refused."""
    delimiter: str | None = None
