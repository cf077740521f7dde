"""What many tests begin with is laid down once, and copied into the store of each."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from calibration.store.database import Store

_Told = TypeVar("_Told")

_LAID: dict[Hashable, tuple[sqlite3.Connection, Any]] = {}
"""By world: a copy of the database in memory, and what laying it down told."""


def once(store: Store, world: Hashable, lay: Callable[[], _Told]) -> _Told:
    """What `lay` told when it filled an empty store; on SQLite later stores get a copy of its rows.

    Args:
        store: the empty store of a test, which holds the world afterwards.
        world: names everything that `lay` depends on.
        lay: fills the store; what it returns must know nothing of this one store.
    """
    if store.dialect != "sqlite":
        return lay()
    if world in _LAID:
        copy, told = _LAID[world]
        _backup(copy, store, into_store=True)
        return told  # type: ignore[no-any-return]
    told = lay()
    copy = sqlite3.connect(":memory:")
    _backup(copy, store, into_store=False)
    _LAID[world] = (copy, told)
    return told


def _backup(copy: sqlite3.Connection, store: Store, *, into_store: bool) -> None:
    connection = store.engine.raw_connection()
    try:
        own: Any = connection.driver_connection
        source, target = (copy, own) if into_store else (own, copy)
        source.backup(target)
    finally:
        connection.close()
