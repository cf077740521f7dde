"""`voirdire plan`: how much evidence a question needs, before anything is labelled."""

from __future__ import annotations

from typing import Annotated

import typer

from judge.cli.plan_options import JSON, Confidence, Limit, Power, TrueFar, open_share, price, share

_EPILOG = """
[bold]Examples[/bold]

voirdire plan failures --limit 0.10 --true-far 0.02 --power 0.9

voirdire plan failures --have 60

voirdire plan failures --per-cluster 5 --prevalence 0.2 --cost-per-label 1.50

voirdire plan looks --looks 3 --true-far 0.02

voirdire plan pairs --gain 0.04 --discordant 0.2 --tolerance 0.02

voirdire plan half-width --rate 0.5 --half-width 0.02

voirdire plan repeats --mean 0.6 --between 0.08 --budget 600 --fixture-cost 10

voirdire plan limit --sessions 5 --hold 0.90 --pass-rate 0.85 --handoff-cost 4
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Plan how many failures, pairs, cases, runs or looks a question needs, or which limit it implies.",
    epilog=_EPILOG,
)


@app.command("failures", epilog="[bold]Example[/bold]  voirdire plan failures --limit 0.10 --true-far 0.02")
def failures(
    limit: Limit = 0.10,
    true_far: TrueFar = 0.02,
    power: Power = 0.80,
    have: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Failing answers at hand: say what they can admit."),
    ] = None,
    per_cluster: Annotated[
        int, typer.Option("--per-cluster", min=1, metavar="N", help="Failing answers from each prompt.")
    ] = 1,
    icc: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            callback=share,
            help="Correlation of the answers of one prompt that the gate assumes at least.",
        ),
    ] = 0.3,
    looks: Annotated[
        int, typer.Option(min=1, metavar="N", help="Looks that the policy allows; they share the error.")
    ] = 1,
    prevalence: Annotated[
        float | None,
        typer.Option(metavar="SHARE", callback=share, help="Share of answers that fail, drawn at random."),
    ] = None,
    unresolved: Annotated[
        float,
        typer.Option(metavar="SHARE", callback=share, help="Allowance for labels that stay unresolved."),
    ] = 0.10,
    raters: Annotated[int, typer.Option(min=1, metavar="N", help="Labels of each answer.")] = 2,
    cost_per_label: Annotated[
        float | None,
        typer.Option("--cost-per-label", metavar="USD", callback=price, help="Price of one label."),
    ] = None,
    confidence: Confidence = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Of the simulation that clusters need.")] = 0,
    as_json: JSON = False,
) -> None:
    """Say how many failing answers to label so that a good judge passes and a bad one does not.

    The plan holds for its number and every larger one. With --have it is
    read in reverse: which judges the failing answers at hand can admit.
    """
    from calibration.statistics.gate_curve import GateSetting
    from judge.cli.answers import print_answer, usage
    from judge.cli.plans_of_sets import FailureQuestion, Labelling, failures_answer
    from judge.cli.progress import waiting

    if prevalence == 0:
        raise typer.BadParameter("0 of answers fail: no draw holds a failure", param_hint="--prevalence")
    unused = (
        "--prevalence" if prevalence is not None else "--cost-per-label" if cost_per_label is not None else ""
    )
    if have is not None and unused:
        raise typer.BadParameter(
            "it plans what is yet to be labelled, and --have says what is at hand: leave one of them out",
            param_hint=unused,
        )
    if have is not None and have % per_cluster:
        raise typer.BadParameter(f"{have} is no multiple of --per-cluster {per_cluster}", param_hint="--have")
    with usage():
        gate = GateSetting(
            per_cluster * looks if have is None else have,
            limit,
            confidence,
            looks=looks,
            per_cluster=per_cluster,
            planning_icc=icc,
        )
        labelling = Labelling(prevalence, unresolved, raters, cost_per_label)
        question = FailureQuestion(gate, true_far, power, labelling, have, seed)
        with waiting("Simulating the gate ...", long=per_cluster > 1):
            answer = failures_answer(question)
    print_answer(answer, as_json=as_json)


@app.command("looks", epilog="[bold]Example[/bold]  voirdire plan looks --looks 3 --failures 150")
def looks(
    looks: Annotated[int, typer.Option(min=1, metavar="N", help="Looks at growing evidence.")] = 3,
    failures: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Failing answers at the last look. Default: what power needs."),
    ] = None,
    limit: Limit = 0.10,
    true_far: TrueFar = 0.02,
    power: Power = 0.80,
    confidence: Confidence = 0.95,
    as_json: JSON = False,
) -> None:
    """Say what it costs to look several times, and what looking without paying for it lets through."""
    from judge.cli.answers import print_answer, usage
    from judge.cli.plans_of_looks import LooksQuestion, looks_answer

    with usage():
        answer = looks_answer(LooksQuestion(limit, true_far, power, looks, failures, confidence))
    print_answer(answer, as_json=as_json)


@app.command("pairs", epilog="[bold]Example[/bold]  voirdire plan pairs --gain 0.04 --first-run 70,12,18,50")
def pairs(
    gain: Annotated[
        float, typer.Option(metavar="RATE", help="True gain of the candidate, 0.04 is 4 points.")
    ] = 0.0,
    discordant: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            callback=share,
            help="Share of items on which the two differ. Default: of the first run, else 0.2.",
        ),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(metavar="RATE", callback=share, help="Largest loss that would be accepted.")
    ] = 0.02,
    power: Power = 0.80,
    have: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Pairs at hand: say which gain they can show.")
    ] = None,
    first_run: Annotated[
        str | None,
        typer.Option(
            "--first-run",
            metavar="BOTH,BASELINE,CANDIDATE,NEITHER",
            help="Items that both, only the baseline, only the candidate, and neither did right.",
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", callback=share, help="Success of both: also say what two separate sets need."
        ),
    ] = None,
    cost_per_pair: Annotated[
        float | None,
        typer.Option(
            "--cost-per-pair", metavar="USD", callback=price, help="Price of one item done by both."
        ),
    ] = None,
    confidence: Confidence = 0.95,
    as_json: JSON = False,
) -> None:
    """Say how many items two systems or judges must both do to show that one is no worse."""
    from judge.cli.answers import print_answer, usage
    from judge.cli.plans_of_runs import PairsQuestion, paired_table, pairs_answer

    with usage():
        table = paired_table(first_run) if first_run else None
        if discordant is None:
            shown = (table.only_baseline + table.only_candidate) / table.n if table and table.n else 0.2
        else:
            shown = discordant
        answer = pairs_answer(
            PairsQuestion(
                gain=gain,
                discordant=shown,
                tolerance=tolerance,
                power=power,
                confidence=confidence,
                have=have,
                first_run=table,
                rate=rate,
                cost_per_pair=cost_per_pair,
            )
        )
    print_answer(answer, as_json=as_json)


@app.command(
    "half-width", epilog="[bold]Example[/bold]  voirdire plan half-width --rate 0.5 --half-width 0.02"
)
def half_width(
    rate: Annotated[
        float, typer.Option(metavar="SHARE", callback=share, help="Where the rate is expected.")
    ] = 0.5,
    half_width: Annotated[
        float,
        typer.Option(
            "--half-width",
            metavar="RATE",
            callback=open_share,
            help="How far the interval may reach to each side.",
        ),
    ] = 0.05,
    have: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Cases at hand: say how far their interval reaches."),
    ] = None,
    confidence: Confidence = 0.95,
    as_json: JSON = False,
) -> None:
    """Say how many cases give a rate an interval this short, or how short that of the cases at hand is."""
    from judge.cli.answers import print_answer, usage
    from judge.cli.plans_of_runs import half_width_answer

    with usage():
        answer = half_width_answer(rate, half_width, confidence=confidence, have=have)
    print_answer(answer, as_json=as_json)


@app.command(
    "repeats",
    epilog="[bold]Example[/bold]  voirdire plan repeats --mean 0.6 --between 0.08 --budget 600",
)
def repeats(
    mean: Annotated[float, typer.Option(metavar="SHARE", callback=share, help="Mean success over tasks.")],
    between: Annotated[
        float, typer.Option(metavar="VARIANCE", callback=share, help="Variance of success between tasks.")
    ],
    budget: Annotated[int, typer.Option(min=1, metavar="RUNS", help="What there is to spend, in runs.")],
    fixture_cost: Annotated[
        int,
        typer.Option("--fixture-cost", min=0, metavar="RUNS", help="What a new task costs, in runs."),
    ] = 0,
    design: Annotated[
        list[str] | None,
        typer.Option(metavar="TASKSxRUNS", help="A design to compare, such as 200x3; repeatable."),
    ] = None,
    as_json: JSON = False,
) -> None:
    """Say how a budget is best split between new tasks and repeated runs."""
    from judge.cli.answers import print_answer, usage
    from judge.cli.plans_of_runs import RepeatsQuestion, repeats_answer, task_design

    with usage():
        designs = tuple(task_design(text) for text in design or ())
        answer = repeats_answer(RepeatsQuestion(mean, between, budget, fixture_cost, designs))
    print_answer(answer, as_json=as_json)


@app.command(
    "limit", epilog="[bold]Example[/bold]  voirdire plan limit --sessions 5 --hold 0.90 --pass-rate 0.85"
)
def limit(
    sessions: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Sessions that shall all be free of a wrong answer."),
    ] = None,
    hold: Annotated[
        float,
        typer.Option(metavar="SHARE", callback=open_share, help="How often they shall all be, 0.9 is 90 %."),
    ] = 0.90,
    pass_rate: Annotated[
        float | None,
        typer.Option(
            "--pass-rate", metavar="SHARE", callback=share, help="Share of answers that are right, unjudged."
        ),
    ] = None,
    frr: Annotated[
        float,
        typer.Option(
            metavar="RATE", callback=share, help="Share of right answers that the judge turns away."
        ),
    ] = 0.05,
    handoff_cost: Annotated[
        float,
        typer.Option("--handoff-cost", metavar="USD", callback=price, help="Price of a handoff to a person."),
    ] = 0.0,
    far: Annotated[
        float | None,
        typer.Option(metavar="RATE", callback=share, help="A judge's FAR: say whether it is enough."),
    ] = None,
    loss: Annotated[
        float | None,
        typer.Option(metavar="USD", callback=price, help="Instead of sessions: what one failure costs."),
    ] = None,
    approval: Annotated[
        float | None,
        typer.Option(metavar="USD", callback=price, help="With --loss: price of the approval against it."),
    ] = None,
    clean: Annotated[
        int, typer.Option(min=0, metavar="N", help="With --loss: cases so far, none of them a failure.")
    ] = 0,
    confidence: Confidence = 0.95,
    as_json: JSON = False,
) -> None:
    """Say which limit a declared consequence implies: sessions without a wrong answer, or a loss in money."""
    from judge.cli.answers import print_answer, usage
    from judge.cli.plans_of_limits import LimitQuestion, LossQuestion, limit_answer, loss_answer

    with usage():
        if sessions is not None and pass_rate is not None and loss is None and approval is None:
            answer = limit_answer(LimitQuestion(sessions, hold, pass_rate, frr, handoff_cost, far))
        elif loss is not None and approval is not None and sessions is None and pass_rate is None:
            answer = loss_answer(LossQuestion(loss, approval, clean, confidence))
        else:
            raise typer.BadParameter("give --sessions and --pass-rate, or --loss and --approval")
    print_answer(answer, as_json=as_json)
