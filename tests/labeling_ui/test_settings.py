"""Nobody listens where they should not, and every refusal says what to set."""

from __future__ import annotations

import pytest

from labeling_ui.settings import (
    DEFAULT_PORTS,
    OIDC_NAMES,
    AppName,
    Settings,
    SignIn,
    activate,
    current,
    is_loopback,
    read,
)
from rubrics.errors import DeclarationError

OIDC = {
    "VOIRDIRE_UI_SIGN_IN": "oidc",
    "VOIRDIRE_UI_HOSTS": "rate.example",
    "VOIRDIRE_OIDC_METADATA_URL": "https://issuer.example/.well-known/openid-configuration",
    "VOIRDIRE_OIDC_CLIENT_ID": "voirdire",
    "VOIRDIRE_OIDC_CLIENT_SECRET": "s3cret-of-the-client",
    "VOIRDIRE_OIDC_COOKIE_SECRET": "s3cret-of-the-cookie",
    "VOIRDIRE_OIDC_REDIRECT_URI": "https://rate.example/oauth2callback",
}


@pytest.mark.parametrize("app", AppName)
def test_default_is_local_on_this_machine(app: AppName) -> None:
    """Without a word in the environment: local sign-in, loopback, the app's own port and host names."""
    settings = read(app, {})
    assert (settings.sign_in, settings.address, settings.port) == (
        SignIn.LOCAL,
        "127.0.0.1",
        DEFAULT_PORTS[app],
    )
    assert settings.loopback
    assert set(settings.hosts) == {"localhost", "127.0.0.1", "[::1]"}


@pytest.mark.parametrize(
    "address", ["0.0.0.0", "::", "192.168.1.7", "10.0.0.1", "example.org", "127.0.0.1.evil"]
)
def test_local_sign_in_never_listens_beyond_this_machine(address: str) -> None:
    """Local sign-in believes any name, so an address that others reach is refused."""
    with pytest.raises(DeclarationError, match=r"never listens beyond this machine.*VOIRDIRE_UI_SIGN_IN"):
        read(AppName.RATE, {"VOIRDIRE_UI_ADDRESS": address})


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_loopback_addresses_are_known(address: str) -> None:
    """All of 127/8, ::1 and localhost are this machine."""
    assert is_loopback(address)
    assert read(AppName.RATE, {"VOIRDIRE_UI_ADDRESS": address}).loopback


def test_what_is_given_wins_over_the_environment() -> None:
    """An option of the command line is stronger than a variable; an absent one is not."""
    environment = {"VOIRDIRE_UI_PORT": "9000", "VOIRDIRE_UI_AS": "ann", "VOIRDIRE_DB": "a.db"}
    settings = read(AppName.RATE, environment, port=0, name=None, db="b.db")
    assert (settings.port, settings.name, settings.db) == (0, "ann", "b.db")


def test_hosts_are_a_list_with_commas() -> None:
    """Several host names stand in one variable."""
    settings = read(AppName.RATE, {"VOIRDIRE_UI_HOSTS": "rate.example, localhost,"})
    assert settings.hosts == ("rate.example", "localhost")


@pytest.mark.parametrize("missing", OIDC_NAMES.values())
def test_oidc_names_what_is_missing(missing: str) -> None:
    """Each variable that the provider needs is asked for by name."""
    with pytest.raises(DeclarationError, match=missing):
        read(AppName.RATE, {name: value for name, value in OIDC.items() if name != missing})


def test_oidc_reaches_streamlit_as_it_reads_it() -> None:
    """The five words stand in the section `auth`; any address is allowed."""
    settings = read(AppName.REVIEW, {**OIDC, "VOIRDIRE_UI_ADDRESS": "0.0.0.0"})
    assert settings.oidc is not None
    auth = settings.oidc.secrets()["auth"]
    assert auth["client_secret"] == "s3cret-of-the-client"
    assert set(auth) == {
        "redirect_uri",
        "cookie_secret",
        "client_id",
        "client_secret",
        "server_metadata_url",
    }


def test_secrets_are_in_no_picture_of_the_settings() -> None:
    """Whoever prints the settings prints no secret."""
    settings = read(AppName.RATE, {**OIDC, "VOIRDIRE_UI_PROXY_SECRET": "p" * 20})
    assert "s3cret" not in repr(settings)
    assert "pppp" not in repr(settings)


@pytest.mark.parametrize("sign_in", ["oidc", "proxy"])
def test_a_typed_name_is_refused_where_people_sign_in(sign_in: str) -> None:
    """--as would let one person act as another."""
    with pytest.raises(DeclarationError, match="leave --as out"):
        read(AppName.RATE, {**OIDC, "VOIRDIRE_UI_SIGN_IN": sign_in}, name="ann")


def test_proxy_beyond_this_machine_needs_its_word() -> None:
    """An address that can be reached past the proxy needs a secret that only the proxy sends."""
    environment = {"VOIRDIRE_UI_SIGN_IN": "proxy", "VOIRDIRE_UI_ADDRESS": "0.0.0.0"}
    with pytest.raises(DeclarationError, match="VOIRDIRE_UI_PROXY_SECRET"):
        read(AppName.RATE, environment)
    with pytest.raises(DeclarationError, match="at least 16"):
        read(AppName.RATE, {**environment, "VOIRDIRE_UI_PROXY_SECRET": "short"})
    assert not read(AppName.RATE, {**environment, "VOIRDIRE_UI_PROXY_SECRET": "p" * 16}).loopback
    assert read(AppName.RATE, {"VOIRDIRE_UI_SIGN_IN": "proxy"}).loopback


@pytest.mark.parametrize(
    ("name", "value"),
    [("VOIRDIRE_UI_PORT", "70000"), ("VOIRDIRE_UI_PORT", "x"), ("VOIRDIRE_UI_SIGN_IN", "magic")],
)
def test_wrong_word_is_quoted_with_its_variable(name: str, value: str) -> None:
    """A value that cannot be is named with the variable that holds it."""
    with pytest.raises(DeclarationError, match=f"{name} is '{value}'"):
        read(AppName.RATE, {name: value})


def test_pages_see_the_settings_of_their_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the launcher made active is what a page reads; another app reads the environment."""
    monkeypatch.setattr("labeling_ui.settings._active", None)
    monkeypatch.setenv("VOIRDIRE_UI_AS", "ann")
    assert current(AppName.RATE).name == "ann"
    activate(Settings(app=AppName.RATE, name="bea"))
    assert current(AppName.RATE).name == "bea"
    assert current(AppName.REVIEW).name == "ann"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("https://rate.example/callback", "/oauth2callback"),
        ("rate.example/oauth2callback", "/oauth2callback"),
        ("https://other.example/oauth2callback", "list it in VOIRDIRE_UI_HOSTS"),
    ],
)
def test_provider_must_be_able_to_send_people_back(address: str, said: str) -> None:
    """The address of return has the one path that is served, under a host name that is answered."""
    with pytest.raises(DeclarationError, match=said):
        read(AppName.RATE, {**OIDC, "VOIRDIRE_OIDC_REDIRECT_URI": address})
