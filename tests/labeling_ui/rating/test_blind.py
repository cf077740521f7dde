"""What the rating app reads, and what it lets texts do."""

from __future__ import annotations

import importlib
import pkgutil
import re
from typing import Any

import sqlalchemy as sa

import calibration.store
from calibration.store import blind
from calibration.store.columns import Row
from labeling_ui.rating import here
from rubrics.item import Item
from tests.calibration.labeling import world
from tests.labeling_ui.hostile import hostile
from tests.labeling_ui.rating.conftest import Opens, plain
from tests.labeling_ui.rating.test_adjudicate import at_work, disputed

ELSEWHERE = "http://elsewhere.test"


def secret_tables() -> set[str]:
    """Every table that raters' code may not read."""
    for module in pkgutil.iter_modules(calibration.store.__path__):
        importlib.import_module(f"calibration.store.{module.name}")
    return set(Row.metadata.tables) - set(blind.READABLE)


def test_no_judge_table_is_read_on_any_page(opens: Opens) -> None:
    """Listening to every statement: none of Label, My history and Adjudicate names a table of a judge."""
    room = disputed(opens)
    room.sit("ann")
    room.patch.setenv("VOIRDIRE_DB", str(room.db))
    heard: list[str] = []

    def hear(_c: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        heard.append(statement)

    for engine in (here.store().engine, here.store()._reader):
        sa.event.listen(engine, "before_cursor_execute", hear)
    room.sit("ann").go("history").reload()
    at_work(room).press("Pass").write("so").press("Fail")
    words = set(re.findall(r"\w+", " ".join(heard)))
    assert len(heard) > 40
    assert {"assignment", "item", "assessment"} <= words
    assert words & secret_tables() == set()
    assert {"verdict", "judge", "report", "decision"} <= secret_tables()


def test_hostile_texts_reach_no_markdown(opens: Opens) -> None:
    """Texts that try to act are in escaped HTML only: no element that reads Markdown carries one."""
    texts = list(hostile(ELSEWHERE).values())

    def make(number: int) -> Item:
        text = texts[number % len(texts)].encode("utf-8", "replace").decode("utf-8").replace("\0", "")
        return world.item(number, output=text, evidence={"policy": text}, input=f"question {number}")

    room = opens(items=12, make=make, asked=plain())
    seat = room.sit("ann")
    for _ in range(4):
        seat.write("![x](http://elsewhere.test/note)").press("Fail")
        assert not seat.app.markdown
        assert not seat.app.caption
        for each in seat.app.button:
            assert "elsewhere" not in each.label
        assert not re.search(r"<(script|img|iframe|object|link)\b", seat.html)
    seat.go("history")
    assert not seat.app.markdown
    assert not re.search(r"<(script|img|iframe|object|link)\b", seat.html)
