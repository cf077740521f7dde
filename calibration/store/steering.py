"""Who saw a judge's errors on which set, who declared what later, and who signed that nothing was steered.

Looks at disagreements stand in the ledger of looks (calibration.store.reports); here is what is read of it
when a later judge, prompt or rubric is examined on the same items. Kept from raters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.chain import AuditEventRow, append_event, events
from calibration.store.columns import table_of
from calibration.store.reports import Look, LookRow, Steered, list_looks
from calibration.store.sets import SetMemberRow
from rubrics.errors import RecordError

LOOKS = "looks"
"""The stream of the audit trail that tells of looks and of what was signed about them."""
CLEARED, REOPENED = "steering.cleared", "looks.reopened"


@dataclass(frozen=True, slots=True)
class Declared:
    """Who recorded a judge or rubric, and when."""

    actor: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Clearing:
    """A second person's word that what was seen did not go into a judge or rubric."""

    look: str
    subject: str
    """Digest of the judge or rubric."""
    signer: str
    reason: str
    at: datetime


def declared(*, session: Session, digest: str) -> Declared | None:
    """Who recorded the judge or rubric of the digest; None where the trail does not tell."""
    table = table_of(AuditEventRow)
    query = (
        sa.select(table.c.actor, table.c.at)
        .where(
            table.c.stream == "records",
            table.c.kind.in_(("judge.declared", "rubric.published")),
            table.c.payload.contains(digest, autoescape=True),
        )
        .order_by(table.c.seq)
        .limit(1)
    )
    row = session.connection().execute(query).first()
    return Declared(row.actor, row.at) if row else None


def revealing_looks(*, session: Session, set_digest: str) -> Iterator[Look]:
    """The looks at errors, and the declared steerings, on the set or on one that shares an item with it."""
    sharing = sharing_sets(session=session, set_digest=set_digest)
    for look in list_looks(session=session):
        if look.steered is not Steered.NO and look.set_digest in sharing:
            yield look


def sharing_sets(*, session: Session, set_digest: str) -> set[str]:
    """The set itself and every set that shares an item with it."""
    mine, other = table_of(SetMemberRow), table_of(SetMemberRow).alias()
    query = (
        sa.select(other.c.set_digest)
        .select_from(mine.join(other, mine.c.item_key == other.c.item_key))
        .where(mine.c.set_digest == set_digest)
        .distinct()
    )
    return {set_digest, *session.connection().execute(query).scalars()}


def get_look(*, session: Session, digest_prefix: str) -> Look:
    """The one look whose digest begins so; raises RecordError where there is none, or several."""
    column = table_of(LookRow).c.input_digest
    query = sa.select(column).where(column.startswith(digest_prefix, autoescape=True)).limit(2)
    found = session.connection().execute(query).scalars().all()
    if len(found) != 1:
        many = "several looks begin" if found else "no look begins"
        raise RecordError(f"{many} with {digest_prefix!r}; `voirdire audit looks` shows them")
    return next(look for look in list_looks(session=session) if look.input_digest == found[0])


def clear_steering(
    *, session: Session, look: Look, subject: str, signer: str, reason: str, at: datetime
) -> Clearing:
    """The word of a second person that the look did not steer the judge or rubric, appended."""
    payload = {"look": look.input_digest, "subject": subject, "reason": reason}
    event = append_event(session=session, stream=LOOKS, kind=CLEARED, actor=signer, payload=payload, at=at)
    return Clearing(look.input_digest, subject, signer, reason, event.at)


def clearings(*, session: Session) -> dict[tuple[str, str], Clearing]:
    """What was signed, by look and by judge or rubric."""
    found = {}
    for event in events(session=session, stream=LOOKS, kind=CLEARED):
        said = event.payload
        found[said["look"], said["subject"]] = Clearing(
            said["look"], said["subject"], event.actor, said["reason"], event.at
        )
    return found


@dataclass(frozen=True, slots=True)
class Reopening:
    """A second person's word that a judge may be looked at again, on a fresh set."""

    about: tuple[str, str, str]
    """Digests of judge and rubric, and the criterion."""
    set_digest: str
    spent: int
    """Looks at the judge until then."""
    signer: str
    reason: str
    at: datetime


def reopen_looks(
    *,
    session: Session,
    about: tuple[str, str, str],
    set_digest: str,
    spent: int,
    signer: str,
    reason: str,
    at: datetime,
) -> Reopening:
    """The word as appended."""
    payload = {"about": list(about), "set": set_digest, "spent": spent, "reason": reason}
    event = append_event(session=session, stream=LOOKS, kind=REOPENED, actor=signer, payload=payload, at=at)
    return Reopening(about, set_digest, spent, signer, reason, event.at)


def reopenings(*, session: Session) -> Iterator[Reopening]:
    """What was signed, oldest first."""
    for event in events(session=session, stream=LOOKS, kind=REOPENED):
        said = event.payload
        judge, rubric, criterion = said["about"]
        yield Reopening(
            (judge, rubric, criterion), said["set"], said["spent"], event.actor, said["reason"], event.at
        )
