"""`voirdire simulate`: what the gate does, and whether voirdire keeps its promises on planted judges."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from judge.cli.plan_options import JSON, Confidence, Limit, share

_EPILOG = """
[bold]Examples[/bold]

voirdire simulate gate --failures 80 --failures 150

voirdire simulate gate --failures 150 --per-cluster 5 --icc 0.3 --html gate.html

voirdire simulate gate --stratum easy=0.7:80 --stratum hard=0.3:40:3

voirdire simulate self --quick
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Simulate the gate, or voirdire itself on planted judges.",
    epilog=_EPILOG,
)

_NUMBERS = (50, 80, 150, 300)


@app.command("gate", epilog="[bold]Example[/bold]  voirdire simulate gate --failures 80 --looks 3")
def gate(
    failures: Annotated[
        list[int] | None,
        typer.Option(min=1, metavar="N", help="Failing answers; repeatable. Default: 50, 80, 150 and 300."),
    ] = None,
    limit: Limit = 0.10,
    true_far: Annotated[
        list[float] | None,
        typer.Option(
            "--true-far", metavar="RATE", help="A judge's true FAR; repeatable. Default: around the limit."
        ),
    ] = None,
    per_cluster: Annotated[
        int, typer.Option("--per-cluster", min=1, metavar="N", help="Failing answers from each prompt.")
    ] = 1,
    icc: Annotated[
        float, typer.Option(metavar="SHARE", callback=share, help="True correlation within a prompt.")
    ] = 0.3,
    planning_icc: Annotated[
        float,
        typer.Option(
            "--planning-icc",
            metavar="SHARE",
            callback=share,
            help="Correlation that the gate assumes at least.",
        ),
    ] = 0.3,
    ignore_clusters: Annotated[
        bool,
        typer.Option("--ignore-clusters", help="Show a gate that takes clustered answers for independent."),
    ] = False,
    looks: Annotated[int, typer.Option(min=1, metavar="N", help="Looks at equal steps of the evidence.")] = 1,
    unshared: Annotated[
        bool, typer.Option("--unshared", help="Show a gate whose looks do not share the error.")
    ] = False,
    stratum: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=WEIGHT:FAILURES[:RATIO]",
            help="A stratum: its share of failures in use, its failures here, its FAR against the others'; "
            "repeatable.",
        ),
    ] = None,
    confidence: Confidence = 0.95,
    replicates: Annotated[
        int, typer.Option(min=100, max=1_000_000, metavar="N", help="Calibrations simulated for each point.")
    ] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Makes a simulation repeatable.")] = 0,
    as_json: JSON = False,
    html: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Also write picture and table as one HTML file.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Let --html replace a file that is no page of voirdire.")
    ] = False,
) -> None:
    """Show how often the gate admits, by the share of failing answers that a judge really accepts.

    Exact where it can be, else simulated with its Monte Carlo error.
    """
    from calibration.statistics.gate_curve import GateSetting
    from judge.cli.answers import print_answer, usage
    from judge.cli.errors import tell
    from judge.cli.gate_simulated import GateQuestion, find, gate_answer, gate_html, planned_stratum
    from judge.cli.output import console, require_replaceable, write_html
    from judge.cli.progress import waiting

    if stratum and failures:
        raise typer.BadParameter(
            "give strata or --failures: each stratum names its own", param_hint="--stratum"
        )
    for far in true_far or ():
        share(far)
    with usage():
        strata = tuple(planned_stratum(text) for text in stratum or ())
        settings = [
            GateSetting(
                number,
                limit,
                confidence,
                looks=looks,
                divided=not unshared,
                per_cluster=per_cluster,
                icc=icc if per_cluster > 1 else 0.0,
                planning_icc=planning_icc,
                allow_for_clusters=not ignore_clusters,
                strata=strata,
            )
            for number in ([0] if strata else dict.fromkeys(failures or _NUMBERS))
        ]
        question = GateQuestion.of(settings, true_far or (), replicates=replicates, seed=seed)
        if html is not None:
            require_replaceable(html, force=force)
        with waiting("Simulating the gate ...", long=per_cluster > 1 or bool(strata)):
            found = find(question)
    if html is not None:
        write_html(html, gate_html(found, made_at=datetime.now(UTC)))
    print_answer(gate_answer(found, ascii_only=console().options.ascii_only), as_json=as_json)
    if html is not None:
        tell(f"Wrote {html}")


@app.command("self", epilog="[bold]Example[/bold]  voirdire simulate self --quick")
def self_test(
    quick: Annotated[
        bool, typer.Option("--quick", help="Few calibrations of each judge: notices gross faults only.")
    ] = False,
    replicates: Annotated[
        int | None,
        typer.Option(min=20, max=100_000, metavar="N", help="Calibrations of each judge. Default: 1,000."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the planted judges and their labels.")] = 0,
    as_json: JSON = False,
) -> None:
    """Put planted judges of known errors through the report and the decision that ship.

    Prints what was promised and what was delivered: size and power of the
    gate, coverage of intervals, clusters, strata and looks, abstention,
    position bias, and the bias of raters who err. Exit 1 when a delivered
    number lies outside its band.
    """
    from calibration.rendering.characters import PLAIN, SIGNS
    from calibration.simulating.running import FULL, QUICK, run_self
    from judge.cli.answers import print_answer
    from judge.cli.output import console
    from judge.cli.progress import reading
    from judge.cli.self_simulated import self_answer

    if quick and replicates is not None:
        raise typer.BadParameter("give --quick or --replicates, not both", param_hint="--quick")
    size = QUICK if quick else replicates or FULL
    with reading("Calibrating planted judges") as told:
        found = run_self(replicates=size, seed=seed, told=told)
    glyphs = PLAIN if console().options.ascii_only else SIGNS
    print_answer(self_answer(found, glyphs=glyphs), as_json=as_json)
    raise typer.Exit(0 if found.kept else 1)
