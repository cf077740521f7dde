"""A labeling session to sit in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from calibration.store.database import Store
from labeling_ui.rating import here
from rubrics.rubric import Rubric
from tests.calibration.labeling import world
from tests.labeling_ui.rating.seat import Room

Opens = Callable[..., Room]


def plain(criteria: int = 1, version: int = 1) -> Rubric:
    """The rubric of the small world without ways to fail, so that a fail takes one key."""
    asked = world.rubric(criteria=criteria, version=version)
    kept = tuple(each.model_copy(update={"failure_modes": ()}) for each in asked.criteria)
    return asked.model_copy(update={"criteria": kept})


@pytest.fixture
def opens(sqlite_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opens]:
    """Opens a session as the world does, under the plain rubric unless told."""

    def opening(**how: Any) -> Room:
        world.opened(sqlite_store, **{"asked": plain(), **how})
        return Room(sqlite_store, tmp_path / "voirdire.db", monkeypatch)

    yield opening
    here._store.clear()
