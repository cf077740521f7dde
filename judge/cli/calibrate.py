"""`voirdire calibrate`: reports on judges from recorded labels and verdicts."""

from __future__ import annotations

from typing import Annotated

import typer

from calibration.labels import LabelSource, ReferenceRule

app = typer.Typer(rich_markup_mode="rich", add_completion=False)

_EPILOG = """
[bold]Examples[/bold]

voirdire calibrate --set may --judge all --criterion resolves_request --policy acceptance --rank

voirdire calibrate --dataset support --judge gpt --criterion resolves_request --far-limit 0.10 --html out.html

[bold]Exit codes[/bold]  0 admit (or nothing to decide by), 1 reject, 2 insufficient evidence, 3 failure, \
64 usage.
"""


@app.command(epilog=_EPILOG)
def calibrate(
    context: typer.Context,
    criterion: Annotated[str, typer.Option(help="Criterion of the rubric.")],
    judge: Annotated[list[str], typer.Option(metavar="NAME|all", help="Judge to examine; repeatable.")],
    dataset: Annotated[
        str | None, typer.Option(help="All calibration items of a dataset, frozen as a convenience set.")
    ] = None,
    set_ref: Annotated[str | None, typer.Option("--set", help="A frozen set, NAME or NAME@VERSION.")] = None,
    rubric: Annotated[
        str | None, typer.Option(metavar="NAME[@V]", help="Default: the one under which items are labelled.")
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="What decides: a recorded policy, or a YAML file.")
    ] = None,
    far_limit: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="RATE", help="The FAR gate alone, e.g. 0.10.")
    ] = None,
    reference: Annotated[
        ReferenceRule | None, typer.Option(help="How raters become a reference. Default: the policy's rule.")
    ] = None,
    min_raters: Annotated[int, typer.Option(min=1, help="Fewer raters leave an item unresolved.")] = 1,
    reference_source: Annotated[
        list[LabelSource] | None,
        typer.Option(help="Whose labels count; labels of models or code never admit. Default: human."),
    ] = None,
    rank: Annotated[
        bool, typer.Option("--rank", help="Rank the judges; those that do not separate tie.")
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say every method and denominator.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    html: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the report as one HTML page.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is no voirdire report.")
    ] = False,
) -> None:
    """Report on judges from recorded labels and verdicts, record the report, and spend one look.

    The same labels, verdicts, rubric, set and policy give the same report and no further look.
    """
    from pathlib import Path

    from calibration.calibrate import Asked
    from calibration.calibrate import calibrate as run
    from calibration.labeling.sessions import close_due
    from judge.cli.lookups import (
        evidence_of,
        exploratory,
        judges_of,
        recorded_policy,
        rubric_of_labels,
        tell_families,
    )
    from judge.cli.output import exit_code, require_replaceable, show_report
    from judge.cli.stores import actor, now, opened

    if policy is not None and far_limit is not None:
        raise typer.BadParameter("give either --policy or --far-limit")
    page = Path(html) if html else None
    if page is not None:
        require_replaceable(page, force=force)
    at, who = now(), actor()
    with opened(context) as store, store.write() as session:
        close_due(session=session, at=at)
        chosen, recorded_at = recorded_policy(
            session, name_or_file=policy, far_limit=far_limit, actor=who, at=at
        )
        evidence = evidence_of(session, dataset=dataset, set_ref=set_ref, actor=who, at=at)
        published = rubric_of_labels(session, evidence, rubric)
        asked = Asked(
            evidence=evidence,
            rubric=published,
            criterion=criterion,
            judges=judges_of(session, judge, evidence, published, criterion),
            policy=chosen,
            actor=who,
            rule=reference,
            min_raters=min_raters,
            sources=frozenset(reference_source or [LabelSource.HUMAN]),
            ranked=rank,
            exploratory=exploratory(chosen, recorded_at, evidence),
        )
        found = run(session=session, asked=asked, at=at)
        tell_families(session, asked.judges, evidence)
    several = rank or len(found.comparison.examinations) != 1 or "all" in judge
    shown = found.comparison if several else found.comparison.examinations[0]
    show_report(shown, as_json=as_json, explain=explain, page=page)
    raise typer.Exit(exit_code(found.comparison.outcomes))
