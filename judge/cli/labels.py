"""`voirdire labels`: import, export and list what raters said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from calibration.interchange.options import OnRepeat
from judge.cli.exporting import Criterion, ExportFile, Force, RubricFilter
from judge.cli.importing import (
    AcceptAt,
    AsJson,
    Candidate,
    CandidateSide,
    Collector,
    Dataset,
    File,
    Levels,
    Licence,
    Maps,
    Origin,
    Repeats,
    RubricRef,
    SkipBad,
    StubRubric,
    TieAccepts,
)

if TYPE_CHECKING:
    from calibration.interchange.native.overview import LabelCount
    from judge.cli.listing import Listed

_EPILOG = """
[bold]Examples[/bold]

voirdire labels import labels.jsonl --dataset support --rubric refund-policy@1

voirdire labels import old.csv --dataset old --stub-rubric --levels 1-4 --accept-at 3 --on-repeat unresolved

voirdire labels export labels.jsonl --dataset support
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Import, export and list labels.",
    epilog=_EPILOG,
)


@app.command("import")
def import_(
    context: typer.Context,
    file: File,
    dataset: Dataset,
    rubric: RubricRef = None,
    stub_rubric: StubRubric = False,
    levels: Levels = None,
    accept_at: AcceptAt = None,
    candidate: CandidateSide = Candidate.NONE,
    tie_accepts: TieAccepts = False,
    word: Maps = None,
    on_repeat: Repeats = OnRepeat.REFUSE,
    skip_bad: SkipBad = False,
    origin: Origin = "",
    licence: Licence = "",
    collector: Collector = "",
    as_json: AsJson = False,
) -> None:
    """Import labels and adjudications: all of a file, or nothing; the same file again adds nothing.

    A line is {"item_id", "rater", "criterion", "label"}, optional note, source (human, model, code), blind
    (yes, no, unknown) and kind (adjudication). A null label is cannot-decide. Other fields are kept.
    The answers of an offline sheet are taken for their rater's open items, all of them or none.
    """
    if _took_sheet(context, file, dataset, as_json=as_json):
        return
    from calibration.interchange.native.core import ImportOptions
    from judge.cli.importing import answer_maps, rubric_options, run_import

    options = ImportOptions(
        dataset=dataset,
        rubric=rubric_options(
            ref=rubric,
            stub=stub_rubric,
            levels=levels,
            accept_at=accept_at,
            candidate=candidate,
            tie_accepts=tie_accepts,
        ),
        maps=answer_maps(word),
        on_repeat=on_repeat,
        skip_bad=skip_bad,
        origin=origin,
        licence=licence,
        collector=collector,
    )
    run_import(context, "labels", file, options, as_json=as_json)


def _took_sheet(context: typer.Context, file: str, dataset: str, *, as_json: bool) -> bool:
    """True if the file was the export of a session sheet, which is taken under the session's own rubric."""
    from pathlib import Path

    path = Path(file)
    if file == "-" or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as opened_file:
        if '"voirdire-sheet/' not in opened_file.readline(10_000):
            return False
    from judge.cli.session import take_answers

    take_answers(context, path, dataset, as_json=as_json)
    return True


@app.command("export")
def export(
    context: typer.Context,
    file: ExportFile,
    dataset: Dataset,
    rubric: RubricFilter = None,
    criterion: Criterion = None,
    pseudonyms: Annotated[
        bool, typer.Option("--pseudonyms", help="Write rater-1, rater-2 ... instead of names.")
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the labels of a dataset to a file: JSON Lines loses nothing, CSV is for spreadsheets."""
    from calibration.interchange.native.core import PSEUDONYMS
    from calibration.interchange.native.export import LABEL_COLUMNS, export_labels, pseudonymous
    from calibration.store.items import Scope
    from judge.cli.exporting import require_dataset, rubric_digest, write_export
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        require_dataset(session, dataset)
        records = export_labels(
            session=session,
            scope=Scope(dataset=dataset),
            rubric_digest=rubric_digest(session, rubric),
            criterion=criterion,
        )
        if pseudonyms:
            records = pseudonymous(session=session, dataset=dataset, records=records)
        columns = (*LABEL_COLUMNS, PSEUDONYMS) if pseudonyms else LABEL_COLUMNS
        write_export(file, "labels", dataset, records, columns, force=force, as_json=as_json)


@app.command("list")
def list_(
    context: typer.Context,
    dataset: Annotated[str | None, typer.Option(metavar="NAME", help="One dataset; without it all.")] = None,
    as_json: AsJson = False,
) -> None:
    """List how many labels there are, by dataset, rubric, criterion and source."""
    from dataclasses import asdict

    from calibration.interchange.native.overview import count_labels
    from judge.cli.listing import print_groups
    from judge.cli.output import print_json
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        found = count_labels(session=session, dataset=dataset)
    if as_json:
        print_json({"labels": [asdict(each) for each in found]})
        return
    head = ("criterion", "labels", "raters", "items", "of the labels")
    empty = "No label is recorded. Next: voirdire labels import FILE --dataset NAME"
    print_groups([_listed(each) for each in found], head, empty=empty)


def _listed(each: LabelCount) -> Listed:
    from calibration.rendering.text import counted, visible
    from judge.cli.listing import Listed, parts

    told = {
        f"by {each.source}": each.labels if each.source != "human" else 0,
        "cannot decide": each.cannot_decide,
        "blind": each.blind,
        "repeated": each.repeats,
    }
    about = parts(told) + (
        f"; {counted(each.adjudications, 'item')} adjudicated" if each.adjudications else ""
    )
    counts = (f"{n:,}" for n in (each.labels, each.raters, each.items))
    row = (visible(each.criterion), *counts, about.removeprefix("; "))
    return Listed(f"{visible(each.dataset)}, under {each.rubric}", row)
