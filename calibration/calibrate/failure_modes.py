"""How many items of a set are known for each failure mode, against the minimum that was asked for.

Before anybody labelled, a mode is what the item's tag `failure_mode` says (an error analysis, a report, a
planted fault); afterwards what raters named. A gate on the whole says little of a mode that the set hardly
holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlmodel import Session

from calibration.store.assessments import iter_labels, rubrics_of_labels
from calibration.store.items import Scope, iter_items
from rubrics.errors import DeclarationError

TAG: Final = "failure_mode"
"""The tag of an item that names the modes expected of it, with commas between them."""


@dataclass(frozen=True, slots=True)
class ModeCount:
    """The items of one failure mode."""

    mode: str
    items: int
    """Known for the mode, by tag or by a rater's label."""
    needed: int
    """0 where nothing was asked for."""

    @property
    def short(self) -> int:
        """Items that are missing; 0 where there are enough."""
        return max(0, self.needed - self.items)


def mode_counts(*, session: Session, set_digest: str, needed: Mapping[str, int]) -> tuple[ModeCount, ...]:
    """Every failure mode that is known in the set or asked for, by name.

    Args:
        session: a session.
        set_digest: of the recorded set.
        needed: items asked for by mode.

    Raises:
        DeclarationError: less than one item is asked for.
    """
    wrong = [mode for mode, number in needed.items() if number < 1]
    if wrong:
        raise DeclarationError(
            f"{needed[wrong[0]]} items are asked for of failure mode {wrong[0]!r}: give at least 1, or leave"
            " the mode out"
        )
    scope = Scope(set_digest=set_digest)
    items: dict[str, set[str]] = {mode: set() for mode in needed}
    for item in iter_items(session=session, scope=scope):
        for mode in (word.strip() for word in item.tags.get(TAG, "").split(",")):
            if mode:
                items.setdefault(mode, set()).add(item.item_id)
    for rubric in rubrics_of_labels(session=session, scope=scope):
        for label in iter_labels(session=session, scope=scope, rubric_digest=rubric):
            if label.failure_mode:
                items.setdefault(label.failure_mode, set()).add(label.item_id)
    return tuple(ModeCount(mode, len(found), needed.get(mode, 0)) for mode, found in sorted(items.items()))
