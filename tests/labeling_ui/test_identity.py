"""Who somebody is: what the sign-in vouches for, and nobody where it does not."""

from __future__ import annotations

from typing import Any

import pytest

from labeling_ui.identity import Claim, claimed
from labeling_ui.settings import AppName, Oidc, Settings, SignIn

OIDC = Oidc.model_validate(
    dict.fromkeys(("metadata_url", "client_id", "client_secret", "cookie_secret"), "x" * 20)
    | {"redirect_uri": "http://localhost/oauth2callback"}
)
PERSON = {
    "is_logged_in": True,
    "sub": "77",
    "iss": "https://issuer.example",
    "email": "a@b.example",
    "name": "Ann",
}


def settings(sign_in: SignIn, name: str | None = None) -> Settings:
    """The settings of an app with that sign-in."""
    return Settings(
        app=AppName.REVIEW, sign_in=sign_in, name=name, oidc=OIDC if sign_in is SignIn.OIDC else None
    )


def test_local_name_is_the_one_given_at_the_start() -> None:
    """What a browser claims does not matter locally; without a name nobody is there."""
    assert claimed(settings(SignIn.LOCAL, "ann"), {"email": "eve"}) == Claim("ann", "local", "ann", "ann")
    assert claimed(settings(SignIn.LOCAL), {"email": "eve"}) is None


def test_provider_knows_people_by_issuer_and_subject() -> None:
    """An address is for display and may change hands; issuer and subject do not."""
    found = claimed(settings(SignIn.OIDC), PERSON)
    assert found == Claim("a@b.example", "oidc", "https://issuer.example 77", "Ann")


@pytest.mark.parametrize(
    "changes", [{"is_logged_in": False}, {"sub": None}, {"iss": ""}, {"is_logged_in": None}]
)
def test_incomplete_claim_is_nobody(changes: dict[str, Any]) -> None:
    """Without a login, a subject or an issuer there is nobody."""
    assert claimed(settings(SignIn.OIDC), {**PERSON, **changes}) is None


@pytest.mark.parametrize(("user", "name"), [({"email": "eve"}, "eve"), ({}, None), ({"email": ""}, None)])
def test_proxy_says_who_is_there(user: dict[str, Any], name: str | None) -> None:
    """The header's value is the person; without it nobody is there."""
    found = claimed(settings(SignIn.PROXY), user)
    assert (found.handle if found else None) == name
