"""Someone at the review app, driven without a browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2.component_manager import BidiComponentManager  # noqa: TID251
from streamlit.testing.v1 import AppTest  # noqa: TID251 -- the pages are run as Streamlit runs them

from labeling_ui.review import here
from tests.labeling_ui.html_text import words

APP = Path(here.__file__).with_name("app.py")


class Looking:
    """One tab of the review app."""

    def __init__(self, db: Path, name: str | None = None, *, user: Mapping[str, Any] | None = None) -> None:
        self.db = db
        self.name = name
        self.app = AppTest.from_file(APP, default_timeout=60)
        self.app._bidi_component_manager = BidiComponentManager()
        self.app.user = dict(user or {})
        self.run()

    @contextmanager
    def _environment(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("VOIRDIRE_DB", str(self.db))
            if self.name is not None:
                patch.setenv("VOIRDIRE_UI_AS", self.name)
            yield

    def run(self) -> Looking:
        """Run the page."""
        with self._environment():
            self.app.run()
        assert not self.app.exception, self.app.exception
        return self

    def enter(self, name: str) -> Looking:
        """Type a name at the door and go on."""
        self.app.text_input[0].set_value(name)
        with self._environment():
            self.app.button[0].click().run()
        assert not self.app.exception, self.app.exception
        return self

    def go(self, view: str) -> Looking:
        """Another page of the app."""
        with self._environment():
            self.app.switch_page(f"views/{view}.py").run()
        assert not self.app.exception, self.app.exception
        return self

    def choose(self, session: str) -> Looking:
        """Pick a session."""
        (box,) = self.app.selectbox
        with self._environment():
            box.select_index(box.options.index(session)).run()
        assert not self.app.exception, self.app.exception
        return self

    @property
    def html(self) -> str:
        """All that the page shows beside its widgets."""
        bodies = (str(each.proto.body) for each in self.app.get("html"))
        return "\n".join(body for body in bodies if "<style>" not in body)

    @property
    def words(self) -> str:
        """What a person reads of it."""
        return words(self.html)
