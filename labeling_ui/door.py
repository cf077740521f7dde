"""Who sits at an app, and what they may do there: one way for both apps, asked anew on every run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import streamlit as st

from calibration.labeling.people import Role, require, roles, sign_in
from calibration.labeling.records import Person
from calibration.store.database import Store
from labeling_ui.identity import Claim, claimed
from labeling_ui.settings import AppName, Settings, SignIn, current
from rubrics.errors import RaterRefused

_PERSON: Final = "person"
SIGN_IN_FIRST: Final = "sign in first: reload the page"


@dataclass(frozen=True, slots=True)
class Door:
    """The way into one of the apps."""

    app: AppName
    store: Callable[[], Store]
    clock: Callable[[], datetime]

    def settings(self) -> Settings:
        """How this process was started."""
        return current(self.app)

    def person(self) -> Person | None:
        """Who sits here; None where nobody has said or proved it yet.

        A name is kept in this tab only, never in the address, where anybody could write another one.
        """
        known = st.session_state.get(_PERSON)
        if isinstance(known, Person):
            return known
        claim = claimed(self.settings(), st.user.to_dict())
        return self._known(claim) if claim is not None else None

    def enter(self, handle: str) -> None:
        """Sign in by a name, where the settings allow that.

        Raises:
            RaterRefused: names are not taken here, or this one belongs to someone who signs in another way.
            DeclarationError: no name, or one that cannot be stored.
        """
        if self.settings().sign_in is not SignIn.LOCAL:
            raise RaterRefused("a name alone is not taken here: sign in as the page says")
        self._known(Claim(handle.strip(), "local", handle.strip(), handle.strip()))

    def _known(self, claim: Claim) -> Person:
        found = sign_in(
            store=self.store(),
            handle=claim.handle,
            auth=claim.auth,
            subject=claim.subject,
            display=claim.display,
            now=self.clock(),
        )
        st.session_state[_PERSON] = found
        return found

    def roles_of(self, who: Person) -> frozenset[Role]:
        """What the person may be now."""
        return roles(store=self.store(), person=who)

    def holding(self, role: Role) -> Person:
        """The person, who holds the role.

        Raises:
            RaterRefused: nobody is signed in, or they do not hold the role; the latter is audited.
        """
        who = self.person()
        if who is None:
            raise RaterRefused(SIGN_IN_FIRST)
        require(store=self.store(), person=who, role=role, now=self.clock())
        return who
