"""`voirdire probe`: does a judge accept failures once they are padded, dressed up or give it orders."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.asking import Client
from judge.cli.importing import AsJson
from judge.cli.prices import PriceInput, PriceOutput, check_amount, check_prices

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

EPILOG = """
[bold]Examples[/bold]

voirdire probe --judge gpt --set may --criterion resolves_request --items 100

voirdire probe --judge gpt --dataset support --criterion resolves_request --family inject_output --dry-run

[bold]Exit codes[/bold]  0 bounded, 1 biased, 2 underpowered, 3 failure or open verdicts, 64 usage.
"""


@app.command(epilog=EPILOG)
def probe(
    context: typer.Context,
    judge: Annotated[str, typer.Option(metavar="NAME", help="A recorded judge, by name or digest.")],
    criterion: Annotated[str, typer.Option(help="Criterion of the rubric.")],
    dataset: Annotated[str | None, typer.Option(help="Labelled calibration items of a dataset.")] = None,
    set_ref: Annotated[
        str | None, typer.Option("--set", metavar="NAME[@V]", help="The members of a frozen set.")
    ] = None,
    rubric: Annotated[
        str | None, typer.Option(metavar="NAME[@V]", help="Default: the one under which items are labelled.")
    ] = None,
    family: Annotated[
        list[str] | None, typer.Option(help="A kind of change; repeatable. Default: all of them.")
    ] = None,
    items: Annotated[int, typer.Option(min=1, help="Reference failures at most.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the draw where there are more failures.")] = 1,
    bound: Annotated[
        float, typer.Option(min=0.001, max=0.5, metavar="RATE", help="A rise that is small enough.")
    ] = 0.05,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Calls in flight.")] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Stop before the probe costs more.")
    ] = None,
    price_input: PriceInput = None,
    price_output: PriceOutput = None,
    gguf: Annotated[str | None, typer.Option(metavar="FILE", help="Weights of an embedded model.")] = None,
    client: Annotated[Client, typer.Option(help="Who makes the calls.")] = Client.AUTO,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be asked.")] = False,
    as_json: AsJson = False,
) -> None:
    """Probe a judge: changed copies of reference failures beside an unchanged repeat of the same items.

    Counts flips toward acceptance. The copies are a dataset of their own and never calibration cases; run the
    command again to go on where it stopped.
    """
    from judge.cli.output import print_json, print_lines, print_rows
    from judge.cli.stores import opened
    from judge.probe_command import ProbeWanted, carry_out

    check_prices(price_input, price_output)
    check_amount("--max-cost", max_cost)
    wanted = ProbeWanted(
        judge=judge,
        criterion=criterion,
        dataset=dataset,
        set_ref=set_ref,
        rubric=rubric,
        families=tuple(family or ()),
        items=items,
        seed=seed,
        bound=bound,
        concurrency=concurrency,
        max_cost=max_cost,
        price_input=price_input,
        price_output=price_output,
        gguf=gguf,
        direct=None if client is Client.AUTO else client is Client.DIRECT,
    )
    with opened(context) as store:
        ended = carry_out(store, wanted, dry_run=dry_run)
    if as_json:
        print_json(ended.told)
    else:
        print_lines(list(ended.before))
        if ended.rows:
            print_rows(("probe", "flips", "no verdict", "rise", "p", "word"), list(ended.rows), empty="")
        print_lines(list(ended.after))
    raise typer.Exit(ended.code)
