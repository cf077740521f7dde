"""Who is there, how sure that is, and what they may do."""

from __future__ import annotations

from datetime import datetime

from calibration.labeling.records import Person
from calibration.labeling.roles import Role
from calibration.labeling.tasks import STREAM, refusals_audited
from calibration.store.chain import append_event
from calibration.store.database import Store
from calibration.store.people import add_person, list_people, roles_of, set_role
from calibration.store.sessions import get_session, seats_of
from calibration.store.text import NAME_LIMIT
from rubrics.errors import DifferentRecord, RaterRefused, RecordError
from rubrics.record import shown

__all__ = ["LOCAL", "NAME_LIMIT", "Role", "grant", "known_people", "require", "roles", "sign_in"]

LOCAL = "local"


def known_people(*, store: Store) -> tuple[Person, ...]:
    """Everyone who ever signed in, by name: what the first screen of the local mode lists."""
    with store.read() as session:
        return tuple(Person(p.id, p.handle, p.name, p.auth) for p in list_people(session=session))


def sign_in(
    *,
    store: Store,
    handle: str,
    now: datetime,
    auth: str = LOCAL,
    subject: str | None = None,
    display: str | None = None,
) -> Person:
    """The person, recorded at their first sign-in; a handle belongs to whoever took it first.

    Args:
        store: from open_rating_store() in the app.
        handle: the name that sessions and labels use: locally the name that was typed, else the verified
            address or name that the issuer gives.
        now: when.
        auth: local, oidc or proxy: who vouches for the name.
        subject: what identifies them there: issuer and subject, or the trusted header's value; locally
            the handle.
        display: the name to show.

    Raises:
        RaterRefused: the handle belongs to someone who signs in another way; audited.
        DeclarationError: the handle is empty, too long, or holds a character that no database stores.
    """
    with refusals_audited(store, "sign-in", now):
        try:
            with store.write() as session:
                found = add_person(
                    session=session,
                    auth=auth,
                    subject=subject if subject is not None else handle,
                    handle=handle,
                    display=display or handle,
                    at=now,
                )
        except DifferentRecord as error:
            raise RaterRefused(f"{error}: take another name") from error
    return Person(found.id, found.handle, found.name, found.auth)


def roles(*, store: Store, person: Person) -> frozenset[Role]:
    """What the person may be: locally everything (the name is not verified anyway), else what was granted."""
    if person.auth == LOCAL:
        return frozenset(Role)
    with store.read() as session:
        return frozenset(Role(role) for role in roles_of(session=session, handle=person.handle))


def require(*, store: Store, person: Person, role: Role, now: datetime, session: str | None = None) -> None:
    """Nothing, where the person has the role (and, given a session, a place in it).

    Raises:
        RaterRefused: they have not; audited.
    """
    with refusals_audited(store, person.handle, now):
        if role not in roles(store=store, person=person):
            raise RaterRefused(f"{shown(person.handle)} is no {role.value}: an admin may grant that")
        if session is not None and not _has_place(store, person, role, session):
            raise RaterRefused(
                f"{shown(person.handle)} has no place as {role.value} in the session {shown(session)}"
            )


def _has_place(store: Store, person: Person, role: Role, name: str) -> bool:
    kinds = {Role.RATER: "rate", Role.ADJUDICATOR: "adjudicate"}
    with store.read() as session:
        try:
            key = get_session(session=session, session_name=name).key
        except RecordError:
            return False
        seats = seats_of(session=session, key=key, rater=person.handle)
    return any(seat.kind == kinds.get(role) for seat in seats)


def grant(*, store: Store, handle: str, role: Role, given: bool, actor: str, now: datetime) -> bool:
    """True if the person has the role now and had not (or the reverse for `given=False`); audited.

    Raises:
        RaterRefused: an admin would take their own role of admin, or the only one there is.
    """
    with refusals_audited(store, actor, now), store.write() as session:
        if role is Role.ADMIN and not given and handle == actor:
            raise RaterRefused("an admin cannot take their own role: have another admin do it")
        changed = set_role(session=session, handle=handle, role=role.value, given=given, actor=actor, at=now)
        if changed:
            append_event(
                session=session,
                stream=STREAM,
                kind="role.given" if given else "role.taken",
                actor=actor,
                payload={"handle": handle, "role": role.value},
                at=now,
            )
    return changed
