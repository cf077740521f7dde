"""The apps as people meet them: a process of its own, a browser, and somebody who listens elsewhere."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from tests.source_tree import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

STARTS_WITHIN = 60.0
"""Seconds; nobody measures by it, it only ends a wait for what never comes."""
BLOCKED_SCRIPT = "Executing inline script violates"
"""The one complaint that is known: a script in Streamlit's own page, which the policy blocks."""


@dataclass(slots=True)
class Served:
    """An app that runs."""

    process: subprocess.Popen[str]
    address: str
    """Without a slash at the end."""
    said: list[str] = field(default_factory=list)
    """The lines of its standard error so far."""
    windows: dict[bool, BrowserContext] = field(default_factory=dict)
    """The browser's windows on it, with and without the content policy."""

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.address.rpartition(":")[2])


@contextmanager
def serving(
    app: str,
    *,
    db: Path | str,
    name: str | None = None,
    port: int = 0,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Served]:
    """An app in a process of its own, ready to answer; ended by its own process id."""
    command = [sys.executable, "-P", "-m", "labeling_ui.launcher", app, "--port", str(port)]
    command += ["--as", name] if name else []
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("STREAMLIT_", "VOIRDIRE_"))
    }
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**kept, "VOIRDIRE_DB": str(db), **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield _ready(process)
        finally:
            process.terminate()
            process.wait(timeout=30)


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def _ready(process: subprocess.Popen[str]) -> Served:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    found = re.search(r"http://\S+(?=/ )", line)
    if found is None:
        raise AssertionError(f"the app did not start: {line!r} {process.stderr.read()!r}")
    served = Served(process, found[0])
    threading.Thread(target=lambda: served.said.extend(process.stderr or ()), daemon=True).start()
    until = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{served.address}/_stcore/health", timeout=5):
                return served
        except urllib.error.HTTPError:
            return served  # it answers, if only to refuse
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"the app never answered: {served.said}")


@dataclass(slots=True)
class Elsewhere:
    """A second server: whatever asks it for something was not kept from doing so."""

    address: str
    requests: list[str] = field(default_factory=list)


@contextmanager
def listening() -> Iterator[Elsewhere]:
    """A server that answers everything and remembers it."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            heard.requests.append(f"{self.command} {self.path}")
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST = do_HEAD = do_OPTIONS = do_PUT = _answer

        def log_message(self, format: str, *args: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    heard = Elsewhere(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


class Tab:
    """A page in the browser with all that it asked for beyond the app and complained of.

    The tabs of one server lie in one window: each after the first finds the scripts of the page there, else
    half of the time of a test goes into reading them again.
    """

    def __init__(
        self,
        browser: Browser,
        served: Served,
        *,
        width: int = 1440,
        height: int = 900,
        scheme: str = "light",
        bypass_csp: bool = False,
    ) -> None:
        self.strangers: list[str] = []
        """Addresses asked for that are not the app's."""
        self.complaints: list[str] = []
        """What the console said, but for the one known complaint."""
        self.served = served
        if bypass_csp not in served.windows:
            served.windows[bypass_csp] = browser.new_context(bypass_csp=bypass_csp)
        self.page: Page = served.windows[bypass_csp].new_page()
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        own = (f"{served.address}/", f"{served.address.replace('http', 'ws', 1)}/", "data:", "blob:")
        self.page.on(
            "request",
            lambda request: None if request.url.startswith(own) else self.strangers.append(request.url),
        )
        self.page.on("console", lambda message: self._complain(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))

    def _complain(self, text: str) -> None:
        if not text.startswith(BLOCKED_SCRIPT):
            self.complaints.append(text)

    def open(self, path: str = "/") -> Page:
        """The page at a path of the app, drawn to the end."""
        self.page.goto(f"{self.served.address}{path}")
        self.settled()
        return self.page

    def settled(self) -> None:
        """Wait until the app has drawn what it is asked for."""
        self.page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
        self.page.wait_for_selector("[data-testid=stMainBlockContainer] [data-testid=stHtml]")

    def wide(self) -> int:
        """How wide the page is, whatever the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth"))

    def ran(self) -> bool:
        """Whether any text of the hostile corpus ran in the page."""
        return bool(self.page.evaluate("typeof window.ran === 'number'"))

    def close(self) -> None:
        """Leave the page."""
        self.page.close()
