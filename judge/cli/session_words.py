"""What `voirdire session` says beside its tables: disputes and who may resolve them, items that stay."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from calibration.rendering.text import counted, visible

if TYPE_CHECKING:
    from sqlmodel import Session

    from calibration.labeling.sessions import Staying
    from calibration.store.sessions import StoredSession


def beyond_told(session: Session, stored: StoredSession) -> list[str]:
    """That nobody may resolve what raters will disagree on, where that is so already."""
    from calibration.labeling.disputes import beyond_adjudicators
    from calibration.store.assignments import assignments_of
    from calibration.store.sessions import seats_of

    items = {each.item_key for each in assignments_of(session=session, key=stored.key, kind="rate")}
    people = [visible(each.rater) for each in seats_of(session=session, key=stored.key, kind="adjudicate")]
    if not people:
        return ["No adjudicator is named: what raters disagree on stays unresolved."]
    beyond = beyond_adjudicators(session=session, labeling=stored, items=items)
    if not beyond:
        return []
    return [
        f"Of {counted(beyond, 'item')} no adjudicator may resolve a disagreement: {', '.join(people)}"
        " labelled them before. Anybody who rates none of them could: name them with --adjudicator."
    ]


def disputes_told(session: Session, stored: StoredSession) -> list[str]:
    """How many disagreements are open, who could resolve those that nobody here may, and what to do next."""
    from calibration.labeling.disputes import disputes_of
    from calibration.store.rubrics import get_rubric_by_digest

    rubric = get_rubric_by_digest(session=session, digest=stored.rubric_digest)
    found = disputes_of(session=session, labeling=stored, rubric=rubric)
    lines = [f"{counted(found.open, 'disagreement')} of raters to resolve."] if found.open else []
    if found.beyond:
        why = "each adjudicator rated the item" if found.adjudicators else "the session has no adjudicator"
        lines += [
            f"{found.beyond:,} of them nobody here may resolve: {why}. Anybody but"
            f" {', '.join(map(visible, found.raters))} could: their words come in as lines of kind"
            " adjudication.",
            f"Next: voirdire labels import FILE --dataset {shlex.quote(visible(stored.dataset))}",
        ]
    if found.open > found.beyond:
        who = shlex.quote(visible(found.adjudicators[0]))
        lines.append(f"Next: voirdire ui rate --as {who}, page Adjudicate")
    return lines


def moved_told(absent: str, moved: int, left: Staying) -> str:
    """How many items moved, and which stay and why."""
    who = visible(absent)
    lines = [f"{counted(moved, 'item')} of {who} moved."]
    reasons = {
        "handed out less than an hour ago (--force moves them)": left.looked_at,
        "out on a sheet (--force moves them, and the sheet's answers are then refused)": left.on_a_sheet,
        "for which nobody is free: everyone named with --to rates or rated them": left.nobody,
    }
    told = [f"{count:,} {why}" for why, count in reasons.items() if count]
    if told:
        lines.append(f"What stays with {who}: {'; '.join(told)}.")
    return "\n".join(lines)
