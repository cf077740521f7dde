"""`voirdire judge run`: ask a judge about every item of a set; its options."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.asking import AllowModelChange, Client, Rate, TokenRate, check_rates
from judge.cli.importing import AsJson
from judge.cli.prices import PriceInput, PriceOutput, check_amount, check_prices

EPILOG = """
[bold]Examples[/bold]

voirdire judge run --judge gpt --set may --dry-run

voirdire judge run --judge gpt --set may --criterion resolves_request --max-cost 2.50

voirdire judge run --judge gpt --set may --rate 500/min --token-rate 200000/min

voirdire judge run --judge gpt --judge gpt-new --set may

voirdire judge run --judge gpt --set may --emit-batch requests.jsonl

voirdire judge run --judge length --dataset support --rubric refund-policy@1

[bold]Exit codes[/bold]  0 every unit has its verdict, 3 some have none (run it again), 64 usage, 130 \
interrupted.
"""


def run(
    context: typer.Context,
    judge: Annotated[
        list[str],
        typer.Option(metavar="NAME", help="A recorded judge, by name or digest; several are asked in turn."),
    ],
    dataset: Annotated[str | None, typer.Option(help="Judge all calibration items of a dataset.")] = None,
    set_ref: Annotated[
        str | None, typer.Option("--set", metavar="NAME[@V]", help="Judge the members of a frozen set.")
    ] = None,
    rubric: Annotated[
        str | None,
        typer.Option(metavar="NAME[@V]", help="Default: the one of the labels, or the only one there is."),
    ] = None,
    criterion: Annotated[
        list[str] | None, typer.Option(help="Criterion; repeatable. Default: all that the judge can answer.")
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Ask everything so often; the first is the verdict, all show noise.")
    ] = 1,
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, help="Calls in flight. Default: as many as the provider takes, up to 64."),
    ] = None,
    rate: Rate = None,
    token_rate: TokenRate = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            min=0, metavar="USD", help="Stop before the run, all its processes together, costs more."
        ),
    ] = None,
    price_input: PriceInput = None,
    price_output: PriceOutput = None,
    gguf: Annotated[
        str | None, typer.Option(metavar="FILE", help="Weights of an embedded model other than the default.")
    ] = None,
    client: Annotated[
        Client,
        typer.Option(help="Who makes the calls; auto: direct at a compatible address, else LiteLLM."),
    ] = Client.AUTO,
    emit_batch: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the open calls for a batch service."),
    ] = None,
    ingest_batch: Annotated[
        str | None, typer.Option(metavar="FILE", help="Take the answers of a batch service into the run.")
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="With --emit-batch: also calls that are out already; may be paid twice."
        ),
    ] = False,
    replay: Annotated[
        str | None,
        typer.Option(
            metavar="RUN",
            help="Read the stored replies of a run again; call nothing. Without items: its own.",
        ),
    ] = None,
    allow_model_change: AllowModelChange = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan; ask, store and write nothing.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask a judge about every item and record each answer; run it again to go on where it stopped.

    The plan comes first: units, calls, tokens, cost, and what is fixed, sampled and uncontrolled. Ctrl-C
    stops after the calls in flight. Nothing that was answered is asked again.
    """
    from judge.runs.command import Wanted, carry_out
    from judge.runs.turns_command import carry_in_turn

    whole = dataset is None and set_ref is None and replay is not None
    if (dataset is None) == (set_ref is None) and not whole:
        raise typer.BadParameter("name the items with either --set NAME or --dataset NAME")
    check_prices(price_input, price_output)
    check_amount("--max-cost", max_cost)
    check_rates({"--rate": rate, "--token-rate": token_rate})
    wanted = Wanted(
        judge=judge[0],
        others=tuple(judge[1:]),
        dataset=dataset,
        set_ref=set_ref,
        rubric=rubric,
        criteria=tuple(criterion or ()),
        repeats=repeats,
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
    if len(judge) > 1:
        _check_several(batch=emit_batch or ingest_batch, replay=replay, price=price_input, cost=max_cost)
        raise typer.Exit(carry_in_turn(context, wanted, dry_run=dry_run, as_json=as_json))
    if sum(each is not None for each in (emit_batch, ingest_batch, replay)) > 1:
        raise typer.BadParameter("give one of --emit-batch, --ingest-batch and --replay")
    if replay is not None:
        from judge.runs.replay_command import carry_replay

        raise typer.Exit(carry_replay(context, wanted, replay, as_json=as_json, dry_run=dry_run))
    if emit_batch is not None or ingest_batch is not None:
        from judge.runs.batch_command import carry_batch

        file, emit = (emit_batch, True) if emit_batch is not None else (ingest_batch or "", False)
        how = {"emit": emit, "as_json": as_json, "again": again, "dry_run": dry_run}
        raise typer.Exit(carry_batch(context, wanted, file, **how))
    raise typer.Exit(carry_out(context, wanted, dry_run=dry_run, as_json=as_json))


def _check_several(*, batch: str | None, replay: str | None, price: float | None, cost: float | None) -> None:
    """Refuse what is meant for one judge."""
    options: dict[str, object] = {"--emit-batch and --ingest-batch": batch, "--replay": replay}
    options |= {"--price-input and --price-output": price, "--max-cost": cost}
    for option, value in options.items():
        if value is not None:
            raise typer.BadParameter(f"{option}: for one judge only; leave it out, or name one --judge")
