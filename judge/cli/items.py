"""`voirdire items`: import, list and show the things to be judged."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from judge.cli.importing import AsJson, Collector, Dataset, File, Licence, Origin, SkipBad
from rubrics.item import Split

_EPILOG = """
[bold]Examples[/bold]

voirdire items import items.jsonl --dataset support --origin "help desk, May" --licence internal

voirdire items import items.csv --dataset support --cluster conversation --tag channel --split tuning

voirdire items list --dataset support
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Import, list and show items.",
    epilog=_EPILOG,
)
_READING = "Reading the file"


@app.command("import")
def import_(
    context: typer.Context,
    file: File,
    dataset: Dataset,
    split: Annotated[
        Split | None,
        typer.Option(help="What items that do not say so themselves are for. Default: calibration."),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=_READING,
            metavar="FIELD|none",
            help="Field that items share when they are not independent, e.g. the prompt. Default: group.",
        ),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=_READING,
            metavar="FIELD",
            help="A further field that is a tag, not a text shown to judge and rater; repeatable.",
        ),
    ] = None,
    skip_bad: SkipBad = False,
    origin: Origin = "",
    licence: Licence = "",
    collector: Collector = "",
    as_json: AsJson = False,
) -> None:
    """Import items: all of a file, or nothing; the same file again adds nothing.

    A line is {"item_id", "input", "output"} or {"item_id", "input", "output_a", "output_b"}, optional group,
    tags, split, system and model_family. Further texts are evidence by their names; numbers are tags.
    """
    from calibration.interchange.native.core import ImportOptions
    from judge.cli.importing import run_import

    options = ImportOptions(
        dataset=dataset,
        split=split,
        cluster=cluster,
        tags=tuple(tag or ()),
        skip_bad=skip_bad,
        origin=origin,
        licence=licence,
        collector=collector,
    )
    run_import(context, "items", file, options, as_json=as_json)


@app.command("list")
def list_(
    context: typer.Context,
    dataset: Annotated[
        str | None, typer.Option(metavar="NAME", help="The items of one dataset; without it the datasets.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Items shown at most; --json gives as many.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the datasets, or the items of one."""
    from judge.cli.stores import opened

    with opened(context) as store, store.read() as session:
        if dataset is None:
            _list_datasets(session, as_json)
        else:
            _list_items(session, dataset, limit, as_json)


def _list_datasets(session: Any, as_json: bool) -> None:
    from dataclasses import asdict

    from calibration.interchange.native.overview import count_datasets
    from calibration.rendering.text import visible
    from judge.cli.output import print_json, print_rows

    found = count_datasets(session=session)
    if as_json:
        print_json({"datasets": [asdict(each) for each in found]})
        return
    rows = [(visible(d.dataset), f"{d.calibration:,}", f"{d.tuning:,}", f"{d.groups:,}") for d in found]
    empty = "No item is recorded. Next: voirdire items import FILE --dataset NAME"
    print_rows(("dataset", "calibration", "tuning", "groups"), rows, empty=empty)


def _list_items(session: Any, dataset: str, limit: int, as_json: bool) -> None:
    from itertools import islice

    from calibration.rendering.text import visible
    from calibration.store.items import Scope, count_items, iter_items
    from judge.cli.output import print_json, print_lines, print_rows
    from rubrics.errors import RecordError

    scope = Scope(dataset=dataset)
    count = count_items(session=session, scope=scope)
    if not count:
        raise RecordError(f"no dataset {dataset!r} is recorded; `voirdire items list` shows which are")
    found = list(islice(iter_items(session=session, scope=scope), limit))
    if as_json:
        print_json({"dataset": dataset, "count": count, "items": [_item_row(each) for each in found]})
        return
    rows = [
        (
            visible(each.item_id),
            visible(each.group) if each.group != each.item_id else "-",
            each.split.value,
            visible(", ".join(f"{key} {value}" for key, value in each.tags.items())),
        )
        for each in found
    ]
    print_rows(("item", "group", "split", "tags"), rows, empty="")
    if count > len(found):
        print_lines([f"{len(found):,} of {count:,} items; --limit shows more."])


def _item_row(each: Any) -> dict[str, Any]:
    return {
        "item_id": each.item_id,
        "group": each.group,
        "split": each.split.value,
        "tags": dict(each.tags),
        "system": each.system,
        "model_family": each.model_family,
        "content_digest": each.content_digest,
    }


@app.command("show")
def show(
    context: typer.Context,
    item: Annotated[str, typer.Argument(metavar="ITEM_ID", help="The id as it was imported.")],
    dataset: Dataset,
    as_json: AsJson = False,
) -> None:
    """Show one item with its texts, as judge and rater are shown them."""
    from calibration.rendering.text import visible
    from calibration.store.items import ErasedItem, get_item
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import opened
    from rubrics.digest import short

    with opened(context) as store, store.read() as session:
        found = get_item(session=session, dataset=dataset, item_id=item)
    if isinstance(found, ErasedItem):
        gone = found.erased
        if as_json:
            told = {"at": gone.at.isoformat(), "by": gone.by, "reason": gone.reason}
            print_json({"item_id": found.item_id, "erased": told})
        else:
            print_lines([f"Erased {gone.at:%Y-%m-%d} by {visible(gone.by)}: {visible(gone.reason)}"])
        return
    if as_json:
        digests = {"content_digest": found.content_digest, "digest": found.digest}
        print_json({**found.model_dump(mode="json", exclude_none=True), **digests})
        return
    head = [f"Item {visible(found.item_id)} of {visible(dataset)}, {found.split.value}"]
    head += [f"  group {visible(found.group)}, content {short(found.content_digest)}"]
    head += [f"  {visible(key)}: {visible(value)}" for key, value in found.tags.items()]
    texts = {"input": found.input, **found.evidence}
    outputs = {
        key: text for key in ("output", "output_a", "output_b") if (text := getattr(found, key)) is not None
    }
    for key, text in (*texts.items(), *outputs.items()):
        head += ["", f"{visible(key)}", *(f"  {visible(line)}" for line in text.split("\n"))]
    print_lines(head)
