"""Who votes in a judge that is made of others, read from its record."""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import Session

from calibration.store.judges import StoredJudge, get_judge


def members_of(*, session: Session, judge: StoredJudge) -> dict[str, StoredJudge]:
    """The records of everybody who votes in a panel or cascade, and in its members, by digest.

    Empty for a judge that answers by itself. Raises RecordError where a member is not recorded.
    """
    found: dict[str, StoredJudge] = {}
    for digest in _voters(judge):
        member = get_judge(session=session, judge=digest)
        found |= {member.digest: member, **members_of(session=session, judge=member)}
    return found


def _voters(judge: StoredJudge) -> Sequence[str]:
    """The digests in its spec, in the order in which they are asked."""
    if judge.kind == "panel":
        return [each["judge"] for each in judge.content["members"]]
    if judge.kind == "cascade":
        return [judge.content["first"], judge.content["then"]]
    return ()
