"""The apps as they are served: headers, origins, addresses, and a page that asks nobody else."""

from __future__ import annotations

import http.client
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from labeling_ui.headers import HEADERS
from tests.browser.serving import Elsewhere, Served, Tab, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module", params=["review", pytest.param("rate", marks=pytest.mark.slow)])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path
) -> Iterator[Served]:
    """An app on an empty store; one launcher starts both, so the other one is for the night."""
    db = shutil.copy(migrated_sqlite, tmp_path_factory.mktemp("served") / "empty.db")
    with serving(request.param, db=db) as app:
        yield app


def get(served: Served, path: str, **headers: str) -> http.client.HTTPResponse:
    """The answer to a request."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=10)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def test_headers_are_on_every_answer(served: Served) -> None:
    """Browser list 5: the policy and its companions come with pages, data, files and refusals."""
    for path in ("/", "/_stcore/health", "/_stcore/host-config", "/history", "/static/none.js"):
        answer = get(served, path)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS, path


def test_figures_of_use_and_agents_are_closed(served: Served) -> None:
    """What Streamlit serves to anybody is not served."""
    for path in ("/_stcore/metrics", "/_stcore/agent/openapi.json"):
        assert get(served, path).status == 404, path


def test_page_under_a_foreign_name_is_refused(served: Served) -> None:
    """A name that was pointed at this machine gets no page."""
    assert get(served, "/", Host="evil.example").status == 400


def greet(served: Served, origin: str) -> ClientConnection:
    """A web socket to the app, as a page of that origin opens one."""
    return connect(f"ws://127.0.0.1:{served.port}/_stcore/stream", origin=Origin(origin), open_timeout=10)


def test_web_socket_of_a_foreign_page_is_refused(served: Served) -> None:
    """Browser list 12: a page from elsewhere cannot open the app's web socket; the app's own can."""
    for origin in ("http://evil.example", "https://127.0.0.1.evil.example", "null", "http://localhost:3000"):
        with pytest.raises(InvalidStatus) as refused:
            greet(served, origin)
        assert refused.value.response.status_code == 403, origin
    with greet(served, served.address) as opened:
        assert opened.protocol.state.name == "OPEN"


def test_app_listens_on_this_machine_only(served: Served) -> None:
    """Browser list 12: the process listens on one port of 127.0.0.1 and on nothing else."""
    listens = [
        tuple(each.laddr)
        for each in psutil.Process(served.process.pid).net_connections("inet")
        if each.status == psutil.CONN_LISTEN
    ]
    assert listens == [("127.0.0.1", served.port)]
    with socket.socket() as other, pytest.raises(OSError, match=r"\[Errno"):
        other.connect(("127.0.0.2", served.port))


INK = "const e = document.createElement('i'); e.style.color = 'var(--vd-ink)';"
INK += "document.querySelector('.stApp').append(e); return getComputedStyle(e).color"
GROUND = "return getComputedStyle(document.querySelector('.stApp')).backgroundColor"
DRAWN = {
    "light": ("rgb(251, 250, 248)", "rgb(28, 25, 23)"),
    "dark": ("rgb(23, 22, 20)", "rgb(239, 236, 230)"),
}


def test_page_loads_under_the_policy_and_asks_nobody_else(browser: Browser, served: Served) -> None:
    """Browser lists 4 and 5: no request beyond the app and no complaint but the known one; ground and our own
    words have the colours of the mode.
    """
    for scheme, colours in DRAWN.items():
        tab = Tab(browser, served, scheme=scheme)
        tab.open()
        drawn = tuple(tab.page.evaluate(f"(() => {{ {each} }})()") for each in (GROUND, INK))
        tab.close()
        assert (tab.strangers, tab.complaints) == ([], [])
        assert drawn == colours


LEAKS = """async base => {
  const load = element => new Promise(done => {
    element.onload = element.onerror = done; document.body.append(element); setTimeout(done, 400);
  });
  const made = (tag, given) => Object.assign(document.createElement(tag), given);
  const tries = [
    load(made("img", {src: base + "/img"})),
    load(made("script", {src: base + "/script"})),
    load(made("link", {rel: "stylesheet", href: base + "/css"})),
    load(made("iframe", {src: base + "/iframe"})),
    load(made("video", {src: base + "/video"})),
    load(made("object", {data: base + "/object"})),
    load(made("div", {style: `background:url(${base}/bg)`})),
    load(made("style", {textContent: `@import url(${base}/import);`})),
    fetch(base + "/fetch").catch(() => 0),
    new Promise(done => {
      const socket = new WebSocket(base.replace("http", "ws") + "/ws");
      socket.onerror = socket.onclose = done;
    }),
  ];
  navigator.sendBeacon(base + "/beacon", "x");
  const form = made("form", {action: base + "/form", method: "post", target: "own"});
  document.body.append(made("iframe", {name: "own"}), form);
  form.submit();
  load(made("script", {textContent: "window.ran = 1"}));
  await Promise.allSettled(tries);
}"""


def leaked(browser: Browser, served: Served, elsewhere: Elsewhere, *, bypass_csp: bool) -> list[str]:
    """What the second server hears of everything that a page could load, send or run."""
    tab = Tab(browser, served, bypass_csp=bypass_csp)
    tab.open()
    tab.page.evaluate(LEAKS, elsewhere.address)
    tab.page.wait_for_timeout(300)
    assert tab.ran() is bypass_csp
    tab.close()
    return elsewhere.requests


def test_policy_alone_keeps_what_would_leak(browser: Browser, served: Served, elsewhere: Elsewhere) -> None:
    """If a text became HTML one day, nothing that it loads, sends or runs would get anywhere."""
    assert leaked(browser, served, elsewhere, bypass_csp=False) == []


@pytest.mark.slow
def test_without_the_policy_it_leaks(browser: Browser, served: Served, elsewhere: Elsewhere) -> None:
    """The test above is not idle: without the policy each of these is heard."""
    assert len(leaked(browser, served, elsewhere, bypass_csp=True)) >= 10
