"""Who may reach an app and how people sign in: read from the environment, checked before anything listens."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from rubrics.errors import DeclarationError
from rubrics.record import Frozen, shown

LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]")
SHORTEST_SECRET: Final = 16


class AppName(StrEnum):
    """The two apps; each is a process of its own."""

    RATE = "rate"
    """For raters and adjudicators: blind."""
    REVIEW = "review"
    """For leads and reviewers."""


DEFAULT_PORTS: Final = {AppName.RATE: 8601, AppName.REVIEW: 8602}


class SignIn(StrEnum):
    """How the app knows who is there."""

    LOCAL = "local"
    """A name that the person types; only on this machine."""
    OIDC = "oidc"
    """An OpenID Connect provider; needs the extra `oidc`."""
    PROXY = "proxy"
    """A header that a reverse proxy sets, after removing what the client sent under that name."""


class Oidc(Frozen):
    """The provider, and this app as it knows it."""

    metadata_url: str
    """The address of the provider's openid-configuration."""
    client_id: str
    client_secret: SecretStr
    cookie_secret: SecretStr
    """A long random word with which the sign-in cookie is signed."""
    redirect_uri: str
    """The app's own address with the path /oauth2callback."""

    def secrets(self) -> dict[str, Any]:
        """The section `auth` as Streamlit reads it."""
        return {
            "auth": {
                "redirect_uri": self.redirect_uri,
                "cookie_secret": self.cookie_secret.get_secret_value(),
                "client_id": self.client_id,
                "client_secret": self.client_secret.get_secret_value(),
                "server_metadata_url": self.metadata_url,
            }
        }


class Settings(Frozen):
    """All that an app must know before it starts."""

    app: AppName
    db: str | None = None
    """The evidence store: a file or an address; None is the default place."""
    address: str = "127.0.0.1"
    port: int = Field(default=0, ge=0, le=65535)
    """0: any free port."""
    hosts: tuple[str, ...] = LOOPBACK_HOSTS
    """The host names under which people reach the app."""
    sign_in: SignIn = SignIn.LOCAL
    name: str | None = None
    """Local sign-in only: the person who sits here, so that nobody is asked."""
    oidc: Oidc | None = None
    proxy_header: str = "X-Forwarded-User"
    proxy_secret: SecretStr = SecretStr("")

    @property
    def loopback(self) -> bool:
        """True where only this machine can reach the app."""
        return is_loopback(self.address)

    @model_validator(mode="after")
    def _safe(self) -> Self:
        if self.name is not None and self.sign_in is not SignIn.LOCAL:
            raise ValueError(
                f"a name is given with --as and sign-in is {self.sign_in.value!r}: there the name comes from "
                "the sign-in; leave --as out"
            )
        if self.sign_in is SignIn.LOCAL and not self.loopback:
            raise ValueError(
                f"local sign-in takes any name for true, so it never listens beyond this machine, and the "
                f"address is {self.address!r}; allowed: 127.0.0.1, ::1 or localhost; "
                "for a team set VOIRDIRE_UI_SIGN_IN=oidc or proxy"
            )
        if self.sign_in is SignIn.OIDC and self.oidc is None:
            raise ValueError(
                "sign-in is 'oidc' and no provider is given; set " + ", ".join(OIDC_NAMES.values())
            )
        if self.oidc is not None:
            self._reachable(self.oidc.redirect_uri)
        secret = self.proxy_secret.get_secret_value()
        if secret and len(secret) < SHORTEST_SECRET:
            raise ValueError(
                f"VOIRDIRE_UI_PROXY_SECRET has {len(secret)} characters; give it at least {SHORTEST_SECRET}"
            )
        if self.sign_in is SignIn.PROXY and not self.loopback and not secret:
            raise ValueError(
                f"sign-in is 'proxy' and the address {self.address!r} can be reached past the proxy; set "
                "VOIRDIRE_UI_PROXY_SECRET and let the proxy send it as X-Voirdire-Proxy, "
                "or listen on 127.0.0.1"
            )
        return self

    def _reachable(self, redirect_uri: str) -> None:
        """Refuse an address to which the provider could not send people back."""
        back = urlsplit(redirect_uri)
        if back.scheme not in {"http", "https"} or back.path != "/oauth2callback":
            raise ValueError(
                f"VOIRDIRE_OIDC_REDIRECT_URI is {shown(redirect_uri)}; give the app's own address with the "
                "path /oauth2callback, such as https://rate.example.org/oauth2callback"
            )
        if back.hostname not in self.hosts:
            raise ValueError(
                f"VOIRDIRE_OIDC_REDIRECT_URI leads to the host {back.hostname!r}, to which the app does not "
                f"answer; list it in VOIRDIRE_UI_HOSTS (now: {', '.join(self.hosts)})"
            )


def is_loopback(address: str) -> bool:
    """True for an address that only this machine can reach."""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


OIDC_NAMES: Final = {
    "metadata_url": "VOIRDIRE_OIDC_METADATA_URL",
    "client_id": "VOIRDIRE_OIDC_CLIENT_ID",
    "client_secret": "VOIRDIRE_OIDC_CLIENT_SECRET",
    "cookie_secret": "VOIRDIRE_OIDC_COOKIE_SECRET",
    "redirect_uri": "VOIRDIRE_OIDC_REDIRECT_URI",
}
NAMES: Final = {
    "db": "VOIRDIRE_DB",
    "address": "VOIRDIRE_UI_ADDRESS",
    "port": "VOIRDIRE_UI_PORT",
    "hosts": "VOIRDIRE_UI_HOSTS",
    "sign_in": "VOIRDIRE_UI_SIGN_IN",
    "name": "VOIRDIRE_UI_AS",
    "proxy_header": "VOIRDIRE_UI_PROXY_HEADER",
    "proxy_secret": "VOIRDIRE_UI_PROXY_SECRET",
}
"""The settings by the environment variable that gives each."""


def read(app: AppName, environment: Mapping[str, str], **given: Any) -> Settings:
    """The settings of an app: what is given, else the environment, else the default.

    Raises DeclarationError, in one sentence that names no secret, where they do not fit together.
    """
    found: dict[str, Any] = {"app": app, "port": DEFAULT_PORTS[app]}
    found |= {field: environment[name] for field, name in NAMES.items() if environment.get(name)}
    found |= {field: value for field, value in given.items() if value is not None}
    if isinstance(found.get("hosts"), str):
        found["hosts"] = tuple(host.strip() for host in found["hosts"].split(",") if host.strip())
    if found.get("sign_in") == SignIn.OIDC:
        found["oidc"] = _oidc(environment)
    try:
        return Settings.model_validate(found)
    except ValueError as error:
        raise DeclarationError(_sentence(error)) from None


def _oidc(environment: Mapping[str, str]) -> Oidc:
    missing = [name for name in OIDC_NAMES.values() if not environment.get(name)]
    if missing:
        raise DeclarationError(
            f"sign-in is 'oidc' and needs {', '.join(missing)} in the environment; set them"
        )
    return Oidc.model_validate({field: environment[name] for field, name in OIDC_NAMES.items()})


def _sentence(error: ValueError) -> str:
    """The first thing that is wrong, in words for whoever set it."""
    first = error.errors()[0] if hasattr(error, "errors") else {"msg": str(error), "loc": (), "input": None}
    field = str(first["loc"][0]) if first["loc"] else ""
    message = str(first["msg"]).removeprefix("Value error, ")
    if not field:
        return message
    value = "" if "secret" in field else f" is {shown(first['input'])}:"
    return f"{NAMES.get(field, field)}{value} {message[:1].lower()}{message[1:]}"


_active: Settings | None = None


def activate(settings: Settings) -> None:
    """Make these the settings of this process; the launcher does, before the app starts."""
    global _active
    _active = settings


def current(app: AppName) -> Settings:
    """The settings of this process; without a launcher, as in tests, those of the environment."""
    return _active if _active is not None and _active.app is app else read(app, os.environ)
