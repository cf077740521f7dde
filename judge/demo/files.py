"""The files that the demo leaves in its folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubrics.errors import DeclarationError
from rubrics.item import Item


@dataclass(frozen=True, slots=True)
class DemoFiles:
    """Where the demo's files lie."""

    folder: Path

    @property
    def store(self) -> Path:
        """The evidence store."""
        return self.folder / "voirdire.db"

    @property
    def page(self) -> Path:
        """The report as a page."""
        return self.folder / "report.html"

    @property
    def answers(self) -> Path:
        """The items that no judge was examined on, to grade."""
        return self.folder / "new-answers.jsonl"

    def make_folder(self) -> None:
        """Make the folder where there is none.

        Raises:
            DeclarationError: it cannot be made, or something else has its name.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DeclarationError(
                f"--out {str(self.folder)!r} cannot be a folder ({error.strerror}); give another name"
            ) from error


def write_answers(path: Path, items: Iterable[Item]) -> None:
    """Write items in the native form, one JSON object a line, in one step."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    lines = (json.dumps(item_object(item), ensure_ascii=False) + "\n" for item in items)
    draft.write_text("".join(lines), encoding="utf-8", newline="\n")
    draft.replace(path)


def item_object(item: Item) -> dict[str, Any]:
    """The item as a line of a native file: evidence fields by their own names."""
    return {
        "item_id": item.item_id,
        "input": item.input,
        "output": item.output,
        **item.evidence,
        "group": item.group,
        "tags": dict(item.tags),
        "system": item.system,
    }
