"""Starts one of the apps as a process of its own: `python -m labeling_ui.launcher rate|review`.

Everything that Streamlit lets a file or the environment decide is decided here, so that no setting of
the person who starts the app opens it further.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from labeling_ui.settings import AppName, Settings, SignIn, activate, read
from labeling_ui.theme import streamlit_theme
from rubrics.characters import UNSEEN, code_point
from rubrics.errors import DeclarationError, JudgeCalibrationError

OPERATIONAL: Final = 3
"""The exit code of what cannot start; the command line passes it on."""
SWITCH_SECONDS: Final = 0.0005
"""How long a thread may keep the others of the app waiting. A page is some thirty short messages: with
Python's 5 ms the thread that sends them waits for the one that draws (measured: a third of the time from key
press to next item)."""
_SCRIPTS: Final = {AppName.RATE: "rating/app.py", AppName.REVIEW: "review/app.py"}
_TITLES: Final = {AppName.RATE: "Rating app", AppName.REVIEW: "Review app"}


def streamlit_options(settings: Settings) -> dict[str, Any]:
    """Streamlit's options of an app: closed where it is open by default, limits, and the theme."""
    options: dict[str, Any] = {
        "server.address": settings.address,
        "server.port": settings.port,
        "server.headless": True,
        "server.baseUrlPath": "",
        "server.allowedHosts": list(settings.hosts),
        "server.enableCORS": True,
        "server.enableXsrfProtection": True,
        "server.corsAllowedOrigins": [],
        "server.enableStaticServing": False,
        "server.enableAgentApi": False,
        "server.fileWatcherType": "none",
        "server.runOnSave": False,
        "server.allowRunOnSave": False,
        "server.maxUploadSize": 20,
        "server.maxMessageSize": 20,
        "server.maxWidgetStateSize": 5,
        "server.trustedUserHeaders": {},
        "browser.gatherUsageStats": False,
        "client.allowedOrigins": [],
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "client.showErrorLinks": False,
        "client.disableDataExport": True,
        "runner.magicEnabled": False,
        # a whole collection after every run takes 50 ms, in which nothing of the page is sent
        "runner.postScriptGC": False,
        "logger.hideWelcomeMessage": True,
        "logger.level": "warning",
        "secrets.files": [],
    }
    if settings.sign_in is SignIn.PROXY:
        options["server.trustedUserHeaders"] = {settings.proxy_header: "email"}
    return options | streamlit_theme()


def with_port(settings: Settings) -> Settings:
    """The settings with a port that is free now.

    Raises DeclarationError where the wanted one is taken or may not be used.
    """
    family = socket.AF_INET6 if ":" in settings.address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((settings.address, settings.port))
        except OSError as error:
            raise DeclarationError(
                f"cannot listen on {settings.address} port {settings.port} ({error.strerror}); "
                "give another with --port, or --port 0 for any free one"
            ) from error
        return settings.model_copy(update={"port": trial.getsockname()[1]})


def require_libraries(settings: Settings) -> None:
    """Refuse to start where a library is missing that this app or its sign-in needs."""
    if find_spec("streamlit") is None:
        raise DeclarationError("the apps need the library streamlit; run pip install 'streamlit>=1.61'")
    if settings.sign_in is SignIn.OIDC and find_spec("authlib") is None:
        raise DeclarationError(
            "sign-in is 'oidc' and its library is missing; run pip install 'voirdire[oidc]'"
        )


def address_of(settings: Settings) -> str:
    """The address that a person types."""
    host = f"[{settings.address}]" if ":" in settings.address else settings.address
    return f"http://{host}:{settings.port}/"


def open_once(settings: Settings) -> None:
    """Open the store and close it: a store that cannot serve is said here, not on a page."""
    from calibration.store.schema import open_store

    open_store(settings.db).engine.dispose()


def report_script_error(error: Exception) -> bool:
    """Tell the operator what went wrong on a page; the person at the page reads one sentence."""
    from labeling_ui.components import apologise

    told = "".join(traceback.format_exception(error))
    sys.stderr.write(UNSEEN.sub(lambda found: f"<{code_point(found[0])}>", told))
    apologise()
    return True


def serve(settings: Settings) -> None:
    """Serve the app until a signal ends it."""
    import streamlit as st

    from labeling_ui.headers import middleware

    activate(settings)
    app = st.App(
        Path(__file__).parent / _SCRIPTS[settings.app],
        secrets=settings.oidc.secrets() if settings.oidc else {},
        lifespan=lambda _: _announced(settings),
        middleware=middleware(hosts=settings.hosts, proxy_secret=settings.proxy_secret.get_secret_value()),
        on_script_error=report_script_error,
    )
    sys.setswitchinterval(SWITCH_SECONDS)
    app.run(config=streamlit_options(settings))


@asynccontextmanager
async def _announced(settings: Settings) -> AsyncIterator[None]:
    """Say where the app is once it is about to listen."""
    sys.stdout.write(f"{_TITLES[settings.app]}: {address_of(settings)} (Ctrl-C stops it)\n")
    sys.stdout.flush()
    yield


def end_with_parent() -> None:
    """End this process when its standard input closes: whoever started it is gone, however it went."""

    def watch() -> None:
        # not sys.stdin, whose lock a thread that waits for it would hold at the end of the process
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="end-with-parent", daemon=True).start()


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line of the launcher; people use `voirdire ui`."""
    parser = argparse.ArgumentParser(prog="python -m labeling_ui.launcher", description=__doc__)
    parser.add_argument("app", choices=[name.value for name in AppName])
    parser.add_argument("--db", help="the evidence store: an SQLite file or a PostgreSQL address")
    parser.add_argument("--port", type=int, help="the port; 0 takes any free one")
    parser.add_argument("--as", dest="name", help="who sits here; local sign-in only")
    parser.add_argument(
        "--end-with-parent", action="store_true", help="end when standard input closes, as `voirdire ui` asks"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Start the app that the arguments name; the exit code of the process.

    Being told to stop is the way an app ends: interrupted or terminated, it ends with 0.
    """
    typed = parsed(sys.argv[1:] if arguments is None else arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if typed.end_with_parent:
        end_with_parent()
    try:
        settings = read(AppName(typed.app), os.environ, db=typed.db, port=typed.port, name=typed.name)
        require_libraries(settings)
        open_once(settings)
        serve(with_port(settings))
    except JudgeCalibrationError as error:
        sys.stderr.write(f"voirdire: {error}\n")
        return OPERATIONAL
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
