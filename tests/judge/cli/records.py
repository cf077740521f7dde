"""A store of its own for the commands of a test, and small files for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from typer.testing import Result

from calibration.store.database import Store
from tests.command_line import run

Run = Callable[..., Result]


def on(address: str) -> Run:
    """A command line on the store at the address."""

    def command(*args: str, stdin: str | bytes | None = None) -> Result:
        return run("--db", address, *args, stdin=stdin)

    return command


def told(result: Result) -> dict[str, Any]:
    """What a command that worked printed as JSON."""
    assert result.exit_code == 0, (result.stdout, result.stderr)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def jsonl(folder: Path, name: str, *records: Mapping[str, Any]) -> str:
    """A file of one record a line."""
    path = folder / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def support(command: Run, folder: Path) -> None:
    """Two items, their labels and verdicts in the dataset `support`, under a stub rubric."""
    items = [{"item_id": f"i{n}", "input": "q", "output": f"a {n}", "group": "g"} for n in (0, 1)]
    labels = [{"item_id": f"i{n}", "rater": "ann", "criterion": "correct", "label": "pass"} for n in (0, 1)]
    verdicts = [{"item_id": "i0", "judge": "gpt", "criterion": "correct", "label": "fail"}]
    for noun, records in (("items", items), ("labels", labels), ("verdicts", verdicts)):
        stub = () if noun == "items" else ("--stub-rubric",)
        source = jsonl(folder, f"{noun}.jsonl", *records)
        result = command(noun, "import", source, "--dataset", "support", *stub)
        assert result.exit_code == 0, result.stderr


def address(store: Store) -> str:
    """What `--db` takes to reach the store."""
    return (
        store.where if store.dialect == "sqlite" else store.engine.url.render_as_string(hide_password=False)
    )
