"""Signing in as teams do: an OpenID Connect provider, and a reverse proxy that says who is there."""

from __future__ import annotations

import http.client
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from calibration.labeling.people import known_people
from calibration.store.schema import open_store
from tests.browser.serving import Served, Tab, free_port, serving
from tests.browser.vouching import provider, reverse_proxy

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

SECRET = "a-word-that-only-the-proxy-knows"
PERSON = {"sub": "77", "email": "ann@team.example", "name": "Ann <b>B</b>"}


def people(db: Path) -> list[tuple[str, str]]:
    """Everyone whom the app has recorded, with who vouched for them."""
    store = open_store(db)
    try:
        return [(each.handle, each.auth) for each in known_people(store=store)]
    finally:
        store.close()


def test_proxy_says_who_is_there(browser: Browser, tmp_path: Path) -> None:
    """Behind the proxy the app knows the person; past it, it answers nobody."""
    environment = {
        "VOIRDIRE_UI_SIGN_IN": "proxy",
        "VOIRDIRE_UI_PROXY_HEADER": "X-Team-User",
        "VOIRDIRE_UI_PROXY_SECRET": SECRET,
    }
    db = tmp_path / "team.db"
    added = {"X-Team-User": "ann@team.example", "X-Voirdire-Proxy": SECRET}
    with serving("rate", db=db, environment=environment) as app, reverse_proxy(app.port, added) as address:
        tab = Tab(browser, Served(app.process, address))
        tab.page.set_extra_http_headers({"X-Team-User": "eve@evil.example"})
        tab.open()
        assert tab.page.get_by_text("Nothing for you here yet.").count() == 1
        tab.close()
        past = http.client.HTTPConnection("127.0.0.1", app.port, timeout=10)
        past.request("GET", "/", headers={"X-Team-User": "eve@evil.example"})
        assert past.getresponse().status == 403
        past.close()
    assert people(db) == [("ann@team.example", "proxy")]


@pytest.mark.slow
def test_provider_says_who_is_there(browser: Browser, tmp_path: Path) -> None:
    """The whole round: to the provider, back with a signed word, and the page knows the person."""
    db = tmp_path / "team.db"
    port = free_port()
    with provider(PERSON, client_id="voirdire") as issuer:
        environment = {
            "VOIRDIRE_UI_SIGN_IN": "oidc",
            "VOIRDIRE_OIDC_METADATA_URL": f"{issuer}/.well-known/openid-configuration",
            "VOIRDIRE_OIDC_CLIENT_ID": "voirdire",
            "VOIRDIRE_OIDC_CLIENT_SECRET": "a-secret-of-the-client-of-some-length",
            "VOIRDIRE_OIDC_COOKIE_SECRET": "a-long-random-word-for-the-cookie-of-the-app",
            "VOIRDIRE_OIDC_REDIRECT_URI": f"http://127.0.0.1:{port}/oauth2callback",
        }
        with serving("rate", db=db, port=port, environment=environment) as app:
            tab = Tab(browser, app)
            tab.open()
            assert people(db) == []
            tab.page.get_by_role("button", name="Sign in").click()
            tab.page.wait_for_selector("text=Nothing for you here yet.")
            tab.close()
            assert all(each.startswith(issuer) for each in tab.strangers), tab.strangers
            assert tab.complaints == []
    assert people(db) == [("ann@team.example", "oidc")]
