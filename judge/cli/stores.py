"""The evidence store of a command: opened where `--db` or VOIRDIRE_DB says, closed at the end."""

from __future__ import annotations

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge.cli.errors import tell

if TYPE_CHECKING:
    from calibration.store.database import Store


@contextmanager
def opened(context: Any) -> Iterator[Store]:
    """The store that the command line names, at the newest schema, with the shipped policies recorded."""
    new = is_new_file(context.obj)
    with opened_at(context.obj) as store:
        if new:
            tell(f"voirdire: made a new, empty evidence store, {store.where}")
        yield store


def is_new_file(where: str | Path | None) -> bool:
    """True where opening the store will make its file: worth telling, since the name may be mistyped."""
    from calibration.store.database import database_url

    url = database_url(where)
    return url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists()


@contextmanager
def opened_at(where: str | Path | None) -> Iterator[Store]:
    """The store at an address, at the newest schema, with the shipped policies recorded."""
    from calibration.policy import SHIPPED, shipped_policy
    from calibration.store.reports import add_policy, list_policies
    from calibration.store.schema import open_store

    store = open_store(where)
    try:
        with store.read() as session:
            known = {policy.digest for policy in list_policies(session=session)}
        missing = [p for p in map(shipped_policy, SHIPPED) if p.digest not in known]
        if missing:
            with store.write() as session:
                for policy in missing:
                    add_policy(
                        session=session,
                        digest=policy.digest,
                        policy_name=policy.name,
                        version=policy.version,
                        content=policy.model_dump(mode="json", by_alias=True),
                        actor="voirdire",
                        at=now(),
                    )
        yield store
    finally:
        store.engine.dispose()


@contextmanager
def newest_decision(store: Store) -> Iterator[int]:
    """The number of the newest decision before a command waits for its turn to write."""
    from calibration.store.decisions import decision_head

    with store.read() as session:
        seen = decision_head(session=session).seq
    yield seen


def now() -> datetime:
    """The moment of a command; the use cases take it as an argument."""
    return datetime.now(UTC)


def actor() -> str:
    """Who runs the command, as the system says: named in the audit trail, never trusted as a signature."""
    try:
        return os.environ.get("VOIRDIRE_ACTOR") or getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
