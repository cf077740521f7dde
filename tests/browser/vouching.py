"""Whoever vouches for people, small and on this machine: an OpenID Connect provider and a reverse proxy."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

_BUFFER = 65_536


class Provider(BaseHTTPRequestHandler):
    """Answers for a provider at which one person is always signed in; it asks nothing."""

    key: RSAKey
    person: Mapping[str, str]
    client_id: str
    nonces: dict[str, str]

    @property
    def issuer(self) -> str:
        """The address of the provider."""
        return f"http://{self.headers['Host']}"

    def do_GET(self) -> None:
        """Say where the ends are, give the keys, or send a person back with a code."""
        asked = urlsplit(self.path)
        if asked.path == "/authorize":
            self._authorize({name: values[0] for name, values in parse_qs(asked.query).items()})
        elif asked.path == "/jwks":
            self._json({"keys": [self.key.as_dict(private=False)]})
        else:
            ends = {
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
            }
            self._json({"issuer": self.issuer, "jwks_uri": f"{self.issuer}/jwks", **ends, **_SUPPORTED})

    def do_POST(self) -> None:
        """Give the signed word for a code."""
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": self.client_id, "iat": now, "exp": now + 300, **self.person}
        if nonce := self.nonces.get(form["code"][0]):
            claims["nonce"] = nonce
        token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.key)
        self._json({"access_token": "a", "token_type": "Bearer", "expires_in": 300, "id_token": token})

    def _authorize(self, asked: Mapping[str, str]) -> None:
        code = base64.urlsafe_b64encode(asked["state"].encode()).decode()
        self.nonces[code] = asked.get("nonce", "")
        self.send_response(302)
        self.send_header(
            "Location", f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"
        )
        self.end_headers()

    def _json(self, value: Mapping[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""


@contextmanager
def provider(person: Mapping[str, str], *, client_id: str) -> Iterator[str]:
    """The address of a provider at which that person is always signed in."""
    key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
    own = {"key": key, "person": person, "client_id": client_id, "nonces": {}}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Own", (Provider,), own))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


_SUPPORTED = {
    "response_types_supported": ["code"],
    "subject_types_supported": ["public"],
    "id_token_signing_alg_values_supported": ["RS256"],
    "scopes_supported": ["openid", "email", "profile"],
}


@contextmanager
def reverse_proxy(port: int, headers: Mapping[str, str]) -> Iterator[str]:
    """The address of a proxy to the port that adds headers to each request and drops the client's own.

    Each request gets a connection of its own, so that no later one passes without them.
    """
    own = {name.lower() for name in headers} | {"connection"}
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", port)) as server, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head and (more := client.recv(_BUFFER)):
                head += more
            first, _, rest = head.partition(b"\r\n")
            lines, _, body = rest.partition(b"\r\n\r\n")
            kept = [line for line in lines.split(b"\r\n") if line.split(b":")[0].decode().lower() not in own]
            upgrade = b"Upgrade" if b"upgrade: websocket" in lines.lower() else b"close"
            added = [f"{name}: {value}".encode() for name, value in headers.items()]
            server.sendall(b"\r\n".join([first, *kept, *added, b"Connection: " + upgrade, b"", body]))
            back = threading.Thread(target=_pump, args=(server, client), daemon=True)
            back.start()
            _pump(client, server)
            back.join(timeout=30)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_BUFFER):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
