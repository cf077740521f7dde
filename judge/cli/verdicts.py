"""`voirdire verdicts`: import, export and list what judges said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from calibration.interchange.options import OnRepeat, Positions
from judge.cli.exporting import Criterion, ExportFile, Force, RubricFilter
from judge.cli.importing import (
    AcceptAt,
    AsJson,
    Candidate,
    CandidateSide,
    Collector,
    Dataset,
    EmptyVerdict,
    File,
    Levels,
    Licence,
    Maps,
    NullAs,
    Origin,
    PositionsOf,
    Repeats,
    RubricRef,
    SkipBad,
    StubRubric,
    TieAccepts,
)

if TYPE_CHECKING:
    from calibration.interchange.native.overview import VerdictCount
    from judge.cli.listing import Listed

_EPILOG = """
[bold]Examples[/bold]

voirdire verdicts import verdicts.jsonl --dataset support --rubric refund-policy@1

voirdire verdicts import pairs.jsonl --dataset pairs --stub-rubric --null-as invalid --positions displayed

voirdire verdicts export verdicts.jsonl --dataset support --judge gpt
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Import, export and list verdicts.",
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
    null_as: EmptyVerdict = NullAs.MISSING,
    positions: PositionsOf = Positions.SOURCE,
    on_repeat: Repeats = OnRepeat.REFUSE,
    skip_bad: SkipBad = False,
    origin: Origin = "",
    licence: Licence = "",
    collector: Collector = "",
    as_json: AsJson = False,
) -> None:
    """Import verdicts of judges that ran elsewhere: all of a file, or nothing.

    A line is {"item_id", "judge", "rubric", "criterion", "order", "label"}, optional raw, reason, detail and
    repeat; order is ab, ba or null. A judge whose lines name another prompt under "rubric" is another judge.
    """
    from calibration.interchange.native.core import ImportOptions
    from judge.cli.importing import answer_maps, rubric_options, run_import
    from rubrics.verdict import UnknownReason

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
        null_as=UnknownReason(null_as.value),
        positions=positions,
        on_repeat=on_repeat,
        skip_bad=skip_bad,
        origin=origin,
        licence=licence,
        collector=collector,
    )
    run_import(context, "verdicts", file, options, as_json=as_json)


@app.command("export")
def export(
    context: typer.Context,
    file: ExportFile,
    dataset: Dataset,
    judge: Annotated[
        str | None, typer.Option(metavar="NAME", help="One judge, by name or digest; without it all.")
    ] = None,
    rubric: RubricFilter = None,
    criterion: Criterion = None,
    every_run: Annotated[
        bool,
        typer.Option("--every-run", help="Earlier runs of a judge too, told apart by a field `run`."),
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write the verdicts on a dataset to a file: JSON Lines loses nothing, CSV is for spreadsheets."""
    from calibration.interchange.native.export import VERDICT_COLUMNS, count_earlier_runs, export_verdicts
    from calibration.store.items import Scope
    from calibration.store.judges import get_judge
    from judge.cli.errors import tell
    from judge.cli.exporting import require_dataset, rubric_digest, write_export
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        require_dataset(session, dataset)
        records = export_verdicts(
            session=session,
            scope=Scope(dataset=dataset),
            rubric_digest=rubric_digest(session, rubric),
            criterion=criterion,
            judge_digest=get_judge(session=session, judge=judge).digest if judge is not None else None,
            every_run=every_run,
        )
        write_export(file, "verdicts", dataset, records, VERDICT_COLUMNS, force=force, as_json=as_json)
        earlier = 0 if every_run else count_earlier_runs(session=session, dataset=dataset)
    if earlier:
        tell(f"Note: {earlier} earlier runs of the same judges are left out; --every-run writes them too")


@app.command("list")
def list_(
    context: typer.Context,
    dataset: Annotated[str | None, typer.Option(metavar="NAME", help="One dataset; without it all.")] = None,
    as_json: AsJson = False,
) -> None:
    """List how many verdicts there are, by dataset, judge, rubric and criterion."""
    from dataclasses import asdict

    from calibration.interchange.native.overview import count_verdicts
    from judge.cli.listing import print_groups
    from judge.cli.output import print_json
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        found = count_verdicts(session=session, dataset=dataset)
    if as_json:
        print_json({"verdicts": [asdict(each) for each in found]})
        return
    head = ("judge", "criterion", "verdicts", "items", "unknown")
    empty = "No verdict is recorded. Next: voirdire verdicts import FILE --dataset NAME"
    print_groups([_listed(each) for each in found], head, empty=empty)


def _listed(each: VerdictCount) -> Listed:
    from calibration.rendering.text import visible
    from judge.cli.listing import Listed

    counts = (f"{n:,}" for n in (each.verdicts, each.items, each.unknown))
    runs = f" ({each.runs} runs)" if each.runs > 1 else ""
    heading = f"{visible(each.dataset)}, under {each.rubric}, {each.kind} judges"
    return Listed(heading, (visible(each.judge) + runs, visible(each.criterion), *counts))
