"""`voirdire judge`: declare, list, show and run judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from judge.cli.compare import EPILOG as COMPARE_EPILOG
from judge.cli.compare import compare as compare_
from judge.cli.importing import AsJson
from judge.cli.prices import PriceInput, PriceOutput, check_prices
from judge.cli.run import EPILOG as RUN_EPILOG
from judge.cli.run import run as run_

if TYPE_CHECKING:
    from calibration.store.judges import StoredJudge, StoredRun

_EPILOG = """
[bold]Examples[/bold]

voirdire judge add gpt.yaml

voirdire judge list

voirdire judge show gpt

voirdire judge run --judge gpt --set may --dry-run

voirdire judge cost 3f2a91 --price-input 0.40 --price-output 1.60
"""

app = typer.Typer(
    rich_markup_mode="rich",
    add_completion=False,
    no_args_is_help=True,
    help="Declare, list, show and run judges.",
    epilog=_EPILOG,
)
app.command("run", epilog=RUN_EPILOG)(run_)
app.command("compare", epilog=COMPARE_EPILOG)(compare_)


@app.command("add")
def add(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A YAML file: a model, rule, baseline or external judge.")
    ],
    as_json: AsJson = False,
) -> None:
    """Record a judge by its whole spec; a changed spec is another judge."""
    from calibration.store.judges import add_judge
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import actor, now, opened
    from judge.spec import load_judge
    from judge.spec_lint import risks
    from rubrics.digest import short

    spec = load_judge(file)
    with opened(context) as store, store.write() as session:
        new = add_judge(
            session=session,
            digest=spec.digest,
            judge_name=spec.name,
            kind=spec.kind,
            content=spec.model_dump(mode="json"),
            actor=actor(),
            at=now(),
        )
    found = risks(spec)
    if as_json:
        added = {"judge": spec.name, "kind": str(spec.kind), "digest": spec.digest, "new": new}
        print_json({**added, "risks": list(found)})
        return
    said = "Recorded" if new else "Already recorded:"
    print_lines([f"{said} the {spec.kind} judge {spec.name} ({short(spec.digest)})."])
    print_lines([f"  ! {sentence}" for sentence in found])


@app.command("cost")
def cost(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Key of a run, or its beginning.")],
    prices: Annotated[
        str | None, typer.Option(metavar="FILE", help="A map of prices (YAML) to price the run again by.")
    ] = None,
    price_input: PriceInput = None,
    price_output: PriceOutput = None,
    as_json: AsJson = False,
) -> None:
    """Show what a run took: uncached, cached and output tokens, its cost, and its cost by other prices."""
    from judge.calls import Prices
    from judge.cost_command import carry_cost
    from judge.pricing import load_prices

    check_prices(price_input, price_output)
    if prices and price_input is not None:
        raise typer.BadParameter("give either --prices, or --price-input and --price-output")
    given = None if price_input is None or price_output is None else Prices(price_input, price_output)
    carry_cost(context, run, by=load_prices(prices) if prices else given, as_json=as_json)


@app.command("list")
def list_(context: typer.Context, as_json: AsJson = False) -> None:
    """List the recorded judges."""
    from calibration.rendering.text import visible
    from calibration.store.judges import list_judges, list_runs
    from judge.cli.output import print_json, print_rows
    from judge.cli.stores import opened
    from rubrics.digest import short

    with opened(context) as store, store.read() as session:
        judges = list_judges(session=session)
        runs = list_runs(session=session)
    held = {judge.digest: [run for run in runs if run.judge_digest == judge.digest] for judge in judges}
    if as_json:
        print_json({"judges": [_judge_object(judge, len(held[judge.digest])) for judge in judges]})
        return
    rows = [
        (
            visible(judge.name),
            _kind(judge),
            short(judge.digest),
            visible(", ".join(sorted({run.dataset for run in held[judge.digest]}))) or "-",
        )
        for judge in judges
    ]
    empty = "No judge is recorded. Next: voirdire judge add FILE, or voirdire verdicts import FILE"
    print_rows(("judge", "kind", "digest", "verdicts on"), rows, empty=empty)


@app.command("show")
def show(
    context: typer.Context,
    judge: Annotated[str, typer.Argument(metavar="NAME", help="Its name, or its digest.")],
    as_json: AsJson = False,
) -> None:
    """Show a judge's spec and its runs."""
    import json

    from calibration.rendering.text import counted, visible
    from calibration.store.judges import get_judge, list_runs
    from calibration.store.rubrics import list_rubrics
    from judge.cli.output import print_json, print_lines
    from judge.cli.stores import opened
    from rubrics.digest import short

    with opened(context) as store, store.read() as session:
        found = get_judge(session=session, judge=judge)
        runs = list_runs(session=session, judge_digest=found.digest)
        refs = {digest: str(ref) for ref, digest in list_rubrics(session=session)}
    if as_json:
        told = [_run_object(run, refs) for run in runs]
        print_json({**_judge_object(found, len(runs)), "spec": dict(found.content), "runs": told})
        return
    lines = [
        f"{visible(found.name)} ({short(found.digest)}): {_kind(found)}",
        f"  digest {found.digest}, recorded {found.recorded_at:%Y-%m-%d %H:%M} UTC",
    ]
    for key, value in found.content.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines += [f"  {key}: {visible(text)}"] if value not in (None, "", []) else []
    for run in runs:
        how = (
            "imported" if run.origin.value == "import" else f"{counted(run.units, 'unit')}, {run.state.value}"
        )
        rubric = refs.get(run.rubric_digest, short(run.rubric_digest))
        lines.append(f"  run {run.key[:12]} on {visible(run.dataset)} under {rubric}: {how}")
    print_lines(lines)


def _kind(judge: StoredJudge) -> str:
    return "external, unverified" if judge.kind == "external" else judge.kind


def _judge_object(judge: StoredJudge, runs: int) -> dict[str, Any]:
    return {
        "judge": judge.name,
        "kind": judge.kind,
        "digest": judge.digest,
        "recorded_at": judge.recorded_at.isoformat(),
        "run_count": runs,
    }


def _run_object(run: StoredRun, refs: dict[str, str]) -> dict[str, Any]:
    return {
        "run": run.key,
        "dataset": run.dataset,
        "rubric": refs.get(run.rubric_digest),
        "rubric_digest": run.rubric_digest,
        "set": run.set_digest,
        "origin": run.origin.value,
        "state": run.state.value,
        "units": run.units,
        "recorded_at": run.recorded_at.isoformat(),
    }
