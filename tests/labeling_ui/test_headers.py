"""Every answer carries the headers, and what no page needs answers nothing."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from labeling_ui.headers import HEADERS, PROXY_SECRET_HEADER, middleware
from labeling_ui.settings import LOOPBACK_HOSTS

SECRET = "a-word-of-the-proxy"


async def page(request: Request) -> PlainTextResponse:
    """A page that says who the proxy says that asks."""
    return PlainTextResponse(
        request.headers.get("X-Forwarded-User", request.headers.get("Origin", "nobody")),
        headers={"X-Frame-Options": "ALLOW"},
    )


async def socket(websocket: WebSocket) -> None:
    """A web socket that says hello."""
    await websocket.accept()
    await websocket.send_text(f"{websocket.headers['host']} {websocket.headers.get('origin')}")
    await websocket.close()


def client(*, proxy_secret: str = "", hosts: tuple[str, ...] = LOOPBACK_HOSTS) -> TestClient:
    """A client of a small app behind the layers."""
    app = Starlette(
        routes=[Route("/{path:path}", page), WebSocketRoute("/_stcore/stream", socket)],
        middleware=middleware(hosts=hosts, proxy_secret=proxy_secret),
    )
    return TestClient(app, base_url="http://127.0.0.1:8601")


@pytest.mark.parametrize("path", ["/", "/label", "/_stcore/health", "/_stcore/metrics"])
def test_every_answer_carries_the_headers(path: str) -> None:
    """Pages, health and refusals alike; a header that the app sets itself does not weaken ours."""
    answer = client().get(path)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert answer.headers.get_list("X-Frame-Options") == ["DENY"]


def test_policy_allows_no_script_but_our_own_and_no_foreign_address() -> None:
    """No inline script, no eval, no other host, no frame."""
    policy = dict(part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; "))
    assert policy["script-src"].split() == ["'self'", "blob:"]
    assert policy["connect-src"] == "'self'"
    assert policy["object-src"] == policy["frame-ancestors"] == "'none'"
    assert not any("http" in value or "*" in value or "ws:" in value for value in policy.values())


@pytest.mark.parametrize(
    "path",
    [
        "/_stcore/metrics",
        "/_stcore/agent",
        "/_stcore/agent/openapi.json",
        "/label/_stcore/metrics",
        "/_stcore%2Fmetrics",
    ],
)
def test_what_no_page_needs_is_not_found(path: str) -> None:
    """Figures of use and the interface that drives pages are closed, under every page's path too."""
    assert client().get(path).status_code == 404


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", ""])
def test_foreign_name_is_refused(host: str) -> None:
    """A page that renamed itself to this machine reaches nothing."""
    assert client().get("/", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize("host", ["localhost", "localhost:8601", "127.0.0.1:9"])
def test_own_name_is_served(host: str) -> None:
    """The names of this machine are served, whatever the port."""
    assert client().get("/", headers={"Host": host}).status_code == 200


def test_proxy_word_opens_and_its_absence_closes() -> None:
    """With a secret, a request without it or with another is refused, pages and web sockets alike."""
    behind = client(proxy_secret=SECRET)
    assert behind.get("/", headers={"X-Forwarded-User": "mallory"}).status_code == 403
    assert behind.get("/", headers={PROXY_SECRET_HEADER: "guess"}).status_code == 403
    own = {"Host": "localhost"}
    given = {PROXY_SECRET_HEADER: SECRET, "X-Forwarded-User": "ann", **own}
    assert behind.get("/", headers=given).text == "ann"
    with pytest.raises(WebSocketDisconnect), behind.websocket_connect("/_stcore/stream", headers=own):
        pass
    with behind.websocket_connect("/_stcore/stream", headers=given) as opened:
        assert opened.receive_text() == "localhost None"


def test_web_socket_of_a_foreign_name_is_refused() -> None:
    """The host name is looked at before a web socket is opened."""
    with (
        pytest.raises(WebSocketDisconnect),
        client().websocket_connect("/_stcore/stream", headers={"Host": "evil.example"}),
    ):
        pass


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost:3000", "http://127.0.0.1:8602", "http://127.0.0.1", ""],
)
def test_page_of_another_origin_is_refused(origin: str) -> None:
    """Another host, another port of this machine, or a page without an origin of its own."""
    sent = {"Origin": origin, "Host": "127.0.0.1:8601"}
    answer = client().get("/", headers=sent)
    assert answer.status_code == 403
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    with pytest.raises(WebSocketDisconnect), client().websocket_connect("/_stcore/stream", headers=sent):
        pass


def test_own_page_is_served() -> None:
    """The same host and port are let in; a web socket keeps its origin, for which a cookie was made."""
    sent = {"Origin": "http://127.0.0.1:8601", "Host": "127.0.0.1:8601"}
    assert client().get("/", headers=sent).text == "nobody"
    with client().websocket_connect("/_stcore/stream", headers=sent) as opened:
        assert opened.receive_text() == "127.0.0.1:8601 http://127.0.0.1:8601"


def test_page_under_a_given_name_is_served_behind_a_proxy() -> None:
    """A proxy may ask under another host name than the page's: Streamlit sees the page's own."""
    behind = client(hosts=("rate.example", "localhost"))
    sent = {"Origin": "https://rate.example", "Host": "localhost:8601"}
    assert behind.get("/", headers=sent).text == "nobody"
    with behind.websocket_connect("/_stcore/stream", headers=sent) as opened:
        assert opened.receive_text() == "rate.example https://rate.example"
    assert behind.get("/", headers={**sent, "Origin": "https://evil.example"}).status_code == 403
