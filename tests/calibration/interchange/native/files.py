"""Small native files, and imports of them, for the tests of the importers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from calibration.interchange.native.core import By, Imported, ImportOptions
from calibration.interchange.native.export import export_labels, export_verdicts
from calibration.interchange.native.items import import_items
from calibration.interchange.native.labels import import_labels
from calibration.interchange.native.stubs import RubricOptions
from calibration.interchange.native.verdicts import import_verdicts
from calibration.store.database import Store
from calibration.store.items import Scope

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
BY = By("lead", NOW)
DATASET = "support"
STUB = RubricOptions(stub=True)
IMPORTS = {"items": import_items, "labels": import_labels, "verdicts": import_verdicts}


def write(folder: Path, *records: Mapping[str, Any] | str, name: str = "file.jsonl") -> str:
    """The path of a file with one record a line; a text is a line as it stands."""
    path = folder / name
    lines = [each if isinstance(each, str) else json.dumps(each) for each in records]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return str(path)


def item(number: int, **more: Any) -> dict[str, Any]:
    """An item of one output."""
    return {"item_id": f"i{number}", "input": f"question {number}", "output": f"answer {number}", **more}


def pair(number: int, **more: Any) -> dict[str, Any]:
    """An item of two outputs."""
    return {"item_id": f"i{number}", "input": f"q {number}", "output_a": "a", "output_b": "b", **more}


def label(number: int, said: Any = "pass", rater: str = "ann", **more: Any) -> dict[str, Any]:
    """A label."""
    return {"item_id": f"i{number}", "rater": rater, "criterion": "correct", "label": said, **more}


def ruling(number: int, said: Any = "pass", rater: str = "chief", **more: Any) -> dict[str, Any]:
    """An adjudication."""
    return {**label(number, said, rater), "kind": "adjudication", "note": "the clause decides", **more}


def verdict(number: int, said: Any = "pass", judge: str = "gpt", **more: Any) -> dict[str, Any]:
    """A verdict."""
    return {"item_id": f"i{number}", "judge": judge, "criterion": "correct", "label": said, **more}


def options(**changes: Any) -> ImportOptions:
    """How a file is imported into the dataset of the tests, under a stub rubric."""
    given: dict[str, Any] = {"dataset": DATASET, "rubric": STUB}
    return ImportOptions(**(given | changes))


def take(store: Store, kind: str, source: str, **changes: Any) -> Imported:
    """What became of a file."""
    return IMPORTS[kind](store=store, source=source, options=options(**changes), by=BY)


def with_items(store: Store, folder: Path, count: int = 4, *, pairs: bool = False) -> None:
    """Items i0, i1, ... in the dataset of the tests."""
    records = [pair(n) if pairs else item(n) for n in range(count)]
    take(store, "items", write(folder, *records, name="items.jsonl"))


def rows(store: Store) -> dict[str, int]:
    """How many rows every table holds."""
    with store.read() as session:
        connection = session.connection()
        names = sorted(sa.inspect(connection).get_table_names())
        counted = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM {name}" for name in names)
        found = {name: int(count) for name, count in connection.exec_driver_sql(counted)}
    return {name: found[name] for name in names}


def labels_of(store: Store, dataset: str = DATASET) -> list[dict[str, Any]]:
    """The labels and adjudications as native records."""
    with store.read() as session:
        return list(export_labels(session=session, scope=Scope(dataset=dataset)))


def verdicts_of(store: Store, dataset: str = DATASET) -> list[dict[str, Any]]:
    """The verdicts as native records."""
    with store.read() as session:
        return list(export_verdicts(session=session, scope=Scope(dataset=dataset)))
