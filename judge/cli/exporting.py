"""What the `export` commands share: their options, and a file that is whole or not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judge.cli.errors import tell
from rubrics.errors import DeclarationError, RecordError

if TYPE_CHECKING:
    from sqlmodel import Session

STDOUT = "-"
ExportFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="FILE.jsonl or FILE.csv, which must not exist; - is standard output."
    ),
]
RubricFilter = Annotated[
    str | None, typer.Option("--rubric", metavar="NAME[@V]", help="One published rubric; without it all.")
]
Criterion = Annotated[
    str | None, typer.Option(metavar="NAME", help="One criterion of the rubric; without it all.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]


def require_dataset(session: Session, dataset: str) -> None:
    """Refuse a dataset without items, whose empty export would look like an answer.

    Raises:
        RecordError: no such dataset.
    """
    from calibration.store.items import Scope, count_items

    if not count_items(session=session, scope=Scope(dataset=dataset)):
        raise RecordError(f"no dataset {dataset!r} is recorded; `voirdire items list` shows which are")


def rubric_digest(session: Session, ref: str | None) -> str | None:
    """The digest of the named rubric, None where none is named."""
    from judge.cli.lookups import recorded_rubric

    return recorded_rubric(session, ref).digest if ref is not None else None


def write_export(
    file: str,
    kind: str,
    dataset: str,
    records: Generator[Mapping[str, Any], None, None],
    columns: Sequence[str],
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Write the records as JSON Lines or, for a name that ends in .csv, as CSV, and say how many.

    Raises:
        DeclarationError: the file exists, or cannot be written.
    """
    from calibration.interchange.native.writing import csv_lines, json_lines

    if file == STDOUT and as_json:
        raise typer.BadParameter("give a FILE: both cannot go to standard output", param_hint="--json")
    counter = _Counter(records)
    lines = csv_lines(counter, columns) if file.lower().endswith(".csv") else json_lines(counter)
    with closing(records):  # its cursor, also where the reader of a pipe went away
        if file == STDOUT:
            sys.stdout.writelines(lines)
        else:
            _write_whole(Path(file), lines, force=force)
    told = f"{counter.count:,} {kind} of {dataset}"
    stamp = f", {counter.constructed:,} of them constructed" if counter.constructed else ""
    if as_json:
        from judge.cli.output import print_json

        counts = {kind: counter.count, "constructed": counter.constructed}
        print_json({"schema": "export/1", "dataset": dataset, "file": file, **counts})
    else:
        tell(f"Wrote {told}{stamp}" + ("" if file == STDOUT else f" to {file}"))


class _Counter:
    """Records that are counted as they pass."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._records = records
        self.count = 0
        self.constructed = 0

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        for record in self._records:
            self.count += 1
            self.constructed += record.get("evidence") == "constructed"
            yield record


def _write_whole(path: Path, lines: Iterable[str], *, force: bool) -> None:
    if path.exists() and not force:
        raise DeclarationError(f"{str(path)!r} exists: give another name, or --force to replace it")
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with draft.open("x", encoding="utf-8", newline="") as out:
            out.writelines(lines)
        draft.replace(path)
    except OSError as error:
        raise DeclarationError(
            f"cannot write {str(path)!r} ({error.strerror}): give a file in a folder that exists and may be "
            "written"
        ) from error
    finally:
        draft.unlink(missing_ok=True)
