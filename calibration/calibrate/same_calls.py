"""Whether two recorded judges ask the same calls, so that what one was found to do the other does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlmodel import Session

from calibration.store.judges import StoredJudge, get_judge
from rubrics.digest import digest

_MOVES_NO_CALL: Mapping[str, frozenset[str]] = {
    "model": frozenset({"name", "reask"}),
    "rule": frozenset({"name", "version", "description"}),
    "panel": frozenset({"name"}),
    "cascade": frozenset({"name"}),
}
"""By kind the fields of a spec that leave what is asked, and what is answered, as it is."""


def ask_the_same(*, session: Session, one: StoredJudge, other: StoredJudge) -> bool:
    """True if the specs differ in name only, or in whether an unreadable reply is asked for again.

    Of a panel or cascade the same holds of its members. Two judges of one spec, the name included, were
    written by versions whose prompts differ, and do not ask the same.
    """
    if one.digest == other.digest:
        return True
    if one.kind != other.kind or one.content == other.content:
        return False
    return _asks(session, one) == _asks(session, other)


def _asks(session: Session, judge: StoredJudge) -> str:
    """Identity of what the judge asks; its own where no field of its kind is without effect."""
    aside = _MOVES_NO_CALL.get(judge.kind)
    if aside is None:
        return judge.digest
    kept = {name: value for name, value in judge.content.items() if name not in aside}

    def member(named: str) -> str:
        return _asks(session, get_judge(session=session, judge=named))

    if judge.kind == "panel":
        kept["members"] = sorted([member(each["judge"]), each["votes"]] for each in kept["members"])
    if judge.kind == "cascade":
        kept |= {place: member(kept[place]) for place in ("first", "then")}
        kept["escalate"] = sorted(set(kept["escalate"]))
    content: dict[str, Any] = {"kind": judge.kind, **kept}
    return digest(content)
