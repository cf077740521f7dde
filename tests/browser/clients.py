"""Raters without a browser: clients that speak the websocket of the app, for measuring many at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg  # noqa: TID251 -- the wire itself
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg  # noqa: TID251
from websockets.sync.client import ClientConnection, connect

from calibration.labeling.people import Role, grant, sign_in
from calibration.store.schema import open_store

ENVIRONMENT = {"VOIRDIRE_UI_SIGN_IN": "proxy"}
"""How the app must be started: each client says who it is by the header of a proxy."""
ANSWER_WITHIN = 30.0
"""Seconds; nobody measures by it."""


def introduce(db: Path, raters: Sequence[str]) -> None:
    """Make the raters known, with the role of a rater."""
    store = open_store(db)
    now = datetime.now(UTC)
    for rater in raters:
        sign_in(store=store, handle=rater, auth="proxy", subject=rater, now=now)
        grant(store=store, handle=rater, role=Role.RATER, given=True, actor="lead", now=now)
    store.close()


@dataclass(slots=True)
class Worked:
    """What one client did and saw."""

    waits: list[float] = field(default_factory=list)
    """Seconds from each press to the next item having been sent."""
    presses: int = 0


class Client:
    """One rater's connection."""

    def __init__(self, address: str, rater: str) -> None:
        self._leave = ExitStack()
        opening = connect(
            f"{address.replace('http', 'ws', 1)}/_stcore/stream",
            subprotocols=["streamlit"],  # type: ignore[list-item]
            additional_headers={"X-Forwarded-User": rater},
            max_size=None,
        )
        self._socket: ClientConnection = self._leave.enter_context(opening)
        self._buttons: dict[str, str] = {}
        self._send([])

    def _send(self, pressed: Sequence[str]) -> None:
        message = BackMsg()
        message.rerun_script.query_string = ""
        for button in pressed:
            state = message.rerun_script.widget_states.widgets.add()
            state.id, state.trigger_value = button, True
        self._socket.send(message.SerializeToString())
        self._hear()

    def _hear(self) -> None:
        """Read until the script has run to its end, and remember the buttons that it drew."""
        found: dict[str, str] = {}
        while True:
            message = ForwardMsg()
            raw: Any = self._socket.recv(timeout=ANSWER_WITHIN)
            message.ParseFromString(raw)
            kind = message.WhichOneof("type")
            if kind == "delta" and message.delta.new_element.WhichOneof("type") == "button":
                button = message.delta.new_element.button
                if not button.disabled:
                    found[button.label] = button.id
            if kind == "script_finished":
                if message.script_finished == ForwardMsg.ScriptFinishedStatus.FINISHED_SUCCESSFULLY:
                    break
                found = {}
        self._buttons = found

    @property
    def at_work(self) -> bool:
        """True while there is something to answer."""
        return "Pass" in self._buttons

    def press(self, label: str) -> float:
        """Press a button; the seconds until the next screen was sent whole."""
        begun = time.perf_counter()
        self._send([self._buttons[label]])
        return time.perf_counter() - begun

    def close(self) -> None:
        """Leave."""
        self._leave.close()


def work(address: str, rater: str, *, presses: int, think: float, delay: float) -> Worked:
    """One rater who presses Pass so many times, thinking in between."""
    done = Worked()
    client = Client(address, rater)
    pause = threading.Event()
    pause.wait(delay)
    for _ in range(presses):
        pause.wait(think)
        if not client.at_work:
            break
        done.waits.append(client.press("Pass"))
        done.presses += 1
    client.close()
    return done


def crowd(address: str, raters: Sequence[str], *, presses: int, think: float) -> list[Worked]:
    """All raters at once, their presses spread over the time of thinking."""
    with ThreadPoolExecutor(len(raters)) as pool:
        begun = [
            pool.submit(work, address, rater, presses=presses, think=think, delay=place * think / len(raters))
            for place, rater in enumerate(raters)
        ]
        return [each.result() for each in begun]
