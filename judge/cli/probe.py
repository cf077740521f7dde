"""`voirdire probe`: does a judge accept failures once they are padded, dressed up or give it orders."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.asking import AllowModelChange, Client, Rate, TokenRate, check_rates
from judge.cli.importing import AsJson
from judge.cli.prices import PriceInput, PriceOutput, check_amount, check_prices

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

EPILOG = """
[bold]Examples[/bold]

voirdire probe --judge gpt --set may --criterion resolves_request --dry-run

voirdire probe --judge gpt --dataset support --criterion resolves_request --family inject_output --items 80

[bold]Exit codes[/bold]  0 bounded, 1 biased, 2 underpowered, 3 failure or open verdicts, 64 usage, \
130 interrupted.
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
    items: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Reference failures at most. Default: 100, or as many as show that nothing moves a judge.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the draw where there are more failures.")] = 1,
    bound: Annotated[
        float, typer.Option(min=0.001, max=0.5, metavar="RATE", help="A rise that is small enough.")
    ] = 0.05,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Calls in flight.")] = None,
    rate: Rate = None,
    token_rate: TokenRate = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Stop before the probe costs more.")
    ] = None,
    price_input: PriceInput = None,
    price_output: PriceOutput = None,
    gguf: Annotated[str | None, typer.Option(metavar="FILE", help="Weights of an embedded model.")] = None,
    client: Annotated[Client, typer.Option(help="Who makes the calls.")] = Client.AUTO,
    allow_model_change: AllowModelChange = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be asked; ask and store nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Probe a judge: changed copies of reference failures beside an unchanged repeat of the same items.

    Counts flips toward acceptance. The copies are a dataset of their own and never calibration cases. Whether
    as many failures can show that nothing moves the judge is told first; run the command again to go on where
    it stopped.
    """
    from judge.probe_command import ProbeWanted, carry_out
    from judge.runs.command import Wanted

    check_prices(price_input, price_output)
    check_amount("--max-cost", max_cost)
    check_rates({"--rate": rate, "--token-rate": token_rate})
    run = Wanted(
        judge=judge,
        dataset=dataset,
        set_ref=set_ref,
        rubric=rubric,
        criteria=(criterion,),
        repeats=1,
        concurrency=concurrency,
        max_cost=max_cost,
        price_input=price_input,
        price_output=price_output,
        gguf=gguf,
        rate=rate,
        token_rate=token_rate,
        any_model=allow_model_change,
        direct=client.direct,
    )
    wanted = ProbeWanted(run=run, families=tuple(family or ()), items=items, seed=seed, bound=bound)
    raise typer.Exit(carry_out(context, wanted, dry_run=dry_run, as_json=as_json))
