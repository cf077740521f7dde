"""What the three `import` commands share: their options, the progress of a long file, and the answer."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibration.interchange.options import OnRepeat, Positions
from judge.cli.errors import tell
from rubrics.errors import DeclarationError

if TYPE_CHECKING:
    from calibration.interchange.native.core import Imported, ImportOptions
    from calibration.interchange.native.stubs import RubricOptions

_RUBRIC = "The rubric"
_READING = "Reading the file"
_WHENCE = "Where it comes from"
_TOLD_LINES = 10


class Candidate(StrEnum):
    """The side whose superiority a stub of pairs claims."""

    A = "A"
    B = "B"
    NONE = "none"


class NullAs(StrEnum):
    """What an empty verdict without a reason may be read as."""

    MISSING = "missing"
    ABSTAINED = "abstained"
    INVALID = "invalid"


File = Annotated[
    str, typer.Argument(metavar="FILE", help="One JSON object a line, or CSV; - is standard input.")
]
Dataset = Annotated[str, typer.Option("--dataset", metavar="NAME", help="Where the items are.")]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad",
        rich_help_panel=_READING,
        help="Import the rest of a file with lines that cannot be taken; they are written to FILE.rejected.",
    ),
]
Origin = Annotated[
    str,
    typer.Option(
        rich_help_panel=_WHENCE, metavar="TEXT", help="Source; `constructed` stamps made-up evidence."
    ),
]
Licence = Annotated[str, typer.Option(rich_help_panel=_WHENCE, metavar="TEXT", help="Licence of the file.")]
Collector = Annotated[str, typer.Option(rich_help_panel=_WHENCE, metavar="NAME", help="Who collected it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, errors too.")]
RubricRef = Annotated[
    str | None,
    typer.Option(
        "--rubric",
        rich_help_panel=_RUBRIC,
        metavar="NAME@V",
        help="The published rubric that was answered. Default: the one that each line names.",
    ),
]
StubRubric = Annotated[
    bool,
    typer.Option(
        "--stub-rubric",
        rich_help_panel=_RUBRIC,
        help="Hold what was made elsewhere: publish DATASET-imported@1 with the file's criteria, marked "
        "imported.",
    ),
]
Levels = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=_RUBRIC,
        metavar="1-4|A,B,C",
        help="Of a stub: ordered levels, worst first, e.g. 1-4 or poor,fair,good.",
    ),
]
AcceptAt = Annotated[
    str | None,
    typer.Option(rich_help_panel=_RUBRIC, metavar="LEVEL", help="Of a stub: the lowest level that passes."),
]
CandidateSide = Annotated[
    Candidate,
    typer.Option(
        "--candidate", rich_help_panel=_RUBRIC, help="Of a stub of pairs: the side that must be the better."
    ),
]
TieAccepts = Annotated[
    bool,
    typer.Option("--tie-accepts", rich_help_panel=_RUBRIC, help="Of a stub of pairs: a tie accepts."),
]
Maps = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        rich_help_panel=_READING,
        metavar="WORD=MEANING",
        help="What a label word means: an answer such as pass, 3 or tie, cannot_decide, or of a verdict a "
        "reason such as invalid. null=... explains an empty label. Repeatable.",
    ),
]
Repeats = Annotated[
    OnRepeat,
    typer.Option(
        rich_help_panel=_READING,
        help="Lines that say different things of one case: refuse the file, let the last hold, or believe "
        "none.",
    ),
]
EmptyVerdict = Annotated[
    NullAs,
    typer.Option(
        rich_help_panel=_READING,
        help="What an empty verdict without a reason is: missing is open, and counts as accepted in the "
        "worst case.",
    ),
]
PositionsOf = Annotated[
    Positions,
    typer.Option(
        rich_help_panel=_READING,
        help='What A and B name: the item\'s outputs, or what was displayed, so that order "ba" is turned '
        "round.",
    ),
]


def rubric_options(
    *,
    ref: str | None,
    stub: bool,
    levels: str | None,
    accept_at: str | None,
    candidate: Candidate = Candidate.NONE,
    tie_accepts: bool = False,
) -> RubricOptions:
    """What was said about the rubric.

    Raises:
        typer.BadParameter: options that exclude or need each other.
    """
    from calibration.interchange.native.stubs import RubricOptions, parse_levels

    if ref is not None and stub:
        raise typer.BadParameter("name a published rubric or take a stub, not both", param_hint="--rubric")
    if not stub and (levels or accept_at or tie_accepts or candidate is not Candidate.NONE):
        raise typer.BadParameter("the option describes a stub: add --stub-rubric", param_hint="--levels")
    if (levels is None) != (accept_at is None):
        raise typer.BadParameter(
            "levels and the lowest that passes go together, e.g. --levels 1-4 --accept-at 3",
            param_hint="--levels / --accept-at",
        )
    try:
        named = parse_levels(levels) if levels else ()
    except DeclarationError as error:
        raise typer.BadParameter(str(error).partition(": ")[2], param_hint="--levels") from error
    side = None if candidate is Candidate.NONE else candidate.value
    return RubricOptions(ref, stub, named, accept_at, side, tie_accepts)


def answer_maps(words: Sequence[str] | None) -> tuple[Any, ...]:
    """The maps that `--map` states.

    Raises:
        typer.BadParameter: one is not WORD=MEANING.
    """
    from calibration.interchange.native.answers import parse_answer_map

    try:
        return tuple(parse_answer_map(word) for word in words or ())
    except DeclarationError as error:
        raise typer.BadParameter(str(error), param_hint="--map") from error


def run_import(context: Any, kind: str, file: str, options: ImportOptions, *, as_json: bool) -> None:
    """Import a file into the store of the command line and say what became of it."""
    from importlib import import_module

    from calibration.interchange.lines import display_name
    from calibration.interchange.native.core import By
    from judge.cli.progress import reading
    from judge.cli.stores import actor, now, opened

    work = getattr(import_module(f"calibration.interchange.native.{kind}"), f"import_{kind}")
    with opened(context) as store, reading(f"Importing {display_name(file)}") as told, _few_collections():
        found: Imported = work(store=store, source=file, options=options, by=By(actor(), now(), told))
    _tell_rejected(found)
    if as_json:
        from judge.cli.output import print_json

        print_json(imported_object(found))
    else:
        from judge.cli.output import print_lines

        print_lines(_sentences(found))


@contextmanager
def _few_collections() -> Iterator[None]:
    """Looks for garbage more rarely: an import holds many records and drops none of them in a cycle."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def imported_object(found: Imported) -> dict[str, Any]:
    """The result of an import as JSON; every line read is counted once."""
    result = asdict(found)
    before = found.imported_before
    return {
        "schema": "import/1",
        **{key: result[key] for key in ("kind", "dataset", "file", "file_digest", "rubrics", "judges")},
        "lines": found.records,
        **{key: result[key] for key in ("added", "present", "ignored")},
        "refused": len(found.rejected),
        "answers": dict(found.answers),
        "repeated_keys": found.repeated,
        "conflicting_keys": found.conflicting,
        "rejected": [{"line": r.line, "field": r.field, "message": r.message} for r in found.rejected],
        "rejected_file": found.rejected_file,
        "notes": list(found.notes),
        "import": found.import_key,
        "imported_before": before.isoformat() if before else None,
    }


def _sentences(found: Imported) -> list[str]:
    from calibration.rendering.text import counted, visible

    lines = counted(found.records, "line")
    file = visible(Path(found.file).name)
    if found.import_key is None and found.imported_before is not None:
        said = [
            f"Nothing new: {file} was imported into {visible(found.dataset)} on "
            f"{found.imported_before:%Y-%m-%d %H:%M} UTC, {lines}."
        ]
    else:
        parts = [f"{found.added:,} new"]
        parts += [f"{found.present:,} recorded before"] if found.present else []
        parts += [f"{found.ignored:,} that say again what an earlier line says"] if found.ignored else []
        parts += [f"{len(found.rejected):,} left out"] if found.rejected else []
        under = f" under {', '.join(found.rubrics)}" if found.rubrics else ""
        said = [
            f"Imported {found.kind} of {file} into {visible(found.dataset)}{under}: "
            f"{lines}, {', '.join(parts)}."
        ]
    if found.answers:
        said.append("  " + ", ".join(f"{visible(word)} {n:,}" for word, n in found.answers.items()))
    if found.judges:
        names = ", ".join(visible(name) for name in found.judges)
        said.append(f"  {counted(len(found.judges), 'judge')}, external and unverified: {names}")
    if found.repeated:
        repeated = counted(found.repeated, found.kind.removesuffix("s"))
        said.append(f"  {repeated} given on more than one line, {found.conflicting:,} of them differently")
    return said + [f"  Note: {note}" for note in found.notes]


def _tell_rejected(found: Imported) -> None:
    for each in found.rejected[:_TOLD_LINES]:
        tell(f"  left out: line {each.line}: {each.message}")
    if found.rejected:
        count = len(found.rejected)
        more = f" ({count - _TOLD_LINES} more)" if count > _TOLD_LINES else ""
        place = f"; they are in {found.rejected_file}" if found.rejected_file else ""
        tell(f"{count} {'line' if count == 1 else 'lines'} left out{more}{place}")
