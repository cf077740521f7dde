"""Who somebody says that they are, and who vouches for it: read from the sign-in, nothing looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labeling_ui.settings import Settings, SignIn


@dataclass(frozen=True, slots=True)
class Claim:
    """A person as the sign-in names them."""

    handle: str
    """The name that sessions, labels and signatures use."""
    auth: str
    """Who vouches: local, oidc or proxy."""
    subject: str
    """What identifies them there."""
    display: str
    """The name to show; untrusted."""


def claimed(settings: Settings, user: Mapping[str, Any]) -> Claim | None:
    """Who is there, as the settings and Streamlit's `st.user` say; None where nobody is, or has not said.

    Locally it is the name that the app was started with. A provider is known by issuer and subject, since
    an address can change hands; a proxy by what it says.
    """
    if settings.sign_in is SignIn.LOCAL:
        return Claim(settings.name, "local", settings.name, settings.name) if settings.name else None
    if settings.sign_in is SignIn.PROXY:
        name = user.get("email")
        return Claim(name, "proxy", name, name) if isinstance(name, str) and name else None
    subject, issuer = user.get("sub"), user.get("iss")
    if not user.get("is_logged_in") or not subject or not issuer:
        return None
    handle = str(user.get("email") or user.get("name") or subject)
    return Claim(handle, "oidc", f"{issuer} {subject}", str(user.get("name") or handle))
