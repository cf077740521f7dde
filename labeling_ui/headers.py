"""What every answer of the apps carries, and which addresses answer nothing: ASGI middleware."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from labeling_ui.settings import LOOPBACK_HOSTS

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'self'",
        # custom components load as blob modules; no inline script runs
        "script-src 'self' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
CLOSED: Final = ("/_stcore/metrics", "/_stcore/agent")
"""What Streamlit serves to anybody and no page needs: figures of use, and an interface that drives pages."""
PROXY_SECRET_HEADER: Final = "X-Voirdire-Proxy"


class SecurityHeaders:
    """Puts the headers on every HTTP answer and closes what no page needs."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        if scope["type"] == "http" and _closed(scope["path"]):
            await PlainTextResponse("Not Found", 404)(scope, receive, send_with_headers)
            return
        await self.app(scope, receive, send_with_headers)


def _closed(path: str) -> bool:
    return any(part in path for part in CLOSED)


class OwnOrigin:
    """Refuses requests that a page from elsewhere makes, and spares Streamlit the question.

    Streamlit takes any port of this machine for its own, and asks a host in the internet for this machine's
    address before it refuses a foreign page (seen with 1.67). What it is handed is always its own origin.
    """

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str]) -> None:
        self.app = app
        self.named = {host for host in hosts if host not in LOOPBACK_HOSTS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request whose origin was looked at."""
        headers = Headers(scope=scope) if scope["type"] in {"http", "websocket"} else Headers()
        origin, host = headers.get("origin"), headers.get("host", "")
        if origin is None:
            await self.app(scope, receive, send)
        elif self._own(origin, host):
            await self.app(_settled(scope, urlsplit(origin).netloc), receive, send)
        else:
            await _refuse(scope, receive, send, "Forbidden: this page belongs to another address")

    def _own(self, origin: str, host: str) -> bool:
        """Whether a page of that origin is one of ours: of the very host and port, or of a given name."""
        page = urlsplit(origin)
        return page.netloc != "" and (page.netloc == host or page.hostname in self.named)


def _settled(scope: Scope, netloc: str) -> Scope:
    """The request as Streamlit takes it for its own page's: a web socket's host is that of its origin.

    A web socket keeps its origin, for which the sign-in cookie was made; of other requests nothing but an
    answer for foreign pages depends on it.
    """
    dropped = b"host" if scope["type"] == "websocket" else b"origin"
    kept = [(name, value) for name, value in scope["headers"] if name != dropped]
    if dropped == b"host":
        kept.append((b"host", netloc.encode("latin-1")))
    return {**scope, "headers": kept}


async def _refuse(scope: Scope, receive: Receive, send: Send, said: str) -> None:
    if scope["type"] == "websocket":
        await WebSocketClose(1008)(scope, receive, send)
    else:
        await PlainTextResponse(said, 403)(scope, receive, send)


class OnlyThroughProxy:
    """Refuses whoever does not bring the word that the proxy adds to each request."""

    def __init__(self, app: ASGIApp, *, secret: str) -> None:
        self.app = app
        self.secret = secret.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of the proxy."""
        if scope["type"] not in {"http", "websocket"}:
            await self.app(scope, receive, send)
            return
        given = Headers(scope=scope).get(PROXY_SECRET_HEADER, "").encode("latin-1")
        if hmac.compare_digest(given, self.secret):
            await self.app(scope, receive, send)
        else:
            await _refuse(scope, receive, send, "Forbidden: this address answers its proxy only")


def middleware(*, hosts: Sequence[str], proxy_secret: str = "") -> list[Middleware]:
    """The layers around the app, outermost first: headers, names of this host, origin, the proxy's word."""
    layers = [
        Middleware(SecurityHeaders),
        Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
        Middleware(OwnOrigin, hosts=list(hosts)),
    ]
    if proxy_secret:
        layers.append(Middleware(OnlyThroughProxy, secret=proxy_secret))
    return layers
