"""People who sign in, and the roles that an admin gave or took."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Field, Session

from calibration.store.columns import Row, in_utc, one_of, row_key, table_of, text_column, time_column
from calibration.store.inserting import insert_many
from calibration.store.text import name
from rubrics.errors import DifferentRecord

AUTHS = ("local", "oidc", "proxy")
ROLES = ("rater", "adjudicator", "reviewer", "admin", "grader")


class PersonRow(Row, table=True):
    """A person: who vouches for them, and the name that their labels carry."""

    __tablename__ = "person"
    __table_args__ = (one_of("auth", AUTHS),)
    id: str = text_column(primary_key=True)
    handle: str = text_column(unique=True)
    name: str = text_column()
    auth: str = text_column()
    recorded_at: datetime = time_column()


class RoleGrantRow(Row, table=True):
    """That a role was given to a person, or taken; the newest row of a role holds."""

    __tablename__ = "role_grant"
    __table_args__ = (one_of("role", ROLES), sa.UniqueConstraint("handle", "role", "number"))
    key: str = text_column(primary_key=True)
    handle: str = text_column()
    role: str = text_column()
    number: int
    given: bool = Field(sa_type=sa.Boolean)
    actor: str = text_column()
    recorded_at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class StoredPerson:
    """A recorded person."""

    id: str
    handle: str
    name: str
    auth: str


def add_person(
    *, session: Session, auth: str, subject: str, handle: str, display: str, at: datetime
) -> StoredPerson:
    """The person as recorded at their first sign-in.

    Args:
        session: a writing session.
        auth: who vouches for them.
        subject: what identifies them there: the name itself, issuer and subject, or a header's value.
        handle: the name that labels carry.
        display: the name that is shown.
        at: now.

    Raises:
        DifferentRecord: the handle belongs to someone else.
    """
    key = row_key("person", auth, subject)
    there = session.connection().execute(_PEOPLE.where(_PERSON.c.id == key)).first()
    if there is not None:
        return StoredPerson(*there)
    values = {
        "id": key,
        "handle": name(handle, "name"),
        "name": name(display, "name"),
        "auth": auth,
        "recorded_at": in_utc(at),
    }
    added = insert_many(session=session, row=PersonRow, rows=[values], identity="id")
    if added.different:
        raise DifferentRecord(f"the name {handle!r} belongs to someone who signs in another way")
    return StoredPerson(key, handle, display, auth)


def list_people(*, session: Session) -> list[StoredPerson]:
    """Everyone who ever signed in, by name."""
    query = _PEOPLE.order_by(_PERSON.c.handle)
    return [StoredPerson(*row) for row in session.connection().execute(query)]


def set_role(*, session: Session, handle: str, role: str, given: bool, actor: str, at: datetime) -> bool:
    """True if the person has the role now and had not, or the reverse; False where nothing changed."""
    held = role in roles_of(session=session, handle=handle)
    if held == given:
        return False
    query = sa.select(sa.func.count()).where(_GRANT.c.handle == handle, _GRANT.c.role == role)
    number = int(session.connection().execute(query).scalar_one())
    values = {
        "key": row_key("role_grant", handle, role, number),
        "handle": name(handle, "name"),
        "role": role,
        "number": number,
        "given": given,
        "actor": name(actor, "actor"),
        "recorded_at": in_utc(at),
    }
    return bool(insert_many(session=session, row=RoleGrantRow, rows=[values], identity="key").added)


def roles_of(*, session: Session, handle: str) -> frozenset[str]:
    """The roles that the person holds."""
    query = (
        sa.select(_GRANT.c.role, _GRANT.c.given).where(_GRANT.c.handle == handle).order_by(_GRANT.c.number)
    )
    newest: dict[str, bool] = {row[0]: row[1] for row in session.connection().execute(query)}
    return frozenset(role for role, given in newest.items() if given)


_PERSON = table_of(PersonRow)
_PEOPLE = sa.select(_PERSON.c.id, _PERSON.c.handle, _PERSON.c.name, _PERSON.c.auth)
_GRANT = table_of(RoleGrantRow)
