"""Someone at the rating app, driven without a browser: presses buttons, reads what the page says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2.component_manager import BidiComponentManager  # noqa: TID251
from streamlit.testing.v1 import AppTest  # noqa: TID251 -- the pages are run as Streamlit runs them

from calibration.labeling import rating
from calibration.labeling.records import Nothing, Task
from calibration.store.database import Store
from labeling_ui.rating import here
from tests.calibration.labeling import world

APP = Path(here.__file__).with_name("app.py")


class Clock:
    """The server's clock, moved by hand; every reading is a little later than the one before."""

    def __init__(self) -> None:
        self.at = world.NOW + timedelta(minutes=5)

    def __call__(self) -> datetime:
        """The moment now."""
        self.at += timedelta(milliseconds=1)
        return self.at.astimezone(UTC)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.at += timedelta(seconds=seconds)


class Seat:
    """One tab of the app."""

    def __init__(self, room: Room, who: str | None, *, user: Mapping[str, Any] | None = None) -> None:
        self.room = room
        self.who = who
        self.app = AppTest.from_file(APP, default_timeout=60)
        # else every tab looks through all installed packages for components: a second each
        self.app._bidi_component_manager = BidiComponentManager()
        self.app.user = dict(user or {})
        self._run(self.app.run)

    def _run(self, act: Callable[[], object]) -> None:
        with self.room.patch.context() as patch:
            patch.setenv("VOIRDIRE_DB", str(self.room.db))
            if self.who is not None:
                patch.setenv("VOIRDIRE_UI_AS", self.who)
            act()
        assert not self.app.exception, self.app.exception

    def button(self, label: str) -> Any:
        """The button with the words."""
        found = [each for each in self.app.button if each.label.replace("\\", "") == label]
        assert len(found) == 1, (label, [each.label for each in self.app.button])
        return found[0]

    def press(self, label: str, *, after: float = 2.0) -> Seat:
        """Press the button so many seconds after the page was shown."""
        self.room.clock.wait(after)
        self._run(self.button(label).click().run)
        return self

    def reload(self) -> Seat:
        """Run the page again, with nothing pressed."""
        self._run(self.app.run)
        return self

    def go(self, view: str) -> Seat:
        """Another page of the app."""
        self._run(lambda: self.app.switch_page(f"views/{view}.py").run())
        return self

    def write(self, words: str) -> Seat:
        """Type into the field of the page; nothing is sent before the next press."""
        (field,) = self.app.text_area
        field.set_value(words)
        return self

    def type_name(self, name: str) -> Seat:
        """Type a name at the door."""
        (field,) = self.app.text_input
        field.set_value(name)
        return self

    @property
    def labels(self) -> list[str]:
        """The words on all buttons."""
        return [each.label.replace("\\", "") for each in self.app.button]

    @property
    def html(self) -> str:
        """All that the page shows beside its widgets."""
        bodies = (str(each.proto.body) for each in self.app.get("html"))
        return "\n".join(body for body in bodies if "<style>" not in body)

    @property
    def number(self) -> int:
        """Which item is on the page, from the question that it asks."""
        return int(self.html.partition("question ")[2].partition("<")[0])


class Room:
    """A session and the tabs of those in it, on one clock."""

    def __init__(self, store: Store, db: Path, patch: pytest.MonkeyPatch) -> None:
        self.store = store
        self.db = db
        self.patch = patch
        self.clock = Clock()
        patch.setattr(here, "clock", self.clock)
        patch.delenv("VOIRDIRE_UI_AS", raising=False)

    def sit(self, who: str | None) -> Seat:
        """A new tab of this person."""
        return Seat(self, who)

    def next_of(self, who: str) -> Task:
        """What the store says is next for the person."""
        found = rating.next_task(store=self.store, rater=who, now=self.clock())
        assert not isinstance(found, Nothing), found
        return found

    def rows(self, table: str, columns: str = "*") -> list[tuple[Any, ...]]:
        """The rows of a table, oldest first."""
        order = {"assessment": "recorded_at, revision", "rater_event": "at", "audit_event": "seq"}.get(
            table, "recorded_at"
        )
        with self.store.read() as session:
            found = session.connection().exec_driver_sql(f"SELECT {columns} FROM {table} ORDER BY {order}")
            return [tuple(row) for row in found]


def everything(seat: Seat) -> str:
    """All that the server sent for the page, keys of widgets and hidden elements included."""

    def sent(block: Any) -> Iterator[str]:
        for child in block.children.values():
            if hasattr(child, "children"):
                yield str(child.proto)
                yield from sent(child)
            elif "<style>" not in str(child.proto):
                yield str(child.proto)

    return "\n".join(sent(seat.app._tree))
